"""Offloads: every repetition in a process of its own, timed phase by phase.

What a process does first is what is asked here, so no worker is used twice. Sample k of every phase
comes from repetition k: differences and ratios are formed within one, and phases add up in each.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from isthmus.measure import protocol
from isthmus.measure.runner import Job, Watcher, half_width
from isthmus.measure.supervisor import Worker, WorkerDiedError, WorkerRefusedError
from isthmus.results.journal import Entry, key_of
from isthmus.results.run_file import ClockName, ClockRecord, Point, Rerun, Samples, Settings
from isthmus.studies import Study, by_name
from isthmus.studies.base import Task
from isthmus.system.binding import Binding

LEAST_AGAIN = 3
_MOST_AGAIN = 63
_AGAIN_BYTES = 4 << 20
"""Offloads that follow the first in the same process: what it costs once all is warm. Of small
vectors more, up to so many bytes of each in all: they take less than the process's start."""
FIRST_LOOK = 12
"""Repetitions after which the interval is looked at, then whenever they have doubled: looking more
often would make a 95 % interval cover less."""
MOST = 96
QUICK_MOST = 6
"""Of so many the whole range is a 95 % interval of the median."""
_VISIT_S = 0.7
_VISIT_S_PER_BYTE = 2e-8
_MOST_VISIT_S = 120.0
_SIMULATED_TICK_S = 1e-15


def usual_budget_s(jobs: Iterable[Job], *, quick: bool) -> float:
    """Seconds that these jobs usually need; simulated ones take what they take beside it."""
    visits = (_VISIT_S + _VISIT_S_PER_BYTE * job.task.bytes for job in jobs if not job.simulated)
    return (2 if quick else 2 * FIRST_LOOK) * sum(visits)


def _again(bytes_: int) -> int:
    return min(max(_AGAIN_BYTES // bytes_, LEAST_AGAIN), _MOST_AGAIN)


def _whole(job: Job) -> str:
    """The phase that decides when there is enough: the total where it is among those asked for."""
    names = [point.operation for point in job.task.points.values()]
    return "total" if "total" in names else names[-1]


def totals(job: Job, entries: Iterable[Entry]) -> dict[int, float]:
    """Seconds of the whole, by repetition, of what was measured of a job before."""
    mine = next(key_of(p) for p in job.task.points.values() if p.operation == _whole(job))
    return {
        entry.rerun.rerun: samples.ticks[0] * samples.seconds_per_tick
        for entry in entries
        if entry.rerun is not None and key_of(entry.point) == mine
        for samples in entry.rerun.clocks.values()
    }


def reference_of(job: Job, jobs: Iterable[Job]) -> Job | None:
    """What a job's kind of memory is held against on its device, if that is another and works."""
    study = _study(job)
    takes_turns = study.reference
    if takes_turns is None:
        return None
    return next(
        (
            other
            for other in jobs
            if other is not job
            and (other.found.address, other.task.bytes) == (job.found.address, job.task.bytes)
            and not (other.error or other.skipped)
            and _study(other) is study
            and takes_turns(other.task)
        ),
        None,
    )


class FreshRunner:
    """Measures jobs whose repetitions are processes; every result is handed to ``record``."""

    def __init__(
        self,
        jobs: Sequence[Job],
        settings: Settings,
        binding: Binding,
        watcher: Watcher,
        record: Callable[[Entry], None],
    ) -> None:
        self._jobs = [job for job in jobs if not job.error]
        self._settings = settings
        self._binding = binding
        self._watcher = watcher
        self._record = record
        self._order = random.Random(settings.seed)
        self.out_of_time = False

    def run(self, budget_s: float) -> None:
        """Visits all in rounds of seeded order, until each is certain or the time is up."""
        simulated = [job for job in self._jobs if job.simulated]
        timed = [job for job in self._jobs if not job.simulated]
        least = self._settings.repetitions or min(FIRST_LOOK, self._most)
        most_s = math.inf if simulated else budget_s
        self._watcher.begin(len(simulated) + least * len(timed), 0, most_s)
        for job in simulated:
            if not job.totals:
                self._visit(job)
        deadline = time.monotonic() + budget_s
        still = [job for job in timed if not self._done(job)]
        while still:
            for job in self._round(still):
                if time.monotonic() >= deadline:
                    self.out_of_time = True
                    return
                self._visit(job)
            still = [job for job in still if not self._done(job)]

    @property
    def _most(self) -> int:
        return self._settings.repetitions or (QUICK_MOST if self._settings.quick else MOST)

    def _round(self, jobs: Sequence[Job]) -> list[Job]:
        """Seeded order; what differs in memory only comes close together, for it is compared."""
        groups: dict[tuple[str, int], list[Job]] = {}
        for job in jobs:
            groups.setdefault((job.found.address, job.task.bytes), []).append(job)
        order = list(groups.values())
        self._order.shuffle(order)
        for group in order:
            self._order.shuffle(group)
        return [job for group in order for job in group]

    def _done(self, job: Job) -> bool:
        have = len(job.totals)
        if job.error or job.skipped or have >= self._most:
            return True
        doublings = math.log2(have / FIRST_LOOK) if have else -1.0
        if self._settings.repetitions or doublings < 0 or not doublings.is_integer():
            return False
        known = half_width(list(job.totals.values()), self._settings.confidence)
        return known <= self._settings.precision

    def _visit(self, job: Job) -> None:
        self._watcher.visiting(job.label)
        reference = reference_of(job, self._jobs)
        try:
            try:
                answer = self._ask(job, reference)
            except (WorkerRefusedError, WorkerDiedError):
                if reference is None:
                    raise
                answer = self._ask(job, None)  # the reference may be what failed
        except (WorkerRefusedError, WorkerDiedError) as error:
            self._give_up(job, error)
            return
        repetition = max(job.totals, default=-1) + 1
        self._keep(job, repetition, answer)
        self._watcher.finished(job.task, repetition, "once")

    def _ask(self, job: Job, reference: Job | None) -> protocol.Offloaded:
        task, found = job.task, job.found
        request = protocol.Offload(
            library=str(found.backend.library),
            id=found.description.id,
            options=found.options,
            bytes=task.bytes,
            placement=_placement(task),
            again=0 if job.simulated else _again(task.bytes),
            reference=_placement(reference.task) if reference else None,
        )
        with Worker(found.candidate.environment, binding=self._binding) as worker:
            answer = worker.ask(request, allowed_s=_MOST_VISIT_S)
        assert isinstance(answer, protocol.Offloaded)
        return answer

    def _keep(self, job: Job, repetition: int, answer: protocol.Offloaded) -> None:
        first = {phase.name: phase for phase in answer.first}
        for point in job.task.points.values():
            if point.operation in first:
                self._record(Entry(point, _rerun(point, repetition, answer, first)))
        whole = first[_whole(job)]
        job.totals[repetition] = (
            whole.simulated_fs * _SIMULATED_TICK_S
            if job.simulated
            else whole.ticks * answer.clock.seconds_per_tick
        )

    def _give_up(self, job: Job, error: WorkerRefusedError | WorkerDiedError) -> None:
        """What cannot be had here is skipped and said; anything else has failed."""
        message = str(error)
        if isinstance(error, WorkerRefusedError) and error.unavailable:
            job.skipped = message
            self._watcher.say(f"{job.label}: skipped: {message}")
        else:
            job.error = message
            self._watcher.say(f"{job.label}: {message}")
        for point in job.task.points.values():
            told = msgspec.structs.replace(point, error=job.error, skipped=job.skipped)
            self._record(Entry(told))


def _placement(task: Task) -> tuple[str, dict[str, str]]:
    return task.memory, {name: str(value) for name, value in task.axes.items()}


def _study(job: Job) -> Study:
    return by_name(next(iter(job.task.points.values())).study)


def _rerun(
    point: Point,
    repetition: int,
    answer: protocol.Offloaded,
    first: Mapping[str, protocol.Phase],
) -> Rerun:
    phase = first[point.operation]

    def later(offloads: Sequence[Sequence[protocol.Phase]]) -> list[int]:
        return [p.ticks for phases in offloads for p in phases if p.name == point.operation]

    clock = answer.clock
    clocks: dict[ClockName, Samples] = {}
    if phase.simulated_fs or not any(other.ticks for other in first.values()):
        clocks["simulated"] = Samples([phase.simulated_fs], _SIMULATED_TICK_S)
    if any(other.ticks for other in first.values()):
        clocks["host"] = Samples(
            [phase.ticks],
            clock.seconds_per_tick,
            phase.ticks,
            later(answer.again),
            later(answer.beside),
        )
    return Rerun(
        rerun=repetition,
        batch=1,
        intervals=0,  # the clock's own time stays in: phases add up to the total
        clocks=clocks,
        blocks=[1],
        clock=ClockRecord(
            clock.source, clock.reason, clock.uncertainty, clock.resolution_s, clock.empty_pair_s
        ),
        verified=answer.verified,  # type: ignore[arg-type]
        fault=answer.fault,
        state="once",
        noise=phase.noise,
        measured_s=answer.wall_s,
    )
