"""One task of one device, and what its processes have said of it so far."""

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
"""A process that ended in one of these has said what it was asked."""
_OF_NORMAL = 1.0483
"""Standard deviation of a normal distribution by the median difference of two of it."""


class Cost(NamedTuple):
    """Seconds of a visit: beside its samples, and for each sample."""

    beside_s: float
    sample_s: float


@dataclass(eq=False)
class Job:
    """What a worker is asked to measure; a process that has measured it adds one median a row."""

    device: FoundDevice
    task: Task
    error: str = ""
    skipped: str = ""
    """Why this machine does not allow it."""
    processes: set[int] = field(default_factory=set)
    """Numbers of those that have measured it."""
    medians: dict[tuple[int, ClockName], list[float]] = field(default_factory=dict)
    """Seconds of each process, by part and clock: the rows that are judged."""
    resolution_s: dict[tuple[int, ClockName], float] = field(default_factory=dict)
    """The coarsest clock of them."""
    cost: Cost | None = None
    """As visits have shown, the mean of the latest and of what was known before."""
    visit_s: float = 0.0
    """What a process of its own took, of an offload."""
    _known: tuple[int, float, float] = (0, 0.0, 0.0)
    """After so many processes, both half-widths ..."""
    _spread: tuple[int, float] = (0, 0.0)
    """... and the spread."""

    @property
    def simulated(self) -> bool:
        """Whether an emulated card answers: once is enough, and nothing disturbs it."""
        return self.device.description.simulated

    @property
    def given_up(self) -> bool:
        """Whether nobody is to be asked for it again."""
        return bool(self.error or self.skipped)

    @property
    def study(self) -> str:
        """Name of the study that asks for it."""
        return next(iter(self.task.points.values())).study

    @property
    def label(self) -> str:
        """Device, operation and size in a few words."""
        size = f" {format_size(self.task.bytes)}" if self.task.bytes else ""
        memory = f" {self.task.memory}" if self.task.offload else ""
        return f"{self.device.address} {self.task.operation}{memory}{size}"

    @property
    def deciding(self) -> set[int]:
        """Parts whose intervals decide when it is certain.

        Of an offload the total, of a joint operation that of the slowest rank, which is the first.
        """
        parts = set(self.task.points)
        if self.task.offload:
            whole = {n for n, p in self.task.points.items() if p.operation == "total"}
            return whole or {max(parts)}
        return {0} if self.task.joint and 0 in parts else parts

    def add(self, number: int, results: Mapping[int, Rerun]) -> None:
        """A process has measured it: its results by part."""
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
        """A visit has taken this."""
        before = self.cost or cost
        self.cost = Cost(*((a + b) / 2 for a, b in zip(before, cost, strict=True)))

    def add_before(self, entries: Iterable[Entry]) -> None:
        """What processes of an earlier session have measured."""
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
        """Rows that can be: of what the clock did not see there is no relative precision."""
        return {row: medians for row, medians in self.medians.items() if min(medians) > 0}

    def half_width(self, confidence: float) -> float:
        """Of the row that is known least: relative, of the interval that is shown."""
        return self._half_widths(confidence)[0]

    def open_half_width(self, confidence: float) -> float:
        """The same of rows that more processes can make narrower; 0 where the clock is all."""
        return self._half_widths(confidence)[1]

    def _half_widths(self, confidence: float) -> tuple[float, float]:
        if self._known[0] != len(self.processes):
            widest = narrowing = 0.0
            for row, medians in self._judged().items():
                step_s = self.resolution_s[row]
                interval = over_processes(medians, confidence, step_s)
                widest = max(widest, interval.half_width)
                if interval.half_width > exact(interval.value).spanning(step_s).half_width:
                    narrowing = max(narrowing, interval.half_width)
            self._known = len(self.processes), widest, narrowing
        return self._known[1:]

    @property
    def spread(self) -> float:
        """By how much processes differ: standard deviation of logarithms, of the row with most.

        From the median difference of two, which single outlying processes hardly move, as they do
        not move the interval of many (Shamos's estimator; Rousseeuw and Croux, "Alternatives to the
        median absolute deviation", JASA 88 (1993), 1273).
        """
        if self._spread[0] != len(self.processes):
            judged = (row for row in self._judged().values() if len(row) > 1)
            rows = [list(map(math.log, row)) for row in judged]
            apart = (stdlib.median(abs(x - y) for x, y in combinations(row, 2)) for row in rows)
            self._spread = len(self.processes), _OF_NORMAL * max(apart, default=0.0)
        return self._spread[1]


def student_half_width(processes: int, confidence: float) -> float:
    """Half of Student's interval over so many processes, of which the deviation is 1."""
    return student(processes - 1, 0.5 + confidence / 2) / math.sqrt(processes)
