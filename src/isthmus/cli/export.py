"""``isthmus export``: writes the rows or samples of a run into a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isthmus.output import put, put_bytes


def export(
    run: Annotated[Path, typer.Argument(help="run file")],
    out: Annotated[Path, typer.Option(help="file to write, never overwritten; - for stdout")],
    form: Annotated[
        str | None, typer.Option("--format", help="csv, json or parquet [by the ending of --out]")
    ] = None,
    samples: Annotated[
        bool, typer.Option("--samples", help="every sample instead of a row a point")
    ] = False,
) -> None:
    """Writes one row for each point and clock, with the columns of ``isthmus.load(RUN).frame()``.

    ``--samples`` writes one row for each sample, with the columns of ``.samples()``.
    """
    from isthmus.analysis.loaded import samples_of
    from isthmus.analysis.summary import summarise
    from isthmus.analysis.typed import with_run
    from isthmus.errors import analysing
    from isthmus.reporters.export import FORMATS
    from isthmus.results import run_file
    from isthmus.saving import STDOUT, save
    from isthmus.text import require_known

    write = FORMATS[require_known("format", form or out.suffix.removeprefix("."), FORMATS)]
    loaded = run_file.load(run)
    with analysing(run):
        rows = samples_of(loaded) if samples else summarise(loaded)
        content = write(with_run(rows, loaded))
    if out == STDOUT:
        put_bytes(content)
    else:
        save(content, out)
        put(out)
