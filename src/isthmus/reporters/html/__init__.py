"""Makes the page on runs: one HTML file with plots, which needs no other file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isthmus.results.run_file import Run


def write_page(runs: Sequence[tuple[str, Run]], folder: Path) -> Path:
    """Writes ``index.html`` and ``plots/NAME.svg`` and ``.png`` for named runs; returns the page.

    The page loads nothing from the network. Raises IsthmusError if the folder cannot be written.
    """
    from isthmus.reporters.html import page  # noqa: PLC0415 - plotting takes a second to load

    return page.write(runs, folder)
