"""What bounds a region of a program on emulated cards, and what changes gain, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from isthmus.models import pipeline

Kind = Literal[
    "wide ports",
    "partial sums",
    "two banks",
    "double buffering",
    "threads",
    "host memory",
    "mapped buffers",
]


class Way(NamedTuple):
    """How a program overlaps its items: threads and buffer sets."""

    threads: int
    sets: int


class Change(NamedTuple):
    """A change of the program, and the gain by the model."""

    kind: Kind
    item_s: float
    """Seconds of an item with the change."""
    gain: float
    """Present time over the time with the change."""
    sets: int = 1
    """Buffer sets after the change."""
    before_s: float = 0.0
    """Seconds of an item now: more than on the card where a board's memory makes it longer."""


@dataclass(frozen=True)
class KernelBound:
    """What bounds the runs of one kernel."""

    instance: str
    runs: int
    run_s: float
    bytes_per_s: float = 0.0
    """Rate of its busiest port."""
    element_bytes: int = 0
    """Bytes that the busiest port moves in a clock; 0: unknown."""
    by: Literal["elements", "memory", "computing"] = "computing"
    loop: str = ""
    """Of an estimate: the loop with most cycles."""
    partial_sums: int = 0
    """So many in that loop spare time; 0: they do not."""
    shared: tuple[str, ...] = ()
    """Arguments that share the busiest memory, where separate banks are faster."""
    moves: tuple[str, ...] = ()
    """Those of ``shared`` that need another bank."""
    memory: str = ""
    """The memory that the arguments share."""
    ports: tuple[str, ...] = ()
    """Names of the arguments that are buffers."""


@dataclass(frozen=True)
class Region:
    """What bounds a part of a program."""

    card: int
    name: str
    """Name of the program's mark; empty: the whole program."""
    seconds: float
    items: int
    share_read: float
    """Share of the time whose events were read; below 1 seconds and items are scaled up."""
    shares: dict[str, float]
    """Shares of the time: ``link in``, ``link out``, ``bank``, ``kernel``, ``launch``, ``host``."""
    bank: str
    """The busiest memory."""
    bank_s: float
    """Time in which it moves an item's data. It may exceed the item's time, because a kernel and
    transfers do not slow each other on the emulated card."""
    way: Way
    """How the program overlaps its items."""
    order: pipeline.Order
    """Order of the calls of one thread with several sets."""
    buffer_sets: int
    """Buffer sets that the kernel's runs use, also where nothing overlaps; 0: unknown."""
    modelled_s: float
    """The model's time for ``way``; compare it with ``seconds`` to see the error of the gains."""
    limit: pipeline.Limit
    """Least time of an item, however many sets there are. The resource is ``bank`` where that is
    the busiest memory."""
    alone_s: float
    """Time of an item from begin to end, where no other item is on its way."""
    moves_s: float
    """Time in which the host computes for an item and its data move."""
    kernel_s: float
    """Time of an item's kernels."""
    startup: float
    """Share of the transfers' time that is start-up."""
    computed_s: float
    """Time in which the host's threads compute for an item."""
    copied_s: float
    """Of that, the time in which they copy an item's data into buffers, or out of them."""
    kernels: tuple[KernelBound, ...]
    changes: tuple[Change, ...]
    """By gain, the largest first."""

    @property
    def item_s(self) -> float:
        """Time of an item."""
        return self.seconds / self.items


def plain(found: Sequence[Region]) -> list[dict[str, object]]:
    """Returns regions as objects for JSON."""
    return [
        {
            **dataclasses.asdict(region),
            "item_s": region.item_s,
            "way": region.way._asdict(),
            "limit": region.limit._asdict(),
            "changes": [change._asdict() for change in region.changes],
        }
        for region in found
    ]
