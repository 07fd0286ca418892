"""``isthmus anonymise``: writes a run file without private data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isthmus.output import put


def anonymise(
    run: Annotated[Path, typer.Argument(help="run file")],
    out: Annotated[Path, typer.Option(help="file to write; never overwritten")],
) -> None:
    """Writes the copy; raises UsageError if ``out`` exists."""
    from isthmus.results import run_file
    from isthmus.results.anonymise import anonymised

    run_file.save(anonymised(run_file.load(run)), out)
    put(out)
