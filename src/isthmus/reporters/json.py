"""Shows a run as JSON: ``findings``, ``curves`` (time over size), and ``points`` by clock.

``host`` describes the part of the run in which the host was slower, if any row shows it. Unknown
values are null.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from isthmus.analysis.context import RunContext, answers
from isthmus.analysis.findings import findings, plain
from isthmus.analysis.host_state import variation
from isthmus.analysis.summary import summarise
from isthmus.frames import Frame
from isthmus.reporters.base import Reporter
from isthmus.reporters.cells import clocks_of, plain_rows, series_of
from isthmus.results.run_file import Run
from isthmus.written import json_escaped


def _text(run: Run) -> str:
    summary = summarise(run)
    return _written(run, summary, (dict(row) for row in plain_rows(summary)))


def _samples(run: Run) -> str:
    summary = summarise(run)
    sources = (
        series_of(point, clock) for point in run.points for clock in clocks_of(point) or ["host"]
    )
    rows: Iterable[dict[str, object]] = (
        {**row, "seconds": [series._asdict() for series in source]}
        for row, source in zip(plain_rows(summary), sources, strict=True)
    )
    return _written(run, summary, rows)


def _written(run: Run, summary: Frame, rows: Iterable[dict[str, object]]) -> str:
    of_run = RunContext.of(run, summary)
    tables = (answer.table for answer in answers(of_run) if answer.name == "fits")
    curves = (dict[str, object](row) for table in tables for row in plain_rows(table))
    origin = f'"origin": {msgspec.json.encode(run.origin).decode()},\n' if run.origin else ""
    varied = variation(run)
    host = f'"host": {msgspec.json.encode(varied).decode()},\n' if varied else ""
    return json_escaped(
        f'{{{origin}{host}"findings": {_list(map(plain, findings(of_run)))},\n'
        f'"curves": {_list(curves)},\n"points": {_list(rows)}}}\n'
    )


def _list(rows: Iterable[dict[str, object]]) -> str:
    lines = ",\n".join(msgspec.json.encode(row).decode() for row in rows)
    return f"[\n{lines}\n]" if lines else "[]"


REPORTER = Reporter("json", "findings and rows, with their samples if wanted", _text, _samples)
