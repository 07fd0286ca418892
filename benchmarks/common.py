"""What the benchmarks share: bare loops, one measuring worker, ratios with intervals."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import numpy as np

from isthmus import _core
from isthmus.measure import protocol
from isthmus.measure.discovery import FoundDevice, resolve
from isthmus.measure.supervisor import WorkerProcess
from isthmus.system.environment import commit, host

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build" / "bare"


def build(source: Path, folder: Path, *options: str, target: str = "all") -> None:
    """Lets CMake build a target of a project in a folder."""
    for step in (
        ["-S", str(source), "-B", str(folder), *options],
        ["--build", str(folder), "--target", target],
    ):
        subprocess.run(["cmake", *step], check=True, stdout=subprocess.DEVNULL)


def build_bare() -> None:
    """Builds the bare loops."""
    build(ROOT / "benchmarks" / "bare", BUILD)


def bare(name: str, *arguments: object, env: dict[str, str] | None = None) -> str | None:
    """What a bare loop prints; None where it could not be built here."""
    program = BUILD / name
    if not program.exists():
        return None
    return subprocess.run(
        [str(program), *map(str, arguments)],
        check=True, capture_output=True, text=True, env={**os.environ, **(env or {})},
    ).stdout  # fmt: skip


class Isthmus:
    """One device in a fresh worker, measured block by block."""

    def __init__(self, address: str) -> None:
        self.device: FoundDevice = resolve(address)

    def median(
        self, operation: str, size: int, memory: str, seconds: float
    ) -> tuple[float, dict[str, str]]:
        """Median seconds of one repetition, and the device's properties."""
        with WorkerProcess(self.device.candidate.environment) as worker:
            opened = worker.ask(self.device.open_request())
            assert isinstance(opened, protocol.Opened)
            # A precision that is never reached: the series lasts its time.
            criterion = protocol.Criterion(1e-9, 0.95, seconds)
            samples: list[float] = []
            state = "open"
            while state == "open":
                block = worker.ask(
                    protocol.Measure(operation, size, memory, {}, criterion, seconds)
                )
                assert isinstance(block, protocol.Measured)
                assert block.verified != "false", block.fault
                pairs = block.intervals * block.clock.empty_pair_s
                samples += [
                    (t * block.clock.seconds_per_tick - pairs) / block.batch
                    for t in block.parts[0].ticks
                ]
                state = block.state
        return float(np.median(samples)), opened.device.properties


def in_turn(
    ours: Callable[[], float], reference: Callable[[], float], rounds: int
) -> tuple[list[float], list[float]]:
    """Ratios of ours to the reference, and ours; whoever goes first changes with every round."""
    ratios, measured = [], []
    for turn in range(rounds):
        other = reference() if turn % 2 else None
        own = ours()
        ratios.append(own / (reference() if other is None else other))
        measured.append(own)
    return ratios, measured


def ratio_text(ratios: Sequence[float]) -> str:
    """Median of paired ratios with a distribution-free 95 % interval."""
    result = _core.median_interval(np.asarray(ratios, dtype=np.float64))
    return f"{result.median:.3f} [{result.low:.3f}, {result.high:.3f}]"


def heading(title: str) -> None:
    """Date, machine and command: what RESULTS.md wants with every figure."""
    machine = host()
    print(f"### {title}")
    print(
        f"{date.today()}, {machine['cpu']}, {machine['logical_cpus']} CPUs, "
        f"kernel {platform.release()}, virtualised: {machine['virtualised']}, "
        f"Isthmus {commit()[:12]}"
    )
    print(f"`python {' '.join(sys.argv)}`\n")
