"""Starts Python processes that import nothing from the working folder."""

from __future__ import annotations

import sys

from isthmus import module_path

_WITHOUT_FOLDER = (
    "import sys; sys.path[:] = {first!r} + [folder for folder in sys.path if folder]; "
    "import runpy; del sys.argv[0]; "
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)
"""Python program that runs a module like ``-m``, with the folders ``first`` at the beginning of the
module path and without the working folder. Python 3.10 lacks the option ``-P`` for this."""


def command(module: str, *arguments: object) -> list[str]:
    """Returns a command that runs a module in a Python process.

    ``python -m`` would put the working folder first on ``sys.path``, so that a stranger's file
    ``msgspec.py`` there would run. The command also ignores ``PYTHONPATH``. If Isthmus itself comes
    from ``PYTHONPATH``, the process searches its folders except the working folder (an empty name).
    """
    first = module_path.kept_of_python_path()
    safe = ["-P"] if sys.version_info >= (3, 11) else []
    run = ["-m"] if safe and not first else ["-c", _WITHOUT_FOLDER.format(first=first)]
    return [sys.executable, "-E", *safe, *run, module, *map(str, arguments)]
