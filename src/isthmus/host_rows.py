"""Collects host times and readings of the host's speed, to widen each row's interval by them.

The runner adds results as they arrive, a summary adds the results of a run file. Both thus judge a
row by the same interval.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Generic, TypeVar

from isthmus.results.run_file import HostReading, Point, Rerun
from isthmus.statistics import FEWEST, middle
from isthmus.thresholds import LARGE

if TYPE_CHECKING:
    from isthmus.statistics.host_state import Slow

Key = TypeVar("Key", bound=Hashable)
"""Type of the key that identifies a row."""
REFERENCES = ("system_call_s", "copy_s", "arithmetic_s")
"""Fields of ``HostReading`` with the seconds of each reference for the host's speed."""


@dataclass
class HostRows(Generic[Key]):
    """Host times of a run's rows, and readings of the host's speed, by number of the process."""

    confidence: float
    results: int = field(default=0, init=False)
    """Number of added results."""
    _kinds: dict[Key, Hashable] = field(default_factory=dict, init=False)
    _logs: dict[Key, dict[int, float]] = field(default_factory=dict, init=False)
    _readings: dict[int, list[list[float]]] = field(default_factory=dict, init=False)
    _at_s: dict[int, list[float]] = field(default_factory=dict, init=False)

    def add(self, row: Key, point: Point, rerun: Rerun) -> None:
        """Adds the result of one process for a point: its median host time, and its readings."""
        self.results += 1
        if rerun.at_s is not None:
            self._at_s.setdefault(rerun.rerun, []).append(rerun.at_s)
        for reading in rerun.host_speed:
            if logs := _logs(reading):
                self._readings.setdefault(rerun.rerun, []).append(logs)
        if "host" in rerun.clocks and rerun.clocks["host"].ticks:
            median_s = middle(rerun.seconds("host").tolist())
            self._kinds.setdefault(row, _kind(point))
            of_row = self._logs.setdefault(row, {})
            of_row[rerun.rerun] = math.log(median_s) if median_s > 0 else -math.inf

    @property
    def readings(self) -> dict[int, tuple[float, ...]]:
        """By process: logarithm of each reference's seconds, averaged over the readings."""
        return {
            number: tuple(map(fmean, zip(*of, strict=True)))
            for number, of in self._readings.items()
        }

    @property
    def times(self) -> dict[int, float]:
        """By process: mean seconds from the start of the run to the process's visits."""
        return {number: fmean(of) for number, of in self._at_s.items()}

    def logs(self, row: Key) -> Mapping[int, float]:
        """By process: logarithm of the row's median host time in seconds.

        Empty if a median is 0, or if fewer than two processes measured the row.
        """
        logs = self._logs.get(row, {})
        return logs if len(logs) > 1 and -math.inf not in logs.values() else {}

    def slow(self) -> Mapping[Key, Slow]:
        """How much the host's varying speed adds to the interval of each row that has ``logs``.

        Empty without any reading of the host's speed. ``UNKNOWN`` for every row if fewer than
        ``FEWEST`` processes have readings.
        """
        # Imported here, because planning a run does not need numpy.
        from isthmus.statistics.host_state import UNKNOWN, Row, slow_parts  # noqa: PLC0415

        readings = self.readings
        if not readings:
            return {}
        rows = {row: Row(self._kinds[row], logs) for row in self._logs if (logs := self.logs(row))}
        if len(readings) < FEWEST:
            return dict.fromkeys(rows, UNKNOWN)
        parts = slow_parts(list(rows.values()), readings, self.times, self.confidence)
        return dict(zip(rows, parts, strict=True))


def _logs(reading: HostReading) -> list[float]:
    """Logarithms of a reading's seconds by reference; empty if the clock measured 0 for one."""
    seconds = [getattr(reading, name) for name in REFERENCES]
    return [math.log(s) for s in seconds] if min(seconds) > 0 else []


def _kind(point: Point) -> Hashable:
    """Key of points that should scatter alike.

    All small copies of a device share a key, as do its large copies with one kind of memory. A
    point that moves no data has its own key.
    """
    if not point.moved_bytes:
        return point.study, point.device, point.operation, point.memory, point.bytes
    large = point.bytes >= LARGE
    return point.study, point.device, large, point.memory if large else ""
