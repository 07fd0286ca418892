"""Runs the C++ compiler for kernels and plug-ins, and reports its errors."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from isthmus.errors import IsthmusError

PARTS = Path(__file__).parent
"""Folder of ``include``, for plug-ins, and of ``plugin``, whose libraries plug-ins link."""
_SHOWN_LINES = 12


class DoesNotCompileError(IsthmusError):
    """Error: the compiler refuses a source."""


def run(options: Sequence[object], source: Path) -> str:
    """Returns the compiler's output; raises DoesNotCompileError with its first messages."""
    done = ended(options)
    if done.returncode:
        raise failure(source, done)
    return done.stdout


def ended(options: Sequence[object]) -> subprocess.CompletedProcess[str]:
    """Runs the compiler of variable CXX, else c++, with the options in CXX and with ``options``.

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
    """Makes an error of the compiler's messages on a source."""
    lines = (done.stderr or done.stdout).splitlines()
    # Such lines before the error name the user's line that instantiates a template.
    wrong = re.compile("error|undefined reference|required from here")
    first = next((n for n, line in enumerate(lines) if wrong.search(line)), 0)
    shown = "\n".join(lines[first : first + _SHOWN_LINES])
    return DoesNotCompileError(f"{source} does not compile", detail=shown)
