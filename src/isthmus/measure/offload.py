"""Offloads: every repetition in a fresh process, timed phase by phase.

The first offload of a process is measured, so no worker is used twice. Sample k of every phase
comes from repetition k: differences, ratios and sums of phases are formed within a repetition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from isthmus.measure import protocol
from isthmus.measure.plan import Task
from isthmus.measure.schedule import Job
from isthmus.results.run_file import ClockName, ClockRecord, Point, Rerun, Samples
from isthmus.studies import Study, by_name
from isthmus.studies.base import Value

MOST_S = 120.0
"""A process that sends nothing for this long is taken to hang."""
_LEAST_AGAIN = 3
_MOST_AGAIN = 63
_AGAIN_BYTES = 4 << 20
"""The first offload of a process is followed by warm ones of so many bytes of each vector in all,
within the limits above: small ones take less time than the start of the process."""
_SIMULATED_TICK_S = 1e-15


def reference_of(job: Job, jobs: Iterable[Job]) -> Job | None:
    """The reference's job on the same device and size; None where that is ``job`` or failed."""
    study = _study(job)
    if not study.reference:
        return None
    return next(
        (
            other
            for other in jobs
            if other is not job
            and (other.device.address, other.task.bytes) == (job.device.address, job.task.bytes)
            and not (other.error or other.skipped)
            and _study(other) is study
            and _has(other.task, study.reference)
        ),
        None,
    )


def _has(task: Task, values: Mapping[str, Value]) -> bool:
    """Whether a task has these values, of those axes that it has."""
    own = {"memory": task.memory, **task.axes}
    return all(own.get(name, value) == value for name, value in values.items())


def request(job: Job, reference: Job | None) -> protocol.Offload:
    """The request to a fresh worker; repetitions alternate with the reference if there is one."""
    task, device = job.task, job.device
    again = min(max(_AGAIN_BYTES // task.bytes, _LEAST_AGAIN), _MOST_AGAIN)
    return protocol.Offload(
        library=str(device.backend.library),
        id=device.description.id,
        options=device.options,
        bytes=task.bytes,
        placement=_placement(task),
        again=0 if job.simulated else again,
        reference=_placement(reference.task) if reference else None,
    )


def reruns(job: Job, number: int, answer: protocol.Offloaded) -> dict[int, Rerun]:
    """Results of a process by part; phases that it did not have are missing."""
    first = {phase.name: phase for phase in answer.first}
    return {
        part: _rerun(point, number, answer, first)
        for part, point in job.task.points.items()
        if point.operation in first
    }


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
            later(answer.reference),
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
