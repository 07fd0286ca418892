"""Matches the times of two sets of runs: rows by point, clock and process."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from isthmus.analysis.quantities import CLASSES, CLOCKS, IDENTITY, trusted_logs
from isthmus.analysis.ratios import complete
from isthmus.analysis.summary import measured_on, with_axes
from isthmus.frames import Frame, Series, concat
from isthmus.results.run_file import ClockName, Run

_AXIS = "\0"
RAN_OUT = "time ran out"
INTERRUPTED = "interrupted"
"""Why a point has no time: the budget of its run ran out, or the user interrupted the run."""


class Matched(NamedTuple):
    """Rows of both sides; ``side`` is 0 or 1, ``why`` is empty where a row has a time."""

    sides: tuple[Frame, Frame]
    """All rows of each side."""
    timed: tuple[Frame, Frame]
    """Rows of each side that have a time."""
    both: frozenset[tuple[Any, ...]]
    """Identity and size of the points that have a time on both sides."""
    points: list[Frame]
    """Rows of each point of ``both``."""
    series: list[Frame]
    """Rows of each series and class of sizes, of processes that measured all its sizes."""


def match(
    base: Sequence[Run], new: Sequence[Run], names: Mapping[str, str], *, mixed: bool
) -> Matched:
    """Matches the points of two sides. ``mixed``: simulated times match measured ones.

    ``names``: see ``differences.matched_devices``.
    """
    rows = _named_axes([_times(base, {}), _times(new, names)], mixed=mixed)
    before, after = (rows[rows["side"] == i] for i in (0, 1))
    timed = before[before["why"].eq("")], after[after["why"].eq("")]
    both = frozenset(keys_of(timed[0])) & frozenset(keys_of(timed[1]))
    of_both = np.array([key in both for key in keys_of(rows)], dtype=bool)
    common = rows[of_both & rows["why"].eq("")]
    points = [part for _, part in common.groups([*IDENTITY, "bytes"])]
    return Matched((before, after), timed, both, points, list(_classes(common)))


def keys_of(rows: Frame) -> list[tuple[Any, ...]]:
    """Identity and size of each row's point."""
    return rows[[*IDENTITY, "bytes"]].rows()


def _times(runs: Sequence[Run], names: Mapping[str, str]) -> Frame:
    """Makes a row for each point, clock and process: its median's log seconds, or why it has none.

    Samples of a simulated time that varies are independent: each has a row.
    """
    rows: list[dict[str, object]] = []
    for number, run in enumerate(runs):
        simulated = {device.address for device in run.devices if device.simulated}
        lost = {device.address for device in run.devices if device.error}
        for point in run.points:
            of_point = {
                "study": point.study,
                "device": names.get(point.device, point.device),
                "operation": point.operation,
                "memory": point.memory,
                "bytes": point.bytes,
                "moved": point.moved_bytes or math.nan,
                "run": number,
                **{f"{_AXIS}{name}": str(value) for name, value in point.axes.items()},
            }
            clocks: list[ClockName] = [
                c for c in CLOCKS if not (c == "host" and point.device in simulated)
            ]
            if run.origin and not any(measured_on(point, clock) for clock in clocks):
                clocks = ["device"]  # another program measured it by the device's clock
            measured = [clock for clock in clocks if measured_on(point, clock)]
            for clock in measured or clocks[:1]:
                logs, why = trusted_logs(point, clock)
                if why == "no time" and point.device in lost:
                    why = "failed"
                elif why == "no time" and run.status != "complete" and not measured:
                    why = INTERRUPTED if run.status == "interrupted" else RAN_OUT
                shared = {**of_point, "clock": clock, "why": why}
                if why:
                    none = {"process": "", "rerun": -1, "log": math.nan, "exact": False}
                    rows.append({**shared, **none})
                for process, values in logs.items():
                    rows += [
                        {**shared, "process": f"{number} {process} {i}", "rerun": process,
                         "log": value, "exact": clock == "simulated" and len(values) == 1}
                        for i, value in enumerate(values)
                    ]  # fmt: skip
    return Frame(rows)


def _named_axes(sides: Sequence[Frame], *, mixed: bool) -> Frame:
    """Joins the rows of both sides; ``axes`` has the values in which a series' points differ."""
    both = concat([side.assign(side=i) for i, side in enumerate(sides)])
    if both.empty:
        return Frame(columns=[*IDENTITY, "bytes", "side", "why"])
    both = both.assign(clock="simulated, measured") if mixed else both
    axes = [name for name in map(str, both) if name.startswith(_AXIS)]
    for name in axes:
        both[name] = both[name].fillna("")
    both = with_axes(both, [name for name in axes if both[name].nunique() > 1])
    of_series = both.groupby(["study", "device", "operation", "memory"])
    differ = of_series.spread("axes", Series.nunique) > 1
    both["axes"] = both["axes"].where(differ, "").str.replace(_AXIS, "")
    return both


def _classes(common: Frame) -> Iterator[Frame]:
    """Yields each series and class of sizes: the rows of processes that measured all its sizes.

    A size that few processes measured becomes a class by itself.
    """
    for _, rows in common.groups(IDENTITY):
        for low, high in CLASSES:
            part = rows[rows["bytes"].between(low, high)]
            if part.empty:
                continue
            table = part[["side", "bytes", "process"]].rename({"process": "rerun"})
            kept = [complete(table[table["side"] == i]) for i in (0, 1)]
            sizes = set.intersection(*(set(side["bytes"]) for side in kept))
            chosen = concat(kept)
            used = set(zip(chosen["side"], chosen["rerun"], strict=True))
            mine = np.array(
                [key in used for key in zip(part["side"], part["process"], strict=True)]
            )
            if sizes:
                yield part[part["bytes"].isin(sizes) & mine]
            for size in sorted(set(part["bytes"]) - sizes):
                yield part[part["bytes"] == size]
