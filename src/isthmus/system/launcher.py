"""The launcher of parallel programs that started this process, with rank and number of ranks.

Reads only the environment, so that ordinary commands start without delay.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass

REPORT_S = 10.0
"""Seconds for rank 0 to print an error of all ranks before the launcher ends them."""
LEADER = "ISTHMUS_RANKS"
"""Environment variable of the leader's process: the descriptor of its pipe to rank 0, the number of
ranks, and 1 if all are on this host."""
_LAUNCHERS = (
    (
        "Open MPI's mpirun",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    ("MPICH's mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    # Variables of the step: a job's batch script also sees SLURM_NTASKS, and is not a rank.
    ("Slurm's srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""),
)
"""Name of the launcher, then variables with rank, size, local rank and local size. Slurm comes
last: launchers start their helpers through Slurm, never the other way round."""


@dataclass(frozen=True)
class Place:
    """One of the processes that a launcher started together."""

    launcher: str
    rank: int
    size: int
    local_rank: int | None
    """Rank among the processes on this host; None if the launcher does not tell."""
    one_host: bool
    """Whether all processes are known to be on this host."""

    @property
    def turn(self) -> int:
        """Number of this process for sharing devices: its rank on this host if known."""
        return self.rank if self.local_rank is None else self.local_rank


def ranks_led(environment: Mapping[str, str] = os.environ) -> int:
    """Number of ranks that this process leads; 0 without a launcher."""
    return int(environment[LEADER].split(",")[1]) if LEADER in environment else 0


def leave(environment: MutableMapping[str, str] = os.environ) -> None:
    """Removes the launcher's variables, so that this process counts as started alone."""
    for _, *names in _LAUNCHERS:
        for name in filter(None, names):
            environment.pop(name, None)


def place(environment: Mapping[str, str] = os.environ) -> Place | None:
    """The place of this process; None if it was started alone, or leads the ranks."""
    if LEADER in environment:
        return None
    for launcher, *names in _LAUNCHERS:
        rank, size, local_rank, local_size = (environment.get(name, "") for name in names)
        if not (rank.isdigit() and size.isdigit()):
            continue
        if int(size) < 2:
            return None
        local = local_rank or environment.get("SLURM_LOCALID", "")
        return Place(
            launcher,
            int(rank),
            int(size),
            int(local) if local.isdigit() else None,
            local_size == size or environment.get("SLURM_STEP_NUM_NODES") == "1",
        )
    return None
