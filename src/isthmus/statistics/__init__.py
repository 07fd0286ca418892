"""Functions for all estimates and intervals of Isthmus.

The sample is a set of processes: medians differ more between processes than any interval within one
process shows (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013). This
package imports only the compiled core, so that measuring and analysis can use the same functions.

    =================================  =============================================================
    median within one process          ``within_process``: order statistics
    time over processes                ``over_processes``: signed ranks of the logarithms
    ratio, paired by process           ``over_processes`` of the ratios
    difference, paired by process      ``location``
    two sets of processes              ``shift`` of the logarithms: rank sums
    two independent estimates          ``Interval.over``, ``Interval.minus``
    several comparisons at once        ``simultaneous``: the only correction for multiplicity
    verdict on a ratio                 ``judge``, beyond the ``relevant`` difference
    when to stop                       ``enough``
    outliers among alike devices       ``apart``
    =================================  =============================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING, Literal, NamedTuple

from isthmus.student import student

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Judgement = Literal["slower", "faster", "same", "undecided"]
Basis = Literal[
    "exact", "one process", "signed ranks", "Student", "order statistics over processes"
]
"""Method by which an interval was estimated: see ``over_processes`` and ``within_process``."""

LOOKS = (6, 8, 12, 16, 24, 30)
"""Numbers of processes after which the stopping rule looks at the interval."""
APART = 0.05
"""Relative distance from the median of devices of one kind above which a device is reported.

Pinned copies of two H100 of one node differ by 0.4 % at most (``benchmarks/RESULTS.md``)."""
FEWEST = 3
"""Fewest processes whose scatter is used, and fewest by which the host's state is estimated."""
_LEAST_RELEVANT = 0.01
_FAMILY = 0.2
"""Error probability of all comparisons of one question together, over that of one interval."""
_MOST_LOG = 700.0
_MOST_RANKS = 60
"""Most processes for which the distribution of signed ranks is computed exactly."""


class Interval(NamedTuple):
    """An estimate with its confidence interval, in the unit of the measured quantity.

    An unknown end is NaN, never the estimate itself.
    """

    value: float
    low: float
    high: float
    confidence: float = 0.95

    @property
    def half_width(self) -> float:
        """Distance of estimate and farther end over the estimate; infinite if an end is unknown."""
        if self.low == self.high:
            return 0.0
        if not self.known or self.value <= 0:
            return math.inf
        return max(self.high - self.value, self.value - self.low) / self.value

    @property
    def known(self) -> bool:
        """Whether both ends are known."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def reach(self) -> float:
        """Largest difference of a ratio from 1, as a share; NaN if the interval is unknown."""
        return max(self.high, 1 / self.low) - 1 if self.known and self.low > 0 else math.nan

    @property
    def sign(self) -> int:
        """Sign of a difference: 1 or -1 if the interval excludes 0, else 0."""
        return (self.low > 0) - (self.high < 0)

    def times(self, factor: float) -> Interval:
        """The interval times ``factor`` >= 0, for example to change its unit."""
        return Interval(self.value * factor, self.low * factor, self.high * factor, self.confidence)

    def inverse(self, numerator: float = 1.0) -> Interval:
        """``numerator`` over the interval, such as bytes over seconds; an end of 0 becomes inf."""
        value, low, high = (numerator / x if x else math.inf for x in self[:3])
        return Interval(value, high, low, self.confidence)

    def plus(self, other: Interval) -> Interval:
        """The sum of two independent estimates."""
        return combined((1.0, 1.0), (self, other))

    def minus(self, other: Interval) -> Interval:
        """The difference of two independent estimates."""
        return combined((1.0, -1.0), (self, other))

    def over(self, other: Interval) -> Interval:
        """The ratio of two independent estimates > 0, by the difference of their logarithms."""
        return self.logarithm().minus(other.logarithm()).exponential()

    def at_least(self, bound: float) -> Interval:
        """The interval with estimate and ends raised to ``bound`` where they are less.

        A duration, for example, is never below 0.
        """
        value, low, high = (x if math.isnan(x) else max(x, bound) for x in self[:3])
        return Interval(value, low, high, self.confidence)

    def spanning(self, resolution: float) -> Interval:
        """The interval, widened to at least ``resolution`` around the estimate, and not below 0."""
        low, high = self.value - resolution / 2, self.value + resolution / 2
        ends = min(self.low, low), max(self.high, high)
        return Interval(self.value, *ends, self.confidence).at_least(0.0)

    def widened(self, confidence: float) -> Interval:
        """The interval converted to another confidence, if errors are normal.

        Errors of times are not: use ``with_confidence``.
        """
        factor = _normal(confidence) / _normal(self.confidence)
        down, up = factor * (self.value - self.low), factor * (self.high - self.value)
        return Interval(self.value, self.value - down, self.value + up, confidence)

    def with_confidence(self, confidence: float) -> Interval:
        """The interval of a positive quantity at another confidence, by way of its logarithm."""
        return self.logarithm().widened(confidence).exponential()

    def logarithm(self) -> Interval:
        """Logarithm of a positive estimate; an end of 0 becomes minus infinity."""
        value, low, high = (math.log(x) if x else -math.inf for x in self[:3])
        return Interval(value, low, high, self.confidence)

    def exponential(self) -> Interval:
        """Undoes ``logarithm``."""
        value, low, high = (math.inf if x > _MOST_LOG else math.exp(x) for x in self[:3])
        return Interval(value, low, high, self.confidence)


def exact(value: float, confidence: float = 0.95) -> Interval:
    """The interval of a value without error, such as a simulated time that does not vary."""
    return Interval(value, value, value, confidence)


def combined(weights: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """Weighted sum of independent estimates, with the interval that follows from their intervals.

    Source: Zou and Donner, "Construction of confidence limits about effect measures", Statistics in
    Medicine 27 (2008), 1693.
    """
    spans = [
        sorted((w * interval.low, w * interval.high))
        for w, interval in zip(weights, intervals, strict=True)
    ]
    parts = [w * interval.value for w, interval in zip(weights, intervals, strict=True)]
    down = math.hypot(*(part - low for part, (low, _) in zip(parts, spans, strict=True)))
    up = math.hypot(*(high - part for part, (_, high) in zip(parts, spans, strict=True)))
    middle = math.fsum(parts)
    return Interval(middle, middle - down, middle + up, intervals[0].confidence)


def middle(values: Sequence[float]) -> float:
    """Median of at least one number; for few numbers ten times as fast as numpy's."""
    ordered = sorted(values)
    half, odd = divmod(len(ordered), 2)
    return float(ordered[half]) if odd else (ordered[half - 1] + ordered[half]) / 2


def quantile(ordered: Sequence[float], share: float) -> float:
    """Quantile of at least one sorted number, by linear interpolation as in numpy."""
    place = (len(ordered) - 1) * share
    before = math.floor(place)
    part = place - before
    low, high = ordered[before], ordered[min(before + 1, len(ordered) - 1)]
    # Interpolate from the nearer end, as numpy does: the result then lies between both values.
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


def within_process(
    samples: NDArray[np.float64], confidence: float = 0.95, resolution: float = 0.0
) -> Interval:
    """Median of one process's samples, with a distribution-free interval.

    The ends are NaN if there are too few samples: n samples span the median with probability 1 -
    2^(1-n). Source: Hollander and Wolfe, Nonparametric Statistical Methods, section 3.6.
    ``resolution`` is the step of the clock, in the samples' unit.
    """
    from isthmus import _core  # noqa: PLC0415 - over_processes does not need it

    estimate = _core.median_interval(samples, confidence, resolution)
    if 1.0 - 2.0 ** (1 - len(samples)) < confidence:
        return Interval(estimate.median, math.nan, math.nan, confidence)
    return Interval(estimate.median, max(estimate.low, 0.0), estimate.high, confidence)


def over_processes(
    medians: Sequence[float], confidence: float = 0.95, resolution: float = 0.0
) -> Interval:
    """Centre of several processes' medians, or of their ratios: ``location`` of the logarithms.

    The interval has no ends for fewer than two processes. If a median is 0, its time was below the
    clock's step; then the result is the median of the medians, as in ``within_process``. The
    interval spans at least ``resolution``, the step of the clock in the medians' unit. Raises
    ValueError if ``medians`` is empty.
    """
    if not len(medians):
        raise ValueError("no process measured this")
    if min(medians) <= 0:
        import numpy as np  # noqa: PLC0415 - only if a clock saw nothing

        interval = within_process(np.asarray(medians, dtype=np.float64), confidence)
    else:
        interval = location([math.log(median) for median in medians], confidence).exponential()
    return interval.spanning(resolution) if resolution else interval


def basis_over_processes(medians: Sequence[float], confidence: float = 0.95) -> Basis:
    """The method by which ``over_processes`` estimates the interval of at least two medians."""
    if min(medians) <= 0:
        return "order statistics over processes"
    ranks_suffice = _signed_rank(len(medians), 0.5 - confidence / 2) >= 0
    return "signed ranks" if ranks_suffice else "Student"


def location(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Centre of independent values with a symmetric distribution: logarithms, differences.

    The estimate is the median of the means of all pairs (Hodges and Lehmann, "Estimates of location
    based on rank tests", Annals of Mathematical Statistics 34 (1963), 598). The interval holds the
    means that the signed-rank test does not reject (Wilcoxon, Biometrics 1 (1945), 80). It is exact
    for any symmetric distribution, and outliers hardly move it. Fewer values than the test needs (6
    at 95 %) get Student's interval. ``benchmarks/coverage.py`` compares both with order statistics.
    The estimate is NaN without values; a single value gets no ends.
    """
    count = len(values)
    if count < 2:
        return Interval(values[0] if count else math.nan, math.nan, math.nan, confidence)
    ordered = sorted(values)
    means = sorted((x + y) / 2 for i, x in enumerate(ordered) for y in ordered[i:])
    half, odd = divmod(len(means), 2)
    value = means[half] if odd else (means[half - 1] + means[half]) / 2
    rank = _signed_rank(count, 0.5 - confidence / 2)
    if rank >= 0:
        return Interval(value, means[rank], means[-1 - rank], confidence)
    mean = math.fsum(values) / count
    variance = math.fsum((x - mean) ** 2 for x in values) / (count - 1)
    width = student(count - 1, 0.5 + confidence / 2) * math.sqrt(variance / count)
    return Interval(value, min(mean - width, value), max(mean + width, value), confidence)


@lru_cache(maxsize=1024)
def _signed_rank(count: int, share: float) -> int:
    """Largest signed-rank sum with a lower tail of at most ``share``; -1 without one.

    Each of the ranks 1 to ``count`` is in the sum with probability 1/2. For many ranks the sum is
    taken as normal.
    """
    if count > _MOST_RANKS:
        mean, variance = count * (count + 1) / 4, count * (count + 1) * (2 * count + 1) / 24
        return math.floor(mean - _normal(1 - 2 * share) * math.sqrt(variance) - 0.5)
    ways = [1]
    for rank in range(1, count + 1):
        ways = [
            (ways[i] if i < len(ways) else 0) + (ways[i - rank] if i >= rank else 0)
            for i in range(len(ways) + rank)
        ]
    most, total = share * 2**count, 0
    for statistic, number in enumerate(ways):
        total += number
        if total > most:
            return statistic - 1
    return len(ways) - 1


def shift(first: Sequence[float], second: Sequence[float], confidence: float = 0.95) -> Interval:
    """How much higher the second of two independent sets of values lies than the first.

    The estimate is the difference of the sets' centres (``location``). The interval is the smallest
    that covers two intervals:

    - The interval of the rank-sum test (Mann and Whitney, "On a test of whether one of two random
    variables is stochastically larger than the other", Annals of Mathematical Statistics 18 (1947),
    50). It is exact for two distributions of the same shape, and outliers hardly move it. It needs
    enough values: 4 and 4 at 95 %.
    - Welch's interval, which also holds for unequal variances ("The generalization of Student's
    problem when several different population variances are involved", Biometrika 34 (1947), 28).

    The interval has no ends if a set has fewer than two values. Raises ValueError for an empty set.
    """
    if not first or not second:
        raise ValueError("no values to compare")
    value = location(second).value - location(first).value
    if min(len(first), len(second)) < 2:
        return Interval(value, math.nan, math.nan, confidence)
    lows, highs = [value], [value]
    rank = _rank_sum(len(first), len(second), 0.5 - confidence / 2)
    if rank >= 0:
        differences = sorted(after - before for after in second for before in first)
        lows.append(differences[rank])
        highs.append(differences[-1 - rank])
    low, high = _welch(first, second, confidence)
    return Interval(value, min(*lows, low), max(*highs, high), confidence)


def _welch(
    first: Sequence[float], second: Sequence[float], confidence: float
) -> tuple[float, float]:
    """Ends of Welch's interval for the difference of two means."""
    means, errors, frees = zip(*map(_mean_and_error, (first, second)), strict=True)
    error = math.fsum(errors)
    middle = means[1] - means[0]
    if not error:
        return middle, middle
    free = 1 / math.fsum((e / error) ** 2 / n for e, n in zip(errors, frees, strict=True))
    width = student(free, 0.5 + confidence / 2) * math.sqrt(error)
    return middle - width, middle + width


def _mean_and_error(values: Sequence[float]) -> tuple[float, float, int]:
    """Mean of at least two values, its variance, and degrees of freedom."""
    count = len(values)
    mean = math.fsum(values) / count
    return mean, math.fsum((x - mean) ** 2 for x in values) / (count - 1) / count, count - 1


@lru_cache(maxsize=1024)
def _rank_sum(first: int, second: int, share: float) -> int:
    """Largest Mann-Whitney statistic with a lower tail of at most ``share``; -1 without one.

    The numbers of ways to get each value are the coefficients of a Gaussian binomial. For many
    pairs the statistic is taken as normal.
    """
    pairs = first * second
    if pairs > _MOST_RANKS**2:
        deviation = math.sqrt(pairs * (first + second + 1) / 12)
        return math.floor(pairs / 2 - _normal(1 - 2 * share) * deviation - 0.5)
    ways = [1] + [0] * pairs
    for i in range(1, first + 1):
        for u in range(pairs, second + i - 1, -1):
            ways[u] -= ways[u - second - i]
        for u in range(i, pairs + 1):
            ways[u] += ways[u - i]
    most, total = share * math.comb(first + second, first), 0
    for statistic, number in enumerate(ways):
        total += number
        if total > most:
            return statistic - 1
    return pairs


def enough(
    processes: int,
    half_width: Callable[[], float],
    precision: float,
    looks: Sequence[int] = LOOKS,
) -> bool:
    """Whether a point needs no further process: its interval is within the precision at a look.

    To stop after any process would stop too early, when the processes happen to agree: such 95 %
    intervals hold the true value in 90 % of cases. Looks at 6, 8, 12, 16, 24 and 30 processes leave
    93 to 97 % (``benchmarks/coverage.py``). A number of processes that is fixed in advance needs no
    looks. Source: Anscombe, "Large-sample theory of sequential estimation", Mathematical
    Proceedings of the Cambridge Philosophical Society 48 (1952), 600.

    Args:
        processes: Number of processes so far.
        half_width: Computes the relative half-width; called only at a look.
        precision: Relative half-width that suffices.
        looks: Rising numbers of processes; the last is the most that a point gets.

    """
    return processes >= looks[-1] or (processes in looks and half_width() <= precision)


def apart(values: Mapping[str, float]) -> list[str]:
    """The devices whose figure differs by more than ``APART`` from the median of all.

    ``values`` holds a positive figure for each device.
    """
    middle = median(values.values())
    return [device for device, value in values.items() if abs(value / middle - 1) > APART]


def simultaneous(confidence: float, comparisons: int) -> float:
    """Confidence of each of ``comparisons`` intervals that are judged together.

    This is the only correction for multiplicity, because it gives intervals: the interval shown is
    the interval judged. The comparisons that answer one question err together with a fifth of an
    interval's error probability (1 % at 95 %), because a run answers several questions. The
    intervals are never too narrow if they depend on one another. Source: Sidak, "Rectangular
    confidence regions for the means of multivariate normal distributions", Journal of the American
    Statistical Association 62 (1967), 626.
    """
    return float((1 - _FAMILY * (1 - confidence)) ** (1 / max(comparisons, 1)))


def relevant(precision: float) -> float:
    """The smallest relevant difference, as a share: the requested precision, at least 1 %."""
    return max(_LEAST_RELEVANT, precision)


def judge(ratio: Interval, smallest: float) -> Judgement:
    """Judges a ratio of times: the numerator is slower, faster, the same, or undecided.

    "Same": the interval lies within the relevant difference to both sides, even if it excludes 1
    (Schuirmann, "A comparison of the two one-sided tests procedure", Journal of Pharmacokinetics
    and Biopharmaceutics 15 (1987), 657). "Slower" and "faster": the interval excludes 1, and the
    estimate lies beyond it. ``smallest`` is the smallest relevant difference, as a share.
    """
    if ratio.low >= 1 / (1 + smallest) and ratio.high <= 1 + smallest:
        return "same"
    if ratio.low > 1 and ratio.value > 1 + smallest:
        return "slower"
    if ratio.high < 1 and ratio.value < 1 / (1 + smallest):
        return "faster"
    return "undecided"


def _normal(confidence: float) -> float:
    from statistics import NormalDist  # noqa: PLC0415 - seldom needed

    return NormalDist().inv_cdf(0.5 + confidence / 2)
