"""Lets ``isthmus run`` work in ranks that a launcher of MPI starts."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from isthmus.errors import UsageError
from isthmus.measure import session
from isthmus.studies import Study
from isthmus.system import launcher

if TYPE_CHECKING:
    from isthmus.measure.joint import RankGroup


class LastingConsole(Console):
    """A console that ignores a closed output: a launcher may end before the run file is saved."""

    def on_broken_pipe(self) -> None:
        """Prints no more lines."""
        self.quiet = True


def own_file(folder: Path) -> Path | None:
    """The run file of this host in a folder; None if another process of the host measures.

    This process leaves the ranks of the launcher, so that it measures alone.
    """
    place = launcher.place()
    if place is not None and place.local_rank is None:
        raise UsageError(
            f"--per-node: {place.launcher} does not say which processes share a host; Open MPI's "
            "mpirun and srun do"
        )
    if place is not None and place.local_rank:
        return None
    launcher.leave()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {folder} is no folder: {error.strerror}") from error
    return folder / f"{socket.gethostname()}.json"


def become_rank(
    studies: Sequence[Study],
    devices: Sequence[str],
    resumed: Path | None,
    reruns: int | None,
    bound: Mapping[str, object],
) -> None:
    """Turns this process into a rank if a launcher started it as one; else returns.

    ``bound``: options that bind workers; ranks refuse them, because the launcher binds ranks.
    """
    place = launcher.place()
    if place is None:
        return
    if (reruns or 1) > 1:
        raise UsageError("--reruns: ranks cannot be started anew, so that a run has one")
    for option, value in bound.items():
        if value is not None:
            raise UsageError(f"{option}: ranks are bound by the launcher's own options")
    earlier = () if resumed is None else session.devices_of_ranks(resumed, place.size)
    if earlier:
        devices = [address for address, _ in earlier]
    from isthmus.measure import rank

    rank.become_rank(place, devices, studies, [identity for _, identity in earlier])


def group() -> RankGroup | None:
    """The ranks that this process leads, after all have connected; None without a launcher."""
    if launcher.LEADER not in os.environ:
        return None
    from multiprocessing.connection import Connection

    from isthmus.measure.joint import RankGroup
    from isthmus.measure.ranks import Leader

    descriptor, size, one_host = map(int, os.environ[launcher.LEADER].split(","))
    return RankGroup(Leader(Connection(descriptor), size, one_host=bool(one_host)))
