"""``isthmus show``: prints the summary of a run, or its points."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isthmus.output import put


def show(
    run: Annotated[Path, typer.Argument(help="run file")],
    form: Annotated[
        str | None, typer.Option("--format", help="summary, table, csv, json or md")
    ] = None,
    points: Annotated[
        bool, typer.Option("--points", help="every point: the same as --format table")
    ] = False,
    study: Annotated[str | None, typer.Option(help="points of this study only")] = None,
    operation: Annotated[
        str | None, typer.Option(help="points of these operations only, e.g. read,write")
    ] = None,
    samples: Annotated[
        bool, typer.Option("--samples", help="every sample instead of a summary")
    ] = False,
) -> None:
    """Prints a run file: its summary, or its points in one of the text formats."""
    from isthmus import reporters
    from isthmus.cli.selection import of_study_and_operations
    from isthmus.errors import UsageError, analysing
    from isthmus.reporters import summary
    from isthmus.results import run_file

    if points and form not in {None, "table"}:
        raise UsageError(f"--points has no effect with --format {form}")
    chosen = form or ("table" if points or study or operation or samples else "summary")
    # The summary needs no reporter, and loading all reporters takes a tenth of a second.
    reporter = None
    if chosen != "summary" or samples:
        reporter = reporters.by_name(chosen, samples=samples)
    loaded = of_study_and_operations(run_file.load(run), study, operation)
    with analysing(run):
        if reporter is None:
            text = "\n".join(summary.lines(loaded, run)) + "\n"
        else:
            text = reporter.render(loaded, samples=samples)
    put(text, end="")
