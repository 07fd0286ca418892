"""Runs rounds of fresh workers until each point is precise enough or the time is up.

In a round each device has one worker, which visits some of the device's points. A machine measures
one point at a time. Each offload has a separate worker, because it times the start of a runtime.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple, Protocol

import msgspec

from isthmus.host_rows import HostRows
from isthmus.measure.jobs import Job, can_show, looks, may_narrow
from isthmus.measure.plan import Layer
from isthmus.measure.rounds import ANSWER_SHARE, AT_ONCE, Rounds, Standing
from isthmus.measure.supervisor import Responder, WorkerDiedError, WorkerRefusedError
from isthmus.measure.visit import HostSpeed, Visitor
from isthmus.results.journal import Entry, PointKey
from isthmus.results.run_file import Settings
from isthmus.statistics import Interval, apart
from isthmus.system.binding import Binding
from isthmus.text import counted

_SLACK = 1.2
"""Ratio of measured to estimated time of visits above which a round skips expensive visits of
unknown cost."""
_DEATHS_TO_END = 3
"""Number of dead workers of a device at which the run ends the device's measurement."""
_SLOW_START_S = 2.0
_STANDING_EVERY_S = 0.5
"""Least seconds from one count of progress to the next: counting 2000 tasks takes 20 ms, as long as
several visits."""


Certainty = Literal["precise", "open", "time", "scatter", "host", "few"]
"""Why a headline's measurement ended, or "open" if further processes follow. "precise": intervals
are as narrow as requested. "time": the time is up. "scatter": processes differ too much. "host":
processes agree, but the host's speed varies. "few": too few processes show how the speed varies."""


class Answer(NamedTuple):
    """The answer to a headline, for one device or for devices of the same kind that agree."""

    devices: Sequence[str]
    says: str
    """The measured quantity in words: "copy to device"."""
    memory: str
    bytes: int
    moved_bytes: int
    seconds: Sequence[Interval]
    """Seconds on each device, with intervals that include the host's state."""
    certainty: Certainty
    simulated: bool
    plateau: bool
    """False if larger copies may be faster, because the search ended before a plateau."""


class Watcher(Protocol):
    """Shows the progress of a run and its messages to the user."""

    def visiting(self, label: str, standing: Standing) -> None:
        """Shows that a visit to a task begins."""

    def answered(self, answer: Answer) -> None:
        """Shows the answer to a headline; a later call may replace it by a more precise answer."""

    def say(self, message: str) -> None:
        """Shows a message to the user."""


class _Workers:
    """The workers of a round by address of their device: they start together, then open devices."""

    def __init__(self, binding: Binding, references: int) -> None:
        """``references``: descriptor of the memory file by which workers time the host's speed."""
        self.ending = ExitStack()
        """Ends the workers when it is closed."""
        self._binding = binding
        self._references = references
        self._started: dict[str, Responder] = {}
        self._opened: dict[str, Responder] = {}
        self.start_s: dict[str, float] = {}
        """By address: seconds that the runner waited for the start of the worker."""

    def _fresh(self, job: Job) -> AbstractContextManager[Responder]:
        return job.device.worker(self._binding, self._references)

    def _start(self, job: Job) -> Responder:
        """The worker of a job's device; starts a worker if none runs."""
        address = job.device.address
        if address not in self._started:
            self._started[address] = self.ending.enter_context(self._fresh(job))
        return self._started[address]

    def start(self, jobs: Sequence[Job], before: ExitStack) -> None:
        """Starts the workers of these jobs, ends those of ``before``, and opens the devices."""
        began = time.monotonic()
        with before:  # old workers end while new ones start, and have ended before devices open
            for job in jobs:
                self._start(job)
        waited_s = time.monotonic() - began
        for job in jobs:  # open all devices before any visit is timed
            with suppress(WorkerDiedError):  # the first visit will report the error
                self._open(job)
        for address in self.start_s:
            self.start_s[address] += waited_s / len(self.start_s)

    def _open(self, job: Job) -> Responder:
        """The worker of a job's device, with the device open. Raises WorkerDiedError."""
        address = job.device.address
        if address not in self._opened:
            began = time.monotonic()
            worker = self._start(job)
            try:
                worker.ask(job.device.open_request())
            except WorkerRefusedError as error:
                # A worker that cannot open its device can measure nothing: end it.
                worker.end()
                self.discard(job)
                raise WorkerDiedError(f"cannot be opened: {error}") from error
            self._opened[address] = worker
            self.start_s.setdefault(address, time.monotonic() - began)
        return self._opened[address]

    def lent(self, job: Job) -> AbstractContextManager[Responder]:
        """Lends the worker for a visit: the device's, or a fresh worker for an offload.

        Raises WorkerDiedError.
        """
        return self._fresh(job) if job.task.offload else nullcontext(self._open(job))

    def release(self) -> None:
        """Tells the workers that no request follows, so that they begin to end."""
        for worker in self._started.values():
            worker.release()

    def discard(self, job: Job) -> None:
        """Drops a dead worker: the next use of its device starts a fresh one."""
        self._started.pop(job.device.address, None)
        self._opened.pop(job.device.address, None)


@dataclass
class Runner:
    """Measures the jobs of a run, and passes each result to ``record`` as soon as it is there."""

    jobs: Sequence[Job]
    settings: Settings
    binding: Binding
    watcher: Watcher
    record: Callable[[Entry], None]
    goes_on: bool = False
    """Whether the run goes on through all layers as long as its time lasts."""
    host_speed: HostSpeed = field(default_factory=lambda: HostSpeed(time.monotonic()))
    host_rows: HostRows[PointKey] | None = None
    """All results of the run, which show the host's state: see ``Rounds.judge``."""

    def __post_init__(self) -> None:
        last = Layer.REST if self.goes_on else Layer.CURVE
        self.rounds = Rounds(self.jobs, self.settings, last, self.host_rows)
        self._visitor = Visitor(self.jobs, self.settings, self.host_speed)
        self.out_of_time = False
        self._until = math.inf
        self._shown_as: dict[Job, Certainty] = {}
        """Certainty of each headline's answer that the watcher has shown last."""
        self._failures: Counter[tuple[str, str]] = Counter()
        """Number of jobs that ended with an error, by operation and message."""
        self._latest_standing = -math.inf, Standing(0, 0, 0, 0, 0.0)
        """Time of the latest count of progress, and its result."""
        self._deaths: dict[str, int] = {}
        self._ending_workers = ExitStack()
        """Released workers of the previous round, which may not have ended yet."""

    def run_simulated(self) -> None:
        """Measures each simulated point once, without any time limit: no host time is measured."""
        self._run(math.inf, simulated=True)

    def run(self, until: float) -> None:
        """Measures all points that are not simulated, until a time of ``time.monotonic``."""
        self._run(until, simulated=False)
        self.out_of_time = self.rounds.has_timed_jobs_left
        self._report_further_failures()
        self._report_missed_precision()

    def _run(self, until: float, *, simulated: bool) -> None:
        """Measures rounds until no job is left or the time is up; all workers have then ended."""
        self._until = until
        round_number = 1 + max((n for job in self.jobs for n in job.processes), default=-1)
        try:
            while chosen := self.rounds.next_round(until - time.monotonic(), simulated=simulated):
                if not self._round(round_number, chosen):
                    break
                if not simulated and self.settings.reruns != 1:
                    round_number += 1
        finally:
            self._ending_workers.close()
        self.rounds.judge(AT_ONCE)
        for job in self.rounds.wanted:
            if job.simulated == simulated:
                self._answer(job, last=True)

    def _round(self, round_number: int, jobs: Sequence[Job]) -> bool:
        """Measures round ``round_number``: visits jobs with one process of each device.

        Returns whether it visited any job.
        """
        workers = _Workers(self.binding, self.host_speed.memory())
        try:
            workers.start([job for job in jobs if not job.task.offload], self._ending_workers)
            visited = self._visits(round_number, jobs, workers)
        finally:
            workers.release()
            self._ending_workers = workers.ending
        for address, seconds in workers.start_s.items():
            new = address not in self.rounds.start_s
            if seconds > _SLOW_START_S and new and math.isfinite(self._until):
                self.watcher.say(
                    f"{address} takes {seconds:.0f} s to start: it is measured in fewer processes"
                )
            self.rounds.start_s[address] = seconds
        return visited

    def _visits(self, round_number: int, jobs: Sequence[Job], workers: _Workers) -> bool:
        """Visits the jobs of a round that can end in time; returns whether it visited any."""
        visited, rounds = False, self.rounds
        planned = {job: rounds.visit_s(job) for job in jobs}
        usual_s = sum(planned.values()) / len(planned)
        overrun_s = 0.0
        queue = deque(jobs)
        while queue:
            job = queue.popleft()
            began = time.monotonic()
            planned_s = planned.get(job) or rounds.visit_s(job)
            # Skip a visit that cannot end in time. If earlier visits took longer than estimated, by
            # more than a usual visit, also skip an expensive visit whose cost none has shown.
            cost_unknown = not (job.cost or job.task.offload or job.simulated)
            expensive = planned_s > usual_s and rounds.due_layer(job) > Layer.HEADLINES
            too_late = began + planned_s > self._until
            if job.given_up or too_late or (cost_unknown and expensive and overrun_s > usual_s):
                continue
            visited = True
            share_s = (self._until - began) / (1 + len(queue))
            self._visit(job, round_number, workers, share_s)
            self._answer(job)
            queue.extendleft(rounds.advance_search(job))
            overrun_s += time.monotonic() - began - _SLACK * planned_s
        return visited

    def _answer(self, job: Job, *, last: bool = False) -> None:
        """Passes the answer of a headline to the watcher once it can be shown.

        Devices of the same kind wait for one another and share an answer, except devices whose time
        is ``apart`` from the others. An answer whose certainty changed is passed again: see
        ``_is_open``. ``last``: the run is over, so that no answer becomes more precise.
        """
        if job.task.headline is None or job.layer > Layer.HEADLINES:
            return
        together = self._same_question(job) if job.device.like else [job]
        together = [
            other for other in together if not other.given_up and self._is_open(other, last=last)
        ]
        ready = [other for other in together if other.processes and (last or self._is_known(other))]
        if not ready or (len(ready) < len(together) and not last):
            return
        seconds = {other.device.address: other.seconds(self.settings.confidence) for other in ready}
        values = {
            address: interval.value
            for address, interval in seconds.items()
            if interval and interval.value > 0
        }
        named = apart(values) if len(values) > 1 else []
        agree = [other for other in ready if other.device.address not in named]
        for group in [agree, *([other] for other in ready if other not in agree)]:
            if group:
                answer = self._answer_of(group, last=last)
                self._shown_as.update(dict.fromkeys(group, answer.certainty))
                self.watcher.answered(answer)

    def _is_open(self, job: Job, *, last: bool) -> bool:
        """Whether the watcher should get a headline's answer, for the first time or again.

        It gets an answer again when the answer becomes precise. At the end (``last``) it also gets
        an answer that is no longer precise, or that was shown as "so far".
        """
        before = self._shown_as.get(job)
        if before is None or (last and before == "open"):
            return True
        precise = job.simulated or self._half_width(job) <= self.settings.precision
        if precise:
            return before != "precise"
        return last and before == "precise"

    def _half_width(self, job: Job) -> float:
        """Relative half-width of a job's answer with the host's state; infinite if unknown."""
        shown = job.shown(self.settings.confidence)
        return shown.half_width if shown and job.state_known else math.inf

    def _is_known(self, job: Job) -> bool:
        """Whether the answer to a headline can be shown.

        Before it is shown, the host's state is computed from the newest processes, too, because it
        may widen the answer's interval.
        """
        if not can_show(job, self.settings):
            return False
        state_is_new = self.rounds.judge(ANSWER_SHARE)
        return not state_is_new or can_show(job, self.settings)

    def _same_question(self, job: Job) -> list[Job]:
        """The jobs that answer the same headline as ``job`` on devices of the same kind."""
        return [
            other
            for other in self.jobs
            if other.device.like == job.device.like
            and other.task.headline == job.task.headline
            and other.series[2:] == job.series[2:]
            and other.study == job.study
            and other.task.bytes == job.task.bytes
            and other.layer <= Layer.HEADLINES
        ]

    def _answer_of(self, jobs: Sequence[Job], *, last: bool) -> Answer:
        """Makes the answer to the headline of these jobs, which differ only in the device."""
        first = jobs[0]
        assert first.task.headline
        intervals = [job.shown(self.settings.confidence) for job in jobs]
        shown = [interval for interval in intervals if interval]
        certainty: Certainty = "scatter"
        if first.simulated or all(self._half_width(job) <= self.settings.precision for job in jobs):
            certainty = "precise"
        elif any(may_narrow(job, self.settings) for job in jobs):
            certainty = "time" if last else "open"
        elif all(
            job.own_half_width(self.settings.confidence) <= self.settings.precision for job in jobs
        ):
            certainty = "host" if all(job.state_known for job in jobs) else "few"
        return Answer(
            [job.device.address for job in jobs],
            first.task.headline.says,
            first.task.memory,
            first.task.bytes,
            first.moved_bytes,
            shown,
            certainty,
            first.simulated,
            all(job.plateau is not False for job in jobs),
        )

    def _standing(self) -> Standing:
        """Progress of the run, at most ``_STANDING_EVERY_S`` seconds old."""
        counted_at, standing = self._latest_standing
        if time.monotonic() < counted_at + _STANDING_EVERY_S:
            return standing
        standing = self.rounds.standing(self._until - time.monotonic())
        self._latest_standing = time.monotonic(), standing
        return standing

    def _visit(self, job: Job, round_number: int, workers: _Workers, share_s: float) -> None:
        """Visits a job in round ``round_number`` and records its results.

        An error ends the job. A worker that died counts against the device: see ``_count_death``.
        """
        self.watcher.visiting(f"{job.study} {job.label}", self._standing())
        lend = partial(workers.lent, job)
        try:
            visit = self._visitor.visit(job, round_number, lend, self.rounds, share_s)
        except WorkerRefusedError as error:
            self._fail(job, str(error), skip=job.task.offload and error.unavailable)
        except WorkerDiedError as error:
            self._fail(job, str(error))
            if not job.task.offload:
                self._count_death(job, workers, error)
        else:
            for entry in visit.entries:
                self.record(entry)
            if visit.death and not job.task.offload:
                self.watcher.say(f"{job.device.address}: {visit.death}")
                self._count_death(job, workers, visit.death)

    def _fail(self, job: Job, message: str, *, skip: bool = False) -> None:
        """Ends a job with an error, or as skipped if this machine does not allow it (``skip``)."""
        job.error, job.skipped = ("", message) if skip else (message, "")
        same = job.task.operation, message
        if not self._failures[same]:
            self.watcher.say(f"{job.label}: {'skipped: ' * skip}{message}")
        self._failures[same] += 1
        self._record_end(job)

    def _report_further_failures(self) -> None:
        """Reports how many further points failed with a message that was already shown."""
        for (operation, message), count in self._failures.items():
            if count > 1:
                further = counted(count - 1, "further point", "further points")
                self.watcher.say(f"{operation}: {further}: {message}")

    def _record_end(self, job: Job) -> None:
        for point in job.task.points.values():
            self.record(Entry(msgspec.structs.replace(point, error=job.error, skipped=job.skipped)))

    def _count_death(self, job: Job, workers: _Workers, error: WorkerDiedError) -> None:
        """Discards a dead worker, and ends all jobs of its device after ``_DEATHS_TO_END`` deaths.

        It ends the jobs at once if no new worker can replace the dead one.
        """
        address = job.device.address
        workers.discard(job)
        self._deaths[address] = self._deaths.get(address, 0) + 1
        if not error.final and self._deaths[address] < _DEATHS_TO_END:
            return
        why = str(error) if error.final else f"{_DEATHS_TO_END} workers of this device died"
        if not error.final:
            self.watcher.say(f"{address}: given up after {_DEATHS_TO_END} dead workers")
        for other in self.rounds.unfinished:
            if other.device.address == address:
                further = " further" if other.processes else ""
                other.error = f"not measured{further}: {why}"
                self._record_end(other)

    def _report_missed_precision(self) -> None:
        """Reports how many points miss the requested precision, and which precision is possible.

        Names two causes apart: processes that differ too much, and a host whose speed varies.
        """
        settings = self.settings
        if settings.quick:  # no report: each answer of a quick run shows its precision
            return
        timed = [job for job in self.rounds.wanted if not job.simulated]
        judged = [
            job
            for job in timed
            if len(job.processes) > 1
            and not job.given_up
            and len(looks(job, settings)) > 1
            and 0 < job.reducible_half_width(settings.confidence) < math.inf
        ]
        reached = {job: job.own_half_width(settings.confidence) for job in judged}
        by_host = [
            job
            for job in judged
            if reached[job] <= settings.precision < job.half_width(settings.confidence)
        ]
        if by_host:
            self.watcher.say(
                f"{len(by_host)} of {len(timed)} points: their processes agree to "
                f"{100 * settings.precision:g} %, but the host's own speed varies: a repetition "
                f"of this run may differ by more"
            )
        missed = [job for job in reached if reached[job] > settings.precision]
        short = sorted(missed, key=lambda job: reached[job])
        if not short:
            return
        typical = short[len(short) // 2]
        width = math.ceil(100 * reached[typical]) / 100
        apart_percent = 100 * typical.spread
        cure = f"--precision {width:.2g}" if width < 1 else "a larger --budget"
        self.watcher.say(
            f"{len(short)} of {len(timed)} points can be certain to "
            f"{100 * width:.0f} % in this time, not to {100 * settings.precision:g} %: the same "
            f"measurement differs by {apart_percent:.0f} % from one process to the next; pin with "
            f"--cpus, or ask for {cure}"
        )
