"""Reads files of the system, and finds libraries."""

from __future__ import annotations

import contextlib
import os
import subprocess
from functools import cache
from pathlib import Path

from isthmus.errors import IsthmusError

_LDCONFIG = "/sbin/ldconfig"
_USUAL = ("/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib")
"""Folders in which libraries are searched on a system without ``ldconfig``."""
_ANSWER_S = 30.0
"""Longest wait in seconds for ``ldconfig``, which reads one file and takes 5 ms."""


def text(path: Path) -> str:
    """Contents of a system file; empty if it is missing or unreadable.

    Bytes that are not UTF-8 are replaced, because a driver may write such a name.
    """
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace").strip()
    return ""


def is_there(path: Path) -> bool:
    """Whether a file exists. Raises IsthmusError if the system reports another error."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise IsthmusError(f"cannot look for {path}: {error.strerror}") from error
    return True


def has_library(name: str) -> bool:
    """Whether the dynamic loader finds a library by this name, such as ``libcuda.so.1``.

    Raises IsthmusError if the system cannot answer, where ``ctypes.util.find_library`` would call
    the library missing.
    """
    folders = filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    if any(is_there(Path(folder) / name) for folder in folders):
        return True
    cached = _known_libraries()
    if cached is None:
        return any(is_there(Path(folder) / name) for folder in _USUAL)
    return name in cached


@cache
def _known_libraries() -> frozenset[str] | None:
    """Names of libraries in the dynamic loader's cache; None on a system without a cache."""
    try:
        listed = subprocess.run(
            [_LDCONFIG, "-p"], stdin=subprocess.DEVNULL, capture_output=True, check=True,
            env={"LC_ALL": "C"}, timeout=_ANSWER_S,
        ).stdout  # fmt: skip
    except FileNotFoundError:
        return None
    except (OSError, subprocess.SubprocessError) as error:
        raise IsthmusError(f"cannot look for libraries: {_LDCONFIG}: {error}") from error
    lines = listed.decode("utf-8", "replace").splitlines()
    return frozenset(line.split()[0] for line in lines if "=>" in line)
