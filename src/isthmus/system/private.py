"""Makes folders in the system's temporary folder that only this user can write to."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from isthmus.errors import IsthmusError


def folder(*names: str) -> Path:
    """Path of a private folder, ``names`` below this user's folder; creates missing folders.

    Any user can write to the temporary folder. Another user may have created a folder with the name
    of this user's folder, and put malicious libraries there. Then this user's folder gets a random
    name, by which later processes find it. Raises IsthmusError if no folder can be created.
    """
    try:
        path = _base().joinpath(*names)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        place = error.filename or tempfile.gettempdir()
        raise IsthmusError(f"no private folder {place}: {error.strerror}; set TMPDIR") from error
    return path


def _base() -> Path:
    """The private folder of this user, which contains all other private folders."""
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
    """Whether a path is a folder to which only this user can write; False for a symbolic link."""
    status = path.lstat()
    own = status.st_uid == os.getuid() and not status.st_mode & 0o022
    return stat.S_ISDIR(status.st_mode) and own


def write(path: Path, data: bytes) -> Path:
    """Writes a file completely or not at all, because another process may read it meanwhile."""
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return Path(partial).replace(path)
