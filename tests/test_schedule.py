"""Who is visited when time is short. The clock is one of its own: each visit takes what it says."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from isthmus.measure import schedule
from isthmus.measure.costs import FIRST_LOOK, LARGE, VisitCosts
from isthmus.measure.protocol import Measured, Noise, Part
from isthmus.measure.runner import Job, Open
from isthmus.measure.schedule import Schedule
from isthmus.studies.base import Task

PRECISION = 0.05
SMALL = 4096
EXACT = [100] * 25
APART = [100, 108] * 20
"""Half of the interval is 8 %: to be certain takes 1.6 times as many more."""
WIDE = [100, 150] * 20


class Machine:
    """Runs a schedule: ``visit`` says what each visit brings, and how long it takes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.costs = VisitCosts()
        self.visited: list[Open] = []
        monkeypatch.setattr(schedule, "time", SimpleNamespace(monotonic=lambda: self.now))

    def run(
        self,
        works: list[Open],
        visit: Callable[[Open, float], tuple[list[int], float]],
        until: float,
        reruns_left: int = 1,
        seed: int = 1,
    ) -> None:
        """Points whose samples are all the same are done."""
        still = dict.fromkeys(works)
        order = random.Random(seed)
        plan = Schedule(still, self.costs, PRECISION, reruns_left, order, self.now + until)
        for work, most_s in plan.visits():
            assert most_s > 0
            ticks, seconds = visit(work, most_s)
            part = Part(ticks=ticks, device_seconds=[], cold=None, moved_bytes=0)
            setup = seconds - 1e-6 * sum(ticks)
            block = Measured([part], 1, 1, "true", "", Noise(), setup, seconds, "open")
            self.now += seconds
            self.visited.append(work)
            work.add(block, 0.95)
            work.job.visits += 1
            self.costs.learn(work.job, block, 1e-6)
            if len(set(ticks)) == 1:
                del still[work]

    def count(self, work: Open) -> int:
        return sum(other is work for other in self.visited)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def point(size: int, operation: str = "read", device: str = "host") -> Open:
    found = SimpleNamespace(address=device, description=SimpleNamespace(simulated=False))
    task = Task(operation, size, "aligned", {}, {})
    return Open(Job(found, task), 0)  # type: ignore[arg-type]


def test_small_points_come_first_and_once_each_in_an_order_of_the_seed(machine: Machine) -> None:
    small = [point(SMALL, f"small {i}") for i in range(8)]
    large = point(2 * LARGE)
    machine.run([large, *small], lambda _w, _s: (EXACT, 0.3), 60.0)
    assert machine.visited[-1] is large
    assert set(machine.visited[:-1]) == set(small)
    first = machine.visited[:-1]
    machine.visited.clear()
    again = [point(SMALL, work.job.task.operation) for work in small]
    machine.run(again, lambda _w, _s: (EXACT, 0.3), 60.0, seed=2)
    names = [[work.job.task.operation for work in some] for some in (first, machine.visited)]
    assert names[0] != names[1]


def test_what_is_soon_certain_goes_before_what_takes_long(machine: Machine) -> None:
    near, far = point(SMALL, "near"), point(SMALL, "far")

    def visit(work: Open, _s: float) -> tuple[list[int], float]:
        return (APART if work is near else WIDE), 0.4

    machine.run([near, far], visit, 4.0)
    assert machine.count(near) > machine.count(far) >= 1


def test_every_point_is_seen_although_others_never_end(machine: Machine) -> None:
    endless = [point(SMALL, f"endless {i}") for i in range(10)]
    largest = [point(256 << 20, f"large {i}") for i in range(4)]

    def visit(work: Open, most_s: float) -> tuple[list[int], float]:
        return WIDE, 0.1 if work in endless else max(0.2, min(0.4, most_s))

    machine.run([*endless, *largest], visit, 6.0)
    assert all(machine.count(work) >= 1 for work in [*endless, *largest])
    assert machine.now == pytest.approx(6.0, abs=0.5)


def test_reruns_share_the_points_that_none_has_seen(machine: Machine) -> None:
    endless = point(SMALL)
    first = endless.job
    largest = [point(256 << 20, f"large {i}") for i in range(6)]
    seen: list[int] = []
    for reruns_left in (3, 2, 1):
        endless, *largest = [Open(work.job, 0) for work in (endless, *largest)]

        def visit(work: Open, _s: float) -> tuple[list[int], float]:
            return WIDE, 0.1 if work.job is first else 0.3

        machine.run([endless, *largest], visit, 1.2, reruns_left)
        seen.append(sum(work.job.visits > 0 for work in largest))
    assert seen == [2, 4, 6]


def test_a_point_that_cannot_be_certain_any_more_waits_for_others(machine: Machine) -> None:
    works = [point(2 * LARGE, f"point {i}") for i in range(12)]
    for work in works:
        work.job.visits = 1
    lost = works[::2]
    for work in lost:
        work.job.left_uncertain = True
    machine.run(works, lambda _w, _s: (EXACT, 0.2), 60.0)
    assert set(machine.visited[6:]) == set(lost)


def test_no_visit_is_begun_that_can_bring_no_interval(machine: Machine) -> None:
    work = point(256 << 20)
    work.job.visits = 1
    machine.run([work], lambda _w, _s: (WIDE, 0.5), 0.1)
    assert not machine.visited


def test_without_time_nobody_is_visited(machine: Machine) -> None:
    machine.run([point(SMALL), point(2 * LARGE)], lambda _w, _s: (EXACT, 0.1), 0.0)
    assert not machine.visited


def test_what_is_compared_shares_a_horizon(machine: Machine) -> None:
    steady, noisy = (point(SMALL, "copy", device) for device in ("host", "opencl:pocl"))
    other = point(SMALL, "other")

    def visit(work: Open, _s: float) -> tuple[list[int], float]:
        return (WIDE if work is noisy else APART), 0.4

    machine.run([steady, noisy, other], visit, 4.0)
    assert machine.count(other) > machine.count(steady)


def test_small_points_that_no_rerun_has_seen_go_first(machine: Machine) -> None:
    works = [point(SMALL, f"small {i}") for i in range(30)]
    for work in works[:25]:
        work.job.visits = 1
    machine.run(works, lambda _w, _s: (EXACT, 0.1), 0.5)
    assert set(machine.visited) == set(works[25:])


def test_a_median_of_nothing_is_no_reason_to_come_back_first(machine: Machine) -> None:
    nothing = [point(SMALL, f"nothing {i}") for i in range(5)]
    near = point(SMALL, "near")

    def visit(work: Open, _s: float) -> tuple[list[int], float]:
        return ([0, 0, 0, 1] * 10 if work in nothing else APART), 0.05

    machine.run([*nothing, near], visit, 2.0)
    assert machine.count(near) > 1


def test_samples_missing_until_certain() -> None:
    work = point(SMALL)
    assert work.samples_missing(PRECISION) == FIRST_LOOK

    def take(ticks: list[int]) -> None:
        part = Part(ticks=ticks, device_seconds=[], cold=None, moved_bytes=0)
        work.add(Measured([part], 1, 1, "true", "", Noise(), 0.1, 0.2, "open"), 0.95)
        work.job.visits += 1

    take([100, 101])
    assert work.samples_missing(PRECISION) == FIRST_LOOK - 2
    take(WIDE)
    assert work.samples_missing(PRECISION) > 10 * len(WIDE)
    work.drop_blocks()
    assert work.samples_missing(PRECISION) == FIRST_LOOK
    assert work.job.visits == 0
    take(EXACT)
    assert work.half_width == 0.0


def test_of_a_joint_point_the_slowest_rank_counts() -> None:
    work = point(SMALL)
    work.job.task = Task("exchange", SMALL, "aligned", {}, {}, joint=True)
    whole, own = (
        Part(ticks=ticks, device_seconds=[], cold=None, moved_bytes=0) for ticks in (EXACT, WIDE)
    )
    work.add(Measured([whole, own], 1, 1, "true", "", Noise(), 0.1, 0.2, "open"), 0.95)
    assert work.half_width == 0.0
