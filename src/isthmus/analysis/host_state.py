"""Reads the references of the host's speed in a run, and finds what they add to each row's time.

References are short loops that each process times. A run file without readings of them cannot show
how the speed of its machine varied.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

import numpy as np

from isthmus.host_rows import REFERENCES, HostRows
from isthmus.results.run_file import Point, Run
from isthmus.statistics import Interval, judge, relevant, shift, simultaneous
from isthmus.statistics.host_state import UNKNOWN, Slow

__all__ = ["REFERENCES", "UNKNOWN", "Variation", "of_rows", "rows_of", "variation"]

_FEWEST = 6
"""Least processes with readings from which a run can be split into a slow and a fast part."""


def of_rows(run: Run) -> Mapping[int, Slow]:
    """Time that the host's state adds to each point's host time, by the point's index in the run.

    Points are left out if a time is not positive, or if fewer than two processes measured them.
    The result is empty for a run without references.
    """
    return rows_of(run).slow()


def rows_of(run: Run) -> HostRows[int]:
    """Host times and references of all points that are not simulated, by index in the run."""
    rows = HostRows[int](run.settings.confidence)
    simulated = {device.address for device in run.devices if device.simulated}
    for place, point in enumerate(run.points):
        for rerun in point.reruns if point.device not in simulated else ():
            rows.add(place, point, rerun)
    return rows


@dataclass(frozen=True, order=True)
class Moved:
    """Kind of memory and size of points that the slow part slowed, or of points that it did not."""

    memory: str
    bytes: int


@dataclass(frozen=True)
class Variation:
    """A part of a run in which the host was slower, and the points that were slower with it."""

    reference: str
    """Name of the field of a reading: ``system_call_s``."""
    slower: float
    """Additional time of the reference, as a share of its time in the rest of the run."""
    share: float
    """Share of the run's processes with readings that are in this part."""
    steal: float
    """Share of processor time that a hypervisor took during the measurements."""
    followed: tuple[Moved, ...]
    """Points that were slower in that part, too."""
    unmoved: tuple[Moved, ...]
    """Points that were not slower: in each direction, the change is within the precision."""


def steal_share(run: Run, points: Iterable[Point]) -> float:
    """Share of processor time that a hypervisor took while these points were measured."""
    reruns = [rerun for point in points for rerun in point.reruns]
    seconds = math.fsum(rerun.measured_s for rerun in reruns)
    processors = int(run.environment.get("logical_cpus") or 1)
    stolen = math.fsum(rerun.noise.steal_s for rerun in reruns)
    return stolen / (seconds * processors) if seconds else 0.0


def variation(run: Run) -> Variation | None:
    """The part of a run in which the host was slower; None if no point was slower with it.

    Each reference's readings are split in two so that the variance within both parts is least
    (Otsu, IEEE Transactions on Systems, Man, and Cybernetics 9 (1979), 62). The split counts only
    if points are slower in the slow part by more than the precision, else it is scatter. The
    reference that the most points follow is chosen.
    """
    rows = rows_of(run)
    references = rows.readings
    simulated = {device.address for device in run.devices if device.simulated}
    points = {i: p for i, p in enumerate(run.points) if p.device not in simulated}
    least, variations = relevant(run.settings.precision), []
    for i, name in enumerate(REFERENCES) if len(references) >= _FEWEST else ():
        logs = {number: values[i] for number, values in references.items()}
        slow, slower = _slow_part(logs)
        if slower <= math.log1p(least):
            continue
        changes = list(_changes(points, rows, slow, run.settings.confidence))
        moved = {
            verdict: {Moved(p.memory, p.bytes) for p, v in changes if judge(v, least) == verdict}
            for verdict in ("slower", "same")
        }
        if followed := tuple(sorted(moved["slower"])):
            share = len(slow) / len(logs)
            steal = steal_share(run, points.values())
            unmoved = tuple(sorted(moved["same"] - moved["slower"]))
            variations.append(Variation(name, math.expm1(slower), share, steal, followed, unmoved))
    return max(variations, key=lambda part: (len(part.followed), part.slower), default=None)


def _slow_part(logs: Mapping[int, float]) -> tuple[set[int], float]:
    """Returns the slow part's processes, and by how much their mean logarithm is larger."""
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
    points: Mapping[int, Point], rows: HostRows[int], slow: Set[int], confidence: float
) -> Iterator[tuple[Point, Interval]]:
    """Yields the ratio of each point's times in the slow part to the rest, with intervals."""
    fast = rows.readings.keys() - slow
    measured = []
    for place, point in points.items():
        logs = rows.logs(place)
        parts = [[log for number, log in logs.items() if number in of] for of in (fast, slow)]
        if min(map(len, parts)) > 1:
            measured.append((point, parts))
    each = simultaneous(confidence, len(measured))
    for point, (before, after) in measured:
        yield point, shift(before, after, each).exponential()
