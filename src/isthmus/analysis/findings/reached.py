"""Rates of large copies on healthy devices: published and stored runs, by name of the device.

``reached.csv`` has a row for each run: copies of pinned memory, in the unit of its source. Each
card is expected to reach the slowest run of its family: hosts of a family differ more than its
cards. Add a row to make a further device known.
"""

from __future__ import annotations

import csv
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from isthmus.models.pcie import Link, link_of
from isthmus.published.source import UNITS
from isthmus.results.run_file import DeviceRecord
from isthmus.thresholds import SETTLED


class Known(NamedTuple):
    """Runs of a device's family in one direction, as rates on the device's link."""

    family: str
    own: float
    """Bytes a second of the slowest known run of a card of this name."""
    least: float
    """Bytes a second of the family's slowest run; ``most``: of its fastest."""
    most: float
    runs: int
    source: str
    """Source of the slowest run."""


class Run(NamedTuple):
    """One run of the table."""

    family: str
    name: str
    link: Link
    rates: dict[str, float]
    """Bytes a second by operation."""
    source: str


@cache
def table() -> tuple[Run, ...]:
    """All known runs."""
    with Path(__file__).with_name("reached.csv").open(encoding="utf-8", newline="") as file:
        return tuple(_row(row) for row in csv.DictReader(file))


def _row(row: dict[str, str]) -> Run:
    rates = {way: float(row[way]) * UNITS[row["unit"]] for way in ("write", "read")}
    link = next(link for link in _LINKS if link.name == row["link"])
    return Run(row["family"], row["name"], link, rates, row["source"])


_LINKS = tuple(Link(speed, lanes) for speed in (5.0, 8.0, 16.0, 32.0) for lanes in (4, 8, 16))


def known_of(device: DeviceRecord, copy: Any) -> Known | None:
    """Known runs of a copy's operation on devices of this family; None if there are none.

    Rates are scaled to the link of this device, which is at most as fast as the fastest link of the
    family's runs. ``copy``: a row of the summary.
    """
    link, words = link_of(device.link), set(re.split(r"[^a-z0-9]+", device.name.lower()))
    rows = [row for row in table() if row.name in words]
    if not (device.real and link and rows) or copy.bytes < SETTLED:
        return None
    family = [row for row in table() if row.family == rows[0].family]
    if copy.operation not in rows[0].rates or link.raw > max(row.link.raw for row in family):
        return None

    def rate(row: Run) -> float:
        return row.rates[copy.operation] / row.link.raw * link.raw

    slowest = min(family, key=rate)
    return Known(
        slowest.family, min(map(rate, rows)), rate(slowest), max(map(rate, family)), len(family),
        slowest.source,
    )  # fmt: skip
