"""What files of the system say, and whether a file is there."""

from __future__ import annotations

import contextlib
import os
import subprocess
from functools import cache
from pathlib import Path

from isthmus.errors import IsthmusError

_LDCONFIG = "/sbin/ldconfig"
_USUAL = ("/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib")
"""Where libraries lie on a system without ``ldconfig``."""
_ANSWER_S = 30.0
"""Longest wait for ``ldconfig``, which takes 5 ms: it reads one file."""


def text(path: Path) -> str:
    """What a file of the system says; empty where it is missing or refused.

    A name that a driver has written may have bytes that are no UTF-8.
    """
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace").strip()
    return ""


def is_there(path: Path) -> bool:
    """Whether a file is there; raises IsthmusError where the system does not say."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise IsthmusError(f"cannot look for {path}: {error.strerror}") from error
    return True


def has_library(name: str) -> bool:
    """Whether the dynamic loader finds a library by this name, such as ``libcuda.so.1``.

    Raises IsthmusError where the system does not say: ``ctypes.util.find_library`` calls a library
    missing if the program that it asks cannot be started.
    """
    folders = filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))
    if any(is_there(Path(folder) / name) for folder in folders):
        return True
    known = _known_libraries()
    if known is None:
        return any(is_there(Path(folder) / name) for folder in _USUAL)
    return name in known


@cache
def _known_libraries() -> frozenset[str] | None:
    """Names in the dynamic loader's cache; None on a system that has none."""
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
