"""The runner: rounds of fresh workers, until each point is precise enough or the time is up.

In a round each device has one worker, which visits some of its points. One point at a time is
measured on a machine. Each offload has a worker of its own.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import msgspec

from isthmus.measure import offload, protocol
from isthmus.measure.plan import Task
from isthmus.measure.schedule import Cost, Job, Schedule, looks, settled
from isthmus.measure.supervisor import Responder, WorkerDiedError, WorkerProcess, WorkerRefusedError
from isthmus.results.journal import Entry
from isthmus.results.run_file import (
    FINAL_STATES,
    ClockName,
    ClockRecord,
    Rerun,
    Samples,
    Settings,
    State,
)
from isthmus.system.binding import Binding

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
_DEVICE_TICK_S = 1e-9
_SIMULATED_TICK_S = 1e-15


_Visit = tuple[protocol.Measured, protocol.ClockDescription]
"""A visit to a job, with its worker's clock."""


class Watcher(Protocol):
    """Shows the progress of a run and its messages to the user."""

    def begin(self, total: int, done: int, most_s: float) -> None:
        """The run starts: number of its tasks, and of those that an earlier run has done.

        ``most_s`` is the time limit in seconds: infinite where devices are simulated.
        """

    def visiting(self, label: str) -> None:
        """A visit to a task begins."""

    def finished(self, task: Task, rerun: int, state: State) -> None:
        """A task has ended; ``rerun`` is the number of its last process."""

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
    group: Responder | None = None
    """The ranks, which measure in place of workers: one process each, for the whole run."""

    def __post_init__(self) -> None:
        self.schedule = Schedule(self.jobs, self.settings)
        self.out_of_time = False
        self._deaths: dict[str, int] = {}
        self._ending_workers = ExitStack()
        """Released workers of the previous round, which may not have ended yet."""

    def begin(self, most_s: float) -> None:
        """Tells the watcher how many tasks there are."""
        if any(job.simulated for job in self.schedule.unfinished):
            most_s = math.inf
        done = len(self.jobs) - len(self.schedule.unfinished)
        self.watcher.begin(len(self.jobs), done, most_s)

    def run_simulated(self) -> None:
        """Measures each simulated point once, outside the budget: the host is not timed.

        Points of one size follow one another: an emulated card keeps memory of that size.
        """
        simulated = [job for job in self.schedule.unfinished if job.simulated]
        order = random.Random(self.settings.seed)
        rank = {size: order.random() for size in sorted({job.task.bytes for job in simulated})}
        simulated.sort(key=lambda job: rank[job.task.bytes])
        if simulated:
            with self._workers_ended():
                self._round(0, simulated, math.inf)

    def run(self, until: float) -> None:
        """Measures what is timed, until a time of ``time.monotonic``."""
        if self.settings.reruns == 1:
            offloads = (job for job in self.schedule.unfinished if job.task.offload)
            self._run_in_one_process(until - sum(map(self.schedule.visit_s, offloads)))
        number = 1 + max((n for job in self.jobs for n in job.processes), default=-1)
        with self._workers_ended():
            while chosen := self.schedule.next_round(until - time.monotonic()):
                if not self._round(number, chosen, until):
                    break
                number += 1
        self.out_of_time |= bool(self.schedule.unfinished)
        for job in self.schedule.unfinished:
            self.watcher.finished(job.task, len(job.processes) - 1, "budget")
        self._report_missed_precision()

    def _round(self, number: int, jobs: Sequence[Job], until: float) -> bool:
        """Visits jobs with one process of each device; returns whether any was visited."""
        visited = False
        planned = {job: self.schedule.visit_s(job) for job in jobs}
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
            for job in jobs:
                began = time.monotonic()
                # A visit that cannot end in time is left out. So is an expensive one that is only
                # estimated, where the visits before it took longer than estimated.
                estimated = not (job.cost or job.task.offload or job.simulated or job.first)
                too_late = estimated and planned[job] > usual_s < overrun_s
                if job.given_up or too_late or began + planned[job] > until:
                    continue
                visited = True
                self._attempt(job, workers, partial(self._visit, job, number, workers))
                overrun_s += time.monotonic() - began - _SLACK * planned[job]
        finally:
            workers.release()
            self._ending_workers = stack
        for address, own_s in workers.start_s.items():
            seconds = own_s + waited_s / len(workers.start_s)
            new = address not in self.schedule.start_s
            if seconds > _SLOW_START_S and new and math.isfinite(until):
                self.watcher.say(
                    f"{address} takes {seconds:.0f} s to start: it is measured in fewer processes"
                )
            self.schedule.start_s[address] = seconds
        return visited

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
        return WorkerProcess(job.device.candidate.environment, binding=self.binding)

    def _attempt(self, job: Job, workers: _Workers, work: Callable[[], None]) -> None:
        """Does work for a job; an error ends that job, too many dead workers end its device."""
        self.watcher.visiting(f"{job.study} {job.label}")
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
        self.watcher.say(f"{job.label}: {'skipped: ' * skip}{message}")
        self._record_end(job)

    def _record_end(self, job: Job) -> None:
        for point in job.task.points.values():
            self.record(Entry(msgspec.structs.replace(point, error=job.error, skipped=job.skipped)))
        self.watcher.finished(job.task, len(job.processes), "failed")

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
        for other in self.schedule.unfinished:
            if other.device.address == address:
                other.error = f"not measured: {why}"
                self._record_end(other)

    def _visit(self, job: Job, number: int, workers: _Workers) -> None:
        if job.task.offload:
            began = time.monotonic()
            self._record_blocks(job, number, [self._offload(job)], "once")
            job.learn(Cost(time.monotonic() - began, 0.0))
            return
        most_s = min(max(_LEAST_VISIT_S, 4 * self.schedule.visit_s(job)), _MOST_POINT_S)
        samples = 0 if job.simulated else self.schedule.samples(job)
        visit = self._measure(job, workers, most_s, samples)
        state: State = visit[0].state if job.simulated else "visit"  # type: ignore[assignment]
        self._record_blocks(job, number, [visit], state)

    def _offload(self, job: Job) -> _Visit:
        reference = offload.reference_of(job, self.jobs)
        for partner in (reference, None) if reference else (None,):
            try:
                with self._start_worker(job) as worker:
                    answer = worker.ask(offload.request(job, partner), allowed_s=offload.MOST_S)
            except (WorkerRefusedError, WorkerDiedError):
                if not partner:
                    raise  # with a reference, it may be the reference that failed
            else:
                break
        assert isinstance(answer, protocol.Measured)
        assert answer.clock
        return answer, answer.clock

    def _measure(self, job: Job, workers: _Workers, most_s: float, samples: int) -> _Visit:
        """Visits a job; ``samples`` 0: until the process by itself is precise enough."""
        task, settings = job.task, self.settings
        if job.simulated:
            most_s = _SIMULATED_MOST_S
        worker, opened = workers.opened(job)
        answer = worker.ask(
            protocol.Measure(
                self.jobs.index(job),
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

    def _run_in_one_process(self, until: float) -> None:
        """Measures with one process: visits jobs block by block until each is precise enough."""
        order = random.Random(self.settings.seed)
        taken: dict[Job, list[_Visit]] = {
            job: [] for job in self.schedule.unfinished if not job.task.offload
        }
        state: State = "interrupted"
        with ExitStack() as stack:
            workers = _Workers(stack, self._start_worker)

            def visit(job: Job, most_s: float) -> None:
                block, clock = self._measure(job, workers, most_s, 0)
                if taken[job] and taken[job][0][1] is not clock:
                    taken[job].clear()  # from a worker that has died since
                taken[job].append((block, clock))
                if block.state in FINAL_STATES:
                    self._record_blocks(job, 0, taken.pop(job), block.state)

            try:
                while taken and time.monotonic() < until:
                    turn = list(taken)
                    order.shuffle(turn)
                    turn.sort(key=lambda job: not job.first)
                    for visited, job in enumerate(turn):
                        left_s = until - time.monotonic()
                        if left_s <= 0:
                            break
                        if job.given_up:
                            self._record_blocks(job, 0, taken.pop(job), "failed")
                            continue
                        share_s = max(_LEAST_VISIT_S, left_s / (len(turn) - visited))
                        self._attempt(
                            job, workers, partial(visit, job, min(share_s, _MOST_POINT_S))
                        )
                state = "budget"
            finally:
                self.out_of_time |= bool(taken)
                for job, blocks in taken.items():
                    self._record_blocks(job, 0, blocks, "failed" if job.given_up else state)

    def _record_blocks(self, job: Job, number: int, visits: Sequence[_Visit], state: State) -> None:
        """Records the visits of one process to a job; phases that an offload lacks are left out."""
        if not visits:
            return
        blocks, clock = [block for block, _ in visits], visits[0][1]
        results = {
            n: _rerun(blocks, n, number, clock, state)
            for n, part in enumerate(blocks[0].parts)
            if state != "once" or part.ticks or part.simulated_fs
        }
        for n in job.task.points.keys() & results.keys():
            point = msgspec.structs.replace(
                job.task.points[n], moved_bytes=blocks[0].parts[n].moved_bytes, error=job.error
            )
            self.record(Entry(point, results[n]))
        job.add(number, results)
        if settled(job, self.settings) and not job.given_up:
            precise = job.half_width(self.settings.confidence) <= self.settings.precision
            self.watcher.finished(job.task, number, "precision" if precise else state)

    def _report_missed_precision(self) -> None:
        """Says which precision is possible where processes differ too much for that requested."""
        settings = self.settings
        reached = {
            job: job.reducible_half_width(settings.confidence)
            for job in self.jobs
            if len(job.processes) > 1
            and not (job.simulated or job.given_up)
            and len(looks(job, settings)) > 1
            and math.isfinite(job.reducible_half_width(settings.confidence))
        }
        missed = [job for job in reached if reached[job] > settings.precision]
        short = sorted(missed, key=lambda job: reached[job])
        if not short:
            return
        typical = short[len(short) // 2]
        width = math.ceil(100 * reached[typical]) / 100
        apart = 100 * typical.spread
        cure = f"--precision {width:.2g}" if width < 1 else "a larger --budget"
        self.watcher.say(
            f"{len(short)} of {len(self.jobs)} points can be certain to {100 * width:.0f} % in "
            f"this time, not to {100 * settings.precision:g} %: the same measurement differs by "
            f"{apart:.0f} % from one process to the next; pin with --cpus, or ask for {cure}"
        )


def _rerun(
    blocks: Sequence[protocol.Measured],
    part: int,
    number: int,
    clock: protocol.ClockDescription,
    state: State,
) -> Rerun:
    parts = [block.parts[part] for block in blocks]
    cold = next((p.cold for p in parts if p.cold is not None), None)
    on_host = [t for p in parts for t in p.ticks]
    on_device = [round(s / _DEVICE_TICK_S) for p in parts for s in p.device_seconds]
    simulated = [t for p in parts for t in p.simulated_fs]
    clocks: dict[ClockName, Samples] = {}
    if on_host:
        again, beside, empty = (
            [t for p in parts for t in getattr(p, name)]
            for name in ("again", "reference", "empty_ticks")
        )
        clocks["host"] = Samples(on_host, clock.seconds_per_tick, cold, again, beside, empty)
    if on_device:
        clocks["device"] = Samples(on_device, _DEVICE_TICK_S)
    if simulated:
        clocks["simulated"] = Samples(simulated, _SIMULATED_TICK_S)
    verdicts = {block.verified for block in blocks}
    noises = (p.noise or block.noise for p, block in zip(parts, blocks, strict=True))
    return Rerun(
        rerun=number,
        batch=blocks[-1].batch,
        intervals=blocks[-1].intervals,
        clocks=clocks,
        blocks=[max(len(p.ticks), len(p.simulated_fs)) for p in parts],
        clock=msgspec.convert(clock, ClockRecord, from_attributes=True),
        verified="false" if "false" in verdicts else "true" if "true" in verdicts else "na",
        fault=next((block.fault for block in blocks if block.fault), ""),
        state=state,
        noise=sum(noises, protocol.Noise()),
        measured_s=sum(block.block_s for block in blocks),
        remarks=list(dict.fromkeys(remark for block in blocks for remark in block.remarks)),
    )
