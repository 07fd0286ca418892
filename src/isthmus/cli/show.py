"""``isthmus show``: one row per point."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def add_to(app: typer.Typer) -> None:
    """Registers the command."""
    app.command(name="show", help="Show a run file, one row per point and clock.")(show)


def show(
    run: Annotated[Path, typer.Argument(help="run file")],
    form: Annotated[str, typer.Option("--format", help="table, csv, json or md")] = "table",
    samples: Annotated[
        bool, typer.Option("--samples", help="every sample instead of a summary")
    ] = False,
) -> None:
    """Prints a run file in one of the text formats."""
    from isthmus import reporters
    from isthmus.results import run_file

    reporter = reporters.by_name(form)
    print(reporter.render(run_file.load(run), samples=samples), end="")
