"""Shows how constants of the model of the host's state change the coverage of intervals.

The stored sets are twelve runs of each of two H100 nodes. A row's interval holds if it contains the
median of all twelve runs.

* ``--split``: chooses weights of the slow parts among random ones by half of the runs of both sets:
  the narrowest intervals that hold 95 %. Then checks the weights on the other half.
* ``--across``: chooses the weights by one set, and checks them on the other set.
* ``--each``: changes one constant at a time.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

from common import heading

from host_states import Measured, coverage, intervals, stored
from isthmus.statistics import host_state

SETS = ("2026-11-27-h100-twelve-runs", "2026-11-27-h100-twelve-runs-without")
WANTED = 0.95
EACH = {
    "HORIZON": (6.0, 24.0),
    "PRIOR_FREE": (1.0, 2.0, 8.0, 16.0),
    "MOST_SENSITIVE": (1.0, 1.5, 3.0),
    "_SEEN": (1.0, 3.0),
    "_FOLLOWED": (0.0, 2.0),
    "_SURE": (2.0, 4.0),
    "_UNKNOWN_SENSITIVITY": (0.25, 1.0),
    "_FENCE": (3.0, math.inf),
}
"""Values to try for each constant of ``statistics.host_state``, by its name."""


class Judged(NamedTuple):
    """For each run and row of a set: whether the interval holds the median, and its half-width."""

    held: NDArray[np.bool_]
    widths: NDArray[np.float64]


def judged(runs: Sequence[Measured], *, alone: bool = False) -> Judged:
    """Judges the intervals of a set of runs.

    ``alone``: take the intervals from the processes alone, without the model of the host's state.
    """
    pairs = [intervals(run) for run in runs]
    middles = np.median([[one.value for one, _ in run] for run in pairs], axis=0)
    table = np.array([[pair[not alone][1:3] for pair in run] for run in pairs])
    held = (table[..., 0] <= middles) & (middles <= table[..., 1])
    return Judged(held, np.log(table[..., 1] / table[..., 0]) / 2)


@contextmanager
def changed(name: str, value: object) -> Iterator[None]:
    """A context in which a constant of the model has another value."""
    before = getattr(host_state, name)
    setattr(host_state, name, value)
    try:
        yield
    finally:
        setattr(host_state, name, before)


def candidates(count: int) -> Iterator[tuple[tuple[str, float, float], ...]]:
    """Yields the weights that the model has, then ``count`` random sets of weights (uniform)."""
    yield host_state._KERNELS
    random = np.random.default_rng(45)
    for _ in range(count):
        weights = random.dirichlet(np.ones(len(host_state._KERNELS)))
        yield tuple(
            (name, share, float(weight))
            for (name, share, _), weight in zip(host_state._KERNELS, weights, strict=True)
        )


def chosen(tables: Sequence[Sequence[Judged]], runs: Sequence[NDArray[np.int64]]) -> int:
    """Index of the narrowest candidate of those whose intervals hold ``WANTED`` in ``runs``."""
    held = [_held(table, runs) for table in tables]
    least = min(WANTED, max(held))
    widths = [
        np.median(np.concatenate([t.widths[r].ravel() for t, r in zip(table, runs, strict=True)]))
        for table in tables
    ]
    fit = [i for i, share in enumerate(held) if share >= least]
    return min(fit, key=lambda i: widths[i])


def _held(table: Sequence[Judged], runs: Sequence[NDArray[np.int64]]) -> float:
    parts = [one.held[of].ravel() for one, of in zip(table, runs, strict=True)]
    return float(np.concatenate(parts).mean())


def tuned(count: int, splits: int, *, split: bool, across: bool) -> None:
    """Prints the coverage of intervals with weights chosen by some runs, checked on other runs."""
    sets = [stored(name) for name in SETS]
    alone = [judged(runs, alone=True) for runs in sets]
    tables = []
    for kernels in candidates(count):
        with changed("_KERNELS", kernels):
            tables.append([judged(runs) for runs in sets])
    everything = [np.arange(len(runs)) for runs in sets]
    none = np.arange(0)
    print("| weights chosen with | held there | checked on | held there | half-width | alone |")
    print("|---|--:|---|--:|--:|--:|")

    def line(
        title: str, best: int, with_: Sequence[NDArray[np.int64]], on: str,
        check: Sequence[NDArray[np.int64]],
    ) -> None:  # fmt: skip
        table = tables[best]
        width = np.median(
            np.concatenate([t.widths[r].ravel() for t, r in zip(table, check, strict=True)])
        )
        print(f"| {title} | {_held(table, with_):.1%} | {on} | {_held(table, check):.1%} | "
              f"{width:.1%} | {_held(alone, check):.1%} |", flush=True)  # fmt: skip

    line("all runs (as the model has them)", 0, everything, "the same", everything)
    line("all runs, here", chosen(tables, everything), everything, "the same", everything)
    if across:
        for i in (0, 1):
            with_ = [everything[j] if j == i else none for j in (0, 1)]
            check = [everything[j] if j != i else none for j in (0, 1)]
            line(f"set {i + 1}", chosen(tables, with_), with_, f"set {2 - i}", check)
    if split:
        _halves(tables, alone, sets, splits)


def _halves(
    tables: Sequence[Sequence[Judged]], alone: Sequence[Judged],
    sets: Sequence[Sequence[Measured]], splits: int,
) -> None:  # fmt: skip
    """Splits each set at random: chooses weights by six runs, and checks them on the others."""
    random = np.random.default_rng(45)
    found = []
    for _ in range(splits):
        orders = [random.permutation(len(runs)) for runs in sets]
        with_ = [order[: len(order) // 2] for order in orders]
        check = [order[len(order) // 2 :] for order in orders]
        best = tables[chosen(tables, with_)]
        each = [float(one.held[of].mean()) for one, of in zip(best, check, strict=True)]
        found.append((_held(best, with_), _held(best, check), *each, _held(alone, check)))
    mean, low, high = np.mean(found, 0), np.min(found, 0), np.max(found, 0)
    names = ("half of the runs", "the other half", "of set 1", "of set 2", "by processes alone")
    for name, *values in zip(names, mean, low, high, strict=True):
        print(f"{splits} splits, {name}: mean {values[0]:.1%}, {values[1]:.1%} to {values[2]:.1%}")


def each_constant(runs: int) -> None:
    """Prints coverage with other values of each constant, for stored sets and simulated bursts."""
    sets = [stored(name) for name in SETS]
    print("| constant | value | set 1 held | half-width | set 2 held | half-width | bursts held |")
    print("|---|--:|--:|--:|--:|--:|--:|")

    def line(name: str, value: str) -> None:
        cells = [
            f"{one.held.mean():.1%} | {np.median(one.widths):.1%}" for one in map(judged, sets)
        ]
        bursts = coverage("bursts", runs, 12, references=True)[1]
        print(f"| {name} | {value} | {cells[0]} | {cells[1]} | {bursts:.1%} |", flush=True)

    line("as they are", "")
    for name, values in EACH.items():
        for value in values:
            with changed(name, value):
                line(f"`{name}`", f"{value:g}")


def main() -> None:
    """Prints the tables that the options select."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", action="store_true")
    parser.add_argument("--across", action="store_true")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--candidates", type=int, default=100)
    parser.add_argument("--splits", type=int, default=200)
    parser.add_argument("--runs", type=int, default=40, help="simulated runs with bursts")
    arguments = parser.parse_args()
    heading("Constants of the model of a run")
    if arguments.split or arguments.across:
        tuned(
            arguments.candidates, arguments.splits, split=arguments.split, across=arguments.across
        )
    if arguments.each:
        each_constant(arguments.runs)


if __name__ == "__main__":
    main()
