"""Adapts the pages of ``docs/`` to the site, as a hook of MkDocs (see ``mkdocs.yml``).

A code host also shows the pages of ``docs/``, which therefore link to files outside that folder.
Such files become part of the site, below ``repository/``. A link to a file that does not exist
makes the build fail.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = "repository"
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[#)])")
FENCE = re.compile(r"\s*```")
ITEM = re.compile(r"([-*]|1\.) ")
ROW = re.compile(r"\|")


def repository_path(page: str) -> str:
    """Path in the repository of a page of the site."""
    outside = page.removeprefix(f"{OUTSIDE}/")
    return outside if outside != page else f"docs/{page}"


def site_path(path: str) -> str:
    """Path in the site of a file of the repository."""
    inside = path.removeprefix("docs/")
    return inside if inside != path else f"{OUTSIDE}/{path}"


def targets(path: str) -> Iterator[str]:
    """Files of the repository that a page links to."""
    for link in LINK.findall((ROOT / path).read_text(encoding="utf-8")):
        if "://" not in link:
            yield os.path.normpath(os.path.join(os.path.dirname(path), link))


def on_files(files: Any, config: Any) -> Any:
    """Adds each file outside ``docs/`` that a page links to."""
    waiting = [repository_path(file.src_uri) for file in files.documentation_pages()]
    waiting = [path for path in waiting if (ROOT / path).is_file()]
    for path in waiting:  # the loop appends to this list
        for target in targets(path):
            page = site_path(target)
            if (ROOT / target).is_file() and files.get_file_from_path(page) is None:
                files.append(File.generated(config, page, abs_src_path=str(ROOT / target)))
                waiting += [target] if target.endswith(".md") else []
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Adapts links to the site; ends a paragraph before a list or table, as code hosts do."""
    folder = os.path.dirname(page.file.src_uri)
    home = os.path.dirname(repository_path(page.file.src_uri))

    def moved(link: re.Match[str]) -> str:
        if "://" in link[0]:
            return link[0]
        target = site_path(os.path.normpath(os.path.join(home, link[0])))
        return os.path.relpath(target, folder or ".")

    lines: list[str] = []
    code = False
    block = ""  # kind of block of the last line: paragraph, list, table ...
    for line in markdown.splitlines():
        code ^= bool(FENCE.match(line))
        kind = "item" if ITEM.match(line) else "row" if ROW.match(line) else "text"
        if not code and block and kind not in ("text", block) and not line.startswith(" "):
            lines.append("")
        lines.append(line if code else LINK.sub(moved, line))
        starts = kind != "text" or not block or line.startswith("#") or FENCE.match(line)
        block = "" if not line.strip() or line.startswith("#") else kind if starts else block
    return "\n".join(lines) + "\n"
