"""Data classes for what bounds a region of a program on emulated cards, and what changes gain."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from isthmus.models import pipeline

LoopKind = Literal[
    "partial sums",
    "local array",
    "tables",
    "own ports",
    "partition",
    "line buffer",
    "shift register",
]
"""Changes of a kernel's source (``isthmus_emulation.estimate.remedies``)."""
LOOP_KINDS: tuple[LoopKind, ...] = get_args(LoopKind)
Kind = Literal[
    LoopKind,
    "wide ports",
    "two banks",
    "double buffering",
    "threads",
    "host memory",
    "mapped buffers",
    "one sync",
]


class Way(NamedTuple):
    """How a program overlaps its items: number of threads and of buffer sets."""

    threads: int
    sets: int


class Change(NamedTuple):
    """A change of the program, and its gain by the model."""

    kind: Kind
    item_s: float
    """Seconds of an item with the change."""
    gain: float
    """Present time divided by the time with the change."""
    sets: int = 1
    """Number of buffer sets after the change."""
    before_s: float = 0.0
    """Present seconds of an item, including a board's memory where that is slower than the card."""
    kernel: str = ""
    """Kernel whose source a change of a loop concerns."""
    name: str = ""
    """Variable or arguments that a change of a loop concerns."""
    number: int = 0
    """Number that a change of a loop needs, such as that of partial sums; 0: none."""


@dataclass(frozen=True)
class KernelBound:
    """What bounds the runs of one kernel."""

    instance: str
    runs: int
    run_s: float
    bytes_per_s: float = 0.0
    """Bytes a second of the kernel's busiest port."""
    element_bytes: int = 0
    """Bytes that the busiest port moves in a clock; 0: unknown."""
    by: Literal["elements", "memory", "computing"] = "computing"
    least_s: float = 0.0
    """Shortest time of a run by the estimate; equal to ``most_s`` if the estimate is no range."""
    most_s: float = 0.0
    loop: str = ""
    """Loop with the most cycles in an estimate; empty without an estimate."""
    shared: tuple[str, ...] = ()
    """Arguments that share the busiest memory, if separate banks are faster; else empty."""
    moves: tuple[str, ...] = ()
    """Arguments of ``shared`` that should lie in another bank."""
    memory: str = ""
    """The memory that the arguments of ``shared`` use."""
    ports: tuple[str, ...] = ()
    """Names of the arguments that are buffers."""


@dataclass(frozen=True)
class Region:
    """What bounds a marked part of a program, or the whole program."""

    card: int
    name: str
    """Name of the program's mark; empty: the whole program."""
    seconds: float
    items: int
    share_read: float
    """Share of the region's time whose events were read; ``seconds`` and ``items`` are for all."""
    shares: dict[str, float]
    """Shares of the region's time: ``link in``, ``link out``, ``bank``, ``kernel``, ``launch``,
    ``host``."""
    bank: str
    """The memory that moves the most bytes."""
    bank_s: float
    """Seconds in which ``bank`` moves an item's data. They may exceed the item's time, because a
    kernel and transfers do not slow each other on the emulated card."""
    way: Way
    """How the program overlaps its items."""
    order: pipeline.Order
    """Order of calls, if one thread has several buffer sets."""
    buffer_sets: int
    """Buffer sets that the kernel's runs use, even if no work overlaps; 0: unknown."""
    modelled_s: float
    """The model's seconds for ``way``; their difference to ``seconds`` is the model's error."""
    limit: pipeline.Limit
    """Least time of an item with any number of buffer sets, and the resource behind it. The
    resource is ``bank`` for the busiest memory."""
    alone_s: float
    """Seconds of an item from begin to end if no other item overlaps with it."""
    moves_s: float
    """Seconds in which the host computes for an item, and in which its data move."""
    kernel_s: float
    """Seconds of an item's kernels."""
    startup: float
    """Share of the transfers' time that is start-up time."""
    computed_s: float
    """Seconds in which the host's threads compute for an item."""
    copied_s: float
    """Seconds of ``computed_s`` in which the threads copy an item's data into or out of buffers."""
    kernels: tuple[KernelBound, ...]
    changes: tuple[Change, ...]
    """Changes by gain, the largest gain first."""

    @property
    def item_s(self) -> float:
        """Seconds of an item."""
        return self.seconds / self.items


def plain(regions: Sequence[Region]) -> list[dict[str, object]]:
    """Returns regions as objects for JSON."""
    return [
        {
            **dataclasses.asdict(region),
            "item_s": region.item_s,
            "way": region.way._asdict(),
            "limit": region.limit._asdict(),
            "changes": [change._asdict() for change in region.changes],
        }
        for region in regions
    ]
