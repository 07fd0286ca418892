"""Which launcher of parallel programs started this process, if any, and as which of how many.

Only the environment is read: nothing is loaded, and ordinary commands start as fast as without.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

FIRST_WORD_S = 10.0
"""Where all ranks fail alike, rank 0 has so long to say so before the launcher ends them."""


@dataclass(frozen=True)
class Place:
    """One process among those that a launcher started together."""

    launcher: str
    rank: int
    size: int
    local_rank: int
    """Among those on this host."""
    one_host: bool
    """Whether all of them are known to be on this host."""


@dataclass(frozen=True)
class _Kind:
    name: str
    rank: str
    size: str
    local_rank: str
    local_size: str


_KINDS = (
    _Kind(
        "Open MPI's mpirun",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
    ),
    _Kind("MPICH's mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"),
    # The step's: a job's batch script sees SLURM_NTASKS too, and is no rank.
    _Kind("Slurm's srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""),
)
"""In this order: launchers start their helpers through Slurm, never the other way round."""
_OWN = ("OMPI_COMM_WORLD_", "PMI_", "PMIX_", "HYDI_", "MPI_LOCAL")
"""Beginnings of the variables that speak of one process."""


def place(environment: Mapping[str, str] = os.environ) -> Place | None:
    """The place of this process among several; None where it was started alone."""
    for kind in _KINDS:
        rank, size = (environment.get(name, "") for name in (kind.rank, kind.size))
        if not (rank.isdigit() and size.isdigit()):
            continue
        if int(size) < 2:
            return None
        local = environment.get(kind.local_rank) or environment.get("SLURM_LOCALID") or rank
        return Place(
            kind.name,
            int(rank),
            int(size),
            int(local),
            environment.get(kind.local_size) == size
            or environment.get("SLURM_STEP_NUM_NODES") == "1",
        )
    return None


def without_place(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that is none of those that the launcher started."""
    names = {name for kind in _KINDS for name in (kind.rank, kind.size)}
    return {
        name: value
        for name, value in environment.items()
        if name not in names and not name.startswith(_OWN)
    }
