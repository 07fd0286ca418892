"""Emulates XRT's cards: models of cards behind the XRT that is installed.

``prepare`` makes a folder for one run of a program. The folder has settings for XRT, the boards'
parameters, and the page on which the cards count their use. XRT loads our shim into the program.

The rest of Isthmus calls ``candidate``, ``default_xclbin`` and ``add_commands``, all through
``isthmus.xrt_emulation``. Every command line imports this package, so it loads modules at use.

The import fails with ImportError beside another version of ``isthmus``, whose page may differ.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import isthmus

if TYPE_CHECKING:
    from isthmus_emulation.backend import candidate, default_xclbin
    from isthmus_emulation.cli import add_commands
    from isthmus_emulation.session import Session, prepare

__all__ = ["Session", "__version__", "add_commands", "candidate", "default_xclbin", "prepare"]

__version__ = "0.1.0"
if isthmus.__version__ != __version__:
    raise ImportError(
        f"isthmus {isthmus.__version__} does not work with isthmus-emulation {__version__}: "
        "pip install --upgrade 'isthmus[emulation]'"
    )

_MODULES = {
    "Session": "session",
    "add_commands": "cli",
    "candidate": "backend",
    "default_xclbin": "backend",
    "prepare": "session",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
