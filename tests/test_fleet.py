"""Which of many machines are slow: what is planted is found, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest

from conftest import Command
from isthmus.analysis.fleet import Fleet, Node, judge
from isthmus.reporters.fleet import FORMATS, nodeset
from isthmus.results.run_file import Run, save
from synthetic import Law, transfer_run

SIZES = (64, 4096, 1 << 20, 1 << 24)


def node(
    name: str, slower: float = 1.0, *, spread: float = 0.02, seed: int = 0, **changes: object
) -> Run:
    """A machine's run; it differs from its like by ``spread``, and writes slower by a factor."""
    own = float(np.exp(np.random.default_rng(seed).normal(0, spread)))
    laws = {
        "cuda:0": {
            "read": Law(1e-5 * own, 2e10 / own),
            "write": Law(1e-5 * own, 2e10 / own / slower),
        }
    }
    run = transfer_run(laws, SIZES, reruns=3, samples=10, seed=seed)
    environment = {"host": name, "cpu": "Some CPU"}
    return msgspec.structs.replace(run, environment=environment, **changes)


def machines(count: int, slow: Mapping[int, float], *, seed: int = 0) -> list[tuple[str, Run]]:
    return [
        (f"n{i}", node(f"node{i:03}", slow.get(i, 1.0), seed=1000 * seed + i)) for i in range(count)
    ]


def slow_of(fleet: Fleet) -> list[str]:
    return [one.name for one in fleet.of("slow")]


@pytest.mark.parametrize("count", [8, 60])
def test_a_degraded_machine_is_found_with_what_is_slow(count: int) -> None:
    fleet = judge(machines(count, {3: 1.5}))
    assert slow_of(fleet) == ["node003"]
    (worst,) = fleet.of("slow")[0].outliers
    assert (worst.operation, worst.sizes) == ("write", "from 1Mi")
    assert worst.ratio == pytest.approx(1.5, rel=0.1)


def test_healthy_machines_are_not_named() -> None:
    """Forty fleets: of a hundred, one may have a false alarm."""
    named = [slow_of(judge(machines(20, {}, seed=seed))) for seed in range(40)]
    assert sum(map(bool, named)) <= 2


def test_what_became_slower_everywhere_needs_a_baseline() -> None:
    before, after = machines(8, {}), machines(8, dict.fromkeys(range(8), 1.2), seed=1)
    assert not judge(after).of("slow")
    shifts = judge(after, baseline=before).shifts
    assert [(one.operation, one.sizes) for one in shifts] == [("write", "from 1Mi")]
    assert not judge(before, baseline=machines(8, {}, seed=1)).shifts


def test_machines_are_compared_with_their_like_only() -> None:
    others = [
        (name, msgspec.structs.replace(run, environment={"host": f"x{name}", "cpu": "Slow CPU"}))
        for name, run in machines(6, dict.fromkeys(range(6), 2.0), seed=1)
    ]
    fleet = judge([*machines(8, {}), *others])
    assert fleet.kinds == 2
    assert not fleet.of("slow")
    few = judge([*machines(8, {}), *others[:2]])
    assert [one.name for one in few.of("unknown")] == ["xn0", "xn1"]


def test_a_narrower_link_is_the_same_kind() -> None:
    """A card that trained with half of its lanes is the one to be found, and no kind of its own."""
    runs = []
    for name, run in machines(8, {2: 1.9}):
        width = "8" if name == "n2" else "16"
        link = {"max_link_width": "16", "current_link_width": width, "max_link_speed": "32.0 GT/s"}
        devices = [msgspec.structs.replace(one, link=link) for one in run.devices]
        runs.append((name, msgspec.structs.replace(run, devices=devices)))
    assert slow_of(judge(runs)) == ["node002"]


def test_a_missing_size_makes_no_machine_slow() -> None:
    runs = machines(8, {})
    name, run = runs[0]
    kept = [point for point in run.points if point.bytes != SIZES[2]]
    fleet = judge([(name, msgspec.structs.replace(run, points=kept)), *runs[1:]])
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
    found = nodeset([Node(name, "", "slow", (), 0) for name in names])
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
    assert lines[0] == "2 of 24 machines are slower than their like (4 quantities each)."
    assert [line.split(":")[0] for line in lines[1:]] == ["node003", "node004"]
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
    metric = re.compile(r'[a-z_]+\{([a-z]+="(?:[^"\\]|\\.)*",?)*\} [0-9.e+-]+')
    for line in shown["prometheus"].splitlines():
        assert line.startswith("# ") or metric.fullmatch(line), line
    assert 'isthmus_node_slow{node="node003"} 1' in shown["prometheus"]


def test_hostile_names_stay_in_their_place(isthmus: Command, tmp_path: Path) -> None:
    for i in range(8):
        run = node(f'x"\n{{}}\\{i}', 3.0 if i == 0 else 1.0, seed=i)
        save(run, tmp_path / f"{i}.json")
    shown = isthmus("fleet", str(tmp_path), "--format", "prometheus").stdout
    assert all(line.startswith(("# ", "isthmus_")) for line in shown.splitlines())
    assert ElementTree.fromstring(isthmus("fleet", str(tmp_path), "--format", "junit").stdout)
