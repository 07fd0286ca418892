"""What measuring costs in time: before a run, and as its visits show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isthmus.measure.protocol import Measured
    from isthmus.measure.runner import Job

LARGE = 8 << 20
"""Bytes above which the set-up of a point takes longer than its samples."""
PER_POINT_S = 0.2
PER_BYTE_S = 1e-9
"""A run without a budget gets so much for each point over all reruns, so much for each byte of it
in each rerun: large points are dear to set up."""

_LEAST_PER_BYTE_S = 1e-11


def usual_budget_s(jobs: Sequence[Job], reruns: int) -> float:
    """Seconds that these jobs usually need; simulated ones take what they take beside it."""
    timed = [job for job in jobs if not job.simulated]
    points = sum(len(job.task.points) for job in timed)
    moved = sum(len(job.task.points) * job.task.bytes for job in timed)
    return PER_POINT_S * points + PER_BYTE_S * moved * reruns


class VisitCosts:
    """Seconds that a visit to a point needs beside its samples, as visits to large ones have shown.

    They go with the bytes: memory is had, filled and checked in full. Small points cost all the
    same.
    """

    def __init__(self) -> None:
        self._per_byte: dict[tuple[str, str, str], float] = {}

    def learn(self, job: Job, answer: Measured, seconds_per_tick: float) -> None:
        """From a visit that went through. The next needs one sample at least, which counts."""
        # Parts of ranks are of the same time, others come one after the other.
        parts = answer.parts[:1] if job.task.joint else answer.parts
        samples = len(parts[0].ticks)
        if job.task.bytes > LARGE and samples:
            sampled = seconds_per_tick * sum(sum(part.ticks) for part in parts)
            beside = answer.block_s - sampled * (1 - 1 / samples)
            self._per_byte[_kind(job)] = max(beside / job.task.bytes, _LEAST_PER_BYTE_S)

    def of(self, job: Job) -> float:
        """Seconds."""
        if job.task.bytes <= LARGE:
            return PER_BYTE_S * LARGE
        return self._per_byte.get(_kind(job), PER_BYTE_S) * job.task.bytes


def _kind(job: Job) -> tuple[str, str, str]:
    return job.found.address, job.task.operation, job.task.memory
