"""Which of many machines are slow: what is planted is found, and nothing else."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from prometheus_client import parser

from conftest import Command
from exposition import problems
from host_states import planted_fleet
from isthmus.analysis.fleet import Fleet, Node, Unreadable, inspect
from isthmus.analysis.quantities import size_class
from isthmus.cli.fleet import fleet as command
from isthmus.errors import UsageError
from isthmus.measure.devices import link_attributes
from isthmus.reporters.fleet import FORMATS, node_names, nodeset
from isthmus.results.run_file import Rerun, Run, save
from isthmus.statistics.outliers import above
from isthmus.system import pci
from isthmus.units import percent
from synthetic import NODE_SIZES, machines, node

NOW = datetime.now(timezone.utc)


def began(run: Run, hours: float = 1.0) -> Run:
    """The run, begun so long ago."""
    return msgspec.structs.replace(run, started=(NOW - timedelta(hours=hours)).isoformat())


def linked(run: Run, lanes: int = 16, *, virtual: bool = False) -> Run:
    """The run of a card with 16 lanes, of which so many are in use."""
    port = {"speed": 16.0, "most_speed": 16.0, "lanes": lanes, "most_lanes": 16}
    path = [pci.Port(address="0000:06:00.0", kind="endpoint", **port)]
    path += [] if virtual else [pci.Port(address="0000:00:01.0", kind="root port", **port)]
    function = pci.Function(path=path)
    changes = {"pci": function, "pci_after": function, "link": link_attributes(function)}
    environment = {**run.environment, "virtualised": virtual}
    devices = [msgspec.structs.replace(one, **changes) for one in run.devices]
    return msgspec.structs.replace(run, devices=devices, environment=environment)


def named(run: Run, host: str) -> Run:
    """The run of another host."""
    return msgspec.structs.replace(run, environment={**run.environment, "host": host})


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


def part_slower(run: Run, factor: float, operation: str, sizes: tuple[int, ...]) -> Run:
    """The run with some sizes of an operation slower."""

    def slower(rerun: Rerun) -> Rerun:
        host = rerun.clocks["host"]
        ticks = [round(tick * factor) for tick in host.ticks]
        clocks = {"host": msgspec.structs.replace(host, ticks=ticks)}
        return msgspec.structs.replace(rerun, clocks=clocks)

    points = [
        msgspec.structs.replace(point, reruns=list(map(slower, point.reruns)))
        if point.operation == operation and point.bytes in sizes
        else point
        for point in run.points
    ]
    return msgspec.structs.replace(run, points=points)


@pytest.mark.parametrize("seed", range(4))
def test_machines_with_one_fault_are_a_group_though_some_tell_a_single_size(seed: int) -> None:
    """16Mi is half as slow again, 1Mi a twentieth: by chance some machines name 16Mi alone."""
    runs = machines(8, {}, seed=seed)
    for place in (1, 3, 5):
        name, run = runs[place]
        run = part_slower(run, 1.05, "write", NODE_SIZES[2:3])
        runs[place] = name, part_slower(run, 1.5, "write", NODE_SIZES[3:])
    fleet = inspect(runs)
    assert {one.sizes for node in fleet.of("slow") for one in node.outliers} >= {"16Mi"}
    assert fleet.group == (3, 5)


def test_a_single_slow_size_is_told_with_its_own_ratio() -> None:
    runs = machines(8, {})
    runs[2] = "n2", part_slower(runs[2][1], 1.5, "write", NODE_SIZES[3:])
    (node_,) = inspect(runs).of("slow")
    assert [(one.operation, one.sizes) for one in node_.outliers] == [("write", "16Mi")]
    assert node_.outliers[0].ratio == pytest.approx(1.5, rel=0.1)
    runs[2] = "n2", part_slower(machines(8, {})[2][1], 1.5, "write", NODE_SIZES[2:])
    (node_,) = inspect(runs).of("slow")
    assert node_.outliers[0].sizes == "from 1Mi"


def test_what_is_slower_than_before_is_told_once() -> None:
    before = machines(8, {}, seed=1)
    fleet = inspect(machines(8, {3: 1.5}), baseline=before)
    (line,) = (line for line in FORMATS["list"](fleet).splitlines() if "node003 slow" in line)
    assert {one.against for one in fleet.of("slow")[0].outliers} == {"like", "base"}
    assert line.count("write pageable from 1Mi") == 1
    assert re.search(r"before.*than (before|its like): 1 quantity, up to ", line)


def test_a_run_is_no_baseline_of_itself() -> None:
    runs = machines(8, {})
    fleet = inspect(runs, baseline=machines(8, {}))
    assert fleet.outcome == "undecided"
    assert "No comparison with the baseline: its runs are those that are judged." in (
        FORMATS["summary"](fleet)
    )
    mixed = inspect(runs, baseline=[*machines(8, {}, seed=1), *runs[:2]])
    assert mixed.outcome == "pass"
    assert "has 2 runs of those that are judged: left out" in FORMATS["summary"](mixed)


def with_card(run: Run, uuid: str, **changes: Any) -> Run:
    devices = [msgspec.structs.replace(d, properties={"uuid": uuid}) for d in run.devices]
    return msgspec.structs.replace(run, devices=devices, **changes)


def test_another_card_than_in_the_baseline_is_told() -> None:
    before = [(name, with_card(run, f"GPU-{name}")) for name, run in machines(8, {}, seed=1)]
    now = [(name, with_card(run, f"GPU-{name}")) for name, run in machines(8, {})]
    assert not any(node.swapped for node in inspect(now, baseline=before).nodes)
    now[4] = "n4", with_card(now[4][1], "GPU-new")
    text = " ".join(FORMATS["summary"](inspect(now, baseline=before)).split())
    assert "node004 cuda:0 is another card than in the baseline (GPU-new, before GPU-n4)." in text


def test_a_card_is_compared_by_the_same_kind_of_identity() -> None:
    """Earlier runs without a UUID have only the name of the product."""
    now = [(name, with_card(run, f"GPU-{name}")) for name, run in machines(8, {})]
    assert not any(node.swapped for node in inspect(now, baseline=machines(8, {}, seed=1)).nodes)


def test_a_run_without_the_device_hides_no_other_card() -> None:
    before = [(name, with_card(run, f"old-{name}")) for name, run in machines(8, {}, seed=1)]
    without = [
        (name, msgspec.structs.replace(run, devices=[], points=[], environment={
            **run.environment, "cpu": "Another CPU"}))
        for name, run in machines(8, {}, seed=2)
    ]  # fmt: skip
    now = [(name, with_card(run, f"new-{name}")) for name, run in machines(8, {})]
    nodes = inspect(now, baseline=[*before, *without]).nodes
    assert [len(node.swapped) for node in nodes] == [1] * 8


@pytest.mark.parametrize("order", [1, -1])
def test_the_newest_run_says_which_card_a_machine_has(order: int) -> None:
    before = [(name, with_card(run, "first")) for name, run in machines(8, {}, seed=1)]
    dates = {"first": "2025-03-01T00:00:00Z", "second": "2025-03-02T00:00:00Z"}
    now = [
        (f"{name}-{uuid}", with_card(run, uuid, started=dates[uuid]))
        for seed, uuid in enumerate(list(dates)[::order])
        for name, run in machines(8, {}, seed=2 + seed)
    ]
    nodes = inspect(now, baseline=before).nodes
    assert {(one.before, one.now) for node in nodes for one in node.swapped} == {
        ("first", "second")
    }


def test_files_may_take_the_place_of_a_folder(isthmus: Command, tmp_path: Path) -> None:
    files = []
    for name, run in machines(5, {2: 1.5}):
        files.append(tmp_path / f"{name}.json")
        save(began(run), files[-1])
    ran = isthmus("fleet", *map(str, files))
    assert ran.returncode == 3
    assert ran.stdout.startswith("1 of 5 machines is slower than its like.")


def test_a_baseline_needs_something_in_common_and_more_than_one_machine() -> None:
    runs = machines(8, {})
    other = [(n, msgspec.structs.replace(r, environment={"cpu": "Other"})) for n, r in runs]
    fleet = inspect(runs, baseline=other)
    assert "in common" in fleet.baseline
    single = inspect(runs, baseline=machines(1, {}, seed=1))
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
    fleet = inspect(machines(3, {0: 10.0}))
    assert FORMATS["summary"](fleet).startswith("None of 3 machines could be judged")
    assert not fleet.passes


def odd(runs: list[tuple[str, Run]], place: int) -> list[tuple[str, Run]]:
    """The runs; one machine has another GPU."""
    name, run = runs[place]
    devices = [msgspec.structs.replace(one, name="H200") for one in run.devices]
    return [
        *runs[:place],
        (name, msgspec.structs.replace(run, devices=devices)),
        *runs[place + 1 :],
    ]


def test_an_odd_machine_and_a_damaged_file_hide_no_slow_one() -> None:
    """Of six machines one has another GPU and one left no run: four are judged."""
    runs: list[tuple[str, Run | Unreadable]] = [*odd(machines(5, {2: 1.6}), 0)]
    fleet = inspect([*runs, ("n5", Unreadable("cut"))])
    assert slow_of(fleet) == ["node002"]
    assert [one.name for one in fleet.of("failed")] == ["n5"]
    (unknown,) = fleet.of("unknown")
    assert unknown.name == "node000"
    assert unknown.reasons == [
        "1 of its kind (cuda:0 H200; most have cuda:0 name of cuda:0); it takes 4"
    ]
    assert {one.name for one in fleet.of("healthy")} == {"node001", "node003", "node004"}
    well = inspect(odd(machines(5, {}), 0))
    assert (well.outcome, FORMATS["summary"](well).splitlines()[0]) == (
        "pass", "None of 5 machines of 2 kinds is slower than its like; 1 cannot be judged.",
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_a_plain_case_is_found_among_six(seed: int) -> None:
    """A machine that is 31 % slower than five others, which differ by 2 %."""
    fleet = inspect(machines(6, {2: 1.31}, seed=seed))
    assert slow_of(fleet) == ["node002"]
    (worst, *_) = fleet.of("slow")[0].outliers
    assert (worst.operation, worst.sizes) == ("write", "from 1Mi")


def longer(run: Run, factor: float, operation: str = "", size: int = 0) -> Run:
    """The run with longer times of an operation, or of all, from a size on."""

    def of(rerun: Rerun) -> Rerun:
        host = rerun.clocks["host"]
        ticks = [round(factor * tick) for tick in host.ticks]
        clocks = {"host": msgspec.structs.replace(host, ticks=ticks)}
        return msgspec.structs.replace(rerun, clocks=clocks)

    points = [
        msgspec.structs.replace(p, reruns=list(map(of, p.reruns)))
        if operation in {"", p.operation} and p.bytes >= size
        else p
        for p in run.points
    ]
    return msgspec.structs.replace(run, points=points)


def test_what_differences_between_machines_hide_is_told() -> None:
    """A share that is not found; a machine beyond twice that share is found."""

    def differing(slower: float) -> Fleet:
        factors = (1.0, 1.12, 0.9, 1.06)
        runs = [longer(node(f"node00{i}", slower if i == 2 else 1.0, spread=0.0, seed=i), factor)
                for i, factor in enumerate(factors)]  # fmt: skip
        return inspect((f"n{i}", run) for i, run in enumerate(runs))

    fleet = differing(1.0)
    hidden = fleet.hidden[0]
    assert hidden.machines == 4
    assert hidden.share > 3 * fleet.least
    text = " ".join(FORMATS["summary"](fleet).split())
    assert f"The smallest slowdown that this fleet shows is {percent(hidden.share)} in " in text
    writes = max(one.share for one in fleet.hidden if one.quantity.operation == "write")
    assert slow_of(differing(1 + 2 * writes)) == ["node002"]


def test_slower_quantities_behind_the_worst_are_named() -> None:
    """Only their number was told."""
    runs = machines(8, {3: 1.6})
    runs[3] = (runs[3][0], longer(runs[3][1], 1.3, "read", 1 << 20))
    (slow,) = inspect(runs).of("slow")
    assert [(one.operation, one.sizes) for one in slow.outliers] == [
        ("write", "from 1Mi"), ("read", "from 1Mi"),
    ]  # fmt: skip
    text = " ".join(FORMATS["summary"](inspect(runs)).split())
    longer_by = f"{100 * ((slow.outliers[1].ratio or 1) - 1):.0f} %"
    assert f"; {longer_by} read pageable from 1Mi" in text


def test_classes_of_sizes_say_what_they_hold() -> None:
    sizes = (4096, 4097, (1 << 20) - 1, 1 << 20, 0)
    names = ["up to 4Ki", "between 4Ki and 1Mi", "between 4Ki and 1Mi", "from 1Mi", ""]
    assert list(map(size_class, sizes)) == names


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


@pytest.mark.parametrize("virtual", [False, True])
def test_a_lesser_link_stands_beside_a_slow_machine(virtual: bool) -> None:
    """Half of the lanes are the cause; they need less proof, and hide no other slow machine."""
    factors = {2: 1.9, 4: 1.5}
    runs = [
        (
            f"n{i}",
            linked(
                node(f"node{i:03}", factors.get(i, 1.0), spread=0.01, seed=i),
                8 if i == 2 else 16,
                virtual=virtual,
            ),
        )
        for i in range(6)
    ]
    fleet = inspect(runs)
    assert slow_of(fleet) == ["node002", "node004"]
    lines = FORMATS["summary"](fleet).splitlines()
    assert lines[1].startswith("node002: ")
    assert lines[2].startswith("  cuda:0 link_width: x8; ")
    assert "link_width" in json.loads(FORMATS["json"](fleet))["nodes"][2]["facts"][0]["check"]
    same = inspect([(name, linked(run, 8)) for name, run in machines(6, {})])
    assert not any(one.facts for one in same.nodes), "what all have tells none apart"
    equal = inspect([(n, linked(r, 8 if n == "n2" else 16)) for n, r in machines(8, {})])
    assert [one.name for one in equal.of("degraded")] == ["node002"]
    assert not equal.passes, "an automatic gate must not miss it"
    first, line, *_ = FORMATS["summary"](equal).splitlines()
    assert first.endswith("is slower than its like; 1 has a lesser link.")
    assert line.startswith("node002: cuda:0 link_width: x8; ")
    few = [(n, linked(r, 8 if n == "n2" else 16)) for n, r in machines(4, {})]
    assert [one.name for one in inspect(few).of("degraded")] == ["node002"], (
        "also if none is judged"
    )


def test_no_line_loses_the_words_that_are_the_finding() -> None:
    """A long name or a long fact takes further lines."""
    runs = [(n, linked(r, 8 if n == "n2" else 16, virtual=True)) for n, r in machines(8, {})]
    long = "n2" + "-rack" * 12
    fleet = inspect([(n, named(r, long) if n == "n2" else r) for n, r in runs])
    text = FORMATS["summary"](fleet)
    assert "link_width: x8;" in " ".join(text.split())
    assert "..." not in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_each_machine_is_compared_with_itself_of_before() -> None:
    """Machines differ by 30 % for good: 15 % more of one are seen beside its own base alone."""
    usual = [0.85, 0.92, 0.85, 1.0, 1.02, 1.08, 1.13, 1.15]

    def of(seed: int, factors: list[float]) -> list[tuple[str, Run]]:
        return [
            (f"n{i}", node(f"node{i:03}", factor, seed=seed + i, spread=0.004))
            for i, factor in enumerate(factors)
        ]

    before, same = of(100, usual), of(0, usual)
    after = of(0, [factor * (1.15 if i == 2 else 1.0) for i, factor in enumerate(usual)])
    assert not slow_of(inspect(after))
    fleet = inspect(after, baseline=before)
    assert slow_of(fleet) == ["node002"]
    (worst,) = fleet.of("slow")[0].outliers
    assert (worst.operation, worst.against) == ("write", "base")
    assert worst.ratio == pytest.approx(1.15, rel=0.03)
    assert "1 of 8 machines is slower than it was before" in FORMATS["summary"](fleet)
    assert not slow_of(inspect(same, baseline=before))
    part = FORMATS["summary"](inspect(after, baseline=before[:7]))
    assert "1 of 8 machines have no run of their own in the baseline" in part


def test_a_change_of_most_machines_says_of_how_many() -> None:
    fleet = inspect(machines(8, dict.fromkeys(range(8), 1.2), seed=1), baseline=machines(8, {}))
    (shift,) = fleet.shifts
    assert shift.machines == (8, 8)
    first, second = FORMATS["summary"](fleet).splitlines()
    says = r"1 quantity takes (\d+) % longer than in the baseline on 8 of 8 machines\."
    (longer,) = re.fullmatch(says, first).groups()
    assert second.startswith(f"  {longer} % longer on 8 of 8: cuda:0 write")


@pytest.mark.parametrize(
    ("host", "link", "state"),
    [(1.2, 1.0, "slow_host"), (1.2, 1.15, "slow"), (1.0, 1.15, "slow"), (0.85, 1.15, "slow"),
     (1.0, 1.0, "healthy")],
)  # fmt: skip
def test_machines_are_compared_at_equal_host_speed(host: float, link: float, state: str) -> None:
    """A slower host is named as that; what stays slow beside it are the link's copies alone."""
    for seed in range(3):
        fleet = inspect(planted_fleet(seed, {2: host}, {2: link}))
        assert {one.name: one.state for one in fleet.nodes} == {
            f"node{i}": state if i == 2 else "healthy" for i in range(8)
        }
        bad = fleet.nodes[2]
        assert all((one.memory, one.sizes) == ("pinned", "from 1Mi") for one in bad.outliers)
        assert bool(bad.outliers) == (state == "slow")
        assert bool(bad.host) == (host > 1)
        assert ("its host is slow" in FORMATS["summary"](fleet)) == (host > 1)


def test_a_short_name_and_one_with_its_domain_are_the_same_machine() -> None:
    runs = machines(8, {3: 1.5})
    full = [(n, named(r, f"{r.environment['host']}.example.org")) for n, r in runs]
    mixed = [*full[:4], *runs[4:]]
    names = [f"node{i:03}" for i in range(8)]
    fleet = inspect(mixed, expected=names, baseline=machines(8, {}, seed=1))
    assert [one.name for one in fleet.nodes] == names
    assert slow_of(fleet) == ["node003"]
    assert fleet.own_base == (8, 8)
    assert not inspect(runs, expected=[f"{name}.example.org" for name in names]).of("missing")
    other = [(n, named(r, f"{r.environment['host']}.example.com")) for n, r in runs]
    assert len(inspect([*full, *other]).nodes) == 16, "hosts of two domains"


def test_an_old_run_speaks_for_no_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, run in machines(8, {5: 3.0}):
        hours = 30 if name in {"n4", "n5"} else 1
        save(began(run, hours), tmp_path / f"{name}.json")
        if name == "n4":  # what it was before does not count where it is known now
            save(began(run), tmp_path / "n4-now.json")

    def said(**options: Any) -> list[str]:
        assert command([tmp_path], **options) == 3
        return capsys.readouterr().out.splitlines()

    assert [line.partition(" began")[0] for line in said(expect="node[000-007]")] == [
        "None of 8 machines is slower than its like; 1 is old.",
        "node005: old: its newest run",
    ]
    assert said(form="nodes") == ["node005"]
    for age in ("2d", "31h", "none"):
        assert said(max_age=age)[0] == "1 of 8 machines is slower than its like."
    assert "(--max-age)" in said(max_age="1m")[0]
    with pytest.raises(UsageError, match="no age"):
        command([tmp_path], max_age="1")


def test_a_run_of_the_future_speaks_for_no_machine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, run in machines(8, {}):
        save(began(run, {"n4": -48, "n5": -0.1}.get(name, 1)), tmp_path / f"{name}.json")
    assert command([tmp_path]) == 3
    first, line, *_ = capsys.readouterr().out.splitlines()
    assert first == "None of 8 machines is slower than its like; 1 failed."
    assert line.startswith("node004: failed: its run is dated in the future (")
    save(began(machines(8, {})[4][1]), tmp_path / "n4-now.json")
    assert command([tmp_path]) == 0, "a clock that was set right"


@pytest.mark.parametrize("content", ["", '{"schema": "isthmus.run/1", "poi'], ids=["empty", "cut"])
def test_a_machine_whose_only_file_cannot_be_read_has_failed(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _, run in machines(8, {}):
        save(began(run), tmp_path / f"{run.environment['host']}.json")
    (tmp_path / "node003.json").write_text(content)
    (tmp_path / "node004.json.gz").write_text(content)  # node004 has another file
    assert command([tmp_path]) == 3
    told = capsys.readouterr()
    first, line, *_ = told.out.splitlines()
    assert first == "None of 8 machines is slower than its like; 1 failed."
    assert line.startswith("node003: failed: ")
    assert told.err.count("not a run file") == 2
    assert command([tmp_path], form="prometheus") == 3
    metrics = capsys.readouterr().out
    assert 'isthmus_node_state{node="node003",state="failed"} 1' in metrics
    assert "isthmus_unreadable_files 2" in metrics
    assert command([tmp_path], baseline=tmp_path, expect="node[000-007]") == 3
    assert "missing" not in capsys.readouterr().out


def test_metrics_follow_the_rules_of_the_format() -> None:
    """Names, units and syntax; healthy machines have ratios and rates, too."""
    runs = [(n, began(r)) for n, r in planted_fleet(1, {2: 1.2}, {})]
    runs.append(("odd", named(began(node("odd", 1.0)), 'a\\b"c\nd')))
    fleet = inspect(runs, baseline=planted_fleet(2, {}, {}), expected=["node9"])
    text = FORMATS["prometheus"](fleet)
    assert not problems(text)
    samples = {
        family.name: family.samples for family in parser.text_string_to_metric_families(text)
    }
    assert set(samples) == {
        "isthmus_node_info", "isthmus_node_state", "isthmus_unreadable_files",
        "isthmus_run_start_timestamp_seconds",
        "isthmus_operation_duration_seconds", "isthmus_operation_bytes_per_second",
        "isthmus_operation_duration_ratio", "isthmus_operation_base_duration_ratio",
        "isthmus_host_duration_ratio", "isthmus_baseline_slower_quantities",
    }  # fmt: skip
    state = {s.labels["node"]: s.labels["state"] for s in samples["isthmus_node_state"] if s.value}
    assert state["node2"] == "slow_host"
    assert state["node9"] == "missing"
    assert r'a\b"c\nd' in state
    times = samples["isthmus_run_start_timestamp_seconds"]
    assert {s.labels["node"] for s in times} == state.keys() - {"node9"}
    assert all(s.value == pytest.approx(NOW.timestamp(), abs=7200) for s in times)
    rates = [
        s.value for s in samples["isthmus_operation_bytes_per_second"]
        if (s.labels["node"], s.labels["memory"], s.labels["sizes"])
        == ("node1", "pinned", "from 1Mi")
    ]  # fmt: skip
    assert rates == pytest.approx([5e10, 5e10], rel=0.05), "bytes a second"
    assert {s.labels["node"] for s in samples["isthmus_operation_duration_ratio"]} >= {"node0"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# HELP a_seconds A.\n# TYPE a_seconds gauge\na_seconds 1", "newline"),
        ("a_seconds 1\n", "no TYPE"),
        ("# HELP a_ms A.\n# TYPE a_ms gauge\na_ms 1\n", "unit"),
        ("# HELP a_seconds A.\n# TYPE a_seconds gauge\na_seconds 1\na_seconds 2\n", "twice"),
        ('# HELP a_ratio A.\n# TYPE a_ratio gauge\na_ratio{b="c} 1\n', "syntax"),
        ("# HELP a_ratio A.\n# TYPE a_ratio gauge\n", "no sample"),
        ("# HELP a_ratio A.\n# TYPE a_ratio counter\na_ratio 1\n", "_total"),
    ],
)  # fmt: skip
def test_the_check_of_metrics_finds_what_breaks_the_rules(text: str, why: str) -> None:
    assert any(why in problem for problem in problems(text))


@pytest.mark.parametrize("count", [6, 8, 20, 60])
def test_normal_values_are_alike_and_planted_ones_are_above(count: int) -> None:
    """Of 500 samples 10 may have a false alarm; few, many and half of the values are found."""
    random = np.random.default_rng(count)
    alarms = sum(bool(above(random.normal(size=count).tolist(), 0.01).places) for _ in range(500))
    assert alarms <= 20
    for high in (1, 2, count // 2):
        values = random.normal(0, 0.01, count)
        values[:high] += 0.5
        assert above(values.tolist(), 0.001).places == set(range(high))
    values = random.normal(0, 0.01, count)
    values[0], values[1] = 1.0, -5.0
    assert above(values.tolist(), 0.001).places == {0}, "a very low value hides no high one"


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
        save(began(run), folder / f"{name}.json")
    (folder / "broken.json").write_text("{")
    return folder


def test_the_summary_names_the_slow_ones_and_ends_with_3(folder: Path, isthmus: Command) -> None:
    ran = isthmus("fleet", str(folder))
    assert ran.returncode == 3
    lines = ran.stdout.splitlines()
    assert lines[0] == "2 of 25 machines are slower than their like; 1 failed."
    assert [line.split(":")[0] for line in lines[1:4]] == ["node003", "node004", "broken"]
    assert "% longer: cuda:0 write pageable from 1Mi" in lines[1]
    assert all(len(line) <= 80 for line in lines)
    assert "broken.json: not a run file" in ran.stderr
    assert isthmus("fleet", str(folder), "--relevant", "80%").stdout.startswith("None of 25")
    assert isthmus("fleet", str(folder / "none")).returncode == 2


def test_every_format_names_them(folder: Path, isthmus: Command) -> None:
    shown = {form: isthmus("fleet", str(folder), "--format", form).stdout for form in FORMATS}
    assert shown["nodes"] == "node[003-004],broken\n"
    assert shown["list"].count(" slow ") == 2
    assert len(shown["list"].splitlines()) == 25
    nodes = json.loads(shown["json"])["nodes"]
    assert {one["name"] for one in nodes if one["state"] == "slow"} == {"node003", "node004"}
    suite = ElementTree.fromstring(shown["junit"])
    assert len(suite.findall("testcase/failure")) == int(suite.get("failures", "")) == 3
    assert not problems(shown["prometheus"])
    assert shown["prometheus"].count('state="slow"} 1') == 2


def test_hostile_names_stay_in_their_place(isthmus: Command, tmp_path: Path) -> None:
    for i in range(8):
        run = node(f'x"\n{{}}\\{i}', 3.0 if i == 0 else 1.0, seed=i)
        save(began(run), tmp_path / f"{i}.json")
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
        save(began(run), tmp_path / f"{name}.json")
    complete = isthmus("fleet", ".", "--expect", "node[000-007]")
    assert complete.returncode == 0, complete.stdout
    ran = isthmus("fleet", ".", "--expect", "node[000-009],login1")
    assert ran.returncode == 3
    assert ran.stdout.splitlines() == [
        "None of 8 machines is slower than its like; 3 are missing.",
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
