"""Jobs with the results of their processes, and the schedule of the next processes.

Processes are the sample, so time is spent where further processes make the most points precise
(T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).
"""

from __future__ import annotations

import math
import random
import statistics as stdlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, combinations
from typing import TYPE_CHECKING, NamedTuple

from isthmus.measure.plan import Task
from isthmus.results.journal import Entry, key_of
from isthmus.results.run_file import FINAL_STATES, ClockName, Rerun, Settings
from isthmus.statistics import LOOKS, enough, exact, over_processes
from isthmus.student import student
from isthmus.units import format_size

if TYPE_CHECKING:
    from isthmus.measure.discovery import FoundDevice

OFFLOAD_LOOKS = (12, 16, 24, 30)
"""As ``LOOKS``, of offloads, whose processes give one repetition each."""
START_S = 0.5
"""Assumed time of a worker's start, until the first has started."""
_LEAST_SAMPLES = 5
_MOST_SAMPLES = 1000
_LONG_ENOUGH_S = 0.05
"""Samples that take this long in total average over short disturbances of the machine."""
_OUT_OF_REACH_WEIGHT = 0.25
"""Weight of a process of a point that no number of processes makes precise; others have 1."""
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
    first: bool = False
    """Whether it comes before others: it is missing last where time runs out."""
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
    """Estimate from visits: the mean of the newest visit and the previous estimate.

    The whole process of an offload is overhead."""
    spread: float = 0.0
    """Scatter of the processes: the largest standard deviation of logarithms over all rows.

    Estimated by the median difference of two processes, which outliers hardly change, as they
    hardly change the interval over many (Shamos's estimator; Rousseeuw and Croux,
    "Alternatives to the median absolute deviation", JASA 88 (1993), 1273).
    """
    _widths: dict[float, tuple[float, float]] = field(default_factory=dict)
    """What ``_half_widths`` computed since the latest process, by confidence."""

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
        self._widths.clear()
        for part in self.deciding & results.keys():
            for clock in results[part].clocks:
                seconds = results[part].seconds(clock).tolist()
                if seconds:
                    row = part, clock
                    self.medians.setdefault(row, []).append(stdlib.median(seconds))
                    step_s = results[part].resolution_s(clock)
                    self.resolution_s[row] = max(step_s, self.resolution_s.get(row, 0.0))
        rows = [[*map(math.log, row)] for row in self._judged().values() if len(row) > 1]
        apart = (stdlib.median(abs(x - y) for x, y in combinations(row, 2)) for row in rows)
        self.spread = _OF_NORMAL * max(apart, default=0.0)

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
        if confidence not in self._widths:
            widest = narrowing = 0.0
            for row, medians in self._judged().items():
                step_s = self.resolution_s[row]
                interval = over_processes(medians, confidence, step_s)
                widest = max(widest, interval.half_width)
                if interval.half_width > exact(interval.value).spanning(step_s).half_width:
                    narrowing = max(narrowing, interval.half_width)
            self._widths[confidence] = widest, narrowing
        return self._widths[confidence]


def looks(job: Job, settings: Settings) -> Sequence[int]:
    """Numbers of processes after which a job may end; the last is the maximum."""
    if job.simulated:
        return (1,)
    fixed = settings.processes(offload=job.task.offload)
    return (fixed,) if fixed else OFFLOAD_LOOKS if job.task.offload else LOOKS


def settled(job: Job, settings: Settings) -> bool:
    """Whether a job needs no more processes."""
    return job.given_up or enough(
        len(job.processes),
        lambda: job.reducible_half_width(settings.confidence),
        settings.precision,
        looks(job, settings),
    )


def needed(job: Job, settings: Settings) -> int:
    """Processes after which a job should be precise enough, by its spread, or the maximum."""
    at, have = looks(job, settings), len(job.processes)
    if have < at[0]:
        return at[0]
    return next((n for n in at if n > have and _reaches_precision(n, job, settings)), at[-1])


def out_of_reach(job: Job, settings: Settings) -> bool:
    """Whether a job's processes differ so much that the maximum number is not enough."""
    at = looks(job, settings)
    return len(job.processes) >= at[0] and not _reaches_precision(at[-1], job, settings)


def _reaches_precision(processes: int, job: Job, settings: Settings) -> bool:
    """Whether ``processes`` are enough, by Student's interval: t(n-1) spread / sqrt(n)."""
    quantile = student(processes - 1, 0.5 + settings.confidence / 2)
    return quantile * job.spread / math.sqrt(processes) <= math.log1p(settings.precision)


def _usual_cost(job: Job) -> Cost:
    """Cost before the first visit: memory is filled and checked at 1 GB/s, copied at 5 GB/s."""
    size = job.task.bytes
    if job.task.offload:
        return Cost(0.7 + 2e-8 * size, 0.0)
    return Cost(2e-3 + 1e-9 * size, 1e-5 + 2e-10 * size)


def usual_budget_s(jobs: Iterable[Job], settings: Settings) -> float:
    """Seconds that these jobs usually need; simulated ones do not count against the budget."""
    budget = 0.0
    for job in jobs:
        if job.task.offload and not job.simulated:
            budget += 2 * looks(job, settings)[0] * _usual_cost(job).overhead_s
        elif not job.simulated:
            budget += len(job.task.points) * (0.2 + (settings.reruns or 3) * 1e-9 * job.task.bytes)
    return budget


class Schedule:
    """Chooses the jobs that each round of processes visits."""

    def __init__(self, jobs: Sequence[Job], settings: Settings) -> None:
        self._jobs = jobs
        self._settings = settings
        self._order = random.Random(settings.seed)
        self.start_s: dict[str, float] = {}
        """Seconds that workers took to start, by address."""
        self._shared_s: dict[str, float] = {}

    @property
    def unfinished(self) -> list[Job]:
        """Jobs that need more processes."""
        return [job for job in self._jobs if not settled(job, self._settings)]

    def next_round(self, left_s: float) -> list[Job]:
        """The jobs that the next process of each device visits, in order.

        The first round visits all points, or the cheapest of each study, so that as many such
        rounds fit as a point needs processes. Later rounds begin with points that are soonest
        precise enough and end with those that no number of processes makes precise. A visit is
        added if it gains more per second than the round so far, including the start of its workers.
        """
        waiting = self.unfinished
        shared = self._shared_s = self._shared_start_s(waiting)
        left_s -= max((self.start_s.get(job.device.address, 0.0) for job in waiting), default=0.0)
        if left_s <= 0:
            return []
        if not any(job.processes for job in waiting):
            share_s = left_s / (self._settings.reruns or LOOKS[0])
            groups = _by_urgency(waiting, lambda job: (not job.first, self.visit_s(job)))
            first = [job for group in groups for job in group]
            return self._ordered(self._fitting(first, share_s) or waiting)
        groups = _by_urgency(waiting, self._urgency)
        spent_s = sum(self.start_s.get(address, START_S) for address in shared)
        gained = 0.0
        chosen: list[Job] = []
        for group in groups:
            gain, takes_s = sum(map(self._gain, group)), sum(map(self.visit_s, group))
            if not chosen or gain * spent_s >= gained * takes_s:
                chosen += group
                gained += gain
                spent_s += takes_s
        return self._ordered(self._fitting(sorted(chosen, key=self.visit_s), left_s) or chosen)

    def _fitting(self, jobs: Sequence[Job], seconds: float) -> list[Job]:
        """The first of these jobs that fit into this time, and those that come first anyway."""
        timed = zip(jobs, accumulate(map(self.visit_s, jobs)), strict=True)
        return [job for job, spent in timed if job.first or spent <= seconds]

    def _urgency(self, job: Job) -> tuple[bool, float]:
        """Whether precision is out of reach; seconds until it is reached, or else per gain."""
        each_s = self.visit_s(job) + self._shared_s.get(job.device.address, 0.0)
        if out_of_reach(job, self._settings):
            return True, each_s / self._gain(job)
        # A point that has no process yet counts with its first one only.
        have = len(job.processes)
        return False, (needed(job, self._settings) - have if have else 1) * each_s

    def _gain(self, job: Job) -> float:
        """By how much one more process lowers the variance of the mean; that of one process is 1.

        Visits with the most gain per second give a point that costs n times as much one process
        where others get the root of n (W. Cochran, "Sampling techniques", optimum allocation).
        """
        have = len(job.processes)
        if not have:
            return 1.0
        weight = _OUT_OF_REACH_WEIGHT if out_of_reach(job, self._settings) else 1.0
        return weight / (have * (have + 1))

    def visit_s(self, job: Job) -> float:
        """Estimated seconds of a visit."""
        overhead_s, sample_s = job.cost or _usual_cost(job)
        return overhead_s + self.samples(job) * sample_s

    def samples(self, job: Job) -> int:
        """Samples of a visit: they take as long as its overhead, the start of the worker included.

        Where processes differ fewer samples would do, but that would halve the visit at most, and
        in short visits a moment of load looks like a difference between processes.
        """
        if job.task.offload:
            return 1
        overhead_s, sample_s = job.cost or _usual_cost(job)
        overhead_s += self._shared_s.get(job.device.address, 0.0)
        sampling_s = min(overhead_s, _LONG_ENOUGH_S)
        return round(min(max(sampling_s / max(sample_s, 1e-7), _LEAST_SAMPLES), _MOST_SAMPLES))

    def _shared_start_s(self, jobs: Sequence[Job]) -> dict[str, float]:
        """The time of a worker's start, divided by the points that it visits; by address."""
        visits: dict[str, int] = {}
        for job in jobs:
            if not job.task.offload:
                visits[job.device.address] = visits.get(job.device.address, 0) + 1
        return {address: self.start_s.get(address, START_S) / n for address, n in visits.items()}

    def _ordered(self, jobs: Sequence[Job]) -> list[Job]:
        """Jobs in seeded random order; those that are compared stay next to each other."""
        groups = _groups(jobs)
        self._order.shuffle(groups)
        groups.sort(key=lambda group: not group[0].first)
        for group in groups:
            self._order.shuffle(group)
        return [job for group in groups for job in group]


def _by_urgency(
    jobs: Sequence[Job], urgency: Callable[[Job], tuple[bool, float]]
) -> list[list[Job]]:
    """Groups of jobs that are compared, most urgent first, evenly mixed over the studies."""

    def of_group(group: Sequence[Job]) -> tuple[float, float]:
        beyond, seconds = zip(*map(urgency, group), strict=True)
        return stdlib.mean(beyond), stdlib.mean(seconds)

    by_study: dict[str, list[list[Job]]] = {}
    for group in _groups(jobs):
        by_study.setdefault(group[0].study, []).append(group)
    ranked: list[tuple[float, list[Job]]] = []
    for groups in by_study.values():
        groups.sort(key=of_group)
        ranked += [((i + 0.5) / len(groups), group) for i, group in enumerate(groups)]
    return [group for _, group in sorted(ranked, key=lambda pair: pair[0])]


def _groups(jobs: Iterable[Job]) -> list[list[Job]]:
    """Groups of jobs that are compared: they differ only in the device and the kind of memory."""
    groups: dict[object, list[Job]] = {}
    for job in jobs:
        task = job.task
        axes = () if task.offload else tuple(sorted(task.axes.items()))
        key = task.offload, task.operation, task.bytes, axes
        groups.setdefault(key, []).append(job)
    return list(groups.values())
