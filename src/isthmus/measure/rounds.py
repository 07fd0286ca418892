"""Chooses the jobs that the next process of each device visits (a round), and how long each takes.

A run measures the layers of the plan one after the other. A layer is complete when each of its jobs
is precise or cannot become precise. Headlines that cannot still get up to 60 % of the time, because
each process narrows an answer. In a round, jobs that are compared follow one another.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from statistics import fmean
from typing import NamedTuple

from isthmus.host_rows import HostRows
from isthmus.measure.jobs import Job, can_show, looks, needed, out_of_reach, settled
from isthmus.measure.plan import Layer
from isthmus.results.journal import PointKey
from isthmus.results.run_file import Settings
from isthmus.studies import by_name
from isthmus.studies.transfer import ORDINARY

START_S = 0.5
"""Assumed seconds of a worker's start, until the first worker has started."""
_LEAST_SAMPLES = 5
_MOST_SAMPLES = 1000
_LONG_ENOUGH_S = 0.05
"""Seconds of samples in a visit that are enough to average over short disturbances."""
_FLAT = 0.01
"""Largest relative change of a rate over a factor of four in size that counts as a plateau.

Pinned copies of 64 MiB on H100 (gen5 x16) are still 1 % slower than nvbandwidth's copies of 256
MiB."""
_FLAT_AT_MOST = 0.05
"""Largest change that counts as a plateau if samples scatter, so that a larger change than
``_FLAT`` lies within their intervals."""
_STEP_SHARE = 0.02
"""Largest share of the run's time for one visit to a further size in the search of a plateau.

For copies from and to a device's fastest memory; 1.2 s of a quick run. On an H100 (gen5 x16) a
visit to 256 MiB of pinned memory takes 0.33 to 0.45 s, and a visit to 1 GiB 1.1 to 1.4 s, mostly to
allocate the memory."""
_OTHER_STEP_SHARE = 0.005
"""``_STEP_SHARE`` for other memory and for kernels: 0.3 s of a quick run, enough for 64 MiB on an
H100 (gen5 x16)."""
_HEADLINES_SHARE = 0.6
"""Share of the run's time after which the curve begins, even if headlines are not precise."""
_CHEAP_S = 0.05
"""Most seconds of a visit to a headline in a round of a later layer. On an H100 a visit to copies
of 4 KiB takes 0.01 s."""
_ROUND_S = 2.0
"""Seconds of visits in a round of a curve that has no time for all points. With a longer round,
its points would be precise later."""
_STARTS = 4
"""Least length of such a round over the seconds that its workers take to start. Starts then take at
most a fifth of the time."""
_BEND = 0.05
"""Relative error of an interpolated time between two sizes above which a size is added."""
_SPREAD_SHARE = 0.5
"""Largest share of the remaining time that all points of a curve may need, if each round visits all
of them. The rest is for further processes if the first processes differ."""
_STATE_SHARE = 0.02
"""Largest share of a run's time for the model of the host's state, computed between rounds. It
takes 0.03 s for 16 rows of 12 processes, 1.1 s for 1000 rows (2 shared cores, 2026-11-27)."""
ANSWER_SHARE = 0.1
"""``_STATE_SHARE`` before an answer is shown: larger, because a later state would change it."""
AT_ONCE = math.inf
"""``_STATE_SHARE`` if no round follows: the model is computed however long it takes."""


class Standing(NamedTuple):
    """Progress of a run, for the display."""

    answers: int
    """Headlines whose answer can be shown, of ``all_answers``."""
    all_answers: int
    points: int
    """Tasks that need no more processes, of ``all_points``."""
    all_points: int
    left_s: float
    """Estimated seconds until all tasks are measured; at most the run's remaining time."""


class Rounds:
    """Chooses the jobs of each round by the results so far."""

    def __init__(
        self,
        jobs: Sequence[Job],
        settings: Settings,
        last: Layer,
        host_rows: HostRows[PointKey] | None = None,
    ) -> None:
        """``last``: last layer that the run measures; ``host_rows``: all results of the run."""
        self._jobs = jobs
        self._host_rows = host_rows
        self._results_judged = 0
        """Number of results when ``judge`` last computed the host's state."""
        self._last_judging = 0.0, -math.inf
        """Seconds that ``judge`` last took, and when it ended (``time.monotonic``)."""
        self._settings = settings
        self._last = last
        self._order = random.Random(settings.seed)
        heads = (
            job for job in jobs if job.task.first_layer == Layer.HEADLINES and not job.simulated
        )
        self._first_device = next((job.device.address for job in heads), "")
        self._searches = {job: search for search in _searches(jobs) for job in search.steps}
        for search in dict.fromkeys(self._searches.values()):
            # Pass the sizes of an earlier session, which also ended a search that took too long.
            while (job := search.next) and job.processes:
                search.advance(job.measured_s, self._step_limit_s(job), settings.confidence)
        self.start_s: dict[str, float] = {}
        """Seconds that workers took to start, by address."""
        self._shared_s: dict[str, float] = {}
        self.judge(AT_ONCE)  # by the results of an earlier session

    @property
    def wanted(self) -> list[Job]:
        """Jobs that the run will measure, by the layers that they have so far."""
        return [job for job in self._jobs if job.layer <= self._last_of(job)]

    def _last_of(self, job: Job) -> Layer:
        """Last layer that the run measures; later for a simulated job, which needs no budget."""
        return max(self._last, Layer.FURTHER) if job.simulated else self._last

    @property
    def unfinished(self) -> list[Job]:
        """Jobs that the run measures and that need more processes."""
        open_jobs = [job for job in self._jobs if not settled(job, self._settings)]
        return [job for job in open_jobs if self.due_layer(job) <= self._last_of(job)]

    @property
    def has_timed_jobs_left(self) -> bool:
        """Whether an unfinished job has times that are not simulated."""
        return not all(job.simulated for job in self.unfinished)

    def standing(self, most_s: float) -> Standing:
        """Progress of the run, which has ``most_s`` seconds left at most."""
        heads = [job for job in self._jobs if job.layer == Layer.HEADLINES]
        searches = dict.fromkeys(self._searches.values())
        searched = sum(not s.ended and s.layer == Layer.HEADLINES for s in searches)
        wanted = self.wanted
        return Standing(
            sum(can_show(job, self._settings) for job in heads),
            len(heads) + searched,
            sum(settled(job, self._settings) for job in wanted),
            len(wanted),
            min(self._left_s(), max(most_s, 0.0)),
        )

    def left_out(self) -> dict[str, tuple[int, float]]:
        """By study: number of points that the run does not measure, and their estimated seconds."""
        result: dict[str, tuple[int, float]] = {}
        for job in self._jobs:
            begun = job.simulated or job.processes or job.given_up
            if job.layer > self._last and not begun:
                count, seconds = result.get(job.study, (0, 0.0))
                own_s = looks(job, self._settings)[0] * self.visit_s(job)
                result[job.study] = count + len(job.task.points), seconds + own_s
        return result

    def next_round(self, left_s: float, *, simulated: bool = False) -> list[Job]:
        """The jobs that the next process of each device visits, in order; empty at the end.

        ``left_s``: seconds that the run has left. ``simulated``: whether to choose only jobs with
        simulated times, or only jobs without.
        """
        # Compute the host's state first: a job that lacks nothing else then needs no process.
        self.judge(ANSWER_SHARE if any(map(self._awaits_state, self._jobs)) else _STATE_SHARE)
        unfinished = self._unfinished_of(simulated=simulated)
        if not unfinished and self.judge(AT_ONCE):
            unfinished = self._unfinished_of(simulated=simulated)
        self._shared_s = self._shared_start_s(unfinished)
        # The devices of the round are not known yet: it takes at least the slowest start.
        starts_s = [self.start_s.get(job.device.address, 0.0) for job in unfinished]
        usable_s = left_s - max(starts_s, default=0.0)
        if usable_s <= 0:
            return []
        if simulated and unfinished:
            return sorted(unfinished, key=lambda job: (job.task.bytes, job.study))
        for layer in Layer:
            if chosen := self._of_layer(layer, unfinished, usable_s):
                return self._ordered([*chosen, *self._cheap_headlines(chosen, unfinished)])
            if layer == Layer.CURVE and self._refine(simulated=simulated):
                return self.next_round(left_s, simulated=simulated)
        # The remaining jobs cannot become precise, or not in this time, but each process narrows an
        # interval: the time goes to the jobs with fewer processes than the middle of the extremes.
        counts = [len(job.processes) for job in unfinished] or [0]
        middle = (min(counts) + max(counts)) / 2
        rest = [job for job in unfinished if len(job.processes) <= middle]
        return self._ordered(self._fitting(_by_cost(rest, self.visit_s), usable_s, rounds=1))

    def _unfinished_of(self, *, simulated: bool) -> list[Job]:
        """Unfinished jobs with simulated times, or with measured times unless ``simulated``."""
        return [job for job in self.unfinished if job.simulated == simulated]

    def judge(self, share: float = _STATE_SHARE) -> bool:
        """Computes the host's state and widens the intervals of all jobs by it.

        Returns False without computing it if no result is new. The same if the computation would
        take more than ``share`` of the time since the last computation.
        """
        rows, (took_s, ended) = self._host_rows, self._last_judging
        now = time.monotonic()
        if rows is None or rows.results == self._results_judged or now < ended + took_s / share:
            return False
        slow = rows.slow()
        for job in self._jobs:
            job.use_state(slow)
        ended = time.monotonic()
        self._results_judged, self._last_judging = rows.results, (ended - now, ended)
        return True

    def _awaits_state(self, job: Job) -> bool:
        """Whether a job has as many processes as a look needs, but the host's state is unknown."""
        at = looks(job, self._settings)
        return len(job.processes) in at[:-1] and not job.state_known

    def _of_layer(self, layer: Layer, unfinished: Sequence[Job], left_s: float) -> list[Job]:
        """The jobs of one layer that the next round visits.

        Empty if the layer is complete, or if no visit fits into the time.
        """
        waiting = [job for job in unfinished if self.due_layer(job) == layer]
        fresh = [job for job in waiting if not job.processes]
        visited = [job for job in waiting if job.processes]
        reachable = [job for job in visited if not out_of_reach(job, self._settings)]
        if layer > Layer.HEADLINES:
            return self._batch([*reachable, *fresh], left_s)
        before_first_look = [job for job in reachable if self._lacks_first_looks(job)]
        used_s = self._settings.budget_s - left_s
        if used_s > _HEADLINES_SHARE * self._settings.budget_s:
            begun = before_first_look
        elif reachable or fresh:
            begun = reachable
        else:
            begun = visited  # no headline will become precise, but each interval narrows
        left_s -= sum(map(self.visit_s, begun))
        wave = [] if before_first_look else self._next_wave(fresh)
        return [*begun, *self._fitting(_by_cost(wave, self.visit_s), left_s)]

    def _next_wave(self, fresh: Sequence[Job]) -> list[Job]:
        """The headlines without processes that come first: see ``_place``."""
        first = min(map(self._place, fresh), default=0)
        return [job for job in fresh if self._place(job) == first]

    def _cheap_headlines(self, chosen: Sequence[Job], unfinished: Sequence[Job]) -> list[Job]:
        """Headlines to visit in a round of a later layer, because a visit costs little.

        Args:
            chosen: Jobs of the round; their workers, which start anyway, visit the headlines.
            unfinished: All jobs that need more processes.

        """
        started = {job.device.address for job in chosen if not job.task.offload}
        return [
            job
            for job in unfinished
            if job.layer == Layer.HEADLINES
            and job not in chosen
            and job.processes
            and job.device.address in started
            and not job.task.offload
            and self.visit_s(job) <= _CHEAP_S
            and not out_of_reach(job, self._settings)
        ]

    def _lacks_first_looks(self, job: Job) -> bool:
        """Whether a job has fewer processes than its first look needs."""
        return len(job.processes) < looks(job, self._settings)[0]

    def _place(self, job: Job) -> int:
        """Place of a headline in the order in which a run answers headlines, the lowest first.

        The first device's fastest copies come first, so that a user reads a rate after three short
        processes. Devices like an earlier device come after that device, whose search finds their
        sizes. Offloads come last: each needs a process that starts the runtime.
        """
        if job.task.offload:
            return 3
        if job.device.like:
            return 2
        first = job.device.address == self._first_device
        return 0 if first and self._is_fastest_copy(job) else 1

    def _is_fastest_copy(self, job: Job) -> bool:
        """Whether a job belongs to the first study and uses its device's fastest host memory."""
        ordinary = bool(job.device.direct_memory) and job.task.memory in ORDINARY
        return by_name(job.study).place == 1 and not ordinary

    def _batch(self, jobs: Sequence[Job], left_s: float) -> list[Job]:
        """The jobs of a curve that the next round visits.

        All jobs, if the time suffices: their processes then see how the host's speed varies over
        the run. Otherwise the few jobs that are finished soonest: a run whose time ends then has
        some precise points.
        """
        starts_s = sum(
            self.start_s.get(address, START_S) for address in {j.device.address for j in jobs}
        )
        lacking = [needed(job, self._settings) - len(job.processes) for job in jobs]
        all_s = starts_s * max(lacking, default=0) + sum(map(self._finish_s, jobs))
        if all_s <= _SPREAD_SHARE * left_s:
            return list(jobs)
        most_s = max(_ROUND_S, _STARTS * starts_s)
        chosen: list[Job] = []
        until_precise_s = this_round_s = 0.0
        for job in _by_cost(jobs, self._finish_s):
            until_precise_s += self._finish_s(job)
            this_round_s += self.visit_s(job)
            if until_precise_s > left_s or (chosen and this_round_s > most_s):
                break
            chosen.append(job)
        return chosen or self._fitting(jobs, left_s)

    def _finish_s(self, job: Job) -> float:
        """Estimated seconds of the visits until a job is precise enough."""
        return (needed(job, self._settings) - len(job.processes)) * self.visit_s(job)

    def due_layer(self, job: Job) -> Layer:
        """The layer in which a job's next process is due: the job's layer but for a search.

        During the search of a plateau, the first visit to a size belongs to the search's layer.
        """
        search = self._searches.get(job)
        return search.layer if search and search.next is job else job.layer

    def _fitting(self, jobs: Sequence[Job], seconds: float, rounds: int | None = None) -> list[Job]:
        """As many of these jobs, from the first on, as fit into this time with their processes.

        Each job needs ``rounds`` processes, by default those of its first look. If no job fits,
        returns the cheapest job, or none if even one visit to it does not fit.
        """
        if not jobs:
            return []
        each_s = [self.visit_s(job) * (rounds or looks(job, self._settings)[0]) for job in jobs]
        kept = [
            job for job, spent in zip(jobs, accumulate(each_s), strict=True) if spent <= seconds
        ]
        cheapest = min(jobs, key=self.visit_s)
        return kept or [cheapest] * (self.visit_s(cheapest) <= seconds)

    def advance_search(self, job: Job) -> list[Job]:
        """Advances the search of ``job``; the next size, which the same process visits, if any."""
        search = self._searches.get(job)
        if search is None or search.next is not job:
            return []
        search.advance(self.visit_s(job), self._step_limit_s(job), self._settings.confidence)
        return [search.next] if search.next else []

    def _step_limit_s(self, job: Job) -> float:
        """Most seconds of a visit to the next size in the search that ``job`` belongs to."""
        if job.simulated:
            return math.inf
        share = _STEP_SHARE if self._is_fastest_copy(job) else _OTHER_STEP_SHARE
        return share * self._settings.budget_s

    def _refine(self, *, simulated: bool) -> bool:
        """Moves planned sizes into curves that cannot be interpolated; returns whether any moved.

        A curve is a line between neighbouring sizes, on logarithmic axes. If its slope changes
        between two neighbours, a size in the middle shows where it bends.
        """
        if self._settings.quick:
            return False
        curves: dict[tuple[object, ...], list[Job]] = {}
        for job in self._jobs:
            if job.simulated == simulated and not (job.task.offload or job.given_up):
                curves.setdefault(job.series, []).append(job)
        bends = [
            job
            for jobs in curves.values()
            if any(job.layer <= Layer.CURVE for job in jobs)
            for job in _bends(jobs, self._settings.confidence)
        ]
        moved = [job for job in bends if job.layer > job.curve_layer]
        for job in moved:
            job.layer = job.curve_layer
        return bool(moved)

    def _left_s(self) -> float:
        """Estimated seconds that all unfinished jobs need together."""
        unfinished = [job for job in self.unfinished if not out_of_reach(job, self._settings)]
        processes = {job: needed(job, self._settings) - len(job.processes) for job in unfinished}
        starts: dict[str, float] = {}
        for job, count in processes.items():
            address = job.device.address
            start_s = self.start_s.get(address, START_S) * count * (not job.task.offload)
            starts[address] = max(starts.get(address, 0.0), start_s)
        visits = sum(count * self.visit_s(job) for job, count in processes.items())
        return visits + sum(starts.values())  # devices open one after another

    def visit_s(self, job: Job) -> float:
        """Estimated seconds of a visit."""
        overhead_s, sample_s = job.expected_cost
        return overhead_s + self.samples(job) * sample_s

    def samples(self, job: Job) -> int:
        """Number of samples of a visit: they take as long as its other work, up to 0.05 s.

        That work includes the visit's share of the worker's start. If processes differ, fewer
        samples would be enough. But that at most halves the visit, and in short visits a moment of
        load looks like a difference between processes.
        """
        if job.task.offload:
            return 1
        overhead_s, sample_s = job.expected_cost
        overhead_s += self._shared_s.get(job.device.address, 0.0)
        sampling_s = min(overhead_s, _LONG_ENOUGH_S)
        return round(min(max(sampling_s / max(sample_s, 1e-7), _LEAST_SAMPLES), _MOST_SAMPLES))

    def _shared_start_s(self, jobs: Sequence[Job]) -> dict[str, float]:
        """By address: seconds of a worker's start over the number of jobs that may share it.

        A round of few jobs has a larger share: it is chosen by these estimates, so not known yet.
        """
        visits: dict[str, int] = {}
        for job in jobs:
            if not job.task.offload:
                visits[job.device.address] = visits.get(job.device.address, 0) + 1
        return {address: self.start_s.get(address, START_S) / n for address, n in visits.items()}

    def _ordered(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs in a random order by the run's seed; compared jobs stay next to each other."""
        groups = _groups(jobs)
        self._order.shuffle(groups)
        for group in groups:
            self._order.shuffle(group)
        return [job for group in groups for job in group]


def usual_budget_s(jobs: Iterable[Job], settings: Settings) -> float:
    """Estimated seconds in which these jobs become precise; simulated jobs need none.

    Assumes 0.1 s for each point in each process, and 1 GB/s to fill and check memory.
    """
    budget = 0.0
    for job in jobs:
        if job.task.offload and not job.simulated:
            budget += 2 * looks(job, settings)[0] * job.expected_cost.overhead_s
        elif not job.simulated:
            processes = 2 * looks(job, settings)[0]
            budget += processes * (0.1 * len(job.task.points) + 1e-9 * job.task.bytes)
    return budget


class _Search:
    """Searches the plateau of one series: visits rising sizes until the rate no longer grows.

    For a device like an earlier device it visits only the size that was found for the earlier one.
    """

    def __init__(self, steps: Sequence[Job], leader: _Search | None = None) -> None:
        self.steps = steps
        self.layer = steps[0].task.first_layer
        self._leader = leader
        self._at = 0
        self._took: list[tuple[int, float]] = []
        """Bytes of each visited size, and seconds of the visit."""
        self.ended = False
        self.found: Job | None = None
        """The job that answers the headline: on the plateau or at the largest visited size. None
        while the search goes on."""

    @property
    def next(self) -> Job | None:
        """The job to visit next; None if the search has ended or waits for an earlier device."""
        if self.ended:
            return None
        return self.steps[self._at] if self._leader is None else self._led()

    def _led(self) -> Job | None:
        """The job at the size that the earlier device's search found; None if it goes on."""
        leader_job = self._leader.found if self._leader else None
        if leader_job is None:
            return None
        sizes = (step for step in self.steps if step.task.bytes <= leader_job.task.bytes)
        return max(sizes, key=lambda step: step.task.bytes, default=self.steps[0])

    def advance(self, took_s: float, limit_s: float, confidence: float) -> None:
        """Goes to the next size after a visit, or ends the search.

        It ends at a plateau, at the last size, after a failure, or before a visit that would take
        more than ``limit_s`` seconds. ``took_s``: estimated seconds of a visit to the last size.
        """
        if self._leader and self._leader.found and (led := self._led()):
            self._end(led, plateau=bool(self._leader.found.plateau))
            return
        job = self.steps[self._at]
        flat = self._at and _is_flat(self.steps[self._at - 1], job, confidence)
        if flat and _start_share(self.steps[0], job, confidence) <= _FLAT:
            self._end(job, plateau=True)
            return
        self._took.append((job.task.bytes, took_s))
        larger = self.steps[self._at + 1 :][:1]
        if not larger or job.given_up or self._expected_s(larger[0].task.bytes) > limit_s:
            self._end(job, plateau=False)
            return
        self._at += 1

    def _expected_s(self, size: int) -> float:
        """Expected seconds of a visit to a larger size, by the line through the last two visits.

        After one visit, the seconds of that visit: it also loads kernels and shows no growth.
        """
        last, last_s = self._took[-1]
        if len(self._took) == 1:
            return last_s
        before, before_s = self._took[-2]
        return last_s + max(last_s - before_s, 0.0) * (size - last) / (last - before)

    def _end(self, job: Job, *, plateau: bool) -> None:
        self.ended = True
        measured = [step for step in self.steps if step.processes]
        if not job.processes and measured:
            job = measured[-1]
        job.layer, job.plateau = self.layer, plateau
        self.found = job
        for step in measured:  # smaller sizes become points of the curve
            step.layer = min(step.layer, max(self.layer, step.curve_layer))


def _searches(jobs: Iterable[Job]) -> list[_Search]:
    """A search for each series with at least two sizes whose headline is about the plateau."""
    series: dict[tuple[object, ...], list[Job]] = {}
    for job in jobs:
        if job.task.headline and job.task.headline.on_plateau:
            series.setdefault(job.series, []).append(job)
    searches: dict[tuple[object, ...], _Search] = {}
    for name, steps in sorted(series.items(), key=lambda of: bool(of[1][0].device.like)):
        study, _, *rest = name
        leader = searches.get((study, steps[0].device.like, *rest))
        if len(steps) > 1:
            searches[name] = _Search(sorted(steps, key=lambda job: job.task.bytes), leader)
    return list(searches.values())


def _rate(job: Job, confidence: float) -> tuple[float, float] | None:
    """Logarithm of a job's bytes per second, and the half-width of its interval; None without.

    After a single process the half-width is that of the process's samples.
    """
    seconds = job.seconds(confidence)
    if seconds is None or seconds.value <= 0:
        return None
    width = seconds.half_width if seconds.known else job.scatter
    return math.log(job.task.bytes / seconds.value), width


def _is_flat(smaller: Job, larger: Job, confidence: float) -> bool:
    """Whether the rate hardly changes from one size to a larger size: see ``_FLAT``."""
    before, after = _rate(smaller, confidence), _rate(larger, confidence)
    if before is None or after is None:
        return False
    allowed = min(max(_FLAT, before[1] + after[1]), _FLAT_AT_MOST)
    return abs(after[0] - before[0]) <= allowed


def _start_share(smallest: Job, job: Job, confidence: float) -> float:
    """Start-up time over the time of ``job``, estimated from the smallest size of its series.

    The time of a size is start-up time plus bytes over one rate. The share is negative if a cache
    makes the smallest size faster.
    """
    least, most = smallest.seconds(confidence), job.seconds(confidence)
    if least is None or most is None or smallest is job or most.value <= 0:
        return 0.0
    start_s = least.value - smallest.task.bytes * most.value / job.task.bytes
    return start_s / most.value


def _bends(jobs: Sequence[Job], confidence: float) -> list[Job]:
    """Jobs of one series to add to its curve: at sizes in the middle of intervals where it bends.

    Between sizes a and b with slopes s and t, a cubic differs from the straight line in the middle
    by (s - t) log(b/a) / 8 (Hermite interpolation). The slope at a size is the mean of the slopes
    on both sides.
    """
    rates = {}
    for job in jobs:
        if job.task.bytes and job.processes and (rate := _rate(job, confidence)):
            rates[job.task.bytes] = rate
    at = sorted(rates)
    slopes = [(rates[b][0] - rates[a][0]) / math.log(b / a) for a, b in pairwise(at)]
    bent: list[Job] = []
    for i, (a, b) in enumerate(pairwise(at)):
        start, end = (fmean(slopes[max(j - 1, 0) : j + 1]) for j in (i, i + 1))
        error = abs(end - start) * math.log(b / a) / 8
        unknown = [job for job in jobs if a < job.task.bytes < b and not job.processes]
        if unknown and error > _BEND + rates[a][1] + rates[b][1]:
            middle = math.sqrt(a * b)
            bent.append(min(unknown, key=lambda job: abs(math.log(job.task.bytes / middle))))
    return bent


def _by_cost(jobs: Iterable[Job], cost_s: Callable[[Job], float]) -> list[Job]:
    """The jobs in rising order of cost, mixed over studies; compared jobs stay together."""
    by_study: dict[str, list[list[Job]]] = {}
    for group in _groups(jobs):
        by_study.setdefault(group[0].study, []).append(group)
    ranked: list[tuple[float, list[Job]]] = []
    for groups in by_study.values():
        groups.sort(key=lambda group: sum(map(cost_s, group)) / len(group))
        ranked += [((i + 0.5) / len(groups), group) for i, group in enumerate(groups)]
    return [job for _, group in sorted(ranked, key=lambda pair: pair[0]) for job in group]


def _groups(jobs: Iterable[Job]) -> list[list[Job]]:
    """Groups of jobs that are compared: they differ only in the device and the kind of memory."""
    groups: dict[object, list[Job]] = {}
    for job in jobs:
        task = job.task
        axes = () if task.offload else tuple(sorted(task.axes.items()))
        key = task.offload, task.operation, task.bytes, axes
        groups.setdefault(key, []).append(job)
    return list(groups.values())
