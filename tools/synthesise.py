"""Writes into docs/rtl.md which resources of an UltraScale+ device the RTL kernels need.

Yosys maps the kernels; it takes about a minute. Only the standard library is used.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RTL = ROOT / "card" / "rtl"
PAGE = ROOT / "docs" / "rtl.md"
BEGIN, END = "<!-- resources -->", "<!-- end of resources -->"
KERNELS = (
    "read_bandwidth", "write_bandwidth", "bandwidth", "vadd",
    "register_block", "sram_controller", "serial_send", "serial_receive",
)  # fmt: skip
# How much of a resource one cell takes. Memory and shift registers are made of LUTs. An inverter
# counts as one LUT, though a vendor's tool mostly merges it into the next LUT.
CELLS = {
    "LUT": {
        r"LUT[1-6]|INV|SRL16E|SRLC32E": 1, r"RAM(32|64)X1D": 2, r"RAM128X1D": 4,
        r"RAM(32|64)M": 4, r"RAM32M16|RAM64M8": 8, r"RAM256X1D": 8,
    },
    "FF": {r"FD[RSCP]E": 1},
    "BRAM36": {r"RAMB36E2": 1, r"RAMB18E2": 0.5},
    "URAM": {r"URAM288": 1},
    "DSP": {r"DSP48E2": 1},
}  # fmt: skip
NOT_COUNTED = r"CARRY[48]|MUXF[789]|BUFG|[IO]BUF"


def cells_of(kernel: str) -> dict[str, int]:
    """Counts the cells of a kernel with its default parameters, by type."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "cells.json"
        sources = " ".join(str(path) for path in sorted(RTL.glob("*.sv")))
        script = (
            f"read_verilog -sv {sources}; synth_xilinx -family xcup -flatten -top {kernel}; "
            f"tee -o {report} stat -json"
        )
        subprocess.run(["yosys", "-q", "-p", script], check=True, capture_output=True)
        counts = json.loads(report.read_text(encoding="utf-8"))["design"]["num_cells_by_type"]
    return {str(name): int(count) for name, count in counts.items()}


def resources(cells: dict[str, int]) -> dict[str, float]:
    """How much of each resource these cells take; an unknown cell is an error."""
    known_cells = "|".join([NOT_COUNTED, *(pattern for each in CELLS.values() for pattern in each)])
    for name in cells:
        if not re.fullmatch(known_cells, name):
            raise ValueError(f"unknown cell {name}: add it to CELLS in {Path(__file__).name}")
    return {
        resource: sum(
            weight * count
            for pattern, weight in weights.items()
            for name, count in cells.items()
            if re.fullmatch(pattern, name)
        )
        for resource, weights in CELLS.items()
    }


def version() -> str:
    """Name and version of Yosys."""
    answer = subprocess.run(["yosys", "-V"], check=True, capture_output=True, text=True)
    return " ".join(answer.stdout.split()[:2])


def table() -> str:
    """The table in Markdown, with the version of Yosys that made it."""
    lines = [
        f"`synth_xilinx -family xcup -flatten`, {version()}:",
        "",
        f"| kernel | {' | '.join(CELLS)} |",
        "|---|" + "---:|" * len(CELLS),
    ]
    for kernel in KERNELS:
        needs = resources(cells_of(kernel))
        lines.append(f"| {kernel} | {' | '.join(f'{value:g}' for value in needs.values())} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def replaced(page: str, new: str) -> str:
    """Returns the page with the new table between the markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} lacks {BEGIN} or {END}")
    return f"{before}{begin}\n{new}\n{end}{after}"


def main() -> int:
    """Synthesises every kernel and rewrites the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    if shutil.which("yosys") is None:
        print("yosys is not here: python3 tools/setup.py synthesis", file=sys.stderr)
        return 1
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), table()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
