"""Estimates how much of a change between two sides the speed of their hosts explains."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from isthmus.host_rows import REFERENCES, HostRows
from isthmus.statistics import FEWEST, Interval, shift
from isthmus.statistics.host_state import MOST_SENSITIVE, Row, slow_parts
from isthmus.student import student

_SIGMAS = 1.96
"""Standard deviations in the half-widths of the references' changes, whose confidence is 95 %."""
Process = tuple[int, int, int]
"""Number of the side, number of the run on that side, number of the process in the run."""
Sides = Sequence[Sequence[HostRows[int]]]
"""``host_state.rows_of`` of each run of each side."""


class HostChange(NamedTuple):
    """How a reference of the second side's hosts compares with the first side's."""

    reference: str
    """Field of a reading that has the reference: ``system_call_s``."""
    ratio: Interval
    """The reference's time on the second side over that on the first."""


class Explained(NamedTuple):
    """Range of what the hosts' change may add to the logarithm of a time."""

    low: float
    high: float
    unseen: float
    """Half-width by which two runs may differ as a whole, which no reference shows, as a log."""


class Hosts:
    """How the references of host speed changed between two sides, and what that explains."""

    def __init__(self, sides: Sides, confidence: float) -> None:
        """Compares the references of two sides, of which each run has ``FEWEST`` readings."""
        self._logs: dict[Process, tuple[float, ...]] = {}
        self._sides = sides
        means: list[list[list[float]]] = [[], []]
        for side, runs in enumerate(sides):
            for number, rows in enumerate(runs):
                known = rows.readings
                for process, logs in known.items():
                    self._logs[side, number, process] = logs
                means[side].append(np.mean(list(known.values()), axis=0).tolist())
        self._per_run = min(map(len, sides)) > 1
        self.changes = []
        for i, name in enumerate(REFERENCES):
            before, after = (
                [run[i] for run in means[side]] if self._per_run
                else [logs[i] for key, logs in self._logs.items() if key[0] == side]
                for side in (0, 1)
            )  # fmt: skip
            self.changes.append(HostChange(name, shift(before, after, confidence).exponential()))
        self._numbers = {key: number for number, key in enumerate(self._logs)}

    def explained(
        self,
        parts: Sequence[Mapping[Process, float]],
        confidence: float,
        kinds: Sequence[Hashable] = (),
    ) -> list[Explained]:
        """Which change of its logarithm the hosts' change may explain, for each part.

        It is sensitivity times change of the reference. Its variance has an unbiased estimate
        (Goodman, "On the exact variance of products", Journal of the American Statistical
        Association 55 (1960), 708): an unknown sensitivity counts only as far as the reference
        changed by more than its error. Noise in readings lessens a slope, so a row may follow a
        reference up to the ratio of both scatters (the slope of the reduced major axis; Frisch,
        "Statistical confluence analysis", 1934, bounds slopes by both regressions).

        Args:
            parts: log time of each process, for each series.
            confidence: Confidence of the sensitivities, which come from processes of one run.
            kinds: Kind of each part: parts of one kind scatter alike. Empty: all kinds differ.

        """
        centred = _centred(self._logs)
        states = {self._numbers[key]: tuple(logs) for key, logs in centred.items()}
        rows = []
        for i, part in enumerate(parts):
            own = _centred({k: (v,) for k, v in part.items() if k in self._numbers})
            rows.append(Row(i, {self._numbers[key]: logs[0] for key, logs in own.items()}))
        hidden = [0.0] * len(parts) if self._per_run else unseen(parts, kinds, self._sides)
        ranges = []
        for row, slow, rest in zip(rows, slow_parts(rows, states, {}), hidden, strict=True):
            reach = student(max(len(row.logs) - 1, 1), 0.5 + confidence / 2)
            middle, unsure, bounds = 0.0, [0.0], [0.0]
            for change, value, error, most in zip(
                self.changes, slow.sensitivities, slow.errors, slow.most, strict=False
            ):
                ratio, sensitivity = change.ratio.logarithm(), min(max(value, 0.0), MOST_SENSITIVE)
                wide = (ratio.high - ratio.low) / 2
                changed = math.sqrt(max(ratio.value**2 - (wide / _SIGMAS) ** 2, 0.0))
                middle += sensitivity * ratio.value
                unsure += [reach * error * changed, sensitivity * wide]
                bounds.append(math.copysign(most * changed, ratio.value))
            low, high = middle - math.hypot(*unsure), middle + math.hypot(*unsure)
            ranges.append(Explained(min(low, *bounds), max(high, *bounds), rest))
        return ranges


def unseen(
    parts: Sequence[Mapping[Process, float]],
    kinds: Sequence[Hashable],
    sides: Sides,
) -> list[float]:
    """Half-width by which two runs may differ as a whole, for each part; NaN where unknown.

    The references do not show this state; the model that widens shown intervals estimates it.
    """
    squares = np.zeros(len(parts))
    for side, runs in enumerate(sides):
        for number, of_host in enumerate(runs):
            of_run = [
                {process: log for (s, n, process), log in part.items() if (s, n) == (side, number)}
                for part in parts
            ]
            rows = [
                Row(kind, logs)
                for kind, logs in zip(kinds or range(len(parts)), of_run, strict=True)
            ]
            known = slow_parts(rows, of_host.readings, of_host.times)
            squares += [slow.rest**2 if slow.known else math.nan for slow in known]
    return [math.sqrt(square) for square in squares]


def _centred(logs: Mapping[Process, Sequence[float]]) -> dict[Process, tuple[float, ...]]:
    """Subtracts the mean of its run from each value, so that slopes are those within runs."""
    of_run: dict[tuple[int, int], list[Sequence[float]]] = {}
    for (side, number, _), values in logs.items():
        of_run.setdefault((side, number), []).append(values)
    means = {run: np.mean(values, axis=0) for run, values in of_run.items()}
    return {key: tuple((np.array(v) - means[key[:2]]).tolist()) for key, v in logs.items()}


def hosts(sides: Sides, confidence: float) -> Hosts | None:
    """The change of the references between two sides; None where a run has too few of them."""
    few = any(len(rows.readings) < FEWEST for runs in sides for rows in runs)
    return None if few else Hosts(sides, confidence)
