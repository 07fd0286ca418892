"""``isthmus import``: turns outputs of other programs into run files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from isthmus.output import put


def import_files(
    files: Annotated[list[Path], typer.Argument(help="outputs of other programs")],
    out: Annotated[
        Path | None, typer.Option(help="run file to write, or a folder [here, named as the file]")
    ] = None,
    form: Annotated[
        str | None, typer.Option("--format", help="name of the format [by the content]")
    ] = None,
    bytes_each: Annotated[
        str | None, typer.Option("--bytes", help="size of a transfer, if the file lacks it")
    ] = None,
) -> None:
    """Writes a run file for each output, for show, report and compare."""
    from isthmus.importers.as_run import imported
    from isthmus.reporters import summary
    from isthmus.results import run_file
    from isthmus.text import counted
    from isthmus.units import parse_size

    size = parse_size(bytes_each) if bytes_each else None
    command = ["isthmus", *sys.argv[1:]]
    runs = [imported(file, form, size, command) for file in files]
    several = len(files) > 1
    folder = (out or Path()) if several or out is None or out.is_dir() else None
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    for file, run in zip(files, runs, strict=True):
        path = folder / f"{file.stem}.isthmus.json" if folder else out
        assert path
        run_file.save(run, path)
        if not several:
            put("\n".join(summary.lines(run, path)))
            put(path)
        else:
            assert run.origin
            what = counted(len(run.points), "point", "points")
            put(f"{path}: {what} of {run.origin.tool}")
