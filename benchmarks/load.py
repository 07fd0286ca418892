"""Compares simulated times of programs on emulated cards: alone, beside busy loops, at nice 19."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from common import ROOT, heading

PROGRAMS = ROOT / "emulation" / "tests" / "programs"
CASES = {
    "overlapping": ("native", "one kernel; computing beside it, for half and for twice as long"),
    "copying": ("native", "100 transfers of 64 KiB"),
    "two_cards": ("native", "kernels on two cards, one after the other and at a time"),
    "queued_runs": ("lifecycle", "200 empty kernels in the queue"),
}
CONDITIONS = {"alone": 0, "2 loops": 2, "nice 19": 0, "2 loops, nice 19": 2}


def compiled(folder: Path) -> None:
    """Compiles the programs, and writes an xclbin with the card's kernels."""
    for name in {program for program, _ in CASES.values()}:
        subprocess.run(
            [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-w", "-I/usr/include/xrt",
             PROGRAMS / f"{name}.cpp", "-o", folder / name, "-lxrt_coreutil", "-luuid"],
            check=True,
        )  # fmt: skip
    command = [sys.executable, "-m", "isthmus", "card", "xclbin", "-o", folder / "card.xclbin"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def busy(loops: int) -> Iterator[None]:
    """A context in which ``loops`` processes keep processors busy."""
    loop_of_ten_minutes = ["sh", "-c", "ulimit -t 600; while :; do :; done"]
    started = [subprocess.Popen(loop_of_ten_minutes) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in started:
            loop.kill()
            loop.wait()


def times(folder: Path, case: str, clock: str, condition: str) -> dict[str, float]:
    """Runs a program; returns the seconds of simulated time that it prints, by name."""
    board = ("--board", "u250")
    command = [
        *(["nice", "-n", "19"] if "nice" in condition else []),
        sys.executable, "-m", "isthmus", "card", "exec", "--clock", clock, *board, *board, "--",
        folder / CASES[case][0], case, folder / "card.xclbin", "200",
    ]  # fmt: skip
    if CASES[case][0] == "native":
        command = command[:-1]
    with busy(CONDITIONS[condition]):
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
    told: dict[str, float] = json.loads(ran.stdout[ran.stdout.index('{"') :])
    return {name: time for name, time in told.items() if not name.endswith("_wall")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--programs", nargs="+", choices=CASES, default=list(CASES))
    chosen = parser.parse_args()
    rounds = chosen.rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiled(folder)
        heading(f"Simulated time under load: medians of {rounds} runs, in turn")
        print(f"Load average before: {os.getloadavg()[0]:.1f}\n")
        print("| clock | program | figure | " + " | ".join(CONDITIONS) + " | farthest from alone |")
        print("|---|---|---|" + "---|" * (len(CONDITIONS) + 1))
        for clock in ("virtual", "card"):
            for case in chosen.programs:
                found: dict[str, list[dict[str, float]]] = {each: [] for each in CONDITIONS}
                for _ in range(rounds):
                    for condition, runs in found.items():
                        runs.append(times(folder, case, clock, condition))
                for figure in found["alone"][0]:
                    medians = [
                        statistics.median(run[figure] for run in runs) for runs in found.values()
                    ]
                    all_runs = {run[figure] for runs in found.values() for run in runs}
                    farthest = max(abs(each / medians[0] - 1) for each in medians)
                    said = "all runs alike" if len(all_runs) == 1 else f"{farthest:.2%}"
                    cells = " | ".join(f"{each * 1e3:.4f} ms" for each in medians)
                    print(f"| {clock} | {case} | {figure} | {cells} | {said} |", flush=True)


if __name__ == "__main__":
    main()
