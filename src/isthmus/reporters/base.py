"""What a reporter is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from isthmus.errors import UsageError
from isthmus.results.run_file import Run


@dataclass(frozen=True)
class Reporter:
    """Shows a run as text."""

    name: str
    summary: str
    text: Callable[[Run], str]
    """The summaries, newline at the end."""
    samples: Callable[[Run], str] | None = None
    """Each sample beside them, where the format can show it."""

    def render(self, run: Run, *, samples: bool = False) -> str:
        """The whole text; raises UsageError for samples that this format cannot show."""
        if not samples:
            return self.text(run)
        if self.samples is None:
            raise UsageError(f"format '{self.name}' shows no samples; {_able()} can")
        return self.samples(run)


def _able() -> str:
    from isthmus.reporters import registry  # noqa: PLC0415 - it imports this

    return ", ".join(r.name for r in registry().values() if r.samples is not None)
