"""Offloads: every repetition in a fresh process, timed phase by phase.

The first offload of a process is measured, so no worker is used twice. Sample k of every phase
comes from repetition k: differences, ratios and sums of phases are formed within a repetition.
"""

from __future__ import annotations

from collections.abc import Iterable

from isthmus.measure import protocol
from isthmus.measure.jobs import Job
from isthmus.measure.plan import Task
from isthmus.studies import by_name

MOST_S = 120.0
"""The time that a process may take; the supervisor's limit of silence comes on top."""
_LEAST_AGAIN = 3
_MOST_AGAIN = 63
_AGAIN_BYTES = 4 << 20
"""The first offload of a process is followed by warm ones of so many bytes of each vector in all,
within the limits above: small ones take less time than the start of the process."""


def reference_of(job: Job, jobs: Iterable[Job]) -> Job | None:
    """The reference's job on the same device and size; None where that is ``job`` or failed."""
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


def request(job: Job, reference: Job | None) -> protocol.Offload:
    """The request to a fresh worker; repetitions alternate with the reference if there is one."""
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
