"""What healthy devices of a known name reach of their link: published and stored runs.

``reached.csv`` has a row for each run: large copies of pinned memory, in the unit of its source. A
family's hosts differ more than its cards, so that the slowest run of a family is what is expected
of each card; the scatter of its runs is the evidence. To know a further device, add its row.
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
    """Least bytes a second of cards of this name, of those that are known."""
    least: float
    """Of the family."""
    most: float
    runs: int
    source: str
    """Of the slowest run."""


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
    """What is known of a copy's operation on a device of this name; None if nothing is.

    Shares of a link carry over to every link up to the fastest of the family's runs: rates are
    scaled to this one. ``copy``: a row of the summary, of one direction.
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
