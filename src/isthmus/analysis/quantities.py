"""Quantities by which comparisons match points, classes of sizes, and trusted times."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from statistics import median
from typing import Any, Literal, NamedTuple

from isthmus.analysis.summary import measured_on
from isthmus.results.run_file import ClockName, Point
from isthmus.statistics import Judgement
from isthmus.thresholds import LARGE, SMALL
from isthmus.units import rounded_size

CLASSES = ((1, SMALL), (SMALL + 1, LARGE - 1), (LARGE, math.inf), (0, 0))
"""Smallest and largest size in bytes of each class; the last class is for points without a size."""
_MIDDLE = f"between {rounded_size(SMALL)} and {rounded_size(LARGE)}"
"""Name of the class between small and large sizes."""
Outcome = Literal["pass", "fail", "undecided"]
"""Result of a gate on a whole comparison."""
Standing = Literal["slower", "within", "undecided"]
"""Result of a gate for one time: certainly slower, certainly within its limit, or neither."""
CLOCKS: tuple[ClockName, ...] = ("host", "simulated", "hybrid")
"""Clocks that time what a user waits for; a device's clock does not."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A measured quantity at all sizes; a comparison matches equal quantities of two sides."""

    study: str
    device: str
    operation: str
    memory: str
    axes: str
    """In words, values of the axes that tell points of otherwise equal quantities apart."""
    clock: str

    @property
    def key(self) -> tuple[str, ...]:
        """Values of the quantity, in the order of ``IDENTITY``."""
        return tuple(getattr(self, name) for name in IDENTITY)

    @property
    def words(self) -> str:
        """Operation, memory and axes: ``write pinned depth 8``."""
        return " ".join(filter(None, (self.operation, self.memory, self.axes)))


class Coverage(NamedTuple):
    """How many series of one kind of quantity are decided, on one device.

    A kind is a study's operation on a clock, in one class of sizes: small sizes show a latency,
    large sizes a rate. Series of a kind differ in memory and axes.
    """

    study: str
    device: str
    operation: str
    clock: str
    sizes: str
    """Class of the quantity's sizes in words, by ``size_class``."""
    series: int
    decided: int
    """Number of series whose verdict is not "undecided"."""


IDENTITY = tuple(one.name for one in fields(Quantity))


def coverage(judged: Iterable[tuple[Quantity, str, Judgement | Standing]]) -> list[Coverage]:
    """Counts decided series of each device and kind of quantity, in order of appearance.

    ``judged``: each series with the class of its sizes and its verdict.
    """
    kinds: dict[tuple[str, str, str, str, str], list[Judgement | Standing]] = {}
    for quantity, sizes, verdict in judged:
        key = (quantity.study, quantity.device, quantity.operation, quantity.clock, sizes)
        kinds.setdefault(key, []).append(verdict)
    return [
        Coverage(*key, len(verdicts), len(verdicts) - verdicts.count("undecided"))
        for key, verdicts in kinds.items()
    ]


def size_class(size: int) -> str:
    """Returns the class of a size in words; empty for size 0."""
    low, high = next((ends for ends in CLASSES if ends[0] <= size <= ends[1]), (0, 0))
    if not high:
        return ""
    if high == math.inf:
        return f"from {rounded_size(low)}"
    return f"up to {rounded_size(high)}" if low == 1 else _MIDDLE


def identity(row: Mapping[str, Any]) -> dict[str, str]:
    """Values of a quantity, by name of its fields, from a row of a table."""
    return {name: str(row[name]) for name in IDENTITY}


def trusted_logs(point: Point, clock: ClockName) -> tuple[dict[int, list[float]], str]:
    """Log seconds of each process's median, or all simulated samples; else a reason for none.

    The reason is ``wrong data``, ``failed`` or ``no time``; empty if there are times.
    """
    if any(rerun.verified == "false" for rerun in point.reruns):
        return {}, "wrong data"
    logs: dict[int, list[float]] = {}
    for rerun in measured_on(point, clock):
        seconds = rerun.seconds(clock).tolist()
        times = seconds if clock == "simulated" else [median(seconds)]
        if min(times) <= (0.0 if clock == "simulated" else rerun.resolution_s(clock)):
            return {}, "no time"
        logs[rerun.rerun] = [math.log(time) for time in times]
    return logs, "" if logs else "failed" if point.error else "no time"
