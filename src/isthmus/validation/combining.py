"""Computes the figure of a published row from points: sums, differences, means, ratios."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence

from isthmus.published.source import Row, Term
from isthmus.statistics import Interval
from isthmus.statistics import combined as weighted_sum

_MOVED = 1 << 20
"""Bytes that a row about the cost of a call moves, once in blocks of each size."""


def combined(row: Row, figure_of: Callable[[Term], Interval]) -> Interval:
    """Computes a row's figure in the row's unit.

    ``figure_of`` gives each point's time in seconds or rate in bytes per second. Points count as
    independent; a point that is named twice counts once. A point in both numerator and denominator
    counts as two, so that the ratio's interval is too wide. For several processes,
    ``analysis.reproduction`` computes the interval over the figures of all processes.
    """
    if row.combine == "max":
        figure = _largest([figure_of(term) for term in row.plus])
    else:
        figure = _sum(list(_weighted(row)), figure_of)
    if row.over:
        figure = _ratio(figure, _sum([(1.0, term) for term in row.over], figure_of))
    return figure.times(row.times / row.scale)


def _weighted(row: Row) -> Iterator[tuple[float, Term]]:
    """Yields each point with its weight in the row's sum."""
    if row.combine == "mean":
        yield from ((1.0 / len(row.plus), term) for term in row.plus)
    elif row.combine == "cost of a call":
        # Weights of the slope: the least-squares line through total time over number of calls.
        calls = [_MOVED / (term.bytes or _MOVED) for term in row.plus]
        mean = statistics.fmean(calls)
        square = math.fsum((n - mean) ** 2 for n in calls)
        yield from (
            ((n - mean) / square * n, term) for n, term in zip(calls, row.plus, strict=True)
        )
    else:
        yield from ((1.0, term) for term in row.plus)
        yield from ((-1.0, term) for term in row.minus)


def _sum(weighted: Sequence[tuple[float, Term]], figure_of: Callable[[Term], Interval]) -> Interval:
    terms: list[Term] = []
    weights: list[float] = []
    for weight, term in weighted:
        if term in terms:
            weights[terms.index(term)] += weight
        else:
            terms.append(term)
            weights.append(weight)
    return weighted_sum(weights, [figure_of(term) for term in terms])


def _largest(intervals: Sequence[Interval]) -> Interval:
    """The largest estimate; its interval is unknown if one of the intervals is unknown."""
    value = max(interval.value for interval in intervals)
    all_known = all(interval.known for interval in intervals)
    low, high = (
        max(interval[end] for interval in intervals) if all_known else math.nan for end in (1, 2)
    )
    return Interval(value, low, high, intervals[0].confidence)


def _ratio(above: Interval, below: Interval) -> Interval:
    value = above.value / below.value
    if above.value <= 0:  # ``over`` needs a logarithm, which this value lacks
        return Interval(value, math.nan, math.nan, above.confidence)
    _, low, high, confidence = above.at_least(0.0).over(below.at_least(0.0))
    exact = above.half_width == below.half_width == 0
    return Interval(value, *((value, value) if exact else (low, high)), confidence)
