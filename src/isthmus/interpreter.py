"""Python processes that Isthmus starts: they import nothing from the working folder."""

from __future__ import annotations

import sys

from isthmus import module_path

_WITHOUT_FOLDER = (
    "import sys; sys.path[:] = {first!r} + [folder for folder in sys.path if folder]; "
    "import runpy; del sys.argv[0]; "
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)
"""Program that runs a module as ``-m`` does, with these folders first on the module path.

Python 3.10 has no ``-P`` that would leave out the working folder.
"""


def command(module: str, *arguments: object) -> list[str]:
    """Command that runs a module in a Python process.

    ``python -m`` puts the working folder first on ``sys.path``: a file ``msgspec.py`` there, which
    may be a stranger's, would run. ``PYTHONPATH`` is ignored, too. Where Isthmus itself comes from
    it, the process gets its folders without the working folder, for which an empty name stands.
    """
    first = module_path.kept_of_python_path()
    safe = ["-P"] if sys.version_info >= (3, 11) else []
    run = ["-m"] if safe and not first else ["-c", _WITHOUT_FOLDER.format(first=first)]
    return [sys.executable, "-E", *safe, *run, module, *map(str, arguments)]
