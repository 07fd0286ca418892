"""Finds values that lie above other values of their kind."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from isthmus.statistics import middle, quantile
from isthmus.student import student

_FENCE = 1.5
"""Interquartile ranges below the lower quartile: lower values are raised to this fence (Tukey)."""
_NORMAL_TO_MAD = 1.4826
"""Standard deviation over median absolute deviation of a normal distribution."""
_OF_FEW, _MANY = 1.2, 10
"""Factor by which the median absolute deviation of fewer than ``_MANY`` values is raised."""
LEAST_GROUP = 3
"""Fewest values of each of two groups."""
GROUP_SHARE = 1 / 3
"""Least share of all values that each of two groups must have."""


class Above(NamedTuple):
    """Which values of a sequence lie above the rest, and how the rest is distributed."""

    places: frozenset[int]
    """Indices of the values above the rest."""
    usual: float
    """Median of the rest."""
    mean: float
    """Mean of the rest."""
    error: float
    """Standard deviation of the difference between a further value and ``mean``."""
    free: float
    """Degrees of freedom of the estimate ``error``."""

    def bound(self, share: float) -> float:
        """The bound below which a further value like the rest lies with probability ``share``."""
        return self.mean + student(self.free, share) * self.error

    def without_one(self, share: float) -> float:
        """Like ``bound``, for a sample of the same scatter with one value fewer."""
        return self.mean + student(max(self.free - 1, 1.0), share) * self.error


class Scatter(NamedTuple):
    """Variance of values of one kind, estimated from other samples of the same kind."""

    variance: float
    free: float
    """Degrees of freedom of the variance."""


UNKNOWN = Scatter(0.0, 0.0)


def above(values: Sequence[float], false_alarms: float, kind: Scatter = UNKNOWN) -> Above:
    """Finds which of at least three values lie above the rest.

    Finds up to half of the values, by the generalised extreme Studentised deviate test of the upper
    side. Several high values do not hide one another, as they do if only the largest is tested.
    ``_group`` may find more: two groups differ by more than the scatter within them. Source:
    Rosner, "Percentage points for a generalized ESD many-outlier procedure", Technometrics 25
    (1983), 165.

    Args:
        values: Values such as logarithms of times; alike values are about normal.
        false_alarms: Share of samples of normal values in which any value is found. With 6 to 12
            values the share is twice as large (``benchmarks/fleet.py --healthy``).
        kind: Scatter towards which the values' scatter is shrunk (Smyth, "Linear models and
            empirical Bayes methods", Statistical Applications in Genetics and Molecular Biology 3
            (2004), 3).

    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    centre = middle(values)
    ordered = _fenced([values[i] - centre for i in order])
    count = len(ordered)
    outliers = max(_extreme(ordered, false_alarms / 2, kind), _group(ordered, false_alarms / 2))
    kept = ordered[: count - outliers]
    mean, spread = _scatter(kept)
    variance, free = _shrunk(spread**2, len(kept) - 1, kind)
    error = math.sqrt(variance * (1 + 1 / len(kept)))
    places = frozenset(order[len(kept) :])
    return Above(places, centre + middle(kept), centre + mean, error, free)


def robust_variance(values: Sequence[float]) -> float:
    """Variance by the median absolute deviation, which up to half of the values do not change.

    Of few values it is somewhat too large (Croux and Rousseeuw, "Time-efficient algorithms for two
    highly robust estimators of scale", COMPSTAT 1992, 411: factors of 6 to 9 values).
    """
    centre = middle(values)
    deviation = middle([abs(value - centre) for value in values])
    few = _OF_FEW if len(values) < _MANY else 1.0
    return (few * _NORMAL_TO_MAD * deviation) ** 2


def _shrunk(variance: float, free: float, kind: Scatter) -> tuple[float, float]:
    """Mean of the variance and the kind's variance, weighted by their degrees of freedom.

    Returns also the degrees of freedom of that mean.
    """
    both = free + kind.free
    return (free * variance + kind.free * kind.variance) / both, both


def _extreme(ordered: Sequence[float], false_alarms: float, kind: Scatter) -> int:
    """Number of the highest values that lie above the rest, by Rosner's test."""
    count, outliers = len(ordered), 0
    total, squares = math.fsum(ordered), math.fsum(value * value for value in ordered)
    for larger in range(1, count // 2 + 1):
        rest = count - larger
        value = ordered[rest]
        total, squares = total - value, squares - value * value
        own = max(squares - total * total / rest, 0.0) / (rest - 1)
        variance, free = _shrunk(own, rest - 1, kind)
        beyond, error = value - total / rest, math.sqrt(variance * (1 + 1 / rest))
        share = 1 - false_alarms / (rest + 1)
        # Test the normal quantile first: Student's is larger, and takes longer to compute.
        if beyond > NormalDist().inv_cdf(share) * error:
            outliers = larger if beyond > student(free, share) * error else outliers
    return outliers


def _group(ordered: Sequence[float], false_alarms: float) -> int:
    """Number of the highest values that form a separate group; 0 if there are not two groups.

    The widest gap between two groups is divided by the standard deviation within them. The limit is
    a quantile of Student's t with n / 2 degrees of freedom. In 200 000 samples of 6 to 100 normal
    values, a share below ``false_alarms`` exceeds it (``benchmarks/fleet.py --healthy``).
    """
    count = len(ordered)
    least = max(LEAST_GROUP, math.ceil(GROUP_SHARE * count))
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
    """The values, with low values raised to the fence: a very low value hides all high values."""
    low, high = quantile(ordered, 0.25), quantile(ordered, 0.75)
    fence = low - _FENCE * (high - low)
    return [max(value, fence) for value in ordered]
