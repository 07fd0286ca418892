"""Intervals over both levels cover what they claim; drift is told, steadiness is not slandered."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import synthetic
from isthmus.analysis.summary import (
    drifts,
    interval_over_reruns,
    interval_within,
    is_timer_bound,
    per_repetition,
    summarise,
)
from isthmus.results.run_file import Samples

TRIALS = 4000


@pytest.mark.parametrize("reruns", [3, 5, 10])
@pytest.mark.parametrize("shape", ["normal", "skewed"])
def test_the_interval_over_reruns_covers_the_centre(reruns: int, shape: str) -> None:
    random = np.random.default_rng(reruns)
    centre = 1e-5
    covered = 0
    for _ in range(TRIALS):
        processes = centre * np.exp(0.03 * random.normal(size=reruns))
        within = (
            random.normal(1.0, 0.05, (reruns, 101))
            if shape == "normal"
            else np.exp(0.2 * random.normal(size=(reruns, 101)))
        )
        medians = np.median(processes[:, None] * within, axis=1)
        found = interval_over_reruns(list(medians))
        covered += found.low <= centre <= found.high
    assert 0.93 <= covered / TRIALS <= 0.97


def test_drift_is_told() -> None:
    random = np.random.default_rng(1)
    steady = random.normal(1.0, 0.02, 400)
    assert drifts(steady * np.linspace(1.0, 1.1, 400), precision=0.02)
    assert drifts(steady * np.where(np.arange(400) < 200, 1.0, 1.05), precision=0.02)


def test_steady_series_are_not_called_drifting() -> None:
    random = np.random.default_rng(2)
    shapes = {
        "normal": lambda: random.normal(1.0, 0.02, 400),
        "skewed": lambda: np.exp(0.3 * random.normal(size=400)),
        "bimodal": lambda: (
            np.where(random.random(400) < 0.7, 1.0, 1.5) + random.normal(0, 0.02, 400)
        ),
    }
    for name, shape in shapes.items():
        alarms = sum(drifts(shape(), precision=0.02) for _ in range(1000))
        assert alarms <= 10, name


def test_drift_below_the_precision_asked_for_is_let_pass() -> None:
    random = np.random.default_rng(3)
    series = random.normal(1.0, 0.001, 400) * np.linspace(1.0, 1.01, 400)
    assert not drifts(series, precision=0.05)


def test_medians_of_zero_are_shown_and_flagged() -> None:
    changes = {"batch": 1, "intervals": 1}
    silent = synthetic.point("host", "read", 1, [[0.0] * 30] * 3, rerun_changes=changes)
    row = summarise(synthetic.run([silent])).iloc[0]
    assert row["median_s"] == 0.0
    assert "reruns_apart" in row["flags"].split(";")


def test_a_zero_copy_shows_below_64_mib_too():
    times = {1: 20.0e-6, 4096: 22.0e-6, 1 << 20: 21.0e-6, 16 << 20: 24.0e-6}
    points = [synthetic.point("a", "map", size, [[t] * 25]) for size, t in times.items()]
    assert summarise(synthetic.run(points))["flags"].str.contains("zero_copy").all()


def test_what_a_kernel_reaches_is_no_copy():
    points = [
        synthetic.point(
            "a", "read_bandwidth", s, [[t] * 25], study="hostmem", initiator="kernel",
            direction="h2d",
        )
        for s, t in ((1, 2.0e-5), (4096, 2.1e-5), (1 << 20, 1.9e-5))
    ]  # fmt: skip
    rows = summarise(synthetic.run(points))
    assert not rows["flags"].str.contains("zero_copy").any()
    assert rows["bandwidth_Bps"].gt(0).all()


def test_a_fast_link_is_no_zero_copy():
    # 12 us and 57 GB/s: 1 MiB takes no more than three times a byte's time, yet all of it moved.
    law = synthetic.Law(12e-6, 57e9)
    points = [
        synthetic.point("cuda:0", "write", size, [[law(size)] * 25])
        for size in (1, 4096, 1 << 20, 64 << 20)
    ]
    assert not summarise(synthetic.run(points))["flags"].str.contains("zero_copy").any()


def test_what_was_known_when_time_was_up_counts():
    """A series that the budget cut off between two looks has converged if its samples say so."""
    known, unknown = [1.0e-3, 1.001e-3] * 20, [1.0e-3, 2.0e-3] * 20
    cut_off = {"state": "budget"}
    points = [
        synthetic.point("a", "read", size, [known, last], rerun_changes=cut_off)
        for size, last in ((4, known), (8, unknown), (16, known[:5]))
    ]
    frame = summarise(synthetic.run(points))
    assert list(frame["converged"]) == [True, False, False]
    exhausted = [("budget_exhausted" in flags) for flags in frame["flags"]]
    assert exhausted == [False, True, True]


def test_empty_intervals_beside_the_samples_are_taken_off_instead_of_the_starts() -> None:
    """A pair of 5 ns halves, ten in a batch; the clock knew of empty pairs of 40 ns, not of 30."""
    empty, timed = round(300e-9 / synthetic.TICK_S), round(350e-9 / synthetic.TICK_S)
    known = msgspec.structs.replace(synthetic.CLOCK, empty_pair_s=40e-9)
    changes = {"batch": 10, "intervals": 10, "clock": known}
    plain = synthetic.rerun(0, [350e-9] * 30)
    samples = Samples([timed] * 30, synthetic.TICK_S, empty_ticks=[empty] * 30)
    beside = msgspec.structs.replace(plain, clocks={"host": samples}, **changes)
    assert np.median(per_repetition(beside)) == pytest.approx(5e-9)
    assert is_timer_bound(beside)
    without = msgspec.structs.replace(plain, **changes)
    assert np.median(per_repetition(without)) == 0.0


def test_a_coarse_device_clock_fakes_no_certainty() -> None:
    """One step of the clock is half of what it timed: equal readings know no better."""
    seconds = [2e-6] * 24 + [3e-6]
    coarse = synthetic.rerun(0, seconds, clock="device")
    found = interval_within(coarse, "device")
    assert found.high - found.low == pytest.approx(1e-6)


def test_what_the_budget_left_out_says_so():
    seen = synthetic.point("a", "read", 4, [[1e-3] * 30] * 2)  # of three workers
    unseen = synthetic.point("a", "read", 8, [])
    whole = synthetic.point("a", "read", 16, [[1e-3] * 30] * 3)
    run = msgspec.structs.replace(synthetic.run([seen, unseen, whole]), status="budget")
    frame = summarise(run)
    assert "budget_exhausted" in frame["flags"][0].split(";")
    assert list(frame["converged"]) == [False, False, True]
    assert frame["flags"][2] == ""
    assert frame["flags"][1] == "budget_exhausted;not_measured"


def test_a_rate_that_no_link_has_is_a_zero_copy_however_the_small_ones_vary():
    points = [
        synthetic.point("a", "map", size, [[t] * 25])
        for size, t in ((4096, 20e-6), (1 << 20, 30e-6), (256 << 20, 90e-6))
    ]
    assert summarise(synthetic.run(points))["flags"].str.contains("zero_copy").all()
