"""The fault campaign in short: one trial of each fault (``make faults`` runs all)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "tools" / "faults.py"
SPEC = importlib.util.spec_from_file_location("faults", PATH)
assert SPEC
assert SPEC.loader
faults = importlib.util.module_from_spec(SPEC)
sys.modules["faults"] = faults  # dataclasses look their module up
SPEC.loader.exec_module(faults)


@pytest.mark.parametrize("title", faults.FAULTS)
def test_a_fault_costs_no_result_and_leaves_nothing(title: str) -> None:
    trial = next(faults.FAULTS[title](True), None)
    if trial is None:
        pytest.skip("this machine cannot provoke it: no OpenCL, or no permission to mount")
    assert (trial.lost, trial.wrong, trial.left) == ([], [], [])


def test_the_judge_sees_what_is_lost_wrong_and_left() -> None:
    """A run whose file lost a result and called a missing process complete, with a file beside."""
    with faults.Trial(options=("--bytes", "1", *faults.POINTS[2:])) as trial:
        trial.run()
        before = trial.results()
        run = faults.run_file.load(trial.out)
        point = faults.run_file.msgspec.structs.replace(
            run.points[0], reruns=run.points[0].reruns[1:]
        )
        run = faults.run_file.msgspec.structs.replace(run, points=[point, *run.points[1:]])
        faults.run_file.save(run, trial.out, replace=True)
        (trial.folder / "run.json.journal").touch()
        trial.judge(before)
    assert len(trial.lost) == len(trial.wrong) == 1
    assert trial.left == ["run.json.journal"]
