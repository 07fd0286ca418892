"""What others measured on real boards, beside what the emulated card makes of it within seconds."""

from __future__ import annotations

from typing import NamedTuple

from isthmus import boards, published
from isthmus.validation import events


class Beside(NamedTuple):
    """One published figure and the emulated card's, in the same unit."""

    what: str
    unit: str
    published: float
    here: float
    source: str
    figure: str
    """Name that ``isthmus reproduce`` knows."""

    @property
    def difference(self) -> float:
        """Here over published, less 1."""
        return self.here / self.published - 1.0


def beside_published() -> list[Beside]:
    """The main figure of each source; the cards run in this process, some seconds."""
    return [
        Beside(
            row.headline, row.unit, row.published, events.figure(row, boards.load(row.board)),
            source.by, f"{source.name}/{row.figures[0]}",
        )
        for source in published.sources().values()
        for row in source.rows
        if row.headline
    ]  # fmt: skip
