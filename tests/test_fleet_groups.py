"""Machines that ``fleet`` names where a third, half or more of the machines are slow."""

from __future__ import annotations

import pytest

from isthmus.analysis.fleet import inspect
from isthmus.reporters.fleet import FORMATS
from test_fleet import NODE_SIZES, longer, machines, part_slower, slow_of


def test_machines_with_different_faults_are_no_group() -> None:
    faults = {
        1: ("write", NODE_SIZES[2:]), 3: ("read", NODE_SIZES[2:]), 5: ("read", NODE_SIZES[:2]),
    }  # fmt: skip
    runs = machines(8, {})
    for place, (operation, sizes) in faults.items():
        name, run = runs[place]
        runs[place] = name, part_slower(run, 1.6, operation, sizes)
    fleet = inspect(runs)
    assert sorted(slow_of(fleet)) == ["node001", "node003", "node005"]
    assert fleet.group is None
    assert "two groups" not in FORMATS["summary"](fleet)
    alike = inspect(machines(8, dict.fromkeys((1, 3, 5), 1.6)))
    assert alike.group == (3, 5)


@pytest.mark.parametrize("share", [0.5, 0.4])
def test_where_half_are_slow_these_are_named_and_not_all(share: float) -> None:
    slow = dict.fromkeys(range(round(share * 20)), 1.25)
    before, now = machines(20, {}), machines(20, slow, seed=1)
    for fleet in (inspect(now), inspect(now, baseline=before)):
        assert sorted(slow_of(fleet)) == [f"node{i:03}" for i in slow]
        first = FORMATS["summary"](fleet).splitlines()[0]
        assert f"{len(slow)} of 20 machines are slower than {20 - len(slow)} others" in first
        assert not fleet.shifts


@pytest.mark.parametrize("count", [6, 8, 12])
def test_half_that_are_slow_in_all_quantities_are_named(count: int) -> None:
    runs = machines(count, {})
    slow = [(name, longer(run, 1.4)) for name, run in runs[: count // 2]]
    fleet = inspect([*slow, *runs[count // 2 :]])
    assert sorted(slow_of(fleet)) == [f"node{i:03}" for i in range(count // 2)]
    assert fleet.group == (count // 2, count // 2)
    assert [len(one.outliers) for one in fleet.of("slow")] == [4] * (count // 2)


def test_more_than_half_that_are_slow_have_their_own_ratios() -> None:
    runs = machines(8, {})
    fleet = inspect([*((name, longer(run, 1.4)) for name, run in runs[:5]), *runs[5:]])
    assert fleet.group == (5, 3)
    ratios = [one.ratio for node_ in fleet.of("slow") for one in node_.outliers]
    assert len(ratios) == 20
    assert all(ratio == pytest.approx(1.4, rel=0.1) for ratio in ratios)
