"""Compares the time that ``card exec --watch`` expects of a changed loop with the time it takes.

Each pair of ``kernels/remedies/pairs.toml`` is a row, with simulated microseconds on each board:

    .venv/bin/python benchmarks/remedies.py --board u250 --board u55c
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

SOURCES = Path(__file__).parents[1] / "kernels" / "remedies"
TABLE = msgspec.toml.decode((SOURCES / "pairs.toml").read_bytes())
"""The pairs of kernels, and the arguments of the host for each family of kernels."""
ITEMS = "4"


def isthmus(*arguments: object, folder: Path) -> str:
    """Runs a command of Isthmus in a folder and returns its output."""
    command = [sys.executable, "-m", "isthmus", *map(str, arguments)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(ended.stderr)
    return ended.stdout


def built(folder: Path) -> list[str]:
    """Builds host and kernels in a folder; returns the kernels' names."""
    for file in SOURCES.iterdir():
        shutil.copy(file, folder)
    kernels = sorted(file.stem for file in SOURCES.glob("*.cpp") if file.stem != "host")
    sources = [f"{name}.cpp" for name in kernels]
    isthmus("card", "kernel", "build", *sources, "-o", "all.xclbin", folder=folder)
    include = isthmus("card", "include", folder=folder).strip()
    flags = ["-std=c++17", "-O2", "-w", "-I/usr/include/xrt", f"-I{include}"]
    libraries = ["-lxrt_coreutil", "-luuid", "-pthread"]
    subprocess.run(["g++", *flags, "host.cpp", "-o", "host", *libraries], cwd=folder, check=True)
    return kernels


def measured(folder: Path, board: str, kernel: str) -> tuple[dict[str, float], dict[str, Any]]:
    """Runs a kernel: what its host prints, and the region of its items."""
    trace = folder / f"{board}-{kernel}.json"
    family = kernel.partition("_")[0]
    arguments = TABLE["arguments"][family]
    printed = isthmus(
        "card", "exec", "--board", board, "--clock", "card", "--trace", trace, "--kernels", ".",
        "--", "./host", "all.xclbin", kernel, ITEMS, *arguments, folder=folder,
    )  # fmt: skip
    regions = json.loads(trace.read_text())["otherData"]["bounds"]
    (region,) = [region for region in regions if region["name"] == "items"]
    return json.loads(printed.splitlines()[-1]), region


def main() -> None:
    """Prints a row for each pair."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--board", action="append", default=[])
    boards = parser.parse_args().board or ["u250", "u55c"]
    print("| change | from | to |" + "".join(f" {b} | expected | seen |" for b in boards))
    print("|---|---|---|" + "--:|--:|--:|" * len(boards))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ran = {
            (board, kernel): measured(folder, board, kernel)
            for kernel in built(folder)
            for board in boards
        }
    for pair in TABLE["pairs"]:
        row = f"| {pair['change']} | `{pair['before']}` | `{pair['after']}` |"
        for board in boards:
            figures, region = ran[board, pair["before"]]
            after, _ = ran[board, pair["after"]]
            if figures["sum"] != after["sum"]:
                raise SystemExit(f"{pair['after']} computes other results than {pair['before']}")
            (change,) = [one for one in region["changes"] if one["kind"] == pair["change"]]
            for seconds in (figures["item_s"], change["item_s"], after["item_s"]):
                row += f" {1e6 * seconds:.1f} |"
        print(row)


if __name__ == "__main__":
    main()
