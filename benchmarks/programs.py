"""Compares programs on emulated cards with figures that AMD published for the same calls."""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common import ROOT, heading

PROGRAMS = ROOT / "emulation" / "tests" / "programs"
LIBRARIES = {"lifecycle": [], "crossing": [], "queues": ["-lxilinxopencl"]}
MiB = 1 << 20
QUEUED = {
    (64, 1024): (4.70066, 4.91932, 8.46482),
    (1024, 1024): (68.5495, 76.4584, 129.132),
    (4096, 1024): (294.746, 313.529, 524.969),
    (16384, 512): (1169.25, 1114.67, 1990.79),
    (MiB, 64): (6619.78, 10072.4, 14733.0),
    (2 * MiB, 64): (7713.63, 11583.7, 14935.0),
    (16 * MiB, 16): (7233.73, 11455.5, 14626.7),
}
"""By bytes and number of buffers: MiB/s to the card, from the card, and both at once. Source: log
of host_global_bandwidth of AMD's Vitis_Accel_Examples on a U200, with 64 buffers of 16 MiB."""
RUNS = {
    10: 84033.6, 50: 127226, 100: 270270, 200: 282486, 500: 295159, 1000: 299940, 1500: 297442,
    2000: 304599, 3000: 310013, 5000: 314505, 10000: 316937,
}  # fmt: skip
"""By number of queued runs: kernel runs per second. Source: log of iops_test_xrt of AMD's
Vitis_Accel_Examples on a U250, which makes them in this order in one program."""
BURSTS = {
    (4, 4): (3.92988, 5.1399), (16, 4): (13.1114, 11.7942), (32, 4): (16.8218, 14.6941),
    (4, 32): (16.8222, 8.93979), (16, 32): (16.8295, 14.3008), (32, 32): (16.8219, 15.1586),
}  # fmt: skip
"""By beats of a burst and bursts in flight: GiB/s that a kernel with a 512-bit port reads and
writes. Source: log of axi_burst_performance of AMD's Vitis_Accel_Examples on a U200, 16 MiB."""


@dataclass(frozen=True)
class Row:
    """A published figure, and the figure on the emulated card in the same unit."""

    what: str
    unit: str
    published: float
    ours: float
    fitted: str

    @property
    def residual(self) -> float:
        """Figure on the emulated card over the published figure, less 1."""
        return self.ours / self.published - 1


def prepare(folder: Path) -> None:
    """Compiles the programs, and writes xclbins with the card's kernels."""
    for name, libraries in LIBRARIES.items():
        subprocess.run(
            [os.environ.get("CXX", "c++"), "-std=c++20", "-O2", "-w", "-I/usr/include/xrt",
             PROGRAMS / f"{name}.cpp", "-o", folder / name, *libraries, "-lxrt_coreutil", "-luuid"],
            check=True,
        )  # fmt: skip
    isthmus("card", "xclbin", "--mode", "hw", "-o", folder / "card.xclbin")
    arguments = [{"name": name, "type": "void*"} for name in ("input0", "output0")]
    arguments += [{"name": name, "type": "int64_t"} for name in ("buf_size", "iter")]
    for name, output in (("one_bank", "bank0"), ("two_banks", "bank1")):
        design = {
            "mode": "hw",
            "memories": [{"name": "bank0"}, {"name": "bank1"}],
            "kernels": [
                {"name": "bandwidth", "arguments": arguments},
                {"name": "read_bandwidth", "arguments": [arguments[0], *arguments[2:]]},
                {"name": "write_bandwidth", "arguments": arguments[1:]},
            ],
            "connect": {
                "bandwidth_1.input0": ["bank0"],
                "bandwidth_1.output0": [output],
                "read_bandwidth_1.input0": ["bank0"],
                "write_bandwidth_1.output0": [output],
            },
        }
        source = folder / f"{name}.json"
        source.write_text(json.dumps(design))
        isthmus("xclbin", "write", "--from", source, "-o", folder / f"{name}.xclbin")


def isthmus(*words: object) -> str:
    command = [sys.executable, "-m", "isthmus", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def told(board: str, folder: Path, program: str, *words: object) -> dict[str, float]:
    """Runs a program on an emulated board; returns the figures that it prints, by name."""
    options = ("--as-hardware", "--board", board)
    output = isthmus("card", "exec", *options, "--", folder / program, *words)
    figures: dict[str, float] = json.loads(output[output.index('{"') :])
    return figures


def launches(folder: Path) -> Iterator[Row]:
    seconds = told("u250", folder, "lifecycle", "queued_runs", folder / "card.xclbin", *RUNS)
    fitted = {10: "driver.first_launch_ns", 10000: "driver.launch_interval_ns"}
    for count, published in RUNS.items():
        yield Row(f"{count} empty kernels queued, U250", "runs/s", published,
                  count / seconds[str(count)], fitted.get(count, "no"))  # fmt: skip


def queued(folder: Path) -> Iterator[Row]:
    for (size, count), published in QUEUED.items():
        words = ("queued", folder / "card.xclbin", size, count)
        figures = told("u200-tutorial", folder, "queues", *words)
        for name, theirs in zip(("h2d", "d2h", "both"), published, strict=True):
            what = f"{count} migrations of {size >> 10 or size / 1024:g} KiB, {name}, U200"
            yield Row(what, "MiB/s", theirs, figures[name] / MiB, "no")


def kernels(folder: Path) -> Iterator[Row]:
    """Yields rows for AMD's kernel_global_bandwidth on a U200 and bandwidth_test on a U250.

    Kernels copy from one bank to another, and within each of four banks. For four banks the script
    takes four times the rate of one, since kernels on different banks do not disturb each other.
    Vitis HLS gives both kernels bursts of 16 beats. bandwidth_test counts MB of 1024 * 1024 B.
    """
    for name, board, units, published in (
        ("two_banks", "u200", 1, 2 * 1024 * MiB / 66.66268e-3),
        ("one_bank", "u250", 4, 52207 * MiB),
    ):
        words = ("ports", folder / f"{name}.xclbin", "bandwidth", 2, 64)
        seconds = told(f"{board},kernel.burst_beats=16", folder, "crossing", *words)["seconds"]
        rate = units * 2 * 64 * MiB / seconds
        what = f"kernel reads and writes {'four banks' if units == 4 else 'two banks'}"
        yield Row(f"{what}, {board.upper()}", "GB/s", published / 1e9, rate / 1e9, "no")


def bursts(folder: Path) -> Iterator[Row]:
    for (beats, in_flight), published in BURSTS.items():
        board = f"u200,kernel.burst_beats={beats},kernel.outstanding={in_flight}"
        for way, theirs in zip(("read", "write"), published, strict=True):
            words = ("ports", folder / "one_bank.xclbin", f"{way}_bandwidth", 1, 128)
            seconds = told(board, folder, "crossing", *words)["seconds"]
            fitted = way == "write" and in_flight == 32 and beats < 32
            yield Row(f"{way}s, {in_flight} bursts of {beats} beats in flight, U200", "GB/s",
                      theirs * 1024 * MiB / 1e9, 128 * MiB / seconds / 1e9,
                      "kernel.write_gap_cycles" if fitted else "no")  # fmt: skip


PARTS = {"launches": launches, "queued": queued, "kernels": kernels, "bursts": bursts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        heading("Programs on emulated cards: simulated, not hardware")
        for part in chosen.parts:
            print("| | unit | published | simulated | residual | fitted to it |")
            print("|---|---|---|---|---|---|")
            rows = []
            for row in PARTS[part](folder):
                rows.append(row)
                print(
                    f"| {row.what} | {row.unit} | {row.published:.4g} | {row.ours:.4g} "
                    f"| {row.residual:+.1%} | {row.fitted} |", flush=True,
                )  # fmt: skip
            rms = math.sqrt(sum(row.residual**2 for row in rows) / len(rows))
            print(f"\n{part}: {rms:.1%} rms\n", flush=True)


if __name__ == "__main__":
    main()
