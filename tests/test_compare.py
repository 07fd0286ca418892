"""What changed between runs: statistics, verdicts, the command."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Command
from isthmus import statistics
from isthmus.analysis.changes import Side, compare
from isthmus.errors import UsageError
from isthmus.results.run_file import Rerun, Run, save
from synthetic import Law, transfer_run

SIZES = (64, 4096, 1 << 20, 1 << 24)


def measured(
    slower: float = 1.0, *, seed: int = 1, device: str = "opencl:x", **changes: object
) -> Run:
    """A run of twelve processes; writing takes longer by a factor."""
    laws = {
        "read": Law(10e-6, 10e9),
        "write": Law(10e-6 * slower, 10e9 / slower),
    }
    return transfer_run({device: laws}, SIZES, reruns=12, seed=seed, **changes)  # type: ignore[arg-type]


def side(*runs: Run, name: str = "x") -> Side:
    return Side(name, runs)


# statistics


@pytest.mark.parametrize("share", [0.025, 0.005, 0.0005])
@pytest.mark.parametrize(("first", "second"), [*itertools.product(range(2, 7), repeat=2)])
def test_rank_sums_are_counted_as_all_orders_give_them(
    first: int, second: int, share: float
) -> None:
    orders = itertools.combinations(range(first + second), first)
    least = first * (first - 1) // 2
    ways = Counter(sum(order) - least for order in orders)
    below = itertools.accumulate(ways[u] for u in range(first * second + 1))
    most = share * math.comb(first + second, first)
    expected = next(u for u, total in enumerate(below) if total > most) - 1
    assert statistics._rank_sum(first, second, share) == expected


@pytest.mark.parametrize(("first", "second"), [(3, 3), (6, 6), (12, 8), (40, 40)])
def test_the_interval_of_a_shift_covers_as_often_as_it_says(first: int, second: int) -> None:
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(1000):
        before, after = random.normal(0, 1, first), random.normal(0.5, 1, second)
        shift = statistics.shift(before.tolist(), after.tolist())
        hits += shift.low <= 0.5 <= shift.high
    assert hits >= 925


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=9),
       st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=9))  # fmt: skip
def test_a_shift_turns_its_sign_with_its_sides(first: list[float], second: list[float]) -> None:
    there, back = statistics.shift(first, second), statistics.shift(second, first)
    assert there.value == pytest.approx(-back.value, abs=1e-9)
    assert there.low == pytest.approx(-back.high, abs=1e-6)
    assert there.low <= there.value <= there.high


# verdicts


def test_equal_runs_are_the_same() -> None:
    result = compare(side(measured(seed=1)), side(measured(seed=2)))
    assert {one.verdict for one in result.series} == {"same"}
    assert len(result.series) == 4  # two operations, small and large
    assert len(result.points) == 8
    assert result.unmatched == 0


def test_what_became_slower_is_named_with_its_ratio() -> None:
    result = compare(side(measured()), side(measured(1.1, seed=2)))
    assert {one.operation for one in result.of("slower")} == {"write"}
    assert {one.operation for one in result.of("same")} == {"read"}
    assert not result.of("faster")
    for one in result.of("slower"):
        assert one.low_ratio <= 1.1 <= one.high_ratio
        assert one.samples == (12, 12)
    back = compare(side(measured(1.1, seed=2)), side(measured()))
    assert {one.operation for one in back.of("faster")} == {"write"}


def test_a_difference_below_the_relevant_one_is_none() -> None:
    base, new = side(measured(between=0.0)), side(measured(1.03, seed=2, between=0.0))
    assert compare(base, new).of("slower")
    assert not compare(base, new, 0.05).of("slower")


def test_few_processes_that_differ_decide_nothing() -> None:
    apart = {"between": 0.3, "reruns": 3}
    laws = {"opencl:x": {"write": Law(1e-5, 1e10)}}
    runs = [transfer_run(laws, SIZES, seed=seed, **apart) for seed in (1, 2)]  # type: ignore[arg-type]
    result = compare(side(runs[0]), side(runs[1]))
    assert len(result.of("undecided")) == len(result.series)


def test_runs_are_the_sample_where_there_are_several() -> None:
    """Whole runs differ by a tenth: processes alone would call every pair of runs different."""
    factors = (1.0, 1.1, 0.95, 1.05)
    runs = [measured(seed=i) for i in range(4)]

    def times(run: Run, factor: float) -> Run:
        def longer(rerun: Rerun) -> Rerun:
            ticks = [round(t * factor) for t in rerun.clocks["host"].ticks]
            host = msgspec.structs.replace(rerun.clocks["host"], ticks=ticks)
            return msgspec.structs.replace(rerun, clocks={"host": host})

        points = [
            msgspec.structs.replace(point, reruns=[longer(rerun) for rerun in point.reruns])
            for point in run.points
        ]
        return msgspec.structs.replace(run, points=points)

    moved = [times(run, factor) for run, factor in zip(runs, factors, strict=True)]
    single = compare(side(moved[0]), side(moved[1]))
    assert single.of("slower")
    several = compare(side(*moved[:2]), side(*moved[2:]))
    assert several.per_run
    assert not several.of("slower")
    assert not several.of("faster")


def test_other_names_of_one_device_are_matched() -> None:
    result = compare(side(measured()), side(measured(seed=2, device="opencl:y")))
    assert result.devices == {"opencl:y": "opencl:x"}
    assert {one.device for one in result.series} == {"opencl:x"}


def test_wrong_data_are_not_compared() -> None:
    new = measured(1.5, seed=2)
    points = [
        msgspec.structs.replace(
            p, reruns=[msgspec.structs.replace(r, verified="false") for r in p.reruns]
        )
        if p.operation == "write"
        else p
        for p in new.points
    ]
    result = compare(side(measured()), side(msgspec.structs.replace(new, points=points)))
    assert {one.operation for one in result.series} == {"read"}
    assert result.unmatched == len(SIZES)


def test_facts_that_may_explain_come_first() -> None:
    changed = measured(
        seed=2, environment={"host": "bench", "cpu": "Some CPU", "kernel": "6.9", "python": "3.12"}
    )
    before = measured(
        environment={"host": "bench", "cpu": "Some CPU", "kernel": "6.1", "python": "3.11"}
    )
    differences = compare(side(before), side(changed)).differences
    assert [(one.name, one.before, one.after) for one in differences] == [
        ("kernel", "6.1", "6.9"),
        ("python", "3.11", "3.12"),
    ]
    assert [one.explains for one in differences] == [True, False]


def test_nothing_in_common_is_an_error() -> None:
    other = transfer_run({"opencl:x": {"launch": Law(1e-5, 1e10)}}, SIZES)
    with pytest.raises(UsageError, match="no point in common"):
        compare(side(measured(), name="a"), side(other, name="b"))


# the command


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory, run_isthmus: Command) -> Path:
    """Runs of a card, of the same with half of its lanes, and of a measured device."""
    folder = tmp_path_factory.mktemp("cards")
    sizes = ("--bytes", "4Ki,1Mi,16Mi", "--operation", "read,write")
    for name, device in (
        ("base", "card:u250"),
        ("again", "card:u250"),
        ("half", "card:u250,link.lanes=8"),
    ):
        ran = run_isthmus(
            "run", "transfer", "--device", device, *sizes, "--out", f"{name}.json", cwd=folder
        )
        assert ran.returncode == 0, ran.stderr
    return folder


def test_the_summary_is_short_and_says_what_may_explain_it(
    cards: Path, run_isthmus: Command
) -> None:
    ran = run_isthmus("compare", "base.json", "half.json", cwd=cards)
    assert ran.returncode == 0
    lines = ran.stdout.splitlines()
    assert len(lines) <= 15
    assert all(len(line) <= 80 for line in lines)
    answer = "half.json against base.json: slower in 2 of 4 series, the same within 2.0 % in 2."
    assert " ".join(lines).replace("   ", " ").startswith(answer)
    assert "May explain a change: card:u250: link.lanes 16 -> 8" in lines
    assert lines[-1].endswith("compare base.json half.json --points")
    same = run_isthmus("compare", "base.json", "again.json", cwd=cards).stdout
    assert same.startswith("again.json against base.json: nothing changed by more than 2.0 %.")


def test_a_gate_fails_with_3(cards: Path, run_isthmus: Command) -> None:
    def code(*options: str) -> int:
        return run_isthmus("compare", "base.json", *options, cwd=cards).returncode

    assert code("half.json", "--fail-above", "5%") == 3
    assert code("again.json", "--fail-above", "5%") == 0
    assert code("half.json", "--fail-above", "90%") == 0
    assert code("half.json", "--fail-above", "5") == 2


@pytest.mark.parametrize("form", ["json", "csv", "md", "junit", "table"])
def test_every_format_has_what_changed(cards: Path, run_isthmus: Command, form: str) -> None:
    ran = run_isthmus("compare", "base.json", "half.json", "--format", form, cwd=cards)
    assert ran.returncode == 0
    text = ran.stdout
    if form == "json":
        data = json.loads(text)
        assert {one["sizes"] for one in data["series"] if one["verdict"] == "slower"} == {
            "1Mi to 16Mi"
        }
        assert {
            "of": "card:u250",
            "name": "link.lanes",
            "before": "16",
            "after": "8",
            "explains": True,
        } in data["differences"]
    elif form == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
        assert len(rows) == 6
        for row in rows:
            assert float(row["ratio"]) == pytest.approx(
                float(row["after_s"]) / float(row["before_s"])
            )
    elif form == "junit":
        suite = ElementTree.fromstring(text)
        assert suite.get("failures") == str(len(suite.findall("testcase/failure"))) == "2"
    else:
        assert "slower" in text
        assert "16Mi" in text


def test_simulated_and_measured_times_are_mixed_only_when_told(
    cards: Path, isthmus: Command, tmp_path: Path
) -> None:
    run = measured(device="opencl:x")
    points = [msgspec.structs.replace(p, memory="pinned") for p in run.points]
    save(msgspec.structs.replace(run, points=points), tmp_path / "real.json")
    refused = isthmus("compare", str(cards / "base.json"), "real.json")
    assert refused.returncode == 2
    assert "--mixed compares them" in refused.stderr
    told = isthmus("compare", str(cards / "base.json"), "real.json", "--mixed")
    assert told.returncode == 0
    assert "opencl:x is compared with card:u250" in told.stdout


def test_a_folder_is_one_side(isthmus: Command, tmp_path: Path) -> None:
    for name, slower in (("before", 1.0), ("after", 1.2)):
        (tmp_path / name).mkdir()
        for seed in range(6):
            save(
                measured(slower, seed=seed + 10 * (name == "after")),
                tmp_path / name / f"{seed}.json",
            )
    ran = isthmus("compare", "before", "after", "--format", "json")
    data = json.loads(ran.stdout)
    assert data["sample"] == "run"
    assert {one["operation"] for one in data["series"] if one["verdict"] == "slower"} == {"write"}
    (tmp_path / "none").mkdir()
    empty = isthmus("compare", "before", "none")
    assert empty.returncode == 2
    assert "has no run file" in empty.stderr
