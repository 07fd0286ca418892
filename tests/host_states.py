"""Runs of a machine whose speed changes in a known way, and twelve real ones of an H100 node."""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from isthmus.results.run_file import HostReading, Run
from isthmus.statistics import Interval, location
from isthmus.statistics.host_state import HORIZON, Row, slow_parts
from synthetic import point, run

Array = NDArray[np.float64]

STORED = Path(__file__).parents[1] / "benchmarks" / "results"
STATES = ("none", "walk", "bursts", "levels")
ROWS = 16
NOISE = 0.02
"""Standard deviation of the logarithm from process to process."""
READING = 0.01
"""The same of a reading of a reference."""
_STEPS = 50
"""Steps of the state in a run."""
_WALK = 0.1
"""Standard deviation that a random walk gathers in a run."""
_SLOWER = 0.1
_ON_OFF = {"bursts": (0.2, 0.6), "levels": (0.3, 0.3)}
"""Mean lengths of the slow and of the fast state, in lengths of a run."""


class Measured(NamedTuple):
    """A run's rows, its references and times by process."""

    rows: list[Row]
    readings: dict[int, tuple[float, ...]]
    at: dict[int, float]


def state(name: str, random: np.random.Generator) -> Array:
    """Logarithm of the machine's slowness over ``HORIZON`` runs, one after the other."""
    count = round(HORIZON) * _STEPS
    if name == "none":
        return np.zeros(count)
    if name == "walk":
        return np.cumsum(random.normal(0, _WALK / math.sqrt(_STEPS), count))
    lengths = _ON_OFF[name]
    slow = random.random() < lengths[0] / sum(lengths)
    states, at = np.zeros(count), 0
    while at < count:
        length = max(1, round(random.exponential(lengths[0 if slow else 1]) * _STEPS))
        states[at : at + length] = _SLOWER * slow
        at, slow = at + length, not slow
    return states


def simulated(
    name: str, random: np.random.Generator, processes: int, *, references: bool
) -> tuple[Measured, Array]:
    """A run at any time of those, and the true levels of its rows over all that time.

    Three rows do not depend on the state. Half of the rows are in all processes, and a quarter each
    in the first and the second half only.
    """
    states = state(name, random)
    at = (np.arange(processes) + 0.5) / processes * _STEPS
    own = states[random.integers(0, round(HORIZON)) * _STEPS + at.astype(int)]
    sensitivity = np.where(np.arange(ROWS) < 3, 0.0, random.uniform(0, 1.2, ROWS))
    half = max(6, processes // 2)
    rows = []
    for p in range(ROWS):
        logs = sensitivity[p] * own + random.normal(0, NOISE, processes)
        kept = slice(None) if p % 2 else slice(half) if p % 4 else slice(-half, None)
        rows.append(Row("any", dict(list(enumerate(logs.tolist()))[kept])))
    noise = random.normal(0, READING, (processes, 3))
    readings = {r: (own[r] + noise[r, 0], noise[r, 1], noise[r, 2]) for r in range(processes)}
    measured = Measured(rows, readings if references else {}, dict(enumerate(at.tolist())))
    return measured, sensitivity * states.mean()


def intervals(measured: Measured) -> list[tuple[Interval, Interval]]:
    """Of each row's time: by its processes alone, and so that it covers a repetition."""
    slow = slow_parts(*measured)
    alone = [location(list(row.logs.values())).exponential() for row in measured.rows]
    return [(one, part.widened(one)) for one, part in zip(alone, slow, strict=True)]


def coverage(name: str, runs: int, processes: int, *, references: bool) -> tuple[float, float]:
    """How often the true level is in the interval: by processes alone, and by the model."""
    random = np.random.default_rng(45)
    held = np.zeros(2)
    for _ in range(runs):
        measured, truth = simulated(name, random, processes, references=references)
        for level, pair in zip(np.exp(truth), intervals(measured), strict=True):
            held += [one.low <= level <= one.high for one in pair]
    alone, model = held / runs / ROWS
    return float(alone), float(model)


def stored(name: str = "2026-11-27-h100-twelve-runs") -> list[Measured]:
    """Runs of one node, one after the other."""
    logs: dict[int, dict[str, dict[int, float]]] = {}
    at: dict[int, dict[int, list[float]]] = {}
    read: dict[int, dict[int, list[list[float]]]] = {}
    with gzip.open(STORED / f"{name}.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            run, process = int(row["run"]), int(row["process"])
            if row["row"]:
                of_run = logs.setdefault(run, {})
                of_run.setdefault(row["row"], {})[process] = math.log(float(row["seconds"]))
                times = at.setdefault(run, {}).setdefault(process, [])
                times += [float(row["at_s"])] if row["at_s"] else []
            else:
                values = [row[n] for n in ("system_call_s", "copy_s", "arithmetic_s")]
                of_process = read.setdefault(run, {}).setdefault(process, [])
                of_process.append([math.log(float(value)) for value in values])
    return [
        Measured(
            [Row(_kind(name), logs[run][name]) for name in logs[1]],
            {n: tuple(np.mean(r, axis=0).tolist()) for n, r in read.get(run, {}).items()},
            {n: float(np.mean(times)) for n, times in at[run].items() if times},
        )
        for run in logs
    ]


def names(name: str) -> list[str]:
    """Names of the rows of a stored set, in order."""
    with gzip.open(STORED / f"{name}.csv.gz", "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["row"]]
    return list(dict.fromkeys(row["row"] for row in rows if row["run"] == rows[0]["run"]))


def _kind(row: str) -> str:
    _, memory, size = row.split()
    return memory if int(size) >= 1 << 20 else "small"


def of_repetitions(runs: Sequence[Measured]) -> Mapping[str, float]:
    """Coverage of each row's median over all runs, and widths: by processes alone, by the model."""
    pairs = [intervals(run) for run in runs]
    middles = np.median([[alone.value for alone, _ in run] for run in pairs], axis=0)
    held = [[one.low <= m <= one.high for one in pair] for run in pairs
            for m, pair in zip(middles, run, strict=True)]  # fmt: skip
    widths = np.array([[math.log(one.high / one.low) / 2 for one in pair]
                       for run in pairs for pair in run])  # fmt: skip
    alone, model = np.mean(held, axis=0)
    return {
        "alone": float(alone),
        "model": float(model),
        "wider": float(np.median(widths[:, 1] / widths[:, 0])),
        "median_alone": float(np.median(widths[:, 0])),
        "median_model": float(np.median(widths[:, 1])),
    }


def planted(
    seed: int, *, host: float = 1.0, link: float = 1.0, processes: int = 12, spread: float = 1.0
) -> tuple[Run, Run]:
    """Two runs of a machine; in the second its host and its link are slower by these factors.

    The host's speed varies within both: system calls by 4 %, copies by 6 % from process to process.
    Small copies follow the system call, pageable ones of 4 MiB and more the copy by 60 %, pinned
    ones of that size follow the host by a twentieth, and the link. ``spread`` multiplies these.
    """
    random = np.random.default_rng(seed)
    return (
        _planted(random, 1.0, 1.0, processes, spread),
        _planted(random, host, link, processes, spread),
    )


def planted_fleet(
    seed: int, host: Mapping[int, float], link: Mapping[int, float], count: int = 8
) -> list[tuple[str, Run]]:
    """Runs of machines ``node0``...; host and link of some are slower by a factor, by number."""
    random = np.random.default_rng(seed)
    runs = (_planted(random, host.get(i, 1.0), link.get(i, 1.0), 12, 1.0) for i in range(count))
    return [
        (f"n{i}", msgspec.structs.replace(one, environment={"host": f"node{i}", "cpu": "any"}))
        for i, one in enumerate(runs)
    ]


def _planted(
    random: np.random.Generator, host: float, link: float, processes: int, spread: float
) -> Run:
    varies = spread * random.normal(0, [[0.04], [0.06], [0.01]], (3, processes))
    states = varies + math.log(host)
    read = np.exp(states + random.normal(0, 0.015, states.shape)) * [[2e-7], [4e-4], [7e-6]]
    points = []
    for operation in ("read", "write"):
        for memory in ("pinned", "pageable"):
            for size in (1, 64 << 10, 4 << 20, 64 << 20):
                logs, noise = states[0] + math.log(7e-6 + size / 2e10), 0.01
                if size >= 1 << 20:
                    of_host = 0.05 * states[0] if memory == "pinned" else 0.6 * states[1]
                    slower = math.log(link) if memory == "pinned" else 0.0
                    rate = 5e10 if memory == "pinned" else 1e10
                    logs, noise = of_host + slower + math.log(size / rate), 0.003
                seconds = np.exp(logs + random.normal(0, noise, processes))
                one = point("cuda:0", operation, size, [[s] * 5 for s in seconds], memory=memory)
                points.append(one)
    first = [
        msgspec.structs.replace(
            rerun, at_s=float(i), host_speed=[HostReading(float(i), *read[:, i].tolist())]
        )
        for i, rerun in enumerate(points[0].reruns)
    ]
    points[0] = msgspec.structs.replace(points[0], reruns=first)
    return run(points)


def with_host(processes: int, slower: float, slow: int) -> Run:
    """A run whose last ``slow`` processes had a slower host; small copies follow it."""
    one_run, _ = planted(1, processes=processes)
    random = np.random.default_rng(3)
    points = []
    for place, each in enumerate(one_run.points):
        follows = each.bytes < 1 << 20
        reruns = []
        for i, one in enumerate(each.reruns):
            factor = slower if i >= processes - slow else 1.0
            reading = HostReading(
                float(i), 2e-7 * factor * math.exp(random.normal(0, 0.003)), 4e-4, 7e-6
            )
            samples = one.clocks["host"]
            ticks = 7e6 * (factor if follows else 1.0) * math.exp(random.normal(0, 0.002))
            ticks *= 1 if follows else each.bytes / 1e5
            clocks = {"host": msgspec.structs.replace(samples, ticks=[round(ticks)] * 5)}
            readings = [] if place else [reading]
            reruns.append(msgspec.structs.replace(one, clocks=clocks, host_speed=readings))
        points.append(msgspec.structs.replace(each, reruns=reruns))
    return msgspec.structs.replace(one_run, points=points)
