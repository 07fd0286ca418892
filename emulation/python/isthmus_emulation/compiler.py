"""Runs the C++ compiler."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from isthmus.errors import IsthmusError

PARTS = Path(__file__).parent
"""Folder with ``include``, for plug-ins, and ``plugin``, whose libraries are linked to them."""
_SHOWN_LINES = 12


class DoesNotCompileError(IsthmusError):
    """A source that the compiler refuses."""


def run(options: Sequence[object], source: Path) -> str:
    """Returns the compiler's output; raises DoesNotCompileError with the begin of its errors."""
    done = ended(options)
    if done.returncode:
        raise failure(source, done)
    return done.stdout


def ended(options: Sequence[object]) -> subprocess.CompletedProcess[str]:
    """Runs CXX, else c++, with the options of CXX and these.

    Raises IsthmusError without a compiler.
    """
    command = [*shlex.split(os.environ.get("CXX", "c++")), *map(str, options)]
    try:
        return subprocess.run(
            command,
            env={**os.environ, "LC_ALL": "C"},
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise IsthmusError(
            f"no C++ compiler {command[0]}: install g++, or name one in CXX"
        ) from error


def whole(library: str) -> list[object]:
    """Returns options that link a whole library that was compiled with Isthmus."""
    return ["-Wl,--whole-archive", PARTS / "plugin" / f"lib{library}.a", "-Wl,--no-whole-archive"]


def failure(source: Path, done: subprocess.CompletedProcess[str]) -> DoesNotCompileError:
    """Returns the compiler's error messages."""
    lines = (done.stderr or done.stdout).splitlines()
    # The lines before the error name the user's line that instantiates the template.
    wrong = re.compile("error|undefined reference|required from here")
    first = next((n for n, line in enumerate(lines) if wrong.search(line)), 0)
    shown = "\n".join(lines[first : first + _SHOWN_LINES])
    return DoesNotCompileError(f"{source} does not compile", detail=shown)
