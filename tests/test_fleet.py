"""Which of many machines are slow: what is planted is found, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from conftest import Command
from isthmus.analysis.fleet import Fleet, Node, inspect
from isthmus.errors import UsageError
from isthmus.reporters.fleet import FORMATS, node_names, nodeset
from isthmus.results.run_file import save
from synthetic import NODE_SIZES, machines, node


def slow_of(fleet: Fleet) -> list[str]:
    return [one.name for one in fleet.of("slow")]


@pytest.mark.parametrize("count", [8, 60])
def test_a_degraded_machine_is_found_with_what_is_slow(count: int) -> None:
    fleet = inspect(machines(count, {3: 1.5}))
    assert slow_of(fleet) == ["node003"]
    (worst,) = fleet.of("slow")[0].outliers
    assert (worst.operation, worst.sizes) == ("write", "from 1Mi")
    assert worst.ratio == pytest.approx(1.5, rel=0.1)


@pytest.mark.slow
def test_healthy_machines_are_not_named() -> None:
    """Forty fleets: of a hundred, one may have a false alarm."""
    named = [slow_of(inspect(machines(20, {}, seed=seed))) for seed in range(40)]
    assert sum(map(bool, named)) <= 2


def test_what_became_slower_everywhere_needs_a_baseline() -> None:
    before, after = machines(8, {}), machines(8, dict.fromkeys(range(8), 1.2), seed=1)
    assert not inspect(after).of("slow")
    shifts = inspect(after, baseline=before).shifts
    assert not inspect(after, baseline=before).passes
    assert [(one.operation, one.sizes) for one in shifts] == [("write", "from 1Mi")]
    assert not inspect(before, baseline=machines(8, {}, seed=1)).shifts


def test_a_baseline_needs_something_in_common_and_more_than_one_machine() -> None:
    runs = machines(8, {})
    other = [(n, msgspec.structs.replace(r, environment={"cpu": "Other"})) for n, r in runs]
    fleet = inspect(runs, baseline=other)
    assert "in common" in fleet.baseline
    single = inspect(runs, baseline=runs[:1])
    assert not single.shifts
    assert "two machines" in single.baseline


def test_a_baseline_that_decides_nothing_passes_no_gate() -> None:
    """Two machines of before tell too little; of as many as now it is known."""
    runs = machines(12, {})
    few = inspect(runs, baseline=machines(2, {}, seed=1))
    assert not few.shifts
    assert few.open
    assert not few.passes
    assert "Against the baseline, nothing is" in FORMATS["summary"](few)
    assert 'errors="1"' in FORMATS["junit"](few)
    assert few.outcome == "undecided"

    assert not inspect(runs, baseline=runs[:1]).passes, "one machine is no sample"
    known = inspect(runs, baseline=machines(12, {}, seed=1))
    assert not known.open
    assert known.passes


@pytest.mark.slow
def test_equal_fleets_differ_in_no_baseline() -> None:
    shifts = [
        inspect(machines(8, {}, seed=2 * i), baseline=machines(8, {}, seed=2 * i + 1)).shifts
        for i in range(20)
    ]
    assert sum(map(bool, shifts)) <= 1


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"verified": "false"}, "cuda:0: wrong data"),
        ({"clocks": {}}, "nothing was measured"),
        ({"batch": 0}, "not a valid run (ZeroDivisionError)"),
    ],
)
def test_a_machine_that_failed_is_named(changes: dict[str, Any], why: str) -> None:
    runs = machines(10, {})
    name, run = runs[3]
    points = [
        msgspec.structs.replace(p, reruns=[msgspec.structs.replace(r, **changes) for r in p.reruns])
        for p in run.points
    ]
    runs[3] = (name, msgspec.structs.replace(run, points=points))
    fleet = inspect(runs)
    (bad,) = fleet.of("failed")
    assert bad.name == "node003"
    assert why in "; ".join(bad.reasons)
    assert not fleet.passes
    assert FORMATS["nodes"](fleet) == "node003\n"
    assert 'failures="1"' in FORMATS["junit"](fleet)
    assert inspect(machines(10, {})).passes


def test_a_device_that_is_gone_is_named() -> None:
    runs = machines(10, {})
    name, run = runs[3]
    devices = [msgspec.structs.replace(run.devices[0], error="device lost", name="")]
    runs[3] = (name, msgspec.structs.replace(run, devices=devices, points=[]))
    fleet = inspect(runs)
    assert [one.name for one in fleet.of("failed")] == ["node003"]
    assert "cuda:0: device lost" in FORMATS["summary"](fleet)


def test_a_fleet_of_few_is_said_to_be_unjudged() -> None:
    fleet = inspect(machines(5, {0: 10.0}))
    assert FORMATS["summary"](fleet).startswith("None of 5 machines could be judged")
    assert not fleet.passes


def test_a_missing_size_hides_no_slow_machine() -> None:
    runs = machines(10, {5: 3.0})
    name, run = runs[7]
    kept = [point for point in run.points if point.bytes != NODE_SIZES[3]]
    runs[7] = (name, msgspec.structs.replace(run, points=kept))
    assert slow_of(inspect(runs)) == ["node005"]


def test_machines_are_compared_with_their_like_only() -> None:
    others = [
        (name, msgspec.structs.replace(run, environment={"host": f"x{name}", "cpu": "Slow CPU"}))
        for name, run in machines(6, dict.fromkeys(range(6), 2.0), seed=1)
    ]
    fleet = inspect([*machines(8, {}), *others])
    assert fleet.kinds == 2
    assert not fleet.of("slow")
    few = inspect([*machines(8, {}), *others[:2]])
    assert [one.name for one in few.of("unknown")] == ["xn0", "xn1"]


def test_a_narrower_link_is_the_same_kind() -> None:
    """A card that trained with half of its lanes is the one to be found, and no kind of its own."""
    runs = []
    for name, run in machines(8, {2: 1.9}):
        width = "8" if name == "n2" else "16"
        link = {"max_link_width": "16", "current_link_width": width, "max_link_speed": "32.0 GT/s"}
        devices = [msgspec.structs.replace(one, link=link) for one in run.devices]
        runs.append((name, msgspec.structs.replace(run, devices=devices)))
    assert slow_of(inspect(runs)) == ["node002"]


def test_a_missing_size_makes_no_machine_slow() -> None:
    runs = machines(8, {})
    name, run = runs[0]
    kept = [point for point in run.points if point.bytes != NODE_SIZES[2]]
    fleet = inspect([(name, msgspec.structs.replace(run, points=kept)), *runs[1:]])
    assert not fleet.of("slow")


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        (["node001", "node002", "node003", "node007"], "node[001-003,007]"),
        (["login"], "login"),
        (["a1", "b1", "b2", "x"], "a1,b[1-2],x"),
        (["n9", "n10", "n11"], "n[10-11],n9"),
        ([], ""),
    ],
)
def test_names_are_folded_as_schedulers_fold_them(names: list[str], folded: str) -> None:
    found = nodeset([Node(name, "", "slow", (), ()) for name in names])
    assert sorted(re.split(r",(?![^\[]*\])", found)) == sorted(re.split(r",(?![^\[]*\])", folded))


# the command


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    for name, run in machines(24, {3: 1.5, 4: 1.3}):
        save(run, folder / f"{name}.json")
    (folder / "broken.json").write_text("{")
    return folder


def test_the_summary_names_the_slow_ones_and_ends_with_3(folder: Path, isthmus: Command) -> None:
    ran = isthmus("fleet", str(folder))
    assert ran.returncode == 3
    lines = ran.stdout.splitlines()
    assert lines[0] == "2 of 24 machines are slower than their like."
    assert [line.split(":")[0] for line in lines[1:]] == ["node003", "node004"]
    assert "% longer: cuda:0 write pageable from 1Mi" in lines[1]
    assert all(len(line) <= 80 for line in lines)
    assert "broken.json: not a run file" in ran.stderr
    assert isthmus("fleet", str(folder), "--relevant", "80%").returncode == 0
    assert isthmus("fleet", str(folder / "none")).returncode == 2


def test_every_format_names_them(folder: Path, isthmus: Command) -> None:
    shown = {form: isthmus("fleet", str(folder), "--format", form).stdout for form in FORMATS}
    assert shown["nodes"] == "node[003-004]\n"
    assert shown["list"].count(" slow ") == 2
    assert len(shown["list"].splitlines()) == 24
    nodes = json.loads(shown["json"])["nodes"]
    assert {one["name"] for one in nodes if one["state"] == "slow"} == {"node003", "node004"}
    suite = ElementTree.fromstring(shown["junit"])
    assert len(suite.findall("testcase/failure")) == int(suite.get("failures", "")) == 2
    metric = re.compile(r'[a-z_]+(\{([a-z]+="(?:[^"\\]|\\.)*",?)*\})? [0-9.e+-]+')
    for line in shown["prometheus"].splitlines():
        assert line.startswith("# ") or metric.fullmatch(line), line
    assert shown["prometheus"].count('state="slow"} 1') == 2


def test_hostile_names_stay_in_their_place(isthmus: Command, tmp_path: Path) -> None:
    for i in range(8):
        run = node(f'x"\n{{}}\\{i}', 3.0 if i == 0 else 1.0, seed=i)
        save(run, tmp_path / f"{i}.json")
    shown = isthmus("fleet", str(tmp_path), "--format", "prometheus").stdout
    assert all(line.startswith(("# ", "isthmus_")) for line in shown.splitlines())
    assert ElementTree.fromstring(isthmus("fleet", str(tmp_path), "--format", "junit").stdout)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("node[001-003,007],login1", ["node001", "node002", "node003", "node007", "login1"]),
        ("n[9-11].example, b", ["n9.example", "n10.example", "n11.example", "b"]),
    ],
)
def test_folded_names_are_read(text: str, names: list[str]) -> None:
    assert node_names(text) == names


def test_folded_names_are_read_as_they_are_written() -> None:
    names = [*(f"node{i:03}" for i in (1, 2, 3, 7, 100)), "login1", "other"]
    nodes = [Node(name, "", "slow", [], []) for name in names]
    assert sorted(node_names(nodeset(nodes))) == sorted(names)


@pytest.mark.parametrize("text", ["", ",", "n[3-1]", "n[1-", "n[x]", "n[1-99999999]"])
def test_what_is_no_list_of_machines_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no list of machines"):
        node_names(text)


def test_expected_machines_without_a_run_are_named(tmp_path: Path, isthmus: Command) -> None:
    for name, run in machines(8, {}):
        save(run, tmp_path / f"{name}.json")
    complete = isthmus("fleet", ".", "--expect", "node[000-007]")
    assert complete.returncode == 0, complete.stdout
    ran = isthmus("fleet", ".", "--expect", "node[000-009],login1")
    assert ran.returncode == 3
    assert ran.stdout.splitlines() == [
        "None of 8 machines is slower than its like.",
        "3 machines have no run file: login1,node[008-009]",
    ]
    shown = {
        form: isthmus("fleet", ".", "--expect", "node[000-008]", "--format", form).stdout
        for form in FORMATS
    }
    assert shown["nodes"] == "node008\n"
    assert "node008 missing no run file" in shown["list"]
    assert json.loads(shown["json"])["nodes"][-1]["state"] == "missing"
    failed = ElementTree.fromstring(shown["junit"]).findall("testcase[failure]")
    assert [case.get("name") for case in failed] == ["node008"]
    assert shown["prometheus"].count('state="missing"} 1') == 1
    assert isthmus("fleet", ".", "--expect", "n[").returncode == 2
