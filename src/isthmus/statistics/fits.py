"""Fits curves of time over bytes: lines of a start-up time and a rate each. Finds half-rate sizes.

A runtime moves data in different ways at different sizes: a bounce buffer, another protocol,
another engine. A single line then does not fit, and each range of sizes gets a line. Schwarz's
criterion decides the number of lines. A summary has, for each point, the time that the curve of its
series predicts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isthmus.frames import Frame
from isthmus.statistics import Interval
from isthmus.student import student
from isthmus.thresholds import PLATEAU

Values = NDArray[np.float64]

NO_LAW = 0.5
"""Largest relative error of a fit at any point; a fit with a larger error is not used."""
NONE_FITS = 0.1
"""Largest root mean square of log residuals of a curve; a curve with more is not used."""
_MOST_PLACES = 32
"""Most sizes at which a line may end; of more sizes every second, third, ... is tried."""
_MOST_BREAKS = 2
"""Most sizes at which a curve changes to another line. A choice: a sentence can describe three
lines."""
_LEAST_POINTS = 4
"""Fewest points of a line in a curve with breaks: two fix the line, two more test it."""
_IRRELEVANT = 0.01
"""Log residuals that are too small to need a further line. Without this limit, rounding would give
more lines to a series without noise."""
_STEPS = 4
"""Steps of Newton's method."""


class AlphaBeta(NamedTuple):
    """``seconds = alpha + bytes / beta``; the intervals include the model's errors."""

    alpha: Interval
    """Start-up time in seconds."""
    beta: Interval
    """Bytes per second; infinite if no size shows a limit."""
    worst_residual: float
    """Relative deviation of the model from a measurement, with its sign, where it is largest."""
    worst_at: int
    """Index of the point with that deviation."""
    points: int
    smallest: float = 0.0
    """Bytes of the smallest point of the line; ``largest`` is that of the largest point."""
    largest: float = math.inf
    variances: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Variances of alpha and of 1 / beta, and their covariance, for log residuals of variance 1."""

    def seconds(self, size: float) -> float:
        """Predicted seconds of a transfer of ``size`` bytes."""
        return self.alpha.value + size / self.beta.value

    def variance(self, size: float) -> float:
        """Variance of the predicted time's logarithm, for log residuals of variance 1."""
        of_alpha, of_gap, of_both = self.variances
        return (of_alpha + 2 * size * of_both + size**2 * of_gap) / self.seconds(size) ** 2


class Curve(NamedTuple):
    """Lines from small to large sizes, each for one range of sizes."""

    lines: tuple[AlphaBeta, ...]
    rms: float
    """Root mean square of the log residuals, over the degrees of freedom."""
    free: int = 1
    """Degrees of freedom: points less parameters."""
    confidence: float = 0.95

    @property
    def fits(self) -> bool:
        """Whether the lines describe the series: see ``NONE_FITS``."""
        return self.rms <= NONE_FITS

    def seconds(self, size: float) -> float:
        """Predicted seconds of ``size`` bytes; between two lines, by the line of smaller sizes."""
        return self._line(size).seconds(size)

    def predicted(self, size: float) -> Interval:
        """Predicted seconds of ``size`` bytes, with the interval for one further measurement."""
        line = self._line(size)
        value = line.seconds(size)
        width = student(self.free, 0.5 + self.confidence / 2) * self.rms
        factor = math.exp(width * math.sqrt(1 + line.variance(size)))
        return Interval(value, value / factor, value * factor, self.confidence)

    def _line(self, size: float) -> AlphaBeta:
        later = (line for line in reversed(self.lines) if line.smallest <= size)
        return next(later, self.lines[0])


class _Line(NamedTuple):
    alpha: float
    gap: float
    """Seconds that each byte adds: 1 / rate."""
    model: Values
    logs: Values
    """For each point: logarithm of the measured time over the model's time."""

    @property
    def squares(self) -> float:
        return float(self.logs @ self.logs)

    @property
    def parameters(self) -> int:
        return (self.alpha > 0) + (self.gap > 0)


def alpha_beta(
    moved: Sequence[float], seconds: Sequence[float], confidence: float = 0.95
) -> AlphaBeta | None:
    """Fits start-up time and rate to bytes moved, by least squares of log residuals.

    Neither parameter is negative. Returns None for fewer than three points or a single size.
    """
    fitted = curve(moved, seconds, confidence, most_breaks=0)
    return fitted.lines[0] if fitted else None


def curve(
    moved: Sequence[float],
    seconds: Sequence[float],
    confidence: float = 0.95,
    most_breaks: int = _MOST_BREAKS,
) -> Curve | None:
    """Fits one to three lines to a series, as many as Schwarz's criterion supports.

    The criterion is n ln(mean squared log residual) + k ln n; the least value is best. k counts the
    parameters of all lines and two for each break, because its place is searched for. Intervals of
    the parameters are Student's, from the scatter around all lines together. Returns None for fewer
    than three points or a single size.

    Sources: G. Schwarz, "Estimating the dimension of a model", Annals of Statistics 6 (1978), 461;
    for breaks, Y.-C. Yao, "Estimating the number of change-points via Schwarz' criterion",
    Statistics and Probability Letters 6 (1988), 181.
    """
    return _curve_through(tuple(moved), tuple(seconds), confidence, most_breaks)


@lru_cache(maxsize=1024)  # tables, findings and plots fit the same series
def _curve_through(
    moved: tuple[float, ...], seconds: tuple[float, ...], confidence: float, most_breaks: int
) -> Curve | None:
    sizes, times = np.asarray(moved, dtype=np.float64), np.asarray(seconds, dtype=np.float64)
    usable = np.isfinite(sizes) & np.isfinite(times) & (times > 0.0)
    positions = np.flatnonzero(usable)
    positions = positions[np.argsort(sizes[positions], kind="stable")]
    sizes, times = sizes[positions], times[positions]
    if len(times) < 3 or np.ptp(sizes) == 0.0:
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        chosen = _chosen(sizes, times, most_breaks)
    return _curve(*chosen, sizes, times, positions, confidence) if chosen else None


def _chosen(
    sizes: Values, times: Values, most_breaks: int
) -> tuple[list[slice], list[_Line]] | None:
    """The partition with the least value of ``curve``'s criterion, and its lines."""
    best: tuple[float, list[slice], list[_Line]] | None = None
    cache: dict[tuple[int, int], _Line | None] = {}
    for parts in _partitions(sizes, most_breaks):
        lines = []
        for part in parts:
            key = (part.start, part.stop)
            if key not in cache:
                cache[key] = _line(sizes[part], times[part])
            lines.append(cache[key])
        sound = [line for line in lines if line is not None]
        if len(sound) < len(lines):
            continue
        count = sum(line.parameters for line in sound) + 2 * (len(parts) - 1)
        squares = sum(line.squares for line in sound) / len(times) + _IRRELEVANT**2
        score = len(times) * math.log(squares) + count * math.log(len(times))
        if best is None or score < best[0]:
            best = score, parts, sound
    return None if best is None else best[1:]


def _partitions(sizes: Values, most_breaks: int) -> Iterator[list[slice]]:
    """Yields each way to cut sorted sizes into lines with enough points.

    Points of equal size stay in the same line.
    """
    count = len(sizes)
    places = [i for i in range(_LEAST_POINTS, count - _LEAST_POINTS + 1) if sizes[i] > sizes[i - 1]]
    places = places[:: -(-len(places) // _MOST_PLACES) or 1]
    for breaks in range(most_breaks + 1):
        for cuts in combinations(places, breaks):
            ends = [0, *cuts, count]
            parts = [slice(begin, end) for begin, end in pairwise(ends)]
            if breaks == 0 or all(part.stop - part.start >= _LEAST_POINTS for part in parts):
                yield parts


def _line(sizes: Values, times: Values) -> _Line | None:
    """Least squares of log residuals with no negative parameter; None if there is no solution.

    Newton's method on the logarithms: each step is a linear fit with weights 1 / model.
    """
    scale = float(sizes.max()) or 1.0
    x = sizes / scale
    model, aim = times, times
    for _ in range(_STEPS):
        u, v, w = 1.0 / model, x / model, aim / model
        uu, uv, vv = float(u @ u), float(u @ v), float(v @ v)
        uw, vw = float(u @ w), float(v @ w)
        determinant = uu * vv - uv * uv
        if determinant > 1e-12 * uu * vv:
            alpha, slope = (uw * vv - vw * uv) / determinant, (uu * vw - uv * uw) / determinant
        else:
            alpha, slope = uw / uu, 0.0
        if slope < 0.0:
            alpha, slope = uw / uu, 0.0
        elif alpha < 0.0:
            alpha, slope = 0.0, vw / vv
        model = alpha + slope * x
        if not (np.isfinite(model).all() and model.min() > 0.0):
            return None  # the model is 0 at size 0 without a start-up time: no logarithm
        aim = model * (1.0 + np.log(times / model))
    return _Line(alpha, slope / scale, model, np.log(times / model))


def _curve(
    parts: Sequence[slice], lines: Sequence[_Line], sizes: Values, times: Values,
    positions: NDArray[np.intp], confidence: float,
) -> Curve:  # fmt: skip
    free = max(len(times) - sum(line.parameters for line in lines), 1)
    variance = sum(line.squares for line in lines) / free
    factor = student(free, 0.5 + confidence / 2) * math.sqrt(variance)
    results = []
    for part, line in zip(parts, lines, strict=True):
        columns = np.column_stack([np.ones(len(line.model)), sizes[part]]) / line.model[:, None]
        scales = columns.max(axis=0)
        design = columns / np.where(scales > 0, scales, 1.0)
        inverse = np.linalg.pinv(design.T @ design)
        half = factor * np.sqrt(np.diag(inverse))
        values = (line.alpha, line.gap)
        alpha, gap = (
            Interval(value, max(value - h / s, 0.0), value + h / s, confidence)
            if s > 0 else Interval(value, 0.0, math.inf, confidence)
            for value, h, s in zip(values, half.tolist(), scales.tolist(), strict=True)
        )  # fmt: skip
        with np.errstate(divide="ignore"):
            errors = np.where(scales > 0, inverse / np.outer(scales, scales), 0.0)
        off = line.model / times[part] - 1.0
        worst = int(np.argmax(np.abs(off)))
        results.append(
            AlphaBeta(
                alpha, gap.inverse(), float(off[worst]), int(positions[part][worst]), len(off),
                float(sizes[part][0]), float(sizes[part][-1]),
                (float(errors[0, 0]), float(errors[1, 1]), float(errors[0, 1])),
            )
        )  # fmt: skip
    return Curve(tuple(results), math.sqrt(variance), free, confidence)


def half_bandwidth(sizes: Sequence[float], rates: Sequence[float]) -> tuple[Interval, bool] | None:
    """Bytes at which a series first reaches half of its peak rate, and whether it still rises.

    The size is interpolated in log size and log rate, between the last measured size below half of
    the peak and the first size with that rate. The lower end is 0 if the smallest size already has
    that rate. The series still rises if the largest size is fastest by more than ``PLATEAU``: true
    peak and half-rate size are then larger. Returns None without data.
    """
    data = sorted((s, r) for s, r in zip(sizes, rates, strict=True) if r > 0.0 and s > 0.0)
    if not data:
        return None
    logs = np.log2(np.array(data))
    half = logs[:, 1].max() - 1.0
    rising = len(data) > 1 and data[-1][1] > (1 + PLATEAU) * max(rate for _, rate in data[:-1])
    first = int(np.argmax(logs[:, 1] >= half))
    if first == 0:
        return (Interval(data[0][0], 0.0, data[0][0]), rising)
    (s0, r0), (s1, r1) = logs[first - 1], logs[first]
    size = float(2.0 ** (s0 + (s1 - s0) * (half - r0) / (r1 - r0)))
    return (Interval(size, data[first - 1][0], data[first][0]), rising)


COLUMNS = ("model_s", "model_low_s", "model_high_s")
"""Columns of the summary: predicted seconds, and the interval for one further measurement."""
LEAST_SIZES = 6
"""Fewest sizes of a series for which a curve is reported."""
_SERIES = ("study", "device", "api", "operation", "memory", "clock")


def curve_of(rows: Frame, confidence: float) -> Curve | None:
    """The curve through rows that differ in size only, over the bytes that they move."""
    moved = np.rint(rows["bandwidth_Bps"] * rows["median_s"]).tolist()
    return curve(moved, rows["median_s"].tolist(), confidence)


def complete(
    frame: Frame, usable: NDArray[np.bool_], axes: Sequence[str], confidence: float
) -> Frame:
    """The summary with predicted times in ``COLUMNS``: empty for a short series or without a fit.

    ``usable``: for each row, whether the fit uses it; other rows get no prediction. ``axes``:
    further columns whose values distinguish series.
    """
    columns = {name: np.full(len(frame), np.nan) for name in COLUMNS}
    places = np.flatnonzero(usable)
    for _, rows in frame.take(usable).assign(place=places).groupby([*_SERIES, *axes], dropna=False):
        if rows["bytes"].nunique() < LEAST_SIZES:
            continue
        fitted = curve_of(rows, confidence)
        if fitted is None or not fitted.fits:
            continue
        moved = np.rint(rows["bandwidth_Bps"] * rows["median_s"])
        for place, size in zip(rows["place"], moved, strict=True):
            for name, value in zip(COLUMNS, fitted.predicted(size)[:3], strict=True):
                columns[name][place] = value
    return frame.assign(**columns)
