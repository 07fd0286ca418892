"""Interface to the emulation of XRT: the package ``isthmus-emulation`` (folder ``emulation/``).

This module is the only one outside that folder that imports it. It imports it by name: to look for
an entry point would cost each command 50 ms and 100 modules more (Python 3.11, 2026-11-28).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import NoDeviceError

if TYPE_CHECKING:
    import typer

    from isthmus.address import Address
    from isthmus.candidates import Candidate

ABSENT = "the emulation of XRT is not installed: pip install 'isthmus[emulation]'"


@cache
def why_absent() -> str:
    """Says why the emulation cannot be used, and what to install; empty where it can."""
    try:
        import isthmus_emulation  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "isthmus_emulation":
            raise
        return ABSENT
    except ImportError as error:  # it is of another version
        return str(error)
    return ""


def candidate(address: Address, opencl: str = "") -> Candidate:
    """How to load a backend for ``xrt:0@card=BOARD``.

    ``opencl`` names XRT's OpenCL library, for the backend that loads it. Raises NoDeviceError
    where no emulation is installed or the XRT here has none, UsageError for an unknown board.
    """
    _require()
    import isthmus_emulation

    return isthmus_emulation.candidate(address, opencl)


def default_xclbin() -> Path | None:
    """Xclbin for XRT's noop mode: two banks, host memory, an empty kernel; None: not installed."""
    if why_absent():
        return None
    import isthmus_emulation

    return isthmus_emulation.default_xclbin()


def add_commands(app: typer.Typer, card: typer.Typer) -> None:
    """Registers ``isthmus xclbin``, and all of ``isthmus card`` but ``boards``.

    Without the emulation each command raises NoDeviceError.
    """
    if not why_absent():
        import isthmus_emulation

        isthmus_emulation.add_commands(app, card)
        return
    of_card = ((card, name) for name in ("kernel", "xclbin", "exec", "include"))
    for group, name in (*of_card, (app, "xclbin")):
        group.command(
            name=name,
            help="Needs the emulation of XRT: pip install 'isthmus[emulation]'",
            context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
        )(_require)


def _require() -> None:
    reason = why_absent()
    if reason:
        raise NoDeviceError(reason)
