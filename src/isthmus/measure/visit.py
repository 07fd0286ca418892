"""Measures a job in one process (a visit): sends requests to a worker, makes results of answers.

After some visits the worker also times the references of the host's speed; few, to save time. An
offload is the first request of its worker, because it times the start of a runtime. Sample k of
every phase comes from repetition k, so that phases are added, subtracted and divided within a
repetition.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import msgspec

from isthmus.measure import protocol
from isthmus.measure.jobs import Cost, Job
from isthmus.measure.plan import Task
from isthmus.measure.rounds import Rounds
from isthmus.measure.supervisor import Responder, WorkerDiedError, WorkerRefusedError
from isthmus.results.journal import Entry
from isthmus.results.run_file import (
    ClockName,
    ClockRecord,
    HostReading,
    Rerun,
    Samples,
    Settings,
    State,
)
from isthmus.statistics import FEWEST
from isthmus.studies import by_name

SHARE = 0.015
"""Largest share of a run's time for readings of the host's speed.

The share does not count the first reading, which allocates memory, nor the readings of the first
processes. After a reading of c seconds the next reading waits c / SHARE seconds. Measured shares:
0.65 to 0.95 % of runs of 20 and 30 s, 2.5 % of a run of 1.7 s (``benchmarks/RESULTS.md``)."""
_MOST_VISIT_S = 20.0
"""Greatest time limit of a visit in seconds."""
_LEAST_VISIT_S = 0.1
"""Least time limit of a visit in seconds, however little time the run has left."""
_SIMULATED_MOST_S = 600.0
"""Seconds without an answer after which an emulated card counts as hanging."""
_OFFLOAD_MOST_S = 120.0
"""Most seconds of an offload's process, on emulated cards too."""
_LEAST_AGAIN = 3
_MOST_AGAIN = 63
_AGAIN_BYTES = 4 << 20
"""Bytes of a vector times the number of warm offloads that follow the first offload of a process.
Small offloads are repeated more often, within fixed limits of their number. They take less time
than the start of the process."""
_DEVICE_TICK_S = 1e-9
"""Seconds of a tick in a run file, for times by a device's clock."""
_SIMULATED_TICK_S = 1e-15
"""Seconds of a tick in a run file, for simulated times."""


@dataclass
class HostSpeed:
    """Decides when a worker that has just measured also reads the host's speed, and asks it."""

    run_began: float
    """Start of the run (``Run.started``) in seconds of ``clock``."""
    clock: Callable[[], float] = time.monotonic
    spent_s: float = field(default=0.0, init=False)
    """Seconds that all readings of the run took so far."""
    _next: float = field(default=-math.inf, init=False)
    _rounds: set[int] = field(default_factory=set, init=False)
    """Numbers of the rounds in which a worker has read the host's speed."""
    _memory: int | None = field(default=None, init=False)

    def memory(self) -> int:
        """Descriptor of the memory file that all workers copy as a reference; negative without."""
        if self._memory is None:
            self._memory = -1
            with suppress(OSError):  # without it each worker creates a file for itself
                self._memory = os.memfd_create("isthmus-references")
        return self._memory

    def close(self) -> None:
        """Closes the memory file, which no worker needs after the last one has started."""
        if self._memory is not None and self._memory >= 0:
            os.close(self._memory)
        self._memory = None

    def since_start(self) -> float:
        """Seconds from the start of the run to now, in whole microseconds."""
        return round(max(self.clock() - self.run_began, 0.0), 6)

    def readings(self, worker: Responder, round_number: int) -> list[HostReading]:
        """A reading by a worker of the round; empty if none is due or memory is short.

        Each of the first rounds has a reading at once: no answer is certain before the host's state
        is known. Raises WorkerDiedError.
        """
        began = self.clock()
        read_before = round_number in self._rounds or len(self._rounds) >= FEWEST
        if read_before and began < self._next:
            return []
        speed = None
        # The worker has no memory for the copy: go on without a reading.
        with suppress(WorkerRefusedError):
            speed = worker.ask(protocol.ReadHostSpeed())
        took_s = self.clock() - began
        self.spent_s += took_s
        # The first reading allocates memory, up to 0.1 s once in a run: the second follows at once.
        if self._rounds:
            self._next = began + took_s / SHARE
        self._rounds.add(round_number)
        if not isinstance(speed, protocol.HostSpeed):
            return []
        at_s = self.since_start()
        return [HostReading(at_s, speed.system_call_s, speed.copy_s, speed.arithmetic_s)]


class Visit(NamedTuple):
    """What a visit gives."""

    entries: Sequence[Entry]
    """The visit's results for the journal."""
    death: WorkerDiedError | None
    """Why the worker died when it read the host's speed, after its answer; None if it did not."""


@dataclass(frozen=True)
class Visitor:
    """Measures jobs of a run: in each visit one process measures one job."""

    jobs: Sequence[Job]
    settings: Settings
    host_speed: HostSpeed

    def visit(
        self,
        job: Job,
        round_number: int,
        lend: Callable[[], AbstractContextManager[Responder]],
        rounds: Rounds,
        share_s: float,
    ) -> Visit:
        """Measures a job in the process that its device has in this round.

        ``lend``: lends a worker for the visit. ``share_s``: the job's share of the run's remaining
        seconds, which limits the visit if one process alone measures each point.

        Raises WorkerDiedError or WorkerRefusedError if the worker does not answer.
        """
        at_s = None if job.simulated else self.host_speed.since_start()
        began = time.monotonic()
        alone = job.simulated or self.settings.reruns == 1
        samples = 0 if alone else rounds.samples(job)
        most_s = _most_seconds(job, self.settings, rounds.visit_s(job), share_s)
        *first, last = _requests(job, self.jobs, self.settings, most_s, samples)
        reads_in = None if job.simulated else round_number
        ask = partial(self._ask, lend=lend, most_s=most_s, reads_in=reads_in)
        for request in first:
            with suppress(WorkerRefusedError, WorkerDiedError):
                answer, readings, death = ask(request)
                break
        else:
            answer, readings, death = ask(last)
        results = _reruns(answer, round_number, alone=alone, at_s=at_s)
        if cost := _cost(job, answer, time.monotonic() - began):
            job.learn(cost)
        job.moved_bytes = answer.parts[job.leading_part].moved_bytes
        job.add(round_number, results)
        return Visit(list(_entries(job, answer, results, readings)), death)

    def _ask(
        self,
        request: protocol.Measure | protocol.Offload,
        *,
        lend: Callable[[], AbstractContextManager[Responder]],
        most_s: float,
        reads_in: int | None,
    ) -> tuple[protocol.Measured, list[HostReading], WorkerDiedError | None]:
        """The worker's answer, readings of the host's speed, and the worker's death in a reading.

        ``reads_in``: number of the round; None: the worker reads no host speed. Raises
        WorkerDiedError or WorkerRefusedError if the worker does not answer.
        """
        with lend() as worker:
            answer = worker.ask(request, allowed_s=most_s)
            assert isinstance(answer, protocol.Measured)
            try:
                readings = [] if reads_in is None else self.host_speed.readings(worker, reads_in)
            except WorkerDiedError as death:  # the answer is valid all the same
                return answer, [], death
        return answer, readings, None


def _most_seconds(job: Job, settings: Settings, visit_s: float, share_s: float) -> float:
    """Time limit of a visit in seconds.

    ``visit_s``: estimated seconds of the visit. ``share_s``: the job's share of the run's remaining
    seconds.
    """
    if job.task.offload:
        return _OFFLOAD_MOST_S
    if job.simulated:
        return _SIMULATED_MOST_S
    expected_s = share_s if settings.reruns == 1 else 4 * visit_s
    return min(max(_LEAST_VISIT_S, expected_s), _MOST_VISIT_S)


def _requests(
    job: Job, jobs: Iterable[Job], settings: Settings, most_s: float, samples: int
) -> Sequence[protocol.Measure | protocol.Offload]:
    """The requests for a visit, to be sent until one succeeds; each may take ``most_s`` seconds.

    An offload with a reference has a second request, for a fresh worker. It leaves out the
    reference, which may have caused the first to fail. ``samples``: number of samples; 0: sample
    until this process is precise enough.
    """
    if job.task.offload:
        reference = reference_of(job, jobs)
        return [_offload(job, partner) for partner in ((reference, None) if reference else (None,))]
    return [
        protocol.Measure(
            job.task.operation,
            job.task.bytes,
            *_placement(job.task),
            protocol.Criterion(settings.precision, settings.confidence, _MOST_VISIT_S, samples),
            most_s,
            job.task.joint,
        )
    ]


def reference_of(job: Job, jobs: Iterable[Job]) -> Job | None:
    """The job of the reference offload on the same device at the same size.

    None if that is ``job`` itself, has failed, or does not exist.
    """
    study = by_name(job.study)
    if not study.reference:
        return None
    return next(
        (
            other
            for other in jobs
            if other is not job
            and (other.device.address, other.task.bytes) == (job.device.address, job.task.bytes)
            and not other.given_up
            and other.study == job.study
            and other.task.has(study.reference)
        ),
        None,
    )


def _offload(job: Job, reference: Job | None) -> protocol.Offload:
    """The request for an offload; its repetitions alternate with ``reference``, unless None."""
    task = job.task
    again = min(max(_AGAIN_BYTES // task.bytes, _LEAST_AGAIN), _MOST_AGAIN)
    return protocol.Offload(
        device=job.device.open_request(),
        bytes=task.bytes,
        placement=_placement(task),
        again=0 if job.simulated else again,
        phases=[
            task.points[part].operation if part in task.points else ""
            for part in range(1 + max(task.points))
        ],
        reference=_placement(reference.task) if reference else None,
    )


def _placement(task: Task) -> tuple[str, dict[str, str]]:
    return task.memory, {name: str(value) for name, value in task.axes.items()}


def _cost(job: Job, answer: protocol.Measured, process_s: float) -> Cost | None:
    """Cost of a visit; None if it gave no sample.

    ``process_s``: seconds of an offload's process; other visits count as long as their block.
    """
    if job.task.offload:
        return Cost(process_s, 0.0)
    # All ranks run their parts at the same time: count the first. Other parts run in sequence.
    parts = answer.parts[:1] if job.task.joint else answer.parts
    taken = len(parts[0].ticks)
    if not taken:
        return None
    sampled_s = answer.clock.seconds_per_tick * sum(sum(part.ticks) for part in parts)
    # Set-up, and the final check that takes about as long, are no sampling.
    sampled_s = max(sampled_s, answer.block_s - 2 * answer.setup_s)
    return Cost(max(answer.block_s - sampled_s, 0.0), sampled_s / taken)


def _entries(
    job: Job, answer: protocol.Measured, reruns: dict[int, Rerun], readings: list[HostReading]
) -> Iterable[Entry]:
    """The journal's entries of a visit; only the first has the ``readings`` of the host's speed."""
    for part in sorted(job.task.points.keys() & reruns.keys()):
        moved = answer.parts[part].moved_bytes
        point = msgspec.structs.replace(job.task.points[part], moved_bytes=moved)
        yield Entry(point, msgspec.structs.replace(reruns[part], host_speed=readings))
        readings = []


def _reruns(
    answer: protocol.Measured, round_number: int, *, alone: bool, at_s: float | None
) -> dict[int, Rerun]:
    """The results of a round's process by part, without phases that the offload does not have.

    ``alone``: whether this process alone measures the point. ``at_s``: seconds from the run's start
    to the visit.
    """
    ended: State = "budget" if answer.state == "open" else answer.state  # type: ignore[assignment]
    state: State = ended if alone or ended == "once" else "visit"
    return {
        n: _rerun(answer, part, round_number, state, at_s)
        for n, part in enumerate(answer.parts)
        if state != "once" or part.ticks or part.simulated_fs
    }


def _rerun(
    answer: protocol.Measured,
    part: protocol.Part,
    round_number: int,
    state: State,
    at_s: float | None,
) -> Rerun:
    """Makes the result for the run file of one part that a round's process measured."""
    clocks: dict[ClockName, Samples] = {}
    if part.ticks:
        clocks["host"] = Samples(
            part.ticks, answer.clock.seconds_per_tick, part.cold, part.again, part.reference,
            part.empty_ticks,
        )  # fmt: skip
    if part.device_seconds:
        ticks = [round(seconds / _DEVICE_TICK_S) for seconds in part.device_seconds]
        clocks["device"] = Samples(ticks, _DEVICE_TICK_S)
    if part.simulated_fs:
        clocks["simulated"] = Samples(part.simulated_fs, _SIMULATED_TICK_S)
    return Rerun(
        rerun=round_number,
        batch=answer.batch,
        intervals=answer.intervals,
        clocks=clocks,
        blocks=[max(len(part.ticks), len(part.simulated_fs))],
        clock=msgspec.convert(answer.clock, ClockRecord, from_attributes=True),
        verified=answer.verified,  # type: ignore[arg-type]
        fault=answer.fault,
        state=state,
        noise=part.noise or answer.noise,
        measured_s=answer.block_s,
        remarks=list(dict.fromkeys(answer.remarks)),
        at_s=at_s,
    )
