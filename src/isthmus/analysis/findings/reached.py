"""Rates of large copies on healthy devices: published and stored runs, by name of the device.

The runs are those of ``isthmus.references`` with a family: copies of pinned memory. Each card is
expected to reach the slowest run of its family: hosts of a family differ more than its cards.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from isthmus import references
from isthmus.models.pcie import Link, link_of
from isthmus.references import Reference
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
    """Copies of one run."""

    family: str
    device: Reference
    link: Link
    rates: dict[str, float]
    """Bytes a second by operation."""
    source: str


@cache
def table() -> tuple[Run, ...]:
    """All known runs."""
    runs: dict[tuple[str, str], Run] = {}
    for reference in references.boards().values():
        for known in reference.known:
            if known.family:
                link = references.link(reference.link.pcie)
                run = Run(known.family, reference, link, {}, known.source)
                run = runs.setdefault((reference.name, known.source), run)
                run.rates[_OPERATIONS[known.direction]] = known.least
    return tuple(runs.values())


_OPERATIONS = {"h2d": "write", "d2h": "read"}


def known_of(device: DeviceRecord, copy: Any) -> Known | None:
    """Known runs of a copy's operation on devices of this family; None if there are none.

    Rates are scaled to the link of this device, which is at most as fast as the fastest link of the
    family's runs. ``copy``: a row of the summary.
    """
    link = link_of(device.link)
    rows = [row for row in table() if row.device.fits(device.name)]
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
