"""Functions for all benchmarks: bare loops, a worker that measures, and ratios with intervals."""

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
    """Runs CMake to build a target of the project ``source`` in ``folder``."""
    for step in (
        ["-S", str(source), "-B", str(folder), *options],
        ["--build", str(folder), "--target", target],
    ):
        subprocess.run(["cmake", *step], check=True, stdout=subprocess.DEVNULL)


def build_bare() -> None:
    """Builds the bare loops, the C++ programs of ``benchmarks/bare``."""
    build(ROOT / "benchmarks" / "bare", BUILD)


def bare(name: str, *arguments: object, env: dict[str, str] | None = None) -> str | None:
    """Runs a bare loop; returns its output, or None if the loop could not be built here."""
    program = BUILD / name
    if not program.exists():
        return None
    return subprocess.run(
        [str(program), *map(str, arguments)],
        check=True, capture_output=True, text=True, env={**os.environ, **(env or {})},
    ).stdout  # fmt: skip


class Isthmus:
    """Measures a device of Isthmus, each time in a fresh worker."""

    def __init__(self, address: str) -> None:
        self.device: FoundDevice = resolve(address)

    def median(
        self, operation: str, size: int, memory: str, seconds: float
    ) -> tuple[float, dict[str, str]]:
        """Measures for ``seconds``; returns median seconds of a repetition, device properties."""
        with WorkerProcess(self.device.candidate.environment) as worker:
            opened = worker.ask(self.device.open_request())
            assert isinstance(opened, protocol.Opened)
            # The precision 1e-9 is never reached, so that the series lasts for ``seconds``.
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
    """Measures both in each round, with alternating order.

    Returns, for each round, the ratio of ``ours`` to ``reference``, and the value of ``ours``.
    """
    ratios, measured = [], []
    for turn in range(rounds):
        other = reference() if turn % 2 else None
        own = ours()
        ratios.append(own / (reference() if other is None else other))
        measured.append(own)
    return ratios, measured


def ratio_text(ratios: Sequence[float]) -> str:
    """Text of the ratios' median, with a distribution-free 95 % interval."""
    result = _core.median_interval(np.asarray(ratios, dtype=np.float64))
    return f"{result.median:.3f} [{result.low:.3f}, {result.high:.3f}]"


def heading(title: str) -> None:
    """Prints a title with date, machine and command, which RESULTS.md has beside every figure."""
    machine = host()
    print(f"### {title}")
    print(
        f"{date.today()}, {machine['cpu']}, {machine['logical_cpus']} CPUs, "
        f"kernel {platform.release()}, virtualised: {machine['virtualised']}, "
        f"Isthmus {commit()[:12]}"
    )
    print(f"`python {' '.join(sys.argv)}`\n")
