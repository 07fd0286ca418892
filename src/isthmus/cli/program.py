"""Commands to go on with, as they work when they are pasted."""

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
    told = [str(path)]
    if path.is_absolute():
        told.append(os.path.relpath(path))
        if "/" not in told[1]:
            told[1] = f"./{told[1]}"
    return min(told, key=len)
