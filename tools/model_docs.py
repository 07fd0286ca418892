"""Writes output of models and ``isthmus reproduce`` into docs, and held-out errors into files.

With ``--check`` it only compares the pages, and fails if one is out of date.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from isthmus.validation import fitting, residuals

DOCS = Path(__file__).parents[1] / "docs"
BEGIN = "<!-- {}: begin, written by tools/model_docs.py -->\n"
END = "<!-- {}: end -->\n"


def isthmus(*arguments: str) -> str:
    """Returns the output of an ``isthmus`` command."""
    programs = Path(sys.executable).parent
    path = f"{programs}{os.pathsep}{os.environ.get('PATH', '')}"
    command = ["isthmus", *arguments]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "PATH": path}
    )
    return done.stdout


def printed(*arguments: str) -> str:
    """Returns a command with its output, except the lines about files that it wrote."""
    with TemporaryDirectory() as folder:
        out = isthmus(*arguments, "--out", folder).partition("\n\nPage with the plots")[0].rstrip()
    return f"```\n$ isthmus {' '.join(arguments)}\n{out}\n```\n"


def series(tables: str) -> str:
    """Returns the table of series; ``isthmus model validate`` prints all tables."""
    match = re.search(r"### Series\n(.*?)(?=### |\Z)", tables, re.DOTALL)
    if not match:
        raise SystemExit("the validation prints no table of series")
    return match[1]


def parts(validation: residuals.Validation) -> Mapping[str, Mapping[str, Callable[[], str]]]:
    """Returns, for each page, its generated parts: name, and function that makes the text."""
    return {
        "models.md": {"residuals": lambda: series(residuals.render(validation, "md"))},
        "reproduce.md": {"example": lambda: printed("reproduce", "mmio/read-latency")},
    }


def updated(text: str, parts: Mapping[str, Callable[[], str]]) -> str:
    """Returns a page with its generated parts made again."""
    for name, made in parts.items():
        before, begin, rest = text.partition(BEGIN.format(name))
        _, end, after = rest.partition(END.format(name))
        if not begin or not end:
            raise SystemExit(f"a page lacks the markers of '{name}'")
        text = f"{before}{begin}{made()}{end}{after}"
    return text


if __name__ == "__main__":
    validated = residuals.validate()
    for page, its_parts in parts(validated).items():
        old = (DOCS / page).read_text(encoding="utf-8")
        new = updated(old, its_parts)
        if "--check" not in sys.argv:
            (DOCS / page).write_text(new, encoding="utf-8")
        elif new != old:
            sys.exit(f"{DOCS / page} is out of date: run {__file__}")
    if "--check" not in sys.argv:
        for file, text in fitting.held_out_texts(validated.held_out).items():
            file.write_text(text, encoding="utf-8")
