"""Predicts how long a job takes that copies each item in, runs a kernel and copies the result out.

The job has several buffer sets. For each set a host thread processes one item after another. An
item occupies, in this order:

    host       copies into the buffer, and the API's software; threads do not wait for each other
    link in    start-up, parallel to other transfers; then the data, one transfer at a time
    kernel     launch, then the kernel; the next one starts ``relaunch`` after its end
    link out   start-up and data, in the other direction
    host       copies out of the buffer

While both directions are busy, the transfer that began later runs at ``beside`` times its rate, and
the earlier transfer ends as planned. ``beside`` is 1 on a full-duplex link between separate
memories, and less if both directions share a bank of card memory or the host's memory. Times are in
seconds.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Literal, NamedTuple

MOST_SETS = 6
"""Most buffer sets that advice tries: five stages and a spare set."""
_SIMULATED = 240
"""Items that are simulated at most: each further item takes the average time."""
_FULL_DUPLEX = 1.03
"""Largest ratio of times, both directions together over the slower direction alone, that counts as
full duplex: acknowledgements of the other direction cost less."""


@dataclass(frozen=True)
class Transfer:
    """Cost of an item's transfer in one direction in seconds; all 0 if nothing is moved."""

    fixed: float = 0.0
    """Seconds of start-up (driver, doorbell, interrupt), which overlaps with other transfers."""
    data: float = 0.0
    """Seconds for which the link's direction is busy."""
    beside: float = 1.0
    """Rate while the other direction is busy over the rate alone; at most 1."""


@dataclass(frozen=True)
class Stages:
    """Seconds of one item at each stage of a job."""

    into: Transfer
    kernel: float
    out: Transfer
    launch: float = 0.0
    relaunch: float = 0.0
    """Seconds from a kernel's end to the start of the next, if the next waits in the queue."""
    host_before: float = 0.0
    host_after: float = 0.0
    channels: int = 0
    """Most simultaneous transfers in one direction; 0: any number."""
    overlaps: bool = True
    """Whether stages of several items overlap; false for a device that computes and copies with the
    host's processors."""

    @property
    def serial(self) -> float:
        """Seconds of one item alone, from its beginning to its end."""
        moved = self.into.fixed + self.into.data + self.out.fixed + self.out.data
        return self.host_before + moved + self.launch + self.kernel + self.host_after

    @property
    def both(self) -> float:
        """Seconds for an item's data in both directions, if both directions are always busy.

        In a period P each transfer loses 1 - beside of the time beside the other direction,
        together (1 - beside) P: 2 P = in + out + (1 - beside) P.
        """
        beside = (self.into.beside + self.out.beside) / 2
        apart = max(self.into.data, self.out.data)
        return max(apart, (self.into.data + self.out.data) / (1 + beside))

    @property
    def is_full_duplex(self) -> bool:
        """Whether both directions together take as long as the slower direction."""
        return self.both <= _FULL_DUPLEX * max(self.into.data, self.out.data)


Order = Literal["ahead", "in beside", "out beside", "both beside", "batches"]
"""Order of calls, if one thread serves several buffer sets.

- ``ahead``: the thread starts a kernel before it waits for the previous kernel. It moves data of
  other items meanwhile.
- ``in beside``, ``out beside``, ``both beside``: while a kernel runs, the thread moves inputs,
  outputs or both of other items. It starts the next kernel after the wait for this one.
- ``batches``: the thread moves the inputs of all sets, starts all kernels, then moves all outputs.
"""


class Limit(NamedTuple):
    """What limits a job with any number of buffer sets: a resource, and its seconds per item."""

    resource: str
    """The busiest: ``kernel``, ``link in``, ``link out``, ``both directions`` or ``host``."""
    seconds: float


def limit(stages: Stages) -> Limit:
    """The resource that is busy longest for each item."""
    if not stages.overlaps:
        return Limit("host", stages.serial)
    alone = [
        Limit("link in", stages.into.data),
        Limit("link out", stages.out.data),
        Limit("kernel", stages.kernel + stages.relaunch),
    ]
    longest = max(alone, key=lambda item: item.seconds)
    together = Limit("both directions", stages.both)
    shares = not stages.is_full_duplex and together.seconds > longest.seconds
    return together if shares else longest


def total_s(stages: Stages, items: int, sets: int) -> float:
    """Seconds of a job of ``items`` items with ``sets`` buffer sets, a thread for each set."""
    if sets == 1 or not stages.overlaps:
        return items * stages.serial
    if items <= _SIMULATED:
        return _scheduled(stages, items, sets)
    simulated_s = _scheduled(stages, _SIMULATED, sets)
    rate = (simulated_s - _scheduled(stages, _SIMULATED // 2, sets)) / (
        _SIMULATED - _SIMULATED // 2
    )
    return simulated_s + (items - _SIMULATED) * rate


def one_thread_s(stages: Stages, items: int, sets: int, order: Order = "ahead") -> float:
    """Seconds of a job of ``items`` items if one thread serves all sets, one transfer at a time."""
    into = stages.host_before + stages.into.fixed + stages.into.data
    out = stages.out.fixed + stages.out.data + stages.host_after
    runs = stages.launch + stages.kernel
    if order == "batches":
        queued = stages.kernel + stages.relaunch
        period = into + out + (runs + (sets - 1) * queued) / sets
    elif order == "ahead":
        period = max(into + out, stages.kernel + stages.relaunch, stages.serial / sets)
    else:
        beside = {"in beside": into, "out beside": out, "both beside": into + out}[order]
        period = into + out + runs - min(beside, runs)
    return stages.serial + (items - 1) * period


class _Direction:
    """One direction of the link during the simulation: until when it is busy."""

    def __init__(self, transfer: Transfer, channels: int) -> None:
        self.transfer = transfer
        self.channels = [0.0] * channels
        self.free = 0.0

    def end_of(self, now: float, other: _Direction) -> float:
        """Returns when a transfer ends that is ready ``now`` and waits for earlier transfers."""
        cost = self.transfer
        if not cost.fixed and not cost.data:
            return now
        begun = max(now, heapq.heappop(self.channels)) if self.channels else now
        served = max(begun + cost.fixed, self.free)
        # Seconds for which the other direction stays busy, which slow this transfer.
        meanwhile = max(0.0, other.free - served)
        if not cost.data:
            end = served
        elif cost.beside * meanwhile < cost.data:
            end = served + cost.data + (1 - cost.beside) * meanwhile
        else:
            end = served + cost.data / cost.beside
        self.free = end
        if self.channels or begun > now:
            heapq.heappush(self.channels, end)
        return end


def _scheduled(stages: Stages, items: int, sets: int) -> float:
    """Simulates ``items`` items and returns their seconds; stages serve threads as they arrive."""
    into = _Direction(stages.into, stages.channels)
    out = _Direction(stages.out, stages.channels)
    kernel_free = 0.0
    waiting = [(0.0, thread, 0) for thread in range(min(sets, items))]
    left = items - len(waiting)
    last = 0.0
    while waiting:
        now, thread, stage = heapq.heappop(waiting)
        if stage == 0:
            now += stages.host_before
        elif stage == 1:
            now = into.end_of(now, out)
        elif stage == 2:
            begin = max(now + stages.launch, kernel_free + stages.relaunch)
            now = kernel_free = begin + stages.kernel
        elif stage == 3:
            now = out.end_of(now, into)
        else:
            now += stages.host_after
            last = max(last, now)
            if not left:
                continue
            left -= 1
        heapq.heappush(waiting, (now, thread, (stage + 1) % 5))
    return last
