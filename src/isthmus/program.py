"""Isthmus's program and paths in commands that messages suggest, ready to paste."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path


def program() -> str:
    """How Isthmus was called: ``isthmus``, ``.venv/bin/isthmus``, ``python -m isthmus``."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(shorter(Path(sys.executable)))} -m isthmus"
    known = shutil.which(called.name)
    if known and called.exists() and Path(known).samefile(called):
        return called.name
    return shlex.quote(shorter(called))


def shorter(path: Path) -> str:
    """The path as given or relative to the working folder, whichever is shorter."""
    names = [str(path)]
    if path.is_absolute():
        names.append(os.path.relpath(path))
        if "/" not in names[1]:
            names[1] = f"./{names[1]}"
    return min(names, key=len)
