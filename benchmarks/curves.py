"""Counts how often intervals of fitted curves hold the truth, and how often the curve is right.

The series are synthetic: times of a runtime that moves data in one, two or three ways. Sizes are
those of a whole run and of a quick run. Times scatter by 1, 2 or 5 %. Each way starts up longer
than the way for smaller sizes. Where the way changes, the time jumps by at least a fifth.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from isthmus.statistics.fits import curve
from isthmus.studies.transfer import SIZES, coarse

LEAST_JUMP = 0.2
SCATTER = (0.01, 0.02, 0.05)
APART = 5
"""Fewest sizes of each way."""
CASES = (("whole", 0), ("whole", 1), ("whole", 2), ("quick", 0))
USED = {"whole": list(SIZES), "quick": list(coarse(SIZES))}


class Truth(NamedTuple):
    """True curve: start-up seconds and bytes per second of each way, and where each way begins."""

    ways: list[tuple[float, float]]
    cuts: list[int]
    """Index of the first size of the second way, and of the third."""

    def seconds(self, sizes: np.ndarray) -> np.ndarray:
        """True seconds of these sizes, without scatter."""
        parts = np.split(sizes, self.cuts)
        return np.concatenate(
            [alpha + part / beta for (alpha, beta), part in zip(self.ways, parts, strict=True)]
        )

    def jumps(self, sizes: np.ndarray) -> list[float]:
        """At each change of way: logarithm of the ratio of both ways' times."""
        return [
            abs(float(np.log((b[0] + sizes[cut] / b[1]) / (a[0] + sizes[cut] / a[1]))))
            for a, b, cut in zip(self.ways, self.ways[1:], self.cuts, strict=False)
        ]


def truth(random: np.random.Generator, sizes: np.ndarray, breaks: int) -> Truth:
    """Draws a true curve with start-up times of 1 to 50 us and rates of 1 to 50 GB/s."""
    while True:
        alpha, ways = 10 ** random.uniform(-6, -4.3), []
        for _ in range(breaks + 1):
            ways.append((alpha, 10 ** random.uniform(9, 10.7)))
            alpha *= 10 ** random.uniform(0.2, 1)
        cuts = sorted(random.integers(APART, len(sizes) - APART, breaks).tolist()) if breaks else []
        drawn = Truth(ways, cuts)
        far = all(b - a >= APART for a, b in pairwise(cuts))
        if far and min(drawn.jumps(sizes), default=1.0) >= LEAST_JUMP:
            return drawn


def measure(kind: str, breaks: int, runs: int, seed: int = 1) -> tuple[float, ...]:
    """Fits ``runs`` random series; returns four shares.

    Share of series with the right number of ways, and of changes at the right size. Share of
    parameters within their interval, and of further measurements within the curve's interval; both
    count only series whose number of ways is right.
    """
    random = np.random.default_rng(seed)
    sizes = np.asarray(USED[kind], dtype=float)
    counted = placed = lines = further = 0
    held = np.zeros(2)
    for _ in range(runs):
        drawn = truth(random, sizes, breaks)
        spread = random.choice(SCATTER)
        scatter = spread * random.standard_normal(len(sizes))
        fitted = curve(sizes.tolist(), (drawn.seconds(sizes) * np.exp(scatter)).tolist())
        assert fitted is not None
        if len(fitted.lines) != breaks + 1:
            continue
        counted += 1
        more = drawn.seconds(sizes) * np.exp(spread * random.standard_normal(len(sizes)))
        ends = [fitted.predicted(size) for size in sizes]
        further += float(np.mean([e.low <= t <= e.high for e, t in zip(ends, more, strict=True)]))
        at = [sizes[cut] for cut in drawn.cuts]
        placed += [line.smallest for line in fitted.lines[1:]] == at
        for line, (alpha, beta) in zip(fitted.lines, drawn.ways, strict=True):
            lines += 1
            held += (line.alpha.low <= alpha <= line.alpha.high,
                     line.beta.low <= beta <= line.beta.high)  # fmt: skip
    return counted / runs, placed / runs, *(held / lines).tolist(), further / counted


def main() -> None:
    """Prints a row of shares for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    given = parser.parse_args()
    print("sizes  ways  ways right  changes right  start-up held  rate held  times held")
    for kind, breaks in CASES:
        shares = measure(kind, breaks, given.runs)
        cells = "".join(
            f"{100 * share:{width}.1f} %"
            for share, width in zip(shares, (10, 13, 13, 9, 10), strict=True)
        )
        print(f"{kind}  {breaks + 1:4}{cells}")


if __name__ == "__main__":
    main()
