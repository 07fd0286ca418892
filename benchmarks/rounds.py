"""Counts the headlines of a quick run that become certain, by the scatter of a machine's processes.

It simulates the rounds of ``isthmus run all --quick`` on one device, in the order of
``measure.rounds``. It starts no worker: visits take the time that they took with PoCL on 2 shared
cores. Medians of processes are log-normal.

    python benchmarks/rounds.py
"""

from __future__ import annotations

import math
import statistics
from random import Random
from types import SimpleNamespace

from isthmus.measure.jobs import Cost, Job
from isthmus.measure.plan import Layer, Task
from isthmus.measure.rounds import Rounds
from isthmus.results.noise import Noise
from isthmus.results.run_file import ClockRecord, Point, Rerun, Samples, Settings
from isthmus.studies.base import Headline

SPREADS = (0.03, 0.06, 0.1, 0.15, 0.2, 0.25, 0.35)
"""Standard deviations of the logarithm of a process's median."""
VISITS_S = (0.02, 0.02, 0.02, 0.03, 0.04, 0.08, 0.2, 0.26, 0.59, 0.6)
"""Seconds of the visits to ten headlines, as a run of 2026-11-27 recorded them."""
CURVE = 190
CURVE_S = 0.05
START_S = 0.3
RUNS = 10
CLOCK = ClockRecord(
    source="tsc", reason="", uncertainty=0.0, resolution_s=1e-9,
    empty_pair_s=0.0,
)  # fmt: skip


def rerun(number: int, seconds: float) -> Rerun:
    """Makes the result of a process with a single sample."""
    return Rerun(
        rerun=number, batch=1, intervals=0, blocks=[1], clock=CLOCK, verified="true",
        state="visit", noise=Noise(), measured_s=0.0,
        clocks={"host": Samples([round(seconds * 1e9)], 1e-9)},
    )  # fmt: skip


def job(name: str, layer: Layer) -> Job:
    """Makes a job with one part in a layer."""
    device = SimpleNamespace(
        address="a", description=SimpleNamespace(simulated=False), direct_memory="", like=""
    )
    point = Point(
        study="transfer", device="a", api="opencl", operation=name, memory="aligned", bytes=4096,
        direction="to_device", initiator="host", axes={},
    )  # fmt: skip
    headline = Headline(name, name, 4096) if layer is Layer.HEADLINES else None
    task = Task(name, 4096, "aligned", {}, {0: point}, layer=layer, headline=headline)
    return Job(device, task)  # type: ignore[arg-type]


def run(spread: float, seed: int) -> tuple[int, int, float]:
    """Simulates a run; returns how many headlines and points of the curve are certain at the end.

    Also returns the second at which the curve began.
    """
    random, settings = Random(seed), Settings(
        precision=0.1, confidence=0.95, reruns=0, budget_s=60, seed=seed, quick=True
    )  # fmt: skip
    heads = [job(f"head{n}", Layer.HEADLINES) for n in range(len(VISITS_S))]
    curve = [job(f"point{n}", Layer.CURVE) for n in range(CURVE)]
    took_s = dict(zip([*heads, *curve], [*VISITS_S, *[CURVE_S] * CURVE], strict=True))
    rounds, now, number, began = Rounds([*heads, *curve], settings, Layer.CURVE), 0.0, 0, 60.0
    while chosen := rounds.next_round(60.0 - now):
        now += START_S
        rounds.start_s["a"] = START_S
        for one in chosen:
            if now + took_s[one] > 60.0:
                continue
            if one.layer is Layer.CURVE:
                began = min(began, now)
            now += took_s[one]
            one.add(number, {0: rerun(number, 1e-3 * math.exp(random.gauss(0.0, spread)))})
            one.learn(Cost(took_s[one] / 2, took_s[one] / 2 / rounds.samples(one)))
        number += 1

    def certain(jobs: list[Job]) -> int:
        return sum(len(one.processes) > 1 and one.half_width(0.95) <= 0.1 for one in jobs)

    return certain(heads), certain(curve), began


def main() -> None:
    """Prints a row for each spread."""
    print("| processes differ by | headlines certain to 10 % | points certain | the curve begins |")
    print("|---:|---:|---:|---:|")
    for spread in SPREADS:
        results = [run(spread, seed) for seed in range(RUNS)]
        heads, points, began = (statistics.fmean(column) for column in zip(*results, strict=True))
        print(
            f"| {100 * spread:.0f} % | {heads:.1f} of {len(VISITS_S)} | {points:.0f} of {CURVE} "
            f"| {began:.0f} s |"
        )


if __name__ == "__main__":
    main()
