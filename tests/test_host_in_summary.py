"""What a summary says of the host's own speed."""

from __future__ import annotations

import json
import math

import msgspec
import numpy as np
import pytest

from host_states import planted, with_host
from isthmus.analysis import host_state
from isthmus.analysis.host_state import of_rows, variation
from isthmus.analysis.summary import estimate, summarise
from isthmus.reporters import json as as_json
from isthmus.reporters.summary import lines
from isthmus.results.run_file import HostReading
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
    assert found.followed == (1, 65536)
    assert found.unmoved == (4 << 20, 64 << 20)
    text = " ".join(" ".join(lines(with_host(12, 1.08, 4))).split())
    assert "The host was 8." in text
    assert "slower in 33 % of this run (system calls): points of size 1 to 64Ki follow" in text
    assert "of size 4Mi to 64Mi do not." in text
    data = json.loads(as_json.REPORTER.text(with_host(12, 1.08, 4)))
    assert data["host"]["reference"] == "system_call_s"


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
    assert host_state.readings(msgspec.structs.replace(run, points=points)) == {}
