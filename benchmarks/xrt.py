"""Compares native XRT transfers by Isthmus with a bare loop over the same call."""

from __future__ import annotations

import argparse
import statistics
from functools import partial

from common import Isthmus, bare, build_bare, heading, in_turn, ratio_text

from isthmus.measure import protocol
from isthmus.measure.supervisor import WorkerProcess
from isthmus.units import format_size

SIZES = (1, 4 << 10, 1 << 20)


def bitstream(device: Isthmus) -> str:
    """Path of the xclbin that Isthmus uses, which the bare loop loads, too."""
    with WorkerProcess(device.device.candidate.environment) as worker:
        opened = worker.ask(device.device.open_request())
    assert isinstance(opened, protocol.Opened)
    return opened.device.properties["xclbin"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="xrt:0@noop")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each measurement")
    chosen = parser.parse_args()
    build_bare()
    device = Isthmus(chosen.device)
    environment = dict(device.device.candidate.environment)
    xclbin = bitstream(device)
    heading(f"Transfers: {chosen.device} against a bare loop over xrt::bo::sync")

    def ours(operation: str, size: int) -> float:
        return device.median(operation, size, "alloc_host", chosen.seconds)[0]

    def bare_loop(operation: str, size: int) -> float:
        printed = bare("xrt_loop", operation, size, chosen.seconds, xclbin, env=environment)
        # Take the last word: XRT itself may print lines before the loop's result.
        return float(printed.split()[-1]) if printed else float("nan")

    print("| operation | bytes | Isthmus / bare loop (time) | Isthmus, ns |\n|---|---|---|---|")
    for size in SIZES:
        for operation in ("write", "read"):
            ratios, measured = in_turn(
                partial(ours, operation, size), partial(bare_loop, operation, size), chosen.rounds
            )
            print(f"| {operation} | {format_size(size)} | {ratio_text(ratios)} | "
                  f"{statistics.median(measured) * 1e9:.1f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
