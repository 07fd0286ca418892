"""The gate of ``compare``: PASS, FAIL or UNDECIDED, with the reason and the next command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest

from conftest import Command
from host_states import planted
from isthmus.analysis.change import MOST_OWN
from isthmus.analysis.changes import Side, compare
from isthmus.analysis.gate import decide
from isthmus.errors import UsageError
from isthmus.results import run_file
from isthmus.results.run_file import Run, load, save
from synthetic import Law, transfer_run

SIZES = (64, 4096, 1 << 20, 1 << 24)
LATER = "2025-02-01T00:00:00Z"


def measured(seed: int, *, slower: float = 1.0, between: float = 0.002, **changes: Any) -> Run:
    """A run of a device; its writes are slower by a factor."""
    laws = {"opencl:x": {"read": Law(1e-5, 1e10), "write": Law(1e-5 * slower, 1e10 / slower)}}
    return transfer_run(laws, SIZES, reruns=12, seed=seed, between=between, **changes)


def noisy(seed: int, slower: float = 1.0, **changes: Any) -> Run:
    """Reads are quiet, writes scatter by a factor of two from process to process."""
    loud = measured(seed + 100, slower=slower, between=0.8)
    return mixed(measured(seed, **changes), loud)


def mixed(quiet: Run, loud: Run) -> Run:
    """Reads of the first and writes of the second run."""
    points = [p for p in quiet.points if p.operation == "read"]
    points += [p for p in loud.points if p.operation == "write"]
    return msgspec.structs.replace(quiet, points=points)


def outcome(base: Run, new: Run, least: float | None = 0.05, *, own: bool = False) -> str:
    return decide(compare(Side("a", [base]), Side("b", [new]), least, own=own)).outcome


def ran(isthmus: Command, folder: Path, base: Run, new: Run, *options: str) -> Any:
    for name, run in (("a.json", base), ("b.json", new)):
        (folder / name).unlink(missing_ok=True)
        save(run, folder / name)
    return isthmus("compare", "a.json", "b.json", *(options or ("--fail-above", "5%")))


def test_the_first_line_is_the_decision_with_its_code(isthmus: Command, tmp_path: Path) -> None:
    cases = (
        (measured(1), measured(2), 0, "PASS: b.json against a.json: none of 4 series of 1 device"),
        (measured(1), measured(2, slower=1.2), 3, "FAIL: b.json against a.json: 2 of 4 series"),
        (
            noisy(1),
            noisy(3, 1.3),
            5,
            "UNDECIDED: b.json against a.json: 2 of 4 series may be slower",
        ),
    )
    for base, new, code, begin in cases:
        done = ran(isthmus, tmp_path, base, new)
        assert done.returncode == code
        first = done.stdout.splitlines()[0]
        assert first.startswith(begin)
        command = "repeat b.json" if code == 5 else "compare a.json b.json"
        assert f"isthmus {command}" in first.partition("Next: ")[2]


def test_what_is_undecided_is_an_error_of_junit(isthmus: Command, tmp_path: Path) -> None:
    gate = ("--fail-above", "5%", "--format", "junit")
    done = ran(isthmus, tmp_path, noisy(1), noisy(3, 1.3), *gate)
    suite = ElementTree.fromstring(done.stdout)
    assert done.returncode == 5
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("0", "2", "0")
    assert done.stderr.startswith("UNDECIDED: ")
    data = json.loads(
        ran(isthmus, tmp_path, noisy(1), noisy(3, 1.3), *gate[:2], "--format", "json").stdout
    )
    assert (data["outcome"], data["passes"]) == ("undecided", False)


def test_a_faster_side_passes_though_its_change_is_not_known_well() -> None:
    """The gate asks whether a time is slower: how much faster it is does not matter."""
    base, new = measured(1, slower=1.3, between=0.02), measured(2, between=0.02)
    assert outcome(base, new, 0.01) == outcome(base, new, 0.05) == "pass"


@pytest.mark.parametrize("side", [0, 1])
def test_points_that_one_side_lacks_are_counted(
    side: int, isthmus: Command, tmp_path: Path
) -> None:
    runs = [measured(1), measured(2)]
    points = [p for p in runs[side].points if p.bytes != 64]
    runs[side] = msgspec.structs.replace(runs[side], points=points)
    done = ran(isthmus, tmp_path, *runs)
    counts = "2 in b.json, 0 in a.json" if side else "0 in b.json, 2 in a.json"
    assert f"missing points: {counts}" in done.stdout.splitlines()[0]
    assert done.returncode == (3 if side else 0)


def failed(run: Run, **changes: Any) -> Run:
    """The run of a device that failed at each point."""
    points = [msgspec.structs.replace(p, reruns=[], error="device lost") for p in run.points]
    return msgspec.structs.replace(run, **{"points": points, **changes})


def test_a_quantity_without_a_base_is_undecided(isthmus: Command, tmp_path: Path) -> None:
    base = measured(1)
    writes = [p for p in base.points if p.operation == "write"]
    done = ran(isthmus, tmp_path, msgspec.structs.replace(base, points=writes), measured(2))
    assert done.returncode == 5
    assert "4 points cannot be compared (opencl:x read" in done.stdout.splitlines()[0]


def test_a_device_that_fails_on_both_sides_is_undecided(isthmus: Command, tmp_path: Path) -> None:
    def with_dead(run: Run) -> Run:
        dead = msgspec.structs.replace(run.devices[0], address="cuda:0", error="lost")
        return msgspec.structs.replace(run, devices=[*run.devices, dead])

    done = ran(isthmus, tmp_path, with_dead(measured(1)), with_dead(measured(2)))
    assert done.returncode == 5
    first = done.stdout.splitlines()[0]
    assert "no time of cuda:0" in first
    assert ["repeat a.json" in first, "repeat b.json" in first] == [True, True]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"started": LATER}, "the base is newer"),
        ({"status": "interrupted"}, "the base is incomplete"),
        ({"environment": {"host": "other"}}, "another machine (other, not bench)"),
        (
            {"settings": {"quick": True, "budget_s": 9.0, "axes": {"bytes": "64"}}},
            "other settings (--budget, --quick, sizes or other axes)",
        ),
    ],
)
def test_an_unlike_base_is_said(
    changes: dict[str, Any], text: str, isthmus: Command, tmp_path: Path
) -> None:
    base = measured(1)
    if "settings" in changes:
        settings = msgspec.structs.replace(base.settings, **changes["settings"])
        changes = {"settings": settings}
    new = measured(2)
    plain = ran(isthmus, tmp_path, base, new).stdout.splitlines()[0]
    assert text not in plain
    done = ran(isthmus, tmp_path, msgspec.structs.replace(base, **changes), new)
    assert text in done.stdout.splitlines()[0]


def test_a_base_that_lacks_only_precision_is_complete(isthmus: Command, tmp_path: Path) -> None:
    """The end of the time was told as if points were missing."""
    base = msgspec.structs.replace(measured(1), status="budget")
    assert "incomplete" not in ran(isthmus, tmp_path, base, measured(2)).stdout
    empty = msgspec.structs.replace(base.points[0], reruns=[])
    base = msgspec.structs.replace(base, points=[empty, *base.points[1:]])
    assert "the base is incomplete" in ran(isthmus, tmp_path, base, measured(2)).stdout


def test_a_run_against_itself_decides_nothing(isthmus: Command, tmp_path: Path) -> None:
    run = measured(1)
    done = ran(isthmus, tmp_path, run, run)
    assert done.returncode == 5
    first = done.stdout.splitlines()[0]
    assert first.startswith("UNDECIDED: b.json against a.json: both are the same run. Next, ")
    assert first.endswith("isthmus repeat a.json --fail-above 5%")
    later = msgspec.structs.replace(run, started=LATER)
    assert outcome(run, later) == "pass", "another run: times of a model are equal"
    assert outcome(run, msgspec.structs.replace(run, environment={"host": "x"})) == "undecided"


def test_the_next_command_can_decide(isthmus: Command, tmp_path: Path) -> None:
    """Runs of few processes need more on both sides, and a base elsewhere needs its machine."""

    def few(seed: int, **changes: Any) -> Run:
        return msgspec.structs.replace(
            transfer_run({"opencl:x": {"read": Law(1e-5, 1e10)}}, SIZES, reruns=1, seed=seed),
            **changes,
        )

    both = (
        "isthmus repeat a.json {more} --out a-again.json && "
        "{isthmus} repeat b.json {more} --out b-again.json && "
        "{isthmus} compare a-again.json b-again.json --fail-above 5%"
    )

    def then(base: Run, new: Run) -> tuple[str, str]:
        first = ran(isthmus, tmp_path, base, new).stdout.splitlines()[0]
        begin, _, rest = first.partition(". Next")[2].partition(": ")
        program = rest.partition(" ")[0]
        return begin, rest.replace(program, "isthmus")

    more = f"--reruns 12 --budget {few(1).took_s * 10:.0f}"
    assert then(few(1), few(2)) == ("", both.format(more=more, isthmus="isthmus"))
    short = {"status": "budget"}
    longer = few(1).settings.budget_s * 10
    said = then(few(1, **short), few(2, **short))[1]
    assert said == both.format(more=f"--budget {longer:.0f}", isthmus="isthmus")
    elsewhere = msgspec.structs.replace(noisy(1), environment={"host": "other"})
    assert then(elsewhere, noisy(3, 1.3)) == (
        ", on the base's machine (other)",
        "isthmus repeat b.json --reruns 120 --budget 6000 --out b-again.json && "
        "isthmus compare a.json b-again.json --fail-above 5%",
    )
    noise = then(noisy(1), noisy(3, 1.3, **short))[1]
    assert noise.startswith(f"isthmus repeat b.json --budget {longer:.0f} --out b-again.json && ")
    dead = ran(isthmus, tmp_path, failed(measured(1)), measured(2)).stdout.splitlines()[0]
    assert "repeat a.json --out a-again.json" in dead
    assert "repeat b.json" not in dead


def test_points_that_neither_side_measured_are_not_counted(
    isthmus: Command, tmp_path: Path
) -> None:
    """Both runs ended before they measured writes, and the new one before one size of reads."""

    def cut(run: Run, *, reads: int) -> Run:
        points = [
            msgspec.structs.replace(p, reruns=[])
            if p.operation == "write" or SIZES.index(p.bytes) >= reads
            else p
            for p in run.points
        ]
        return msgspec.structs.replace(run, points=points, status="budget")

    done = ran(isthmus, tmp_path, cut(measured(1), reads=4), cut(measured(2), reads=3))
    assert done.returncode == 5
    lines = done.stdout.splitlines()
    assert "; 1 quantity has no time on either side (opencl:x write" in lines[0]
    assert "1 point cannot be compared (opencl:x read" in lines[0]
    text = " ".join(" ".join(lines[1:]).split())
    assert "b.json lacks: 1 for which its time ran out (opencl:x read pageable 16Mi)." in text
    shown = isthmus("show", "a.json").stdout
    assert "\n4 of 8 points" in shown


@pytest.mark.parametrize("seed", range(1, 6))
def test_each_memory_has_a_spread_of_its_own(seed: int) -> None:
    """Pinned copies scatter by 0.2 %, pageable ones by 6 %: 5 % is found in pinned ones."""

    def run(seed: int, slower: float = 1.0) -> Run:
        parts = []
        for memory, between, factor in (("pinned", 0.002, slower), ("pageable", 0.06, 1.0)):
            laws = {"cuda:0": {"write": Law(1e-5 * factor, 1e10 / factor)}}
            of = transfer_run(
                laws, (1 << 20, 1 << 24), reruns=12, seed=seed + len(memory), between=between
            )
            parts += [msgspec.structs.replace(point, memory=memory) for point in of.points]
        return msgspec.structs.replace(of, points=parts)

    result = compare(Side("a", [run(seed)]), Side("b", [run(seed + 50)]), own=True)
    limits = {one.memory: one.limit for one in result.series}
    assert limits["pinned"] == result.least < limits["pageable"] < 0.5
    assert outcome(run(seed), run(seed + 50), None, own=True) == "pass"
    assert outcome(run(seed), run(seed + 50, 1.05), None, own=True) == "fail"


@pytest.mark.parametrize(("slower", "expected"), [(1.0, "pass"), (3.0, "fail")])
def test_a_spread_beyond_the_largest_limit_is_judged_by_that_limit(
    slower: float, expected: str
) -> None:
    """Where processes differ by 60 %, equal times pass, and times three times as long fail."""

    def run(seed: int, factor: float) -> Run:
        laws = {"cuda:0": {"write": Law(1e-5 * factor, 1e10 / factor)}}
        return transfer_run(laws, (1 << 24,), reruns=12, seed=seed, between=0.6)

    result = compare(Side("a", [run(1, 1.0)]), Side("b", [run(2, slower)]), own=True)
    assert [one.limit for one in result.series] == [MOST_OWN]
    assert result.outcome == expected


def test_a_floor_above_the_largest_own_limit_is_the_limit() -> None:
    """``auto,200%``: a time 2.5 times as long is within the limit."""

    def run(seed: int, factor: float) -> Run:
        laws = {"cuda:0": {"write": Law(1e-5 * factor, 1e10 / factor)}}
        return transfer_run(laws, (1 << 24,), reruns=12, seed=seed, between=0.002)

    assert outcome(run(1, 1.0), run(2, 2.5), 2.0, own=True) == "pass"
    assert outcome(run(1, 1.0), run(2, 3.5), 2.0, own=True) == "fail"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("host", "link", "expected"), [(1.0, 1.0, "pass"), (1.1, 1.0, "pass"), (1.1, 1.05, "fail")]
)
def test_its_own_spread_is_that_beyond_the_hosts(
    host: float, link: float, expected: str, seed: int
) -> None:
    """A link that is 5 % slower is found beside a host that is 10 % slower; the host is not."""
    assert outcome(*planted(seed, host=host, link=link), None, own=True) == expected


@pytest.mark.parametrize("limit", ["5", "0.05", "", "automatic"])
def test_a_limit_without_per_cent_is_refused(limit: str, isthmus: Command, tmp_path: Path) -> None:
    done = ran(isthmus, tmp_path, measured(1), measured(2), "--fail-above", limit)
    assert done.returncode == 2
    assert "5%" in done.stderr


def test_compressed_run_files_are_read(isthmus: Command, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    for name, seed in (("a", 1), ("b", 2)):
        data = gzip.compress(run_file.encode(measured(seed)))
        (folder / f"{name}.json.gz").write_bytes(data)
    assert load(folder / "a.json.gz") == load_plain(measured(1), tmp_path)
    assert (
        isthmus("compare", "runs/a.json.gz", "runs/b.json.gz", "--fail-above", "5%").returncode == 0
    )
    assert isthmus("compare", "runs", "runs/b.json.gz").returncode == 0
    assert isthmus("fleet", "runs", "--format", "list").stdout.startswith("bench ")
    for command in ("show", "cite"):
        assert isthmus(command, "runs/a.json.gz").returncode == 0


def load_plain(run: Run, folder: Path) -> Run:
    save(run, folder / "plain.json")
    return load(folder / "plain.json")


def test_a_small_file_that_becomes_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_file, "MOST_BYTES", 1 << 20)
    bomb = tmp_path / "bomb.json.gz"
    bomb.write_bytes(gzip.compress(b" " * (64 << 20)))
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        load(bomb)
    cut = tmp_path / "cut.json.gz"
    cut.write_bytes(gzip.compress(run_file.encode(measured(1)))[:-200])
    with pytest.raises(UsageError, match="gzip data are damaged"):
        load(cut)
    (tmp_path / "bad.json.gz").write_bytes(b"\x1f\x8b" + bytes(50))
    with pytest.raises(UsageError, match="gzip data are damaged"):
        load(tmp_path / "bad.json.gz")
