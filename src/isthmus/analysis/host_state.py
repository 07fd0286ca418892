"""The state of the host in a run: references by process, and what it adds to each row.

A run file without references reads as before: nothing says how its machine's speed varied.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np

from isthmus.results.run_file import HostReading, Point, Rerun, Run
from isthmus.statistics.host_state import Row, Slow, slow_parts

REFERENCES = ("system_call_s", "copy_s", "arithmetic_s")
"""Names of the references, as fields of a reading."""
UNKNOWN = Slow(math.nan, (), 0.0)
_LARGE = 1 << 20
"""Bytes from which a copy's kind of memory, not the software, decides how much it scatters."""


def readings(run: Run) -> dict[int, tuple[float, ...]]:
    """Logarithms of the references by process, each the mean over the process's readings."""
    of_process: dict[int, list[list[float]]] = {}
    for point in run.points:
        for rerun in point.reruns:
            for reading in rerun.host_speed:
                if logs := _logs(reading):
                    of_process.setdefault(rerun.rerun, []).append(logs)
    return {number: tuple(np.mean(of, axis=0).tolist()) for number, of in of_process.items()}


def _logs(reading: HostReading) -> list[float]:
    seconds = [getattr(reading, name) for name in REFERENCES]
    return [math.log(s) for s in seconds] if min(seconds) > 0 else []


def of_rows(run: Run) -> Mapping[int, Slow]:
    """What the host's state adds to each point's host time, by the point's place in the run.

    Points are missing whose times have no logarithm, or that fewer than two processes measured.
    Nothing of a run without references.
    """
    references = readings(run)
    if not references:
        return {}
    simulated = {device.address for device in run.devices if device.simulated}
    at: dict[int, list[float]] = {}
    rows: dict[int, Row] = {}
    for place, point in enumerate(run.points):
        for rerun in point.reruns:
            if rerun.at_s is not None:
                at.setdefault(rerun.rerun, []).append(rerun.at_s)
        if point.device not in simulated and (logs := dict(_medians(point.reruns))):
            rows[place] = Row(_kind(point), logs)
    times = {number: math.fsum(of) / len(of) for number, of in at.items()}
    parts = slow_parts(list(rows.values()), references, times, run.settings.confidence)
    return dict(zip(rows, parts, strict=True))


def _medians(reruns: Sequence[Rerun]) -> Iterator[tuple[int, float]]:
    """Number and logarithm of the median of each process; nothing where the clock saw nothing."""
    found = []
    for rerun in reruns:
        if "host" in rerun.clocks and rerun.clocks["host"].ticks:
            median = float(np.median(rerun.seconds("host")))
            if median <= 0:
                return
            found.append((rerun.rerun, math.log(median)))
    if len(found) > 1:
        yield from found


def _kind(point: Point) -> Hashable:
    """What a point is alike in scatter: small copies, large ones by memory, and nothing else."""
    if not point.moved_bytes:
        return point.study, point.device, point.operation, point.memory, point.bytes
    large = point.bytes >= _LARGE
    return point.study, point.device, large, point.memory if large else ""
