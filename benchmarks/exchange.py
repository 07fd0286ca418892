"""Messages between two ranks: pingpong and window beside osu_latency and osu_bw of the same MPI.

The OSU micro-benchmarks are at https://mvapich.cse.ohio-state.edu/benchmarks/ as a source archive;
`./configure CC=mpicc CXX=mpicxx && make` with the compiler wrappers of the MPI that mpi4py loads
builds them, and --osu names the folder with the two programs (c/mpi/pt2pt/standard). Every round
starts each side in turn, by the same launcher with the same binding, one size, about as long each.
Compared are the means over their repetitions, round by round, and the best means of all rounds,
which tell more where other programs take the processors away.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from common import geometric_text, heading, in_turn

from isthmus import _core
from isthmus.measure.discovery import resolve

SIZES = (1, 4 << 10, 64 << 10, 4 << 20)
WINDOW = 64  # osu_bw's
PEERS = {"pingpong": "osu_latency", "window": "osu_bw"}


def rank(operation: str, size: int, seconds: float, library: str) -> None:
    """One rank of ours; rank 0 prints the mean seconds of one repetition."""
    import mpi4py  # noqa: PLC0415 - ranks alone need it

    mpi4py.rc.thread_level = "funneled"
    from mpi4py import MPI  # noqa: PLC0415

    communicator = _core.mpi_communicator(MPI.get_vendor()[0], MPI._handleof(MPI.COMM_WORLD))
    device = _core.load_backend(library).open("plain", {})
    options = _core.SeriesOptions()
    options.precision = 1e-9  # never reached: the series lasts its time
    options.most_seconds = seconds
    series = _core.JointSeries(device, operation, size, "aligned", {}, options, communicator)
    ticks = repetitions = 0
    while series.state == "open":
        block = series.measure(seconds)
        if block.verified != _core.Verified.yes:
            raise SystemExit(block.fault)
        ticks += sum(block.parts[0].ticks)
        repetitions += block.batch * len(block.parts[0].ticks)
    if communicator.rank == 0:
        print(ticks * _core.host_clock().seconds_per_tick / repetitions)


def printed(launcher: Sequence[str], *program: str) -> str:
    """What two ranks of a program print."""
    return subprocess.run([*launcher, *program], check=True, capture_output=True, text=True).stdout


def isthmus(launcher: Sequence[str], operation: str, size: int, seconds: float) -> float:
    """Seconds of one repetition of ours, measured for so long."""
    library = str(resolve("host").backend.library)
    return float(printed(launcher, sys.executable, __file__, "--seconds", str(seconds),
                         "--rank", operation, str(size), library))  # fmt: skip


def osu(program: Path, launcher: Sequence[str], size: int, repetitions: int) -> float:
    """Seconds of one repetition by OSU's program: a round trip, or a window."""
    text = printed(launcher, str(program), "-m", f"{size}:{size}", "-i", str(repetitions))
    figure = float(next(line for line in text.splitlines() if line.split()[:1] == [str(size)])
                   .split()[1])  # fmt: skip
    if program.name == "osu_latency":
        return 2e-6 * figure
    return WINDOW * size / (1e6 * figure)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--osu", type=Path, help="folder of osu_latency and osu_bw")
    parser.add_argument("--launcher", default="mpirun -n 2 --bind-to core", help="with its options")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each measurement of ours")
    parser.add_argument("--rank", nargs=3, metavar=("OPERATION", "BYTES", "LIBRARY"),
                        help=argparse.SUPPRESS)  # fmt: skip
    chosen = parser.parse_args()
    if chosen.rank:
        operation, size, library = chosen.rank
        rank(operation, int(size), chosen.seconds, library)
        return
    if chosen.osu is None:
        parser.error("name the folder of the OSU micro-benchmarks with --osu")
    launcher = shlex.split(chosen.launcher)
    heading("Messages between two ranks: Isthmus against the OSU micro-benchmarks")
    print("| operation | bytes | one repetition, best mean | Isthmus / OSU, means | best means |\n"
          "|---|---|---|---|---|")  # fmt: skip
    for operation, peer in PEERS.items():
        for size in SIZES:
            ours = partial(isthmus, launcher, operation, size, chosen.seconds)
            repetitions = max(10, int(chosen.seconds / ours()))
            theirs = partial(osu, chosen.osu / peer, launcher, size, repetitions)
            ratios, means = in_turn(ours, theirs, chosen.rounds)
            best = min(means)
            best_of_peer = min(m / r for m, r in zip(means, ratios, strict=True))
            print(f"| {operation} | {size} | {1e6 * best:.3f} us | {geometric_text(ratios)} | "
                  f"{best / best_of_peer:.3f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
