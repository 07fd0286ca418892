"""How many rows of a run show an interval within a precision: python certain.py RUN.json [0.05]."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from isthmus.analysis.summary import summarise
from isthmus.results.run_file import load


def main(path: str, precision: float = 0.05) -> None:
    """Prints the count, by size where it fell short, and how many processes were had."""
    rows = summarise(load(Path(path))).to_pandas()
    # Of one process the interval speaks for no other: it is not shown as if it did.
    judged = rows[(rows["median_s"] > 0) & (rows["reruns"] > 1)]
    farther = (judged["ci_high_s"] - judged["median_s"]).combine(
        judged["median_s"] - judged["ci_low_s"], max
    )
    relative = farther / judged["median_s"]
    within = relative <= precision
    print(f"{within.sum()} of {len(rows)} rows within {precision:.0%}")
    quartiles = [f"{share:.3f}" for share in relative.quantile([0.25, 0.5, 0.75])]
    print(f"half-width, quartiles: {' '.join(quartiles)}")
    print(f"without an interval: {len(rows) - len(judged)}")
    print(f"converged, but wider: {(judged['converged'] & ~within).sum()}")
    print("rows by processes:", dict(sorted(Counter(rows["reruns"]).items())))
    short = Counter(judged.loc[~within, "bytes"])
    print("not within, by bytes:", dict(sorted(short.items())))


if __name__ == "__main__":
    main(sys.argv[1], *map(float, sys.argv[2:3]))
