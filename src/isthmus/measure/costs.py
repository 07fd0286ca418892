"""What measuring costs in time: before a run, and as its visits show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from isthmus import _core

if TYPE_CHECKING:
    from isthmus.measure.protocol import Measured
    from isthmus.measure.runner import Job

LARGE = 8 << 20
"""Bytes above which the set-up of a point takes longer than its samples."""
PER_POINT_S = 0.205
PER_BYTE_S = 1e-9
"""A run without a budget gets so much for each point over all reruns, so much for each byte of it
in each rerun: large points are dear to set up. Found by trying: three visits of 50 ms to a small
point and a quarter of a second for 256 MiB in each, with what workers need to start."""
FIRST_LOOK = _core.first_look
"""Samples at which the engine first looks whether they are enough."""
FEWEST = 6
"""Fewer have no 95 % interval."""

_SMALL_S = PER_BYTE_S * LARGE
_LEAST_PER_BYTE_S = 1e-11
_SAMPLE_PER_BYTE_S = 2e-10
"""Of points that no visit has seen: a slow copy, 5 GB/s."""
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
    checked in full, before the samples and once more after them.
    """

    def __init__(self) -> None:
        self._per_byte: dict[tuple[str, str, str], float] = {}
        self._beside: dict[Job, float] = {}
        self._sample: dict[Job, float] = {}

    def learn(self, job: Job, answer: Measured, seconds_per_tick: float) -> None:
        """From a visit that went through. The next needs one sample at least, which counts."""
        # Parts of ranks are of the same time, others come one after the other.
        parts = answer.parts[:1] if job.task.joint else answer.parts
        samples = len(parts[0].ticks)
        if not samples:
            return
        sampled = seconds_per_tick * sum(sum(part.ticks) for part in parts)
        # The last check takes about what the set-up did; what is left is samples and their stamps.
        sampling = max(sampled, answer.block_s - 2 * answer.setup_s)
        self._sample[job] = max(sampling / samples, _LEAST_SAMPLE_S)
        beside = answer.block_s - sampling * (1 - 1 / samples)
        if job.task.bytes > LARGE:
            self._per_byte[_kind(job)] = max(beside / job.task.bytes, _LEAST_PER_BYTE_S)
        else:
            self._beside[job] = beside

    def of(self, job: Job, samples: float = 1) -> float:
        """Of a visit that takes so many samples, in seconds."""
        if job.task.bytes > LARGE:
            visit = self._per_byte.get(_kind(job), PER_BYTE_S) * job.task.bytes
        else:
            visit = max(_SMALL_S, self._beside.get(job, 0.0))
        usual = max(_SAMPLE_PER_BYTE_S * job.task.bytes, _LEAST_SAMPLE_S)
        return visit + (samples - 1) * self._sample.get(job, usual)


def _kind(job: Job) -> tuple[str, str, str]:
    return job.found.address, job.task.operation, job.task.memory
