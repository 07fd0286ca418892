"""Interface to the emulation of XRT (folder ``emulation/``), which a build may leave out.

This module is the only one outside that folder that imports it.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import NoDeviceError

if TYPE_CHECKING:
    import typer

    from isthmus.address import Address
    from isthmus.candidates import Candidate

ABSENT = (
    "this Isthmus was built without the emulation of XRT; "
    "CMAKE_ARGS=-DISTHMUS_XRT_EMULATION=ON make setup builds it"
)


def is_built() -> bool:
    """Whether this build has the emulation."""
    spec = find_spec("isthmus_emulation")
    return spec is not None and spec.origin is not None


def candidate(address: Address, opencl: str = "") -> Candidate:
    """How to load a backend for ``xrt:0@card=BOARD``.

    ``opencl`` names XRT's OpenCL library, for the backend that loads it. Raises NoDeviceError
    where this build or the XRT here has no emulation, UsageError for a board that cannot be.
    """
    _require()
    import isthmus_emulation

    return isthmus_emulation.candidate(address, opencl)


def default_xclbin() -> Path | None:
    """An xclbin for XRT's noop mode: two banks, host memory, an empty kernel; None: not built."""
    if not is_built():
        return None
    import isthmus_emulation

    return isthmus_emulation.default_xclbin()


def add_commands(app: typer.Typer, card: typer.Typer) -> None:
    """Registers ``isthmus xclbin``, and ``exec``, ``xclbin`` and ``include`` of ``isthmus card``.

    In a build without the emulation each of them raises NoDeviceError.
    """
    if is_built():
        import isthmus_emulation

        isthmus_emulation.add_commands(app, card)
        return
    for group, name in ((card, "xclbin"), (card, "exec"), (card, "include"), (app, "xclbin")):
        group.command(
            name=name,
            help="Not in this build: it needs the emulation of XRT.",
            context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
        )(_require)


def _require() -> None:
    if not is_built():
        raise NoDeviceError(ABSENT)
