"""Model of how the state of the machine changed the times of a run's rows.

The logarithm of the time of row p in process r is level(p) + sensitivity(p) x state(r) + noise. The
state is the part that several rows share: the speed of the host at that time. References of the
host's speed, timed in the same processes, show the state directly. Changes that rows have in common
beyond the references show it, too.

* Sensitivities to the references are random effects, shrunk towards the mean of all rows (Laird and
  Ware, "Random-effects models for longitudinal data", Biometrics 38 (1982), 963; fitted by EM).
* The scatter of a row is shrunk towards that of rows of its kind (Smyth, "Linear models and
  empirical Bayes methods", Statistical Applications in Genetics and Molecular Biology 3 (2004), 3).
* A slowly changing state makes whole runs differ. The state's autocovariance gives the difference
  between the mean of a run and the mean of the time after it. Candidates are a relaxation much
  shorter than the run, one as long as it, 1/f noise and a random walk. Each has a weight by how
  well it explains the states of this run (Bayesian model averaging; Hoeting et al., Statistical
  Science 14 (1999), 382). 1/f noise is a sum of relaxations with time constants in geometric
  progression (van der Ziel, Physica 16 (1950), 359).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isthmus.statistics import FEWEST, Interval
from isthmus.student import both_tails

Array = NDArray[np.float64]

HORIZON = 12.0
"""Time after a run within which a repetition may begin, over the length of the run.

Chosen together with the weights below. With 6, intervals of the stored runs hold 92 %; with 24 they
hold 94 to 95 % but are a fifth wider (``benchmarks/host_constants.py``)."""
PRIOR_FREE = 4.0
"""Degrees of freedom that the scatter of a row's kind adds to the row's own.

From 2 to 16, intervals of the stored runs hold 93 to 96 % (``benchmarks/host_constants.py``)."""
_LEAST_VARIANCE = 1e-24
"""Variance of log times that rounding alone causes: a double has a relative error of 1e-16."""
_STEPS = 50
_KERNELS = (("brief", 0.95, 0.18), ("run", 0.6, 0.26), ("flicker", 0.9, 0.17),
            ("walk", 0.99, 0.03), ("walk", 0.999, 0.36))  # fmt: skip
"""Candidates for the slow part of the state: name, share of the variance, prior weight.

Chosen among 17 slow parts with twelve runs of each of two H100 nodes, ten longer runs and simulated
states. These give the narrowest intervals that hold at least 93 % of each stored set and 91 % of
each simulated state. Six runs that were measured afterwards hold 95.8 %."""
_BRIEF = 0.05
"""Time constant of a brief disturbance over the length of the run: it lasts a few processes."""
_SEEN = 2.0
"""Standard errors above which the correlation of a run's rows counts. Chance exceeds it in 1 of 40.

With 1 and 3, too, intervals hold 93 to 95 % (``benchmarks/host_constants.py``)."""
_FOLLOWED = 1.0
"""Standard errors that the rows' common slope on a reference must have, so that references count.

If they always count, intervals hold 96 % instead of 94 %, and 99 % without any change of state.
They are then 1.6 instead of 1.5 times as wide as intervals from the processes alone
(``benchmarks/host_constants.py``)."""
_FENCE = 1.5
"""Interquartile ranges beyond the quartiles: Tukey's fences.

Without fences, intervals of the stored runs are 10 to 18 % wider
(``benchmarks/host_constants.py``)."""
_SURE = 3.0
"""Standard errors of a slope from which it is no chance: 1 of 250 runs exceeds it by chance.

2 and 4 change no interval of the stored runs."""
_UNKNOWN_SENSITIVITY = 0.5
"""Standard deviation assumed for a sensitivity that a run cannot estimate; it lies from 0 to 1."""
MOST_SENSITIVE = 1.2
"""Largest sensitivity to a reference: a time that a reference explains completely has 1.

The further fifth allows for errors. Stored runs have at most 0.6
(``benchmarks/host_constants.py``)."""
_RELAXATIONS = 8
_HORIZON_POINTS = 96
_BISECTIONS = 40


class Row(NamedTuple):
    """A row: logarithms of its times by process, and the key of rows whose scatter is alike."""

    kind: Hashable
    logs: Mapping[int, float]


@dataclass(frozen=True)
class Slow:
    """What the slowly changing state of the machine adds to the uncertainty of a row's level."""

    half_width: float
    """Half-width that the state alone gives the level's interval, as a logarithm; NaN if unknown.
    """
    sensitivities: tuple[float, ...]
    """Change of the row's logarithm for a change of each reference's logarithm."""
    shared: float
    """Share of the row's variance, beyond the references, that it has in common with other rows."""
    errors: tuple[float, ...] = ()
    """Standard errors of the sensitivities."""
    rest: float = 0.0
    """Part of ``half_width`` from changes that rows share but the references do not show."""

    most: tuple[float, ...] = ()
    """Largest possible sensitivity to each reference: scatter of the row over the reference's."""

    @property
    def known(self) -> bool:
        """Whether rows or references show the state of the machine."""
        return not math.isnan(self.half_width)

    def widened(self, interval: Interval) -> Interval:
        """The interval of a time > 0, widened so that it covers a repetition of the run."""
        if not self.known or not self.half_width or not interval.known or interval.low <= 0:
            return interval
        state = Interval(0.0, -self.half_width, self.half_width, interval.confidence)
        return interval.logarithm().plus(state).exponential()


UNKNOWN = Slow(math.nan, (), 0.0)
"""Value for each row of a run that does not show the state of the machine."""


def slow_parts(
    rows: Sequence[Row], readings: Mapping[int, Sequence[float]], at: Mapping[int, float],
    confidence: float = 0.95,
) -> list[Slow]:  # fmt: skip
    """Returns what the state of the machine adds to each row.

    Args:
        rows: Rows of one run.
        readings: By process: logarithms of the references, the same number for each; may be empty.
        at: By process: when it ran, in any unit; empty: at equal distances, in order of number.
        confidence: Confidence of the half-widths.

    """
    numbers = sorted({number for row in rows for number in row.logs})
    if not numbers:
        return [Slow(math.nan, (), 0.0) for _ in rows]
    logs = np.array([[row.logs.get(n, math.nan) for n in numbers] for row in rows])
    times = np.array([float(at.get(n, i)) for i, n in enumerate(numbers)])
    if at and not all(n in at for n in numbers):
        times = np.arange(len(numbers), dtype=np.float64)
    states = _centred(numbers, readings)
    return _Fit(rows, _fenced(logs), times, _fenced(states.T).T, confidence).slow()


def _centred(numbers: Sequence[int], readings: Mapping[int, Sequence[float]]) -> Array:
    """By process: logarithms of the references less their means; NaN without readings."""
    width = max((len(reading) for reading in readings.values()), default=0)
    table = np.array([readings.get(n, [math.nan] * width) for n in numbers], dtype=np.float64)
    table = table.reshape(len(numbers), width)
    if not width or np.isfinite(table).all(axis=1).sum() < FEWEST:
        return np.empty((len(numbers), 0))
    centred: Array = table - np.nanmean(table, axis=0)
    return centred


def _fenced(values: Array) -> Array:
    """The values of each row, clipped to Tukey's fences, which hardly changes the row's centre.

    Otherwise one process beside a burst of other work would decide the scatter of its row. Source:
    Tukey, Exploratory Data Analysis, 1977, chapter 2.
    """
    if not values.size:
        return values
    result = values.copy()
    for row in result:
        finite = np.isfinite(row)
        if finite.sum() >= FEWEST:
            low, high = np.quantile(row[finite], [0.25, 0.75])
            reach = _FENCE * (high - low)
            row[finite] = np.clip(row[finite], low - reach, high + reach)
    return result


class _Fit:
    def __init__(
        self, rows: Sequence[Row], logs: Array, times: Array, states: Array, confidence: float
    ) -> None:
        self._kinds = [row.kind for row in rows]
        self._logs = logs
        self._states = states
        self._seen = np.asarray(np.isfinite(states).all(axis=1), dtype=np.bool_)
        self._confidence = confidence
        self._kernels = _kernels(times)
        self._counts = np.isfinite(logs).sum(axis=1)
        width = states.shape[1]
        self._sensitivity = np.zeros((len(rows), width))
        self._spread = np.zeros((len(rows), width, width))
        used = np.isfinite(logs) & self._seen
        self._used = used if width else np.isfinite(logs)
        self._free = np.maximum(self._used.sum(axis=1) - 1, 0)
        self._variance = self._moderated(self._own_variances(self._residuals()))
        self._most = self._scatter_ratios()
        if width:
            self._fit_sensitivities()

    def _residuals(self) -> Array:
        """Logarithms less the part that references explain and each row's mean; NaN if unknown."""
        explained = self._sensitivity @ np.nan_to_num(self._states).T
        left = np.where(self._used, self._logs - explained, np.nan)
        count = np.maximum(self._used.sum(axis=1), 1)
        means = np.nansum(left, axis=1) / count
        residuals: Array = left - means[:, None]
        return residuals

    def _scatter_ratios(self) -> Array:
        """Standard deviation of each row over that of each reference."""
        of_states = np.nanvar(self._states, axis=0, ddof=1) if self._states.size else np.empty(0)
        ratios: Array = np.sqrt(self._variance[:, None] / np.maximum(of_states, _LEAST_VARIANCE))
        return ratios

    def _own_variances(self, residuals: Array) -> Array:
        squares: Array = np.nansum(residuals**2, axis=1) / np.maximum(self._free, 1)
        return squares

    def _moderated(self, own: Array) -> Array:
        """Variances shrunk towards the mean of the rows of their kind."""
        shrunk = own.copy()
        for kind in set(self._kinds):
            of_kind = np.array([k == kind for k in self._kinds])
            free = self._free * of_kind
            if free.sum():
                usual = float((free * own).sum() / free.sum())
                weighed = PRIOR_FREE * usual + free * own
                shrunk = np.where(of_kind, weighed / (PRIOR_FREE + free), shrunk)
        floor: Array = np.maximum(shrunk, 1e-16)
        return floor

    def _fit_sensitivities(self) -> None:
        """Fits a model by EM in which rows' coefficients are normal around their mean."""
        width = self._sensitivity.shape[1]
        mask = self._used.astype(np.float64)
        count = np.maximum(mask.sum(axis=1), 1.0)
        states = np.nan_to_num(self._states)
        means = mask @ states / count[:, None]
        about = states[None, :, :] - means[:, None, :]
        about *= mask[:, :, None]
        logs = np.where(self._used, self._logs, 0.0)
        logs = np.where(self._used, logs - (logs.sum(axis=1) / count)[:, None], 0.0)
        gram = np.einsum("prk,prl->pkl", about, about)
        moment = np.einsum("prk,pr->pk", about, logs)
        followed = self._followed(gram, moment)
        # Below _SURE, the references may have shown only their own scatter: sensitivities stay
        # uncertain.
        unknown = np.eye(width) * (_UNKNOWN_SENSITIVITY**2 if followed < _SURE else 0.0)
        if followed < _FOLLOWED:
            self._spread += unknown
            return
        centre, prior = np.full(width, 0.5), np.eye(width)
        for _ in range(_STEPS):
            precision = gram / self._variance[:, None, None] + np.linalg.inv(prior)
            spread = np.linalg.inv(precision)
            pull = moment / self._variance[:, None] + np.linalg.solve(prior, centre)
            coefficients = np.einsum("pkl,pl->pk", spread, pull)
            enough = self._free >= 2
            if not enough.any():
                return
            centre = coefficients[enough].mean(axis=0)
            off = coefficients[enough] - centre
            scatter = (off**2 + np.einsum("pkk->pk", spread)[enough]).mean(axis=0)
            prior = np.diag(np.clip(scatter, 1e-3, 1.0))
            coefficients = np.clip(coefficients, -MOST_SENSITIVE, MOST_SENSITIVE)
            self._sensitivity, self._spread = coefficients, spread + unknown
            left = logs - np.einsum("prk,pk->pr", about, coefficients)
            unsure = np.einsum("pkl,pkl->p", gram, spread)
            own = ((left**2).sum(axis=1) + unsure) / np.maximum(self._free, 1)
            self._variance = self._moderated(own)

    def _followed(self, gram: Array, moment: Array) -> float:
        """Largest common slope of all rows on a reference, in standard errors."""
        information = (np.einsum("pkk->pk", gram) / self._variance[:, None]).sum(axis=0)
        slopes = (moment / self._variance[:, None]).sum(axis=0)
        return float((slopes / np.sqrt(np.maximum(information, 1e-300))).max())

    def slow(self) -> list[Slow]:
        """Returns what the state of the machine adds to each row."""
        residuals = self._residuals()
        shared, series = self._shared(residuals)
        weights_rest = self._weights(series)
        width = self._states.shape[1]
        results = []
        weights_state = weights_rest
        covariance = np.zeros((width, width))
        if width:
            covariance = np.atleast_2d(np.cov(self._states[self._seen].T))
            direction = self._states @ self._sensitivity.mean(axis=0)
            weights_state = self._weights(direction)
        state_shows = bool(width) or shared is not None
        finite = np.isfinite(self._logs)
        for p, count in enumerate(self._counts):
            coefficients = tuple(map(float, self._sensitivity[p]))
            errors = tuple(map(float, np.sqrt(np.diag(self._spread[p]))))
            most = tuple(map(float, self._most[p]))
            if count < FEWEST or not state_shows:
                results.append(Slow(math.nan, coefficients, 0.0, errors, 0.0, most))
                continue
            of_row = finite[p]
            common = float(shared[p]) if shared is not None else 0.0
            odds, excess = weights_rest[0], self._excess(of_row, weights_rest[1], of_row)
            deviations = [(odds, common * float(self._variance[p]) * excess)]
            if width:
                second = np.outer(self._sensitivity[p], self._sensitivity[p])
                of_state = float((second * covariance).sum())
                excess = self._excess(of_row, weights_state[1], self._seen)
                deviations.append((weights_state[0], of_state * excess))
            free = int(count - 1 + PRIOR_FREE)
            widths = [_reach(odds, variances, free, self._confidence)
                      for odds, variances in deviations]  # fmt: skip
            results.append(Slow(math.hypot(*widths), coefficients, common, errors, widths[0], most))
        return results

    def _shared(self, residuals: Array) -> tuple[Array | None, Array]:
        """Returns each row's share of variance that rows have in common, and the common series.

        The shares are None if no two rows share a process, 0 if the correlation may be chance.
        """
        scaled = np.nan_to_num(residuals / np.sqrt(self._variance)[:, None])
        used = (self._used & (self._free[:, None] >= FEWEST - 1)).astype(np.float64)
        scaled *= used
        own = self._free / np.maximum(self._used.sum(axis=1), 1)
        together, number = scaled.sum(axis=0), used.sum(axis=0)
        series = np.where(number > 0, together / np.maximum(number, 1), np.nan)
        pairs = float((number**2 - number).sum())
        if not pairs:
            return None, series
        products = (scaled * (together - scaled)).sum(axis=1)
        expected = (used * (number - 1)).sum(axis=1) * own
        mean = float(products.sum() / max(expected.sum(), 1e-12))
        if mean < _SEEN / math.sqrt(pairs / 2):
            return np.zeros(len(self._kinds)), series
        each = products / np.maximum(expected, 1e-12)
        weight = np.where(expected > 0, self._free, 0.0)
        shares: Array = np.clip(
            (weight * each + PRIOR_FREE * mean) / (weight + PRIOR_FREE), 0.0, 1.0
        )
        return shares, series

    def _weights(self, series: Array) -> tuple[Array, Array]:
        """Weight of each kernel by its restricted likelihood for a series of states, and its scale.

        The scale of a kernel is in units of the variance of the series.
        """
        finite = np.isfinite(series)
        values = series[finite]
        count = len(values)
        prior = np.array([weight for _, _, weight in _KERNELS])
        variance = float(np.var(values, ddof=1)) if count > 1 else 0.0
        if count < FEWEST or variance < _LEAST_VARIANCE:
            return prior, np.array([1 / _scatter(kernel[:-1, :-1]) for kernel in self._kernels])
        likelihoods, scales = [], []
        for kernel in self._kernels:
            matrix = kernel[:-1, :-1][np.ix_(finite, finite)]
            _, size = np.linalg.slogdet(matrix)
            inverse = np.linalg.inv(matrix)
            ones = inverse.sum(axis=0)
            total = ones.sum()
            mean = ones @ values / total
            # Rounding of the inverse may make the quadratic form 0 or negative.
            square = max((values - mean) @ inverse @ (values - mean), _LEAST_VARIANCE)
            scales.append(square / (count - 1) / variance)
            likelihoods.append(-size / 2 - math.log(total) / 2 - (count - 1) / 2 * math.log(square))
        relative = np.exp(np.array(likelihoods) - max(likelihoods)) * prior
        return relative / relative.sum(), np.array(scales)

    def _excess(self, of_row: NDArray[np.bool_], scales: Array, window: NDArray[np.bool_]) -> Array:
        """Variance of the difference between a row's mean and the mean after the run, by kernel.

        The part that the row's own scatter explains is left out. Values are in units of the
        variance between the processes of ``window``.
        """
        excesses = []
        for scale, kernel in zip(scales, self._kernels, strict=True):
            inner = kernel[:-1, :-1]
            own, seen = inner[np.ix_(of_row, of_row)], inner[np.ix_(window, window)]
            apart = own.mean() - 2 * kernel[-1, :-1][of_row].mean() + kernel[-1, -1]
            more = max(float(apart) - _scatter(own) / len(own), 0.0)
            excesses.append(more * float(scale) * _scatter(inner) / _scatter(seen))
        return np.array(excesses)


def _reach(odds: Array, variances: Array, free: int, confidence: float) -> float:
    """Half-width around 0 that a mixture of Student's t stays within, with this confidence."""
    deviations = np.sqrt(variances)
    outside = 1 - confidence
    if float(odds[deviations > 0].sum()) <= outside:
        return 0.0
    points, tails = _tails(free)
    low, high = 0.0, float(deviations.max()) * math.exp(points[-1])
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        at = np.log(middle / np.maximum(deviations, 1e-300))
        beyond = float(odds @ np.interp(at, points, tails, left=1.0, right=0.0))
        low, high = (middle, high) if beyond > outside else (low, middle)
    return high


@lru_cache(maxsize=256)
def _tails(free: int) -> tuple[Array, Array]:
    """Table of Student's t: logarithms of t, and the probability beyond t in both tails."""
    points = np.linspace(-4.0, 5.0, 181)
    return points, np.array([both_tails(free, math.exp(x)) for x in points])


def _scatter(covariance: Array) -> float:
    """Expected variance of a sample with this covariance."""
    count = len(covariance)
    return float((np.trace(covariance) - covariance.sum() / count) / max(count - 1, 1))


def _kernels(times: Array) -> list[Array]:
    """For each kernel: covariances of the states at these times.

    The last row and column are those of the mean over the time after the run.
    """
    span = float(times.max() - times.min()) or 1.0
    step = span / max(len(times) - 1, 1)
    horizon = HORIZON * span
    steps = (np.arange(_HORIZON_POINTS) + 0.5) / _HORIZON_POINTS
    after = float(times.min() + times.max()) / 2 + horizon * steps
    every = np.concatenate([times, after])
    apart = np.abs(every[:, None] - every[None, :])
    constants = step * (horizon / step) ** (np.arange(_RELAXATIONS) / (_RELAXATIONS - 1))
    slow = {
        "brief": np.exp(-apart / (_BRIEF * span)),
        "run": np.exp(-apart / span),
        "flicker": sum(np.exp(-apart / constant) for constant in constants) / _RELAXATIONS,
        "walk": 1.0 - apart / (2 * horizon),
    }
    result = []
    count = len(times)
    for name, share, _ in _KERNELS:
        of_times = share * slow[name][:count, :count] + (1 - share) * np.eye(count)
        kernel = np.zeros((count + 1, count + 1))
        kernel[:count, :count] = of_times + 1e-9 * np.eye(count)
        kernel[count, :count] = kernel[:count, count] = share * slow[name][count:, :count].mean(0)
        kernel[count, count] = share * slow[name][count:, count:].mean()
        result.append(kernel)
    return result
