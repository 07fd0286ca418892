"""Measures the emulated card's speed: events and bytes per second, and the time of a whole study.

Also prints how far its event model is from a published log.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import BUILD, build_bare, heading

from isthmus import boards
from isthmus.units import parse_sizes
from isthmus.validation.fitting import rms, worst
from isthmus.validation.points import all_points

BOARD = "u250"
GIB = float(1 << 30)


def speed() -> None:
    heading("Emulated card: nothing skipped, medians of five runs")
    print("```", flush=True)
    subprocess.run([BUILD / "card_engine"], check=True)
    print("```")


def whole_study() -> None:
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "isthmus", "run", "transfer", "--device", f"card:{BOARD}",
             "--out", str(Path(folder) / "run.json")],
            check=True, capture_output=True,
        )  # fmt: skip
    print(f"\nThe whole transfer study to 2 GiB on card:{BOARD}: {time.monotonic() - began:.0f} s")


def published_log() -> None:
    """Prints residuals of a published log, by the event model and by its fitted closed form."""
    board = boards.load(BOARD)
    parameters = [f"{key}={value}" for key, value in board.flat().items()]
    began = time.monotonic()
    printed = subprocess.run(
        [BUILD / "card_log", *parameters], check=True, capture_output=True, text=True
    ).stdout
    seconds = time.monotonic() - began
    events = {
        (kernel, int(size)): float(rate)
        for kernel, size, rate in (line.split(",") for line in printed.splitlines())
    }
    print(f"\nThe published log of 51 points, 1024 sweeps each, as events: {seconds:.1f} s")
    print("\n| kernel | events: rms | worst | closed form: rms | worst |\n|---|---|---|---|---|")
    for kernel in ("read", "write", "copy"):
        series = f"host memory, U250, {'both' if kernel == 'copy' else kernel}"
        points = [point for point in all_points() if point.series == series]
        sizes = [parse_sizes(point.row.item)[0] for point in points]
        simulated = [
            events[kernel, size] / GIB / point.row.published - 1.0
            for size, point in zip(sizes, points, strict=True)
        ]
        closed = [point.residual(board) for point in points]
        print(f"| {kernel} | {rms(simulated):.2%} | {worst(simulated):+.2%} "
              f"| {rms(closed):.2%} | {worst(closed):+.2%} |")  # fmt: skip


def main() -> None:
    build_bare()
    speed()
    whole_study()
    published_log()


if __name__ == "__main__":
    main()
