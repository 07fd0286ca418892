"""Formats tables: as text with units for people, as plain values for programs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from isthmus.analysis import wording
from isthmus.analysis.summary import CLOCKS, COLUMNS, measured_on
from isthmus.frames import Frame, Series, whole
from isthmus.results.run_file import ClockName, Point, Run
from isthmus.units import (
    Amount,
    number,
    percent_amount,
    printable,
    rate_amount,
    rounded_size,
    seconds_amount,
)

_BY_SUFFIX: tuple[tuple[str, Callable[[float], Amount]], ...] = (
    ("_s", seconds_amount),
    ("_Bps", rate_amount),
    ("bytes", lambda value: Amount(rounded_size(value), "")),
    ("share", percent_amount),
    ("ratio", lambda value: Amount(number(value), "")),
    ("residual", lambda value: Amount(f"{100 * value:+.1f}", "%")),
)
_HEADINGS = {
    "min_s": "minimum",
    "limit_share": "of limit",
    "limit_source": "limit of",
    "bytes": "size",
    "half_bytes": "n1/2",
    "worst_bytes": "at size",
    "largest_bytes": "largest size",
    "resolved_share": "to within",
    "time_ratio": "time ratio",
    "least_ratio": "least",
    "most_ratio": "most",
    "reference": "against",
    "at_most_share": "at most",
    "allowed_share": "allowed",
}
_VIEW = (
    "study", "device", "api", "operation", "memory", "clock", "bytes", "median_s", "low_median_s",
    "high_median_s", "min_s", "bandwidth_Bps", "limit_share", "limit", "limit_source",
    "model_s", "low_model_s", "high_model_s",
    "samples", "reruns", "verified", "converged", "flags",
)  # fmt: skip
_LIFTED = (
    "study", "device", "api", "operation", "memory", "axes", "clock", "limit",
    "limit_source", "reruns", "verified",
)  # fmt: skip


class Table(NamedTuple):
    """A table of text cells under headings."""

    headings: list[str]
    rows: list[list[str]]
    numeric: list[bool]
    """For each column, whether its cells are aligned to the right."""


def cell(name: str, value: Any) -> str:
    """Writes one value in the unit that the column's name gives; empty for a missing value."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (int, float, np.integer, np.floating)):
        return str(_amount(name, float(value)))
    text = "" if value is None else printable(value)
    return text.replace(";", ", ") if name == "flags" else text


def _amount(name: str, value: float) -> Amount:
    if math.isnan(value):
        return Amount("", "")
    if math.isinf(value):
        return Amount("unbounded", "")
    for suffix, shown in _BY_SUFFIX:
        if name.endswith(suffix):
            return shown(value)
    text = str(whole(value)) if value.is_integer() else number(value)
    return Amount(text, "")


def table(frame: Frame, labels: Mapping[str, str] | None = None) -> Table:
    """Makes text cells of a frame; ``low_X`` and ``high_X`` become "interval" behind ``X``.

    The column ``within`` becomes a word in the interval. Devices have their labels. Columns
    without any value are left out.
    """
    labels = labels or {}
    headings, columns, numeric = [], [], []
    for name in map(str, frame.columns):
        if name == "within" or name.startswith("high_"):
            continue
        values = frame[name].tolist()
        if name.startswith("low_"):
            figure = name.removeprefix("low_")
            ends = zip(values, frame[f"high_{figure}"].tolist(), strict=True)
            cells = [_interval(figure, low, high) for low, high in ends]
            if "within" in frame:
                marks = [" (within)" if within else "" for within in frame["within"]]
                cells = [c + mark if c else c for c, mark in zip(cells, marks, strict=True)]
            heading = "interval"
        else:
            named = {"device", "reference"} & {name}
            cells = [cell(name, labels.get(v, v) if named else v) for v in values]
            bare = name.removesuffix("_s").removesuffix("_Bps")  # each cell shows its unit
            heading = _HEADINGS.get(name, bare.replace("_", " "))
        if any(cells) or frame.empty:
            headings.append(printable(heading))
            columns.append(cells)
            numeric.append(_is_number(frame[name]))
    return Table(headings, [list(row) for row in zip(*columns, strict=True)], numeric)


def _is_number(column: Series) -> bool:
    return column.values.dtype.kind in "iuf"


def _interval(name: str, low: Any, high: Any) -> str:
    if low == high:  # simulated time is exact
        return ""
    ends = [_amount(name, float(end)) for end in (low, high)]
    return ends[0].and_to(ends[1]) if all(end.number for end in ends) else ""


def view(summary: Frame, labels: Mapping[str, str]) -> tuple[Frame, dict[str, str]]:
    """The columns of a summary that people read, and the values that are equal in all rows."""
    axes = [str(name) for name in summary.columns if name not in COLUMNS]
    shown = summary.rename(
        {
            "ci_low_s": "low_median_s",
            "ci_high_s": "high_median_s",
            "model_low_s": "low_model_s",
            "model_high_s": "high_model_s",
        }
    )
    order = [*_VIEW[: _VIEW.index("clock")], *axes, *_VIEW[_VIEW.index("clock") :]]
    return lift(shown[order], labels, axes)


def lift(
    frame: Frame, labels: Mapping[str, str], axes: Sequence[str] = ()
) -> tuple[Frame, dict[str, str]]:
    """Takes descriptive columns that are equal in all rows out of a frame; returns both."""
    common = {}
    for name in (*_LIFTED, *axes):
        if name in frame and len(frame) > 1 and len(values := frame[name].unique()) == 1:
            value = labels.get(values[0], values[0]) if name == "device" else whole(values[0])
            common[_HEADINGS.get(name, name)] = cell(name, value)
            frame = frame.without([name])
    return frame, {printable(name): text for name, text in common.items() if text}


def plain(value: Any) -> str | int | float | bool | None:
    """A value as a built-in type of Python; None for a missing value."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, (int, np.integer)):
        return int(value)
    return None if value is None else str(value)


def plain_rows(summary: Frame) -> Iterator[dict[str, str | int | float | bool | None]]:
    """Yields the summary's rows as plain values, with whole numbers for axes that are whole."""
    names = [str(name) for name in summary.columns]
    for row in summary.rows():
        yield {
            name: plain(value if name in COLUMNS else whole(value))
            for name, value in zip(names, row, strict=True)
        }


class ProcessSamples(NamedTuple):
    """Samples of a point by one worker on one clock."""

    rerun: int
    batch: int
    """Number of repetitions whose mean is a sample."""
    seconds: list[float]
    """Seconds of one repetition, in the order of measurement."""


def series_of(point: Point, clock: ClockName) -> list[ProcessSamples]:
    """Samples of a point on one clock, for each rerun in order."""
    return [
        ProcessSamples(
            rerun.rerun,
            rerun.batch if clock == "host" else 1,
            rerun.seconds(clock).tolist(),
        )
        for rerun in measured_on(point, clock)
    ]


def clocks_of(point: Point) -> list[ClockName]:
    """Clocks on which a point has samples, in the order of the summary's rows."""
    return [clock for clock in CLOCKS if measured_on(point, clock)]


def heading(run: Run) -> str:
    """One line with a run's studies, host, start, number of points and state, or its origin."""
    status = {"complete": "complete", "budget": "ended by its time", "interrupted": "interrupted"}
    points = f"{len(run.points)} point{'' if len(run.points) == 1 else 's'}"
    studies = ", ".join(run.studies) or "no study"
    if run.origin:
        return printable(f"{studies}, imported from {wording.origin(run)}: {points}")
    host = run.environment.get("host", "unknown host")
    return printable(f"{studies} on {host}, {run.started}: {points}, {status[run.status]}")


def flags_in(summary: Frame) -> list[str]:
    """Returns all flags that any of the rows has."""
    return sorted({flag for text in summary["flags"] for flag in str(text).split(";") if flag})
