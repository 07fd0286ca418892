"""What changed between runs: statistics, verdicts, the command."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Collection
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Command
from isthmus import statistics
from isthmus.analysis.changes import Side, compare
from isthmus.analysis.matched import INTERRUPTED, RAN_OUT
from isthmus.errors import UsageError
from isthmus.program import invocation
from isthmus.reporters.comparison import lines
from isthmus.results.run_file import DeviceRecord, Rerun, Run, save
from synthetic import Law, transfer_run

SLOW = pytest.mark.slow
MORE = invocation("compare", "base.json", "half.json", "--points")
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


def on_a_shared_link(slower: float = 1.0, seed: int = 1) -> Run:
    """A run on a device behind the link of a virtual machine."""
    device = DeviceRecord(
        address="cuda:0", backend="cuda", real=True, link={"current_link_width": "16"}
    )
    environment = {"virtualised": True}
    return measured(slower, seed=seed, device="cuda:0", devices=[device], environment=environment)


def test_single_runs_in_a_virtual_machine_may_differ_as_a_whole() -> None:
    """8 % were seen between equal runs, which no interval within a run can know."""
    base, changed, far = (on_a_shared_link(*of) for of in ((1.0, 1), (1.08, 2), (1.3, 3)))
    result = compare(side(base, name="a"), side(changed, name="b"))
    assert {one.verdict for one in result.series} == {"undecided"}
    assert any("compare folders of runs" in line for line in lines(result, MORE))
    assert not result.passes, "nothing was decided"
    found = compare(side(base), side(far)).of("slower")
    assert {one.operation for one in found} == {"write"}
    runs = [side(*(on_a_shared_link(of, seed) for seed in range(first, first + 6)))
            for first, of in ((10, 1.0), (20, 1.08))]  # fmt: skip
    several = compare(*runs)
    assert {one.operation for one in several.of("slower")} == {"write"}, "runs are the sample"
    assert not several.allowed


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


@pytest.mark.parametrize("spread", [1.0, *(pytest.param(s, marks=SLOW) for s in (0.05, 20.0))])
@pytest.mark.parametrize(
    ("first", "second"),
    [(3, 3), (6, 6), *(pytest.param(*n, marks=SLOW) for n in ((12, 3), (30, 5), (40, 40)))],
)
def test_the_interval_of_a_shift_covers_as_often_as_it_says(
    first: int, second: int, spread: float
) -> None:
    random = np.random.default_rng(1)
    hits = 0
    for _ in range(1000):
        before, after = random.normal(0, 1, first), random.normal(0.5, spread, second)
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
    assert not result.missing
    assert not result.added


def test_what_became_slower_is_named_with_its_ratio() -> None:
    result = compare(side(measured()), side(measured(1.1, seed=2)))
    assert {one.operation for one in result.of("slower")} == {"write"}
    assert {one.operation for one in result.of("same")} == {"read"}
    assert not result.of("faster")
    for one in result.of("slower"):
        assert one.ratio.low <= 1.1 <= one.ratio.high
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
    assert next(lines(result, MORE)).startswith(
        "x against x: no certain change. 2 of 2 are undecided"
    )


def test_what_is_undecided_is_not_called_unchanged() -> None:
    """Reading is the same, writing scatters too much to say."""
    noisy = [measured(seed=seed, between=0.3) for seed in (3, 4)]
    runs = [
        msgspec.structs.replace(run, points=[*run.points[:4], *other.points[4:]])
        for run, other in zip((measured(seed=1), measured(seed=2)), noisy, strict=True)
    ]
    result = compare(side(runs[0]), side(runs[1]))
    assert {one.operation for one in result.of("same")} == {"read"}
    assert {one.operation for one in result.of("undecided")} == {"write"}
    first = " ".join(lines(result, MORE))
    assert "no certain change, the same within 2.0 % in 2. 2 of 4 are undecided" in first


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
    assert all(one.per_run for one in several.series)
    assert {one.samples for one in several.series} == {(2, 2)}
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
    assert {(one.operation, one.why) for one in result.missing} == {("write", "wrong data")}
    assert len(result.missing) == len(SIZES)
    assert not result.passes


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
    with pytest.raises(UsageError, match="no operation in common"):
        compare(side(measured(), name="a"), side(other, name="b"))


def without(run: Run, operation: str, sizes: Collection[int] = SIZES, **changes: Any) -> Run:
    """The run without these points, or with points that are changed so."""
    points = [
        msgspec.structs.replace(point, **changes) if point.operation == operation
        and point.bytes in sizes else point
        for point in run.points
        if changes or point.operation != operation or point.bytes not in sizes
    ]  # fmt: skip
    return msgspec.structs.replace(run, points=points)


@pytest.mark.parametrize(
    ("status", "why", "told"),
    [
        ("budget", RAN_OUT, "for which its time ran out"),
        ("interrupted", INTERRUPTED, "before which it was interrupted"),
    ],
)
def test_points_before_which_a_run_ended_are_undecided(status: str, why: str, told: str) -> None:
    """Beside other work a run measures fewer points: that is no fault of what it measures."""
    new = msgspec.structs.replace(
        without(measured(seed=2), "write", SIZES[:1], reruns=[]), status=status
    )
    result = compare(side(measured()), side(new), 0.1)
    assert not result.missing
    assert [(one.operation, one.why) for one in result.unknown] == [("write", why)]
    assert result.outcome == "undecided"
    assert f"1 {told} (opencl:x write pageable 64)" in " ".join(
        word for line in lines(result, MORE) for word in line.split()
    )
    whole = msgspec.structs.replace(new, status="complete")
    assert compare(side(measured()), side(whole), 0.1).outcome == "fail"


@pytest.mark.parametrize(
    ("changes", "why"), [({}, "absent"), ({"error": "worker died", "reruns": []}, "failed")]
)
def test_what_the_new_side_lacks_fails_the_gate(changes: dict[str, Any], why: str) -> None:
    result = compare(side(measured()), side(without(measured(seed=2), "write", **changes)))
    assert {(one.operation, one.why) for one in result.missing} == {("write", why)}
    assert not result.passes
    text = " ".join(lines(result, MORE))
    assert "4 that" in text
    assert not compare(side(without(measured(), "write")), side(measured(seed=2))).passes


def test_one_slower_size_of_many_fails_the_gate() -> None:
    sizes = tuple(1 << i for i in range(13))
    laws = {"opencl:x": {"write": Law(10e-6, 1e12)}}
    base, new = (transfer_run(laws, sizes, reruns=12, seed=i, between=0.001) for i in (1, 2))
    slow = transfer_run({"opencl:x": {"write": Law(15e-6, 1e12)}}, sizes[-1:], reruns=12, seed=3)
    new = msgspec.structs.replace(new, points=[*new.points[:-1], *slow.points])
    result = compare(side(base), side(new), 0.05)
    assert not result.of("slower")
    assert [one.sizes for one in result.slower_points] == ["4Ki"]
    assert not result.passes
    assert "Of single points 1 are slower" in " ".join(lines(result, MORE))


def test_a_size_that_few_processes_measured_is_judged_by_itself() -> None:
    new = measured(3.0, seed=2)
    points = [
        msgspec.structs.replace(p, reruns=p.reruns[:3]) if p.bytes == 4096 else p
        for p in new.points
    ]
    result = compare(side(measured()), side(msgspec.structs.replace(new, points=points)))
    assert {one.sizes for one in result.of("slower") if one.operation == "write"} >= {"64", "4Ki"}


def test_nothing_decided_passes_no_gate() -> None:
    runs = [measured(slower, seed=seed, between=0.3) for slower, seed in ((1.0, 1), (1.0, 2))]
    single = [
        msgspec.structs.replace(
            run,
            points=[msgspec.structs.replace(p, reruns=p.reruns[:2]) for p in run.points],
        )
        for run in runs
    ]
    result = compare(side(single[0]), side(single[1]))
    assert len(result.of("undecided")) == len(result.series)
    assert not result.passes
    assert "undecided (2 processes)" in " ".join(lines(result, MORE))


def beside_memcpy(slower: float, seed: int) -> Run:
    """A noisy device beside a quiet copy in host memory, whose times never change."""
    quiet = transfer_run({"host": {"write": Law(1e-6, 1e10)}}, SIZES, reruns=12, seed=seed)
    noisy = transfer_run(
        {"opencl:pocl": {"write": Law(1e-5 * slower, 1e9 / slower)}},
        SIZES, reruns=12, seed=seed, between=0.8,
    )  # fmt: skip
    return msgspec.structs.replace(
        quiet, devices=[*quiet.devices, *noisy.devices], points=[*quiet.points, *noisy.points]
    )


def test_a_device_of_which_nothing_is_decided_fails_the_gate(
    isthmus: Command, tmp_path: Path
) -> None:
    """All times of PoCL are 1.3 times as long; the copy in host memory is the same."""
    runs = [beside_memcpy(slower, seed) for slower, seed in ((1.0, 1), (1.3, 2))]
    result = compare(side(runs[0]), side(runs[1]), 0.1)
    assert {one.device for one in result.of("same")} == {"host"}
    assert {one.device for one in result.of("undecided")} == {"opencl:pocl"}
    assert not result.slower_points
    assert not result.missing
    assert {(one.device, one.decided) for one in result.coverage if not one.decided} == {
        ("opencl:pocl", 0)
    }
    assert {one.device for one in result.coverage if one.decided == one.series} == {"host"}
    undecided = [one for one in result.coverage if not one.decided]
    assert undecided == [one for one in result.coverage if one.device == "opencl:pocl"]
    assert not result.passes
    text = " ".join(lines(result, MORE))
    assert "Nothing is decided on opencl:pocl of write up to 4Ki, write from 1Mi." in text

    for name, run in zip(("base.json", "new.json"), runs, strict=True):
        save(run, tmp_path / name)
    gate = ("compare", "base.json", "new.json", "--fail-above", "10%")
    assert isthmus(*gate).returncode == 5
    data = json.loads(isthmus(*gate, "--format", "json").stdout)
    assert not data["passes"]
    assert [one["decided"] for one in data["coverage"] if one["device"] == "opencl:pocl"] == [0, 0]
    suite = ElementTree.fromstring(isthmus(*gate, "--format", "junit").stdout)
    assert (suite.get("failures"), suite.get("errors")) == ("0", "2")


def test_an_operation_of_which_nothing_is_decided_fails_the_gate() -> None:
    """Reading is the same at all sizes; writing is not decided at large ones alone."""
    quiet = [measured(seed=seed) for seed in (1, 2)]
    noisy = [measured(seed=seed, between=0.8) for seed in (3, 4)]
    assert compare(side(quiet[0]), side(quiet[1])).passes
    runs = [
        msgspec.structs.replace(run, points=[*run.points[:6], *other.points[6:]])
        for run, other in zip(quiet, noisy, strict=True)
    ]
    result = compare(side(runs[0]), side(runs[1]), 0.05)
    assert [(one.operation, one.sizes) for one in result.coverage if not one.decided] == [
        ("write", "from 1Mi")
    ]
    assert not result.passes


def test_each_series_of_a_kind_is_decided() -> None:
    def run(seed: int) -> Run:
        kinds = []
        for memory, between in (("pinned", 0.001), ("pageable", 0.8)):
            laws = {"cuda:0": {"write": Law(1e-5, 1e10)}}
            of = transfer_run(laws, SIZES, reruns=12, seed=seed, between=between)
            kinds += [msgspec.structs.replace(point, memory=memory) for point in of.points]
        return msgspec.structs.replace(of, points=kinds)

    result = compare(side(run(1)), side(run(2)), 0.05)
    assert {one.memory for one in result.of("undecided")} == {"pageable"}
    assert [(one.series, one.decided) for one in result.coverage] == [(2, 1), (2, 1)]
    assert {one.memory for one in result.undecided} == {"pageable"}
    assert result.outcome == "undecided"


def test_runs_of_different_studies_leave_processes_as_the_sample() -> None:
    def both(slower: float, seed: int) -> list[Run]:
        run = measured(slower, seed=seed)
        return [without(run, "read"), without(run, "write")]

    result = compare(side(*both(1.0, 1)), side(*both(1.2, 2)))
    assert {one.operation for one in result.of("slower")} == {"write"}
    assert {one.samples for one in result.series} == {(12, 12)}


def test_other_cards_are_not_matched() -> None:
    def run(*devices: str) -> Run:
        laws = {device: {"write": Law(1e-5, 1e10)} for device in devices}
        return transfer_run(laws, SIZES, reruns=12)

    result = compare(side(run("opencl:a", "cuda:0")), side(run("opencl:a", "xrt:0")))
    assert result.devices == {}
    assert {one.device for one in result.missing} == {"cuda:0"}


def test_every_line_of_a_measured_change_fits_and_hides_no_terminal_code() -> None:
    device = "opencl:a device with a long name \x1b[2J of its own"
    runs = [measured(slower, seed=seed, device=device) for slower, seed in ((1, 1), (1.3, 2))]
    shown = list(lines(compare(side(runs[0]), side(runs[1])), MORE))
    assert len(shown) <= 15
    for line in shown:
        assert len(line) <= 80
        assert "\x1b" not in line
    assert any("write pageable" in line and "% time (" in line for line in shown)


def test_axes_may_have_any_name() -> None:
    names = ("side", "log", "run", "process", "moved", "study", "clock", "bytes")
    runs = []
    for seed in (1, 2):
        run = measured(seed=seed)
        points = [
            msgspec.structs.replace(p, axes=dict.fromkeys(names, i % 2))
            for i, p in enumerate(run.points)
        ]
        runs.append(msgspec.structs.replace(run, points=points))
    assert len(compare(side(runs[0]), side(runs[1])).points) == 8


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
    on_path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}  # called isthmus
    ran = run_isthmus("compare", "base.json", "half.json", cwd=cards, env=on_path)
    assert ran.returncode == 0
    shown = ran.stdout.splitlines()
    assert len(shown) <= 15
    assert all(len(line) <= 80 for line in shown)
    answer = "half.json against base.json: slower in 4 of 4 series."
    assert " ".join(shown).replace("   ", " ").startswith(answer)
    assert "May explain it: card:u250: link.lanes 16 -> 8" in shown
    assert shown[-1].endswith("compare base.json half.json --points")
    same = run_isthmus("compare", "base.json", "again.json", cwd=cards).stdout
    assert same.startswith("again.json against base.json: nothing changed by more than 2.0 %.")


def test_another_device_is_said_first_and_the_screen_stays_short() -> None:
    def of(name: str, latency: float) -> Run:
        operations = {operation: Law(latency, 1e9) for operation in ("read", "write", "map")}
        run = transfer_run({"cuda:0": operations, "opencl:x": operations}, SIZES, reruns=12)
        version = f"OpenCL 3.0 with a long text that both have {name} {'x' * 90}"
        devices = [msgspec.structs.replace(device, name=name, environment={"driver": version})
                   for device in run.devices]  # fmt: skip
        return msgspec.structs.replace(run, devices=devices)

    shown = list(lines(compare(side(of("H100", 1e-6)), side(of("H200", 5e-5))), MORE))
    assert len(shown) <= 15
    assert all(len(line) <= 80 for line in shown)
    assert "May explain it: cuda:0, opencl:x: name H100 -> H200" in shown
    far = invocation("compare", f"{'far/' * 12}base.json", "half.json", "--points")
    shown = list(lines(compare(side(of("H100", 1e-6)), side(of("H200", 5e-5))), far))
    assert len(shown) <= 15
    assert all(len(line) <= 80 for line in shown)
    assert str(far) in " ".join(" ".join(shown).replace("\\", "").split())
    assert any(re.match(r"May explain it: .*: driver H100 x+\.\.\. -> H200 x+", s) for s in shown)
    assert sum(line.startswith("slower") for line in shown) >= 2
    same = list(lines(compare(side(of("H100", 1e-6)), side(of("H200", 1e-6))), MORE))
    assert "Differs: cuda:0, opencl:x: name H100 -> H200" in same


def test_a_gate_fails_with_3(cards: Path, run_isthmus: Command) -> None:
    def code(*options: str) -> int:
        return run_isthmus("compare", "base.json", *options, cwd=cards).returncode

    assert code("half.json", "--fail-above", "5%") == 3
    assert code("again.json", "--fail-above", "5%") == 0
    assert code("half.json", "--fail-above", "90%") == 0
    assert code("half.json", "--fail-above", "100%") == 0
    assert code("half.json", "--fail-above", "x") == 2
    assert code("half.json", "--fail-above", "") == 2
    assert code("half.json", "--fail-above", "5") == 2
    assert code("half.json", "--fail-above", "auto") == 3
    assert code("again.json", "--fail-above", "auto") == 0
    assert code("half.json", "--fail-above", "auto,5%") == 3
    assert code("half.json", "--fail-above", "auto,90%") == 0
    assert code("half.json", "--fail-above", "auto,5") == 2
    assert code("half.json", "--fail-above", "other,5%") == 2
    assert code("half.json", "--fail-above", "5%", "--relevant", "5%") == 2


@pytest.mark.parametrize("form", ["json", "csv", "md", "junit", "table"])
def test_every_format_has_what_changed(cards: Path, run_isthmus: Command, form: str) -> None:
    ran = run_isthmus("compare", "base.json", "half.json", "--format", form, cwd=cards)
    assert ran.returncode == 0
    text = ran.stdout
    if form == "json":
        data = json.loads(text)
        assert {one["sizes"] for one in data["series"] if one["verdict"] == "slower"} == {
            "1Mi to 16Mi",
            "4Ki",
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
        assert suite.get("failures") == str(len(suite.findall("testcase/failure"))) == "4"
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
    assert {one["samples"] for one in data["series"]} == {"6"}
    assert {one["operation"] for one in data["series"] if one["verdict"] == "slower"} == {"write"}
    (tmp_path / "none").mkdir()
    empty = isthmus("compare", "before", "none")
    assert empty.returncode == 2
    assert "has no run file" in empty.stderr
