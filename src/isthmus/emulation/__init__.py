"""An emulated card behind the XRT that is installed: what a program needs in its environment.

``prepare`` makes a folder for one run of a program: settings for XRT, the boards' parameters, and
the page by which the device process tells what it did. XRT starts the device process itself.
"""

from __future__ import annotations

from isthmus.emulation.backend import MODE, candidate
from isthmus.emulation.session import Session, prepare

__all__ = ["MODE", "Session", "candidate", "prepare"]
