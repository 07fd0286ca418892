"""Compares the engine's times of the null backend with a bare loop and google/benchmark.

Each round measures each cost by all three, in turn and in separate processes, with the same number
of links of the null backend's chain. Ratios are formed within a round.
"""

from __future__ import annotations

import argparse
import json

from common import Isthmus, bare, build_bare, heading, ratio_text

COSTS = ("20ns", "200ns", "2us", "2ms")


def google_benchmark(links: str, seconds: float) -> float | None:
    """Mean seconds of a call, as google/benchmark reports it."""
    printed = bare("null_google_benchmark", links, "--benchmark_format=json",
                   f"--benchmark_min_time={seconds}")  # fmt: skip
    if printed is None:
        return None
    data = json.loads(printed[printed.index("{") :])["benchmarks"][0]
    scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[data["time_unit"]]
    return float(data["real_time"]) * scale


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each measurement")
    chosen = parser.parse_args()
    build_bare()
    heading("Engine: null backend against a bare loop and google/benchmark")
    print("| cost | Isthmus / bare loop | google/benchmark / bare loop |\n|---|---|---|")
    for cost in COSTS:
        device = Isthmus(f"null:{cost}")
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(chosen.rounds):
            median, properties = device.median("launch", 0, "", chosen.seconds)
            links = properties["links_per_call"]
            reference = float(bare("null_loop", links, chosen.seconds) or "nan")
            ours.append(median / reference)
            other = google_benchmark(links, chosen.seconds)
            if other is not None:
                theirs.append(other / reference)
        print(f"| {cost} | {ratio_text(ours)} | {ratio_text(theirs) if theirs else 'not here'} |",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
