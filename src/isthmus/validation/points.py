"""Every row of the published sources that has a closed form, beside what gives ours."""

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
    """One published figure and the model for it."""

    series: str
    name: str
    unit: str
    published: float
    board: str
    predict: Callable[[Board], float]
    """In ``unit``."""
    off: Callable[[float], float]
    """How far such a figure is off the published one, relative (``Row.residual``)."""
    fit: str = ""
    """Calibration that this figure belongs to; empty: the model has not seen it."""
    kind: str = "predicted"
    """Without a fit: ``predicted``; ``after the fact`` where an input was chosen in sight of it."""
    note: str = ""
    closed_form: Callable[[Board], float] | None = None
    """Of a point that events predict, which take seconds: a fit goes by this, times their ratio."""

    def quick(self, board: Board) -> tuple[Callable[[Board], float], float]:
        """A closed form, and the factor by which it stands for ``predict`` near that board."""
        if self.closed_form is None:
            return self.predict, 1.0
        return self.closed_form, self.predict(board) / self.closed_form(board)

    @property
    def how(self) -> str:
        """``fitted``, ``predicted`` or ``after the fact``."""
        return "fitted" if self.fit else self.kind

    def residual(self, board: Board) -> float:
        """How far the prediction is off."""
        return self.off(self.predict(board))


def all_points() -> list[PublishedPoint]:
    """All, in the order of the sources."""
    rows = (row for source in published.sources().values() for row in source.rows)
    return [point for row in rows if row.series for point in _points(row)]


def _points(row: Row) -> Iterator[PublishedPoint]:
    def rate(board: Board) -> float:
        return form(board) / row.scale

    form = closed_form(row.model, row.inputs)
    common = (row.item, row.unit, row.published, row.board)
    yield PublishedPoint(row.series, *common, rate, row.residual, row.fit, row.kind, row.note)
    if row.events:
        yield PublishedPoint(
            f"{row.series}{AS_EVENTS}", *common, lambda board: events.figure(row, board),
            row.residual, row.fit, row.kind, row.note, rate,
        )  # fmt: skip
