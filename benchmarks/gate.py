"""Counts how often the gate of ``compare`` passes, fails or is undecided on one healthy machine.

Without arguments it judges all ordered pairs of the stored twelve runs of an H100 node, with limits
of 10 % and ``auto``. Then, for each run, it makes each series of the next run slower by 12 %. Run
files as arguments replace the stored runs. With ``--rows FILE.csv.gz`` it makes runs with the
medians and intervals of the file: outputs of ``isthmus show --format csv``, one after the other.
Times of their processes are normal scores in a random order.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from statistics import NormalDist

import msgspec
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from host_states import STORED
from isthmus.analysis.changes import Side, compare
from isthmus.analysis.gate import decide
from isthmus.results import run_file
from isthmus.results.run_file import HostReading, Point, Run
from isthmus.student import student
from synthetic import point, run

SETS = ("2026-11-27-h100-twelve-runs", "2026-11-27-h100-twelve-runs-without")
PLANTED = 1.12
LIMIT = 0.10
REFERENCES = ("system_call_s", "copy_s", "arithmetic_s")
Rows = dict[str, dict[int, float]]
Readings = dict[int, list[list[float]]]


def _run(rows: Rows, readings: Readings) -> Run:
    """Makes a run in a virtual machine, of a device with a link, with these seconds by process."""
    points, left = [], dict(readings)
    for name, seconds in rows.items():
        operation, memory, size = name.split()
        plain = point("cuda:0", operation, int(size), [[s] * 5 for s in seconds.values()],
                      memory=memory)  # fmt: skip
        reruns = [
            msgspec.structs.replace(
                one,
                rerun=number,
                host_speed=[HostReading(0.0, *values) for values in left.pop(number, [])],
            )
            for number, one in zip(seconds, plain.reruns, strict=True)
        ]
        points.append(msgspec.structs.replace(plain, reruns=reruns))
    made = run(points, environment={"host": "h100", "virtualised": True})
    devices = [msgspec.structs.replace(d, link={"current_link_width": "16"}) for d in made.devices]
    return msgspec.structs.replace(made, devices=devices)


def stored(name: str) -> list[Run]:
    """Makes runs of a stored file with medians of processes and readings of the host's speed."""
    rows: dict[int, Rows] = {}
    read: dict[int, Readings] = {}
    with gzip.open(STORED / f"{name}.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            number, process = int(row["run"]), int(row["process"])
            if row["row"]:
                of_run = rows.setdefault(number, {})
                of_run.setdefault(row["row"], {})[process] = float(row["seconds"])
            else:
                values = [float(row[reference]) for reference in REFERENCES]
                read.setdefault(number, {}).setdefault(process, []).append(values)
    return [_run(of_run, read.get(number, {})) for number, of_run in rows.items()]


def reconstructed(path: Path) -> list[Run]:
    """Makes runs with the medians, intervals and numbers of processes of a summary's rows."""
    random = np.random.default_rng(47)
    runs: list[Rows] = [{}]
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if row["study"] == "study":
                runs.append({})
                continue
            count, median = int(row["reruns"]), float(row["median_s"])
            reach = math.log(float(row["ci_high_s"]) / float(row["ci_low_s"])) / 2
            scores = [NormalDist().inv_cdf((i + 0.5) / count) for i in range(count)]
            scale = (
                reach * math.sqrt(count) / student(count - 1, 0.975) / float(np.std(scores, ddof=1))
            )
            logs = random.permutation(scores) * scale + math.log(median)
            name = f"{row['operation']} {row['memory']} {row['bytes']}"
            runs[-1][name] = dict(enumerate(np.exp(logs).tolist()))
    return [_run(rows, {}) for rows in runs]


def _slower(one: Run, place: int) -> Run:
    """A copy of a run in which the point at index ``place`` is slower."""
    points = list(one.points)
    points[place] = _times(points[place], PLANTED)
    return msgspec.structs.replace(one, points=points)


def _times(one: Point, factor: float) -> Point:
    reruns = []
    for rerun in one.reruns:
        host = rerun.clocks["host"]
        ticks = [round(tick * factor) for tick in host.ticks]
        clocks = {"host": msgspec.structs.replace(host, ticks=ticks)}
        reruns.append(msgspec.structs.replace(rerun, clocks=clocks))
    return msgspec.structs.replace(one, reruns=reruns)


def _outcome(base: Run, new: Run, least: float | None) -> tuple[str, int]:
    result = compare(Side("a", [base]), Side("b", [new]), least, own=least is None)
    return decide(result).outcome, len(result.undecided)


def figures(title: str, runs: Sequence[Run], pairs: int) -> None:
    """Prints the gate's outcomes for ordered pairs, and for changes planted in the first pairs."""
    for name, least in ((f"{LIMIT:.0%}", LIMIT), ("auto", None)):
        found = [_outcome(a, b, least) for a, b in list(permutations(runs, 2))[:pairs]]
        counts = dict(sorted(Counter(one for one, _ in found).items()))
        open_series = np.mean([count for _, count in found])
        print(f"{title}, {name}: {counts}; {open_series:.1f} undecided series a pair", flush=True)
    for name, least in ((f"{LIMIT:.0%}", LIMIT), ("auto", None)):
        for place, one in enumerate(runs[0].points):
            beside = zip(runs, [*runs[1:], runs[0]], strict=True)
            each = [_outcome(a, _slower(b, place), least)[0] for a, b in beside]
            counts = dict(sorted(Counter(each).items()))
            label = f"{one.operation} {one.memory} {one.bytes}"
            print(f"{title}, {name}, {label} x{PLANTED}: {counts}", flush=True)


def main() -> None:
    """Prints the gate's outcomes for stored runs, or for those that the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="run files of repetitions")
    parser.add_argument("--rows", type=Path, help="rows of several runs, as CSV")
    parser.add_argument("--pairs", type=int, default=1000, help="ordered pairs, at most")
    arguments = parser.parse_args()
    if arguments.files:
        figures("files", list(map(run_file.load, arguments.files)), arguments.pairs)
        return
    if arguments.rows:
        figures(arguments.rows.name, reconstructed(arguments.rows), arguments.pairs)
        return
    for name in SETS:
        figures(name, stored(name), arguments.pairs)


if __name__ == "__main__":
    main()
