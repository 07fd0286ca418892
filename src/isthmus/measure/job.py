"""One task of one device, with the results of its processes so far."""

from __future__ import annotations

import math
import statistics as stdlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from isthmus.measure.plan import Task
from isthmus.results.journal import Entry, key_of
from isthmus.results.run_file import ClockName, Rerun, State
from isthmus.statistics import exact, over_processes, student
from isthmus.units import format_size

if TYPE_CHECKING:
    from isthmus.measure.discovery import FoundDevice

FINAL_STATES: frozenset[State] = frozenset({"precision", "samples", "time", "once", "visit"})
"""A process that ended in one of these has a complete result."""
_OF_NORMAL = 1.0483
"""Ratio of a normal distribution's standard deviation to the median difference of two values."""


class Cost(NamedTuple):
    """Seconds of a visit: all but its samples, and each sample."""

    overhead_s: float
    sample_s: float


@dataclass(eq=False)
class Job:
    """A task that workers measure; each process that measured it adds a median to each row."""

    device: FoundDevice
    task: Task
    error: str = ""
    skipped: str = ""
    """Why this machine does not allow the task."""
    processes: set[int] = field(default_factory=set)
    """Numbers of the processes that have measured it."""
    medians: dict[tuple[int, ClockName], list[float]] = field(default_factory=dict)
    """Seconds of each process, by part and clock: the rows that are judged."""
    resolution_s: dict[tuple[int, ClockName], float] = field(default_factory=dict)
    """Resolution in seconds of the coarsest clock among the processes."""
    cost: Cost | None = None
    """Estimate from visits: the mean of the newest visit and the previous estimate."""
    visit_s: float = 0.0
    """Seconds that the latest process of an offload took."""
    _cached_half_widths: tuple[int, float, float] = (0, 0.0, 0.0)
    """Number of processes, and both half-widths after them."""
    _cached_spread: tuple[int, float] = (0, 0.0)
    """Number of processes, and the spread after them."""

    @property
    def simulated(self) -> bool:
        """Whether times are those of an emulated card, so that one process is enough."""
        return self.device.description.simulated

    @property
    def given_up(self) -> bool:
        """Whether it has failed or is skipped, and is not visited again."""
        return bool(self.error or self.skipped)

    @property
    def study(self) -> str:
        """Name of the study that asks for it."""
        return next(iter(self.task.points.values())).study

    @property
    def label(self) -> str:
        """Device, operation and size, as messages name them."""
        size = f" {format_size(self.task.bytes)}" if self.task.bytes else ""
        memory = f" {self.task.memory}" if self.task.offload else ""
        return f"{self.device.address} {self.task.operation}{memory}{size}"

    @property
    def deciding(self) -> set[int]:
        """Parts whose intervals decide when the job is precise enough.

        For an offload the total, for a joint operation the slowest rank's part, the first.
        """
        parts = set(self.task.points)
        if self.task.offload:
            whole = {n for n, p in self.task.points.items() if p.operation == "total"}
            return whole or {max(parts)}
        return {0} if self.task.joint and 0 in parts else parts

    def add(self, number: int, results: Mapping[int, Rerun]) -> None:
        """Adds the results of a process, by part."""
        self.processes.add(number)
        for part in self.deciding & results.keys():
            for clock in results[part].clocks:
                seconds = results[part].seconds(clock)
                if seconds:
                    row = part, clock
                    self.medians.setdefault(row, []).append(stdlib.median(seconds))
                    step_s = results[part].resolution_s(clock)
                    self.resolution_s[row] = max(step_s, self.resolution_s.get(row, 0.0))

    def learn(self, cost: Cost) -> None:
        """Updates the estimate of the cost by that of a visit."""
        before = self.cost or cost
        self.cost = Cost(*((a + b) / 2 for a, b in zip(before, cost, strict=True)))

    def add_before(self, entries: Iterable[Entry]) -> None:
        """Adds the results of processes of an earlier session."""
        parts = {key_of(point): part for part, point in self.task.points.items()}
        results: dict[int, dict[int, Rerun]] = {}
        for entry in entries:
            part = parts.get(key_of(entry.point))
            if part is not None and entry.rerun and entry.rerun.state in FINAL_STATES:
                results.setdefault(entry.rerun.rerun, {})[part] = entry.rerun
        for number in sorted(results):
            if self.deciding <= results[number].keys():
                self.add(number, results[number])

    def _judged(self) -> dict[tuple[int, ClockName], list[float]]:
        """Rows with a relative precision: those whose medians are all above 0."""
        return {row: medians for row, medians in self.medians.items() if min(medians) > 0}

    def half_width(self, confidence: float) -> float:
        """Relative half-width of the widest interval, as it is shown."""
        return self._half_widths(confidence)[0]

    def reducible_half_width(self, confidence: float) -> float:
        """As ``half_width``, of intervals that more processes can narrow.

        0 where each is as narrow as the resolution of the clock allows.
        """
        return self._half_widths(confidence)[1]

    def _half_widths(self, confidence: float) -> tuple[float, float]:
        if self._cached_half_widths[0] != len(self.processes):
            widest = narrowing = 0.0
            for row, medians in self._judged().items():
                step_s = self.resolution_s[row]
                interval = over_processes(medians, confidence, step_s)
                widest = max(widest, interval.half_width)
                if interval.half_width > exact(interval.value).spanning(step_s).half_width:
                    narrowing = max(narrowing, interval.half_width)
            self._cached_half_widths = len(self.processes), widest, narrowing
        return self._cached_half_widths[1:]

    @property
    def spread(self) -> float:
        """Scatter of the processes: the largest standard deviation of logarithms over all rows.

        Estimated by the median difference of two processes, which outliers hardly change, as they
        hardly change the interval over many (Shamos's estimator; Rousseeuw and Croux,
        "Alternatives to the median absolute deviation", JASA 88 (1993), 1273).
        """
        if self._cached_spread[0] != len(self.processes):
            judged = (row for row in self._judged().values() if len(row) > 1)
            rows = [list(map(math.log, row)) for row in judged]
            apart = (stdlib.median(abs(x - y) for x, y in combinations(row, 2)) for row in rows)
            self._cached_spread = len(self.processes), _OF_NORMAL * max(apart, default=0.0)
        return self._cached_spread[1]


def student_half_width(processes: int, confidence: float) -> float:
    """Half-width of Student's interval over that many processes with standard deviation 1."""
    return student(processes - 1, 0.5 + confidence / 2) / math.sqrt(processes)
