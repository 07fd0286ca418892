"""Times the answers of `isthmus run all --quick`, and compares its headlines with other programs.

Each round runs the command once, then bare loops and nvbandwidth on the same device. The script
prints lines of the command with the seconds since the command's start.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from common import bare, build_bare, heading

from isthmus.analysis.summary import summarise
from isthmus.measure.discovery import resolve
from isthmus.results import run_file
from isthmus.units import format_size

SIZES = (1, 4 << 10)
LOOPS = 3
"""Processes of each bare loop in a round; the median of their times is compared."""
RATES = {"write": "host_to_device_memcpy_ce", "read": "device_to_host_memcpy_ce"}
"""By operation of Isthmus: the test of nvbandwidth that measures the same copies."""


def run_quickly(out: Path, arguments: list[str]) -> list[tuple[float, str]]:
    """Runs the command; returns the lines that it prints, each with the seconds since its start."""
    command = [sys.executable, "-P", "-m", "isthmus", "run", "all", "--quick", "--out", str(out)]
    began = time.monotonic()
    with subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout
        return [(time.monotonic() - began, line.rstrip()) for line in process.stdout]


def headline_seconds(run: run_file.Run, device: str, memory: str) -> dict[tuple[str, int], float]:
    """Median seconds of the copies of a device, by operation and bytes."""
    rows = summarise(run)
    mine = rows[
        rows["study"].eq("transfer")
        & rows["device"].eq(device)
        & rows["memory"].eq(memory)
        & rows["clock"].eq("host")
    ]
    columns = (mine["operation"], mine["bytes"], mine["median_s"])
    return {
        (operation, int(size)): float(seconds)
        for operation, size, seconds in zip(*(one.values for one in columns), strict=True)
    }


def nvbandwidth_rates(program: str, index: int, environment: dict[str, str]) -> dict[str, float]:
    """Runs nvbandwidth at its default size; returns bytes per second by operation of Isthmus."""
    printed = subprocess.run(
        [program, "-j", "-t", *RATES.values()],
        capture_output=True, text=True, check=True, env={**os.environ, **environment},
    ).stdout  # fmt: skip
    cases = json.loads(printed[printed.index("{") :])["nvbandwidth"]["testcases"]
    matrices = {case["name"]: case["bandwidth_matrix"] for case in cases}
    return {operation: 1e9 * float(matrices[test][0][index]) for operation, test in RATES.items()}


def main() -> None:
    """Prints times of lines, and ratios of times: a ratio below 1 means that Isthmus is faster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0", help="a CUDA device")
    parser.add_argument("--memory", default="pinned")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each bare loop")
    parser.add_argument("--nvbandwidth", metavar="PROGRAM")
    parser.add_argument("--keep", type=Path, help="folder that keeps the run files")
    known, arguments = parser.parse_known_args()
    heading("Answers of a quick run")
    build_bare()
    environment = dict(resolve(known.device).candidate.environment)
    index = int(known.device.rpartition(":")[2])
    folder = known.keep or Path(tempfile.mkdtemp())
    ratios: dict[tuple[str, int], list[float]] = {}
    for number in range(known.rounds):
        out = folder / f"quick-{number}.json"
        for seconds, line in run_quickly(out, arguments):
            print(f"{seconds:6.1f} s  {line}", flush=True)
        ours = headline_seconds(run_file.load(out), known.device, known.memory)
        for operation, size in product(RATES, SIZES):
            command = ("cuda_loop", operation, size, known.memory, index, known.seconds)
            peers = [float(bare(*command, env=environment) or "nan") for _ in range(LOOPS)]
            ratio = ours[operation, size] / statistics.median(peers)
            ratios.setdefault((operation, size), []).append(ratio)
        if known.nvbandwidth:
            theirs = nvbandwidth_rates(known.nvbandwidth, index, environment)
            for operation, rate in theirs.items():
                size = max(size for name, size in ours if name == operation)
                ratio = ours[operation, size] * rate / size
                ratios.setdefault((operation, size), []).append(ratio)
    print("\n| operation | bytes | Isthmus / peer (time), each round |\n|---|---|---|")
    for (operation, size), each in ratios.items():
        shown = ", ".join(f"{ratio:.3f}" for ratio in each)
        print(f"| {operation} | {format_size(size)} | {shown} |")


if __name__ == "__main__":
    main()
