"""The schedule of a job over link, kernel and host."""

from __future__ import annotations

import pytest

from isthmus.models.pipeline import Stages, Transfer, limit, total_s

ITEMS = 1000
LINK = Transfer(fixed=10e-6, data=328e-6)
SHARED = Transfer(fixed=10e-6, data=328e-6, beside=0.4)
NOTHING = Transfer()


def per_item(stages: Stages, sets: int) -> float:
    return total_s(stages, ITEMS, sets) / ITEMS


def test_one_set_is_the_sum_of_all_stages() -> None:
    stages = Stages(LINK, 232e-6, LINK, launch=33e-6, host_before=5e-6, host_after=6e-6)
    assert per_item(stages, 1) == pytest.approx(2 * 338e-6 + 232e-6 + 33e-6 + 11e-6)


@pytest.mark.parametrize(
    ("stages", "resource", "least"),
    [
        pytest.param(Stages(LINK, 232e-6, LINK, 33e-6), "link in", 328e-6, id="link"),
        pytest.param(Stages(LINK, 2e-3, LINK, 33e-6, 3e-6), "kernel", 2003e-6, id="kernel"),
        pytest.param(
            Stages(SHARED, 232e-6, SHARED, 33e-6), "both directions", 656e-6 / 1.4, id="bank"
        ),
        pytest.param(Stages(NOTHING, 100e-6, LINK, 33e-6), "link out", 328e-6, id="one-way"),
        pytest.param(
            Stages(LINK, 50e-6, LINK, 9e-6, overlaps=False), "host", 735e-6, id="processors"
        ),
    ],
)
def test_enough_sets_reach_the_limit(stages: Stages, resource: str, least: float) -> None:
    assert limit(stages) == (resource, pytest.approx(least))
    assert per_item(stages, 5) == pytest.approx(least, rel=0.02)
    times = [per_item(stages, sets) for sets in range(1, 6)]
    assert times == sorted(times, reverse=True) or max(times[2:]) < 1.01 * min(times)


def test_transfers_wait_for_a_channel() -> None:
    start = Transfer(fixed=10e-6)
    stages = Stages(start, 1e-6, start, channels=2)
    assert per_item(stages, 6) == pytest.approx(5e-6, rel=0.02), "two at once in each direction"
    assert per_item(Stages(start, 1e-6, start), 6) == pytest.approx(21e-6 / 6, rel=0.02)


def test_a_kernel_that_waits_starts_soon_after_the_one_before() -> None:
    stages = Stages(NOTHING, 10e-6, Transfer(fixed=9e-6), launch=33e-6, relaunch=3e-6)
    assert per_item(stages, 6) == pytest.approx(13e-6, rel=0.02)


def test_the_time_of_many_items_continues_that_of_few() -> None:
    stages = Stages(LINK, 232e-6, SHARED, 33e-6)
    for sets in (2, 3):
        one, more = total_s(stages, 240, sets), total_s(stages, 241, sets)
        assert more - one == pytest.approx(per_item(stages, sets), rel=0.05)
        assert total_s(stages, 2, sets) < 2 * stages.serial


def test_start_up_alone_needs_no_share_of_the_link() -> None:
    """A device that takes as long for any size has nothing to share, beside the other direction."""
    start = Transfer(fixed=2e-6, beside=0.0)
    assert per_item(Stages(start, 232e-6, LINK), 3) == pytest.approx(328e-6, rel=0.02)
    assert per_item(Stages(LINK, 232e-6, start), 3) == pytest.approx(328e-6, rel=0.02)
