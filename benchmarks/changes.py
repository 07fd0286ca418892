"""Counts how often ``isthmus compare`` errs, and how often it finds planted changes.

It compares pairs of runs of the null device, whose processes the script scatters. With --device, it
also compares pairs of runs of a device, measured one after the other. Of 20 pairs of equal runs, at
most 1 may have a point that is slower or faster. Planted changes are of 3, 5 and 10 %.

    .venv/bin/python benchmarks/changes.py --pairs 20 --device opencl:pocl
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np

from isthmus.analysis.changes import Comparison, Side, compare
from isthmus.results.run_file import Point, Rerun, Run, load

PLANTED = (0.0, 0.03, 0.05, 0.10)
SPREADS = (0.01, 0.02, 0.03)
PROCESSES = 12
SLOWER = "write"
"""Operation that the script makes slower to plant a change."""


def measured(device: str, folder: Path, name: str, *options: str) -> Run:
    """Measures a device by ``isthmus run``, and returns the run."""
    file = folder / f"{name}.json"
    command = [
        sys.executable,
        "-m",
        "isthmus",
        "run",
        "transfer",
        "--device",
        device,
        "--out",
        file,
    ]
    subprocess.run([*command, *options], check=False, capture_output=True)
    return load(file)


def scaled(rerun: Rerun, factor: float) -> Rerun:
    """A copy of a process's result with all ticks multiplied by ``factor``."""
    clocks = {
        clock: msgspec.structs.replace(s, ticks=[round(t * factor) for t in s.ticks])
        for clock, s in rerun.clocks.items()
    }
    return msgspec.structs.replace(rerun, clocks=clocks)


def spread(run: Run, share: float, change: float, random: np.random.Generator) -> Run:
    """A copy of a run in which times of each process have a random factor.

    ``share``: standard deviation of the factor's logarithm. ``change``: share by which operation
    ``SLOWER`` takes longer.
    """
    factors: dict[int, float] = {}

    def factor(rerun: Rerun, point: Point) -> float:
        drawn = factors.setdefault(rerun.rerun, math.exp(random.normal(0, share)))
        return drawn * (1 + change if point.operation == SLOWER else 1)

    points = [
        msgspec.structs.replace(p, reruns=[scaled(r, factor(r, p)) for r in p.reruns])
        for p in run.points
    ]
    return msgspec.structs.replace(run, points=points)


def outcome(result: Comparison) -> tuple[bool, bool]:
    """Whether ``compare`` found the planted change, and whether it reported any other change."""
    slower, faster = result.of("slower"), result.of("faster")
    found = any(one.operation == SLOWER for one in slower)
    return found, bool(faster) or any(one.operation != SLOWER for one in slower)


def main() -> None:
    """Prints a table of found changes and errors for the null device, and for ``--device``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--device", default="", help="also compare runs of this device")
    given = parser.parse_args()
    random = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sizes = ("--bytes", "1,4Ki,64Ki,1Mi,16Mi", "--reruns", str(PROCESSES), "--budget", "60")
        null = measured("null:20us", folder, "null", *sizes)
        for share in SPREADS:
            for change in PLANTED:
                counts: Counter[str] = Counter()
                for _ in range(given.pairs):
                    pair = [Side(w, [spread(null, share, c, random)])
                            for w, c in (("base", 0.0), ("new", change))]  # fmt: skip
                    found, wrong = outcome(compare(*pair))
                    counts.update({"found": found, "wrong": wrong})
                print(
                    f"null, processes differ by {share:.0%}, {PROCESSES} a side, "
                    f"{change:.0%} planted: found {counts['found']} of {given.pairs}, "
                    f"wrong in {counts['wrong']}"
                )
        if given.device:
            options = ("--bytes", "4Ki,4Mi", "--operation", "read,write", "--reruns", "6",
                       "--budget", "30")  # fmt: skip
            wrong = series = 0
            for i in range(given.pairs):
                runs = [measured(given.device, folder, f"{i}{side}", *options) for side in "ab"]
                result = compare(*(Side(w, [r]) for w, r in zip(("a", "b"), runs, strict=True)))
                changed = result.of("slower") + result.of("faster")
                series += len(changed)
                wrong += bool(changed)
            print(
                f"{given.device}, two equal runs: a difference in {wrong} of {given.pairs} pairs "
                f"({series} series)"
            )


if __name__ == "__main__":
    main()
