"""Compares channel ``staged`` of study beff with mode PCIE of HPCC FPGA, at each message size.

HPCC FPGA (github.com/pc2/HPCC_FPGA, b_eff) must be built already. Both programs run in turn, with
two ranks and the same loops. To build its host program for an OpenCL runtime without an FPGA:

1. Fill in its two ``parameters.h.in`` by hand: data type char, two replications.
2. Replace CL_DEVICE_TYPE_ACCELERATOR by CL_DEVICE_TYPE_ALL.
3. Compile ``b_eff/src/host/*.cpp``, ``shared/hpcc_settings.cpp`` and
   ``shared/setup/fpga_setup.cpp`` with ``mpicxx -O3 -std=c++17 -DNDEBUG -D_USE_MPI_
   -DUSE_OCL_HOST -DCOMMUNICATION_TYPE_SUPPORT_ENABLED``, its kernel with ``poclcc``.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from common import heading, ratio_text

RANKS = "2"
HPCC_ROW = re.compile(r"^\s*(\d+)\s+(\d+)\s+([\d.e+-]+)\s+([\d.e+-]+)\s*$", re.MULTILINE)
"""Matches a row of b_eff's log: bytes, steps of a loop, seconds of the fastest loop, bytes per
second."""
Best = Mapping[int, tuple[int, float]]
"""By message size: steps of a loop, and highest bandwidth of all ranks in bytes per second."""


def launched(launcher: str, command: list[str], folder: Path) -> str:
    """Starts a program by the launcher with two ranks; returns what rank 0 prints."""
    root = {f"OMPI_ALLOW_RUN_AS_ROOT{end}": "1" for end in ("", "_CONFIRM")}
    ended = subprocess.run(
        [launcher, "-n", RANKS, *command], cwd=folder, env={**os.environ, **root},
        check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return ended.stdout


def ours(launcher: str, device: str, sizes: str, folder: Path) -> Best:
    """Runs Isthmus once with channel ``staged``."""
    isthmus = [sys.executable, "-m", "isthmus"]
    out = folder / "run.json"
    out.unlink(missing_ok=True)
    command = ["run", "beff", "--device", device, "--channel", "staged", "--bytes", sizes,
               "--quick", "--out", str(out)]  # fmt: skip
    launched(launcher, [*isthmus, *command], folder)
    shown = subprocess.run([*isthmus, "show", str(out), "--format", "csv"], check=True,
                           capture_output=True, text=True).stdout  # fmt: skip
    rows = [row for row in csv.DictReader(shown.splitlines()) if row["operation"] == "exchange"]
    assert rows
    assert all(row["verified"] == "true" for row in rows)
    return {
        int(row["bytes"]): (
            round(float(row["looplength"])),
            float(row["bandwidth_Bps"]) * float(row["median_s"]) / float(row["min_s"]),
        )
        for row in rows
    }


def theirs(launcher: str, arguments: argparse.Namespace, like: Best, folder: Path) -> Best:
    """Runs HPCC FPGA with the same steps of a loop at each size as in ``like``."""
    result = {}
    for size, (loop, _) in like.items():
        log2 = str(size.bit_length() - 1)
        options = ["-f", str(arguments.kernel.resolve()), "--comm-type", "PCIE",
                   "--platform", str(arguments.platform), "--device", "0", "-u", str(loop),
                   "-l", str(loop), "--min-size", log2, "-m", log2, "-n", "10"]  # fmt: skip
        said = launched(launcher, [str(arguments.program.resolve()), *options], folder)
        assert "Validation: SUCCESS" in said, said
        ((reported_size, loops, _, rate),) = HPCC_ROW.findall(said)
        assert (int(reported_size), int(loops)) == (size, loop), said
        result[size] = (loop, float(rate))
    return result


def main() -> None:
    """Prints the bandwidth of Isthmus over HPCC FPGA's for each message size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path, help="HPCC FPGA's host program of b_eff")
    parser.add_argument("kernel", type=Path, help="its kernel file for this device")
    parser.add_argument("--device", default="opencl:pocl")
    parser.add_argument("--platform", type=int, default=0, help="the same device's, to HPCC FPGA")
    parser.add_argument("--bytes", default="1:1Mi")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--launcher", default="mpirun")
    arguments = parser.parse_args()
    ratios: dict[int, list[float]] = {}
    heading(f"{arguments.device}, staged, over HPCC FPGA's PCIE mode, best of each loop")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for _ in range(arguments.rounds):
            own = ours(arguments.launcher, arguments.device, arguments.bytes, folder)
            for size, (_, rate) in theirs(arguments.launcher, arguments, own, folder).items():
                ratios.setdefault(size, []).append(own[size][1] / rate)
    for size, each in ratios.items():
        print(f"{size:8d} B: {ratio_text(each)}")


if __name__ == "__main__":
    main()
