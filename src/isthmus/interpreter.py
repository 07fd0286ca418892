"""Python processes that Isthmus starts: they import nothing from the working folder."""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

_WITHOUT_FOLDER = (
    "import sys; sys.path[:] = [folder for folder in sys.path if folder]; import runpy; "
    "del sys.argv[0]; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)
"""Program for Python 3.10, which has no ``-P``: runs a module as ``-m`` does."""


def command(module: str, *arguments: object) -> list[str]:
    """Command that runs a module in a Python process.

    ``python -m`` puts the working folder first on ``sys.path``: a file ``msgspec.py`` there, which
    may be a stranger's, would run. ``PYTHONPATH`` is ignored, too, unless Isthmus itself comes
    from it.
    """
    flags = [] if _from_python_path() else ["-E"]
    words = [module, *map(str, arguments)]
    if sys.version_info >= (3, 11):
        return [sys.executable, *flags, "-P", "-m", *words]
    return [sys.executable, *flags, "-c", _WITHOUT_FOLDER, *words]


@cache
def _from_python_path() -> bool:
    """Whether this process found Isthmus by ``PYTHONPATH``."""
    folders = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    known = {Path(folder).resolve() for folder in folders}
    return any(
        Path(folder).resolve().parent in known for folder in sys.modules[__package__].__path__
    )
