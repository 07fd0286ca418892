"""Finds the published rows that models predict, each with the function that predicts it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from isthmus import published
from isthmus.boards import Board
from isthmus.published import Row
from isthmus.validation import events
from isthmus.validation.closed_forms import closed_form

AS_EVENTS = ", as events"


@dataclass(frozen=True)
class PublishedPoint:
    """A published row, and the prediction for it."""

    row: Row
    series: str
    """Name of the row's series; another name if events predict it: see ``AS_EVENTS``."""
    predict: Callable[[Board], float]
    """Computes the prediction in the row's unit."""
    closed_form: Callable[[Board], float] | None = None
    """For a point that events predict: the closed form of the same figure, by which fits
    approximate the events. None for other points."""

    def quick(self, board: Board) -> tuple[Callable[[Board], float], float]:
        """A closed form and a factor, whose product approximates ``predict`` near this board."""
        if self.closed_form is None:
            return self.predict, 1.0
        return self.closed_form, self.predict(board) / self.closed_form(board)

    def residual(self, board: Board) -> float:
        """Prediction for this board over the published number, less 1."""
        return self.row.residual(self.predict(board))


def all_points() -> list[PublishedPoint]:
    """All published rows that models predict, in the order of the sources."""
    rows = (row for source in published.sources().values() for row in source.rows)
    return [point for row in rows if row.series for point in _points(row)]


def _points(row: Row) -> Iterator[PublishedPoint]:
    def rate(board: Board) -> float:
        return form(board) / row.scale

    form = closed_form(row.model, row.inputs)
    yield PublishedPoint(row, row.series, rate)
    if row.events:
        series = f"{row.series}{AS_EVENTS}"
        yield PublishedPoint(row, series, lambda board: events.figure(row, board), rate)
