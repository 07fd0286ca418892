"""Runs with a known truth, built without any device."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pandas as pd

from isthmus import published
from isthmus.analysis.context import answers
from isthmus.answers import Answer
from isthmus.results.noise import Noise
from isthmus.results.run_file import (
    ClockRecord,
    DeviceRecord,
    Point,
    Rerun,
    Run,
    Samples,
    Settings,
    Software,
)

TICK_S = 1e-12
CLOCK = ClockRecord("tsc", "invariant", 1e-6, 1e-9, 0.0)
DIRECTIONS = {
    **dict.fromkeys(("write", "write_rw", "unmap"), "h2d"),
    **dict.fromkeys(("read", "read_rw", "map"), "d2h"),
    **dict.fromkeys(("bidirectional", "stream"), "both"),
}


def log(name: str) -> pd.DataFrame:
    """A file of a published source, as it was published."""
    (file,) = Path(published.__file__).parent.glob(f"*/{name}.csv")
    return pd.read_csv(file)


class Law(NamedTuple):
    """Time of a transfer: ``alpha_s + bytes / beta_Bps``."""

    alpha_s: float
    beta_Bps: float  # noqa: N815

    def __call__(self, size: int) -> float:
        return self.alpha_s + size / self.beta_Bps


def rerun(number: int, seconds: Iterable[float], **changes: Any) -> Rerun:
    """One worker's samples, of the host clock unless ``clock`` names another."""
    ticks = [round(s / TICK_S) for s in seconds]
    clock = changes.pop("clock", "host")
    plain = Rerun(
        rerun=number,
        batch=1,
        intervals=1,
        clocks={clock: Samples(ticks, TICK_S, 3 * ticks[0] if ticks else None)},
        blocks=[len(ticks)],
        clock=CLOCK,
        verified="true",
        state="precision",
        noise=Noise(),
        measured_s=1.0,
    )
    return msgspec.structs.replace(plain, **changes)


def point(
    device: str,
    operation: str,
    size: int,
    seconds: Iterable[Iterable[float]],
    **changes: Any,
) -> Point:
    """A point with one sequence of seconds per rerun; ``rerun_changes`` go to each rerun."""
    each = changes.pop("rerun_changes", {})
    moved = size * (2 if operation in {"bidirectional", "stream"} else 1)
    plain = Point(
        study="transfer",
        device=device,
        api="opencl",
        operation=operation,
        memory="pageable",
        bytes=size,
        direction=DIRECTIONS.get(operation, ""),
        initiator="dma",
        axes={"depth": 1, "bank": 0},
        moved_bytes=moved,
        reruns=[rerun(i, s, **each) for i, s in enumerate(seconds)],
    )
    return msgspec.structs.replace(plain, **changes)


def answer(of: Run, name: str) -> Answer:
    """What a run answers to one question; its table as pandas has it."""
    found = next(result for result in answers(of) if result.name == name)
    return replace(found, table=found.table.to_pandas())  # type: ignore[arg-type]


def run(points: Sequence[Point], **changes: Any) -> Run:
    """A run around points; its devices are those that the points name, as real hardware."""
    apis = {p.device: p.api for p in points}
    devices = [
        DeviceRecord(
            address=a, backend=a.partition(":")[0], real=True, name=f"name of {a}", api=api
        )
        for a, api in apis.items()
    ]
    reruns = max((len(p.reruns) for p in points), default=1)
    plain = Run(
        software=Software(version="0.0", commit="abc", command=["isthmus", "run", "transfer"]),
        started="2025-01-01T00:00:00Z",
        finished="2025-01-01T00:10:00Z",
        status="complete",
        studies=list(dict.fromkeys(p.study for p in points)) or ["transfer"],
        settings=Settings(
            precision=0.02, confidence=0.95, reruns=reruns, budget_s=600, seed=1, quick=False
        ),
        environment={"host": "bench", "cpu": "Some CPU", "virtualised": False},
        devices=devices,
        points=list(points),
    )
    return msgspec.structs.replace(plain, **changes)


def transfer_run(
    laws: Mapping[str, Mapping[str, Law]],
    sizes: Sequence[int],
    *,
    reruns: int = 3,
    samples: int = 25,
    noise: float = 0.01,
    between: float = 0.005,
    seed: int = 1,
    apis: Mapping[str, str] | None = None,
    **changes: Any,
) -> Run:
    """A transfer run that follows ``laws[device][operation]``.

    ``noise`` and ``between`` are the log-normal spreads of samples and of reruns' medians.
    """
    random = np.random.default_rng(seed)
    apis = apis or {}

    def seconds(law: Law, size: int) -> list[list[float]]:
        centres = law(size) * np.exp(between * random.standard_normal(reruns))
        return [list(c * np.exp(noise * random.standard_normal(samples))) for c in centres]

    points = [
        point(device, operation, size, seconds(law, size), api=apis.get(device, "opencl"))
        for device, operations in laws.items()
        for operation, law in operations.items()
        for size in sizes
    ]
    return run(points, **changes)


NODE_SIZES = (64, 4096, 1 << 20, 1 << 24)


def node(
    name: str, slower: float = 1.0, *, spread: float = 0.02, seed: int = 0, **changes: object
) -> Run:
    """A machine's run; it differs from its like by ``spread``, and writes slower by a factor."""
    own = float(np.exp(np.random.default_rng(seed).normal(0, spread)))
    laws = {
        "cuda:0": {
            "read": Law(1e-5 * own, 2e10 / own),
            "write": Law(1e-5 * own, 2e10 / own / slower),
        }
    }
    run = transfer_run(laws, NODE_SIZES, reruns=3, samples=10, seed=seed)
    environment = {"host": name, "cpu": "Some CPU"}
    return msgspec.structs.replace(run, environment=environment, **changes)


def machines(count: int, slow: Mapping[int, float], *, seed: int = 0) -> list[tuple[str, Run]]:
    """Machines that are alike, with a factor for writes of the slow ones."""
    return [
        (f"n{i}", node(f"node{i:03}", slow.get(i, 1.0), seed=1000 * seed + i)) for i in range(count)
    ]
