"""Saves files of commands: each is written under a temporary name and then renamed.

A full disk or a kill thus leaves no incomplete file under the final name.
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
"""Characters of the name in the temporary name: a file system allows 255 bytes in all."""


STDOUT = Path("-")
"""Name for stdout in ``--out -``."""


def refuse_stdout(path: Path) -> None:
    """Raises UsageError for the name ``-``, by which users mean stdout."""
    if path == STDOUT:
        raise UsageError("--out - would write a file named '-': name another file")


def save(content: bytes, path: Path, *, replace: bool = False) -> None:
    """Writes a file completely or not at all.

    Raises UsageError if the file exists and ``replace`` is false, IsthmusError if it cannot be
    written.
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
    """Renames a file, unless the new name exists."""
    try:
        os.link(partial, path)  # fails where rename would overwrite
    except FileExistsError:
        raise
    except OSError:  # no hard links here: create the file, then replace it
        path.touch(exist_ok=False)
        partial.replace(path)


def _partial(path: Path, process: str) -> Path:
    """The temporary name of a file that a process of this machine writes."""
    return path.with_name(f".{path.name[:_NAME_KEPT]}.{platform.node()}.{process}.tmp")


def _remove_partial(path: Path) -> None:
    """Removes temporary files of killed processes of this machine."""
    pattern = _partial(Path(glob.escape(path.name[:_NAME_KEPT])), "*").name
    for left in path.parent.glob(pattern):
        number = left.suffixes[-2][1:]
        if number.isdecimal() and not psutil.pid_exists(int(number)):
            left.unlink()
