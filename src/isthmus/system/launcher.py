"""Launcher of parallel programs that started this process, with rank and number of ranks.

Only the environment is read: nothing is loaded, and ordinary commands start as fast as without.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass

REPORT_S = 10.0
"""Time for rank 0 to print an error of all ranks before the launcher ends them."""
LEADER = "ISTHMUS_RANKS"
"""Environment variable of the leader's process: the descriptor of its pipe to rank 0, how
many ranks there are, and 1 where all are on this host."""
_LAUNCHERS = (
    (
        "Open MPI's mpirun",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    ("MPICH's mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    # The step's: a job's batch script sees SLURM_NTASKS too, and is no rank.
    ("Slurm's srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""),
)
"""Name, and variables with rank, size and those of this host. In this order: launchers start their
helpers through Slurm, never the other way round."""


@dataclass(frozen=True)
class Place:
    """One process among those that a launcher started together."""

    launcher: str
    rank: int
    size: int
    local_rank: int | None
    """Among those on this host; None where the launcher does not tell."""
    one_host: bool
    """Whether all of them are known to be on this host."""

    @property
    def turn(self) -> int:
        """Number of this process where several devices are shared out, on this host if known."""
        return self.rank if self.local_rank is None else self.local_rank


def ranks_led(environment: Mapping[str, str] = os.environ) -> int:
    """How many ranks this process leads; 0 without a launcher."""
    return int(environment[LEADER].split(",")[1]) if LEADER in environment else 0


def leave(environment: MutableMapping[str, str] = os.environ) -> None:
    """Takes this process out of those that a launcher started: from now on it is alone."""
    for _, *names in _LAUNCHERS:
        for name in filter(None, names):
            environment.pop(name, None)


def place(environment: Mapping[str, str] = os.environ) -> Place | None:
    """The place of this process among several; None where it was started alone, or leads them."""
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
