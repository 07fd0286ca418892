"""Estimates and their intervals: the one place for statistics.

Processes are the sample: medians of processes differ by more than any interval within one process
says (T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013). Needs nothing
of the rest of Isthmus, so that measuring and analysis judge by the same functions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


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
        if math.isnan(self.low) or math.isnan(self.high) or self.value <= 0:
            return math.inf
        return max(self.high - self.value, self.value - self.low) / self.value


def over_processes(medians: Sequence[float], confidence: float = 0.95) -> Interval:
    """Centre of several processes' medians, each > 0: geometric mean, Student's t of the logarithms.

    Fewer than two processes have no interval. Raises ValueError for an empty sequence.
    """
    if not medians:
        raise ValueError("no process measured this")
    logs = [math.log(median) for median in medians]
    centre = math.fsum(logs) / len(logs)
    if len(logs) < 2:
        return Interval(math.exp(centre), math.nan, math.nan, confidence)
    from scipy.special import stdtrit  # noqa: PLC0415 - every command would wait for it

    variance = math.fsum((log - centre) ** 2 for log in logs) / (len(logs) - 1)
    half = float(stdtrit(len(logs) - 1, 0.5 + confidence / 2)) * math.sqrt(variance / len(logs))
    return Interval(math.exp(centre), math.exp(centre - half), math.exp(centre + half), confidence)
