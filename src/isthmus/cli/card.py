"""``isthmus card``: lists boards of the emulated card, and adds commands that use the card.

The emulation of XRT adds all commands but ``boards``, and also adds ``isthmus xclbin``.
"""

from __future__ import annotations

from typing import Annotated

import typer

from isthmus import xrt_emulation
from isthmus.command import App
from isthmus.errors import UsageError
from isthmus.output import put


def add_to(app: typer.Typer) -> None:
    """Registers the group ``card`` and the commands of XRT's emulation."""
    group = App(no_args_is_help=True, rich_markup_mode=None)
    group.command(name="boards", help="List the boards, or one board's parameters.")(boards)
    app.add_typer(group, name="card", help="The emulated card: boards, kernels, programs on it.")
    xrt_emulation.add_commands(app, group)


def boards(
    name: Annotated[
        str | None, typer.Argument(help="board or file, e.g. u250 or u250,link.lanes=8")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
    as_toml: Annotated[
        bool, typer.Option("--toml", help="print a file to start your own board from")
    ] = False,
) -> None:
    """Prints names and titles, or each parameter with value, unit, kind and source."""
    from isthmus import boards as all_boards
    from isthmus.boards import listing
    from isthmus.written import json_text

    if as_toml:
        if as_json:
            raise UsageError("give --json or --toml: one is printed")
        if name is None:
            raise UsageError("--toml writes one board: name it, isthmus card boards u250 --toml")
        put("\n".join(listing.toml(all_boards.named(name))))
        return
    if name is None:
        rows = [all_boards.load(board) for board in all_boards.names()]
        data: object = [listing.about(board) for board in rows]
        lines = listing.titles(rows)
    else:
        board = all_boards.named(name)
        data, lines = listing.as_data(board), listing.lines(board)
    if as_json:
        put(json_text(data), end="")
    else:
        put("\n".join(lines))
