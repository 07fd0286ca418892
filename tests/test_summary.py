"""Intervals over both levels cover what they claim; drift is told, steadiness is not slandered."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

import synthetic
from isthmus.analysis.context import answers
from isthmus.analysis.summary import (
    drifts,
    estimate,
    is_timer_bound,
    summarise,
)
from isthmus.results.run_file import Samples
from isthmus.statistics import LOOKS


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


@pytest.mark.parametrize("seconds", [0.0, 0.4e-9])
def test_what_the_clock_cannot_tell_has_no_bandwidth(seconds: float) -> None:
    """The synthetic clock steps by 1 ns. Few processes that saw nothing have no interval."""
    short = synthetic.point("host", "read", 1, [[seconds] * 30] * 3)
    longer = synthetic.point("host", "read", 2, [[1e-6] * 30] * 3)
    run = synthetic.run([short, longer])
    row = summarise(run).to_pandas().iloc[0]
    assert row["median_s"] == pytest.approx(seconds)
    assert row["ci_low_s"] == 0.0 or np.isnan(row["ci_low_s"])
    assert "below_clock_resolution" in row["flags"].split(";")
    assert not row["converged"]
    assert np.isnan(row["bandwidth_Bps"])
    for result in answers(run):
        assert 1 not in result.table.get("bytes", [2]), result.name


def test_a_zero_copy_shows_below_64_mib_too():
    times = {1: 20.0e-6, 4096: 22.0e-6, 1 << 20: 21.0e-6, 16 << 20: 24.0e-6}
    points = [synthetic.point("a", "map", size, [[t] * 25]) for size, t in times.items()]
    assert summarise(synthetic.run(points)).to_pandas()["flags"].str.contains("zero_copy").all()


def test_what_a_kernel_reaches_is_no_copy():
    points = [
        synthetic.point(
            "a", "read_bandwidth", s, [[t] * 25], study="hostmem", initiator="kernel",
            direction="h2d",
        )
        for s, t in ((1, 2.0e-5), (4096, 2.1e-5), (1 << 20, 1.9e-5))
    ]  # fmt: skip
    rows = summarise(synthetic.run(points)).to_pandas()
    assert not rows["flags"].str.contains("zero_copy").any()
    assert rows["bandwidth_Bps"].gt(0).all()


def test_a_fast_link_is_no_zero_copy():
    # 12 us and 57 GB/s: 1 MiB takes no more than three times a byte's time, yet all of it moved.
    law = synthetic.Law(12e-6, 57e9)
    points = [
        synthetic.point("cuda:0", "write", size, [[law(size)] * 25])
        for size in (1, 4096, 1 << 20, 64 << 20)
    ]
    assert not summarise(synthetic.run(points)).to_pandas()["flags"].str.contains("zero_copy").any()


def test_converged_is_what_the_interval_says() -> None:
    """However each process ended: the half-width is judged, and one process speaks for itself."""
    near, far = [1.0e-3, 1.001e-3, 1.002e-3], [1.0e-3, 1.1e-3, 1.2e-3]
    points = [
        synthetic.point("a", "read", size, [[m] * 30 for m in medians], rerun_changes={"state": s})
        for size, (medians, s) in enumerate(
            [(near, "budget"), (far, "precision"), (near[:1], "precision")], start=1
        )
    ]
    run = msgspec.structs.replace(synthetic.run(points), status="budget")
    frame = summarise(run).to_pandas()
    assert list(frame["converged"]) == [True, False, False]
    flags = [text.split(";") for text in frame["flags"]]
    # The second has all processes that it may have: more time would bring no more.
    assert ["budget_exhausted" in one for one in flags] == [False, False, True]
    assert ["reruns_apart" in one for one in flags] == [False, True, False]
    assert not any("host_varies" in one for one in flags), "a run without references"
    assert ["within" in one for one in flags] == [False, False, True]
    half = (frame["ci_high_s"] - frame["median_s"]) / frame["median_s"]
    assert (half[frame["converged"]] <= run.settings.precision).all()


@pytest.mark.parametrize("offload", [False, True])
@pytest.mark.parametrize("fixed", [0, 8])
def test_what_had_all_its_processes_is_not_told_to_lack_time(fixed: int, offload: bool) -> None:
    """The run ended by its time all the same: other points had too few."""
    most = fixed or LOOKS[-1]
    changes = {"state": "once" if offload else "visit"}
    points = [
        synthetic.point("a", "total", size, [[1e-3 * 1.05**n] for n in range(count)],
                        rerun_changes=changes)
        for size, count in ((4, most), (8, most - 1))
    ]  # fmt: skip
    run = msgspec.structs.replace(synthetic.run(points), status="budget")
    settings = msgspec.structs.replace(
        run.settings, reruns=0 if offload else fixed, repetitions=fixed
    )
    flags = (
        summarise(msgspec.structs.replace(run, settings=settings))
        .to_pandas()["flags"]
        .str.split(";")
    )
    assert ["budget_exhausted" in one for one in flags] == [False, True]
    assert ["reruns_apart" in one for one in flags] == [True, True]


def test_a_step_of_the_clock_is_the_least_that_an_interval_spans() -> None:
    """Processes that read the same on a coarse clock know no better than its step."""
    points = [synthetic.point("a", "read", 4, [[5e-9] * 30] * 6)]
    row = summarise(synthetic.run(points)).to_pandas().iloc[0]
    assert row["ci_high_s"] - row["ci_low_s"] == pytest.approx(1e-9)
    assert not row["converged"]


def test_empty_intervals_beside_the_samples_are_taken_off_instead_of_the_starts() -> None:
    """A pair of 5 ns halves, ten in a batch; the clock knew of empty pairs of 40 ns, not of 30."""
    empty, timed = round(300e-9 / synthetic.TICK_S), round(350e-9 / synthetic.TICK_S)
    known = msgspec.structs.replace(synthetic.CLOCK, empty_pair_s=40e-9)
    changes = {"batch": 10, "intervals": 10, "clock": known}
    plain = synthetic.rerun(0, [350e-9] * 30)
    samples = Samples([timed] * 30, synthetic.TICK_S, empty_ticks=[empty] * 30)
    paired = msgspec.structs.replace(plain, clocks={"host": samples}, **changes)
    assert np.median(paired.seconds("host")) == pytest.approx(5e-9)
    assert is_timer_bound(paired)
    without = msgspec.structs.replace(plain, **changes)
    assert np.median(without.seconds("host")) == 0.0


def test_a_coarse_device_clock_fakes_no_certainty() -> None:
    """One step of the clock is half of what it timed: equal readings know no better."""
    seconds = [2e-6] * 24 + [3e-6]
    coarse = synthetic.rerun(0, seconds, clock="device")
    result = estimate([coarse], "device")
    assert result.high - result.low == pytest.approx(1e-6)


def test_what_the_budget_left_out_says_so():
    seen = synthetic.point("a", "read", 4, [[1e-3] * 30, [1.1e-3] * 30])
    unseen = synthetic.point("a", "read", 8, [])
    whole = synthetic.point("a", "read", 16, [[1e-3] * 30] * 3)
    run = msgspec.structs.replace(synthetic.run([seen, unseen, whole]), status="budget")
    frame = summarise(run).to_pandas()
    assert "budget_exhausted" in frame["flags"][0].split(";")
    assert list(frame["converged"]) == [False, False, True]
    assert frame["flags"][2] == ""
    assert frame["flags"][1] == "budget_exhausted;not_measured"


def test_a_rate_that_no_link_has_is_a_zero_copy_however_the_small_ones_vary():
    points = [
        synthetic.point("a", "map", size, [[t] * 25])
        for size, t in ((4096, 20e-6), (1 << 20, 30e-6), (256 << 20, 90e-6))
    ]
    assert summarise(synthetic.run(points)).to_pandas()["flags"].str.contains("zero_copy").all()
