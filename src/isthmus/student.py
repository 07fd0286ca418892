"""Computes quantiles of Student's t, so that compute nodes need no scipy for this alone."""

from __future__ import annotations

import math
from functools import lru_cache


@lru_cache(maxsize=1024)
def student(free: float, share: float) -> float:
    """Quantile of Student's t with ``free`` degrees of freedom, for shares above a half.

    By bisection: the upper tail beyond t is half the regularised incomplete beta function at free /
    (free + t^2) (Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.1).
    """
    tail = 2 * (1 - share)

    def beyond(logarithm: float) -> float:
        return both_tails(free, math.exp(logarithm))

    low, high = -40.0, 40.0
    while beyond(high) > tail:
        high *= 2
    while high - low > _QUANTILE_STEP:
        middle = (low + high) / 2
        low, high = (middle, high) if beyond(middle) > tail else (low, middle)
    return math.exp((low + high) / 2)


_QUANTILE_STEP = 1e-13


def both_tails(free: float, value: float) -> float:
    """Probability that Student's t with ``free`` degrees of freedom lies beyond +- ``value``."""
    square = value * value
    return _incomplete_beta(free / 2, 0.5, free / (free + square), square / (free + square))


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function at ``x``; ``rest`` is 1 - x.

    Computes the continued fraction (Abramowitz and Stegun, 26.5.8) by Lentz's method.
    """
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(b, a, rest, x)
    if x <= 0:
        return 0.0
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logarithm + a * math.log(x) + b * math.log(rest)) / a
    tiny = 1e-300
    value, c, d, i = 1.0, 1.0, 0.0, 0
    while True:
        m = i // 2
        if i == 0:
            term = 1.0
        elif i % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / ((1 + term * d) or tiny)
        c = (1 + term / c) or tiny
        value *= c * d
        if abs(1 - c * d) < _EPSILON:
            return front * (value - 1)
        i += 1


_EPSILON = 1e-15
