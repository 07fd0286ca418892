"""``isthmus xclbin``: writes and prints xclbin files, which describe a card to XRT."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, get_args

import typer

from isthmus.command import App
from isthmus.errors import UsageError
from isthmus.output import put


def add_to(app: typer.Typer) -> None:
    """Registers the group ``xclbin`` with its commands."""
    group = App(no_args_is_help=True, rich_markup_mode=None)
    group.command(name="write", help="Write an xclbin, by default one to time transfers.")(write)
    group.command(name="dump", help="Say what is in any xclbin.")(dump)
    app.add_typer(group, name="xclbin", help="Write an xclbin, or say what is in one.")


def write(
    out: Annotated[Path, typer.Option("--out", "-o", help="file to write")],
    mode: Annotated[
        str | None, typer.Option(help="hw, hw_emu or sw_emu [the description's, else hw]")
    ] = None,
    description: Annotated[
        Path | None, typer.Option("--from", help="what to write: TOML or JSON")
    ] = None,
) -> None:
    """Writes a new file and prints its name and UUID."""
    from isthmus_emulation.xclbin import TRANSFER, save
    from isthmus_emulation.xclbin.description import load
    from isthmus_emulation.xclbin.design import ModeName

    design = TRANSFER if description is None else load(description)
    if mode is not None:
        names: tuple[ModeName, ...] = get_args(ModeName)
        chosen = next((name for name in names if name == mode), None)
        if chosen is None:
            raise UsageError(f"no mode '{mode}'; choose {', '.join(names)}")
        design = design.for_mode(chosen)
    xclbin = design.build()
    save(xclbin, out)
    put(f"{out} {xclbin.header.uuid}")


def dump(
    file: Annotated[Path, typer.Argument(help="xclbin")],
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
) -> None:
    """Prints header, sections, memories, IPs, connections, clocks and kernels."""
    from isthmus.written import json_text
    from isthmus_emulation.xclbin import listing, load

    xclbin = load(file)
    try:
        text = json_text(listing.as_data(xclbin)) if as_json else listing.as_text(xclbin)
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error
    put(text, end="")
