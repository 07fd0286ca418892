"""Private folders of this user below the system's temporary folder."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from isthmus.errors import IsthmusError


def folder(*names: str) -> Path:
    """The folder of these names, made where it is missing.

    Anybody may write to the temporary folder; one that somebody else made under our name could name
    any library, so it is refused.
    """
    base = Path(tempfile.gettempdir()) / f"isthmus-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    status = base.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise IsthmusError(f"{base} is not this user's own: remove it, or set TMPDIR")
    path = base.joinpath(*names)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def write(path: Path, data: bytes) -> Path:
    """Writes a file whole or not at all: another process may be about to read it."""
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    return Path(partial).replace(path)
