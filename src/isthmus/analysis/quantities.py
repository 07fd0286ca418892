"""Quantities that are compared with their like, classes of sizes, and times that can be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from statistics import median
from typing import Any, Literal, NamedTuple

from isthmus.analysis import wording
from isthmus.analysis.summary import measured_on
from isthmus.results.run_file import ClockName, Point
from isthmus.statistics import Judgement
from isthmus.thresholds import LARGE, SMALL

CLASSES = ((1, SMALL), (SMALL + 1, LARGE - 1), (LARGE, math.inf), (0, 0))
"""Bytes, from and to: sizes that are judged together; the last is of what has no size."""
_MIDDLE = f"between {wording.size(SMALL)} and {wording.size(LARGE)}"
"""Name of the class of sizes without both ends."""
Outcome = Literal["pass", "fail", "undecided"]
"""Of a gate."""
Standing = Literal["slower", "within", "undecided"]
"""What a gate says of a time: certainly slower, certainly within its limit, or neither."""
CLOCKS: tuple[ClockName, ...] = ("host", "simulated", "hybrid")
"""Those that see what a user waits for; a device's own does not."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """What is compared with its like, size by size."""

    study: str
    device: str
    operation: str
    memory: str
    axes: str
    """Those in which points of the same study, device, operation and memory differ, in words."""
    clock: str

    @property
    def key(self) -> tuple[str, ...]:
        """Its values, in the order of ``IDENTITY``."""
        return tuple(getattr(self, name) for name in IDENTITY)

    @property
    def words(self) -> str:
        """Operation, memory and axes: ``write pinned depth 8``."""
        return " ".join(filter(None, (self.operation, self.memory, self.axes)))


class Coverage(NamedTuple):
    """How much is decided of one kind of quantity on one device.

    A kind is a study's operation on a clock, in one class of sizes: small sizes show a latency,
    large ones a rate. Its series differ in memory and axes.
    """

    study: str
    device: str
    operation: str
    clock: str
    sizes: str
    """Class of the sizes: ``size_class``."""
    series: int
    decided: int
    """How many of ``series`` are not undecided: by their verdicts, or as a gate judges them."""


IDENTITY = tuple(one.name for one in fields(Quantity))


def coverage(judged: Iterable[tuple[Quantity, str, Judgement | Standing]]) -> list[Coverage]:
    """How much is decided, of each device and kind of quantity, in order of appearance.

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
    """The class of a size in words; empty for what has no size."""
    low, high = next((ends for ends in CLASSES if ends[0] <= size <= ends[1]), (0, 0))
    if not high:
        return ""
    if high == math.inf:
        return f"from {wording.size(low)}"
    return f"up to {wording.size(high)}" if low == 1 else _MIDDLE


def identity(row: Mapping[str, Any]) -> dict[str, str]:
    """Values of a quantity, by name, from a row of a table."""
    return {name: str(row[name]) for name in IDENTITY}


def trusted_logs(point: Point, clock: ClockName) -> tuple[dict[int, list[float]], str]:
    """Log seconds of each process's median, or of all simulated samples; else why there are none.

    The reason is ``wrong data``, ``failed`` or ``no time``.
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
