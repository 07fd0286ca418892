"""Offloads: every repetition in a fresh process, timed phase by phase.

The first offload of a process is measured, so no worker is used twice. Sample k of every phase
comes from repetition k: differences, ratios and sums of phases are formed within a repetition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from isthmus.measure import protocol
from isthmus.measure.plan import Task
from isthmus.measure.schedule import Job
from isthmus.studies import Study, by_name
from isthmus.studies.base import Value

MOST_S = 120.0
"""A process that sends nothing for this long is taken to hang."""
_LEAST_AGAIN = 3
_MOST_AGAIN = 63
_AGAIN_BYTES = 4 << 20
"""The first offload of a process is followed by warm ones of so many bytes of each vector in all,
within the limits above: small ones take less time than the start of the process."""


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
        phases=[
            task.points[part].operation if part in task.points else ""
            for part in range(1 + max(task.points))
        ],
        reference=_placement(reference.task) if reference else None,
    )


def _placement(task: Task) -> tuple[str, dict[str, str]]:
    return task.memory, {name: str(value) for name, value in task.axes.items()}


def _study(job: Job) -> Study:
    return by_name(next(iter(job.task.points.values())).study)
