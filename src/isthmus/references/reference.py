"""A board or a DMA engine: what it is, and what such ones are known to reach."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from isthmus.errors import UsageError
from isthmus.published.source import UNITS
from isthmus.units import parse_size

Quantity = Literal["copy", "peer", "on_card", "memory", "host_memory", "call"]


class Links(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The link to the host."""

    pcie: str = ""
    """As it is usually trained: ``gen3x16``."""
    others: list[str] = []
    """Further links that it can be trained to."""
    fastest: list[str] = []
    """Of an engine: the fastest links that it is made for."""
    name: str = ""
    """Of a link that is no PCIe: ``NVLink-C2C``."""
    GBps: float = 0.0
    """Of such a link, each direction."""
    source: str = ""


class Memory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The device's own memory."""

    name: str
    GBps: float
    source: str
    shared_with_host: bool = False
    most_GBps: float = 0.0  # noqa: N815 - a unit
    """Of the fastest variant of the board, where its name does not tell them apart."""


class Peer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way to join two of these boards."""

    name: str
    GBps: float
    """Each direction."""
    source: str


class Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rate, or a time of one small transfer, that a healthy board is known to reach."""

    quantity: Quantity
    low: float
    high: float
    unit: str
    source: str
    """Of the run: all figures of one run have the same."""
    detail: str = ""
    """Which figure of the run it is: ``three writes of 16384 B``."""
    also: list[float] = []
    """Further figures of the run, in this unit, by which a log of the run is recognised."""
    direction: Literal["h2d", "d2h", "both", ""] = ""
    size: str = ""
    """Of one transfer, where it is small: ``4Ki``."""
    link: str = ""
    """Empty: the board's usual one."""
    engine: str = ""
    """``ce`` or ``sm`` where the two differ."""
    memory: str = ""
    """Of the host; empty: page-locked, or as the program has it."""
    family: str = ""
    """Devices whose run files are judged by this run; of large copies of pinned memory alone."""

    @property
    def cited(self) -> str:
        """The source, with the detail."""
        return f"{self.source}: {self.detail}" if self.detail else self.source

    @property
    def least(self) -> float:
        """Bytes a second or seconds."""
        return self.low * UNITS[self.unit]

    @property
    def most(self) -> float:
        """Bytes a second or seconds."""
        return self.high * UNITS[self.unit]


class About(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a board or an engine is, and which printed names are of it."""

    name: str
    title: str
    kind: str = ""
    words: list[str] = []
    """Words of printed names: ``u50``; several words in one must all be there."""
    excludes: list[str] = []
    """Words that make it another board: ``laptop``."""
    engine: str = ""


class Reference(About, frozen=True, kw_only=True):
    """A board or an engine, with the rates that boards or engines of this kind reach."""

    link: Links = Links()
    memory: Memory | None = None
    peers: list[Peer] = []
    known: list[Known] = []
    file: str = ""

    def fits(self, printed: str) -> bool:
        """Whether a printed name is one of this board."""
        words = set(re.split(r"[^a-z0-9]+", printed.lower()))
        wanted = any(set(re.split(r"[^a-z0-9]+", one)) <= words for one in self.words)
        return wanted and not words & set(self.excludes)

    def check(self) -> None:
        """Raises UsageError for values that no board has, and for figures without a source."""
        for one in self.known:
            if one.unit not in UNITS:
                raise UsageError(f"unknown unit '{one.unit}'")
            if not 0 < one.low <= one.high:
                raise UsageError(f"low {one.low:g} and high {one.high:g} are no range")
            if not one.source:
                raise UsageError(f"{one.quantity} {one.low:g} {one.unit} has no source")
            if one.size:
                parse_size(one.size)
        for what in (self.link if self.link.pcie or self.link.GBps else None, self.memory):
            if what is not None and not what.source:
                raise UsageError("a link or a memory has no source")
