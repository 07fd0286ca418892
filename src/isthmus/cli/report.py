"""``isthmus report``: writes a page about run files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isthmus.errors import UsageError, analysing
from isthmus.output import put

_MOST_POINTS = 20_000
"""Most points of a page: with so many, writing takes a minute and 1 GB, and browsers are slow."""


def report(
    runs: Annotated[list[Path], typer.Argument(help="run files")],
    out: Annotated[
        Path | None, typer.Option(help="folder of the page [the first run file's name]")
    ] = None,
    open_page: Annotated[bool, typer.Option("--open", help="show it in the browser")] = False,
    force: Annotated[bool, typer.Option("--force", help="replace a page that is there")] = False,
) -> None:
    """Writes index.html and its plots; prints where the page is."""
    from isthmus.reporters.html import write_page
    from isthmus.results import run_file

    loaded = [(str(path), run_file.load(path)) for path in runs]
    points = sum(len(run.points) for _, run in loaded)
    if points > _MOST_POINTS:
        raise UsageError(
            f"{points} points; a page shows at most {_MOST_POINTS}: "
            "isthmus show --format csv has all"
        )
    folder = out or runs[0].with_suffix("")
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder")
    if (folder / "index.html").exists() and not force:
        raise UsageError(f"{folder} holds a page already: choose --out, or --force to replace it")
    with analysing(", ".join(map(str, runs))):
        page = write_page(loaded, folder)
    put(page)
    if open_page:
        import webbrowser

        webbrowser.open(page.resolve().as_uri())
