"""The runner: rounds of fresh workers, until each point is certain or the time is up.

In a round each device has one worker, which visits some of its points; one point at a time is
measured on a machine. An offload has a worker of its own.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import msgspec

from isthmus.measure import offload, protocol
from isthmus.measure.job import FINAL_STATES, Cost, Job
from isthmus.measure.plan import Task
from isthmus.measure.schedule import Schedule, looks, settled
from isthmus.measure.supervisor import Responder, WorkerDiedError, WorkerProcess, WorkerRefusedError
from isthmus.results.journal import Entry
from isthmus.results.run_file import ClockName, ClockRecord, Rerun, Samples, Settings, State
from isthmus.system.binding import Binding

_MOST_POINT_S = 20.0
"""Cap on the time of one point in one process."""
_LEAST_VISIT_S = 0.1
_SLACK = 1.2
"""Visits may take so much longer than they were thought to before dear ones are left out."""
_MOST_DEATHS = 3
"""Workers that a device may lose before its remaining points are given up."""
_SLOW_START_S = 2.0
_SIMULATED_MOST_S = 600.0
"""An emulated card that says nothing for so long is stuck."""
_DEVICE_TICK_S = 1e-9
_SIMULATED_TICK_S = 1e-15


_Blocks = list[tuple[protocol.Measured, protocol.Opened]]
"""Visits to a point, each with what is known of its worker."""


class Watcher(Protocol):
    """Whoever shows how far the run is."""

    def begin(self, total: int, done: int, most_s: float) -> None:
        """So many tasks begin, of which so many were done by an earlier run.

        It takes ``most_s`` seconds at most; what is simulated takes what it takes.
        """

    def visiting(self, label: str) -> None:
        """A visit to a task begins."""

    def finished(self, task: Task, rerun: int, state: State) -> None:
        """A task has ended with this process, which is its last."""

    def say(self, message: str) -> None:
        """Something that the user should know."""


class _Workers:
    """The workers of one round, by address. They start together, and open when they are needed."""

    def __init__(self, stack: ExitStack, hire: Callable[[Job], AbstractContextManager[Responder]]):
        self._stack = stack
        self._hire = hire
        self._started: dict[str, Responder] = {}
        self._opened: dict[str, tuple[Responder, protocol.Opened]] = {}
        self.start_s: dict[str, float] = {}
        """What each made the runner wait for."""

    def start(self, job: Job) -> None:
        """Starts the worker of a job's device, unless it is there."""
        address = job.device.address
        if address not in self._started:
            self._started[address] = self._stack.enter_context(self._hire(job))

    def of(self, job: Job) -> tuple[Responder, protocol.Opened]:
        """The worker of a job's device, open. Raises WorkerDiedError."""
        address = job.device.address
        if address not in self._opened:
            began = time.monotonic()
            self.start(job)
            worker = self._started[address]
            try:
                opened = worker.ask(job.device.open_request())
            except WorkerRefusedError as error:
                # Nobody can be asked anything: the same as a worker that died.
                worker.end()
                raise WorkerDiedError(f"cannot be opened: {error}") from error
            assert isinstance(opened, protocol.Opened)
            self._opened[address] = worker, opened
            self.start_s[address] = time.monotonic() - began
        return self._opened[address]

    def let_go(self) -> None:
        """Nobody asks them any more: they begin to end."""
        for worker in self._started.values():
            worker.let_go()

    def forget(self, job: Job) -> None:
        """It has died: the next who asks gets a fresh one."""
        self._started.pop(job.device.address, None)
        self._opened.pop(job.device.address, None)


@dataclass
class Runner:
    """Measures jobs; every result is handed to ``record`` as it ends."""

    jobs: Sequence[Job]
    settings: Settings
    binding: Binding
    watcher: Watcher
    record: Callable[[Entry], None]
    group: Responder | None = None
    """The ranks that measure in place of workers: one process each, for the whole run."""

    def __post_init__(self) -> None:
        self.schedule = Schedule(self.jobs, self.settings)
        self.out_of_time = False
        self._deaths: dict[str, int] = {}
        self._leaving = ExitStack()
        """The workers of the round before, which may not have ended yet."""

    def begin(self, most_s: float) -> None:
        """Tells the watcher how much there is."""
        if any(job.simulated for job in self.schedule.open):
            most_s = math.inf
        open_ = len(self.schedule.open)
        self.watcher.begin(len(self.jobs), len(self.jobs) - open_, most_s)

    def run_simulated(self) -> None:
        """Each simulated point once, beside the budget: nothing of it is timed."""
        simulated = [job for job in self.schedule.open if job.simulated]
        random.Random(self.settings.seed).shuffle(simulated)
        if simulated:
            with self._workers_ended():
                self._round(0, simulated, math.inf)

    def run(self, until: float) -> None:
        """Measures what is timed until then, on ``time.monotonic``."""
        if self.settings.reruns == 1:
            offloads = (job for job in self.schedule.open if job.task.offload)
            self._run_in_one_process(until - sum(map(self.schedule.visit_s, offloads)))
        number = 1 + max((n for job in self.jobs for n in job.processes), default=-1)
        with self._workers_ended():
            while chosen := self.schedule.next_round(until - time.monotonic()):
                if not self._round(number, chosen, until):
                    break
                number += 1
        self.out_of_time |= bool(self.schedule.open)
        for job in self.schedule.open:
            self.watcher.finished(job.task, len(job.processes) - 1, "budget")
        self._tell_what_was_reached()

    def _round(self, number: int, jobs: Sequence[Job], until: float) -> bool:
        """One process of each device visits these; whether any was visited."""
        visited = False
        planned = {job: self.schedule.visit_s(job) for job in jobs}
        usual_s = sum(planned.values()) / len(planned)
        stack = ExitStack()
        workers = _Workers(stack, self._hire)
        try:
            shared = [job for job in jobs if not job.task.offload]
            began = time.monotonic()
            with self._leaving:  # they end while these start, before these are opened
                for job in shared:
                    workers.start(job)
            waited_s = time.monotonic() - began
            for job in shared:  # none starts while another is timed
                with suppress(WorkerDiedError):  # whoever visits it is told again
                    workers.of(job)
            late_s = 0.0
            for job in jobs:
                began = time.monotonic()
                # One that cannot end in time is not begun, nor one that is dear, and that nobody
                # knows yet, where others took longer than they were thought to.
                unknown = not (job.cost or job.task.offload or job.simulated)
                too_late = unknown and planned[job] > usual_s < late_s
                if job.given_up or too_late or began + planned[job] > until:
                    continue
                visited = True
                self._attempt(job, workers, partial(self._visit, job, number, workers))
                late_s += time.monotonic() - began - _SLACK * planned[job]
        finally:
            workers.let_go()
            self._leaving = stack
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
        """On leaving, no worker is left."""
        try:
            yield
        finally:
            self._leaving.close()

    def _hire(self, job: Job) -> AbstractContextManager[Responder]:
        if self.group:
            return nullcontext(self.group)
        return WorkerProcess(job.device.candidate.environment, binding=self.binding)

    def _attempt(self, job: Job, workers: _Workers, work: Callable[[], None]) -> None:
        """Does something for a job; what goes wrong costs that job, and sometimes its device."""
        self.watcher.visiting(f"{job.study} {job.label}")
        try:
            work()
        except WorkerRefusedError as error:
            self._fail(job, str(error), skip=job.task.offload and error.unavailable)
        except WorkerDiedError as error:
            self._fail(job, str(error))
            if not job.task.offload:
                self._bury(job, workers, error)

    def _fail(self, job: Job, message: str, *, skip: bool = False) -> None:
        """What cannot be had here is skipped; anything else has failed."""
        job.error, job.skipped = ("", message) if skip else (message, "")
        self.watcher.say(f"{job.label}: {'skipped: ' * skip}{message}")
        self._tell_end(job)

    def _tell_end(self, job: Job) -> None:
        for point in job.task.points.values():
            self.record(Entry(msgspec.structs.replace(point, error=job.error, skipped=job.skipped)))
        self.watcher.finished(job.task, len(job.processes), "failed")

    def _bury(self, job: Job, workers: _Workers, error: WorkerDiedError) -> None:
        """A dead worker costs the point it was at; after a few the device is given up."""
        address = job.device.address
        workers.forget(job)
        self._deaths[address] = self._deaths.get(address, 0) + 1
        if not error.final and self._deaths[address] < _MOST_DEATHS:
            return
        why = str(error) if error.final else f"{_MOST_DEATHS} workers of this device died"
        if not error.final:
            self.watcher.say(f"{address}: given up after {_MOST_DEATHS} dead workers")
        for other in self.schedule.open:
            if other.device.address == address:
                other.error = f"not measured: {why}"
                self._tell_end(other)

    def _visit(self, job: Job, number: int, workers: _Workers) -> None:
        if job.task.offload:
            began = time.monotonic()
            self._keep(job, number, offload.reruns(job, number, self._offload(job)), {})
            job.visit_s = time.monotonic() - began
            return
        most_s = min(max(_LEAST_VISIT_S, 4 * self.schedule.visit_s(job)), _MOST_POINT_S)
        samples = 0 if job.simulated else self.schedule.samples(job)
        brought = self._measure(job, workers, most_s, samples)
        state: State = brought[0].state if job.simulated else "visit"  # type: ignore[assignment]
        self._keep_blocks(job, number, [brought], state)

    def _offload(self, job: Job) -> protocol.Offloaded:
        reference = offload.reference_of(job, self.jobs)
        for beside in (reference, None) if reference else (None,):
            try:
                with self._hire(job) as worker:
                    answer = worker.ask(offload.request(job, beside), allowed_s=offload.MOST_S)
            except (WorkerRefusedError, WorkerDiedError):
                if not beside:
                    raise  # else the reference may be what failed
            else:
                break
        assert isinstance(answer, protocol.Offloaded)
        return answer

    def _measure(
        self, job: Job, workers: _Workers, most_s: float, samples: int
    ) -> tuple[protocol.Measured, protocol.Opened]:
        """A visit; ``samples`` 0: until they are certain within the process."""
        task, settings = job.task, self.settings
        if job.simulated:
            most_s = _SIMULATED_MOST_S
        worker, opened = workers.of(job)
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
        # Parts of ranks are of the same time, others come one after the other.
        parts = answer.parts[:1] if task.joint else answer.parts
        taken = len(parts[0].ticks)
        if taken:
            sampled_s = opened.clock.seconds_per_tick * sum(sum(part.ticks) for part in parts)
            # The last check takes about what the set-up did; what is left is samples and stamps.
            sampled_s = max(sampled_s, answer.block_s - 2 * answer.setup_s)
            job.learn(Cost(max(answer.block_s - sampled_s, 0.0), sampled_s / taken))
        return answer, opened

    def _run_in_one_process(self, until: float) -> None:
        """Of one process more samples are all there is: block by block until each is certain."""
        order = random.Random(self.settings.seed)
        brought: dict[Job, _Blocks] = {
            job: [] for job in self.schedule.open if not job.task.offload
        }
        state: State = "interrupted"
        with ExitStack() as stack:
            workers = _Workers(stack, self._hire)

            def visit(job: Job, most_s: float) -> None:
                block, opened = self._measure(job, workers, most_s, 0)
                if brought[job] and brought[job][0][1] is not opened:
                    brought[job].clear()  # of a worker that has died since
                brought[job].append((block, opened))
                if block.state in FINAL_STATES:
                    self._keep_blocks(job, 0, brought.pop(job), block.state)

            try:
                while brought and time.monotonic() < until:
                    turn = list(brought)
                    order.shuffle(turn)
                    for visited, job in enumerate(turn):
                        left_s = until - time.monotonic()
                        if left_s <= 0:
                            break
                        if job.given_up:
                            self._keep_blocks(job, 0, brought.pop(job), "failed")
                            continue
                        fair_s = max(_LEAST_VISIT_S, left_s / (len(turn) - visited))
                        self._attempt(job, workers, partial(visit, job, min(fair_s, _MOST_POINT_S)))
                state = "budget"
            finally:
                self.out_of_time |= bool(brought)
                for job, blocks in brought.items():
                    self._keep_blocks(job, 0, blocks, "failed" if job.given_up else state)

    def _keep_blocks(self, job: Job, number: int, brought: _Blocks, state: State) -> None:
        if brought:
            blocks = [block for block, _ in brought]
            parts = range(len(blocks[0].parts))
            clock = brought[0][1].clock
            results = {part: _rerun(blocks, part, number, clock, state) for part in parts}
            self._keep(job, number, results, {n: blocks[0].parts[n].moved_bytes for n in parts})

    def _keep(
        self, job: Job, number: int, results: Mapping[int, Rerun], moved: Mapping[int, int]
    ) -> None:
        """Records what one process brought for a job."""
        for part in job.task.points.keys() & results.keys():
            known = msgspec.structs.replace(
                job.task.points[part], moved_bytes=moved.get(part, 0), error=job.error
            )
            self.record(Entry(known, results[part]))
        job.add(number, results)
        if settled(job, self.settings) and not job.given_up:
            known_well = job.half_width(self.settings.confidence) <= self.settings.precision
            state = "precision" if known_well else next(iter(results.values())).state
            self.watcher.finished(job.task, number, state)

    def _tell_what_was_reached(self) -> None:
        """What the machine can give where processes differ by too much for what was asked for."""
        settings = self.settings
        known = {
            job: job.open_half_width(settings.confidence)
            for job in self.jobs
            if len(job.processes) > 1
            and not (job.simulated or job.given_up)
            and len(looks(job, settings)) > 1
            and math.isfinite(job.open_half_width(settings.confidence))
        }
        short = sorted((job for job in known if known[job] > settings.precision), key=known.get)  # type: ignore[arg-type]
        if not short:
            return
        typical = short[len(short) // 2]
        reached = math.ceil(100 * known[typical]) / 100
        apart = 100 * typical.spread
        cure = f"--precision {reached:.2g}" if reached < 1 else "a larger --budget"
        self.watcher.say(
            f"{len(short)} of {len(self.jobs)} points: processes differ by {apart:.0f} %, which "
            f"gives {100 * reached:.0f} % in this time, not {100 * settings.precision:g} %; pin "
            f"with --cpus, or ask for {cure}"
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
        empty = [t for p in parts for t in p.empty_ticks]
        clocks["host"] = Samples(on_host, clock.seconds_per_tick, cold, empty_ticks=empty)
    if on_device:
        clocks["device"] = Samples(on_device, _DEVICE_TICK_S)
    if simulated:
        clocks["simulated"] = Samples(simulated, _SIMULATED_TICK_S)
    verdicts = {block.verified for block in blocks}
    noise = sum((block.noise for block in blocks), protocol.Noise())
    return Rerun(
        rerun=number,
        batch=blocks[-1].batch,
        intervals=blocks[-1].intervals,
        clocks=clocks,
        blocks=[len(p.ticks) + len(p.simulated_fs) for p in parts],
        clock=ClockRecord(
            clock.source, clock.reason, clock.uncertainty, clock.resolution_s, clock.empty_pair_s
        ),
        verified="false" if "false" in verdicts else "true" if "true" in verdicts else "na",
        fault=next((block.fault for block in blocks if block.fault), ""),
        state=state,
        noise=noise,
        measured_s=sum(block.block_s for block in blocks),
        remarks=list(dict.fromkeys(remark for block in blocks for remark in block.remarks)),
    )
