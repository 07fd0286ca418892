"""Which points the next processes visit, and how many samples they take there.

Processes are the sample, so effort goes where more of them make most rows certain (T. Kalibera and
R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from statistics import mean

from isthmus.measure.job import Cost, Job, student_half_width
from isthmus.results.run_file import Settings
from isthmus.statistics import LOOKS, enough

OFFLOAD_LOOKS = (12, 16, 24, 30)
"""Of offloads, whose processes bring one repetition each."""
START_S = 0.5
"""What a worker needs to start, until the first has shown it."""
_LEAST_SAMPLES = 5
_MOST_SAMPLES = 1000
_LONG_ENOUGH_S = 0.05
"""Samples that take so long average over what disturbs a machine for moments."""
_BEYOND_REACH = 0.25
"""Worth of a process to a point that none makes certain, beside one to another."""


def looks(job: Job, settings: Settings) -> Sequence[int]:
    """Numbers of processes at which a job may end; the last is the most that it gets."""
    if job.simulated:
        return (1,)
    fixed = settings.processes(offload=job.task.offload)
    return (fixed,) if fixed else OFFLOAD_LOOKS if job.task.offload else LOOKS


def settled(job: Job, settings: Settings) -> bool:
    """Whether it needs no more processes."""
    return job.given_up or enough(
        len(job.processes),
        lambda: job.open_half_width(settings.confidence),
        settings.precision,
        looks(job, settings),
    )


def needed(job: Job, settings: Settings) -> int:
    """Processes after which its spread says that it is certain, or the most that it gets."""
    at, have = looks(job, settings), len(job.processes)
    if have < at[0]:
        return at[0]
    return next((n for n in at if n > have and _makes_certain(n, job, settings)), at[-1])


def beyond_reach(job: Job, settings: Settings) -> bool:
    """Whether its processes differ by so much that the most that it gets leave it uncertain."""
    at = looks(job, settings)
    return len(job.processes) >= at[0] and not _makes_certain(at[-1], job, settings)


def _makes_certain(processes: int, job: Job, settings: Settings) -> bool:
    """The interval narrows as Student's does: t(n-1) spread / sqrt(n), of logarithms."""
    half_width = job.spread * student_half_width(processes, settings.confidence)
    return half_width <= math.log1p(settings.precision)


def _usual_cost(job: Job) -> Cost:
    """Of a point that nobody has visited: memory is filled and checked at 1 GB/s, copied at 5."""
    size = job.task.bytes
    if job.task.offload:
        return Cost(0.7 + 2e-8 * size, 0.0)
    return Cost(2e-3 + 1e-9 * size, 1e-5 + 2e-10 * size)


def usual_budget_s(jobs: Iterable[Job], settings: Settings) -> float:
    """Seconds that these jobs usually need; simulated ones take what they take beside it."""
    budget = 0.0
    for job in jobs:
        if job.task.offload and not job.simulated:
            budget += 2 * looks(job, settings)[0] * _usual_cost(job).beside_s
        elif not job.simulated:
            budget += len(job.task.points) * (0.2 + (settings.reruns or 3) * 1e-9 * job.task.bytes)
    return budget


class Schedule:
    """What a round of processes visits."""

    def __init__(self, jobs: Sequence[Job], settings: Settings) -> None:
        self._jobs = jobs
        self._settings = settings
        self._order = random.Random(settings.seed)
        self.start_s: dict[str, float] = {}
        """What workers took to start, by address."""
        self._shared_s: dict[str, float] = {}

    @property
    def open(self) -> list[Job]:
        """Jobs that more processes are to visit."""
        return [job for job in self._jobs if not settled(job, self._settings)]

    def next_round(self, left_s: float) -> list[Job]:
        """Whom the next process of each device visits, in order.

        The first round visits all points, or the cheapest of each study: as many such rounds are to
        fit as a point needs. In later ones those that are soonest certain come first, what no
        number of processes makes certain last, and a visit is made if it brings more for its time
        than the round so far, the start of its workers included.
        """
        waiting = self.open
        shared = self._shared_s = self._shared_start_s(waiting)
        left_s -= max((self.start_s.get(job.device.address, 0.0) for job in waiting), default=0.0)
        if left_s <= 0:
            return []
        if not any(job.processes for job in waiting):
            share_s = left_s / (self._settings.reruns or LOOKS[0])
            queue = _in_turn(waiting, lambda job: (False, self.visit_s(job)))
            first = [job for group in queue for job in group]
            spent = accumulate(map(self.visit_s, first))
            fitting = [job for job, s in zip(first, spent, strict=True) if s <= share_s]
            return self._ordered(fitting or waiting)
        queue = _in_turn(waiting, self._urgency)
        spent_s = sum(self.start_s.get(address, START_S) for address in shared)
        brought = 0.0
        chosen: list[Job] = []
        for group in queue:
            brings, takes_s = sum(map(self._brings, group)), sum(map(self.visit_s, group))
            if not chosen or brings * spent_s >= brought * takes_s:
                chosen += group
                brought += brings
                spent_s += takes_s
        return self._ordered(_fitting(chosen, self.visit_s, left_s) or chosen)

    def _urgency(self, job: Job) -> tuple[bool, float]:
        """Seconds until it is certain; where it cannot be, by what its next process brings."""
        each_s = self.visit_s(job) + self._shared_s.get(job.device.address, 0.0)
        if beyond_reach(job, self._settings):
            return True, each_s / self._brings(job)
        # To be seen at all comes before being certain.
        have = len(job.processes)
        return False, (needed(job, self._settings) - have if have else 1) * each_s

    def _brings(self, job: Job) -> float:
        """By how much one more process lowers the variance of a mean, of which one process has 1.

        Visits that bring the most for their time give a point that is n times as dear one process
        where others get the root of n (W. Cochran, "Sampling techniques", optimum allocation).
        """
        have = len(job.processes)
        if not have:
            return 1.0
        worth = _BEYOND_REACH if beyond_reach(job, self._settings) else 1.0
        return worth / (have * (have + 1))

    def visit_s(self, job: Job) -> float:
        """About what a visit takes."""
        if job.visit_s:
            return job.visit_s
        beside_s, sample_s = job.cost or _usual_cost(job)
        return beside_s + self.samples(job) * sample_s

    def samples(self, job: Job) -> int:
        """So many that they take as long as all else that the visit costs, its start included.

        Fewer would do where processes differ, but would halve the visit at most, and short visits
        see moments of load as differences of processes; long ones need not be longer for that.
        """
        if job.task.offload:
            return 1
        beside_s, sample_s = job.cost or _usual_cost(job)
        beside_s += self._shared_s.get(job.device.address, 0.0)
        lasting_s = min(beside_s, _LONG_ENOUGH_S)
        return round(min(max(lasting_s / max(sample_s, 1e-7), _LEAST_SAMPLES), _MOST_SAMPLES))

    def _shared_start_s(self, jobs: Sequence[Job]) -> dict[str, float]:
        """What a worker's start costs each of the points that it visits."""
        on: dict[str, int] = {}
        for job in jobs:
            if not job.task.offload:
                on[job.device.address] = on.get(job.device.address, 0) + 1
        return {address: self.start_s.get(address, START_S) / n for address, n in on.items()}

    def _ordered(self, jobs: Sequence[Job]) -> list[Job]:
        """Seeded; what is compared comes close together."""
        groups = _groups(jobs)
        self._order.shuffle(groups)
        for group in groups:
            self._order.shuffle(group)
        return [job for group in groups for job in group]


def _in_turn(jobs: Sequence[Job], urgency: Callable[[Job], tuple[bool, float]]) -> list[list[Job]]:
    """What is compared together, most urgent first, of each study the same share of what it has."""

    def of_group(group: Sequence[Job]) -> tuple[float, float]:
        beyond, seconds = zip(*map(urgency, group), strict=True)
        return mean(beyond), mean(seconds)

    by_study: dict[str, list[list[Job]]] = {}
    for group in _groups(jobs):
        by_study.setdefault(group[0].study, []).append(group)
    ranked: list[tuple[float, list[Job]]] = []
    for groups in by_study.values():
        groups.sort(key=of_group)
        ranked += [((i + 0.5) / len(groups), group) for i, group in enumerate(groups)]
    return [group for _, group in sorted(ranked, key=lambda pair: pair[0])]


def _fitting(jobs: Iterable[Job], visit_s: Callable[[Job], float], seconds: float) -> list[Job]:
    """As many as fit into this time."""
    taken: list[Job] = []
    for job in sorted(jobs, key=visit_s):
        seconds -= visit_s(job)
        if seconds < 0:
            break
        taken.append(job)
    return taken


def _groups(jobs: Iterable[Job]) -> list[list[Job]]:
    """What differs in the device and the kind of memory only is compared."""
    groups: dict[object, list[Job]] = {}
    for job in jobs:
        task = job.task
        axes = () if task.offload else tuple(sorted(task.axes.items()))
        key = task.offload, task.operation, task.bytes, axes
        groups.setdefault(key, []).append(job)
    return list(groups.values())
