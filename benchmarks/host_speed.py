"""Prints what readings of the host's speed cost, and with which rows of a run they correlate.

The cost has three figures: time of a reading, its share of a run, and a ratio of times. This ratio
is a 4 KiB copy right after a reading over a copy without. For run files it prints correlations of
rows with the readings. Spread is the interquartile range.
"""

from __future__ import annotations

import argparse
import gzip
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
from common import heading, ratio_text
from numpy.typing import NDArray

from isthmus.errors import IsthmusError
from isthmus.measure import protocol, visit
from isthmus.measure.discovery import FoundDevice, resolve
from isthmus.measure.supervisor import WorkerProcess
from isthmus.results.run_file import HostReading, Point, Run

OWN = ("system_call_s", "copy_s", "arithmetic_s")
KINDS = ("aligned", "pageable", "pinned")
SAMPLES = 25
FEWEST = 8
"""Fewest pairs of values from which a correlation is shown."""


class Visitor:
    """A worker with an open device, which the script visits as the runner does."""

    def __init__(self, device: FoundDevice, worker: WorkerProcess) -> None:
        self.worker = worker
        worker.ask(device.open_request())

    def visit(self, operation: str, size: int, memory: str, samples: int = SAMPLES) -> list[float]:
        """Measures an operation; returns seconds of one repetition for each sample."""
        criterion = protocol.Criterion(1e-9, 0.95, 20.0, samples)
        block = self.worker.ask(protocol.Measure(operation, size, memory, {}, criterion, 0.2))
        assert isinstance(block, protocol.Measured)
        empty = block.intervals * block.clock.empty_pair_s
        ticks = block.parts[0].ticks
        return [(t * block.clock.seconds_per_tick - empty) / block.batch for t in ticks]

    def reading(self) -> protocol.HostSpeed:
        """The host's speed, read by the worker."""
        speed = self.worker.ask(protocol.ReadHostSpeed())
        assert isinstance(speed, protocol.HostSpeed)
        return speed


@contextmanager
def visitor(address: str) -> Iterator[Visitor]:
    """A context with a fresh worker that has opened a device."""
    device = resolve(address)
    with WorkerProcess(device.candidate.environment) as worker:
        yield Visitor(device, worker)


def disturbance(address: str, size: int, pairs: int) -> None:
    """Prints times of copies in a visit after a reading over times in a visit after a visit."""
    ratios: dict[str, list[float]] = {"first sample": [], "median": []}
    with visitor(address) as device:
        device.reading()
        kind = next(kind for kind in KINDS if has(device, ("write", size, kind)))
        for pair in range(pairs):
            seen: dict[bool, list[float]] = {}
            for after_reading in (True, False) if pair % 2 else (False, True):
                device.visit("write", size, kind)
                if after_reading:
                    device.reading()
                seen[after_reading] = device.visit("write", size, kind)
            ratios["first sample"].append(seen[True][0] / seen[False][0])
            ratios["median"].append(float(np.median(seen[True]) / np.median(seen[False])))
    texts = " | ".join(ratio_text(one) for one in ratios.values())
    print(f"| {address} | {size} {kind} | {texts} |", flush=True)


def cost(devices: Sequence[str], pairs: int) -> None:
    """Prints the time of readings, their share of a run, and by how much they slow a copy."""
    heading("Readings of the host's speed: time, share, disturbance")
    print("| device | new worker, ms | again, ms | readings | share of the run |")
    print("|---|---|---|---|---|")
    for address in devices:
        taken, spent_s, run_s = readings_of_run(address)
        new, again = ([1e3 * s for fresh, s in taken if fresh is of] for of in (True, False))
        texts = (f"{np.median(one):.2f}" if one else "none" for one in (new, again))
        share = f"{100 * spent_s / run_s:.2f} % of {run_s:.1f} s"
        print(f"| {address} | {' | '.join(texts)} | {len(taken)} | {share} |", flush=True)
    print("\nRatio of times, after a reading to without:\n")
    print("| device | bytes | first sample | median |\n|---|---|---|---|")
    for address in devices:
        disturbance(address, 4 << 10, pairs)


def readings_of_run(address: str) -> tuple[list[tuple[bool, float]], float, float]:
    """Makes a quick run; returns its readings, their seconds in sum, and the run's seconds.

    A reading is whether its worker was new, and its seconds.
    """
    from isthmus.cli import app  # noqa: PLC0415 - reads all commands

    taken: list[tuple[bool, float]] = []
    workers: set[int] = set()
    usual = visit.HostSpeed.readings
    times: list[float] = []

    def counted(self: visit.HostSpeed, worker: WorkerProcess) -> list[HostReading]:
        before = self.spent_s
        found = usual(self, worker)
        times.append(self.clock())
        if self.spent_s > before:
            taken.append((worker.pid not in workers, self.spent_s - before))
            workers.add(worker.pid)
        return found

    visit.HostSpeed.readings = counted  # type: ignore[method-assign,assignment]
    try:
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            out = str(Path(folder) / "run.json")
            command = ["run", "transfer", "--device", address, "--quick", "--out", out]
            nowhere = stack.enter_context(open(os.devnull, "w"))
            stack.enter_context(redirect_stdout(nowhere))
            stack.enter_context(redirect_stderr(nowhere))
            app(args=command, standalone_mode=False)
    finally:
        visit.HostSpeed.readings = usual  # type: ignore[method-assign]
    return taken, sum(s for _, s in taken), times[-1] - times[0]


def has(device: Visitor, row: tuple[str, int, str]) -> bool:
    """Whether a device has the row's operation and kind of memory."""
    try:
        return bool(device.visit(*row, samples=1))
    except IsthmusError:
        return False


def nearest(readings: Sequence[HostReading], at_s: float) -> HostReading:
    """The reading whose time is nearest to ``at_s``."""
    return min(readings, key=lambda reading: abs(reading.at_s - at_s))


def of_file(path: Path) -> Run:
    """Reads a run file, which may be compressed with gzip."""
    data = path.read_bytes()
    return msgspec.json.decode(gzip.decompress(data) if path.suffix == ".gz" else data, type=Run)


def correlations(path: Path) -> None:
    """Prints correlations of each row of a run, process by process, with the nearest readings."""
    run = of_file(path)
    heading(f"References and rows of {path.name}")
    readings = [one for p in run.points for rerun in p.reruns for one in rerun.host_speed]
    print(f"{len(readings)} readings in {run.took_s:.0f} s\n")
    if not readings:
        return
    rows = {}
    for point in run.points:
        known = [one for one in point.reruns if one.at_s is not None and "host" in one.clocks]
        pairs = [
            (float(np.median(one.seconds("host"))),
             nearest(readings, (one.at_s or 0.0) + one.measured_s))
            for one in known
        ]  # fmt: skip
        pairs = [(seconds, reading) for seconds, reading in pairs if seconds > 0]
        if len(pairs) >= FEWEST:
            rows[row_name(point)] = (
                np.log([seconds for seconds, _ in pairs]),
                {name: np.log([getattr(reading, name) for _, reading in pairs]) for name in OWN},
            )
    show(rows)


def row_name(point: Point) -> str:
    """Short name of a point for a table."""
    axes = [f"{name}={value}" for name, value in point.axes.items() if value not in (0, 1, "")]
    return " ".join([point.device, point.operation, str(point.bytes), point.memory, *axes])


def show(rows: Mapping[str, tuple[NDArray[np.float64], Mapping[str, NDArray[np.float64]]]]) -> None:
    """Prints a table: a line for each row, its spread and its correlation with each reference."""
    if not rows:
        print(f"no row has {FEWEST} values\n")
        return
    names = list(next(iter(rows.values()))[1])
    print(f"| row | values | spread | {' | '.join(names)} |")
    print(f"|---|{'--:|' * (2 + len(names))}")
    for row, (values, references) in rows.items():
        texts = [correlation(values, reference) for reference in references.values()]
        print(f"| {row} | {len(values)} | {100 * spread(values):.1f} % | {' | '.join(texts)} |")
    first = next(iter(rows.values()))[1]
    spreads = (f"{100 * spread(reference):.1f} %" for reference in first.values())
    print(f"| spread of the reference | | | {' | '.join(spreads)} |\n", flush=True)


def spread(logarithms: NDArray[np.float64]) -> float:
    """Interquartile range of logarithms."""
    low, high = np.percentile(logarithms, [25, 75])
    return float(high - low)


def correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> str:
    """Text of Spearman's rank correlation, which outliers hardly change; a dash without values."""
    if len(one) < FEWEST or not (np.std(one) and np.std(other)):
        return "-"
    ranks = [pd.Series(values).rank() for values in (one, other)]
    return f"{np.corrcoef(*ranks)[0, 1]:+.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path, help="run files for correlations")
    parser.add_argument("--device", action="append", help="default: host, opencl:pocl, null:2us")
    parser.add_argument("--pairs", type=int, default=200, help="of copies, with and without")
    chosen = parser.parse_args()
    if not chosen.runs:
        cost(chosen.device or ["host", "opencl:pocl", "null:2us"], chosen.pairs)
    for path in chosen.runs:
        correlations(path)


if __name__ == "__main__":
    main()
