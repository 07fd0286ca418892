"""The runner: interleaves points over devices, rounds and reruns until each is certain."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from isthmus import _core
from isthmus.measure import protocol
from isthmus.measure.assembly import FINAL_STATES
from isthmus.measure.costs import FEWEST, FIRST_LOOK, VisitCosts
from isthmus.measure.discovery import Found
from isthmus.measure.schedule import Schedule
from isthmus.measure.supervisor import Asked, Worker, WorkerDiedError, WorkerRefusedError
from isthmus.results.journal import Entry
from isthmus.results.run_file import ClockName, ClockRecord, Rerun, Samples, Settings, State
from isthmus.studies.base import Task
from isthmus.system.binding import Binding
from isthmus.units import format_size

MOST_POINT_S = 20.0
"""Cap on the time of one point in one rerun."""
_MOST_DEATHS = 3
"""Workers that a device may lose in one rerun before its remaining points are given up."""
_SIMULATED_MOST_S = 600.0
"""An emulated card that says nothing for so long is stuck."""
_DEVICE_TICK_S = 1e-9
_SIMULATED_TICK_S = 1e-15


class Watcher(Protocol):
    """Whoever shows how far the run is."""

    def begin(self, total: int, done: int, most_s: float) -> None:
        """So many tasks, each rerun counted, begin; so many were done by an earlier run.

        It takes ``most_s`` seconds at most; what is simulated takes what it takes.
        """

    def visiting(self, label: str) -> None:
        """A block of a task begins."""

    def finished(self, task: Task, rerun: int, state: State) -> None:
        """A task has ended in this rerun."""

    def say(self, message: str) -> None:
        """Something that the user should know."""


@dataclass(eq=False)
class Job:
    """One task of one device: its points, and what is known of them so far."""

    found: Found
    task: Task
    error: str = ""
    done: set[int] = field(default_factory=set)
    """Reruns that have ended."""
    visits: int = 0
    left_uncertain: bool = False
    """Whether a rerun ran out of time before its samples were enough."""
    skipped: str = ""
    """Why this machine does not allow it."""
    totals: dict[int, float] = field(default_factory=dict)
    """Of a task in fresh processes: seconds of the whole, by repetition."""

    @property
    def simulated(self) -> bool:
        """Whether an emulated card answers: once is enough, and nothing disturbs it."""
        return self.found.description.simulated

    def reruns(self, asked: int) -> set[int]:
        """The reruns that it takes of those that were asked for."""
        return set(range(1 if self.simulated else asked))

    @property
    def label(self) -> str:
        """Device, operation and size in a few words."""
        size = f" {format_size(self.task.bytes)}" if self.task.bytes else ""
        memory = f" {self.task.memory}" if self.task.fresh else ""
        return f"{self.found.address} {self.task.operation}{memory}{size}"


@dataclass(eq=False)
class Open:
    """A job while a rerun works on it."""

    job: Job
    series: int
    blocks: list[protocol.Measured] = field(default_factory=list)
    half_width: float = math.inf
    """Of the interval around the median that is known least, relative to it."""

    def samples_missing(self, precision: float) -> float:
        """About so many until it is certain and seen to be: a look waits until they doubled."""
        have = sum(len(block.parts[0].ticks) for block in self.blocks)
        if math.isinf(self.half_width):
            return max(have, FIRST_LOOK - have)
        return have * max(1.0, (self.half_width / precision) ** 2 - 1.0)

    def add(self, block: protocol.Measured, confidence: float) -> None:
        """Another visit has brought this."""
        self.blocks.append(block)
        if block.state != "open":
            return  # nobody asks any more
        # What ends a joint series is known of the slowest rank, which is the first part.
        parts = range(1 if self.job.task.joint else len(block.parts))
        series: list[list[float]] = []
        for part in parts:
            series.append([t for b in self.blocks for t in b.parts[part].ticks])
            series.append([s for b in self.blocks for s in b.parts[part].device_seconds])
        self.half_width = max(half_width(taken, confidence) for taken in series)

    def drop_blocks(self) -> None:
        """What was brought is lost."""
        self.job.visits -= len(self.blocks)
        self.blocks.clear()
        self.half_width = math.inf

    def reruns(self, rerun: int, opened: protocol.Opened, state: State) -> dict[int, Rerun]:
        """The result by part of the operation."""
        first = self.blocks[0]
        return {
            part: _rerun(self.blocks, part, rerun, opened.clock, state)
            for part in range(len(first.parts))
        }


def half_width(taken: Sequence[float], confidence: float) -> float:
    """Of the interval around the median of these, relative to it; infinite where there is none."""
    if not taken:  # the device has no clock
        return 0.0
    if len(taken) < FEWEST:
        return math.inf
    import numpy as np  # noqa: PLC0415 - every command would wait for it

    found = _core.median_interval(np.array(taken, dtype=np.float64), confidence)
    return 0.0 if found.low == found.high else found.relative_half_width


def _rerun(
    blocks: Sequence[protocol.Measured],
    part: int,
    rerun: int,
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
        rerun=rerun,
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


@dataclass
class Runner:
    """Measures jobs; every result is handed to ``record`` as it ends."""

    jobs: Sequence[Job]
    settings: Settings
    binding: Binding
    watcher: Watcher
    record: Callable[[Entry], None]
    began: float
    """When the budget began to run, on ``time.monotonic``."""
    hire: Callable[[Found, Binding], AbstractContextManager[Asked]] = lambda found, binding: Worker(
        found.candidate.environment, binding=binding
    )
    """Who measures a device."""
    out_of_time: bool = False
    costs: VisitCosts = field(default_factory=VisitCosts)

    def run(self) -> None:
        """Measures everything. On KeyboardInterrupt what is open is recorded, then it is raised."""
        whole = {job: job.reruns(self.settings.reruns) for job in self.jobs}
        due = {job: reruns - job.done for job, reruns in whole.items()}
        left = self.began + self.settings.budget_s - time.monotonic()
        if any(due[job] for job in due if job.simulated):
            left = math.inf
        total = sum(map(len, whole.values()))
        self.watcher.begin(total, total - sum(map(len, due.values())), left)
        order = random.Random(self.settings.seed)
        for rerun in range(self.settings.reruns):
            now = [job for job in self.jobs if rerun in due[job] and not job.error]
            share = (rerun + 1) / self.settings.reruns
            deadline = self.began + share * self.settings.budget_s
            if now:
                _RerunOf(self, rerun, now, deadline, order).run()

    def finish(self, work: Open, rerun: int, opened: protocol.Opened | None, state: State) -> None:
        """Records what one rerun brought for a job."""
        job = work.job
        job.done.add(rerun)
        self.out_of_time |= state == "budget"
        job.left_uncertain |= state == "budget" and work.half_width > self.settings.precision
        results = work.reruns(rerun, opened, state) if work.blocks and opened else {}
        for part, point in job.task.points.items():
            known = msgspec.structs.replace(
                point,
                error=job.error,
                moved_bytes=work.blocks[0].parts[part].moved_bytes if work.blocks else 0,
            )
            self.record(Entry(known, results.get(part)))
        self.watcher.finished(job.task, rerun, state)


class _RerunOf:
    """One rerun: fresh workers, every due job visited in rounds until it is done."""

    def __init__(
        self,
        run: Runner,
        rerun: int,
        jobs: Sequence[Job],
        deadline: float,
        order: random.Random,
    ) -> None:
        self._run = run
        self._order = order
        self._rerun = rerun
        self._deadline = deadline
        self._open = {Open(job, series): None for series, job in enumerate(jobs)}
        """In their order; a dictionary because each visit asks of each point whether it is open."""
        self._workers: dict[str, tuple[Asked, protocol.Opened]] = {}
        self._deaths: dict[str, int] = {}
        settings = run.settings
        self._criterion = protocol.Criterion(settings.precision, settings.confidence, MOST_POINT_S)

    def run(self) -> None:
        """Visits until all is done or time is up."""
        with ExitStack() as self._stack:
            try:
                self._visit_simulated()
                schedule = Schedule(
                    self._open,
                    self._run.costs,
                    self._run.settings.precision,
                    self._run.settings.reruns - self._rerun,
                    self._order,
                    self._deadline,
                )
                for work, most_s in schedule.visits():
                    self._visit(work, most_s)
                self._end_all("budget")
            except KeyboardInterrupt:
                self._end_all("interrupted")
                raise

    def _visit_simulated(self) -> None:
        """Beside the budget, which is for what is timed."""
        begin = time.monotonic()
        simulated = [work for work in self._open if work.job.simulated]
        self._order.shuffle(simulated)
        while simulated := [work for work in simulated if work in self._open]:
            for work in simulated:
                if work in self._open:
                    self._visit(work, _SIMULATED_MOST_S)
        for worker, _ in self._workers.values():
            worker.end()  # what it keeps is not to be there while others are timed
        self._workers.clear()
        took = time.monotonic() - begin
        self._deadline += took
        self._run.began += took

    def _end_all(self, state: State) -> None:
        for work in self._open:
            self._run.finish(work, self._rerun, self._opened(work), state)
        self._open.clear()

    def _opened(self, work: Open) -> protocol.Opened | None:
        known = self._workers.get(work.job.found.address)
        return known[1] if known else None

    def _worker(self, found: Found) -> Asked:
        if found.address not in self._workers:
            worker = self._stack.enter_context(self._run.hire(found, self._run.binding))
            try:
                opened = worker.ask(found.open_request())
            except WorkerRefusedError as error:
                # Nobody can be asked anything: the same as a worker that died.
                worker.end()
                raise WorkerDiedError(f"cannot be opened: {error}") from error
            assert isinstance(opened, protocol.Opened)
            self._workers[found.address] = (worker, opened)
        return self._workers[found.address][0]

    def _visit(self, work: Open, most_s: float) -> None:
        task = work.job.task
        self._run.watcher.visiting(work.job.label)
        if not work.job.simulated:  # whoever hangs is to be found out before all time is gone
            most_s = min(most_s, MOST_POINT_S)
        try:
            answer = self._worker(work.job.found).ask(
                protocol.Measure(
                    work.series,
                    task.operation,
                    task.bytes,
                    task.memory,
                    {name: str(value) for name, value in task.axes.items()},
                    self._criterion,
                    most_s,
                    task.joint,
                ),
                allowed_s=most_s,
            )
        except WorkerRefusedError as error:
            self._fail(work, str(error))
            return
        except WorkerDiedError as error:
            self._bury(work, error)
            return
        assert isinstance(answer, protocol.Measured)
        work.add(answer, self._run.settings.confidence)
        work.job.visits += 1
        opened = self._opened(work)
        assert opened is not None
        self._run.costs.learn(work.job, answer, opened.clock.seconds_per_tick)
        if answer.state != "open":
            del self._open[work]
            self._run.finish(work, self._rerun, opened, _STATES[answer.state])

    def _fail(self, work: Open, message: str) -> None:
        work.job.error = message
        del self._open[work]
        self._run.watcher.say(f"{work.job.label}: {message}")
        self._run.finish(work, self._rerun, self._opened(work), "failed")

    def _bury(self, work: Open, error: WorkerDiedError) -> None:
        """A dead worker costs the point it was at; its other open points begin anew."""
        address = work.job.found.address
        self._fail(work, str(error))
        siblings = [other for other in self._open if other.job.found.address == address]
        if error.final:
            self._give_up(siblings, f"not measured: {error}")
            return
        self._workers.pop(address, None)
        self._deaths[address] = self._deaths.get(address, 0) + 1
        for sibling in siblings:
            sibling.drop_blocks()
        if self._deaths[address] >= _MOST_DEATHS:
            self._run.watcher.say(f"{address}: given up after {_MOST_DEATHS} dead workers")
            self._give_up(siblings, f"not measured: {_MOST_DEATHS} workers of this device died")

    def _give_up(self, works: Sequence[Open], why: str) -> None:
        for work in works:
            work.job.error = why
            del self._open[work]
            self._run.finish(work, self._rerun, self._opened(work), "failed")


_STATES: Mapping[str, State] = {state: state for state in FINAL_STATES}
