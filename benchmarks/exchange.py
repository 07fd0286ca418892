"""Compares messages between two ranks: pingpong and window of Isthmus, osu_latency and osu_bw.

The OSU micro-benchmarks are at https://mvapich.cse.ohio-state.edu/benchmarks/ as a source archive.
Build them by `./configure CC=mpicc CXX=mpicxx && make` with the compiler wrappers of the MPI that
mpi4py loads. --osu names the folder with both programs (c/mpi/pt2pt/standard). Each round starts
both sides in turn, at one size for about the same time, with the same launcher, binding and thread
level. The script compares means over repetitions round by round, and medians, which other programs
on the processors disturb less. OSU's programs read the clock twice in each repetition. One of these
readings is in their figure: the script subtracts it. They print hundredths of a microsecond.
"""

from __future__ import annotations

import argparse
import math
import shlex
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from common import BUILD, build_bare, heading, ratio_text

from isthmus import _core
from isthmus.measure.discovery import resolve

SIZES = (1, 4 << 10, 64 << 10, 4 << 20)
WINDOW = 64  # messages in a window of osu_bw
LOOP_S = 2e-4  # seconds of a loop whose mean is one of our samples; OSU's are single repetitions
PEERS = {"pingpong": "osu_latency", "window": "osu_bw"}


class Figures(NamedTuple):
    """Mean and median seconds of one repetition."""

    mean: float
    median: float


def rank(operation: str, size: int, seconds: float, library: str) -> None:
    """Runs one rank of Isthmus's side; rank 0 prints its figures."""
    import mpi4py  # noqa: PLC0415 - ranks alone need it

    mpi4py.rc.thread_level = "single"  # the level of MPI_Init, which OSU's programs call
    from mpi4py import MPI  # noqa: PLC0415

    communicator = _core.mpi_communicator(MPI.get_vendor()[0], MPI._handleof(MPI.COMM_WORLD))
    device = _core.load_backend(library).open("plain", {})
    options = _core.SeriesOptions()
    options.precision = 1e-9  # never reached, so that the series lasts for its whole time
    options.most_seconds = seconds
    options.loop_s = LOOP_S
    series = _core.JointSeries(device, operation, size, "aligned", {}, options, communicator)
    times: list[float] = []
    repetitions: list[int] = []
    while series.state == "open":
        block = series.measure(seconds)
        if block.verified != _core.Verified.yes:
            raise SystemExit(block.fault)
        times += [ticks * _core.host_clock().seconds_per_tick for ticks in block.parts[0].ticks]
        repetitions += [block.batch] * len(block.parts[0].ticks)
    if communicator.rank == 0:
        print(sum(times) / sum(repetitions), np.median(np.divide(times, repetitions)))


def printed(launcher: Sequence[str], *program: str) -> str:
    """Starts a program with two ranks; returns what it prints."""
    return subprocess.run([*launcher, *program], check=True, capture_output=True, text=True).stdout


@cache
def clock_reading(launcher: Sequence[str]) -> float:
    """Seconds of one reading of MPI's clock; NaN if the program that measures it was not built."""
    program = BUILD / "mpi_clock"
    return float(printed(launcher, str(program))) if program.exists() else math.nan


def isthmus(launcher: Sequence[str], operation: str, size: int, seconds: float) -> Figures:
    """Measures Isthmus's side for ``seconds``."""
    library = str(resolve("host").backend.library)
    mean, median = printed(launcher, sys.executable, __file__, "--seconds", str(seconds),
                           "--rank", operation, str(size), library).split()  # fmt: skip
    return Figures(float(mean), float(median))


def osu(program: Path, launcher: Sequence[str], size: int, repetitions: int) -> Figures:
    """Measures OSU's program: a round trip, or a window, less one reading of the clock."""
    options = ["-m", f"{size}:{size}", "-i", str(repetitions), "-z", "50"]
    text = printed(launcher, str(program), *options)
    row = next(line.split() for line in text.splitlines() if line.split()[:1] == [str(size)])
    mean, median = (
        2e-6 * float(figure)
        if program.name == "osu_latency"
        else WINDOW * size / (1e6 * float(figure))
        for figure in row[1:3]
    )
    reading = clock_reading(launcher)
    return Figures(mean - reading, median - reading)


def compared(
    launcher: Sequence[str], program: Path, operation: str, size: int, chosen: argparse.Namespace
) -> str:
    """Measures both sides with alternating order; returns a row of the table with their ratios."""
    first = isthmus(launcher, operation, size, chosen.seconds)
    repetitions = max(10, int(chosen.seconds / first.mean))
    pairs: list[tuple[Figures, Figures]] = []
    for turn in range(chosen.rounds):
        early = osu(program, launcher, size, repetitions) if turn % 2 else None
        ours = isthmus(launcher, operation, size, chosen.seconds)
        pairs.append((ours, early or osu(program, launcher, size, repetitions)))
    means = ratio_text([ours.mean / theirs.mean for ours, theirs in pairs])
    medians = ratio_text([ours.median / theirs.median for ours, theirs in pairs])
    best = min(ours.median for ours, _ in pairs)
    return f"| {operation} | {size} | {1e6 * best:.3f} us | {means} | {medians} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--osu", type=Path, help="folder of osu_latency and osu_bw")
    parser.add_argument("--launcher", default="mpirun -n 2 --bind-to core", help="with its options")
    parser.add_argument("--operation", choices=PEERS, nargs="+", default=list(PEERS))
    parser.add_argument("--bytes", type=int, nargs="+", default=SIZES)
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
    build_bare()
    launcher = tuple(shlex.split(chosen.launcher))
    heading("Messages between two ranks: Isthmus against the OSU micro-benchmarks")
    print(f"A reading of MPI's clock: {1e9 * clock_reading(launcher):.1f} ns\n")
    print("| operation | bytes | one repetition, best median | Isthmus / OSU, means | medians |\n"
          "|---|---|---|---|---|")  # fmt: skip
    for operation in chosen.operation:
        for size in chosen.bytes:
            print(compared(launcher, chosen.osu / PEERS[operation], operation, size, chosen),
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
