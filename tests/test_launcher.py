"""Launchers as processes see them: in their environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from isthmus.cli.over_ranks import own_file
from isthmus.errors import UsageError
from isthmus.system.launcher import LEADER, Place, place

SRUN = {
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
    "SLURM_NTASKS": "8",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_STEP_NUM_NODES": "2",
}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        (
            {
                "OMPI_COMM_WORLD_RANK": "3",
                "OMPI_COMM_WORLD_SIZE": "4",
                "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
            },
            Place("Open MPI's mpirun", 3, 4, 1, one_host=False),
        ),
        (
            {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"},
            Place("MPICH's mpirun", 1, 2, 1, one_host=True),
        ),
        (SRUN, Place("Slurm's srun", 5, 8, 1, one_host=False)),
        ({**SRUN, "PMI_RANK": "5", "PMI_SIZE": "8"}, Place("MPICH's mpirun", 5, 8, 1, False)),
        ({"PMI_RANK": "3", "PMI_SIZE": "4"}, Place("MPICH's mpirun", 3, 4, None, one_host=False)),
        ({"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NTASKS": "8"}, None),  # batch script
        ({"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}, None),
    ],
)
def test_the_place_is_the_launchers(environment: dict[str, str], expected: Place | None) -> None:
    assert place(environment) == expected
    assert place({**environment, LEADER: "3,8,0"}) is None


def test_a_run_for_each_host_needs_to_know_who_shares_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PMI_RANK", "3")
    monkeypatch.setenv("PMI_SIZE", "4")
    with pytest.raises(UsageError, match="does not say which processes share a host"):
        own_file(tmp_path / "runs")
    found = place()
    assert found is not None
    assert found.turn == 3


def test_looking_for_it_loads_nothing() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c",
         "import sys, isthmus.cli; print([m for m in ('numpy', 'mpi4py') if m in sys.modules])"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert loaded.strip() == "[]"
