"""Files that commands write: each is written whole under another name, then gets its name.

A full disk or a kill leaves no part of a file under the name that was asked for.
"""

from __future__ import annotations

import contextlib
import glob
import os
import platform
from pathlib import Path

import psutil

from isthmus.errors import IsthmusError, UsageError

_NAME_KEPT = 40
"""Characters of the name that stay in the other name: a file system takes 255 bytes in all."""


STDOUT = Path("-")
"""Name that stands for stdout in ``--out -``."""


def refuse_stdout(path: Path) -> None:
    """Raises UsageError for the name ``-``: users mean stdout by it, not a file."""
    if path == STDOUT:
        raise UsageError("--out - would write a file named '-': name another file")


def save(content: bytes, path: Path, *, replace: bool = False) -> None:
    """Writes a file whole or not at all.

    Raises UsageError where there is one already, unless told to replace it, and IsthmusError where
    the file cannot be written.
    """
    refuse_stdout(path)
    if not replace and os.path.lexists(path):
        raise _exists(path)
    with contextlib.suppress(OSError, OverflowError):
        _remove_partial(path)
    partial = _partial(path, str(os.getpid()))
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            partial.replace(path)
        else:
            _rename_to_new(partial, path)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        raise IsthmusError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def _exists(path: Path) -> UsageError:
    return UsageError(f"{path} exists; nothing is overwritten: choose another --out")


def _rename_to_new(partial: Path, path: Path) -> None:
    """Gives a file its name, unless something has it."""
    try:
        os.link(partial, path)  # fails where rename would overwrite
    except FileExistsError:
        raise
    except OSError:  # no hard links here: the name is taken first, then filled
        path.touch(exist_ok=False)
        partial.replace(path)


def _partial(path: Path, process: str) -> Path:
    """The file that a process of this machine writes before it gets its name."""
    return path.with_name(f".{path.name[:_NAME_KEPT]}.{platform.node()}.{process}.tmp")


def _remove_partial(path: Path) -> None:
    """Removes what processes of this machine that were killed while they saved have left."""
    pattern = _partial(Path(glob.escape(path.name[:_NAME_KEPT])), "*").name
    for left in path.parent.glob(pattern):
        number = left.suffixes[-2][1:]
        if number.isdecimal() and not psutil.pid_exists(int(number)):
            left.unlink()
