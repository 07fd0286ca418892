"""Values that lie above those that they should be like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from isthmus.statistics import middle, quantile
from isthmus.student import student

_FENCE = 1.5
"""Interquartile ranges below the lower quartile: Tukey's fence, to which low values are drawn."""
_LEAST_GROUP = 3
"""Values of a group of their own."""
_GROUP_SHARE = 1 / 3
"""Least share of all values that each of two groups has."""


class Above(NamedTuple):
    """Values that lie above the rest."""

    places: frozenset[int]
    """Where they are in the sequence."""
    usual: float
    """Median of the rest."""
    mean: float
    """Mean of the rest."""
    error: float
    """Standard deviation of a further value about that mean."""
    free: int
    """Degrees of freedom of ``error``."""

    def bound(self, share: float) -> float:
        """A further value that is like the rest lies below this in such a share of cases."""
        return self.mean + student(self.free, share) * self.error


def above(values: Sequence[float], false_alarms: float) -> Above:
    """Which of at least three values lie above the rest.

    Up to half of them, by the generalised extreme Studentised deviate test of the upper side
    (Rosner, "Percentage points for a generalized ESD many-outlier procedure", Technometrics 25
    (1983), 165): several high values do not hide one another, as they do where the largest alone is
    tested. Where that finds less, ``_group``: two groups show more by the scatter of both.

    Args:
        values: such as logarithms of times; those that are alike are about normal.
        false_alarms: how often one of normal values is above the rest. Of 6 to 12 values it is
            twice as often (``benchmarks/fleet.py --healthy``).

    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    centre = middle(values)
    ordered = _fenced([values[i] - centre for i in order])
    count = len(ordered)
    found = max(_extreme(ordered, false_alarms / 2), _group(ordered, false_alarms / 2))
    kept = ordered[: count - found]
    mean, spread = _scatter(kept)
    error = spread * math.sqrt(1 + 1 / len(kept))
    places = frozenset(order[len(kept) :])
    return Above(places, centre + middle(kept), centre + mean, error, len(kept) - 1)


def _extreme(ordered: Sequence[float], false_alarms: float) -> int:
    """How many of the highest values lie above the rest: the last one that is far from it."""
    count, found = len(ordered), 0
    total, squares = math.fsum(ordered), math.fsum(value * value for value in ordered)
    for larger in range(1, count // 2 + 1):
        rest = count - larger
        value = ordered[rest]
        total, squares = total - value, squares - value * value
        variance = max(squares - total * total / rest, 0.0) / (rest - 1)
        beyond, error = value - total / rest, math.sqrt(variance * (1 + 1 / rest))
        share = 1 - false_alarms / (rest + 1)
        # Student's quantile takes longer to find, and is above the normal one.
        if beyond > NormalDist().inv_cdf(share) * error:
            found = larger if beyond > student(rest - 1, share) * error else found
    return found


def _group(ordered: Sequence[float], false_alarms: float) -> int:
    """How many of the highest values are a group of their own; 0 where there are not two groups.

    The widest gap between two groups, over the standard deviation within them, is compared with a
    quantile of Student's t of n / 2 degrees of freedom. Of 200 000 samples of 6 to 100 normal
    values fewer than ``false_alarms`` were beyond it (``benchmarks/fleet.py --healthy``).
    """
    count = len(ordered)
    least = max(_LEAST_GROUP, math.ceil(_GROUP_SHARE * count))
    sizes = range(least, count - least + 1)
    if not sizes:
        return 0
    gap, size = max((ordered[count - k] - ordered[count - k - 1], k) for k in sizes)
    parts = ordered[: count - size], ordered[count - size :]
    squares = math.fsum((len(part) - 1) * _scatter(part)[1] ** 2 for part in parts)
    within = math.sqrt(squares / (count - 2))
    return size if gap > student(count / 2, 1 - false_alarms / 2) * within else 0


def _scatter(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of at least two values."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) - 1))


def _fenced(ordered: Sequence[float]) -> list[float]:
    """The values, low ones drawn in to the fence: one of them would hide all high ones."""
    low, high = quantile(ordered, 0.25), quantile(ordered, 0.75)
    fence = low - _FENCE * (high - low)
    return [max(value, fence) for value in ordered]
