"""Checks the words of pages and comments: the length of lines, and phrases that readers stumble on.

``prose.py`` names each violation, and exits with 1 if there is one. Tables, blocks of code,
headings and links may have any length. ruff checks the length of lines in Python.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_COLUMNS = 100
"""The same as the limit of ruff and clang-format."""
PHRASES = {
    "told of": "report, warn",
    "tells of": "report, warn",
    "nobody says": "without, if none is given",
    "that which": "name the thing",
    "one's own": "your own, a user's",
    "device process": "no such process exists: our shim",
    "both shims": "only our shim exists",
}
"""Phrases, and what to write instead."""
COMMENT = re.compile(r"\s*(?:#|//|\*|/\*)|.*\s(?:#|//|///<)\s")
SOURCES = (".py", ".cpp", ".hpp", ".h", ".c", ".sv", ".cmake", ".toml", ".sh", ".yml")
LEFT_OUT = ("tests/data/", "tools/prose.py")


def lines_of_page(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yields number, text, and whether the length counts, for each line outside of code."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        begin = line.lstrip()
        if begin.startswith("```"):
            in_code = not in_code
        elif not in_code:
            single = len(begin.removeprefix("- ").split()) == 1 or begin[:1] in {"[", "`", "!"}
            yield number, line, not (begin.startswith(("|", "#")) or single)


def lines_of_source(text: str, *, python: bool) -> Iterator[tuple[int, str, bool]]:
    """Yields number, text, and whether the length counts, for comments and docstrings."""
    in_docstring = False
    for number, line in enumerate(text.splitlines(), 1):
        quotes = line.count('"""') if python else 0
        if in_docstring or quotes or COMMENT.match(line):
            yield number, line, not python and "://" not in line
        in_docstring ^= quotes % 2 == 1


def violations(path: Path) -> Iterator[str]:
    """Yields a line for each violation in a file."""
    text, kind = path.read_text("utf-8"), path.suffix
    lines = lines_of_page(text) if kind == ".md" else lines_of_source(text, python=kind == ".py")
    for number, line, counts in lines:
        place = f"{path.relative_to(ROOT)}:{number}"
        if counts and len(line) > MOST_COLUMNS:
            yield f"{place}: {len(line)} columns, more than {MOST_COLUMNS}"
        yield from (f"{place}: '{p}': {use}" for p, use in PHRASES.items() if p in line)


def main() -> int:
    """Checks the files that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True,
    ).stdout.splitlines()  # fmt: skip
    named = [ROOT / name for name in listed if not name.startswith(LEFT_OUT)]
    checked = [p for p in named if p.suffix in (".md", *SOURCES) or p.name == "CMakeLists.txt"]
    found = [line for path in checked if path.exists() for line in violations(path)]
    print("\n".join(found) or f"{len(checked)} files: all lines are short, no phrase to avoid")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
