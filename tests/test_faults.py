"""The fault campaign in short: one trial of each fault (``make faults`` runs all)."""

from __future__ import annotations

import msgspec
import pytest

import faults
from fault_trial import POINTS, Trial
from isthmus.results import run_file

RARE = (
    "ranks of MPI",
    "hangs",
    "n-th call of",
    "date steps",
    "disk full",
    "SIGSTOP",
    "SIGTERM",
    "output",
)
"""In faults that are provoked where CI is set: each takes a second or more."""


@pytest.mark.parametrize(
    "title",
    [
        pytest.param(title, marks=pytest.mark.slow if any(r in title for r in RARE) else ())
        for title in faults.FAULTS
    ],
)
def test_a_fault_costs_no_result_and_leaves_nothing(title: str) -> None:
    trial = next(faults.FAULTS[title](True), None)
    if trial is None:
        pytest.skip(
            "this machine cannot provoke it: no OpenCL or control group, or no permission to mount"
        )
    assert (trial.lost, trial.wrong, trial.left) == ([], [], [])


def test_the_judge_sees_what_is_lost_wrong_and_left() -> None:
    """A run whose file lost a result and called a missing process complete, with a file beside."""
    with Trial(options=("--bytes", "1", *POINTS[2:])) as trial:
        trial.run()
        before = trial.results()
        run = run_file.load(trial.out)
        point = msgspec.structs.replace(run.points[0], reruns=run.points[0].reruns[1:])
        run = msgspec.structs.replace(run, points=[point, *run.points[1:]])
        run_file.save(run, trial.out, replace=True)
        (trial.folder / "run.json.journal").touch()
        trial.judge(before)
    assert len(trial.lost) == len(trial.wrong) == 1
    assert trial.left == ["run.json.journal"]
