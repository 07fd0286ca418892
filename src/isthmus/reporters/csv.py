"""Shows a run as CSV at full precision: the columns of ``COLUMNS``, then the studies' axes."""

from __future__ import annotations

from isthmus.analysis.summary import summarise
from isthmus.reporters.base import Reporter
from isthmus.reporters.cells import clocks_of, plain_rows, series_of
from isthmus.results.run_file import Run
from isthmus.written import csv_text

_IDENTITY = (
    "study", "device", "api", "operation", "memory", "bytes", "direction", "initiator",
)  # fmt: skip


def _text(run: Run) -> str:
    frame = summarise(run)
    return csv_text(frame.columns, (row.values() for row in plain_rows(frame)))


def _samples(run: Run) -> str:
    axes = list(dict.fromkeys(name for point in run.points for name in point.axes))
    rows = (
        [
            *(getattr(point, name) for name in _IDENTITY),
            series.rerun, index, clock, seconds, series.batch,
            *(point.axes.get(name) for name in axes),
        ]
        for point in run.points
        for clock in clocks_of(point)
        for series in series_of(point, clock)
        for index, seconds in enumerate(series.seconds)
    )  # fmt: skip
    return csv_text([*_IDENTITY, "rerun", "index", "clock", "seconds", "batch", *axes], rows)


REPORTER = Reporter("csv", "one row per point and clock, or per sample", _text, _samples)
