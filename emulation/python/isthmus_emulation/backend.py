"""Offers emulated cards to the backends: ``xrt:0@card=u250``, ``xocl:0@card=u250``.

This module also makes the xclbin for measurements of XRT's noop mode.
"""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus import boards
from isthmus.candidates import Candidate
from isthmus.errors import UsageError
from isthmus.system import private, xrt
from isthmus_emulation import kernels, xclbin
from isthmus_emulation.session import Session, prepare

if TYPE_CHECKING:
    from isthmus.address import Address

BOARD = "ISTHMUS_CARD_BOARD"


@cache
def _session(board: str) -> Session:
    """Returns the session that all workers of this process share; it ends with the process."""
    session = prepare([board])
    atexit.register(session.close)
    return session


def _xclbin(board: str) -> str:
    return str(_kept("card", kernels.default(boards.named(board), "hw_emu").build()))


def default_xclbin() -> Path:
    """Returns an xclbin for XRT's noop mode: two banks, host memory, an empty kernel."""
    return _kept("transfer", xclbin.transfer_default("hw"))


def _kept(name: str, made: xclbin.Xclbin) -> Path:
    path = private.folder("xrt") / f"{name}-{made.header.uuid}.xclbin"
    return path if path.exists() else private.write(path, made.encode())


def candidate(address: Address, opencl: str = "") -> Candidate:
    """Returns the candidate for a mode ``card=BOARD``; ``opencl`` names the library to load.

    Raises UsageError for an impossible board or a link with errors, NoDeviceError if XRT lacks a
    necessary part.
    """
    _, equals, board = address.mode.partition("=")
    if not equals or not board:
        raise UsageError(
            f"device '{address.text}': write @{xrt.CARD}={', @card='.join(boards.names())}"
        )
    if boards.named(board).number("link.error_rate") > 0:
        raise UsageError(
            f"device '{address.text}': a link with errors takes another time in each sample, and "
            f"through XRT there is one; card:{board} has them all"
        )
    session = _session(board)
    environment = {key: value for key, value in session.environment.items() if value}
    environment |= {
        BOARD: board,
        "ISTHMUS_DEFAULT_BINARY": _xclbin(board),
        "ISTHMUS_MAY_PROGRAM": "yes",
    }
    if opencl:
        library = f"{environment['XILINX_XRT']}/lib/lib{opencl}.so.2"
        environment["ISTHMUS_OPENCL_LOADER"] = library
    installation = xrt.find()
    return Candidate(
        label=f"{installation.name if installation else 'XRT'} @{address.mode}",
        environment=environment,
        mode=address.mode,
        hardware=False,
    )
