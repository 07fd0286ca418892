"""Answers against runs whose truth is known."""

from __future__ import annotations

import re

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.analysis.context import RunContext, answers
from isthmus.analysis.findings import findings
from isthmus.analysis.ratios import Pair, by_size, pairs, ratio
from isthmus.analysis.summary import medians, summarise
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.statistics import simultaneous
from isthmus.statistics.fits import NO_LAW, alpha_beta, curve, half_bandwidth
from synthetic import Law, answer, point, rerun, run, transfer_run

SIZES = [1 << power for power in range(0, 31, 3)]
SLOW, FAST = Law(15e-6, 8e9), Law(5e-6, 8e9)


def two_devices(**changes) -> Run:
    laws = {"opencl:a": {"read": SLOW}, "xrt:0": {"read": FAST}}
    return transfer_run(laws, SIZES, **changes)


# Fits


def pairs_of(measured: Run) -> list[Pair]:
    return pairs(measured, medians(measured, "transfer"))


@given(
    alpha=st.floats(1e-8, 1e-3),
    beta=st.floats(1e6, 1e11),
    error=st.lists(st.floats(-0.01, 0.01), min_size=11, max_size=11),
)
def test_alpha_beta_recovers_the_law_within_its_error(alpha, beta, error):
    law = Law(alpha, beta)
    # Sizes around alpha * beta, where both parts of the law can be seen.
    sizes = [alpha * beta * 4.0**k for k in range(-5, 6)]
    times = [law(size) * (1 + e) for size, e in zip(sizes, error, strict=True)]
    fit = alpha_beta(sizes, times)
    assert fit.alpha.value == pytest.approx(alpha, rel=0.03)
    assert fit.beta.value == pytest.approx(beta, rel=0.03)
    assert abs(fit.worst_residual) < 0.03
    for ends in (fit.alpha, fit.beta):
        assert ends.low <= ends.value <= ends.high


def test_alpha_beta_intervals_cover_the_truth_as_often_as_they_say():
    random = np.random.default_rng(3)
    sizes = np.array([2.0**k for k in range(0, 31, 2)])
    truth = SLOW.alpha_s + sizes / SLOW.beta_Bps
    covered = np.zeros(2)
    for _ in range(300):
        fit = alpha_beta(sizes, truth * (1 + 0.02 * random.standard_normal(len(sizes))))
        covered += (
            fit.alpha.low <= SLOW.alpha_s <= fit.alpha.high,
            fit.beta.low <= SLOW.beta_Bps <= fit.beta.high,
        )
    # Binomial(300, 0.95): 0.9 to 0.99 is beyond three standard deviations either way.
    assert np.all((covered / 300 > 0.9) & (covered / 300 < 0.99))


def test_alpha_beta_names_the_point_that_fits_worst():
    times = [FAST(size) for size in SIZES]
    times[4] *= 1.5
    fit = alpha_beta(SIZES, times)
    assert fit.worst_at == 4
    assert fit.worst_residual < -0.2


@given(st.lists(st.tuples(st.floats(0, 1e10), st.just(0.0) | st.floats(1e-12, 10)), max_size=8))
def test_alpha_beta_is_never_negative_and_never_raises(data):
    fit = alpha_beta([size for size, _ in data], [time for _, time in data])
    if fit is not None:
        assert fit.points >= 3
        assert fit.alpha.low >= 0
        assert fit.beta.value > 0


@pytest.mark.parametrize("sizes", [[], [1], [1, 2], [8, 8, 8]])
def test_alpha_beta_needs_three_points_of_different_sizes(sizes):
    assert alpha_beta(sizes, [1e-6] * len(sizes)) is None


WAYS = [Law(5e-6, 3e9), Law(20e-6, 12e9), Law(100e-6, 24e9)]
WHOLE = [2.0**k for k in range(32)]


def _with_ways(ways: list[Law], cuts: list[float], scatter: float, seed: int) -> list[float]:
    """Times of a runtime that goes the next way from each of these sizes on."""
    random = np.random.default_rng(seed)
    chosen = [ways[sum(size >= cut for cut in cuts)] for size in WHOLE]
    noise = np.exp(scatter * random.standard_normal(len(WHOLE)))
    return [law(size) * error for law, size, error in zip(chosen, WHOLE, noise, strict=True)]


@pytest.mark.parametrize("cuts", [[], [2.0**14], [2.0**10, 2.0**26]])
@pytest.mark.parametrize("scatter", [0.0, 0.03])
def test_a_curve_has_a_line_for_each_way_of_the_runtime(cuts, scatter):
    fitted = curve(WHOLE, _with_ways(WAYS, cuts, scatter, seed=7))
    assert fitted.fits
    assert [line.smallest for line in fitted.lines] == [1.0, *cuts]
    for line, law in zip(fitted.lines, WAYS, strict=False):
        for known, true in ((line.alpha, law.alpha_s), (line.beta, law.beta_Bps)):
            assert known.low <= 1.05 * true
            assert known.high >= 0.95 * true
    for size in (WHOLE[0], WHOLE[12], WHOLE[-1]):
        law = WAYS[sum(size >= cut for cut in cuts)]
        assert fitted.seconds(size) == pytest.approx(law(size), rel=0.1)


def test_scatter_alone_makes_no_second_way():
    lines = [len(curve(WHOLE, _with_ways(WAYS, [], 0.05, seed)).lines) for seed in range(60)]
    assert lines.count(1) >= 55  # 98.5 % (benchmarks/curves.py)


def test_a_series_that_no_line_describes_is_told_as_such():
    times = [WAYS[0](size) * (1 + (k % 2)) for k, size in enumerate(WHOLE)]
    points = [point("a", "write", int(s), [[t] * 25]) for s, t in zip(WHOLE, times, strict=True)]
    assert not curve(WHOLE, times).fits
    assert set(answer(run(points), "fits").table["note"]) == {"no curve fits"}
    assert any("follows no line" in one.sentence for one in findings(run(points)))


def test_a_curve_is_told_as_start_up_time_and_rate_with_intervals():
    times = _with_ways(WAYS, [], 0.01, seed=1)
    points = [point("a", "write", int(s), [[t] * 25]) for s, t in zip(WHOLE, times, strict=True)]
    (said,) = [one for one in findings(run(points)) if one.remark == "start-up"]
    figures = r"^Copy to device: [45]\.\d\d us \(.* to .*\) plus 1 ns per [23]\.\d\d B \("
    assert re.search(figures, said.sentence)
    assert said.interval.low <= WAYS[0].alpha_s <= said.interval.high


def test_half_bandwidth_of_a_law_is_alpha_times_beta():
    sizes = [2.0**k for k in range(31)]
    size, rising = half_bandwidth(sizes, [size / SLOW(size) for size in sizes])
    assert size.value == pytest.approx(SLOW.alpha_s * SLOW.beta_Bps, rel=0.05)
    assert size.low < size.value < size.high == 2 * size.low
    assert not rising


def test_half_bandwidth_says_when_it_is_only_a_bound():
    assert half_bandwidth([1024, 2048], [9e9, 10e9]) == ((1024, 0, 1024, 0.95), True)
    assert half_bandwidth([1024, 2048], [10e9, 10e9])[1] is False
    assert half_bandwidth([], []) is None
    assert half_bandwidth([1024], [np.nan]) is None


def test_half_bandwidth_lies_between_the_sizes_that_show_it():
    def half_size(sizes: list[int], rates: list[float]) -> pd.Series:
        times = [size / rate for size, rate in zip(sizes, rates, strict=True)]
        points = [point("a", "read", s, [[t] * 25]) for s, t in zip(sizes, times, strict=True)]
        return answer(run(points), "half").table.iloc[0]

    ends = ["low_half_bytes", "high_half_bytes"]
    assert half_size([64, 128, 256], [1e9, 9e9, 9e9])[ends].tolist() == [64, 128]
    assert half_size([64, 1 << 18, 1 << 20], [1e9, 9e9, 9e9])[ends].tolist() == [64, 1 << 18]
    rising = half_size([64, 128], [1e9, 4e9])
    assert rising["half_bytes"] == pytest.approx(90, abs=1)
    assert rising["note"] == "still rising at the largest size"
    assert half_size([64, 128], [9e9, 9e9])[ends].tolist() == [0, 64]


def test_how_far_a_series_is_off_the_law_is_told():
    def worst(times: list[float]) -> float:
        points = [point("a", "read", 4**i, [[t] * 25]) for i, t in enumerate(times)]
        return abs(answer(run(points), "fits").table["worst_residual"].iloc[0])

    assert worst([FAST(4**i) for i in range(8)]) < 0.01
    assert worst([1e-6, 9e-6, 1e-6, 9e-6, 1e-6, 9e-6, 1e-6, 9e-6]) > NO_LAW


# Ratios


def test_small_ratio_covers_the_truth():
    row = answer(two_devices(), "small").table.iloc[0]
    assert (row["device"], row["reference"]) == ("xrt:0", "opencl:a")
    small = [size for size in SIZES if size <= 4096]
    truth = np.exp(np.mean([np.log(FAST(size) / SLOW(size)) for size in small]))
    assert row["low_time_ratio"] < truth < row["high_time_ratio"]
    assert row["high_time_ratio"] - row["low_time_ratio"] < 0.05
    assert row["sizes"] == len(small)
    assert row["reruns"] == 3
    assert not row["within"]
    assert row["finding"] == "faster"


def test_ratio_interval_covers_as_often_as_it_says():
    hits = 0
    for seed in range(200):
        laws = {"a": {"read": SLOW}, "b": {"read": SLOW}}
        measured = transfer_run(laws, [64], samples=3, between=0.05, noise=1e-6, seed=seed)
        estimate = ratio(pairs_of(measured)[0].times, 0.95).interval
        hits += estimate.low <= 1.0 <= estimate.high
    assert 0.9 < hits / 200 < 0.99


def test_what_both_devices_suffer_in_a_rerun_cancels():
    slowdowns = [1.0, 1.5, 2.0]
    points = [
        point(device, "read", 64, [[base * s] * 25 for s in slowdowns])
        for device, base in (("a", 2e-6), ("b", 1e-6))
    ]
    estimate = ratio(pairs_of(run(points))[0].times, 0.95).interval
    assert estimate.value == pytest.approx(0.5)
    assert estimate.high - estimate.low < 1e-5


def test_one_rerun_combines_both_intervals_and_says_within():
    result = answer(two_devices(reruns=1, between=0.0), "small")
    row = result.table.iloc[0]
    assert row["within"]
    assert row["low_time_ratio"] < row["time_ratio"] < row["high_time_ratio"]
    times = pairs_of(two_devices(reruns=1))[0].times
    assert (times["up"] > 0).all()
    assert (times["down"] > 0).all()


def test_only_reruns_that_both_have_are_compared():
    a = point("a", "read", 64, [[1e-6] * 25, [9e-6] * 25])
    b = point("b", "read", 64, [[2e-6] * 25])
    estimate = ratio(pairs_of(run([a, b]))[0].times, 0.95)
    assert estimate.interval.value == pytest.approx(2.0)
    assert estimate.within


def test_a_size_that_lacks_reruns_does_not_weigh_on_the_others():
    points = [
        point(device, "read", size, [[base] * 25] * (3 if size == 64 else 1))
        for device, base in (("a", 1e-6), ("b", 2e-6))
        for size in (64, 128)
    ]
    estimate = ratio(pairs_of(run(points))[0].times, 0.95)
    assert (estimate.sizes, estimate.reruns) == (1, 3)


@pytest.mark.parametrize("verified", ["false", "na"])
def test_points_without_proof_are_in_no_ratio_and_no_peak(verified):
    points = [
        point(device, "read", 64, [[1e-6] * 25] * 3, rerun_changes={"verified": verdict})
        for device, verdict in (("a", "true"), ("b", verified))
    ]
    assert pairs_of(run(points)) == []
    assert set(answer(run(points), "peaks").table["device"]) == {"a"}


def test_one_rerun_that_lost_data_spoils_the_point():
    good = point("a", "read", 64, [[1e-6] * 25] * 3)
    bad = point("b", "read", 64, [[1e-6] * 25] * 2)
    bad = msgspec.structs.replace(
        bad, reruns=[*bad.reruns, rerun(2, [1e-6] * 25, verified="false")]
    )
    assert pairs_of(run([good, bad])) == []


@pytest.mark.parametrize("clock", ["device", "simulated", "hybrid"])
def test_clock_domains_are_never_mixed(clock):
    a = point("a", "read", 64, [[1e-6] * 25] * 3)
    b = point("b", "read", 64, [[2e-6] * 25] * 3, rerun_changes={"clock": clock})
    assert pairs_of(run([a, b])) == []
    assert medians(run([b]), "transfer").empty


def test_different_depths_are_not_compared_but_different_sole_memories_are():
    a = point("a", "read", 64, [[1e-6] * 25] * 3)
    deep = point("b", "read", 64, [[2e-6] * 25] * 3, axes={"depth": 8, "bank": 0})
    own = point("b", "read", 64, [[2e-6] * 25] * 3, memory="alloc_host")
    assert pairs_of(run([a, deep])) == []
    assert [str(pair.memories) for pair in pairs_of(run([a, own]))] == ["alloc_host / pageable"]


def test_a_memory_copy_is_compared_but_is_no_device_to_speak_of():
    laws = {"host": {"read": FAST}, "a": {"read": SLOW}, "b": {"read": FAST}}
    measured = transfer_run(laws, SIZES, apis={"host": "host"})
    context = RunContext.of(measured).of_study("transfer")
    assert len(context.pairs) == 3
    assert [device in context.reported for device in ("host", "a", "b")] == [False, True, True]


@settings(max_examples=20)
@given(st.floats(0.2, 5), st.integers(0, 1000))
def test_ratio_does_not_depend_on_the_order_of_the_devices(factor, seed):
    laws = {"a": {"read": SLOW}, "b": {"read": Law(SLOW.alpha_s * factor, SLOW.beta_Bps)}}
    forth = transfer_run(laws, [16], seed=seed)
    back = msgspec.structs.replace(forth, points=forth.points[::-1])
    one, other = (ratio(pairs_of(r)[0].times, 0.95) for r in (forth, back))
    assert one.interval.value == pytest.approx(1 / other.interval.value)
    assert one.interval.low == pytest.approx(1 / other.interval.high)
    assert one.inverse().interval.high == pytest.approx(other.interval.high)


# Where devices become alike


def alike(second: Law) -> Run:
    """Two devices whose reruns differ by 1 % in turns, so that equal laws stay equal."""
    spreads = {"a": (1.0, 1.01, 0.99), "b": (1.01, 0.99, 1.0)}
    return run(
        [
            point(device, "read", size, [[law(size) * f] * 25 for f in spreads[device]])
            for device, law in (("a", SLOW), ("b", second))
            for size in SIZES
        ]
    )


def test_indistinguishable_from_the_size_where_the_rate_takes_over():
    measured = alike(FAST)
    each = by_size(pairs_of(measured)[0].times, simultaneous(0.95, len(SIZES)))
    row = answer(measured, "indistinguishable").table.iloc[0]
    assert row["found"] == "from"
    assert SLOW.alpha_s * SLOW.beta_Bps < row["bytes"] < SIZES[-1]
    inside = each[each["bytes"] >= row["bytes"]]
    assert ((inside["low"] <= 1) & (inside["high"] >= 1)).all()
    before = each[each["bytes"] < row["bytes"]].iloc[-1]
    assert not before["low"] <= 1 <= before["high"]
    widest = max(inside["high"].max(), (1 / inside["low"]).max())
    assert row["resolved_share"] == pytest.approx(widest - 1)


def test_indistinguishable_never_and_always():
    never = answer(alike(Law(SLOW.alpha_s * 2, SLOW.beta_Bps / 2)), "indistinguishable")
    assert never.table["found"].tolist() == ["never"]
    assert never.table["largest_bytes"].tolist() == [1 << 30]
    always = answer(alike(SLOW), "indistinguishable")
    assert always.table["found"].tolist() == ["all"]


# Throttling


def throttled(factor: float, **changes) -> Run:
    slower = Law(SLOW.alpha_s * factor, SLOW.beta_Bps / factor)
    laws = {"a": {"write": SLOW, "write_rw": slower}}
    return transfer_run(laws, SIZES, between=0.002, noise=0.002, **changes)


def verdicts(of: Run) -> list[str]:
    return answer(of, "throttle").table["verdict"].tolist()


def test_throttling_is_measured():
    result = answer(throttled(1.2), "throttle")
    assert all(verdict.startswith("yes, by ") for verdict in result.table["verdict"])
    assert result.table["time_ratio"].tolist() == pytest.approx([1.2, 1.2], rel=0.01)
    assert ((result.table["low_time_ratio"] < 1.2) & (result.table["high_time_ratio"] > 1.2)).all()
    assert set(result.table["reference"]) == {"write"}


def test_throttling_absent_reversed_or_unknown():
    same = [point("a", op, 64, [[1e-6, 1.01e-6] * 15] * 3) for op in ("write", "write_rw")]
    assert verdicts(run(same)) == ["no difference"]
    assert all(verdict.startswith("no, ") for verdict in verdicts(throttled(0.8)))
    wild = [
        point("a", op, 64, [[1e-6 * f] * 25 for f in factors])
        for op, factors in (("write", (1, 2, 3)), ("write_rw", (3, 2, 1)))
    ]
    assert verdicts(run(wild)) == ["cannot tell"]
    assert not answer(two_devices(), "throttle").has_rows


# Peaks, ceiling, partial runs


def test_peaks_name_the_size_and_leave_out_what_has_no_bandwidth():
    fast = point("a", "read", 4096, [[1e-6] * 25] * 3)
    slow = point("a", "read", 8192, [[4e-6] * 25] * 3)
    failed = point("a", "write", 8192, [], error="it broke")
    launch = point("a", "launch", 0, [[1e-6] * 25] * 3, moved_bytes=0)
    table = answer(run([fast, slow, failed, launch]), "peaks").table
    assert table["operation"].tolist() == ["read"]
    assert table["bytes"].tolist() == [4096]
    assert table["bandwidth_Bps"].tolist() == pytest.approx([4.096e9])


def test_zero_copies_have_no_peak():
    points = [point("a", "map", size, [[1e-6] * 25] * 3) for size in (64, 4096, 1 << 20, 1 << 28)]
    assert summarise(run(points)).to_pandas()["flags"].str.contains("zero_copy").all()


def test_what_stays_on_the_device_may_be_fast():
    points = [
        point("a", "kernel_read", size, [[t] * 25] * 3)
        for size, t in ((4096, 7e-6), (1 << 20, 8e-6))
    ]
    assert not summarise(run(points)).to_pandas()["flags"].str.contains("zero_copy").any()


def test_simulated_peaks_are_kept_apart():
    board = point("a", "read", 4096, [[2e-6] * 25] * 3)
    card = point("card:x", "read", 4096, [[1e-6] * 25] * 3, rerun_changes={"clock": "simulated"})
    devices = [
        DeviceRecord(address="a", backend="a", real=True),
        DeviceRecord(address="card:x", backend="card", real=False),
    ]
    result = answer(run([board, card], devices=devices), "peaks")
    assert set(result.table["clock"]) == {"host", "simulated"}


def test_share_of_the_memory_copy():
    copy, board = Law(1e-7, 10e9), Law(1e-5, 5e9)
    laws = {"host": {"read": copy}, "host:b": {"read": SLOW}, "a": {"read": board}}
    measured = transfer_run(laws, SIZES, apis={"host": "host", "host:b": "host"})
    table = answer(measured, "ceiling").table
    assert table["device"].tolist() == ["a"]
    assert table["reference"].tolist() == ["host"], "the faster copy is the ceiling"
    assert table["share"].tolist() == pytest.approx([0.5], rel=0.02)
    assert table["low_share"][0] < 0.5 < table["high_share"][0]


SINGLE_SERIES, COMPARED = {"peaks", "half"}, {"small", "indistinguishable"}
PARTIAL = {
    "no points": (run([]), set()),
    "one point": (run([point("a", "read", 64, [[1e-6] * 25] * 3)]), SINGLE_SERIES),
    "one sample": (run([point(d, "read", 64, [[1e-6]]) for d in "ab"]), SINGLE_SERIES),
    "no samples": (run([point(d, "read", 64, [[]]) for d in "ab"]), set()),
    "failed": (run([point(d, "read", 64, [], error="gone") for d in "ab"]), set()),
    "zero times": (run([point(d, "read", s, [[0.0] * 25]) for d in "ab" for s in SIZES]), set()),
    "no size": (
        run([point(d, "launch", 0, [[1e-6] * 25], memory="") for d in "ab"]),
        {"indistinguishable"},
    ),
    "other study": (
        run([point("a", "bandwidth", 64, [[1e-6] * 25], study="elsewhere")]),
        set(),
    ),
    "no device list": (
        run([point(d, "read", 64, [[1e-6] * 25] * 2) for d in "ab"], devices=[]),
        SINGLE_SERIES | COMPARED,
    ),
    "no axes": (
        run([point(d, "read", 64, [[1e-6] * 25] * 2, axes={}) for d in "ab"]),
        SINGLE_SERIES | COMPARED,
    ),
}


@pytest.mark.parametrize(("partial", "answered"), PARTIAL.values(), ids=PARTIAL.keys())
def test_partial_runs_answer_what_their_points_allow(partial, answered):
    assert {each.name for each in answers(partial) if each.has_rows} == answered


@pytest.mark.parametrize(("samples", "compared"), [(1, False), (5, False), (6, True), (25, True)])
def test_too_few_samples_for_an_interval_are_in_no_ratio(samples, compared):
    points = [point(d, "read", 1 << 20, [[t] * samples]) for d, t in (("a", 1e-4), ("b", 2e-4))]
    result = answer(run(points), "indistinguishable")
    assert result.has_rows == compared
    assert summarise(run(points)).to_pandas()["ci_low_s"].notna().all() == compared


def test_ratios_that_differ_from_size_to_size_have_their_range():
    laws = {"a": Law(1e-6, 1e12), "b": Law(1e-7, 1e9)}
    points = [
        point(device, "read", size, [[law(size)] * 25] * 3)
        for device, law in laws.items()
        for size in (1, 512, 4096)
    ]
    (row,) = answer(run(points), "small").table.itertuples()
    assert (row.least_ratio, row.most_ratio) == pytest.approx((0.101, 4.18), rel=0.01)


def test_an_interval_that_is_wide_says_what_difference_it_would_have_missed():
    points = [
        point(device, "read", 1 << 20, [[t] * 25 for t in times])
        for device, times in (("a", (1e-4, 2e-4, 4e-4)), ("b", (4e-4, 1e-4, 2e-4)))
    ]
    (row,) = answer(run(points), "indistinguishable").table.itertuples()
    assert row.resolved_share > 0.5
