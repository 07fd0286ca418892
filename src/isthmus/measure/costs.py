"""What measuring costs in time: before a run, and as its visits show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isthmus.measure.protocol import Measured
    from isthmus.measure.runner import Job

LARGE = 8 << 20
"""Bytes above which the set-up of a point takes longer than its samples."""
PER_POINT_S = 0.205
PER_BYTE_S = 1e-9
"""A run without a budget gets so much for each point over all reruns, so much for each byte of it
in each rerun: large points are dear to set up."""
FIRST_LOOK = 25
"""Samples at which the engine first looks whether they are enough."""
FEWEST = 6
"""Fewer have no 95 % interval."""

_LEAST_PER_BYTE_S = 1e-11
_SAMPLE_PER_BYTE_S = 2e-10
_LEAST_SAMPLE_S = 1e-5


def usual_budget_s(jobs: Sequence[Job], reruns: int) -> float:
    """Seconds that these jobs usually need; simulated ones take what they take beside it."""
    timed = [job for job in jobs if not job.simulated]
    points = sum(len(job.task.points) for job in timed)
    moved = sum(len(job.task.points) * job.task.bytes for job in timed)
    return PER_POINT_S * points + PER_BYTE_S * moved * reruns


class VisitCosts:
    """Seconds that visits to a point need, as visits have shown.

    What they need beside samples goes with the bytes of large points: memory is had, filled and
    checked in full. Small points cost all the same.
    """

    def __init__(self) -> None:
        self._per_byte: dict[tuple[str, str, str], float] = {}
        self._sample: dict[Job, float] = {}

    def learn(self, job: Job, answer: Measured, seconds_per_tick: float) -> None:
        """From a visit that went through. The next needs one sample at least, which counts."""
        # Parts of ranks are of the same time, others come one after the other.
        parts = answer.parts[:1] if job.task.joint else answer.parts
        samples = len(parts[0].ticks)
        if not samples:
            return
        self._sample[job] = max((answer.block_s - answer.setup_s) / samples, _LEAST_SAMPLE_S)
        if job.task.bytes > LARGE:
            sampled = seconds_per_tick * sum(sum(part.ticks) for part in parts)
            beside = answer.block_s - sampled * (1 - 1 / samples)
            self._per_byte[_kind(job)] = max(beside / job.task.bytes, _LEAST_PER_BYTE_S)

    def of(self, job: Job, samples: float = 1) -> float:
        """Of a visit that takes so many samples, in seconds."""
        if job.task.bytes <= LARGE:
            visit = PER_BYTE_S * LARGE
        else:
            visit = self._per_byte.get(_kind(job), PER_BYTE_S) * job.task.bytes
        usual = max(_SAMPLE_PER_BYTE_S * job.task.bytes, _LEAST_SAMPLE_S)
        return visit + (samples - 1) * self._sample.get(job, usual)


def _kind(job: Job) -> tuple[str, str, str]:
    return job.found.address, job.task.operation, job.task.memory
