"""The state of the host in a run: references by process, and what it adds to each row.

A run file without references reads as before: nothing says how its machine's speed varied.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from isthmus.results.run_file import HostReading, Point, Rerun, Run
from isthmus.statistics import Interval, judge, relevant, shift, simultaneous
from isthmus.statistics.host_state import Row, Slow, slow_parts
from isthmus.studies.transfer import LARGE

REFERENCES = ("system_call_s", "copy_s", "arithmetic_s")
"""Names of the references, as fields of a reading."""
UNKNOWN = Slow(math.nan, (), 0.0)
_FEWEST = 6
"""Processes with readings of which two parts can be told."""


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
    large = point.bytes >= LARGE
    return point.study, point.device, large, point.memory if large else ""


@dataclass(frozen=True)
class Variation:
    """A part of a run in which the host was slower, and which rows that changed."""

    reference: str
    """Name of the field of a reading: ``system_call_s``."""
    slower: float
    """By which share the reference took longer than in the rest of the run."""
    share: float
    """Of the run's processes with readings."""
    steal: float
    """Share of processor time that a hypervisor took during the measurements."""
    followed: tuple[int, ...]
    """Sizes of points that were slower in that part, too."""
    unmoved: tuple[int, ...]
    """Sizes of points that were the same: their change lies within the precision."""


def variation(run: Run) -> Variation | None:
    """The part of a run in which a reference was slowest; None where no row followed it.

    A reference's readings are split in two where the variance within both parts is least (Otsu,
    IEEE Transactions on Systems, Man, and Cybernetics 9 (1979), 62). Rows then tell whether that is
    more than the scatter of readings: some are slower in that part, by more than the precision.
    """
    references = readings(run)
    simulated = {device.address for device in run.devices if device.simulated}
    points = [point for point in run.points if point.device not in simulated]
    least, found = relevant(run.settings.precision), []
    for i, name in enumerate(REFERENCES) if len(references) >= _FEWEST else ():
        logs = {number: values[i] for number, values in references.items()}
        slow, slower = _slow_part(logs)
        if slower <= math.log1p(least):
            continue
        changes = list(_changes(points, slow, logs.keys() - slow, run.settings.confidence))
        sizes = {
            verdict: tuple(sorted({p.bytes for p, v in changes if judge(v, least) == verdict}))
            for verdict in ("slower", "same")
        }
        if sizes["slower"]:
            seconds = math.fsum(one.measured_s for p in points for one in p.reruns)
            stolen = math.fsum(one.noise.steal_s for p in points for one in p.reruns)
            processors = int(run.environment.get("logical_cpus") or 1)
            share = len(slow) / len(logs)
            steal = stolen / (seconds * processors) if seconds else 0.0
            found.append(
                Variation(name, math.expm1(slower), share, steal, sizes["slower"], sizes["same"])
            )
    return max(found, key=lambda one: (len(one.followed), one.slower), default=None)


def _slow_part(logs: Mapping[int, float]) -> tuple[set[int], float]:
    """Processes of the slow part of a run, and by how much their mean logarithm is higher."""
    ordered = sorted(logs, key=lambda number: logs[number])
    values = np.array([logs[number] for number in ordered])
    best, slow, slower = 0.0, set[int](), 0.0
    for at in range(2, len(values) - 1):
        apart = float(values[at:].mean() - values[:at].mean())
        between = at * (len(values) - at) * apart**2
        if between > best:
            best, slow, slower = between, set(ordered[at:]), apart
    return slow, slower


def _changes(
    points: Sequence[Point], slow: Set[int], fast: Set[int], confidence: float
) -> Iterator[tuple[Point, Interval]]:
    """Ratio of each point's times in the slow part to the rest, judged together."""
    known = []
    for point in points:
        logs = dict(_medians(point.reruns))
        parts = [[log for number, log in logs.items() if number in of] for of in (fast, slow)]
        if min(map(len, parts)) > 1:
            known.append((point, parts))
    each = simultaneous(confidence, len(known))
    for point, (before, after) in known:
        yield point, shift(before, after, each).exponential()
