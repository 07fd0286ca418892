"""Simple laws fitted to one series of sizes and times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from isthmus.statistics import Interval, student

_RISING = 1.05
NO_LAW = 0.5
"""A fit that misses a point by more than this says nothing about the series."""


class AlphaBeta(NamedTuple):
    """``seconds = alpha + bytes / beta``; the intervals include errors of the model."""

    alpha: Interval
    """Seconds."""
    beta: Interval
    """Bytes a second; infinite where no size shows a limit."""
    worst_residual: float
    """Model over measurement, less 1, where it is largest; signed."""
    worst_at: int
    """Index of that point."""
    points: int


def alpha_beta(
    moved: Sequence[float], seconds: Sequence[float], confidence: float = 0.95
) -> AlphaBeta | None:
    """Fits start-up time and rate to bytes moved; least squares of relative errors, none negative.

    Needs three points or more with two different sizes, else None.
    """
    sizes, times = np.asarray(moved, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
    usable = np.isfinite(sizes) & np.isfinite(times) & (times > 0.0)
    positions = np.flatnonzero(usable)
    sizes, times = sizes[usable], times[usable]
    if len(times) < 3 or np.ptp(sizes) == 0.0:
        return None
    columns = np.column_stack([1.0 / times, sizes / times])
    scale = columns.max(axis=0)  # nanoseconds beside gigabytes: condition first
    if not scale.all():
        return None  # sizes that vanish beside their times
    design = columns / scale
    from scipy.optimize import nnls  # noqa: PLC0415 - every run's summary would wait for it

    solution, _ = nnls(design, np.ones(len(times)))
    residuals = design @ solution - 1.0
    variance = float(residuals @ residuals) / (len(times) - 2)
    half = student(len(times) - 2, 0.5 + confidence / 2) * np.sqrt(
        variance * np.diag(np.linalg.pinv(design.T @ design))
    )
    low, high = np.maximum(solution - half, 0.0) / scale, (solution + half) / scale
    worst = int(np.argmax(np.abs(residuals)))
    alpha, gap = (
        Interval(float(value), float(least), float(most), confidence)
        for value, least, most in zip(solution / scale, low, high, strict=True)
    )
    return AlphaBeta(
        alpha=alpha,
        beta=gap.inverse(),
        worst_residual=float(residuals[worst]),
        worst_at=int(positions[worst]),
        points=len(times),
    )


class HalfBandwidth(NamedTuple):
    """Size at which a series reaches half of its peak."""

    size: Interval
    """Bytes; interpolated between the last measured size that does not reach half (0 where the
    smallest already does) and the first that does."""
    still_rising: bool
    """The largest size is the fastest, by far: the true peak lies beyond, and so does this."""


def half_bandwidth(sizes: Sequence[float], rates: Sequence[float]) -> HalfBandwidth | None:
    """First crossing of half the peak, interpolated in log size and log rate; None without data."""
    data = sorted((s, r) for s, r in zip(sizes, rates, strict=True) if r > 0.0 and s > 0.0)
    if not data:
        return None
    logs = np.log2(np.array(data))
    half = logs[:, 1].max() - 1.0
    rising = len(data) > 1 and data[-1][1] > _RISING * max(rate for _, rate in data[:-1])
    first = int(np.argmax(logs[:, 1] >= half))
    if first == 0:
        return HalfBandwidth(Interval(data[0][0], 0.0, data[0][0]), rising)
    (s0, r0), (s1, r1) = logs[first - 1], logs[first]
    size = float(2.0 ** (s0 + (s1 - s0) * (half - r0) / (r1 - r0)))
    return HalfBandwidth(Interval(size, data[first - 1][0], data[first][0]), rising)
