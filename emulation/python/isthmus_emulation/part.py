"""Finds the stages of an item from a region's events, and how the program overlaps items."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from isthmus.boards import Board
from isthmus.models import pipeline
from isthmus.models.pipeline import MOST_SETS, Order, Stages, Transfer
from isthmus_emulation.region import Way
from isthmus_emulation.trace import Event, KernelFacts, TransferFacts

_FS = 1e-15
KINDS = {"write": "link in", "read": "link out", "kernel": "kernel", "launch": "launch"}
"""Kinds of events that take time, with the names under which their shares are shown."""
_OVERLAPS = 0.02
"""Least share of work that runs beside other work from which on a program overlaps work. The share
is above 0 because the ends of events touch."""
_SAME = 1.03
"""Largest ratio of the model's errors at which a simpler way counts as good as the best."""
_LATE: Final[tuple[Order, ...]] = ("in beside", "out beside", "both beside", "batches")
"""Orders of calls in which kernels start late, the most usual order first."""
_ACTIVE = 0.3
"""Least share of the busiest thread's calls from which on a thread counts. A thread that only
prepares buffers makes fewer calls."""


class Part:
    """The events of a region, and the stages of its items."""

    def __init__(
        self,
        events: Sequence[Event],
        host: Sequence[Event],
        length_fs: int,
        board: Board,
        begin_fs: int | None = None,
    ) -> None:
        """Finds the stages.

        Args:
            events: Events of the card in the region.
            host: Events of the host in the region.
            length_fs: Length of the region.
            board: Board of the card.
            begin_fs: Begin of a whole program, whose setup counts once. None: the region is marked.

        """
        self.board = board
        self.length = length_fs * _FS
        self.events = events
        self.of = {kind: [event for event in events if event.kind == kind] for kind in KINDS}
        runs: dict[str, list[Event]] = {}
        for event in self.of["kernel"]:
            runs.setdefault(event.name, []).append(event)
        self.runs = runs
        longest = max(runs.values(), key=lasting, default=[])
        self.items = len(longest) or max(len(self.of["write"]), len(self.of["read"]))
        self.kernel = union(self.of["kernel"]) / self.items
        self.busy = union(event for some in self.of.values() for event in some)
        first = min((e.begin_fs for e in events if e.kind in {"launch", "kernel"}), default=0)
        calls = [event for event in host if event.kind == "call"]
        self.copied = lasting(event for event in host if event.kind == "host copy") / self.items
        self.computed = max(self.copied, sum(call.bytes for call in calls) * _FS / self.items)
        # A thread that only prepares buffers makes its calls before the first kernel.
        self.threads = _threads([call for call in calls if call.begin_fs >= first])
        self.buffer_sets = _buffer_sets(longest)
        self.stages = self._stages()
        self.pinned = 0.0
        """Seconds for the pages of the buffers, which a buffer set more makes longer."""
        self.setup = 0.0
        """Seconds of a whole program that more items do not make longer."""
        if begin_fs is not None and self.items > 1:
            self.pinned = lasting(event for event in events if event.kind == "pin")
            self.setup = self._setup((first - begin_fs) * _FS)
        self.overlaps = self.items > 1 and self._overlaps()
        if not self.overlaps:  # the host takes the time that the card is idle
            recurring = (self.length - self.setup) / self.items
            left = max(0.0, recurring - (self.stages.serial - self.computed))
            self.stages = replace(self.stages, host_before=left / 2, host_after=left / 2)
        self.way, self.order = self._way()
        self.modelled = self.total(self.stages, self.way, self.order)

    def _setup(self, until_first: float) -> float:
        """Returns the seconds that a program takes once: before its first kernel, and to load it.

        ``until_first``: seconds until the program starts its first kernel.
        """
        launches = [event.duration_fs * _FS for event in self.of["launch"]]
        wakes = max(launches, default=0.0) - statistics.median(launches or [0.0])
        return max(0.0, until_first - self.stages.host_before - self._into_s()) + wakes

    def _into_s(self) -> float:
        return self.stages.into.fixed + self.stages.into.data

    def total(self, stages: Stages, way: Way, order: Order = "ahead") -> float:
        """Returns the seconds that the model gives for the region."""
        more = max(0, way.sets - max(1, self.buffer_sets)) / max(1, self.buffer_sets)
        once = self.setup + more * self.pinned
        if way.threads == 1 and way.sets > 1:
            return once + pipeline.one_thread_s(stages, self.items, way.sets, order)
        return once + pipeline.total_s(stages, self.items, way.sets)

    def _overlaps(self) -> bool:
        """Whether the card's work overlaps with itself, or with computing for other buffer sets."""
        work = (self.stages.serial - self.computed) * self.items + self.setup
        # the model is longer than the region, as launches from a queue take less
        if work - self.length >= _OVERLAPS * self.length:
            return True
        alone = sum(lasting(some) for some in self.of.values())
        if self.busy and alone - self.busy >= _OVERLAPS * self.busy:
            return True
        together = alone + self.computed * self.items
        return self.buffer_sets != 1 and together - self.length >= _OVERLAPS * self.length

    def _stages(self) -> Stages:
        """Returns the stages of an item, with the mean times of the region's events."""
        # The program's first launch takes longer, launches from a queue take less.
        software = self._parameter("driver.launch_ns") or self._parameter("kernel.launch_ns")
        longest = max((event.duration_fs for event in self.of["launch"]), default=0) * _FS
        launch = min(software * 1e-9, longest)
        return Stages(
            into=self._transfer("write"),
            kernel=self.kernel,
            out=self._transfer("read"),
            launch=launch * len(self.of["launch"]) / self.items,
            relaunch=min(launch, self._parameter("driver.launch_interval_ns") * 1e-9),
            host_before=self.computed,
            channels=int(self._parameter("dma.engines")),
        )

    def _parameter(self, name: str) -> float:
        """Returns a parameter of the board; 0 if the board has no such part."""
        has_part = self.board.has(name.partition(".")[0])
        return self.board.number(name) if has_part else 0.0

    def in_two_banks(self) -> tuple[Transfer, Transfer]:
        """Returns the transfers of an item if both directions use separate banks."""
        return self._transfer("write", apart=True), self._transfer("read", apart=True)

    def bytes_of(self, kind: str) -> float:
        """Returns the bytes that an item's transfers of this kind move."""
        return sum(event.bytes for event in self.of[kind]) / self.items

    def _transfer(self, kind: str, *, apart: bool = False) -> Transfer:
        facts = [event.facts for event in self.of[kind] if isinstance(event.facts, TransferFacts)]
        if not facts:  # the link's times are random: use the observed times
            return Transfer(0.0, lasting(self.of[kind]) / self.items)
        fixed = sum(min(transfer.startup_fs, transfer.alone_fs) for transfer in facts)
        data = sum(transfer.alone_fs for transfer in facts) - fixed
        in_one = not apart and self._memories("write") & self._memories("read")
        beside = statistics.fmean(
            transfer.beside_in_one if in_one else transfer.beside_in_two for transfer in facts
        )
        return Transfer(fixed * _FS / self.items, data * _FS / self.items, max(0.0, beside))

    def _memories(self, kind: str) -> set[str]:
        facts = (event.facts for event in self.of[kind])
        return {transfer.memory for transfer in facts if isinstance(transfer, TransferFacts)}

    def _way(self) -> tuple[Way, Order]:
        """Returns the simplest way and order whose modelled time is close to the measured time."""
        if not self.overlaps:
            return Way(1, 1), "ahead"

        def error(candidate: tuple[Way, Order]) -> float:
            ratio = self.total(self.stages, *candidate) / self.length
            return max(ratio, 1 / ratio)

        ways = self._ways()
        choices: list[tuple[Way, Order]] = [(way, "ahead") for way in ways]
        choices += [
            (way, order)
            for order in _LATE
            for way in ways
            if way.threads == 1 and way.sets > 1 and (order == "batches" or way.sets == 2)
        ]
        least = min(map(error, choices))
        return next(candidate for candidate in choices if error(candidate) <= _SAME * least)

    def _ways(self) -> list[Way]:
        """Returns ways that fit the observed threads and buffers, the simplest first."""
        most = min(self.buffer_sets or MOST_SETS, MOST_SETS)
        # Each run in the queue counts as a set, also if several runs use one buffer set.
        one_thread = [Way(1, n) for n in range(2, 1 + (most if most > 1 else MOST_SETS))]
        if self.threads == 1:
            return one_thread
        if self.threads > 1:
            least = max(2, min(self.threads, most))
            return [Way(self.threads, sets) for sets in range(least, max(least, most) + 1)]
        several = [Way(sets, sets) for sets in range(2, MOST_SETS + 1)]
        return [Way(1, 1), *one_thread, *several]

    def bank(self) -> tuple[str, float]:
        """Returns the memory that moves the most bytes, and its seconds for an item's bytes."""
        moved: Counter[str] = Counter()
        for event in self.events:
            if isinstance(event.facts, TransferFacts):
                moved[event.facts.memory] += event.bytes
            elif isinstance(event.facts, KernelFacts):
                for port in event.facts.ports:
                    moved[port.memory] += port.bytes
        if not moved or not self.board.has("memory"):
            return "", 0.0
        ((bank, moves),) = moved.most_common(1)
        return bank, moves / self.board.bank_rate() / self.items

    def banks_apart(self) -> float:
        """Returns the busiest bank's seconds for an item if each argument had its own bank.

        That bank has the largest argument, and all transfers of its direction.
        """
        moved: Counter[tuple[str, str]] = Counter()
        for event in self.of["kernel"]:
            if isinstance(event.facts, KernelFacts):
                for port in event.facts.ports:
                    way = "read" if port.writes else "write"
                    moved[way, f"{event.name}.{port.argument}"] += port.bytes
        if not self.board.has("memory") or self.board.number("memory.banks") < 2:
            return self.bank()[1]
        most = max(
            max((count for (way, _), count in moved.items() if way == kind), default=0) / self.items
            + self.bytes_of(kind)
            for kind in ("write", "read")
        )
        return most / self.board.bank_rate()


def _threads(calls: Sequence[Event]) -> int:
    """Returns how many threads of the program use the card; 0 if only XRT's threads do."""
    counts = Counter(call.name for call in calls if call.duration_fs)
    most = max(counts.values(), default=0)
    return sum(count >= _ACTIVE * most for count in counts.values())


def _buffer_sets(runs: Sequence[Event]) -> int:
    """Returns the most buffers that one argument of a kernel had in all runs; 0: unknown."""
    buffers: dict[str, set[int]] = {}
    for event in runs:
        if isinstance(event.facts, KernelFacts):
            for port in event.facts.ports:
                buffers.setdefault(port.argument, set()).add(port.address)
    return max(map(len, buffers.values()), default=0)


def lasting(events: Iterable[Event]) -> float:
    """Returns the sum of the events' durations in seconds."""
    return sum(event.duration_fs for event in events) * _FS


def union(events: Iterable[Event]) -> float:
    """Returns the seconds during which at least one of the events lasts."""
    whole, until = 0, 0
    for begin, end in sorted(
        (event.begin_fs, event.begin_fs + event.duration_fs) for event in events
    ):
        whole += max(0, end - max(begin, until))
        until = max(until, end)
    return whole * _FS
