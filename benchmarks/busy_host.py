"""Counts wrong decisions of ``isthmus compare`` on runs of the same code, if other work begins.

In each pair the first run has the machine to itself, and the second runs beside two busy loops. The
timed code does not change: a gate that fails (exit code 3) errs.

    .venv/bin/python benchmarks/busy_host.py --pairs 20 --device null:20us --device host
    .venv/bin/python benchmarks/busy_host.py --stored FOLDER
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from common import heading

from isthmus.analysis.changes import Side, compare
from isthmus.analysis.gate import decide
from isthmus.results.run_file import Run, load

POINTS = ("--operation", "read,write", "--bytes", "1,64Ki,4Mi")
LIMITS = {"2 %": 0.02, "5 %": 0.05, "10 %": 0.10, "auto": None}
LOOPS = 2
"""Number of busy loops that run beside the second run of a pair."""
SIDES = ("idle", "busy")


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """A context in which ``loops`` processes compute without a pause."""
    command = [sys.executable, "-c", "while True: pass"]
    started = [subprocess.Popen(command) for _ in range(loops)]
    try:
        yield
    finally:
        for one in started:
            one.kill()
            one.wait()


def measure(device: str, file: Path, options: list[str]) -> None:
    """Measures a device by ``isthmus run``, and writes the run to ``file``."""
    command = [sys.executable, "-m", "isthmus", "run", "transfer", "--device", device]
    subprocess.run(
        [*command, *POINTS, *options, "--out", str(file)],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def measure_pairs(devices: list[str], pairs: int, folder: Path, options: list[str]) -> None:
    """Measures pairs of runs of each device, in files ``DEVICE-PAIR-SIDE.json``."""
    for pair in range(pairs):
        for device in devices:
            for side, loops in zip(SIDES, (0, LOOPS), strict=True):
                file = folder / f"{device.replace(':', '_')}-{pair:02}-{side}.json"
                if not file.exists():  # an earlier call may have measured it
                    with busy(loops):
                        measure(device, file, options)
            print(f"{device}, pair {pair}: load average {os.getloadavg()[0]:.1f}", file=sys.stderr)


def outcome(base: Run, new: Run, limit: float | None, *, as_measured: bool) -> str:
    """The gate's decision on two runs, in a word."""
    sides = Side("a", [base]), Side("b", [new])
    result = compare(*sides, limit, as_measured=as_measured, own=limit is None)
    return decide(result).outcome


def judge(folder: Path) -> None:
    """Prints a table of the gate's decisions on the pairs of runs in a folder."""
    devices: dict[str, list[tuple[Run, Run]]] = {}
    for file in sorted(folder.glob(f"*-{SIDES[0]}.json")):
        name = file.name.removesuffix(f"-{SIDES[0]}.json")
        runs = load(file), load(folder / f"{name}-{SIDES[1]}.json")
        devices.setdefault(name.rpartition("-")[0], []).append(runs)
    print("| device | pairs | limit | host | FAIL (3) | UNDECIDED (5) | PASS (0) |")
    print("|---|--:|---|---|--:|--:|--:|")
    for device, pairs in devices.items():
        for limit, value in LIMITS.items():
            for as_measured in (True, False):
                how = "as measured" if as_measured else "taken off"
                counts = Counter(outcome(*p, value, as_measured=as_measured) for p in pairs)
                cells = " | ".join(str(counts[one]) for one in ("fail", "undecided", "pass"))
                print(f"| {device} | {len(pairs)} | {limit} | {how} | {cells} |", flush=True)


def main() -> None:
    """Measures pairs of runs, or reads stored pairs, and prints the gate's decisions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--device", action="append", help="as isthmus run has it")
    parser.add_argument("--stored", type=Path, help="folder of pairs that were measured before")
    parser.add_argument("--keep", type=Path, help="folder for the run files")
    parser.add_argument("options", nargs="*", help="of isthmus run, after --")
    arguments = parser.parse_args()
    heading("Pairs of equal runs, the second beside two busy loops")
    if arguments.stored:
        judge(arguments.stored)
        return
    with tempfile.TemporaryDirectory() as own:
        folder = arguments.keep or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        devices = arguments.device or ["null:20us"]
        measure_pairs(devices, arguments.pairs, folder, arguments.options)
        judge(folder)


if __name__ == "__main__":
    main()
