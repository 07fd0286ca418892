"""Starts Python processes that import nothing from the working folder."""

from __future__ import annotations

import sys

from isthmus import module_path

_WITHOUT_FOLDER = (
    "import sys; sys.path[:] = {first!r} + [folder for folder in sys.path if folder]; "
    "import runpy; del sys.argv[0]; "
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)
"""Program that runs a module like ``-m``, with these folders first on the module path. Python 3.10
lacks ``-P``, which leaves out the working folder."""


def command(module: str, *arguments: object) -> list[str]:
    """Returns a command that runs a module in a Python process.

    ``python -m`` puts the working folder first on ``sys.path``: a stranger's file ``msgspec.py``
    there would run. ``PYTHONPATH`` is ignored, too. If Isthmus itself comes from it, the process
    gets its folders without the working folder, which an empty name denotes.
    """
    first = module_path.kept_of_python_path()
    safe = ["-P"] if sys.version_info >= (3, 11) else []
    run = ["-m"] if safe and not first else ["-c", _WITHOUT_FOLDER.format(first=first)]
    return [sys.executable, "-E", *safe, *run, module, *map(str, arguments)]
