"""Judges `isthmus advise` at sizes that it has not seen: python advise.py RUN.json ...

The advice for a run comes from every other size of the run; the sizes between are judged. Then both
halves change roles. At each judged size the script compares the measured time of the advised way
with the least measured time of all ways.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from isthmus.analysis.advice import COPIES, Advice, Option, Ways
from isthmus.analysis.summary import summarise
from isthmus.cli.advise import kinds_of
from isthmus.frames import Frame, Series
from isthmus.results.run_file import Run
from isthmus.statistics import Interval
from isthmus.units import format_size

AIM = 1.02


def load(path: Path) -> Run:
    """Reads a run file, which may be compressed with gzip."""
    data = path.read_bytes()
    unpacked = gzip.decompress(data) if path.suffix == ".gz" else data
    return msgspec.json.decode(unpacked, type=Run)


class Judged(NamedTuple):
    """Advice for a size that the advice has not seen, and the measured times at that size."""

    size: int
    advice: Advice
    there: Option
    ratio: Interval
    """Measured time of the advised way over the time of the fastest way."""
    gain: Interval | None
    """Measured time of the naive way over the time of the advised way."""


def judged(rows: Frame, run: Run, direction: str) -> Iterator[Judged]:
    """Yields the advice for each size but the smallest and largest, from every other size."""
    kinds, confidence = kinds_of(run.devices), run.settings.confidence
    known = Ways.of(rows, direction, kinds, confidence=confidence)
    total = rows["bytes"] * Series([depth or 1 for depth in rows["depth"].fillna(1)])
    sizes = sorted({size for curve in known.curves.values() for size in curve.sizes})
    for half in (0, 1):
        seen = Ways.of(rows[total.isin(sizes[half::2])], direction, kinds, confidence=confidence)
        for size in sizes[1 - half :: 2]:
            options = [one for one in known.at(size) if size in known.curves[one.way].figures]
            there = {one.way: one for one in options}
            if len(there) < 2 or {one.way for one in seen.at(size)} != there.keys():
                continue
            advice = seen.advise(size)
            best = min(options, key=lambda one: one.time.value)
            advised = there[advice.best.way]
            naive = there.get(advice.naive.way) if advice.naive else None
            gain = known.ratio(naive, advised, size) if naive and naive != advised else None
            yield Judged(size, advice, advised, known.ratio(advised, best, size), gain)


def main(paths: list[str]) -> None:
    """Prints a table with a row for each run and direction, then each size with wrong advice."""
    print("| run, direction | ways | sizes | within 2 % | certainly beyond | worst | always naive |"
          " time in interval | gain in interval |")  # fmt: skip
    print("|---" * 9 + "|")
    misses = []
    for path in map(Path, paths):
        run = load(path)
        rows = summarise(run)
        for direction in COPIES:
            results = list(judged(rows, run, direction))
            ways = max(len(Ways.of(rows, direction, kinds_of(run.devices)).at(r.size))
                       for r in results)  # fmt: skip
            within = sum(r.ratio.value <= AIM for r in results)
            certain = sum(r.ratio.low > AIM for r in results)
            worst = max(r.ratio.value for r in results) - 1
            naive = sum(r.ratio.value * (r.gain.value if r.gain else 1) <= AIM for r in results
                        if r.advice.naive)  # fmt: skip
            of = sum(r.advice.naive is not None for r in results)
            covered = sum(_within(r.there.time.value, r.advice.best.time) for r in results)
            gains = [(r.gain, r.advice.gain) for r in results if r.gain and r.advice.gain]
            right = sum(_within(gain.value, expected) for gain, expected in gains)
            print(f"| {path.name.partition('.')[0]}, {direction} | {ways} | {len(results)} | "
                  f"{within} | {certain} | {100 * worst:.1f} % | {naive} of {of} | {covered} | "
                  f"{right} of {len(gains)} |")  # fmt: skip
            misses += [
                f"{path.name} {direction} {format_size(r.size)}: {r.there.way.memory} memory, "
                f"{r.there.way.call}, depth {r.there.way.depth}, on {r.there.way.device}: "
                f"{100 * (r.ratio.value - 1):.1f} % ({100 * (r.ratio.low - 1):.1f} to "
                f"{100 * (r.ratio.high - 1):.1f}) more time than the best"
                for r in results
                if r.ratio.value > AIM
            ]
    print("\n".join(["", *misses]))


def _within(value: float, interval: Interval) -> bool:
    tiny = 1e-9 * value
    return interval.low - tiny <= value <= interval.high + tiny


if __name__ == "__main__":
    main(sys.argv[1:])
