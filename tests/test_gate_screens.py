"""What an operator reads of a gate: a stored screen for each case, and the data behind it."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from conftest import Command
from isthmus.analysis.changes import Side, Terms, compare
from isthmus.analysis.gate import Doubt, decide
from isthmus.reporters import gate as gate_text
from isthmus.results.run_file import Point, Run, save
from synthetic import point, run

SCREENS = Path(__file__).parent / "data" / "gate"
SIZES = (64, 1 << 20)
DAY_S = 86400
SPREAD = {"pinned": 0.002, "pageable": 0.05}
"""Standard deviation of the logarithm over processes, about."""
ON_PATH = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
CODES = {"PASS": 0, "FAIL": 3, "UNDECIDED": 5}


def times(memory: str, size: int, factor: float, processes: int) -> list[list[float]]:
    """Seconds of each process, which scatter as those of a run do, without any chance."""
    scatter = [SPREAD[memory] * math.sin(2.4 * i + size) * math.sqrt(2) for i in range(processes)]
    return [[(1e-5 + size / 1e10) * factor * math.exp(log)] * 5 for log in scatter]


def node(
    day: str = "2026-03-01", *, slower: Mapping[tuple[str, str, int], float] | None = None,
    processes: int = 12, **changes: Any,
) -> Run:  # fmt: skip
    """A run of a GPU; copies of an operation, memory and size are slower by a factor."""
    points = [
        point(
            "cuda:0", operation, size,
            times(memory, size, (slower or {}).get((operation, memory, size), 1.0), processes),
            memory=memory,
        )
        for operation in ("write", "read")
        for memory in ("pinned", "pageable")
        for size in SIZES
    ]  # fmt: skip
    made = run(points, started=f"{day}T06:00:00Z", environment={"host": "node001", "cpu": "A CPU"})
    return msgspec.structs.replace(made, **changes)


def with_device(made: Run, **changes: Any) -> Run:
    devices = [msgspec.structs.replace(device, **changes) for device in made.devices]
    return msgspec.structs.replace(made, devices=devices)


def with_point(made: Run, place: int, change: Callable[[Point], list[Point]]) -> Run:
    points = [*made.points[:place], *change(made.points[place]), *made.points[place + 1 :]]
    return msgspec.structs.replace(made, points=points)


def wrong(one: Point) -> list[Point]:
    reruns = [msgspec.structs.replace(rerun, verified="false") for rerun in one.reruns]
    return [msgspec.structs.replace(one, reruns=reruns)]


def linked(made: Run, lanes: int) -> Run:
    """The run of a card with 16 lanes, of which so many are in use."""
    speed = {"current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "16.0 GT/s PCIe"}
    width = {"current_link_width": str(lanes), "max_link_width": "16"}
    return with_device(made, link={"address": "0000:03:00.0", **speed, **width})


BASE = node("2026-02-01")
SLOW = {("write", "pinned", 1 << 20): 1.31}
LIMIT = "auto,5%"
CASES: dict[str, tuple[Run, Run, str]] = {
    "equal": (BASE, node(), "PASS"),
    "slower": (BASE, node(slower=SLOW), "FAIL"),
    "other-machine": (
        BASE, node(environment={"host": "node002", "cpu": "A CPU"}), "UNDECIDED",
    ),
    "other-device": (BASE, with_device(node(), name="H200"), "UNDECIDED"),
    "other-binding": (
        BASE, node(settings=msgspec.structs.replace(BASE.settings, cpus=[1])), "UNDECIDED",
    ),
    "old-base": (node("2025-01-01"), node(), "UNDECIDED"),
    "half-link": (linked(BASE, 16), linked(node(), 8), "FAIL"),
    "half-link-unknown-before": (BASE, linked(node(), 8), "UNDECIDED"),
    "wrong-data": (BASE, with_point(node(), 0, wrong), "FAIL"),
    "missing-point": (BASE, with_point(node(), 0, lambda _: []), "FAIL"),
    "interrupted": (
        BASE, with_point(node(status="interrupted"), 0, lambda _: []), "UNDECIDED",
    ),
    "few-processes": (node("2026-02-01", processes=2), node(processes=2), "UNDECIDED"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_screen_of_each_case(name: str, isthmus: Command, tmp_path: Path) -> None:
    base, new, decision = CASES[name]
    save(base, tmp_path / "base.json")
    save(new, tmp_path / "new.json")
    limit = "10%" if name == "few-processes" else LIMIT
    gate = ("compare", "base.json", "new.json", "--fail-above", limit)
    done = isthmus(*gate, env=ON_PATH)
    assert done.returncode == CODES[decision], done.stderr
    assert done.stdout == (SCREENS / f"{name}.txt").read_text("utf-8")
    assert done.stdout.startswith(f"{decision}: ")
    suite = ElementTree.fromstring(isthmus(*gate, "--format", "junit", env=ON_PATH).stdout)
    failed = [kind for kind in ("failures", "errors") if int(suite.get(kind, "0"))]
    assert failed == {"PASS": [], "FAIL": ["failures"], "UNDECIDED": ["errors"]}[decision]


def decided(base: Run, new: Run, terms: Terms | None = None) -> tuple[str, list[Doubt]]:
    gate = decide(compare(Side("a", [base]), Side("b", [new]), 0.05, terms=terms or Terms()))
    return gate.outcome, gate.doubts


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("other-machine", "machine"), ("other-device", "device"), ("other-binding", "settings"),
        ("half-link-unknown-before", "link"),
    ],
)  # fmt: skip
def test_an_unlike_base_passes_only_where_it_is_allowed(name: str, kind: str) -> None:
    base, new, _ = CASES[name]
    outcome, doubts = decided(base, new)
    assert (outcome, [(one.kind, one.blocks) for one in doubts]) == (
        "undecided", [("age", False), (kind, True)],
    )  # fmt: skip
    for others in {"machine", "device", "settings", "link"} - {kind}:
        assert decided(base, new, Terms(frozenset({others})))[0] == "undecided"
    assert decided(base, new, Terms(frozenset({kind})))[0] == "pass"
    slow = node(slower=SLOW, environment=new.environment, devices=new.devices)
    assert decided(base, slow)[0] == "fail", "a slower one is slower wherever it is"


def test_a_base_counts_until_its_age() -> None:
    base, new = node("2026-02-01"), node("2026-03-01")
    (age,) = decided(base, new)[1]
    assert (age.kind, age.seconds, age.blocks) == ("age", 28 * DAY_S, False)
    assert decided(base, new, Terms(max_age_s=28 * DAY_S))[0] == "pass"
    assert decided(base, new, Terms(max_age_s=28 * DAY_S - 1))[0] == "undecided"
    assert decided(node("2026-03-01"), new)[1] == [Doubt("same run", blocks=True)]


@pytest.mark.parametrize(
    ("options", "code"),
    [((), 5), (("--max-age", "500d"), 0), (("--max-age", "none"), 0), (("--max-age", "1"), 2)],
)
def test_the_age_is_an_option(
    options: tuple[str, ...], code: int, isthmus: Command, tmp_path: Path
) -> None:
    save(node("2025-01-01"), tmp_path / "base.json")
    save(node(), tmp_path / "new.json")
    done = isthmus("compare", "base.json", "new.json", "--fail-above", LIMIT, *options)
    assert done.returncode == code, done.stderr


@pytest.mark.parametrize(
    "options", [("--max-age", "7d"), ("--allow-other", "machine"), ("--fail-above", "5%",
                "--allow-other", "machines")],
)  # fmt: skip
def test_options_of_a_gate_that_do_nothing_are_refused(
    options: tuple[str, ...], isthmus: Command, tmp_path: Path
) -> None:
    save(BASE, tmp_path / "base.json")
    assert isthmus("compare", "base.json", "base.json", *options).returncode == 2


def test_short_and_long_names_of_one_host_are_one_machine() -> None:
    long = node(environment={"host": "node001.example.org", "cpu": "A CPU"})
    assert "machine" not in [one.kind for one in decided(BASE, long)[1]]
    unnamed = node(environment={"cpu": "A CPU"})
    assert "machine" not in [one.kind for one in decided(BASE, unnamed)[1]]
    other = node(environment={"cpu": "Another CPU"})
    assert [one.names for one in decided(BASE, other)[1] if one.kind == "machine"] == [
        ("A CPU", "Another CPU")
    ]


def test_times_of_a_model_count_from_any_machine_and_day() -> None:
    def model(day: str, host: str) -> Run:
        points = [point("card:x", "write", 4096, [[1e-5]], rerun_changes={"clock": "simulated"})]
        made = run(points, started=f"{day}T06:00:00Z", environment={"host": host})
        return with_device(made, simulated=True, real=False)

    base, new = model("2020-01-01", "a"), model("2026-01-01", "b")
    outcome, doubts = decided(base, new, Terms(max_age_s=DAY_S))
    assert (outcome, [one.blocks for one in doubts]) == ("pass", [False, False])


def test_a_lesser_link_is_named_with_the_base() -> None:
    for base, in_base in ((linked(BASE, 16), False), (linked(BASE, 8), True), (BASE, None)):
        gate = decide(compare(Side("a", [base]), Side("b", [linked(node(), 8)])))
        assert [(one.fact.device, one.fact.check, one.in_base) for one in gate.links] == [
            ("cuda:0", "link_width", in_base)
        ]
    assert not decide(compare(Side("a", [linked(BASE, 8)]), Side("b", [node()]))).links


def test_line_and_body_have_the_same_counts(isthmus: Command, tmp_path: Path) -> None:
    """The body counted two-sided verdicts, and so had undecided series below PASS."""
    save(node("2026-02-01", processes=3), tmp_path / "base.json")
    save(node(processes=3), tmp_path / "new.json")
    gate = ("compare", "base.json", "new.json", "--fail-above", LIMIT)
    data = json.loads(isthmus(*gate, "--format", "json").stdout)
    standing = [one["standing"] for one in data["series"]]
    verdicts = [one["verdict"] for one in data["series"]]
    assert data["outcome"] == "pass"
    assert set(standing) == {"within"}
    assert "undecided" in verdicts, "the case that was told wrongly"
    assert all(one["most_ratio"] <= 1 + one["limit"] for one in data["series"])
    assert all(one["decided"] == one["series"] for one in data["coverage"])
    body = isthmus(*gate).stdout.partition("\n")[2]
    assert "undecided" not in body


def test_the_next_command_is_a_gate_with_the_same_limit(isthmus: Command, tmp_path: Path) -> None:
    for name in ("equal", "slower", "interrupted", "few-processes", "old-base"):
        base, new, _ = CASES[name]
        for path, one in (("base.json", base), ("new.json", new)):
            (tmp_path / path).unlink(missing_ok=True)
            save(one, tmp_path / path)
        gate = ("compare", "base.json", "new.json", "--fail-above", LIMIT)
        first = isthmus(*gate, env=ON_PATH).stdout.splitlines()[0]
        commands = first.partition(". Next")[2].split("isthmus compare")[1:]
        assert commands
        assert all(f"--fail-above {LIMIT}" in command for command in commands)


@pytest.mark.parametrize("room", [3, 2, 1, 0, -2])
def test_rows_keep_to_their_room(room: int) -> None:
    """Without any room, one row says how many there are."""
    few = [node(day, processes=2) for day in ("2026-02-01", "2026-03-01")]
    result = compare(Side("a", few[:1]), Side("b", few[1:]), 0.001, terms=Terms())
    assert len(result.undecided) > 3
    rows = gate_text.rows(result, room)
    assert len(rows) == max(room, 1)
    assert rows[-1] == f"and {len(result.undecided) - len(rows) + 1} more undecided"
