"""Jobs: tasks on a device with their results, and rules that decide when a job needs no process.

The statistical sample is the set of processes: each process adds one median to each row of a job
(T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).

``reducible_half_width`` ends a job (``settled``), ``half_width`` decides whether its answer can be
shown (``can_show``), and the answer is the interval ``shown`` of its leading part.
"""

from __future__ import annotations

import math
import statistics as stdlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from isthmus.measure.plan import Layer, Task
from isthmus.results.journal import Entry, PointKey, key_of
from isthmus.results.run_file import FINAL_STATES, QUICK_PROCESSES, ClockName, Rerun, Settings
from isthmus.statistics import LOOKS, Interval, enough, exact, over_processes
from isthmus.student import student
from isthmus.units import format_size

if TYPE_CHECKING:
    from isthmus.measure.discovery import FoundDevice
    from isthmus.statistics.host_state import Slow

OFFLOAD_LOOKS = (12, 16, 24, 30)
"""Numbers of processes after which an offload may end; each process gives one repetition."""
QUICK_LOOKS = (3, *LOOKS)
"""Numbers of processes after which a headline of a quick run may end: see ``EARLY_SHARE``."""
QUICK_OFFLOAD_LOOKS = (3, 6, 8, 12)
"""``QUICK_LOOKS`` for offloads: fewer, because each process starts the runtime, up to seconds."""
EARLY_SHARE = 0.25
"""Share of a job's final precision within which an interval from fewer than six processes must be.

Three processes often agree by chance. If three processes with normal scatter may use the whole
precision, 91 to 95 % of the 95 % intervals hold the true value; with a quarter of it, 93 to 95 %
(``benchmarks/coverage.py``)."""
QUICK_HEADLINES = 0.5
"""Precision of headlines over the precision of a quick run: 5 % instead of 10 %."""
LEAST_TO_JUDGE = LOOKS[0]
"""Fewest processes, six, that show whether further processes can make a job precise."""
END_IMPRECISE_AFTER = 12
"""Processes after which a run without ``--budget`` ends a job that even the most processes (30)
would not make precise. A further process narrows an interval by less than a twentieth."""
_OF_NORMAL = 1.0483
"""Standard deviation of a normal distribution over the median distance of two of its values."""


class Cost(NamedTuple):
    """Seconds that a visit takes: ``overhead_s`` once, and ``sample_s`` for each sample."""

    overhead_s: float
    sample_s: float


@dataclass(eq=False)
class Job:
    """A task on a device; each process that measures it adds a median to each row (part, clock)."""

    device: FoundDevice
    task: Task
    layer: Layer = field(init=False)
    """Layer in which the run measures the job: the task's layer, until the run changes it."""
    plateau: bool | None = None
    """Whether the rate no longer grows at larger sizes, for a headline about the plateau; None: not
    known yet, or another job."""
    open_ended: bool = False
    """Whether the user set no ``--budget``: a job that cannot become precise then ends early."""
    error: str = ""
    skipped: str = ""
    """Why this machine does not allow the task; empty if it does."""
    processes: set[int] = field(default_factory=set)
    """Numbers of the rounds whose processes measured the job."""
    medians: dict[tuple[int, ClockName], list[float]] = field(default_factory=dict)
    """By part and clock: each process's median in seconds. Only deciding parts have a row."""
    resolution_s: dict[tuple[int, ClockName], float] = field(default_factory=dict)
    """By part and clock: resolution in seconds of the coarsest clock of the processes."""
    cost: Cost | None = None
    """Estimated cost of the next visit: the mean of the newest visit's cost and the previous
    estimate. For an offload the whole process is overhead. None before the first visit."""
    spread: float = 0.0
    """Scatter of the processes: standard deviation of the logarithms of medians, the largest row's.

    The estimate uses the median distance of two processes, which outliers hardly change (Shamos's
    estimator; Rousseeuw and Croux, "Alternatives to the median absolute deviation", JASA 88 (1993),
    1273)."""
    measured_s: float = 0.0
    """Seconds in which the newest process prepared and measured the job."""
    moved_bytes: int = 0
    """Bytes that one repetition of ``leading_part`` moves."""
    scatter: float = 0.0
    """Relative half-width of the interval of the newest process's median, from its samples alone.

    It is 1.57 interquartile ranges over the root of the number of samples (McGill, Tukey and
    Larsen, "Variations of box plots", The American Statistician 32 (1978), 12)."""
    host_state: float = 0.0
    """Half-width that the host's varying speed adds to a row's logarithm; the largest of all rows.
    """
    _slow: Mapping[PointKey, Slow] = field(default_factory=dict)
    """By point: what the host's varying speed adds to its interval: see ``HostRows.slow``."""
    _widths: dict[float, tuple[float, float]] = field(default_factory=dict)
    """Cached results of ``_half_widths`` by confidence, until the next process."""

    def __post_init__(self) -> None:
        self.layer = self.task.layer

    @property
    def curve_layer(self) -> Layer:
        """Layer of the device's curve: a device like an earlier device has a later layer."""
        return Layer.FURTHER if self.device.like else Layer.CURVE

    @property
    def simulated(self) -> bool:
        """Whether an emulated card computes the job's times, so that one process is enough."""
        return self.device.description.simulated

    @property
    def given_up(self) -> bool:
        """Whether the job has failed or is skipped, so that no further visit follows."""
        return bool(self.error or self.skipped)

    @property
    def study(self) -> str:
        """Name of the study whose points the job measures."""
        return next(iter(self.task.points.values())).study

    @property
    def label(self) -> str:
        """Name of the job in messages: device, operation, size, and memory of an offload."""
        size = f" {format_size(self.task.bytes)}" if self.task.bytes else ""
        memory = f" {self.task.memory}" if self.task.offload else ""
        return f"{self.device.address} {self.task.operation}{memory}{size}"

    @property
    def series(self) -> tuple[object, ...]:
        """Key of the job's series: jobs that differ only in size have the same key."""
        task = self.task
        axes = tuple(sorted(task.axes.items()))
        return self.study, self.device.address, task.operation, task.memory, axes

    @property
    def leading_part(self) -> int:
        """Number of the part that answers the job's headline; else the first of ``deciding``."""
        headline = self.task.headline
        if headline is None:
            return min(self.deciding)
        points = self.task.points.items()
        return next(n for n, point in points if point.operation == headline.operation)

    def seconds(self, confidence: float) -> Interval | None:
        """Seconds of ``leading_part`` over all processes so far; None before the first process.

        The interval covers the scatter of processes, and not the host's state, which is common to
        rows of a run.
        """
        row = self._leading_row
        return over_processes(self.medians[row], confidence) if row else None

    @property
    def _leading_row(self) -> tuple[int, ClockName] | None:
        """Row of ``leading_part``: by the host's clock, else the device's, else the simulated."""
        clocks: Sequence[ClockName] = ("host", "device", "simulated")
        rows = ((self.leading_part, clock) for clock in clocks)
        return next((row for row in rows if row in self.medians), None)

    def shown(self, confidence: float) -> Interval | None:
        """Seconds of ``leading_part`` as a summary shows them: with the host's state."""
        row, without_state = self._leading_row, self.seconds(confidence)
        return self._with_state(row, without_state) if row and without_state else None

    def _with_state(self, row: tuple[int, ClockName], interval: Interval) -> Interval:
        """The interval of a row, widened by what the host's state adds to it."""
        slow = self._slow_of(row)
        return slow.widened(interval) if slow else interval

    def _slow_of(self, row: tuple[int, ClockName]) -> Slow | None:
        """What the host's state adds to a row; None if it adds nothing.

        It adds nothing if the run does not read the host's speed, or on another clock.
        """
        part, clock = row
        return self._slow.get(key_of(self.task.points[part])) if clock == "host" else None

    @property
    def state_known(self) -> bool:
        """Whether the host's state is known for all rows of the job, or is not read by the run."""
        slow = map(self._slow_of, self._positive_rows()) if self._slow else ()
        return all(slow_part is not None and slow_part.known for slow_part in slow)

    def use_state(self, slow: Mapping[PointKey, Slow]) -> None:
        """Stores what the host's state adds to each point of the run, and widens the job's rows."""
        self._slow = slow
        self._widths.clear()
        own = (slow.get(key_of(self.task.points[part])) for part, _ in self.medians)
        self.host_state = max(
            (slow_part.half_width for slow_part in own if slow_part and slow_part.known),
            default=0.0,
        )

    @property
    def deciding(self) -> set[int]:
        """Parts whose intervals decide when the job is precise enough.

        For an offload the part is the total. For a joint operation it is part 0, the time of the
        slowest rank.
        """
        parts = set(self.task.points)
        if self.task.offload:
            totals = {n for n, p in self.task.points.items() if p.operation == "total"}
            return totals or {max(parts)}
        return {0} if self.task.joint and 0 in parts else parts

    def add(self, number: int, results: Mapping[int, Rerun]) -> None:
        """Adds the results of round ``number``'s process for the parts of the job."""
        self.processes.add(number)
        self._widths.clear()
        self.measured_s = max((rerun.measured_s for rerun in results.values()), default=0.0)
        self.scatter = _scatter(results.get(self.leading_part))
        for part in self.deciding & results.keys():
            for clock in results[part].clocks:
                seconds = results[part].seconds(clock).tolist()
                if seconds:
                    row = part, clock
                    self.medians.setdefault(row, []).append(stdlib.median(seconds))
                    step_s = results[part].resolution_s(clock)
                    self.resolution_s[row] = max(step_s, self.resolution_s.get(row, 0.0))
        rows = [[*map(math.log, row)] for row in self._positive_rows().values() if len(row) > 1]
        distances = (stdlib.median(abs(x - y) for x, y in combinations(row, 2)) for row in rows)
        self.spread = _OF_NORMAL * max(distances, default=0.0)

    @property
    def expected_cost(self) -> Cost:
        """Estimated cost of a visit; before the first visit, 1 GB/s to fill and 5 GB/s to copy."""
        size = self.task.bytes
        if self.task.offload:
            return self.cost or Cost(0.7 + 2e-8 * size, 0.0)
        return self.cost or Cost(2e-3 + 1e-9 * size, 1e-5 + 2e-10 * size)

    def learn(self, cost: Cost) -> None:
        """Replaces the estimated cost by its mean with the measured cost of a visit."""
        before = self.cost or cost
        self.cost = Cost(*((a + b) / 2 for a, b in zip(before, cost, strict=True)))

    def add_before(self, entries: Iterable[Entry]) -> None:
        """Adds the results that processes of an earlier session left in the journal."""
        parts = {key_of(point): part for part, point in self.task.points.items()}
        results: dict[int, dict[int, Rerun]] = {}
        for entry in entries:
            part = parts.get(key_of(entry.point))
            if part is not None and entry.rerun and entry.rerun.state in FINAL_STATES:
                results.setdefault(entry.rerun.rerun, {})[part] = entry.rerun
        for number in sorted(results):
            if self.deciding <= results[number].keys():
                self.add(number, results[number])

    def _positive_rows(self) -> dict[tuple[int, ClockName], list[float]]:
        """Rows that have a relative precision, because all their medians are above 0."""
        return {row: medians for row, medians in self.medians.items() if min(medians) > 0}

    def half_width(self, confidence: float) -> float:
        """Relative half-width of the widest row's interval, including the host's state.

        Infinite while the run reads the host's speed but its effect is not known yet.
        """
        return self._half_widths(confidence)[0]

    def own_half_width(self, confidence: float) -> float:
        """Relative half-width of the widest row's interval, without the host's state."""
        rows = self._positive_rows().items()
        each = (
            over_processes(medians, confidence, self.resolution_s[row]) for row, medians in rows
        )
        return max((interval.half_width for interval in each), default=0.0)

    def reducible_half_width(self, confidence: float) -> float:
        """Like ``half_width``, of those intervals alone that further processes can narrow.

        0 if each interval is as narrow as the resolution of the clock allows.
        """
        return self._half_widths(confidence)[1]

    def _half_widths(self, confidence: float) -> tuple[float, float]:
        if confidence not in self._widths:
            widest = narrowing = 0.0
            for row, medians in self._positive_rows().items():
                step_s = self.resolution_s[row]
                interval = over_processes(medians, confidence, step_s)
                interval = self._with_state(row, interval)
                width = interval.half_width if self.state_known else math.inf
                widest = max(widest, width)
                if interval.half_width > exact(interval.value).spanning(step_s).half_width:
                    narrowing = max(narrowing, width)
            self._widths[confidence] = widest, narrowing
        return self._widths[confidence]


def _scatter(rerun: Rerun | None) -> float:
    """Relative half-width of the median of one process's samples; 0 for fewer than four samples."""
    if rerun is None or not rerun.clocks:
        return 0.0
    seconds: list[float] = rerun.seconds(next(iter(rerun.clocks))).tolist()
    middle = stdlib.median(seconds) if len(seconds) >= 4 else 0.0
    if not middle:
        return 0.0
    low, _, high = stdlib.quantiles(seconds)
    return float(1.57 * (high - low) / math.sqrt(len(seconds)) / middle)


def looks(job: Job, settings: Settings) -> Sequence[int]:
    """Numbers of processes after which a job may end; the last is the most that a job gets."""
    offload = job.task.offload
    if job.simulated:
        return (1,)
    if fixed := settings.processes(offload=offload):
        return (fixed,)
    if not settings.quick:
        return OFFLOAD_LOOKS if offload else LOOKS
    if job.layer > Layer.HEADLINES:
        return (QUICK_PROCESSES,)
    return QUICK_OFFLOAD_LOOKS if offload else QUICK_LOOKS


def wanted_precision(job: Job, settings: Settings) -> float:
    """The relative half-width that ends a job at its present number of processes."""
    may_go_on = looks(job, settings)[-1] >= LOOKS[0]
    early = may_go_on and 1 < len(job.processes) < LOOKS[0]
    return _final_precision(job, settings) * (EARLY_SHARE if early else 1.0)


def _final_precision(job: Job, settings: Settings) -> float:
    """The relative half-width that ends a job of enough processes: the run's precision.

    A headline of a quick run has half of it, unless its processes scatter too much for that.
    """
    if not settings.quick or job.layer > Layer.HEADLINES:
        return settings.precision
    narrow = QUICK_HEADLINES * settings.precision
    most = looks(job, settings)[-1]
    if len(job.processes) < LEAST_TO_JUDGE or _reaches(narrow, most, job, settings):
        return narrow
    return settings.precision


def settled(job: Job, settings: Settings) -> bool:
    """Whether a job gets no further process: given up, precise, or at its most processes."""
    if job.given_up or enough(
        len(job.processes),
        lambda: job.reducible_half_width(settings.confidence),
        wanted_precision(job, settings),
        looks(job, settings),
    ):
        return True
    tried_long = len(job.processes) >= END_IMPRECISE_AFTER
    return job.open_ended and tried_long and out_of_reach(job, settings)


def can_show(job: Job, settings: Settings) -> bool:
    """Whether the answer to a headline can be shown, with its interval.

    From the first look on, the run shows an answer within its precision; after
    ``LEAST_TO_JUDGE`` processes it shows any answer. Further processes may follow, because few
    processes agree by chance: see ``EARLY_SHARE``.
    """
    if settled(job, settings) or len(job.processes) >= LEAST_TO_JUDGE:
        return True
    looked = len(job.processes) >= looks(job, settings)[0]
    return looked and job.half_width(settings.confidence) <= settings.precision


def needed(job: Job, settings: Settings) -> int:
    """Estimated processes after which a job is precise enough, by its spread; at most its maximum.

    The number is one of ``looks``.
    """
    at, have = looks(job, settings), len(job.processes)
    if have < at[0]:
        return at[0]
    goal = _final_precision(job, settings)
    return next((n for n in at if n > have and _reaches(goal, n, job, settings)), at[-1])


def out_of_reach(job: Job, settings: Settings) -> bool:
    """Whether a job's interval would be too wide even with its most processes, by its spread.

    The cause is the scatter of the processes, or the host's state, which varies from run to run.
    """
    at = looks(job, settings)
    have = len(job.processes)
    if have < 2 or have < min(LEAST_TO_JUDGE, at[-1]):
        return False
    return not _reaches(_final_precision(job, settings), at[-1], job, settings)


def may_narrow(job: Job, settings: Settings) -> bool:
    """Whether a job gets further processes that can make it precise enough."""
    return not (settled(job, settings) or out_of_reach(job, settings))


def _reaches(precision: float, processes: int, job: Job, settings: Settings) -> bool:
    """Whether n ``processes`` narrow a job's interval to ``precision``.

    The half-width has two parts, added as squares. The first is Student's, t(n-1) spread / sqrt(n).
    The second is the host's state, which more processes do not reduce (``benchmarks/RESULTS.md``).
    """
    quantile = student(processes - 1, 0.5 + settings.confidence / 2)
    half_width = math.hypot(quantile * job.spread / math.sqrt(processes), job.host_state)
    return half_width <= math.log1p(precision)
