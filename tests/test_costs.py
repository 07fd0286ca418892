"""What a visit to a large point will take, as visits before it have shown."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from isthmus.measure.costs import LARGE, PER_BYTE_S, VisitCosts
from isthmus.measure.protocol import Measured, Noise, Part
from isthmus.measure.runner import Job
from isthmus.studies.base import Task


def job(size: int, operation: str = "read") -> Job:
    """Of some device."""
    found = SimpleNamespace(address="host", description=SimpleNamespace(simulated=False))
    return Job(found, Task(operation, size, "aligned", {}, {}))  # type: ignore[arg-type]


def visit(seconds: float, samples: list[int]) -> Measured:
    """Of an operation with one part; ticks are milliseconds."""
    part = Part(ticks=samples, device_seconds=[], cold=None, moved_bytes=0)
    return Measured([part], 1, 1, "true", "", Noise(), seconds / 2, seconds, "open")


def test_set_up_grows_with_the_bytes_and_samples_do_not_count():
    costs = VisitCosts()
    costs.learn(job(1 << 26), visit(1.5, [100] * 10), 1e-3)
    assert costs.of(job(1 << 26)) == pytest.approx(0.6)  # half a second beside one sample
    assert costs.of(job(1 << 31)) == pytest.approx(0.6 * 32)


def test_each_operation_has_costs_of_its_own():
    costs = VisitCosts()
    costs.learn(job(1 << 26, "write"), visit(1.0, [1]), 1e-3)
    assert costs.of(job(1 << 30)) == pytest.approx(PER_BYTE_S * (1 << 30))


def test_small_points_cost_the_same_whatever_large_ones_do():
    costs = VisitCosts()
    costs.learn(job(LARGE), visit(1.0, [1]), 1e-3)
    costs.learn(job(1 << 26), visit(9.0, [1]), 1e-3)
    assert costs.of(job(1)) == costs.of(job(LARGE)) == pytest.approx(PER_BYTE_S * LARGE)


def test_a_visit_without_samples_teaches_nothing():
    costs = VisitCosts()
    costs.learn(job(1 << 26), visit(9.0, []), 1e-3)
    assert costs.of(job(1 << 26)) == pytest.approx(PER_BYTE_S * (1 << 26))
