"""Compares CUDA transfers by Isthmus with bare copies, nvbandwidth and clpeak, measured in turn."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from functools import partial

from common import Isthmus, bare, build_bare, heading, in_turn, ratio_text
from transfer import against_clpeak

from isthmus.errors import IsthmusError
from isthmus.units import format_size

LARGE = 256 << 20
BARE = (
    ("write", 1, "pinned"), ("read", 1, "pinned"), ("write", 1, "aligned"), ("read", 1, "aligned"),
    ("write", 64 << 10, "pinned"), ("read", 64 << 10, "pinned"),
    ("write", LARGE, "pinned"), ("read", LARGE, "pinned"),
)  # fmt: skip
NVBANDWIDTH = (
    ("write", "pinned", ("host_to_device_memcpy_ce",)),
    ("read", "pinned", ("device_to_host_memcpy_ce",)),
    ("bidirectional", "pinned",
     ("host_to_device_bidirectional_memcpy_ce", "device_to_host_bidirectional_memcpy_ce")),
    ("copy_sm_write", "mapped", ("host_to_device_memcpy_sm",)),
    ("copy_sm_read", "mapped", ("device_to_host_memcpy_sm",)),
    ("read_bandwidth", "mapped", ("host_to_device_memcpy_sm",)),
    ("write_bandwidth", "mapped", ("device_to_host_memcpy_sm",)),
)  # fmt: skip
"""Operation and host memory of Isthmus, and the tests of nvbandwidth whose rates add up to its
rate. A test prints the rate of one direction even if both run."""
LATENCY = "host_device_latency_sm"
CHASED = 2 << 20


def against_bare_loop(device: Isthmus, rounds: int, seconds: float) -> None:
    """Prints ratios of times, Isthmus over a bare loop, at equal size and kind of memory."""
    index = device.device.description.id
    environment = dict(device.device.candidate.environment)
    print("| operation | bytes | memory | Isthmus / bare loop (time) | Isthmus, us |")
    print("|---|---|---|---|---|")

    def ours(operation: str, size: int, memory: str) -> float:
        return device.median(operation, size, memory, seconds)[0]

    def bare_loop(operation: str, size: int, memory: str) -> float:
        kind = "pinned" if memory == "pinned" else "pageable"
        printed = bare("cuda_loop", operation, size, kind, index, seconds, env=environment)
        return float(printed or "nan")

    for point in BARE:
        operation, size, memory = point
        ratios, shown = in_turn(partial(ours, *point), partial(bare_loop, *point), rounds)
        print(f"| {operation} | {format_size(size)} | {memory} | {ratio_text(ratios)} | "
              f"{statistics.median(shown) * 1e6:.2f} |", flush=True)  # fmt: skip


def nvbandwidth(program: str, device: Isthmus) -> dict[str, float]:
    """Runs nvbandwidth on the device; returns GB/s, or nanoseconds of a load, by test."""
    tests = [test for _, _, names in NVBANDWIDTH for test in names] + [LATENCY]
    printed = subprocess.run(
        [program, "-j", "-b", str(LARGE >> 20), "-t", *tests],
        capture_output=True, text=True, check=True,
        env={**os.environ, **device.device.candidate.environment},
    ).stdout  # fmt: skip
    cases = json.loads(printed[printed.index("{") :])["nvbandwidth"]["testcases"]
    column = int(device.device.description.id)
    return {
        case["name"]: float(case["bandwidth_matrix"][0][column])
        for case in cases
        if case["status"] == "Passed"
    }


def against_nvbandwidth(program: str, device: Isthmus, rounds: int, seconds: float) -> None:
    """Prints bandwidth of Isthmus over nvbandwidth's at one size, and a dependent load's times."""

    def ours() -> dict[str, float]:
        rates = {}
        for operation, memory, tests in NVBANDWIDTH:
            moved = len(tests) * LARGE
            rates[operation] = moved / device.median(operation, LARGE, memory, seconds)[0] / 1e9
        chased = device.median("pointer_chase", CHASED, "mapped", seconds)[0]
        return {**rates, "pointer_chase": chased * 1e9}

    own: list[dict[str, float]] = []
    theirs: list[dict[str, float]] = []
    for turn in range(rounds):
        if turn % 2:
            own.append(ours())
            theirs.append(nvbandwidth(program, device))
        else:
            theirs.append(nvbandwidth(program, device))
            own.append(ours())
    print(f"\n| operation, {format_size(LARGE)} | nvbandwidth | Isthmus / nvbandwidth | Isthmus | "
          "nvbandwidth |\n|---|---|---|---|---|")  # fmt: skip
    rows = [(operation, tests, "GB/s") for operation, _, tests in NVBANDWIDTH]
    for operation, tests, unit in [*rows, ("pointer_chase", (LATENCY,), "ns")]:
        if not all(test in one for one in theirs for test in tests):
            print(f"| {operation} | {' + '.join(tests)} | not passed | | |")
            continue
        reference = [sum(one[test] for test in tests) for one in theirs]
        ratios = [one[operation] / other for one, other in zip(own, reference, strict=True)]
        print(f"| {operation} | {' + '.join(tests)} | {ratio_text(ratios)} | "
              f"{statistics.median(one[operation] for one in own):.2f} {unit} | "
              f"{statistics.median(reference):.2f} {unit} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each measurement")
    parser.add_argument("--nvbandwidth", metavar="PATH", help="compare with this program too")
    parser.add_argument("--clpeak", metavar="PATH", help="compare opencl:nvidia with this program")
    chosen = parser.parse_args()
    try:
        device = Isthmus(chosen.device)
    except IsthmusError as error:
        print(f"no comparison: {error}")
        return
    build_bare()
    heading(f"CUDA copies: {chosen.device} against bare copies")
    against_bare_loop(device, chosen.rounds, chosen.seconds)
    if chosen.nvbandwidth:
        against_nvbandwidth(chosen.nvbandwidth, device, chosen.rounds, chosen.seconds)
    if chosen.clpeak:
        opencl = Isthmus("opencl:nvidia")
        against_clpeak(opencl, max(3, chosen.rounds // 4), 2.0, chosen.clpeak)


if __name__ == "__main__":
    main()
