"""The runner: rounds of fresh workers, until each point is precise enough or the time is up.

In a round each device has one worker, which visits some of its points. One point at a time is
measured on a machine. Each offload has a worker of its own, as it times the start of a runtime.
"""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

import msgspec

from isthmus.host_rows import HostRows
from isthmus.measure import offload, protocol
from isthmus.measure.alike import apart
from isthmus.measure.host_speed import HostSpeed
from isthmus.measure.jobs import Cost, Job, answered, looks
from isthmus.measure.plan import Layer
from isthmus.measure.rounds import ANSWER_SHARE, AT_ONCE, Rounds
from isthmus.measure.supervisor import Responder, WorkerDiedError, WorkerProcess, WorkerRefusedError
from isthmus.results.journal import Entry, PointKey
from isthmus.results.run_file import (
    ClockName,
    ClockRecord,
    HostReading,
    Rerun,
    Samples,
    Settings,
    State,
)
from isthmus.statistics import Interval
from isthmus.system.binding import Binding
from isthmus.text import counted

_MOST_POINT_S = 20.0
"""Cap on the time of one point in one process."""
_LEAST_VISIT_S = 0.1
_SLACK = 1.2
"""Visits may take this factor longer than estimated before expensive ones are left out."""
_MOST_DEATHS = 3
"""Deaths of its workers after which the remaining points of a device are not measured."""
_SLOW_START_S = 2.0
_SIMULATED_MOST_S = 600.0
"""An emulated card that sends nothing for this long is taken to hang."""
_STANDING_EVERY_S = 0.5
"""Least seconds between two counts of what is done: counting 2000 tasks takes 20 ms, as long as
several visits."""
_DEVICE_TICK_S = 1e-9
_SIMULATED_TICK_S = 1e-15


class Standing(NamedTuple):
    """How far a run has come."""

    answers: int
    """Headlines that are precise or cannot become precise, of ``all_answers``."""
    all_answers: int
    points: int
    """Tasks that need no more processes, of ``all_points``."""
    all_points: int
    left_s: float
    """Estimated seconds until all are measured, within the run's time limit."""


class Answer(NamedTuple):
    """A headline that a run has measured, on a device or on devices that are alike."""

    devices: Sequence[str]
    says: str
    """The quantity in words: "copy to device"."""
    memory: str
    bytes: int
    moved_bytes: int
    seconds: Sequence[Interval]
    """The time on each device."""
    precise: bool
    """Whether each interval is as narrow as the run asks for."""
    simulated: bool
    plateau: bool
    """False of a rate that larger copies may exceed."""
    host_varies: bool = False
    """Whether processes agree to the precision, and the host's state alone keeps it from that."""


class Watcher(Protocol):
    """Shows the progress of a run and its messages to the user."""

    def visiting(self, label: str, standing: Standing) -> None:
        """A visit to a task begins."""

    def answered(self, answer: Answer) -> None:
        """A headline is known: more processes are not needed, or do not make it precise."""

    def say(self, message: str) -> None:
        """Shows a message to the user."""


class _Workers:
    """The workers of one round, by address: all start together, devices are opened when needed."""

    def __init__(
        self, stack: ExitStack, start_worker: Callable[[Job], AbstractContextManager[Responder]]
    ):
        self._stack = stack
        self._start_worker = start_worker
        self._started: dict[str, Responder] = {}
        self._opened: dict[str, tuple[Responder, protocol.Opened]] = {}
        self.start_s: dict[str, float] = {}
        """Seconds that the runner waited for each."""

    def start(self, job: Job) -> None:
        """Starts the worker of a job's device, unless it runs."""
        address = job.device.address
        if address not in self._started:
            self._started[address] = self._stack.enter_context(self._start_worker(job))

    def opened(self, job: Job) -> tuple[Responder, protocol.Opened]:
        """The worker of a job's device, which is open. Raises WorkerDiedError."""
        address = job.device.address
        if address not in self._opened:
            began = time.monotonic()
            self.start(job)
            worker = self._started[address]
            try:
                opened = worker.ask(job.device.open_request())
            except WorkerRefusedError as error:
                # A worker without a device is of no more use than one that died.
                worker.end()
                raise WorkerDiedError(f"cannot be opened: {error}") from error
            assert isinstance(opened, protocol.Opened)
            self._opened[address] = worker, opened
            self.start_s[address] = time.monotonic() - began
        return self._opened[address]

    def release(self) -> None:
        """Tells the workers that no request follows: they start to end."""
        for worker in self._started.values():
            worker.release()

    def discard(self, job: Job) -> None:
        """Drops a dead worker: the next use of its device starts a fresh one."""
        self._started.pop(job.device.address, None)
        self._opened.pop(job.device.address, None)


@dataclass
class Runner:
    """Measures jobs, and passes each result to ``record`` as it comes."""

    jobs: Sequence[Job]
    settings: Settings
    binding: Binding
    watcher: Watcher
    record: Callable[[Entry], None]
    goes_on: bool = False
    """Whether the run measures every layer, as far as the time goes."""
    group: Responder | None = None
    """The ranks, which measure in place of workers: one process each, for the whole run."""
    host_speed: HostSpeed = field(default_factory=lambda: HostSpeed(time.monotonic()))
    host_rows: HostRows[PointKey] | None = None
    """All results of the run, from which the host's state follows; see ``Rounds.judge``."""

    def __post_init__(self) -> None:
        last = Layer.REST if self.goes_on else Layer.CURVE
        simulated = [job for job in self.jobs if job.simulated]
        timed = [job for job in self.jobs if not job.simulated]
        # A simulated point costs no time on a device: the run measures further operations too.
        self.simulated = Rounds(simulated, self.settings, max(last, Layer.FURTHER))
        self.timed = Rounds(timed, self.settings, last, self.host_rows)
        self.out_of_time = False
        self._until = math.inf
        self._answered: set[Job] = set()
        self._failures: Counter[tuple[str, str]] = Counter()
        """Number of jobs that ended with an error, by operation and message."""
        self._counted = -math.inf, Standing(0, 0, 0, 0, 0.0)
        """When it was last counted how far the run has come, and the counts."""
        self._deaths: dict[str, int] = {}
        self._ending_workers = ExitStack()
        """Released workers of the previous round, which may not have ended yet."""

    @property
    def unfinished(self) -> bool:
        """Whether a job needs further processes."""
        return bool(self.simulated.unfinished or self.timed.unfinished)

    @property
    def planned(self) -> list[Job]:
        """The jobs that the run measures."""
        return [*self.simulated.wanted, *self.timed.wanted]

    def run_simulated(self) -> None:
        """Measures each simulated point once, outside the budget: the host is not timed."""
        self._run(self.simulated, math.inf)

    def run(self, until: float) -> None:
        """Measures what is timed, until a time of ``time.monotonic``."""
        self._run(self.timed, until)
        self.out_of_time = bool(self.timed.unfinished)
        self._report_further_failures()
        self._report_missed_precision()

    def _run(self, rounds: Rounds, until: float) -> None:
        """Measures rounds until no job is left or the time is up."""
        self._until = until
        number = 1 + max((n for job in self.jobs for n in job.processes), default=-1)
        with self._workers_ended():
            while chosen := rounds.next_round(until - time.monotonic()):
                if not self._round(number, chosen, rounds):
                    break
                number += not chosen[0].simulated and self.settings.reruns != 1
        rounds.judge(AT_ONCE)
        for job in rounds.wanted:
            self._answer(job, last=True)

    def _round(self, number: int, jobs: Sequence[Job], rounds: Rounds) -> bool:
        """Visits jobs with one process of each device; returns whether any was visited."""
        visited = False
        planned = {job: rounds.visit_s(job) for job in jobs}
        usual_s = sum(planned.values()) / len(planned)
        stack = ExitStack()
        workers = _Workers(stack, self._start_worker)
        try:
            shared = [job for job in jobs if not job.task.offload]
            began = time.monotonic()
            with self._ending_workers:  # they end while the new ones start, before these open
                for job in shared:
                    workers.start(job)
            waited_s = time.monotonic() - began
            for job in shared:  # before any is timed
                with suppress(WorkerDiedError):  # its first visit meets the same error
                    workers.opened(job)
            overrun_s = 0.0
            queue = deque(jobs)
            while queue:
                job = queue.popleft()
                began = time.monotonic()
                planned_s = planned.get(job) or rounds.visit_s(job)
                # A visit that cannot end in time is left out. So is an expensive one that is only
                # estimated, where the visits before it took longer than estimated.
                estimated = not (job.cost or job.task.offload or job.simulated)
                expensive = rounds.turn(job) > Layer.HEADLINES and planned_s > usual_s < overrun_s
                if job.given_up or (estimated and expensive) or began + planned_s > self._until:
                    continue
                visited = True
                share_s = (self._until - began) / (1 + len(queue))
                self._attempt(
                    job, workers, partial(self._visit, job, number, workers, rounds, share_s)
                )
                self._answer(job)
                queue.extendleft(rounds.following(job))
                overrun_s += time.monotonic() - began - _SLACK * planned_s
        finally:
            workers.release()
            self._ending_workers = stack
        for address, own_s in workers.start_s.items():
            seconds = own_s + waited_s / len(workers.start_s)
            new = address not in rounds.start_s
            if seconds > _SLOW_START_S and new and math.isfinite(self._until):
                self.watcher.say(
                    f"{address} takes {seconds:.0f} s to start: it is measured in fewer processes"
                )
            rounds.start_s[address] = seconds
        return visited

    def _answer(self, job: Job, *, last: bool = False) -> None:
        """Passes a headline to the watcher once it is known.

        Devices that are like an earlier one wait for each other, and are answered together.
        ``last``: the run is over, so that no further process makes a headline more precise.
        """
        if job.task.headline is None or job.layer > Layer.HEADLINES or job in self._answered:
            return
        if not self._is_known(job, last=last):
            return
        together = [job]
        if job.device.like:
            together = [one for one in self._same_question(job) if one not in self._answered]
            if not last and not all(self._is_known(one) or one.given_up for one in together):
                return
            together = [one for one in together if self._is_known(one, last=last)]
        self._answered.update(together)
        seconds = {one.device.address: one.seconds(self.settings.confidence) for one in together}
        values = {address: one.value for address, one in seconds.items() if one and one.value > 0}
        named = apart(values) if len(values) > 1 else []
        agree = [one for one in together if one.device.address not in named]
        for group in [agree, *([one] for one in together if one not in agree)]:
            if group:
                self.watcher.answered(self._answer_of(group))

    def _is_known(self, job: Job, *, last: bool = False) -> bool:
        """Whether a headline is measured, and needs no further process or gets none."""
        if not job.processes or job.given_up or job.layer > Layer.HEADLINES:
            return False
        if last or not answered(job, self.settings):
            return last
        # The newest processes may change what the host's state adds to the answer.
        return not self.timed.judge(ANSWER_SHARE) or answered(job, self.settings)

    def _same_question(self, job: Job) -> list[Job]:
        """The jobs that answer the headline of ``job``, on all devices that are like its device."""
        return [
            one
            for one in self.jobs
            if one.device.like == job.device.like
            and one.task.headline == job.task.headline
            and one.series[2:] == job.series[2:]
            and one.study == job.study
            and one.task.bytes == job.task.bytes
            and one.layer <= Layer.HEADLINES
        ]

    def _answer_of(self, jobs: Sequence[Job]) -> Answer:
        """The answer to the headline of these jobs, which differ in the device."""
        first = jobs[0]
        assert first.task.headline
        intervals = [job.shown(self.settings.confidence) for job in jobs]
        known = [one for one in intervals if one]
        precise = all(one.half_width <= self.settings.precision for one in known)
        return Answer(
            [job.device.address for job in jobs],
            first.task.headline.says,
            first.task.memory,
            first.task.bytes,
            first.moved_bytes,
            known,
            first.simulated or precise,
            first.simulated,
            all(job.plateau is not False for job in jobs),
            not precise
            and all(
                job.own_half_width(self.settings.confidence) <= self.settings.precision
                for job in jobs
            ),
        )

    def _standing(self) -> Standing:
        """How far the run has come, counted anew every ``_STANDING_EVERY_S``."""
        counted_at, standing = self._counted
        if time.monotonic() < counted_at + _STANDING_EVERY_S:
            return standing
        both = (self.simulated, self.timed)
        answers, points = (
            [sum(numbers) for numbers in zip(*counts, strict=True)]
            for counts in ([one.answers for one in both], [one.points for one in both])
        )
        left_s = min(sum(one.left_s() for one in both), max(self._until - time.monotonic(), 0.0))
        standing = Standing(answers[0], answers[1], points[0], points[1], left_s)
        self._counted = time.monotonic(), standing
        return standing

    @contextmanager
    def _workers_ended(self) -> Iterator[None]:
        """A context at whose end all workers have ended."""
        try:
            yield
        finally:
            self._ending_workers.close()

    def _start_worker(self, job: Job) -> AbstractContextManager[Responder]:
        if self.group:
            return nullcontext(self.group)
        return WorkerProcess(
            job.device.candidate.environment,
            binding=self.binding,
            references=self.host_speed.memory(),
        )

    def _attempt(self, job: Job, workers: _Workers, work: Callable[[], None]) -> None:
        """Does work for a job; an error ends that job, too many dead workers end its device."""
        self.watcher.visiting(f"{job.study} {job.label}", self._standing())
        try:
            work()
        except WorkerRefusedError as error:
            self._fail(job, str(error), skip=job.task.offload and error.unavailable)
        except WorkerDiedError as error:
            self._fail(job, str(error))
            if not job.task.offload:
                self._count_death(job, workers, error)

    def _fail(self, job: Job, message: str, *, skip: bool = False) -> None:
        """Ends a job without a result: as skipped where this machine does not allow it."""
        job.error, job.skipped = ("", message) if skip else (message, "")
        same = job.task.operation, message
        if not self._failures[same]:
            self.watcher.say(f"{job.label}: {'skipped: ' * skip}{message}")
        self._failures[same] += 1
        self._record_end(job)

    def _report_further_failures(self) -> None:
        """Says how often an error came back that the user has read once."""
        for (operation, message), count in self._failures.items():
            if count > 1:
                further = counted(count - 1, "further point", "further points")
                self.watcher.say(f"{operation}: {further}: {message}")

    def _record_end(self, job: Job) -> None:
        for point in job.task.points.values():
            self.record(Entry(msgspec.structs.replace(point, error=job.error, skipped=job.skipped)))

    def _count_death(self, job: Job, workers: _Workers, error: WorkerDiedError) -> None:
        """Discards a dead worker; after a few of them the rest of the device is not measured."""
        address = job.device.address
        workers.discard(job)
        self._deaths[address] = self._deaths.get(address, 0) + 1
        if not error.final and self._deaths[address] < _MOST_DEATHS:
            return
        why = str(error) if error.final else f"{_MOST_DEATHS} workers of this device died"
        if not error.final:
            self.watcher.say(f"{address}: given up after {_MOST_DEATHS} dead workers")
        for other in (*self.simulated.unfinished, *self.timed.unfinished):
            if other.device.address == address:
                other.error = f"not measured: {why}"
                self._record_end(other)

    def _visit(
        self, job: Job, number: int, workers: _Workers, rounds: Rounds, share_s: float
    ) -> None:
        """Measures a job in one process; ``share_s``: its share of the time that is left."""
        at_s = None if job.simulated else self.host_speed.since_start()
        if job.task.offload:
            began = time.monotonic()
            answer, readings = self._offload(job)
            assert answer.clock
            self._record(job, number, answer, answer.clock, "once", at_s, readings)
            job.learn(Cost(time.monotonic() - began, 0.0))
            return
        state: State | None = None
        if job.simulated:
            most_s, samples = _SIMULATED_MOST_S, 0
        elif self.settings.reruns == 1:  # this process alone makes the point precise
            most_s, samples = min(max(_LEAST_VISIT_S, share_s), _MOST_POINT_S), 0
        else:
            most_s = min(max(_LEAST_VISIT_S, 4 * rounds.visit_s(job)), _MOST_POINT_S)
            samples, state = rounds.samples(job), "visit"
        block, clock = self._measure(job, workers, most_s, samples)
        readings = self._readings(job, workers.opened(job)[0])
        ended: State = "budget" if block.state == "open" else block.state  # type: ignore[assignment]
        self._record(job, number, block, clock, state or ended, at_s, readings)

    def _readings(self, job: Job, worker: Responder) -> list[HostReading]:
        """Readings of the host's speed after a visit: none where time is simulated."""
        return [] if job.simulated else self.host_speed.readings(worker)

    def _offload(self, job: Job) -> tuple[protocol.Measured, list[HostReading]]:
        reference = offload.reference_of(job, self.jobs)
        for partner in (reference, None) if reference else (None,):
            try:
                with self._start_worker(job) as worker:
                    answer = worker.ask(offload.request(job, partner), allowed_s=offload.MOST_S)
                    readings = self._readings(job, worker)
            except (WorkerRefusedError, WorkerDiedError):
                if not partner:
                    raise  # with a reference, it may be the reference that failed
            else:
                break
        assert isinstance(answer, protocol.Measured)
        return answer, readings

    def _measure(
        self, job: Job, workers: _Workers, most_s: float, samples: int
    ) -> tuple[protocol.Measured, protocol.ClockDescription]:
        """Visits a job; ``samples`` 0: until the process by itself is precise enough."""
        task, settings = job.task, self.settings
        worker, opened = workers.opened(job)
        answer = worker.ask(
            protocol.Measure(
                task.operation,
                task.bytes,
                task.memory,
                {name: str(value) for name, value in task.axes.items()},
                protocol.Criterion(settings.precision, settings.confidence, _MOST_POINT_S, samples),
                most_s,
                task.joint,
            ),
            allowed_s=most_s,
        )
        assert isinstance(answer, protocol.Measured)
        # Parts of ranks run at the same time, other parts one after the other.
        parts = answer.parts[:1] if task.joint else answer.parts
        taken = len(parts[0].ticks)
        if taken:
            sampled_s = opened.clock.seconds_per_tick * sum(sum(part.ticks) for part in parts)
            # The final check takes about as long as the set-up; the rest is sampling.
            sampled_s = max(sampled_s, answer.block_s - 2 * answer.setup_s)
            job.learn(Cost(max(answer.block_s - sampled_s, 0.0), sampled_s / taken))
        return answer, opened.clock

    def _record(
        self, job: Job, number: int, block: protocol.Measured, clock: protocol.ClockDescription,
        state: State, at_s: float | None, readings: list[HostReading],
    ) -> None:  # fmt: skip
        """Records a visit; phases that an offload lacks are left out.

        ``at_s``: when the visit began. ``readings`` of the host's speed are recorded once.
        """
        results = {
            n: _rerun(block, n, number, clock, state)
            for n, part in enumerate(block.parts)
            if state != "once" or part.ticks or part.simulated_fs
        }
        for n in sorted(job.task.points.keys() & results.keys()):
            moved = block.parts[n].moved_bytes
            point = msgspec.structs.replace(job.task.points[n], moved_bytes=moved, error=job.error)
            once, readings = readings, []
            rerun = msgspec.structs.replace(results[n], at_s=at_s, host_speed=once)
            self.record(Entry(point, rerun))
        job.moved_bytes = block.parts[job.part].moved_bytes
        job.add(number, results)

    def _report_missed_precision(self) -> None:
        """Says which precision is possible where processes differ too much for that requested.

        And how many points the host's own speed keeps from it.
        """
        settings = self.settings
        if settings.quick:  # each answer has its own line
            return
        judged = [
            job
            for job in self.timed.wanted
            if len(job.processes) > 1
            and not (job.simulated or job.given_up)
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
                f"{len(by_host)} of {len(self.timed.wanted)} points: their processes agree to "
                f"{100 * settings.precision:g} %, but the host's own speed varies: a repetition "
                f"of this run may differ by more"
            )
        missed = [job for job in reached if reached[job] > settings.precision]
        short = sorted(missed, key=lambda job: reached[job])
        if not short:
            return
        typical = short[len(short) // 2]
        width = math.ceil(100 * reached[typical]) / 100
        apart = 100 * typical.spread
        cure = f"--precision {width:.2g}" if width < 1 else "a larger --budget"
        self.watcher.say(
            f"{len(short)} of {len(self.timed.wanted)} points can be certain to "
            f"{100 * width:.0f} % in this time, not to {100 * settings.precision:g} %: the same "
            f"measurement differs by {apart:.0f} % from one process to the next; pin with --cpus, "
            f"or ask for {cure}"
        )


def _rerun(
    block: protocol.Measured,
    number_of_part: int,
    number: int,
    clock: protocol.ClockDescription,
    state: State,
) -> Rerun:
    """The results of one part in one process, for the run file."""
    part = block.parts[number_of_part]
    clocks: dict[ClockName, Samples] = {}
    if part.ticks:
        clocks["host"] = Samples(
            part.ticks, clock.seconds_per_tick, part.cold, part.again, part.reference,
            part.empty_ticks,
        )  # fmt: skip
    if part.device_seconds:
        ticks = [round(seconds / _DEVICE_TICK_S) for seconds in part.device_seconds]
        clocks["device"] = Samples(ticks, _DEVICE_TICK_S)
    if part.simulated_fs:
        clocks["simulated"] = Samples(part.simulated_fs, _SIMULATED_TICK_S)
    return Rerun(
        rerun=number,
        batch=block.batch,
        intervals=block.intervals,
        clocks=clocks,
        blocks=[max(len(part.ticks), len(part.simulated_fs))],
        clock=msgspec.convert(clock, ClockRecord, from_attributes=True),
        verified=block.verified,  # type: ignore[arg-type]
        fault=block.fault,
        state=state,
        noise=part.noise or block.noise,
        measured_s=block.block_s,
        remarks=list(dict.fromkeys(block.remarks)),
    )
