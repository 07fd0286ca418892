"""Imports the emulation of XRT if it is installed: package ``isthmus-emulation``, ``emulation/``.

No other module outside of ``emulation/`` imports the package. This module imports it by name: the
search for an entry point would cost each command 50 ms and 100 modules (Python 3.11, 2026-11-28).
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
    """Says why the emulation of XRT cannot be used, and what to install; empty if it can."""
    try:
        import isthmus_emulation  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "isthmus_emulation":
            raise
        return ABSENT
    except ImportError as error:  # the installed package has another version
        return str(error)
    return ""


def candidate(address: Address, opencl: str = "") -> Candidate:
    """Makes the candidate by which a backend is loaded for ``xrt:0@card=BOARD``.

    ``opencl``: XRT's OpenCL library, for the backend that loads it. Raises NoDeviceError if no
    emulation is installed or the XRT here has no such library, UsageError for an unknown board.
    """
    _require()
    import isthmus_emulation

    return isthmus_emulation.candidate(address, opencl)


def default_xclbin() -> Path | None:
    """Path of an xclbin for XRT's noop mode: two banks, host memory, an empty kernel.

    None if the emulation is not installed.
    """
    if why_absent():
        return None
    import isthmus_emulation

    return isthmus_emulation.default_xclbin()


def add_commands(app: typer.Typer, card: typer.Typer) -> None:
    """Registers the commands ``isthmus xclbin``, and ``isthmus card`` except ``card boards``.

    If the emulation is not installed, each of these commands raises NoDeviceError.
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
