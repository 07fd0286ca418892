"""Statistics: all estimates and intervals of Isthmus.

Processes are the sample: medians of processes differ by more than any interval within one process
says (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013). Needs nothing of
the rest of Isthmus but the compiled core: measuring and analysis judge by the same functions.

=================================  =================================================================
a median within one process        ``within_process``: order statistics
a time over processes              ``over_processes``: signed ranks of the logarithms
a ratio, taken process by process  ``over_processes`` of the ratios (paired)
a difference, the same             ``location`` (paired)
two sets of processes              ``shift`` of the logarithms: rank sums
two figures measured apart         ``Interval.over``, ``Interval.minus``
several comparisons at once        ``simultaneous``: the one correction for multiplicity
what a ratio says                  ``judge``, beyond the ``relevant`` difference
when to stop                       ``enough``
devices that are alike but differ  ``apart``
=================================  =================================================================
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
"""What a figure and its interval rest on: see ``over_processes`` and ``within_process``."""

LOOKS = (6, 8, 12, 16, 24, 30)
"""Numbers of processes after which it is decided whether there are enough."""
APART = 0.05
"""Share by which a figure differs from the median of alike devices for the device to be named.

Pinned copies of two H100 of one node differ by 0.4 % at most (``benchmarks/RESULTS.md``)."""
FEWEST = 3
"""Processes of which the scatter says anything, and from which the host's state is known."""
_LEAST_RELEVANT = 0.01
_FAMILY = 0.2
"""Of the error of an interval: what all comparisons of one question may err together."""
_MOST_LOG = 700.0
_MOST_RANKS = 60
"""Processes up to which the distribution of signed ranks is counted out."""


class Interval(NamedTuple):
    """An estimate and the ends of its confidence interval, in the unit of what was measured.

    An end that is not known is NaN, never the estimate itself.
    """

    value: float
    low: float
    high: float
    confidence: float = 0.95

    @property
    def half_width(self) -> float:
        """The farther end's distance relative to the estimate; infinite where an end is unknown."""
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
    def sign(self) -> int:
        """Sign of a difference: 1 or -1 where the interval excludes 0, else 0."""
        return (self.low > 0) - (self.high < 0)

    def times(self, factor: float) -> Interval:
        """The estimate times ``factor`` >= 0, e.g. in another unit."""
        return Interval(self.value * factor, self.low * factor, self.high * factor, self.confidence)

    def inverse(self, numerator: float = 1.0) -> Interval:
        """``numerator`` over the estimate: bytes over seconds are a rate; an end at 0 is inf."""
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
        """The interval cut off at a lower bound: durations are not below 0."""
        value, low, high = (x if math.isnan(x) else max(x, bound) for x in self[:3])
        return Interval(value, low, high, self.confidence)

    def spanning(self, resolution: float) -> Interval:
        """The interval, at least one step of the clock wide around the estimate, not below 0."""
        low, high = self.value - resolution / 2, self.value + resolution / 2
        ends = min(self.low, low), max(self.high, high)
        return Interval(self.value, *ends, self.confidence).at_least(0.0)

    def widened(self, confidence: float) -> Interval:
        """The interval for another confidence, for normal errors; use logarithms of times."""
        factor = _normal(confidence) / _normal(self.confidence)
        down, up = factor * (self.value - self.low), factor * (self.high - self.value)
        return Interval(self.value, self.value - down, self.value + up, confidence)

    def with_confidence(self, confidence: float) -> Interval:
        """The interval of a time, a rate or a ratio > 0 for another confidence: ``widened``."""
        return self.logarithm().widened(confidence).exponential()

    def logarithm(self) -> Interval:
        """Logarithm of an estimate > 0; an end of 0 becomes minus infinity."""
        value, low, high = (math.log(x) if x else -math.inf for x in self[:3])
        return Interval(value, low, high, self.confidence)

    def exponential(self) -> Interval:
        """Undoes ``logarithm``."""
        value, low, high = (math.inf if x > _MOST_LOG else math.exp(x) for x in self[:3])
        return Interval(value, low, high, self.confidence)


def exact(value: float, confidence: float = 0.95) -> Interval:
    """A value without error: a simulated time that does not vary."""
    return Interval(value, value, value, confidence)


def combined(weights: Sequence[float], intervals: Sequence[Interval]) -> Interval:
    """Weighted sum of at least one independent estimate, with an interval from theirs.

    Zou and Donner, "Construction of confidence limits about effect measures" (Statistics in
    Medicine 27 (2008), 1693).
    """
    spans = [sorted((w * one.low, w * one.high)) for w, one in zip(weights, intervals, strict=True)]
    parts = [w * one.value for w, one in zip(weights, intervals, strict=True)]
    down = math.hypot(*(part - low for part, (low, _) in zip(parts, spans, strict=True)))
    up = math.hypot(*(high - part for part, (_, high) in zip(parts, spans, strict=True)))
    middle = math.fsum(parts)
    return Interval(middle, middle - down, middle + up, intervals[0].confidence)


def middle(values: Sequence[float]) -> float:
    """Median of at least one number, as numpy's; of few numbers that takes ten times as long."""
    ordered = sorted(values)
    half, odd = divmod(len(ordered), 2)
    return float(ordered[half]) if odd else (ordered[half - 1] + ordered[half]) / 2


def quantile(ordered: Sequence[float], share: float) -> float:
    """Quantile of at least one number in order, by linear interpolation as numpy's."""
    place = (len(ordered) - 1) * share
    before = math.floor(place)
    part = place - before
    low, high = ordered[before], ordered[min(before + 1, len(ordered) - 1)]
    # From the nearer end, as numpy does: the result lies between both.
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


def within_process(
    samples: NDArray[np.float64], confidence: float = 0.95, resolution: float = 0.0
) -> Interval:
    """Median of one process's samples >= 0 and its distribution-free interval.

    ``resolution`` is the step of the clock in the samples' unit: equal readings know no better. No
    ends where even all samples together do not span it: n of them hold the median between them with
    probability 1 - 2^(1-n). (Hollander and Wolfe, Nonparametric Statistical Methods, section 3.6.)
    """
    from isthmus import _core  # noqa: PLC0415 - a runner that only asks over_processes needs none

    estimate = _core.median_interval(samples, confidence, resolution)
    if 1.0 - 2.0 ** (1 - len(samples)) < confidence:
        return Interval(estimate.median, math.nan, math.nan, confidence)
    return Interval(estimate.median, max(estimate.low, 0.0), estimate.high, confidence)


def over_processes(
    medians: Sequence[float], confidence: float = 0.95, resolution: float = 0.0
) -> Interval:
    """Centre of several processes' medians, or of their ratios: ``location`` of the logarithms.

    ``resolution``: the step of the clock in the medians' unit, which is the least that the interval
    spans. Fewer than two processes have no interval. Where a median is 0 the clock saw nothing:
    then the median of the medians, by ``within_process``'s order statistics. Raises ValueError for
    an empty sequence.
    """
    if not len(medians):
        raise ValueError("no process measured this")
    if min(medians) <= 0:
        import numpy as np  # noqa: PLC0415 - only where a clock saw nothing

        interval = within_process(np.asarray(medians, dtype=np.float64), confidence)
    else:
        interval = location([math.log(median) for median in medians], confidence).exponential()
    return interval.spanning(resolution) if resolution else interval


def basis_over_processes(medians: Sequence[float], confidence: float = 0.95) -> Basis:
    """What ``over_processes`` rests on for the medians of at least two processes."""
    if min(medians) <= 0:
        return "order statistics over processes"
    ranks_suffice = _signed_rank(len(medians), 0.5 - confidence / 2) >= 0
    return "signed ranks" if ranks_suffice else "Student"


def location(values: Sequence[float], confidence: float = 0.95) -> Interval:
    """Centre of independent values that scatter alike to both sides: logarithms, differences.

    The median of all means of two (Hodges and Lehmann, "Estimates of location based on rank tests",
    Annals of Mathematical Statistics 34 (1963), 598), between those that the signed-rank test does
    not reject (Wilcoxon, Biometrics 1 (1945), 80): exact for any such distribution, and hardly
    moved by outliers. Too few values for that (below 6 at 95 %) get Student's interval.
    ``benchmarks/coverage.py`` compares both with order statistics. NaN without values, no ends for
    a single one.
    """
    count = len(values)
    if count < 2:
        return Interval(values[0] if count else math.nan, math.nan, math.nan, confidence)
    ordered = sorted(values)
    means = sorted((one + other) / 2 for i, one in enumerate(ordered) for other in ordered[i:])
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
    """The largest sum of signed ranks that is not exceeded with more than this probability, or -1.

    Each of the ranks 1 to ``count`` is in the sum or not; of many, the sum is all but normal.
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
    """By how much the second of two independent sets of values lies above the first.

    The difference of their centres (``location``). Its interval holds two: that of the rank-sum
    test (Mann and Whitney, "On a test of whether one of two random variables is stochastically
    larger than the other", Annals of Mathematical Statistics 18 (1947), 50), which outliers hardly
    move and which is exact for two distributions of one shape, if there are values enough (4 and 4
    at 95 %); and Welch's, right also where they scatter differently ("The generalization of
    Student's problem when several different population variances are involved", Biometrika 34
    (1947), 28). No ends where a set has fewer than two values. Raises ValueError for an empty set.
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
    """The largest Mann-Whitney statistic not exceeded with more than this probability, or -1.

    The numbers of ways to get each are the coefficients of a Gaussian binomial; of many pairs, the
    statistic is all but normal.
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
    """Whether a point needs no further process: at a look, its interval is within the precision.

    ``looks``, rising: the last is the most processes that it gets. ``half_width``, relative, is
    asked for at a look only.

    A look after each process stops too early, where the processes happen to agree: such 95 %
    intervals hold the true value in 90 % of cases. Looks at 6, 8, 12, 16, 24 and 30 leave 93 to
    97 % (``benchmarks/coverage.py``). A number of processes that was fixed before needs no
    looks. (Anscombe, "Large-sample theory of sequential
    estimation", Mathematical Proceedings of the Cambridge Philosophical Society 48 (1952), 600.)
    """
    return processes >= looks[-1] or (processes in looks and half_width() <= precision)


def apart(values: Mapping[str, float]) -> list[str]:
    """The devices whose figure differs from the median of all; ``values``: above 0, by device."""
    middle = median(values.values())
    return [device for device, value in values.items() if abs(value / middle - 1) > APART]


def simultaneous(confidence: float, comparisons: int) -> float:
    """Confidence of each of ``comparisons`` intervals that are judged together.

    The one correction for multiplicity here, because it gives intervals: what is shown is what is
    judged. All that answer one question err together a fifth as often as an interval may, 1 % at
    95 %, for a run answers several. Never too narrow for intervals that depend on one another.
    (Sidak, "Rectangular confidence regions for the means of multivariate normal distributions",
    Journal of the American Statistical Association 62 (1967), 626.)
    """
    return float((1 - _FAMILY * (1 - confidence)) ** (1 / max(comparisons, 1)))


def relevant(precision: float) -> float:
    """The smallest relevant difference, as a share: the requested precision, at least 1 %."""
    return max(_LEAST_RELEVANT, precision)


def judge(ratio: Interval, smallest: float) -> Judgement:
    """Judges a ratio of times: the numerator is slower, faster, the same, or undecided.

    "Same": the interval does not reach beyond that difference to either side, whether or not it
    holds 1 (Schuirmann, "A comparison of the two one-sided tests procedure", Journal of
    Pharmacokinetics and Biopharmaceutics 15 (1987), 657). "Slower" and "faster": it excludes 1, and
    the estimate lies beyond.
    """
    if ratio.low >= 1 / (1 + smallest) and ratio.high <= 1 + smallest:
        return "same"
    if ratio.low > 1 and ratio.value > 1 + smallest:
        return "slower"
    if ratio.high < 1 and ratio.value < 1 / (1 + smallest):
        return "faster"
    return "undecided"


def _normal(confidence: float) -> float:
    from statistics import NormalDist  # noqa: PLC0415 - seldom asked

    return NormalDist().inv_cdf(0.5 + confidence / 2)
