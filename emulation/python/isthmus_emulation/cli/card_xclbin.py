"""``isthmus card xclbin``: writes an xclbin with built-in kernels of the emulated card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from isthmus.errors import UsageError
from isthmus.output import put


def write(
    out: Annotated[Path, typer.Option("--out", "-o", help="file to write")],
    kernels: Annotated[
        str | None, typer.Option(help="names, as vadd,bandwidth [all that the card has]")
    ] = None,
    board: Annotated[str | None, typer.Option(help="whose memories it has [two banks]")] = None,
    device_name: Annotated[
        str | None,
        typer.Option(help="platform that the file names, as card exec --device-name has it"),
    ] = None,
    mode: Annotated[str, typer.Option(help="hw_emu, or hw for card exec --as-hardware")] = "hw_emu",
) -> None:
    """Writes a new file and prints its name and UUID."""
    from isthmus import boards
    from isthmus_emulation.kernels import KERNELS, design
    from isthmus_emulation.xclbin import save
    from isthmus_emulation.xclbin.design import ModeName

    names: tuple[ModeName, ...] = get_args(ModeName)
    chosen = next((name for name in names if name == mode), None)
    if chosen is None:
        raise UsageError(f"no mode '{mode}'; choose {', '.join(names)}")
    wanted = list(KERNELS) if kernels is None else kernels.split(",")
    made = design(wanted, boards.named(board) if board else None, chosen, device_name).build()
    save(made, out)
    put(f"{out} {made.header.uuid}")
