"""The emulation of XRT: cards that are models, behind the XRT that is installed.

``prepare`` makes a folder for one run of a program: settings for XRT, the boards' parameters, and
the page on which the cards count their use. XRT loads our shim into the program.

The rest of Isthmus calls ``candidate``, ``default_xclbin`` and ``add_commands``, all through
``isthmus.xrt_emulation``. Nothing is loaded before it is used: each command line comes here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isthmus_emulation.backend import candidate, default_xclbin
    from isthmus_emulation.cli import add_commands
    from isthmus_emulation.session import Session, prepare

__all__ = ["Session", "add_commands", "candidate", "default_xclbin", "prepare"]

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
