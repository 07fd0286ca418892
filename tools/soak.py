"""Looks for quantities that grow during long work: ``make soak``.

Each kind of work repeats rounds until its time or its count is reached. In between, samples are
taken: memory, descriptors and threads of the working process, processes started, files in the
temporary folder and in ``/dev/shm``. A quantity grows if the line fitted to the second half of its
samples rises by more than ``ALLOWED`` over that half.

``python tools/soak.py [MINUTES] [--only KIND ...] [--short] [--csv FILE]`` ends with 1 if anything
grows or fails. MINUTES (60) is the duration of ``runs``; the other kinds have counts.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import psutil

from isthmus import boards
from isthmus.backends import registry
from isthmus.cli import app
from isthmus.measure import protocol
from isthmus.measure.discovery import real_devices
from isthmus.measure.supervisor import WorkerProcess
from isthmus.results import run_file

ALLOWED = {
    "memory_kib": 4096.0, "descriptors": 0.5, "threads": 0.5, "processes": 0.5, "files": 0.5,
    "shared": 0.5,
}  # fmt: skip
"""Largest rise over the second half that does not count as growth."""
_SAMPLES = 400
"""Approximate number of samples of each kind; more would not change the table."""


@dataclass(frozen=True)
class Sample:
    """Resources in use at one time."""

    seconds: float
    memory_kib: int
    descriptors: int
    threads: int
    processes: int
    files: int
    shared: int


@dataclass(frozen=True)
class Round:
    """A round of work is done."""

    done: float
    """Work done since the beginning, in the unit of its kind."""
    process: int
    """Process that does the work."""


@dataclass(frozen=True)
class Extent:
    """How much work each kind does."""

    run_s: float = 3600.0
    simulated_s: float = 86_400.0
    visits: int = 10_000
    workers: int = 1000


Kind = Callable[[Extent, Path], Iterator[Round]]


def runs(extent: Extent, folder: Path) -> Iterator[Round]:
    """Wall-clock runs in this process, one after another; done: runs."""
    devices = ["null:20us", "host"]
    devices += [
        device.address
        for device in real_devices()
        if any(operation.name == "write" for operation in device.description.operations)
    ]
    began, done = time.monotonic(), 0
    while time.monotonic() - began < extent.run_s:
        out = folder / "run.json"
        words = ["run", "transfer", "--device", devices[done % len(devices)], "--bytes", "4Ki,1Mi",
                 "--operation", "write,read", "--reruns", "3", "--budget", "600",
                 "--out", str(out)]  # fmt: skip
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            code = app(args=words, standalone_mode=False)
        if code or run_file.load(out).status != "complete":
            raise RuntimeError(f"{' '.join(words)} ended with {code}")
        out.unlink()
        done += 1
        yield Round(done, os.getpid())


def simulated(extent: Extent, _: Path) -> Iterator[Round]:
    """Writes of an emulated card whose driver takes 1 s, in one worker; done: simulated seconds."""
    with WorkerProcess({}) as worker:
        _open(worker, "card", boards.resolve("u250", {"dma.submit_ns": "1000000000"}))
        done, visit = 0.0, 0
        while done < extent.simulated_s:
            block = _visit(worker, "pinned")
            done += sum(block.parts[0].simulated_fs) * 1e-15
            visit += 1
            yield Round(done, worker.pid)


def visits(extent: Extent, _: Path) -> Iterator[Round]:
    """Visits of 100 series in one worker, on the host's clock; done: visits."""
    with WorkerProcess({}) as worker:
        _open(worker, "null", {"cost": "1us"})
        for visit in range(extent.visits):
            _visit(worker, "aligned")
            yield Round(visit + 1, worker.pid)


def workers(extent: Extent, _: Path) -> Iterator[Round]:
    """Workers that start, visit once and end, measured in the runner; done: workers."""
    for number in range(extent.workers):
        with WorkerProcess({}) as worker:
            _open(worker, "null", {"cost": "1us"})
            _visit(worker, "aligned")
        yield Round(number + 1, os.getpid())


KINDS: dict[str, Kind] = {kind.__name__: kind for kind in (runs, simulated, visits, workers)}


def _open(worker: WorkerProcess, backend: str, options: dict[str, str]) -> None:
    worker.ask(protocol.OpenDevice(str(registry()[backend].library), "", options), 60.0)


def _visit(worker: WorkerProcess, memory: str) -> protocol.Measured:
    criterion = protocol.Criterion(0.1, 0.95, 10.0, 10)
    answer = worker.ask(protocol.Measure("write", 4096, memory, {}, criterion, 1.0), 60.0)
    if not isinstance(answer, protocol.Measured) or answer.verified == "false":
        raise TypeError(f"no result: {answer}")
    return answer


def sample(began: float, process: int, temporary: Path) -> Sample:
    """Resources that the process, its children and the shared folders use now."""
    working = psutil.Process(process)
    return Sample(
        time.monotonic() - began,
        working.memory_info().rss >> 10,
        working.num_fds(),
        working.num_threads(),
        len(psutil.Process().children(recursive=True)),
        sum(1 for _ in temporary.rglob("*")),
        sum(path.is_file() for path in Path("/dev/shm").iterdir()),
    )


def rise(samples: list[Sample], name: str) -> float:
    """Rise of a line fitted to the second half of the samples, over that half."""
    half = samples[len(samples) // 2 :]
    times = np.array([point.seconds for point in half])
    if len(half) < 2 or times[-1] == times[0]:
        return math.nan
    values = np.array([float(getattr(point, name)) for point in half])
    slope = float(np.polyfit(times - times[0], values, 1)[0])
    return slope * float(times[-1] - times[0])


def soaked(kind: Kind, extent: Extent, folder: Path) -> tuple[list[Sample], float]:
    """Returns the samples of one kind of work, and how much work was done."""
    began, samples, done, pause = time.monotonic(), [], 0.0, 0.001
    for finished in kind(extent, folder):
        done = finished.done
        now = time.monotonic() - began
        if not samples or now - samples[-1].seconds >= pause:
            samples.append(sample(began, finished.process, folder / "tmp"))
        if len(samples) > _SAMPLES:
            samples, pause = samples[::2], pause * 2
    return samples, done


def main() -> int:
    """Prints a table; ends with 1 if something grows or fails."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("minutes", nargs="?", type=float, default=60.0, help="of runs [60]")
    parser.add_argument("--only", nargs="+", choices=list(KINDS), help="these kinds [all]")
    parser.add_argument("--short", action="store_true", help="a hundredth of the counts")
    parser.add_argument("--csv", type=Path, help="file for all samples")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="isthmus-soak-") as scratch:
        return _table(arguments, Path(scratch))


def _table(arguments: argparse.Namespace, scratch: Path) -> int:
    extent = Extent(arguments.minutes * 60)
    if arguments.short:
        extent = Extent(
            extent.run_s, extent.simulated_s / 100, extent.visits // 100, extent.workers // 100
        )
    rows, bad = [], False
    print(f"| work | done | minutes | {' | '.join(ALLOWED)} | |\n|---|--:|--:|{'--:|' * 6}---|")
    for name in arguments.only or KINDS:
        folder = scratch / name
        (folder / "tmp").mkdir(parents=True)
        os.environ.update(TMPDIR=str(folder / "tmp"), ISTHMUS_LOCK=str(folder / "lock"))
        tempfile.tempdir = None  # makes tempfile read TMPDIR again
        samples, done = soaked(KINDS[name], extent, folder)
        if not samples:
            print(f"| {name} | 0 | no time for one round |", flush=True)
            bad = True
            continue
        rows += [{"work": name, **asdict(point)} for point in samples]
        rises = {quantity: rise(samples, quantity) for quantity in ALLOWED}
        grows = [quantity for quantity, by in rises.items() if not by <= ALLOWED[quantity]]
        cells = [
            f"{getattr(samples[0], quantity)}, {getattr(samples[-1], quantity)} ({by:+.1f})"
            for quantity, by in rises.items()
        ]
        verdict = f"grows: {', '.join(grows)}" if grows else "flat"
        minutes = f"{samples[-1].seconds / 60:.1f}"
        print(f"| {name} | {done:.0f} | {minutes} | {' | '.join(cells)} | {verdict} |", flush=True)
        bad |= bool(grows)
    if arguments.csv:
        with arguments.csv.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
