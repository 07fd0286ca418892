"""How good `isthmus advise` is at sizes it has not seen: python advise.py RUN.json ...

Of each run every other size is kept for judging: advice comes from the rest. At each judged size,
between two known ones, the measured time of the advised way is compared with the least of all ways.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import msgspec
import pandas as pd

from isthmus.analysis.advice import COPIES, Advice, Option, Ways
from isthmus.analysis.summary import summarise
from isthmus.cli.advise import kinds_of
from isthmus.results.run_file import Run

AIM = 1.02


def load(path: Path) -> Run:
    """A run file, packed or not."""
    data = path.read_bytes()
    unpacked = gzip.decompress(data) if path.suffix == ".gz" else data
    return msgspec.json.decode(unpacked, type=Run)


def judged(rows: pd.DataFrame, run: Run, direction: str) -> list[tuple[Advice, Option, float]]:
    """Advice, the best way measured, and time of the advised over it, at each unseen size."""
    kinds, confidence = kinds_of(run.devices), run.settings.confidence
    known = Ways.of(rows, direction, kinds, confidence=confidence)
    total = rows["bytes"] * pd.to_numeric(rows["depth"]).fillna(1)
    sizes = sorted({size for curve in known.curves.values() for size in curve.sizes})
    seen = Ways.of(rows[total.isin(sizes[::2])], direction, kinds, confidence=confidence)
    results = []
    for size in sizes[1:-1:2]:
        options = [one for one in known.at(size) if size in known.curves[one.way].figures]
        there = {one.way: one for one in options}
        advice = seen.advise(size)
        if len(there) > 1 and advice.best.way in there:
            best = min(options, key=lambda one: one.time.value)
            ratio = known.ratio(there[advice.best.way], best, size)
            results.append((advice, there[advice.best.way], ratio))
    return results


def main(paths: list[str]) -> None:
    """Prints a row of figures for each run and direction, and each size missed."""
    print("run, direction | ways | sizes | within 2 % | certainly not | worst | time in interval")
    print("|".join(["---"] * 7))
    misses = []
    for path in map(Path, paths):
        run = load(path)
        rows = summarise(run)
        for direction in COPIES:
            results = judged(rows, run, direction)
            ways = {one.way for advice, *_ in results for one in advice.alike}
            within = sum(ratio.value <= AIM for *_, ratio in results)
            certain = sum(ratio.low > AIM for *_, ratio in results)
            covered = sum(a.best.time.low <= there.time.value <= a.best.time.high
                          for a, there, _ in results)  # fmt: skip
            worst = max(ratio.value for *_, ratio in results)
            print(f"{path.name.partition('.')[0]}, {direction} | {len(ways)} | {len(results)} | "
                  f"{within} | {certain} | {100 * (worst - 1):.1f} % | {covered}")  # fmt: skip
            misses += [
                f"{path.name} {direction}: {there.way}, measured {there.time.value:.3g} s, "
                f"{100 * (ratio.value - 1):.1f} % ({100 * (ratio.low - 1):.1f} to "
                f"{100 * (ratio.high - 1):.1f}) over the best"
                for _, there, ratio in results
                if ratio.value > AIM
            ]
    print("\n".join(["", *misses]))


if __name__ == "__main__":
    main(sys.argv[1:])
