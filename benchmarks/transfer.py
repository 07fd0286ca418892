"""Compares OpenCL transfers by Isthmus with a bare loop and with clpeak, measured in turn."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
from functools import partial

from common import Isthmus, bare, build_bare, heading, in_turn, ratio_text

from isthmus.units import format_size

SIZES = (1, 64 << 10, 128 << 20)
CLPEAK_BYTES = 512 << 20


def against_bare_loop(device: Isthmus, rounds: int, seconds: float) -> None:
    """Prints ratios of times, Isthmus over a bare loop, at equal size, offset and flags."""
    vendors = dict(device.device.candidate.environment)

    def ours(operation: str, size: int) -> float:
        return device.median(operation, size, "aligned", seconds)[0]

    def bare_loop(operation: str, size: int) -> float:
        return float(bare("opencl_loop", operation, size, 0, seconds, env=vendors) or "nan")

    print("| operation | bytes | Isthmus / bare loop (time) |\n|---|---|---|")
    for size in SIZES:
        for operation in ("write", "read"):
            ratios, _ = in_turn(
                partial(ours, operation, size), partial(bare_loop, operation, size), rounds
            )
            print(f"| {operation} | {format_size(size)} | {ratio_text(ratios)} |", flush=True)


def clpeak_rates(program: str, environment: dict[str, str]) -> dict[str, float]:
    """Runs clpeak; returns GB/s of plain writes and reads of the first device."""
    printed = subprocess.run(
        [program, "--device", "0", "--transfer-bandwidth"],
        capture_output=True, text=True, check=True, env={**os.environ, **environment},
    ).stdout  # fmt: skip
    rates = {}
    for operation in ("Write", "Read"):
        match = re.search(rf"enqueue{operation}Buffer\s*:\s*([0-9.]+)", printed)
        assert match, printed
        rates[operation.lower()] = float(match[1])
    return rates


def against_clpeak(device: Isthmus, rounds: int, seconds: float, program: str = "clpeak") -> None:
    """Prints bandwidth ratios of Isthmus over clpeak at clpeak's size and kind of memory.

    Rounds in which Isthmus goes first and rounds in which clpeak goes first have separate ratios.
    """
    environment = dict(device.device.candidate.environment)
    ratios: dict[tuple[str, str], list[float]] = {}
    shown: dict[str, list[float]] = {}
    for turn in range(2 * rounds):
        order = "Isthmus first" if turn % 2 else "clpeak first"
        theirs = clpeak_rates(program, environment) if order == "clpeak first" else {}
        ours = {
            operation: CLPEAK_BYTES / device.median(operation, CLPEAK_BYTES, "pageable", seconds)[0]
            for operation in ("write", "read")
        }
        theirs = theirs or clpeak_rates(program, environment)
        for operation, rate in ours.items():
            ratios.setdefault((operation, order), []).append(rate / 1e9 / theirs[operation])
            shown.setdefault(operation, []).append(rate / 1e9)
    print("\n| operation | order | Isthmus / clpeak (bandwidth, 512 MiB) | Isthmus, GB/s |")
    print("|---|---|---|---|")
    for (operation, order), values in sorted(ratios.items()):
        print(f"| {operation} | {order} | {ratio_text(values)} | "
              f"{statistics.median(shown[operation]):.2f} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="opencl:pocl")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement")
    chosen = parser.parse_args()
    build_bare()
    device = Isthmus(chosen.device)
    heading(f"Transfers: {chosen.device} against a bare OpenCL loop and clpeak")
    if bare("opencl_loop", "write", 1, 0, 0.01) is None:
        print("no bare loop: needs ocl-icd-opencl-dev and opencl-headers")
    else:
        against_bare_loop(device, chosen.rounds, chosen.seconds)
    if shutil.which("clpeak") is None:
        print("no clpeak here: apt-get install clpeak")
    else:
        against_clpeak(device, max(3, chosen.rounds // 4), 2.0)


if __name__ == "__main__":
    main()
