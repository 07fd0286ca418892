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
    """Function that gives the text of the summaries, with a newline at the end."""
    samples: Callable[[Run], str] | None = None
    """Function that gives the text with every sample; None where the format has none."""

    def render(self, run: Run, *, samples: bool = False) -> str:
        """The whole text, with samples where the format can show them."""
        return self.samples(run) if samples and self.samples else self.text(run)
