"""Intervals hold what they claim as often as they claim it, and no figure lies outside its own."""

from __future__ import annotations

import gzip
import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import synthetic
from isthmus.analysis.context import answers
from isthmus.analysis.summary import summarise
from isthmus.results.run_file import Run
from isthmus.statistics import (
    LOOKS,
    Interval,
    combined,
    enough,
    judge,
    location,
    over_processes,
    relevant,
    simultaneous,
    within_process,
)
from isthmus.student import student

Shape = Callable[[np.random.Generator, int], np.ndarray]
TRIALS = 1000
MOST = LOOKS[-1]
SPREAD = 0.05


def _outliers(random: np.random.Generator, count: int) -> np.ndarray:
    """One process in ten is slower by a fifth to twice: median of all moved by ``_SHIFT``."""
    slow = random.random(count) < 0.1
    return SPREAD * random.standard_normal(count) + slow * random.uniform(0.2, 0.7, count)


def _drift(random: np.random.Generator, count: int) -> np.ndarray:
    """Slower or faster from process to process, by twice the spread between first and last."""
    ramp = np.linspace(-SPREAD, SPREAD, count) * random.choice([-1, 1])
    return SPREAD * random.standard_normal(count) + ramp


def stops(medians: Sequence[float], precision: float, looks: Sequence[int] = LOOKS) -> bool:
    """What the runner's rule says of a row of these processes."""
    return enough(len(medians), lambda: over_processes(medians).half_width, precision, looks)


SHAPES: dict[str, tuple[Shape, float]] = {
    "normal": (lambda random, count: SPREAD * random.standard_normal(count), 0.0),
    "heavy tails": (lambda random, count: SPREAD * random.standard_t(3, count), 0.0),
    "outliers": (_outliers, SPREAD * 0.139),  # of the normal part, its quantile 0.5 / 0.9
    "drift": (_drift, 0.0),
}


@pytest.mark.parametrize("count", [3, 6, 12, 30])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_interval_over_processes_holds_their_median(shape: str, count: int) -> None:
    logs, centre = SHAPES[shape]
    random = np.random.default_rng(count)
    estimate = (over_processes(np.exp(logs(random, count)).tolist()) for _ in range(TRIALS))
    covered = sum(one.low <= math.exp(centre) <= one.high for one in estimate)
    assert 0.93 <= covered / TRIALS <= 0.99


@pytest.mark.parametrize("shape", ["normal", "outliers"])
@pytest.mark.parametrize("precision", [0.05, 0.02])
def test_stopping_where_it_is_precise_costs_no_coverage(shape: str, precision: float) -> None:
    """Processes are added until the interval is narrow enough, as the runner does."""
    logs, centre = SHAPES[shape]
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(TRIALS):
        medians = np.exp(logs(random, MOST)).tolist()
        looks = (n for n in range(3, MOST + 1) if stops(medians[:n], precision))
        estimate = over_processes(medians[: next(looks, MOST)])
        covered += estimate.low <= math.exp(centre) <= estimate.high
    assert 0.92 <= covered / TRIALS <= 0.98


def test_what_is_the_same_is_called_different_rarely_and_in_many_comparisons_too() -> None:
    """Ratios of a thing to itself, process by process, twelve at once."""
    random = np.random.default_rng(5)
    several, alarms, runs = 12, 0, 0
    for _ in range(TRIALS // 2):
        ratios = np.exp(SPREAD * random.standard_t(4, (several, 12)))
        estimate = [over_processes(row.tolist()) for row in ratios]
        alarms += sum(one.low > 1 or one.high < 1 for one in estimate)
        level = simultaneous(0.95, several)
        estimates = [judge(over_processes(row.tolist(), level), 0.01) for row in ratios]
        runs += any(one in {"slower", "faster"} for one in estimates)
    assert 0.02 <= alarms / (several * TRIALS / 2) <= 0.06
    assert runs / (TRIALS / 2) <= 0.02


@pytest.mark.parametrize("count", [6, 7, 11])
def test_the_interval_is_where_the_signed_rank_test_rejects(count: int) -> None:
    from scipy.stats import wilcoxon

    values = np.random.default_rng(count).standard_normal(count)
    estimate = location(values.tolist())
    for inside in (estimate.low + 1e-6, estimate.high - 1e-6):
        assert wilcoxon(values - inside, method="exact").pvalue > 0.05
    for outside in (estimate.low - 1e-6, estimate.high + 1e-6):
        assert wilcoxon(values - outside, method="exact").pvalue <= 0.05


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=12), st.floats(0.5, 0.9999))
def test_a_figure_lies_in_its_interval(medians: list[float], confidence: float) -> None:
    estimate = over_processes(medians, confidence)
    assert estimate.confidence == confidence
    if len(medians) == 1:
        assert estimate.value == pytest.approx(medians[0])
        assert not estimate.known
        assert estimate.half_width == math.inf
    else:
        assert 0 <= estimate.low <= estimate.value <= estimate.high


def test_what_the_clock_did_not_see_is_no_interval_of_few() -> None:
    """Once the least to the greatest of any number was called a 95 % interval."""
    assert not over_processes([0.0, 1e-9, 2e-9]).known
    assert over_processes([0.0, *[1e-9] * 9]).known
    assert over_processes([0.0, 0.0]).value == 0.0
    with pytest.raises(ValueError, match="no process"):
        over_processes([])


def test_few_samples_have_no_interval() -> None:
    assert not within_process(np.ones(5)).known
    assert within_process(np.ones(6)).known
    assert within_process(np.zeros(9), resolution=1e-9)[:3] == (0.0, 0.0, 0.5e-9)


def test_looks_are_few() -> None:
    medians = [1.0, 1.0001] * 20
    assert [n for n in range(1, MOST + 1) if stops(medians[:n], 0.5)] == list(LOOKS)
    apart = np.exp(np.random.default_rng(1).standard_normal(40)).tolist()
    assert [n for n in range(1, 41) if stops(apart[:n], 0.01)] == list(range(MOST, 41))
    assert [n for n in range(1, 9) if stops(apart[:n], 0.01, (3,))] == list(range(3, 9))


def test_figures_measured_apart() -> None:
    one, other = Interval(10.0, 7.0, 13.0), Interval(4.0, 0.0, 8.0)
    assert one.minus(other)[:3] == (6.0, 1.0, 11.0)
    assert combined((0.5, 0.5), (one, other))[:3] == (7.0, 4.5, 9.5)
    ratio = one.over(Interval(2.0, 2.0, 2.0))
    assert ratio[:3] == pytest.approx((5.0, 3.5, 6.5))
    assert one.over(other).high == math.inf
    assert one.inverse(910.0)[:3] == pytest.approx((91.0, 70.0, 130.0))
    assert Interval(-1.0, -2.0, 3.0).at_least(0.0)[:3] == (0.0, 0.0, 3.0)
    assert not one.minus(Interval(1.0, math.nan, math.nan)).known
    assert [Interval(1.0, *ends).sign for ends in ((0.5, 2), (-1, 2), (math.nan, 2))] == [1, 0, 0]
    assert one.widened(0.99).low < one.low < one.widened(0.9).low


def test_same_and_different_need_different_things() -> None:
    def said(low: float, value: float, high: float) -> str:
        return judge(Interval(value, low, high), relevant(0.05))

    assert said(1.001, 1.01, 1.02) == "same", "however certain, it is not relevant"
    assert said(1.02, 1.10, 1.20) == "slower"
    assert said(0.80, 0.90, 0.99) == "faster"
    assert said(1.01, 1.04, 1.10) == "undecided", "the estimate is not beyond what is relevant"
    assert said(0.90, 1.10, 1.30) == "undecided"
    assert said(math.nan, 1.10, math.nan) == "undecided"
    assert relevant(0.001) == 0.01


def _triples(table: pd.DataFrame) -> list[tuple[str, str, str]]:
    named = [str(name) for name in table.columns]
    ends = [name.removeprefix("low_") for name in named if name.startswith("low_")]
    result = [(f"low_{name}", name, f"high_{name}") for name in ends]
    return [*result, *([("ci_low_s", "median_s", "ci_high_s")] if "ci_low_s" in named else [])]


LAWS = {
    device: {
        operation: synthetic.Law(alpha, 8e9)
        for operation in ("read", "write", "read_rw", "write_rw", "bidirectional")
    }
    for device, alpha in (("opencl:a", 15e-6), ("xrt:0", 5e-6), ("host", 1e-7))
}
SIZES = [1, 64, 4096, 1 << 18, 1 << 20, 1 << 24, 1 << 26]


def _offloads(processes: int) -> Run:
    random = np.random.default_rng(3)
    phases = ("initialise", "allocate", "populate", "migrate_to_device", "kernel_run", "read_back",
              "remainder", "total", "software_vadd")  # fmt: skip
    points = [
        synthetic.point(
            "cuda:0", phase, 4096, np.exp(random.standard_t(2, (processes, 1)) - 8).tolist(),
            study="allocation", memory=memory, axes={"elements": 1024, "handover": "copy"},
            rerun_changes={"state": "once"},
        )
        for memory in ("pageable", "aligned", "offset64", "pinned")
        for phase in phases
    ]  # fmt: skip
    return synthetic.run(points)


STORED = Path(__file__).parents[1] / "benchmarks" / "results"


def _stored(name: str) -> Run:
    return msgspec.json.decode(gzip.decompress((STORED / name).read_bytes()), type=Run)


@pytest.mark.parametrize(
    "run",
    [
        _stored("2026-11-22-h200x4-beff.json.gz"),
        _stored("2026-11-22-h100-allocation.json.gz"),
        *(
            synthetic.transfer_run(
                LAWS, SIZES, reruns=reruns, between=0.3, noise=0.2, apis={"host": "host"}
            )
            for reruns in (1, 3, 9)
        ),
        *map(_offloads, (1, 2, 7)),
    ],
    ids=[
        "beff",
        "allocation",
        "transfer 1",
        "transfer 3",
        "transfer 9",
        "offload 1",
        "offload 2",
        "offload 7",
    ],
)
def test_every_figure_of_every_answer_lies_in_its_interval(run: Run) -> None:
    summary = summarise(run)
    seen = 0
    for frame in (summary, *(answer.table for answer in answers(run))):
        table = frame.to_pandas()
        for low, value, high in _triples(table):
            known = table[[low, value, high]].astype(float).dropna()
            seen += len(known)
            assert (known[low] <= known[value] * (1 + 1e-12) + 1e-15).all(), (low, known)
            assert (known[value] <= known[high] * (1 + 1e-12) + 1e-15).all(), (high, known)
            if value.endswith(("_s", "_Bps")) and "delta" not in value and "beyond" not in value:
                assert (known[low] >= 0).all(), low
    assert seen > 50 or len(run.points[0].reruns) == 1


def test_an_offload_is_the_same_in_the_table_and_in_the_answer() -> None:
    """The total of one run was 98.9 ms in the table and 184 ms in the CSV."""
    run = _offloads(7)
    rows = summarise(run).to_pandas()
    table = synthetic.answer(run, "phases").table
    table = table[table["use"] == "first"].set_index("memory")
    for memory, phase in itertools.product(("pageable", "pinned"), ("populate", "total")):
        (row,) = rows[(rows["memory"] == memory) & (rows["operation"] == phase)]["median_s"]
        (named,) = (name for name in table.index if name.startswith(memory))
        assert table.loc[named, f"{phase}_s"] == row


@pytest.mark.parametrize("free", [1, 1.37, 2, 5.5, 29, 1000.5])
@pytest.mark.parametrize("share", [0.51, 0.9, 0.975, 0.9995, 1 - 1e-9])
def test_students_quantiles_are_those_of_scipy(free: float, share: float) -> None:
    from scipy.special import stdtrit

    assert student(free, share) == pytest.approx(stdtrit(free, share), rel=1e-11)
