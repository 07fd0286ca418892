"""``isthmus cite``: writes a run's method and its sources for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isthmus.output import put


def cite(
    run: Annotated[Path | None, typer.Argument(help="run file; without it: Isthmus alone")] = None,
    form: Annotated[str, typer.Option("--format", help="text, bibtex or json")] = "text",
) -> None:
    """Prints how a run was measured, and entries for Isthmus and the sources behind the run."""
    from isthmus.reporters import citation
    from isthmus.results import run_file
    from isthmus.text import require_known

    require_known("format", form, citation.FORMATS)
    put(citation.render(run_file.load(run) if run else None, form), end="")
