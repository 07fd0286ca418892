"""Faults of either side in the gate of ``compare``, and what its line says that it cannot judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from conftest import Command
from host_states import planted
from isthmus.analysis import gate
from isthmus.analysis.change import LINK_STATE
from isthmus.analysis.changes import Side, Terms, compare
from isthmus.analysis.machines import Fact
from isthmus.cli import compare as cli
from isthmus.reporters.comparison import remarks
from isthmus.results.run_file import Rerun, Run, save
from isthmus.system import pci
from isthmus.text import counted
from isthmus.thresholds import LARGE
from synthetic import Law, transfer_run
from test_gate import LATER, SIZES, failed, measured, mixed, noisy, outcome, ran


def lost(run: Run) -> Run:
    """The run of a device that went away before any point; time ran out."""
    devices = [msgspec.structs.replace(device, error="device lost") for device in run.devices]
    points = [msgspec.structs.replace(point, reruns=[]) for point in run.points]
    return msgspec.structs.replace(run, devices=devices, points=points, status="budget")


def too_fast(run: Run, operation: str = "", **changes: Any) -> Run:
    """The run with times at the clock's resolution; of one operation, if it is named."""

    def at_once(rerun: Rerun) -> Rerun:
        clocks = {
            name: msgspec.structs.replace(samples, ticks=[0] * len(samples.ticks))
            for name, samples in rerun.clocks.items()
        }
        return msgspec.structs.replace(rerun, clocks=clocks)

    points = [
        msgspec.structs.replace(point, reruns=list(map(at_once, point.reruns)))
        if operation in {"", point.operation}
        else point
        for point in run.points
    ]
    return msgspec.structs.replace(run, points=points, **changes)


@pytest.mark.parametrize(
    ("base", "new", "why"),
    [
        (too_fast(measured(1)), too_fast(measured(2)), "no point has a time on both sides"),
        (too_fast(measured(1)), measured(2, slower=9.0), "8 points cannot be compared"),
        (too_fast(measured(1), "write"), measured(2, slower=9.0), "4 points cannot be compared"),
        (
            msgspec.structs.replace(measured(1), points=[]),
            msgspec.structs.replace(measured(2), points=[], started=LATER),
            "no point has a time on both sides",
        ),
    ],
)
def test_a_quantity_without_a_comparison_is_undecided(
    base: Run, new: Run, why: str, isthmus: Command, tmp_path: Path
) -> None:
    done = ran(isthmus, tmp_path, base, new)
    assert done.returncode == 5
    assert done.stdout.startswith(f"UNDECIDED: b.json against a.json: {why}")
    report = ran(isthmus, tmp_path, base, new, "--fail-above", "5%", "--format", "junit")
    suite = ElementTree.fromstring(report.stdout)
    assert report.returncode == 5
    assert int(suite.get("errors", "0")) >= 1


def faulty(run: Run, size: int, fault: str) -> Run:
    """The run whose writes of a size are absent or failed."""
    points = []
    for point in run.points:
        if (point.operation, point.bytes) != ("write", size):
            points.append(point)
        elif fault == "failed":
            points.append(msgspec.structs.replace(point, reruns=[], error="the device failed"))
    return msgspec.structs.replace(run, points=points)


@pytest.mark.parametrize(
    ("sizes", "fault"), [(SIZES[-1:], "failed"), (SIZES, "absent")], ids=["failed", "absent"]
)
def test_sizes_without_a_base_are_undecided(
    sizes: tuple[int, ...], fault: str, isthmus: Command, tmp_path: Path
) -> None:
    """Other sizes of the same operation are compared, and are not slower."""
    large = [size for size in sizes if size >= LARGE]
    base = measured(1)
    for size in large:
        base = faulty(base, size, fault)
    done = ran(isthmus, tmp_path, base, measured(2))
    assert done.returncode == 5
    assert (
        f"{counted(len(large), 'point', 'points')} cannot be compared ("
        in done.stdout.splitlines()[0]
    )


def without_writes(run: Run) -> Run:
    """The run whose time ran out before its writes."""
    points = [
        msgspec.structs.replace(point, reruns=[]) if point.operation == "write" else point
        for point in run.points
    ]
    return msgspec.structs.replace(run, points=points, status="budget")


@pytest.mark.parametrize("side", [0, 1])
def test_a_side_whose_time_ran_out_is_named_and_gets_more_time(
    side: int, isthmus: Command, tmp_path: Path
) -> None:
    """The text named the new side where the base had ended, and gave neither more time."""
    runs = [measured(1), measured(2)]
    runs[side] = without_writes(runs[side])
    name = "ab"[side]
    done = ran(isthmus, tmp_path, *runs)
    assert done.returncode == 5
    first, _, body = done.stdout.partition("\n")
    longer = f"{10 * runs[side].settings.budget_s:.0f}"
    assert f"isthmus repeat {name}.json --budget {longer} --out {name}-again.json && " in first
    assert first.count("repeat") == 1
    assert ("time ran out in a.json" in first) == (side == 0)
    assert ("b.json lacks" in body) == (side == 1)
    report = ran(isthmus, tmp_path, *runs, "--fail-above", "5%", "--format", "junit").stdout
    errors = [one.get("message") for one in ElementTree.fromstring(report).iter("error")]
    assert len(errors) == 4
    assert all(str(text).startswith("no time in the base") == (side == 0) for text in errors)


def test_both_sides_are_repeated_where_both_lack_times(isthmus: Command, tmp_path: Path) -> None:
    both = [without_writes(measured(1)), without_writes(measured(2))]
    first = ran(isthmus, tmp_path, *both).stdout.splitlines()[0]
    assert [f"repeat {name}.json --budget" in first for name in "ab"] == [True, True]


def test_repeated_files_of_one_name_are_two_files(isthmus: Command, tmp_path: Path) -> None:
    for name, seed in (("base", 1), ("new", 2)):
        (tmp_path / name).mkdir()
        run = transfer_run({"x": {"read": Law(1e-5, 1e10)}}, SIZES, reruns=1, seed=seed)
        save(run, tmp_path / name / "run.json")
    done = isthmus("compare", "base/run.json", "new/run.json", "--fail-above", "5%")
    first = done.stdout.splitlines()[0]
    assert "--out base-run-again.json" in first
    assert "--out new-run-again.json" in first
    assert "compare base-run-again.json new-run-again.json" in first


def test_an_operation_too_fast_for_the_clock_on_both_sides_is_no_fault() -> None:
    assert outcome(too_fast(measured(1), "write"), too_fast(measured(2), "write")) == "pass"


@pytest.mark.parametrize(
    ("base", "new", "code", "begin"),
    [
        (measured(1), failed(measured(2)), 3, "FAIL: b.json against a.json: 8 points that failed"),
        (measured(1), lost(measured(2)), 3, "FAIL: b.json against a.json: 8 points that failed"),
        (measured(1), failed(measured(2), points=[]), 3, "FAIL: b.json against a.json: missing"),
        (failed(measured(1)), measured(2), 5, "UNDECIDED: b.json against a.json: 8 points cannot"),
        (failed(measured(1)), failed(measured(2, started=LATER)), 5, "UNDECIDED: b.json against"),
    ],
)
def test_a_side_without_a_time_has_a_decision_and_test_cases(
    base: Run, new: Run, code: int, begin: str, isthmus: Command, tmp_path: Path
) -> None:
    done = ran(isthmus, tmp_path, base, new)
    assert (done.returncode, done.stdout[: len(begin)]) == (code, begin)
    report = ran(isthmus, tmp_path, base, new, "--fail-above", "5%", "--format", "junit")
    suite = ElementTree.fromstring(report.stdout)
    assert report.returncode == code
    assert int(suite.get("failures" if code == 3 else "errors", "0")) >= 2
    plain = ran(isthmus, tmp_path, base, new, "--relevant", "5%")
    assert plain.returncode == 2
    assert "isthmus show" in plain.stderr
    assert "RUN.json" not in plain.stderr


def test_a_new_side_from_the_future_is_undecided(isthmus: Command, tmp_path: Path) -> None:
    done = ran(isthmus, tmp_path, measured(1), measured(2, started="2999-01-01T00:00:00Z"),
               "--fail-above", "5%", "--max-age", "none")  # fmt: skip
    assert done.returncode == 5
    assert "the new side is dated in the future" in done.stdout.splitlines()[0]


def test_all_that_a_base_needs_allowed_is_in_one_command(isthmus: Command, tmp_path: Path) -> None:
    """A base of another machine that is too old: the next command passes."""
    base = measured(1, started="2020-01-01T00:00:00Z")
    base = msgspec.structs.replace(base, environment={"host": "other"})
    first = ran(isthmus, tmp_path, base, measured(2)).stdout.splitlines()[0]
    assert first.startswith("UNDECIDED")
    options = first.partition("b.json --fail-above")[2].partition(" ")[2].split(" ")
    assert isthmus("compare", "a.json", "b.json", "--fail-above", *options).returncode == 0


def test_no_pattern_is_told_beside_what_is_undecided() -> None:
    """Writes are slower; reads, which may be slower, too, scatter so that nothing decides them."""
    loud = mixed(measured(101, between=0.8), measured(1))
    new = mixed(measured(102, between=0.8), measured(2, slower=1.5))
    result = compare(Side("a", [loud]), Side("b", [new]), 0.05, terms=Terms())
    assert {change.operation for change in result.of("slower")} == {"write"}
    assert {change.operation for change in result.undecided} == {"read"}
    assert not remarks(result)
    quiet = compare(
        Side("a", [measured(1)]), Side("b", [measured(2, slower=1.5)]), 0.05, terms=Terms()
    )
    assert "operation write" in remarks(quiet)[0]


def test_a_base_that_scatters_too_much_says_what_may_pass(isthmus: Command, tmp_path: Path) -> None:
    """A fifth more passes a limit of 100 %: the line and the test cases say so."""
    gate = ("--fail-above", "auto")
    done = ran(isthmus, tmp_path, noisy(1), mixed(measured(2), measured(3, slower=1.2)), *gate)
    first = done.stdout.splitlines()[0]
    assert first.startswith("PASS")
    assert "the base scatters: 2 of them (opencl:x write" in first
    assert "may be slower by up to 100 % and pass" in first
    report = isthmus("compare", "a.json", "b.json", *gate, "--format", "junit").stdout
    suite = ElementTree.fromstring(report)
    assert suite.get("skipped") == "2"
    for limit in ("auto", "auto,150%"):
        quiet = ran(isthmus, tmp_path, measured(1), measured(2), "--fail-above", limit)
        assert quiet.stdout.startswith("PASS")
        assert "scatters" not in quiet.stdout


def test_points_without_a_base_have_test_cases(isthmus: Command, tmp_path: Path) -> None:
    base = measured(1)
    less = msgspec.structs.replace(base, points=[p for p in base.points if p.bytes != 64])
    report = ran(
        isthmus, tmp_path, less, measured(2), "--fail-above", "5%", "--format", "junit"
    ).stdout
    suite = ElementTree.fromstring(report)
    skipped = {
        case.get("name"): one.get("message") for case in suite for one in case.iter("skipped")
    }
    assert skipped == {
        f"opencl:x {operation} pageable 64": "the base has no time for the point"
        for operation in ("read", "write")
    }


def test_all_series_are_counted_beside_those_that_are_shown(
    isthmus: Command, tmp_path: Path
) -> None:
    """Of twelve series within their limits a few are shown; of slower and undecided ones, too."""
    laws = {f"opencl:{i}": {"read": Law(1e-5, 1e10), "write": Law(1e-5, 1e10)} for i in range(3)}
    runs = [transfer_run(laws, SIZES, reruns=12, seed=seed, between=0.002) for seed in (1, 2)]
    done = ran(isthmus, tmp_path, *runs)
    shown = [line for line in done.stdout.splitlines() if line.startswith("within ")]
    assert f"and {12 - len(shown)} more within" in done.stdout


def test_a_link_that_lost_lanes_fails_and_is_a_test_case(isthmus: Command, tmp_path: Path) -> None:
    """The times are the same: the link of the base has all lanes of the card."""
    whole, half = with_lanes(measured(1), 16), with_lanes(measured(2), 8)
    done = ran(isthmus, tmp_path, whole, half)
    assert done.returncode == 3
    assert done.stdout.startswith("FAIL: b.json against a.json: opencl:x link_width: x8")
    report = ran(isthmus, tmp_path, whole, half, "--fail-above", "5%", "--format", "junit").stdout
    (case,) = (c for c in ElementTree.fromstring(report) if c.find("failure") is not None)
    assert case.get("name") == "opencl:x link_width"
    assert ran(isthmus, tmp_path, half, with_lanes(measured(3), 8)).returncode == 0


def with_lanes(run: Run, lanes: int) -> Run:
    """The run of a card with 16 lanes; so many are in use, by the attributes of its link alone."""
    port = pci.Port(address="0000:06:00.0", kind="endpoint", lanes=16, most_lanes=16)
    link = {"address": port.address, "current_link_width": str(lanes), "max_link_width": "16"}
    changes = {"pci": pci.Function(path=[port]), "link": link}
    devices = [msgspec.structs.replace(device, **changes) for device in run.devices]
    return msgspec.structs.replace(run, devices=devices)


def test_a_link_less_than_its_card_is_in_the_first_line_of_doctor(
    isthmus: Command, tmp_path: Path
) -> None:
    """Whether the hidden slot has more is not known: the exit code is that of no finding."""
    save(with_lanes(measured(1), 8), tmp_path / "x8.json")
    done = isthmus("doctor", "--run", "x8.json")
    first = done.stdout.splitlines()[0]
    assert "1 link less than the card's, cause unknown: opencl:x link_width" in first
    assert done.returncode == 0


def test_wrong_data_are_no_lack_of_time_and_are_counted_once(
    isthmus: Command, tmp_path: Path
) -> None:
    new = with_lanes(with_wrong_data(measured(2)), 16)
    done = ran(isthmus, tmp_path, measured(1), new)
    assert done.returncode == 3
    assert "1 point whose data did not arrive (opencl:x read pageable 64)" in done.stdout
    assert "missing points" not in done.stdout
    shown = isthmus("show", "b.json").stdout
    assert "Data did not arrive: points with wrong data count nowhere" in shown
    assert "Wrong data: 1 point (read pageable 64)" in shown
    assert "Not measured" not in shown
    assert "impossible" not in shown


def with_wrong_data(run: Run) -> Run:
    """The run with wrong data at its first point."""
    reruns = [msgspec.structs.replace(r, verified="false") for r in run.points[0].reruns]
    wrong = msgspec.structs.replace(run.points[0], reruns=reruns)
    return msgspec.structs.replace(run, points=[wrong, *run.points[1:]])


@pytest.mark.parametrize(
    ("fault", "says"),
    [(with_wrong_data, "1 point whose data did not arrive"), (failed, "8 points that failed")],
)
@pytest.mark.parametrize("place", range(3))
def test_a_fault_in_any_of_several_new_runs_fails(
    fault: Callable[[Run], Run], says: str, place: int, isthmus: Command, tmp_path: Path
) -> None:
    for side, seeds in (("base", (1, 3, 5)), ("new", (2, 4, 6))):
        (tmp_path / side).mkdir()
        for number, seed in enumerate(seeds):
            run = measured(seed)
            run = fault(run) if (side, number) == ("new", place) else run
            save(run, tmp_path / side / f"{number}.json")
    done = isthmus("compare", "base", "new", "--fail-above", "5%")
    assert done.returncode == 3
    assert done.stdout.startswith(f"FAIL: new against base: {says}")


def test_another_host_is_a_difference(isthmus: Command, tmp_path: Path) -> None:
    new = measured(2)
    other = msgspec.structs.replace(new, environment={**new.environment, "host": "other"})
    shown = ran(isthmus, tmp_path, measured(1), other, "--relevant", "5%").stdout
    assert "Differs: host bench -> other" in shown


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("slower", "expected"), [(1.03, "pass"), (1.034, "pass"), (1.042, "pass"), (1.12, "fail")]
)
def test_a_limit_of_auto_has_the_links_state_of_a_virtual_machine(
    slower: float, expected: str, seed: int
) -> None:
    """Runs of a shared link differ as a whole, which no process within a run shows."""

    def guest(run: Run) -> Run:
        devices = [
            msgspec.structs.replace(device, link={"current_link_width": "16"})
            for device in run.devices
        ]
        environment = {**run.environment, "virtualised": True}
        return msgspec.structs.replace(run, devices=devices, environment=environment)

    base, new = map(guest, planted(seed, link=slower))
    assert outcome(base, new, None, own=True) == expected
    result = compare(Side("a", [base]), Side("b", [new]), None, own=True, terms=Terms())
    assert all(LINK_STATE < change.limit < 2 * LINK_STATE for change in result.link)


@pytest.mark.parametrize("form", ["summary", "json", "junit"])
def test_the_checks_judge_the_new_run_once(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line and the test cases have the same decision, which runs all checks on a run."""
    judged = []
    facts_of = gate.facts_of

    def counted(run: Run) -> Iterator[Fact]:
        judged.append(run)
        return facts_of(run)

    monkeypatch.setattr(gate, "facts_of", counted)
    for name, run in (("a.json", measured(1)), ("b.json", measured(2))):
        save(run, tmp_path / name)
    code = cli.compare(tmp_path / "a.json", [tmp_path / "b.json"], fail_above="5%", form=form)
    assert (code, len(judged)) == (0, 1)


def test_a_folder_of_one_run_without_times_names_its_file(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    save(failed(measured(1)), tmp_path / "base" / "run.json")
    save(measured(2), tmp_path / "b.json")
    done = isthmus("compare", "base", "b.json")
    assert done.returncode == 2
    assert "isthmus show base/run.json" in done.stderr
