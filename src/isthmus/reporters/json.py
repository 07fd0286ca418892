"""JSON: a list of one object per point and clock; what is missing is null."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from isthmus.analysis.summary import summarise
from isthmus.reporters.base import Reporter
from isthmus.reporters.cells import clocks_of, plain_rows, series_of
from isthmus.results.run_file import Run


def _text(run: Run) -> str:
    return _written(dict(row) for row in plain_rows(summarise(run)))


def _samples(run: Run) -> str:
    sources = (
        series_of(point, clock) for point in run.points for clock in clocks_of(point) or ["host"]
    )
    return _written(
        {**row, "seconds": [series._asdict() for series in source]}
        for row, source in zip(plain_rows(summarise(run)), sources, strict=True)
    )


def _written(rows: Iterable[dict[str, object]]) -> str:
    lines = ",\n".join(msgspec.json.encode(row).decode() for row in rows)
    return f"[\n{lines}\n]\n" if lines else "[]\n"


REPORTER = Reporter("json", "a list of rows, with their samples if wanted", _text, _samples)
