"""The format ``names``: a line for each point."""

from __future__ import annotations

from isthmus.reporters.base import Reporter
from isthmus.results.run_file import Run


def text(run: Run) -> str:
    """Operation and size of each point."""
    return "".join(f"{point.operation} {point.bytes}\n" for point in run.points)


REPORTER = Reporter("names", "operation and size of each point", text)
