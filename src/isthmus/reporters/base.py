"""Defines the type of a reporter, which shows a run as text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isthmus.results.run_file import Run


@dataclass(frozen=True)
class Reporter:
    """Functions that show a run as text in one format."""

    name: str
    summary: str
    text: Callable[[Run], str]
    """Makes the text of a run's summary, with a newline at the end."""
    samples: Callable[[Run], str] | None = None
    """Makes the text with each sample; None if the format shows no samples."""

    def render(self, run: Run, *, samples: bool = False) -> str:
        """Makes the whole text; with ``samples``, with each sample if the format shows samples."""
        return self.samples(run) if samples and self.samples else self.text(run)
