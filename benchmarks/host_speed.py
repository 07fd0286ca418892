"""References of the host's speed: what they cost, and which rows they explain.

``cost``: time of a reading, its share of a run, and a 4 KiB copy right after a reading against one
without. ``candidates``: rows of a device beside the references that Isthmus reads and some that it
does not, in turn; with ``--load`` beside busy loops half of the time. ``correlations``: the same
from the readings of run files. Spread is the interquartile range.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import msgspec
import numpy as np
import pandas as pd
from common import ROOT, heading, ratio_text
from load import busy
from numpy.typing import NDArray

from isthmus.errors import IsthmusError
from isthmus.measure import protocol, visit
from isthmus.measure.discovery import FoundDevice, resolve
from isthmus.measure.supervisor import WorkerProcess
from isthmus.results.run_file import HostReading, Point, Run

SOURCE = ROOT / "benchmarks" / "bare" / "host_references.cpp"
OWN = ("system_call_s", "copy_s", "arithmetic_s")
SIZES = (1, 4 << 10, 4 << 20, 64 << 20)
KINDS = ("aligned", "pageable", "pinned")
ROWS = (("read", 1, "aligned"), ("read", 1, "pinned"),
        *(("write", size, kind) for size in SIZES for kind in KINDS))  # fmt: skip
"""Rows beside candidates, as far as a device has them."""
WINDOW_S = 0.5
"""Medians over so long are correlated: most of the variation is slower than a visit."""
LOADED_S = 3.0
"""Busy loops run for so long, then pause for as long."""
SAMPLES = 25
FEWEST = 8
"""Pairs of values that a correlation needs to be shown."""


class Visitor:
    """A worker with an open device, which is visited as the runner does it."""

    def __init__(self, device: FoundDevice, worker: WorkerProcess) -> None:
        self.worker = worker
        worker.ask(device.open_request())

    def visit(self, operation: str, size: int, memory: str, samples: int = SAMPLES) -> list[float]:
        """Seconds of one repetition in each sample."""
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
    """A worker with a device."""
    device = resolve(address)
    with WorkerProcess(device.candidate.environment) as worker:
        yield Visitor(device, worker)


def disturbance(address: str, size: int, pairs: int) -> None:
    """Prints copies of a visit after a reading against those of a visit right after another."""
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
    """Prints what readings cost: their time, their share of a run, what they do to a copy."""
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
    """Readings of a quick run: of a new worker or not, and seconds; their sum; the run's time."""
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


class Candidates:
    """The program with references that Isthmus does not read."""

    def __init__(self, stack: ExitStack) -> None:
        program = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "host_references"
        compiler = os.environ.get("CXX", "c++")
        options = ("-std=c++20", "-O2", "-pthread")
        subprocess.run([compiler, *options, SOURCE, "-o", program], check=True)
        self._program = stack.enter_context(
            subprocess.Popen(
                [program],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            )
        )  # fmt: skip
        assert self._program.stdin
        stack.callback(self._program.stdin.close)
        self.names = self._line()

    def _line(self) -> list[str]:
        assert self._program.stdout
        return self._program.stdout.readline().split()

    def read(self) -> dict[str, float]:
        """Seconds of each reference."""
        assert self._program.stdin
        self._program.stdin.write("\n")
        return dict(zip(self.names, map(float, self._line()), strict=True))


def candidates(devices: Sequence[str], seconds: float, loops: int) -> None:
    """Prints correlations of rows with references, measured in turn."""
    for address in devices:
        beside = f", {loops} busy loops half of the time" if loops else ""
        heading(f"References beside rows of {address}{beside}")
        values = in_turn(address, seconds, loops)
        rows = [name for name in values if name.startswith("row ")]
        references = [name for name in values if name not in rows]
        show({row[4:]: (values[row], {one: values[one] for one in references}) for row in rows})


def in_turn(address: str, seconds: float, loops: int) -> dict[str, NDArray[np.float64]]:
    """Logarithms of rows and references, of medians over windows."""
    windows: dict[int, dict[str, list[float]]] = {}
    with ExitStack() as stack, ExitStack() as load:
        more = Candidates(stack)
        device = stack.enter_context(visitor(address))
        rows = [row for row in ROWS if has(device, row)]
        began = time.monotonic()
        loaded = False
        while (now := time.monotonic() - began) < seconds:
            if loops and (int(now / LOADED_S) % 2 == 1) != loaded:
                loaded = not loaded
                load.enter_context(busy(loops)) if loaded else load.close()
            window = windows.setdefault(int(now / WINDOW_S), {})
            speed = device.reading()
            for name in OWN:
                window.setdefault(name, []).append(getattr(speed, name))
            for name, value in more.read().items():
                window.setdefault(name, []).append(value)
            for operation, size, memory in rows:
                row = f"row {operation} {size} {memory}"
                samples = device.visit(operation, size, memory, SAMPLES if size < 1 << 20 else 3)
                window.setdefault(row, []).append(float(np.median(samples)))
    names = dict.fromkeys(itertools.chain.from_iterable(windows.values()))
    whole = [window for window in windows.values() if len(window) == len(names)]
    return {name: np.log([np.median(window[name]) for window in whole]) for name in names}


def has(device: Visitor, row: tuple[str, int, str]) -> bool:
    """Whether a device can measure a row."""
    try:
        return bool(device.visit(*row, samples=1))
    except IsthmusError:
        return False


def nearest(readings: Sequence[HostReading], at_s: float) -> HostReading:
    """The reading nearest in time."""
    return min(readings, key=lambda reading: abs(reading.at_s - at_s))


def of_file(path: Path) -> Run:
    """A run file, which may be packed."""
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
    """Name of a point, short."""
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
    """Spearman's rank correlation, which single interruptions hardly change; a dash where none."""
    if len(one) < FEWEST or not (np.std(one) and np.std(other)):
        return "-"
    ranks = [pd.Series(values).rank() for values in (one, other)]
    return f"{np.corrcoef(*ranks)[0, 1]:+.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path, help="run files for correlations")
    parser.add_argument("--device", action="append", help="default: host, opencl:pocl, null:2us")
    parser.add_argument("--parts", default="", help="cost,candidates; default: both, or neither")
    parser.add_argument("--pairs", type=int, default=200, help="of copies, with and without")
    parser.add_argument("--seconds", type=float, default=60.0, help="of candidates, per device")
    parser.add_argument("--load", type=int, default=0, help="busy loops, half of the time")
    chosen = parser.parse_args()
    devices = chosen.device or ["host", "opencl:pocl", "null:2us"]
    parts = chosen.parts.split(",") if chosen.parts or chosen.runs else ["cost", "candidates"]
    if "cost" in parts:
        cost(devices, chosen.pairs)
    if "candidates" in parts:
        candidates(devices, chosen.seconds, chosen.load)
    for path in chosen.runs:
        correlations(path)


if __name__ == "__main__":
    main()
