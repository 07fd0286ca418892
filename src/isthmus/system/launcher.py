"""Recognises the launcher that started this process as one of several ranks, such as mpirun.

Reads only environment variables, so that commands without a launcher start without delay.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass

REPORT_S = 10.0
"""Seconds that a failed rank waits before it ends, because the launcher then ends all ranks. In
this time rank 0 can print the error."""
LEADER = "ISTHMUS_RANKS"
"""Environment variable that only the leader's process has: descriptor of its pipe to rank 0, number
of ranks, and 1 if all ranks are on this host."""
_LAUNCHERS = (
    (
        "Open MPI's mpirun",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    ("MPICH's mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    # Not SLURM_NTASKS: a job's batch script has it, too, but is not a rank.
    ("Slurm's srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""),
)
"""Name of each launcher, and its variables with rank, number of ranks, rank on this host and number
on this host. Slurm comes last, because other launchers start processes through Slurm."""


@dataclass(frozen=True)
class Place:
    """The place of this process among the ranks that a launcher started together."""

    launcher: str
    rank: int
    size: int
    local_rank: int | None
    """Rank among the processes on this host; None if the launcher sets no such variable."""
    one_host: bool
    """Whether all processes are known to be on this host."""

    @property
    def turn(self) -> int:
        """Number by which ranks share a host's devices: the rank on this host, else the rank."""
        return self.rank if self.local_rank is None else self.local_rank


def ranks_led(environment: Mapping[str, str] = os.environ) -> int:
    """Number of ranks that this process leads; 0 if it is not the leader."""
    return int(environment[LEADER].split(",")[1]) if LEADER in environment else 0


def leave(environment: MutableMapping[str, str] = os.environ) -> None:
    """Removes the launcher's variables, so that this process counts as started alone."""
    for _, *names in _LAUNCHERS:
        for name in filter(None, names):
            environment.pop(name, None)


def place(environment: Mapping[str, str] = os.environ) -> Place | None:
    """The place of this process; None if it is the leader, or the only process of a launcher."""
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
