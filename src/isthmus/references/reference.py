"""Types of references: a board or a DMA engine, and rates that healthy ones are known to reach."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from isthmus.errors import UsageError
from isthmus.published.source import UNITS
from isthmus.units import parse_size

Quantity = Literal["copy", "peer", "on_card", "memory", "host_memory", "call"]


class Links(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The link between a board and its host."""

    pcie: str = ""
    """The PCIe link as it usually trains: ``gen3x16``; empty for a link that is not PCIe."""
    others: list[str] = []
    """Further PCIe links to which the board's link may train."""
    fastest: list[str] = []
    """For a DMA engine: the fastest PCIe links for which it is made."""
    name: str = ""
    """Name of a link that is not PCIe: ``NVLink-C2C``; empty for PCIe."""
    GBps: float = 0.0
    """Rate of the link ``name`` in each direction, in 10^9 bytes per second."""
    source: str = ""


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A device's own memory: kind and rate."""

    name: str
    GBps: float
    source: str
    shared_with_host: bool = False
    most_GBps: float = 0.0  # noqa: N815 - a unit
    """Memory rate of the board's fastest variant, in 10^9 bytes per second, if variants share a
    printed name; else 0."""


class Peer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A link that joins two boards of this kind."""

    name: str
    GBps: float
    """Rate in each direction, in 10^9 bytes per second."""
    source: str


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rate, or a time of one small transfer, that a healthy board is known to reach."""

    quantity: Quantity
    low: float
    high: float
    unit: str
    source: str
    """Where the run was published. All figures of one run have the same source."""
    detail: str = ""
    """Which figure of the published run this is: ``three writes of 16384 B``."""
    also: list[float] = []
    """Further figures of the run in ``unit``. If a log has them, it is a log of this same run."""
    direction: Literal["h2d", "d2h", "both", ""] = ""
    size: str = ""
    """Size of one transfer if it is small: ``4Ki``; empty for large transfers."""
    link: str = ""
    """Link of the board in that run; empty: the board's usual link."""
    engine: str = ""
    """What moved the data: ``ce`` (copy engine) or ``sm``, if their rates differ; else empty."""
    memory: str = ""
    """Kind of host memory; empty: page-locked, or the program's usual kind."""
    family: str = ""
    """Family of devices whose run files are judged by this rate; set only for large copies of
    pinned memory."""

    @property
    def cited(self) -> str:
        """The source, followed by the detail."""
        return f"{self.source}: {self.detail}" if self.detail else self.source

    @property
    def least(self) -> float:
        """Lower end of the known range, in bytes per second or seconds."""
        return self.low * UNITS[self.unit]

    @property
    def most(self) -> float:
        """Upper end of the known range, in bytes per second or seconds."""
        return self.high * UNITS[self.unit]


class About(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Name and kind of a board or an engine, and the printed names that belong to it."""

    name: str
    title: str
    kind: str = ""
    words: list[str] = []
    """Words by which a printed name belongs to the board: ``u50``. If an entry has several words,
    the name must have all of them."""
    excludes: list[str] = []
    """Words by which a printed name belongs to another board: ``laptop``."""
    engine: str = ""


class Reference(About, frozen=True, kw_only=True):
    """A board or an engine, with the rates that boards or engines of this kind reach."""

    link: Links = Links()
    memory: Memory | None = None
    peers: list[Peer] = []
    known: list[Known] = []
    file: str = ""

    def fits(self, printed: str) -> bool:
        """Whether a printed name belongs to this board, by ``words`` and ``excludes``."""
        words = set(re.split(r"[^a-z0-9]+", printed.lower()))
        wanted = any(set(re.split(r"[^a-z0-9]+", word)) <= words for word in self.words)
        return wanted and not words & set(self.excludes)

    def check(self) -> None:
        """Raises UsageError for wrong units, ranges or sizes, and for figures without a source."""
        for rate in self.known:
            if rate.unit not in UNITS:
                raise UsageError(f"unknown unit '{rate.unit}'")
            if not 0 < rate.low <= rate.high:
                raise UsageError(f"low {rate.low:g} and high {rate.high:g} are no range")
            if not rate.source:
                raise UsageError(f"{rate.quantity} {rate.low:g} {rate.unit} has no source")
            if rate.size:
                parse_size(rate.size)
        for what in (self.link if self.link.pcie or self.link.GBps else None, self.memory):
            if what is not None and not what.source:
                raise UsageError("a link or a memory has no source")
