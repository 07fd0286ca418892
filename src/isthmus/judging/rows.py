"""Figures of rows: their rate, the time of one transfer, the best row of each object."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from isthmus.importers.base import Row


def rate(row: Row) -> float:
    """Bytes a second, as the median over repetitions; 0 if unknown."""
    rates = row.rates()
    return statistics.median(rates) if rates else 0.0


def each(row: Row) -> float:
    """Seconds of one transfer."""
    return statistics.median(row.seconds()) / max(row.times, 1)


def best_of_each(rows: Sequence[Row]) -> list[Row]:
    """The fastest row of each object."""
    objects: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        objects.setdefault((row.device, row.part), []).append(row)
    return [max(of_one, key=rate) for of_one in objects.values()]
