"""``compare`` separates a slower host from a slower link."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from host_states import planted
from isthmus.analysis.change import Change
from isthmus.analysis.changes import Comparison, Side, compare
from isthmus.cli.compare import compare as command
from isthmus.reporters.comparison import FORMATS, lines
from isthmus.results import run_file
from isthmus.results.run_file import HostReading, Run
from isthmus.statistics import judge

PAIRS = 8
NO_MORE = ["isthmus", "compare"]


def _compared(seed: int, host: float, link: float, *, as_measured: bool = False) -> Comparison:
    base, new = planted(seed, host=host, link=link)
    return compare(Side("a", [base]), Side("b", [new]), as_measured=as_measured)


def _of_link(one: Change) -> bool:
    return one.memory == "pinned" and one.moved_bytes >= 1 << 20


@pytest.mark.parametrize(("link", "least"), [(1.03, 7), (1.1, 8)])
def test_a_slower_link_is_found_beside_a_slower_host(link: float, least: int) -> None:
    """Of 8 pairs whose host is 10 % slower, the link's change is found, and no other is."""
    found = 0
    for seed in range(PAIRS):
        slower = _compared(seed, 1.1, link).of("slower")
        assert all(map(_of_link, slower))
        found += bool(slower)
    assert found >= least


def test_a_slower_host_alone_is_told_as_the_host() -> None:
    """In each of 8 pairs rows are slower as measured, the host is, and the link is not."""
    for seed in range(PAIRS):
        result = _compared(seed, 1.1, 1.0)
        assert not result.of("slower")
        assert not result.slower_points
        assert result.explained
        assert any(judge(one.ratio, result.least) == "slower" for one in result.host)
        assert result.link
        assert {one.verdict for one in result.link} <= {"same", "undecided"}
        assert _compared(seed, 1.1, 1.0, as_measured=True).of("slower")


def test_nothing_changes_where_nothing_changed() -> None:
    """Equal hosts and links: no series is slower or faster, and none is explained."""
    for seed in range(PAIRS):
        result = _compared(seed, 1.0, 1.0)
        assert not [*result.of("slower"), *result.of("faster"), *result.explained]


def test_hosts_that_show_no_sensitivity_hide_no_change() -> None:
    """Where the host is steady within both runs, a link's change is not told to be the same."""
    for seed in range(PAIRS):
        base, new = planted(seed, host=1.1, link=1.1, spread=0.0)
        result = compare(Side("a", [base]), Side("b", [new]))
        assert result.link
        assert {one.verdict for one in result.link} <= {"undecided", "slower"}
        base, new = planted(seed, host=1.1, spread=0.0)
        result = compare(Side("a", [base]), Side("b", [new]))
        assert not result.of("slower")


def _with_noisy_references(run: Run, seed: int) -> Run:
    """References that scatter by 20 % from process to process, and that no row follows."""
    random = np.random.default_rng(seed)
    points = []
    for one in run.points:
        reruns = []
        for rerun in one.reruns:
            logs = random.normal(0, 0.2, (len(rerun.host_speed), 3))
            readings = [
                HostReading(old.at_s, *np.exp(np.log(VALUES) + new).tolist())
                for old, new in zip(rerun.host_speed, logs, strict=True)
            ]
            reruns.append(msgspec.structs.replace(rerun, host_speed=readings))
        points.append(msgspec.structs.replace(one, reruns=reruns))
    return msgspec.structs.replace(run, points=points)


VALUES = (2e-7, 4e-4, 7e-6)


def test_the_scatter_of_references_hides_no_change() -> None:
    """References that differ by chance explain little, though no sensitivity is known."""
    found = 0
    for seed in range(5):
        pair = planted(seed, link=1.12, spread=0.0)
        base, new = (_with_noisy_references(one, seed + 100 * i) for i, one in enumerate(pair))
        slower = compare(Side("a", [base]), Side("b", [new]), 0.1).of("slower")
        assert all(map(_of_link, slower))
        found += bool(slower)
    assert found >= 4


def test_the_interval_of_a_slower_link_holds_its_change() -> None:
    """Also where the hosts may explain a part of the change, and nothing says how much."""
    for seed in range(PAIRS):
        base, new = planted(seed, host=1.1, link=1.5, spread=0.0)
        slower = [one for one in compare(Side("a", [base]), Side("b", [new])).link
                  if one.verdict == "slower"]  # fmt: skip
        assert slower
        for one in slower:
            assert one.ratio.low < one.ratio.value < one.ratio.high
            assert one.ratio.low < 1.5 < one.ratio.high


def test_sentences_and_data() -> None:
    """The screen names the host and the link; JSON has both as figures."""
    result = _compared(3, 1.1, 1.0)
    text = " ".join(lines(result, NO_MORE))
    assert "b's host is slower by itself (system calls 14 %" in text
    assert "that explains 10 of 12 series. The link is the same (pinned" in " ".join(text.split())
    data = json.loads(FORMATS["json"](result, None))
    assert [one["reference"] for one in data["host"]] == [
        "system_call_s", "copy_s", "arithmetic_s"
    ]  # fmt: skip
    assert data["explained_by_host"] == 10
    assert all(row["raw_ratio"] >= row["ratio"] for row in data["series"])
    raw = " ".join(lines(_compared(3, 1.1, 1.0, as_measured=True), NO_MORE))
    assert "that is left in." in raw


def _without_references(run: Run) -> Run:
    points = [
        msgspec.structs.replace(
            point,
            reruns=[msgspec.structs.replace(one, host_speed=[]) for one in point.reruns],
        )
        for point in run.points
    ]
    return msgspec.structs.replace(run, points=points)


def test_runs_without_references_are_compared_as_measured() -> None:
    """Where a side has none, nothing is taken off and nothing is said of the host."""
    base, new = planted(3, host=1.1)
    result = compare(Side("a", [base]), Side("b", [_without_references(new)]))
    raw = compare(Side("a", [base]), Side("b", [new]), as_measured=True)
    assert not result.host
    assert [one.ratio for one in result.series] == [one.ratio for one in raw.series]
    assert "by itself" not in " ".join(lines(result, NO_MORE))


def test_as_measured_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The gate ends with 3 for a host's change only as measured."""
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, run in zip(files, planted(3, host=1.1), strict=True):
        file.write_bytes(run_file.encode(run))
    assert command(files[0], files[1:], as_measured=True, fail_above="2%") == 3
    assert "--as-measured" in capsys.readouterr().out
    command(files[0], files[1:])
    assert "explains 10 of 12 series" in capsys.readouterr().out


@pytest.mark.parametrize(("link", "slower"), [(1.03, False), (1.12, True)])
def test_a_shared_link_may_vary_by_itself(link: float, slower: bool) -> None:
    """In a virtual machine a link's change counts from what equal runs differ by there."""
    pair = [
        msgspec.structs.replace(
            run,
            environment={**run.environment, "virtualised": True},
            devices=[
                msgspec.structs.replace(one, link={"current_link_width": "16"})
                for one in run.devices
            ],
        )
        for run in planted(1, link=link)
    ]
    result = compare(Side("a", pair[:1]), Side("b", pair[1:]))
    assert bool(result.of("slower")) == slower
    assert not result.allowed
