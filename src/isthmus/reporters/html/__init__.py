"""The page: one self-contained file with plots, for reading and for keeping."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from isthmus.results.run_file import Run


def write_page(runs: Sequence[tuple[str, Run]], folder: Path) -> Path:
    """Writes ``index.html`` and ``plots/NAME.svg`` and ``.png`` for named runs; returns the page.

    The page asks the network for nothing. Raises IsthmusError where the folder cannot be written.
    """
    from isthmus.reporters.html import page  # noqa: PLC0415 - plotting takes a second to load

    return page.write(runs, folder)
