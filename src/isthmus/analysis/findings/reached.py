"""Looks up rates of large copies in known runs of healthy devices, by name of the device.

Known runs are those of ``isthmus.references`` with a family: copies of pinned memory. A card is
expected to reach its family's slowest run, because hosts of a family differ more than its cards.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from isthmus import references
from isthmus.models.pcie import Link, link_of
from isthmus.references import Reference
from isthmus.results.run_file import DeviceRecord
from isthmus.thresholds import SETTLED


class KnownRates(NamedTuple):
    """Rates of known runs of a device's family in one direction, scaled to the device's link."""

    family: str
    least_of_name: float
    """Bytes a second of the slowest known run of a card of this name."""
    least_of_family: float
    """Bytes a second of the family's slowest run."""
    most_of_family: float
    """Bytes a second of the family's fastest run."""
    runs: int
    source: str
    """Publication or file of the family's slowest run."""


class KnownRun(NamedTuple):
    """Rates of the copies of one known run."""

    family: str
    device: Reference
    link: Link
    rates: dict[str, float]
    """Bytes a second by operation."""
    source: str


@cache
def table() -> tuple[KnownRun, ...]:
    """Returns all known runs of devices that belong to a family."""
    runs: dict[tuple[str, str], KnownRun] = {}
    for reference in references.boards().values():
        for known in reference.known:
            if known.family:
                link = references.link(known.link or reference.link.pcie)
                run = KnownRun(known.family, reference, link, {}, known.source)
                run = runs.setdefault((reference.name, known.source), run)
                run.rates[_OPERATIONS[known.direction]] = known.least
    return tuple(runs.values())


_OPERATIONS = {"h2d": "write", "d2h": "read"}


def known_of(device: DeviceRecord, copy: Any) -> KnownRates | None:
    """Known rates of a copy's operation on devices of this family; None if there are none.

    Rates are scaled to this device's link. None also if this link is faster than all links of the
    family's runs. ``copy``: a row of the summary.
    """
    link = link_of(device.link) if device.real and copy.bytes >= SETTLED else None
    rows = [row for row in table() if row.device.fits(device.name)] if link else []
    if not (link and rows):
        return None
    family = [row for row in table() if row.family == rows[0].family]
    if copy.operation not in rows[0].rates or link.raw > max(row.link.raw for row in family):
        return None

    def rate(row: KnownRun) -> float:
        return row.rates[copy.operation] / row.link.raw * link.raw

    slowest = min(family, key=rate)
    return KnownRates(
        slowest.family, min(map(rate, rows)), rate(slowest), max(map(rate, family)), len(family),
        slowest.source,
    )  # fmt: skip
