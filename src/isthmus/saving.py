"""Saves the files that commands write, completely or not at all.

``save`` writes each file under a temporary name and then renames it. A full disk or a kill thus
leaves no incomplete file under the final name.
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
"""Characters of a file's name that its temporary name keeps: file systems allow 255 bytes."""


STDOUT = Path("-")
"""Path of ``--out -``, by which users mean stdout."""


def refuse_stdout(path: Path) -> None:
    """Raises UsageError for ``--out -``: the command cannot write its file to stdout."""
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
    """Renames the temporary file to ``path``; raises FileExistsError if ``path`` exists."""
    try:
        os.link(partial, path)  # fails if the path exists; a rename would overwrite it
    except FileExistsError:
        raise
    except OSError:  # this file system has no hard links: create the path, then replace it
        path.touch(exist_ok=False)
        partial.replace(path)


def _partial(path: Path, process: str) -> Path:
    """The temporary path by which the process with this id, on this machine, writes ``path``."""
    return path.with_name(f".{path.name[:_NAME_KEPT]}.{platform.node()}.{process}.tmp")


def _remove_partial(path: Path) -> None:
    """Removes temporary files of ``path`` that processes of this machine left when killed."""
    pattern = _partial(Path(glob.escape(path.name[:_NAME_KEPT])), "*").name
    for left in path.parent.glob(pattern):
        number = left.suffixes[-2][1:]
        if number.isdecimal() and not psutil.pid_exists(int(number)):
            left.unlink()
