"""Computes figures of rows: rate, time of one transfer, best row of each object."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from isthmus.importers.base import Row


def rate(row: Row) -> float:
    """Median of a row's bytes a second over repetitions; 0 if unknown."""
    rates = row.rates()
    return statistics.median(rates) if rates else 0.0


def each(row: Row) -> float:
    """Seconds of one transfer of a row."""
    return statistics.median(row.seconds()) / max(row.times, 1)


def best_of_each(rows: Sequence[Row]) -> list[Row]:
    """The row with the highest rate, for each object."""
    objects: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        objects.setdefault((row.device, row.part), []).append(row)
    return [max(of_one, key=rate) for of_one in objects.values()]
