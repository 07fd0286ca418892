"""Finds the folder of compiled modules and of the files installed with them; loads no module."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def _folder() -> Path:
    spec = find_spec("isthmus._core")
    if spec is None or spec.origin is None:
        raise ImportError("isthmus._core is not built: set Isthmus up again")
    return Path(spec.origin).parent


FOLDER = _folder()
