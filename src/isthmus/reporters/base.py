"""The type of reporters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isthmus.results.run_file import Run


@dataclass(frozen=True)
class Reporter:
    """Shows a run as text."""

    name: str
    summary: str
    text: Callable[[Run], str]
    """Returns the text of a run's summary, with a newline at the end."""
    samples: Callable[[Run], str] | None = None
    """Returns the text with every sample; None if the format shows no samples."""

    def render(self, run: Run, *, samples: bool = False) -> str:
        """The whole text; with samples if they are wanted and the format shows them."""
        return self.samples(run) if samples and self.samples else self.text(run)
