"""Private folders of this user in the system's temporary folder."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from isthmus.errors import IsthmusError


def folder(*names: str) -> Path:
    """The folder with these names; creates it if it is missing.

    Any user can write to the temporary folder. If another user created a folder under our name, its
    libraries could be malicious: then a folder with a random name is used, which later processes
    find again. Raises IsthmusError if no folder can be created.
    """
    try:
        path = _base().joinpath(*names)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        place = error.filename or tempfile.gettempdir()
        raise IsthmusError(f"no private folder {place}: {error.strerror}; set TMPDIR") from error
    return path


def _base() -> Path:
    """The folder of this user, which contains all others."""
    temporary = Path(tempfile.gettempdir())
    usual = temporary / f"isthmus-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        usual.mkdir(mode=0o700)
    if _is_private(usual):
        return usual
    others = sorted(temporary.glob(f"{usual.name}-*"))
    found_again = next(filter(_is_private, others), None)
    return found_again or Path(tempfile.mkdtemp(prefix=f"{usual.name}-", dir=temporary))


def _is_private(path: Path) -> bool:
    """Whether only this user can write to a folder; False for a link."""
    status = path.lstat()
    own = status.st_uid == os.getuid() and not status.st_mode & 0o022
    return stat.S_ISDIR(status.st_mode) and own


def write(path: Path, data: bytes) -> Path:
    """Writes a file completely or not at all: another process may read it."""
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return Path(partial).replace(path)
