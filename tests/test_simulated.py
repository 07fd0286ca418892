"""Points of a simulated clock: one exact sample each, beside timed ones and untouched by them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import msgspec
import pytest

from isthmus.results.run_file import Run, load

Isthmus = Callable[..., CompletedProcess[str]]
SIMULATED = "null:20us,clock=simulated"


def run(isthmus: Isthmus, out: Path, *options: str, ends: int = 0) -> Run:
    done = isthmus("run", "transfer", "--axis", "bytes=1,4Ki,64Ki", *options, "--out", str(out))
    assert done.returncode == ends, done.stderr
    return load(out)


def test_a_simulated_point_has_one_exact_sample_in_one_rerun(
    isthmus: Isthmus, tmp_path: Path
) -> None:
    whole = run(isthmus, tmp_path / "run.json", "--device", SIMULATED, "--reruns", "3")
    assert whole.status == "complete"
    for point in whole.points:
        (rerun,) = point.reruns
        (samples,) = rerun.clocks.values()
        assert list(rerun.clocks) == ["simulated"]
        assert samples.ticks == [20_000_000_000]  # femtoseconds
    shown = isthmus("show", str(tmp_path / "run.json"), "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert {row["clock"] for row in rows} == {"simulated"}
    for row in rows:
        assert float(row["median_s"]) == float(row["ci_low_s"]) == float(row["ci_high_s"])
        assert float(row["median_s"]) == pytest.approx(20e-6, rel=1e-12)
        assert (row["samples"], row["converged"], row["flags"]) == ("1", "true", "")


def test_studies_that_take_no_time_share_none(isthmus: Isthmus, tmp_path: Path) -> None:
    """Simulated points need no budget: what all studies need together was 0, and divided by."""
    done = isthmus("run", "all", "--device", SIMULATED, "--quick", "--out",
                   str(tmp_path / "run.json"))  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {"transfer", "allocation"} <= {p.study for p in load(tmp_path / "run.json").points}


def test_a_budget_that_is_spent_leaves_no_simulated_point_out(
    isthmus: Isthmus, tmp_path: Path
) -> None:
    whole = run(
        isthmus, tmp_path / "run.json", "--device", SIMULATED, "--device", "null:2ms",
        "--budget", "0.3", "--reruns", "2",
    )  # fmt: skip
    assert whole.status == "budget"
    simulated = [point for point in whole.points if point.device == SIMULATED]
    assert simulated
    assert all(point.reruns[0].state == "precision" for point in simulated)


def test_seed_order_and_company_change_nothing(isthmus: Isthmus, tmp_path: Path) -> None:
    def figures(out: str, *options: str) -> dict[str, bytes]:
        whole = run(isthmus, tmp_path / out, "--device", SIMULATED, *options)
        return {
            f"{p.operation} {p.bytes}": msgspec.json.encode([r.clocks for r in p.reruns])
            for p in whole.points
            if p.device == SIMULATED
        }

    single = figures("alone.json")
    company = figures("company.json", "--device", "null:20us", "--quick", "--seed", "7")
    assert {name: single[name] for name in company} == company


def test_verification_works_without_a_timed_region(isthmus: Isthmus, tmp_path: Path) -> None:
    whole = run(isthmus, tmp_path / "run.json", "--device", f"{SIMULATED},move=drop", ends=1)
    moved = [point for point in whole.points if point.bytes > 1]
    assert {point.reruns[0].verified for point in moved} == {"false"}
    good = run(isthmus, tmp_path / "good.json", "--device", f"{SIMULATED},move=correct")
    verdicts = {point.reruns[0].verified for point in good.points if point.bytes}
    assert verdicts == {"true"}
