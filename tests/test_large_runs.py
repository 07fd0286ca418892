"""What makes runs of many points quick and small gives the same results."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.analysis.limits import _STEP, _settled
from isthmus.errors import UsageError
from isthmus.frames import Frame
from isthmus.results import run_file
from isthmus.results.run_file import Point
from isthmus.statistics import middle, quantile
from isthmus.thresholds import PLATEAU, SETTLED
from synthetic import point, run

TIMES = st.lists(st.floats(0, 1e12), min_size=1, max_size=40)


@given(TIMES, st.floats(0, 1))
def test_few_numbers_have_numpys_median_and_quantiles(values: list[float], share: float) -> None:
    assert middle(values) == np.median(values)
    assert quantile(sorted(values), share) == np.quantile(values, share)


def settled_by_definition(rates: list[tuple[int, float]]) -> list[int]:
    for i, (size, rate) in enumerate(rates):
        near = any(2 * size <= other <= _STEP * size for other, _ in rates[i + 1 :])
        if near and rate >= (1 - PLATEAU) * max(other for _, other in rates[i:]):
            return list(range(i, len(rates)))
    last, _ = rates[-1]
    alone = not any(_STEP * size >= last for size, _ in rates[:-1]) and last >= SETTLED
    return [len(rates) - 1] if alone else []


@given(st.lists(st.tuples(st.integers(1, 1 << 30), st.floats(1.0, 1.2)), min_size=1, max_size=30))
def test_the_plateau_is_as_defined(rates: list[tuple[int, float]]) -> None:
    rates.sort()
    assert list(_settled(rates)) == settled_by_definition(rates)


@given(st.lists(st.one_of(st.none(), st.integers(0, 2), st.just(float("nan")), st.text("ab"))))
def test_rows_are_equal_where_all_values_are_and_missing_ones_are_one(values: list[object]) -> None:
    groups = dict[object, list[int]]()
    for i, value in enumerate(values):
        missing = value is None or value != value  # noqa: PLR0124 - NaN alone
        groups.setdefault("missing" if missing else (type(value) is str, value), []).append(i)
    frame = Frame({"value": values}).assign(place=list(range(len(values))))
    found = [list(rows["place"]) for _, rows in frame.groupby(["value"], sort=False, dropna=False)]
    assert found == list(groups.values())
    dropped = [list(rows["place"]) for _, rows in frame.groupby(["value"], sort=False)]
    assert dropped == [places for key, places in groups.items() if key != "missing"]


def measured(count: int) -> list[Point]:
    return [point("null", "write", size, [[1e-6, 2e-6, 3e-6]] * 2) for size in range(1, count + 1)]


def test_what_points_share_is_kept_once(tmp_path: Path) -> None:
    saved = run(measured(3))
    run_file.save(saved, tmp_path / "run.json")
    loaded = run_file.load(tmp_path / "run.json")
    assert loaded == saved
    first, *others = loaded.points
    for other in others:
        assert other.axes is first.axes
        assert other.device is first.device
        for rerun, before in zip(other.reruns, first.reruns, strict=True):
            assert rerun.clock is before.clock
            assert rerun.noise is before.noise
            assert rerun.blocks is before.blocks


def test_a_wrong_point_is_named_by_its_place(tmp_path: Path) -> None:
    text = run_file.encode(run(measured(3))).replace(b'"bytes":2,', b'"bytes":"two",')
    (tmp_path / "run.json").write_bytes(text)
    with pytest.raises(
        UsageError, match=r"Expected `int`, got `str` - at `\$\.points\[1\]\.bytes`"
    ):
        run_file.load(tmp_path / "run.json")


def test_too_many_points_are_refused_before_any_is_read(tmp_path: Path) -> None:
    head = run_file.encode(run([]))
    points = b'"points": [' + b",".join([b"0"] * (run_file.MOST_POINTS + 1)) + b"]"
    (tmp_path / "run.json").write_bytes(head.replace(b'"points": []', points))
    with pytest.raises(UsageError, match="100001 points; at most 100000 are read"):
        run_file.load(tmp_path / "run.json")


@pytest.mark.parametrize("count", [3, 100])
@pytest.mark.parametrize("empty", [False, True])
def test_few_and_many_samples_have_the_same_seconds(count: int, *, empty: bool) -> None:
    (rerun,) = point("null", "write", 1, [np.linspace(1e-6, 2e-6, count)]).reruns
    ticks = rerun.clocks["host"].ticks
    samples = msgspec.structs.replace(
        rerun.clocks["host"], empty_ticks=[1] * count if empty else []
    )
    rerun = msgspec.structs.replace(rerun, clocks={"host": samples}, batch=3)
    off = samples.seconds_per_tick if empty else rerun.intervals * rerun.clock.empty_pair_s
    expected = [max(tick * samples.seconds_per_tick - off, 0.0) / 3 for tick in ticks]
    assert rerun.seconds("host").tolist() == expected
