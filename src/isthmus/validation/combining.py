"""What a row of published figures makes of points: sums, differences, means, ratios."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from isthmus.published.source import Row, Term

_MOVED = 1 << 20
"""Bytes that ever smaller blocks move, where a row asks for the cost of a call."""


def combined(row: Row, found: Callable[[Term], float]) -> float:
    """The row's figure in its unit, from each point's time in seconds or rate in bytes a second."""
    if row.combine == "mean":
        here = statistics.fmean(found(term) for term in row.plus)
    elif row.combine == "max":
        here = max(found(term) for term in row.plus)
    elif row.combine == "cost of a call":
        calls = [_MOVED / (term.bytes or _MOVED) for term in row.plus]
        times = [n * found(term) for n, term in zip(calls, row.plus, strict=True)]
        here = statistics.linear_regression(calls, times).slope
    else:
        here = sum(map(found, row.plus)) - sum(map(found, row.minus))
    return row.times * here / (sum(map(found, row.over)) or 1.0) / row.scale
