"""What a visit to a large point will take, as visits before it have shown."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from isthmus.measure.costs import LARGE, PER_BYTE_S, VisitCosts
from isthmus.measure.protocol import Measured, Noise, Part
from isthmus.measure.runner import Job
from isthmus.studies.base import Task


def job(size: int, operation: str = "read", *, joint: bool = False) -> Job:
    """Of some device."""
    found = SimpleNamespace(address="host", description=SimpleNamespace(simulated=False))
    task = Task(operation, size, "aligned", {}, {}, joint=joint)
    return Job(found, task)  # type: ignore[arg-type]


def visit(seconds: float, samples: list[int], parts: int = 1, setup: float = 0.0) -> Measured:
    """Ticks are milliseconds."""
    part = Part(ticks=samples, device_seconds=[], cold=None, moved_bytes=0)
    setup = setup or seconds / 2
    return Measured([part] * parts, 1, 1, "true", "", Noise(), setup, seconds, "open")


def test_set_up_grows_with_the_bytes_and_samples_do_not_count():
    costs = VisitCosts()
    costs.learn(job(1 << 26), visit(1.5, [100] * 10), 1e-3)
    assert costs.of(job(1 << 26)) == pytest.approx(0.6)  # half a second beside one sample
    assert costs.of(job(1 << 31)) == pytest.approx(0.6 * 32)


def test_each_operation_has_costs_of_its_own():
    costs = VisitCosts()
    costs.learn(job(1 << 26, "write"), visit(1.0, [1]), 1e-3)
    assert costs.of(job(1 << 30)) == pytest.approx(PER_BYTE_S * (1 << 30))


def test_halves_of_a_pair_follow_one_another_and_ranks_work_at_once():
    costs = VisitCosts()
    costs.learn(job(1 << 26), visit(1.5, [50] * 10, parts=2), 1e-3)
    assert costs.of(job(1 << 26)) == pytest.approx(0.6)
    costs.learn(job(1 << 26, joint=True), visit(0.7, [50] * 10, parts=5), 1e-3)
    assert costs.of(job(1 << 26)) == pytest.approx(0.25)


def test_a_cost_is_never_nothing():
    costs = VisitCosts()
    costs.learn(job(1 << 26), visit(0.9, [100] * 10), 1e-3)
    assert costs.of(job(1 << 26)) > 0.0


def test_small_points_cost_the_same_whatever_large_ones_do():
    costs = VisitCosts()
    costs.learn(job(LARGE), visit(1.0, [1]), 1e-3)
    costs.learn(job(1 << 26), visit(9.0, [1]), 1e-3)
    assert costs.of(job(1)) == costs.of(job(LARGE)) == pytest.approx(PER_BYTE_S * LARGE)


def test_a_visit_without_samples_teaches_nothing():
    costs = VisitCosts()
    costs.learn(job(1 << 26), visit(9.0, []), 1e-3)
    assert costs.of(job(1 << 26)) == pytest.approx(PER_BYTE_S * (1 << 26))


def test_the_last_check_is_no_part_of_a_sample():
    costs, large = VisitCosts(), job(1 << 30)
    costs.learn(large, visit(2.1, [100], setup=1.0), 1e-3)  # 1 s before and 1 s after one sample
    assert costs.of(large) == pytest.approx(2.1)
    assert costs.of(large, 6) == pytest.approx(2.6)


def test_stamps_are_part_of_a_sample():
    costs, large = VisitCosts(), job(1 << 30)
    costs.learn(large, visit(4.0, [100] * 10, setup=1.0), 1e-3)  # as long beside it as within
    assert costs.of(large, 20) == pytest.approx(6.0)


def test_a_small_point_that_is_dear_to_set_up_is_known_as_such():
    costs, dear, cheap = VisitCosts(), job(1), job(1)
    costs.learn(dear, visit(1.0, [1] * 10, setup=0.45), 1e-3)
    assert costs.of(dear) > 0.9
    assert costs.of(cheap) == pytest.approx(PER_BYTE_S * LARGE)
