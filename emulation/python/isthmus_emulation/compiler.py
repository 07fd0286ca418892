"""The C++ compiler."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from isthmus.errors import IsthmusError

PARTS = Path(__file__).parent
"""Holds the folder ``include``, for plug-ins, and ``plugin``, what is linked to them."""
_SHOWN_LINES = 12


class DoesNotCompileError(IsthmusError):
    """The compiler does not take a source."""


def run(options: Sequence[object], source: Path) -> str:
    """What the compiler prints.

    Raises DoesNotCompileError with the beginning of what it says where it fails.
    """
    done = ended(options)
    if done.returncode:
        raise failure(source, done)
    return done.stdout


def ended(options: Sequence[object]) -> subprocess.CompletedProcess[str]:
    """CXX, else c++, with the options that CXX has and these; IsthmusError where there is none."""
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
    """Options that link all of a library that was compiled with Isthmus."""
    return ["-Wl,--whole-archive", PARTS / "plugin" / f"lib{library}.a", "-Wl,--no-whole-archive"]


def failure(source: Path, done: subprocess.CompletedProcess[str]) -> DoesNotCompileError:
    """What a compiler that has failed says."""
    lines = (done.stderr or done.stdout).splitlines()
    # What a template is made for comes before the error, and has the user's line.
    wrong = re.compile("error|undefined reference|required from here")
    first = next((n for n, line in enumerate(lines) if wrong.search(line)), 0)
    shown = "\n".join(lines[first : first + _SHOWN_LINES])
    return DoesNotCompileError(f"{source} does not compile", detail=shown)
