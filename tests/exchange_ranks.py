"""One rank of ``test_exchange``: says what it saw as a line of JSON."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

from isthmus import _core
from isthmus.measure.discovery import resolve
from isthmus.system import mpi
from isthmus.system.launcher import place

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

SIZES = (1, 4096, 70_001)


def messages(
    device: _core.Device, options: _core.SeriesOptions, ranks: _core.Communicator
) -> list[dict[str, object]]:
    """A visit to each operation at each size."""
    blocks = []
    for operation in ("exchange", "pingpong", "window"):
        for size in SIZES:
            axes = {"exchange": {"topology": "random"}}.get(operation, {})
            series = _core.JointSeries(device, operation, size, "aligned", axes, options, ranks)
            block = series.measure(0.1)
            blocks.append({
                "operation": operation, "bytes": size, "verified": block.verified.name,
                "fault": block.fault, "parts": len(block.parts), "batch": block.batch,
                "moved": block.parts[0].moved_bytes, "samples": len(block.parts[0].ticks),
                "slowest": sum(block.parts[0].ticks), "state": block.state,
            })  # fmt: skip
    return blocks


def said(what: str, world: Intracomm) -> dict[str, object]:
    """Does what is asked for; what it sees, or what was thrown."""
    from mpi4py import MPI

    try:
        handle = mpi.handle(MPI.COMM_NULL if what == "handle" else world)
        ranks = _core.mpi_communicator(mpi.version(), handle)
        backend = _core.load_backend(str(resolve("host").backend.library))
        device = backend.open("plain", {})
        options = _core.SeriesOptions()
        options.precision = 0.5
        if what == "messages":
            return {"blocks": messages(device, options, ranks)}
        operation = "teleport" if ranks.rank == 1 else "exchange"
        _core.JointSeries(device, operation, 8, "aligned", {}, options, ranks).measure(0.1)
    except _core.UsageError as error:
        return {"error": str(error), "usage": True}
    except _core.BackendError as error:
        return {"error": str(error)}
    return {}


def main() -> None:
    """Does what the argument names, with the launcher's MPI."""
    needed = mpi.environment(os.environ)
    if needed:  # read when libraries are loaded
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **needed})
    here = place()
    assert here is not None, "no launcher started this"
    world = mpi.world(here)
    line = json.dumps({"rank": world.rank, **said(sys.argv[1], world)}) + "\n"
    os.write(1, line.encode())  # in one piece: lines of several ranks could meet
    mpi.finalise()


if __name__ == "__main__":
    main()
