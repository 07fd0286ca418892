"""Finds the resource that bounds a program on emulated cards, and the gain of possible changes.

An item is a run of the kernel with the most work. The times of a region are divided by its items.
The model of ``isthmus advise --job`` (``isthmus.models.pipeline``) computes the time of an item as
the program runs, and with each change.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

from isthmus.boards import Board
from isthmus.emulation.trace import Event, KernelFacts, TransferFacts, events_of, events_of_host
from isthmus.models import pipeline
from isthmus.models.pipeline import Stages, Transfer
from isthmus.thresholds import AS_FAST_WAY

_FS = 1e-15
_MOST_SETS = 6
"""Most buffer sets that are tried, as in ``advise --job``."""
_OVERLAPS = 0.02
"""Least share of work beside other work for a program to count as overlapping. It is above 0
because the ends of events touch."""
_SAME = 1.03
"""Most ratio of the model's errors at which a simpler way of running is chosen."""
_BY_ELEMENTS = 1.25
"""Most ratio of computing time to the busiest port's time at which the port counts as the bound: a
pipelined loop has a few clocks more than elements."""
_WORTH = 1.03
"""Least gain of a change that is named: a smaller gain is within the error of the model."""

Kind = Literal[
    "wide ports", "two banks", "double buffering", "threads", "host memory", "mapped buffers"
]
Span = tuple[int, int]


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


@dataclass(frozen=True)
class KernelBound:
    """What bounds the runs of one kernel."""

    instance: str
    runs: int
    run_s: float
    bytes_per_s: float
    """Rate of its busiest port."""
    element_bytes: int
    """Bytes that the busiest port moves in a clock; 0: unknown."""
    by: Literal["elements", "memory", "computing"]
    shared: tuple[str, ...]
    """Arguments that share a memory, where separate banks are faster."""
    memory: str
    """The memory that the arguments share."""
    ports: tuple[str, ...]
    """Names of the arguments that are buffers."""


@dataclass(frozen=True)
class Region:
    """What bounds a part of a program."""

    card: int
    name: str
    """Name of the program's mark; empty: the whole program."""
    seconds: float
    items: int
    shares: dict[str, float]
    """Shares of the time: ``link in``, ``link out``, ``bank``, ``kernel``, ``launch``, ``host``."""
    bank: str
    """The busiest memory."""
    way: Way
    """How the program runs, inferred from the times."""
    modelled_s: float
    """The model's time for ``way``; compare it with ``seconds`` to see the error of the gains."""
    limit: pipeline.Limit
    """Least time of an item, however many sets there are."""
    startup: float
    """Share of the transfers' time that is start-up."""
    copied_s: float
    """Time in which the host copies an item's data into buffers, or out of them."""
    kernels: tuple[KernelBound, ...]
    changes: tuple[Change, ...]
    """By gain, the largest first."""

    @property
    def item_s(self) -> float:
        """Time of an item."""
        return self.seconds / self.items


def regions(files: Sequence[Path], boards: Sequence[Board]) -> list[Region]:
    """Returns the regions of each card that moves data or runs kernels.

    ``boards`` are in the order of the cards' numbers.
    """
    host = events_of_host(files)
    found = []
    for header, events in events_of(files):
        work = [event for event in events if event.kind in _SPANS and event.duration_fs]
        for name, begin, end in _parts(work, host):
            within = [event for event in work if begin <= event.begin_fs < end]
            copies = [
                event
                for event in host
                if event.kind == "host copy" and begin <= event.begin_fs < end
            ]
            if any(event.kind != "launch" for event in within):
                part = _Part(within, copies, end - begin, boards[header.card])
                found.append(part.region(header.card, name))
    return found


_SPANS = {
    "write": "link in",
    "read": "link out",
    "kernel": "kernel",
    "launch": "launch",
}


def _parts(work: Sequence[Event], host: Sequence[Event]) -> Iterator[tuple[str, int, int]]:
    """Yields name, begin and end of each region; without marks one region with all work."""
    if not work:
        return
    last = max(event.begin_fs + event.duration_fs for event in work)
    marks = [event for event in host if event.kind == "region"]
    if not marks:
        yield "", min(event.begin_fs for event in work), last
    for index, mark in enumerate(marks):
        end = marks[index + 1].begin_fs if marks[index + 1 :] else last
        if end > mark.begin_fs:
            yield mark.name, mark.begin_fs, end


class _Part:
    """The events of a region, and the stages of its items."""

    def __init__(
        self, events: Sequence[Event], copies: Sequence[Event], length_fs: int, board: Board
    ) -> None:
        self.board = board
        self.length = length_fs * _FS
        self.events = events
        self.of = {kind: [event for event in events if event.kind == kind] for kind in _SPANS}
        runs: dict[str, list[Event]] = {}
        for event in self.of["kernel"]:
            runs.setdefault(event.name, []).append(event)
        self.runs = runs
        longest = max(runs.values(), key=_sum, default=[])
        self.items = len(longest) or max(len(self.of["write"]), len(self.of["read"]))
        self.copied = _sum(copies) / self.items
        self.kernel = _union(self.of["kernel"]) / self.items
        self.busy = _union(events)
        alone = sum(_sum(some) for some in self.of.values())
        self.overlaps = self.items > 1 and alone - self.busy >= _OVERLAPS * self.busy
        self.stages = self._stages()
        # A program that overlaps keeps the card busy, except before and after the items.
        self.beside = self.length - self.busy if self.overlaps else 0.0
        self.way = self._way()
        self.modelled = self._total(self.stages, self.way)

    def region(self, card: int, name: str) -> Region:
        """Returns what bounds this part."""
        bank, bank_share = self._bank()
        shares = {_SPANS[kind]: _union(some) / self.length for kind, some in self.of.items()}
        shares |= {"bank": bank_share, "host": max(0.0, 1 - self.busy / self.length)}
        moves = self.stages.into, self.stages.out
        moved = sum(move.fixed + move.data for move in moves)
        kernels = tuple(self._kernel(name, runs) for name, runs in self.runs.items())
        return Region(
            card=card,
            name=name,
            seconds=self.length,
            items=self.items,
            shares=shares,
            bank=bank,
            way=self.way,
            modelled_s=self.modelled,
            limit=pipeline.limit(self.stages),
            startup=sum(move.fixed for move in moves) / moved if moved else 0.0,
            copied_s=self.copied,
            kernels=tuple(sorted(kernels, key=lambda kernel: -kernel.run_s * kernel.runs)),
            changes=tuple(self._changes()),
        )

    def _stages(self) -> Stages:
        """Returns the times of an item; without overlap the host takes the rest of the time."""
        launches = self.of["launch"]
        launch = (
            statistics.median(event.duration_fs for event in launches) * _FS if launches else 0.0
        )
        stages = Stages(
            into=self._transfer("write"),
            kernel=self.kernel,
            out=self._transfer("read"),
            launch=launch * len(launches) / self.items,
            relaunch=min(launch, self._parameter("driver.launch_interval_ns") * 1e-9),
            host_before=self.copied,
            channels=int(self._parameter("dma.engines")),
        )
        if not self.overlaps:
            left = max(0.0, self.length / self.items - (stages.serial - self.copied))
            stages = replace(stages, host_before=left / 2, host_after=left / 2)
        return stages

    def _parameter(self, name: str) -> float:
        """Returns a parameter of the board; 0 if the board lacks that part."""
        has_part = self.board.has(name.partition(".")[0])
        return self.board.number(name) if has_part else 0.0

    def _transfer(self, kind: str) -> Transfer:
        facts = [event.facts for event in self.of[kind] if isinstance(event.facts, TransferFacts)]
        if not facts:  # a random link: use the observed times
            return Transfer(0.0, _sum(self.of[kind]) / self.items)
        fixed = sum(min(transfer.startup_fs, transfer.alone_fs) for transfer in facts)
        data = sum(transfer.alone_fs for transfer in facts) - fixed
        in_one = self._memories("write") & self._memories("read")
        beside = statistics.fmean(
            transfer.beside_in_one if in_one else transfer.beside_in_two for transfer in facts
        )
        return Transfer(fixed * _FS / self.items, data * _FS / self.items, max(0.0, beside))

    def _memories(self, kind: str) -> set[str]:
        facts = (event.facts for event in self.of[kind])
        return {transfer.memory for transfer in facts if isinstance(transfer, TransferFacts)}

    def _way(self) -> Way:
        """Returns the simplest way whose modelled time is near the program's."""
        if not self.overlaps:
            return Way(1, 1)
        ways = [Way(1, 1), *(Way(1, sets) for sets in (2, 3))]
        ways += [Way(sets, sets) for sets in range(2, _MOST_SETS + 1)]

        def error(way: Way) -> float:
            ratio = self._total(self.stages, way) / self.length
            return max(ratio, 1 / ratio)

        least = min(map(error, ways))
        return next(way for way in ways if error(way) <= _SAME * least)

    def _bank(self) -> tuple[str, float]:
        """Returns the memory that moves most bytes, and the share of its rate."""
        moved: dict[str, int] = {}
        for event in self.events:
            if isinstance(event.facts, TransferFacts):
                moved[event.facts.memory] = moved.get(event.facts.memory, 0) + event.bytes
            elif isinstance(event.facts, KernelFacts):
                for port in event.facts.ports:
                    moved[port.memory] = moved.get(port.memory, 0) + port.bytes
        if not moved or not self.board.has("memory"):
            return "", 0.0
        bank = max(moved, key=lambda name: moved[name])
        return bank, moved[bank] / self.board.bank_rate() / self.length

    def _kernel(self, instance: str, runs: Sequence[Event]) -> KernelBound:
        run_s = _sum(runs) / len(runs)
        facts = next((event.facts for event in runs if isinstance(event.facts, KernelFacts)), None)
        if facts is None:
            return KernelBound(instance, len(runs), run_s, 0.0, 0, "computing", (), "", ())
        computing = _computing_fs(runs[0], facts)
        by: Literal["elements", "memory", "computing"] = "memory"
        if computing > facts.memory_fs:
            by = "elements" if _is_by_elements(runs[0], facts) else "computing"
        memory, shared = _shared(facts)
        return KernelBound(
            instance=instance,
            runs=len(runs),
            run_s=run_s,
            bytes_per_s=max(port.bytes for port in facts.ports) / run_s,
            element_bytes=self._element_bytes(facts),
            by=by,
            shared=shared if facts.apart_fs * _WORTH < facts.memory_fs else (),
            memory=memory,
            ports=tuple(dict.fromkeys(port.argument for port in facts.ports)),
        )

    def _element_bytes(self, facts: KernelFacts) -> int:
        """Returns bytes that the busiest port moves in a clock; 0 if no port counts elements."""
        clocks = facts.elements_fs * _FS * self.board.hertz("kernel.clock_MHz")
        return round(max(port.bytes for port in facts.ports) / clocks) if clocks >= 1 else 0

    def _widened(self, run: Event, facts: KernelFacts) -> float | None:
        """Returns the time of a run whose ports move the board's widest word in each clock."""
        wider = self._element_bytes(facts) / self.board.number("kernel.width_bytes")
        if not 0 < wider < 1 or not _is_by_elements(run, facts):
            return None
        return _run_fs(run, facts, wider * _computing_fs(run, facts), facts.memory_fs)

    def _changes(self) -> Iterator[Change]:
        """Yields the changes that gain something, the largest gain first."""
        found = [*self._changes_of_kernels(), *self._changes_of_host(), *self._changes_of_ways()]
        worth = [change for change in dict.fromkeys(found) if change.gain >= _WORTH]
        yield from sorted(worth, key=lambda change: -change.gain)

    def _changes_of_kernels(self) -> Iterator[Change]:
        """Yields wider ports, more banks, host memory; none if kernels run at the same time."""
        runs = self.of["kernel"]
        if not runs or sum(_union(some) for some in self.runs.values()) > _SAME * _union(runs):
            return
        if stages := self._with_kernels(self._widened):
            yield self._change("wide ports", stages)
        if stages := self._with_kernels(_apart):
            yield self._change("two banks", stages)
        moves = self.of["write"] or self.of["read"]
        if moves and (stages := self._with_kernels(_in_host_memory)):
            nothing = Transfer()
            yield self._change("host memory", replace(stages, into=nothing, out=nothing))

    def _changes_of_host(self) -> Iterator[Change]:
        """Yields the change that maps buffers instead of copying into them."""
        if self.copied:
            left = self.stages.host_before + self.stages.host_after - self.copied
            half = max(0.0, left) / 2
            yield self._change(
                "mapped buffers", replace(self.stages, host_before=half, host_after=half)
            )

    def _changes_of_ways(self) -> Iterator[Change]:
        """Yields more buffer sets and threads: the next step, and the simplest of the fastest."""
        if self.items == 1:
            return
        if self.way.sets == 1:
            yield self._change("double buffering", self.stages, Way(1, 2))
        sets = range(self.way.threads + 1, _MOST_SETS + 1)
        more = [self._change("threads", self.stages, Way(n, n)) for n in sets]
        if more:
            least = min(change.item_s for change in more)
            yield more[0]
            yield next(change for change in more if change.item_s <= AS_FAST_WAY * least)

    def _total(self, stages: Stages, way: Way) -> float:
        """Returns the modelled seconds of the region."""
        one_thread = way.threads == 1 and way.sets > 1
        of_items = pipeline.one_thread_s if one_thread else pipeline.total_s
        return self.beside + of_items(stages, self.items, way.sets)

    def _change(self, kind: Kind, stages: Stages, way: Way | None = None) -> Change:
        """Returns a change with its gain."""
        new = way or self.way
        ratio = self._total(stages, new) / self.modelled
        return Change(kind, self.length / self.items * ratio, 1 / ratio if ratio else 1.0, new.sets)

    def _with_kernels(self, run_fs: Callable[[Event, KernelFacts], float | None]) -> Stages | None:
        """Returns stages with other times of the kernels' runs; None if no run changes."""
        saved = 0.0
        changes = False
        for event in self.of["kernel"]:
            if isinstance(event.facts, KernelFacts):
                new = run_fs(event, event.facts)
                if new is not None:
                    changes = True
                    saved += (event.duration_fs - new) * _FS
        if not changes:
            return None
        return replace(self.stages, kernel=max(0.0, self.kernel - saved / self.items))


def _computing_fs(run: Event, facts: KernelFacts) -> int:
    """Returns a run's computing time: given, estimated, or by one element a clock."""
    computing = run.computing
    if computing is None or not computing.known:
        return facts.elements_fs
    return computing.computing_fs


def _is_by_elements(run: Event, facts: KernelFacts) -> bool:
    return 0 < _computing_fs(run, facts) <= _BY_ELEMENTS * facts.elements_fs


def _run_fs(run: Event, facts: KernelFacts, computing: float, memory: float) -> float:
    """Returns a run's time with other times of computing and memory, which overlap."""
    today = max(_computing_fs(run, facts), facts.memory_fs)
    return run.duration_fs - today + max(computing, memory)


def _apart(run: Event, facts: KernelFacts) -> float | None:
    if facts.apart_fs >= facts.memory_fs:
        return None
    return _run_fs(run, facts, _computing_fs(run, facts), facts.apart_fs)


def _in_host_memory(run: Event, facts: KernelFacts) -> float | None:
    if not facts.host_fs:
        return None
    return _run_fs(run, facts, _computing_fs(run, facts), facts.host_fs)


def _shared(facts: KernelFacts) -> tuple[str, tuple[str, ...]]:
    """Returns the busiest memory that several ports share, and their arguments."""
    by_memory: dict[str, list[str]] = {}
    for port in sorted(facts.ports, key=lambda port: -port.bytes):
        by_memory.setdefault(port.memory, []).append(port.argument)
    several = [(name, tuple(dict.fromkeys(some))) for name, some in by_memory.items()]
    return next(((name, some) for name, some in several if len(some) > 1), ("", ()))


def _sum(events: Iterable[Event]) -> float:
    return sum(event.duration_fs for event in events) * _FS


def _union(events: Iterable[Event]) -> float:
    """Returns the seconds in which at least one event lasts."""
    whole, until = 0, 0
    for begin, end in sorted(
        (event.begin_fs, event.begin_fs + event.duration_fs) for event in events
    ):
        whole += max(0, end - max(begin, until))
        until = max(until, end)
    return whole * _FS


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
