"""What a summary says of the host's own speed."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest

from host_states import planted, with_host
from isthmus.analysis import host_state
from isthmus.analysis.host_state import Moved, Variation, of_rows, variation
from isthmus.analysis.summary import estimate, summarise
from isthmus.analysis.wording import host_varied
from isthmus.cli.doctor import doctor
from isthmus.reporters import json as as_json
from isthmus.reporters.summary import lines
from isthmus.results import run_file
from isthmus.results.run_file import HostReading, Run
from synthetic import Law, transfer_run


def test_interval_has_the_state_in_it() -> None:
    """Rows that follow the host are wider than their processes say; the share is in the data."""
    run, _ = planted(2)
    rows = summarise(run)
    wider = {}
    for point, row in zip(run.points, rows.itertuples(), strict=True):
        alone = estimate(point.reruns)
        width = math.log(row.ci_high_s / row.ci_low_s) / math.log(alone.high / alone.low)
        assert row.median_s == alone.value
        assert width >= 1
        assert 0 <= row.state_share <= 1
        wider.setdefault(point.bytes < 1 << 20, []).append(width)
    assert np.median(wider[True]) > 1.1


def test_each_row_says_why_it_is_not_converged() -> None:
    """Its processes differ, or the host varies: one of the two, and neither where it converged."""
    run, _ = planted(2)
    seen = set()
    for precision in (0.001, 0.005, 0.01, 0.02, 0.1):
        settings = msgspec.structs.replace(run.settings, precision=precision)
        rows = summarise(msgspec.structs.replace(run, settings=settings))
        for row in rows.itertuples():
            why = {"reruns_apart", "host_varies"} & set(row.flags.split(";"))
            assert len(why) == (not row.converged)
            seen |= why
    assert seen == {"reruns_apart", "host_varies"}


def _drifting(run: Run) -> Run:
    """The same run, whose samples grow by a tenth within each process."""
    points = []
    for point in run.points:
        reruns = []
        for one in point.reruns:
            samples = one.clocks["host"]
            ticks = [round(samples.ticks[0] * (1 + i / 300)) for i in range(30)]
            clocks = {"host": msgspec.structs.replace(samples, ticks=ticks)}
            reruns.append(msgspec.structs.replace(one, clocks=clocks))
        points.append(msgspec.structs.replace(point, reruns=reruns))
    return msgspec.structs.replace(run, points=points)


def test_drift_is_a_flag_only_where_the_interval_does_not_know_it() -> None:
    """Several processes with references: the interval has slow variation in it."""
    run = _drifting(planted(2)[0])
    assert not summarise(run)["flags"].str.contains("unstable").any()
    points = [
        msgspec.structs.replace(
            point, reruns=[msgspec.structs.replace(one, host_speed=[]) for one in point.reruns]
        )
        for point in run.points
    ]
    without = summarise(msgspec.structs.replace(run, points=points))
    assert without["flags"].str.contains("unstable").all()


def test_a_run_without_references_reads_as_before() -> None:
    """Its intervals are those of its processes, and slow variation is not known."""
    run = transfer_run({"cuda:0": {"read": Law(1e-5, 2e10)}}, [1, 4096], reruns=8)
    rows = summarise(run)
    for point, row in zip(run.points, rows.itertuples(), strict=True):
        assert (row.median_s, row.ci_low_s, row.ci_high_s) == estimate(point.reruns)[:3]
        assert math.isnan(row.state_share)
    assert of_rows(run) == {}
    assert variation(run) is None


def test_a_slow_part_of_the_run_is_told() -> None:
    """Which part, by how much, which sizes follow, and which do not."""
    found = variation(with_host(12, 1.08, 4))
    assert found is not None
    assert found.reference == "system_call_s"
    assert found.slower == pytest.approx(0.08, abs=0.005)
    assert found.share == pytest.approx(1 / 3)
    assert sorted({one.bytes for one in found.followed}) == [1, 65536]
    assert sorted({one.bytes for one in found.unmoved}) == [4 << 20, 64 << 20]
    text = " ".join(" ".join(lines(with_host(12, 1.08, 4))).split())
    assert "The host was 8." in text
    assert "slower in 33 % of this run (system calls): points of size 1 to 64Ki follow" in text
    assert "points of size 4Mi to 64Mi do not." in text
    data = json.loads(as_json.REPORTER.text(with_host(12, 1.08, 4)))
    assert data["host"]["reference"] == "system_call_s"


def test_points_of_one_size_are_told_apart_by_their_memory() -> None:
    """Pageable copies of 64 MiB follow the host where pinned ones of 64 MiB do not."""
    followed = Moved("pageable", 1), Moved("pageable", 64 << 20), Moved("pinned", 1)
    unmoved = Moved("pageable", 4096), Moved("pinned", 64 << 20)
    text = host_varied(Variation("system_call_s", 0.2, 0.5, 0.0, followed, unmoved))
    assert text.endswith(": pageable 1, 64Mi and pinned 1 follow it, pageable 4Ki and "
                         "pinned 64Mi do not.")  # fmt: skip


def test_doctor_names_the_host_s_state_as_show_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same sentence and the same data; a warning, for a healthy host varies as well."""
    file, steady = tmp_path / "slow.json", tmp_path / "steady.json"
    file.write_bytes(run_file.encode(with_host(12, 1.08, 4)))
    steady.write_bytes(run_file.encode(with_host(12, 1.0, 4)))
    assert doctor(run=file) == 0
    told = capsys.readouterr().out
    assert told.startswith("No finding; 1 warning: machine host_speed")
    sentence = "The host was 8.2 % slower in 33 % of this run (system calls): points of size"
    assert sentence in " ".join(" ".join(lines(run_file.load(file))).split())
    assert sentence in told
    doctor(run=file, as_json=True)
    judged = json.loads(capsys.readouterr().out)
    shown = json.loads(as_json.REPORTER.text(run_file.load(file)))
    assert judged["host"] == shown["host"]
    states = [(result["check"], result["state"]) for result in judged["subjects"][0]["results"]]
    assert [state for check, state in states if check == "host_speed"] == ["warning"]
    doctor(run=steady, as_json=True)
    assert "host_speed" not in capsys.readouterr().out


def test_a_steady_host_is_not_named() -> None:
    """Readings scatter; without rows that follow, nothing is said."""
    assert variation(with_host(12, 1.0, 4)) is None
    assert "The host was" not in " ".join(lines(with_host(12, 1.0, 4)))


def test_readings_of_nothing_are_left_out() -> None:
    """A reading below the clock's resolution has no logarithm."""
    run = with_host(6, 1.0, 0)
    first = run.points[0]
    reruns = [
        msgspec.structs.replace(one, host_speed=[HostReading(0.0, 0.0, 1.0, 1.0)])
        for one in first.reruns
    ]
    points = [msgspec.structs.replace(first, reruns=reruns), *run.points[1:]]
    assert host_state.rows_of(msgspec.structs.replace(run, points=points)).readings == {}
