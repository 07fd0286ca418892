"""Adds ``isthmus xclbin`` and the commands of ``isthmus card`` except ``boards``."""

from __future__ import annotations

import typer

from isthmus.output import put
from isthmus_emulation.cli import card_exec, card_kernel, card_xclbin, xclbin


def add_commands(app: typer.Typer, card: typer.Typer) -> None:
    """Registers the commands; ``card``: the command group ``isthmus card``."""
    xclbin.add_to(app)
    card_kernel.add_to(card)
    card.command(name="xclbin", help="Write an xclbin with the emulated card's kernels.")(
        card_xclbin.write
    )
    card.command(
        name="exec",
        help="Run an XRT or OpenCL program on emulated cards.",
        # Words after the program's name are arguments of the program.
        context_settings={"allow_interspersed_args": False},
    )(card_exec.execute)
    card.command(name="include", help="Print the folder of the header for kernels of your own.")(
        include
    )


def include() -> None:
    """Prints the folder for ``-I`` of a C++ compiler."""
    from isthmus_emulation.session import CLOCK

    put(CLOCK.parent / "include")
