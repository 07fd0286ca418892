"""Chooses the way to move data of one size across the link, from rows of a summary.

A way is a device, a call (copy or map), a kind of host memory and a number of transfers in flight,
which share the data equally. Its times over sizes are a ``Curve``.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple

from isthmus.analysis.ratios import first_bank
from isthmus.analysis.summary import THROUGH_EMULATION, resolved
from isthmus.answers import time_of
from isthmus.errors import UsageError
from isthmus.frames import Frame
from isthmus.statistics import Interval, combined, exact, judge, relevant, simultaneous
from isthmus.student import student
from isthmus.thresholds import AS_FAST_WAY
from isthmus.units import format_size

COPIES = {"h2d": "write", "d2h": "read"}
"""Operation of study ``transfer`` that copies, by direction."""
MAPS = ("map", "unmap")
"""Operations whose times add up to one use of a mapped buffer."""
FIRST_USE = {"allocate": 1 / 3, "populate": 1 / 2, "map": 1 / 3}
"""Phases of study ``allocation`` before memory can be used, with one buffer's share of each.
The study allocates and maps three vectors, and fills two of them."""
_LEAST = relevant(0.0)
_NEAR = 1e-3
"""Largest relative difference of a size from a measured size that counts as equal."""
_UNTRUSTED = "|".join((THROUGH_EMULATION, "above_link_limit"))


class Way(NamedTuple):
    """A way to move data: device, call, kind of memory, and number of transfers in flight."""

    device: str
    call: Literal["copy", "map"]
    memory: str
    depth: int
    """Transfers in flight: submitted together, and waited for together."""

    def chunk(self, size: int) -> int:
        """Returns the bytes of each transfer if ``depth`` transfers share ``size`` bytes."""
        return -(-size // self.depth)


@dataclass(frozen=True)
class Curve:
    """Positive figures with intervals, at rising sizes in bytes. Figures are times or ratios."""

    figures: Mapping[int, Interval]
    within: bool = False
    """Whether one process measured each figure: other processes may lie outside of its interval."""
    ratios: bool = False
    """Whether figures are ratios, which bend up and down over sizes; times bend one way only."""

    @cached_property
    def sizes(self) -> list[int]:
        """Measured sizes in bytes, from small to large."""
        return sorted(self.figures)

    def at(self, size: int) -> Interval | None:
        """Returns the figure at a size; None outside of the measured sizes.

        Between two measured sizes, a straight line joins the logarithms. The interval adds the
        error of interpolation (``_misses``) to both figures' errors; it is unknown if that error
        is. If one process measured the figure, twice the largest residual of this size and its
        neighbours is added.
        """
        above = self._above(size)
        if self._is_measured(above, size):
            line = self.figures[self.sizes[above]].logarithm()
            around = range(above - 1, above + 2) if self.within else ()
            miss = 2 * max((abs(self._residual(i) or 0.0) for i in around), default=0.0)
        elif above in {0, len(self.sizes)}:
            return None
        else:
            line = self._line(above - 1, above, size)
            miss = self._misses(above - 1, above)
        return line.plus(Interval(0.0, -miss, miss)).exponential()

    def around(self, size: int) -> tuple[int, int] | None:
        """Returns the two measured sizes next to a size; None if it is measured or beyond all."""
        above = self._above(size)
        if self._is_measured(above, size) or above in {0, len(self.sizes)}:
            return None
        return self.sizes[above - 1], self.sizes[above]

    def _above(self, size: int) -> int:
        return bisect_left(self.sizes, size * (1 - _NEAR))

    def _is_measured(self, above: int, size: int) -> bool:
        return above < len(self.sizes) and self.sizes[above] <= size * (1 + _NEAR)

    def _line(self, low: int, high: int, size: int) -> Interval:
        """Returns the figure's logarithm at a size, on the line through two measured sizes."""
        left, right = self.sizes[low], self.sizes[high]
        share = math.log(size / left) / math.log(right / left)
        logs = [self.figures[end].logarithm() for end in (left, right)]
        return combined((1 - share, share), logs)

    def _misses(self, low: int, high: int) -> float:
        """Returns the error of the line between two neighbouring sizes, as a logarithm, or NaN.

        A residual is the error of predicting a size from its two neighbours. For times, the error
        is the larger residual of the two sizes. For ratios, Student's t of half of all residuals
        gives a lower bound of the error. Half of a residual counts, because the gap between
        neighbours is half as wide, so that a bend moves the line half as much.
        """
        every = {i: r for i in range(len(self.sizes)) if (r := self._residual(i)) is not None}
        if not every:
            return math.nan
        near = max(abs(every[i]) for i in (low, high) if i in every)
        if not self.ratios:
            return near
        scale = math.sqrt(sum(r * r for r in every.values()) / len(every))
        confidence = self.figures[self.sizes[low]].confidence
        return max(near, student(len(every), (1 + confidence) / 2) * scale / 2)

    def _residual(self, at: int) -> float | None:
        """Logarithm of a figure less that on the line through its neighbours; None at the ends."""
        if not 0 < at < len(self.sizes) - 1:
            return None
        size = self.sizes[at]
        return math.log(self.figures[size].value) - self._line(at - 1, at + 1, size).value

    def over(self, other: Curve, confidence: float) -> Curve:
        """Returns ratios of this curve's figures to the other's, at the sizes that both have."""
        both = self.figures.keys() & other.figures.keys()
        logs = {s: self.figures[s].over(other.figures[s]).logarithm() for s in both}
        ratios = {size: log.widened(confidence).exponential() for size, log in logs.items()}
        return Curve(ratios, self.within or other.within, ratios=True)


class Option(NamedTuple):
    """A way to move data, with its time in seconds."""

    way: Way
    time: Interval


@dataclass(frozen=True)
class Advice:
    """The way to move data of one size, and what supports it."""

    best: Option
    """The simplest way whose estimated time is within ``AS_FAST_WAY`` of the fastest. With a wanted
    time: the simplest way that certainly keeps it, or else the fastest."""
    fastest: Option
    slower: Interval
    """Time of ``best`` over that of the fastest way: its upper end bounds what could be gained."""
    alike: Sequence[Option]
    """Ways that are not certainly slower than the fastest way, the simplest first."""
    naive: Option | None
    """Plain memory in one whole transfer, on the same device; None where not measured."""
    gain: Interval | None
    """Time of ``naive`` over that of ``best``."""
    met: Literal["yes", "no", "unknown", ""]
    """Whether ``best`` keeps the wanted time; empty where none is wanted."""
    crossovers: Sequence[tuple[int, Option]]
    """Each advised way with the smallest measured size from which it is advised."""
    clock: str
    counted: bool
    """Whether all times include the first use of memory."""
    elsewhere: Sequence[Way]
    """Ways that were measured at other sizes only, so that they are not compared."""
    unknown: Sequence[str]
    """Kinds of memory left out because the cost of their first use was not measured."""
    between: tuple[int, int] | None
    """Measured sizes between which ``best`` is estimated; None where it was measured itself."""
    within: bool
    """Whether one process measured each time: others may lie outside of its interval."""
    copied: Sequence[str] = ()
    """Kinds of memory left out: the API first copies from them, and no such copy is simulated."""
    with_copies: bool = False
    """Whether the host's copies were added to the simulated times of memory that needs a copy."""


@dataclass(frozen=True)
class Ways:
    """All measured ways in one direction, the simplest first.

    Simpler is: fewer transfers in flight; a copy before a map; the kind of memory that the
    backend names earlier; the device that the rows name earlier.
    """

    curves: Mapping[Way, Curve]
    naive: Mapping[str, str]
    """Kind of memory that a program has by default, by address of the device."""
    clock: str
    confidence: float
    within: bool
    counted: bool = False
    unknown: Sequence[str] = ()
    copied: Sequence[str] = ()
    with_copies: bool = False

    @classmethod
    def of(
        cls,
        rows: Frame,
        direction: str,
        kinds: Mapping[str, Sequence[str]],
        *,
        confidence: float = 0.95,
        once: int = 0,
        copied: Mapping[str, Collection[str]] = MappingProxyType({}),
        host_copy: Callable[[int], Interval] | None = None,
    ) -> Ways:
        """Makes the ways from rows of studies ``transfer`` and ``allocation``, as summarised.

        ``kinds``: each device's kinds of memory, a program's default first, the least simple last.
        ``once``: bytes of memory that is used once, so that its first use counts; 0 for memory that
        is reused. ``copied``: of each device whose time is simulated, the kinds of memory from
        which its API copies first. ``host_copy`` returns the seconds that the host needs to copy so
        many bytes; without it these kinds are left out. Raises UsageError if nothing was measured,
        or if times are of several clocks.
        """
        rows = resolved(rows)
        rows = rows[(rows["clock"] != "device") & ~rows["flags"].str.contains(_UNTRUSTED)]
        rows = rows[rows["ci_low_s"].notna()]
        moved = rows[(rows["study"] == "transfer") & (rows["verified"] == "true")]
        unordered = {**copies(moved, direction, confidence), **maps(moved, confidence)}
        clocks = set(moved[moved["operation"] == COPIES[direction]]["clock"])
        if not unordered:
            tried = rows[(rows["study"] == "transfer") & rows["operation"].eq(COPIES[direction])]
            if len(tried):
                names = ", ".join(tried["device"].unique())
                raise UsageError(
                    f"no copy {direction} of {names} was seen to arrive: isthmus show RUN.json "
                    "--points says why"
                )
            raise UsageError(f"no copies {direction} were measured: isthmus run transfer does it")
        if len(clocks) > 1:
            raise UsageError(
                f"times of clocks {' and '.join(sorted(clocks))} are not comparable: "
                "choose devices of one with --device"
            )
        within = "simulated" not in clocks and bool((moved["reruns"] == 1).all())
        devices = list(dict.fromkeys(way.device for way in unordered))

        def complexity(way: Way) -> tuple[object, ...]:
            order = list(kinds.get(way.device, ()))
            rank = order.index(way.memory) if way.memory in order else len(order)
            return way.depth, way.call == "map", rank, way.memory, devices.index(way.device)

        ordered = sorted(unordered, key=complexity)
        curves = {way: Curve(unordered[way].figures, within) for way in ordered}
        naive = {device: next(iter(kinds.get(device, ())), "") for device in devices}
        ways = cls(curves, naive, clocks.pop(), confidence, within)
        ways = ways._with_copies(copied, host_copy)
        return ways._with_first_use(first_use(rows, confidence), once) if once else ways

    def _with_copies(
        self,
        copied: Mapping[str, Collection[str]],
        host_copy: Callable[[int], Interval] | None,
    ) -> Ways:
        """Adds the copy that an API makes from a program's memory to simulated times."""
        if self.clock != "simulated":
            return self
        kept: dict[Way, Curve] = {}
        for way, curve in self.curves.items():
            if way.call == "map" or way.memory not in copied.get(way.device, ()):
                kept[way] = curve
            elif host_copy:
                sums = {at: time.plus(host_copy(at)) for at, time in curve.figures.items()}
                kept[way] = Curve(sums, curve.within)
        left_out = dict.fromkeys(way.memory for way in self.curves if way not in kept)
        if not kept:
            raise UsageError(
                f"copies in {', '.join(left_out)} memory are simulated without the copy that the "
                "API makes first: isthmus advise SIZE --device counts it"
            )
        counts = host_copy is not None and any(
            way.memory in copied.get(way.device, ()) for way in kept
        )
        return replace(self, curves=kept, copied=list(left_out), with_copies=counts)

    def _with_first_use(self, costs: Mapping[tuple[str, str], Curve], size: int) -> Ways:
        """Adds the cost of first using memory to times; leaves out ways without a known cost.

        If the cost of plain memory is unknown, only ways in plain memory remain. They are compared
        without the cost, which is the same for all of them.
        """
        cost_by_key = {key: curve for key, curve in costs.items() if curve.at(size) is not None}
        counted = all(key in cost_by_key for key in self.naive.items())
        kept: dict[Way, Curve] = {}
        for way, curve in self.curves.items():
            cost = cost_by_key.get((way.device, way.memory))
            if counted and cost is not None:
                sums = {
                    at: time.plus(first)
                    for at in {*cost.sizes, size}
                    if (time := curve.at(at)) is not None and (first := cost.at(at)) is not None
                }
                kept[way] = Curve(sums, curve.within)
            elif not counted and way.memory == self.naive[way.device]:
                kept[way] = curve
        left_out = dict.fromkeys(way.memory for way in self.curves if way not in kept)
        if not kept:
            plain = ", ".join(dict.fromkeys(self.naive.values()))
            raise UsageError(f"neither copies in {plain} memory nor its first use were measured")
        return replace(self, curves=kept, counted=counted, unknown=list(left_out))

    def at(self, size: int) -> list[Option]:
        """Returns each way that was measured at or on both sides of a size, with its time."""
        times = ((way, curve.at(size)) for way, curve in self.curves.items())
        return [Option(way, time) for way, time in times if time is not None]

    def ratio(self, option: Option, other: Option, size: int, among: int = 1) -> Interval:
        """Time of one way over that of another, as one of ``among`` ratios judged together.

        Where both ways have the same sizes, the ratio is interpolated, not each time. A bend in
        both curves, such as at the size of a cache, then causes no error.
        """
        if option.way == other.way:
            return exact(1.0, self.confidence)
        confidence = simultaneous(self.confidence, among) if among > 1 else self.confidence

        both = self.curves[option.way].over(self.curves[other.way], confidence).at(size)
        return both or option.time.over(other.time).logarithm().widened(confidence).exponential()

    def alike(self, options: Sequence[Option], size: int) -> tuple[Option, list[Option]]:
        """Returns the fastest option, then all options that are not certainly slower, with it."""
        fastest = min(options, key=lambda option: option.time.value)
        among = len(options) - 1

        def slower(option: Option) -> bool:
            return judge(self.ratio(option, fastest, size, among), _LEAST) == "slower"

        return fastest, [option for option in options if option == fastest or not slower(option)]

    def as_fast(self, options: Sequence[Option], size: int) -> list[Option]:
        """Options whose estimated time is within ``AS_FAST_WAY`` of the least, simplest first.

        Estimates decide, however wide the intervals are: the way that is likeliest the fastest
        costs least.
        """
        fastest = min(options, key=lambda option: option.time.value)
        return [o for o in options if self.ratio(o, fastest, size).value <= AS_FAST_WAY]

    def advise(self, size: int, wanted_s: float | None = None) -> Advice:
        """Advises the way to move ``size`` bytes, in at most ``wanted_s`` seconds if that is given.

        Raises UsageError for a size beyond those measured.
        """
        options = self.at(size)
        if not options:
            sizes = [size for curve in self.curves.values() for size in curve.sizes]
            measured = f"{format_size(min(sizes))} to {format_size(max(sizes))}"
            raise UsageError(f"{format_size(size)} is beyond what was measured: {measured}")
        fastest, alike = self.alike(options, size)
        best = self.as_fast(options, size)[0]
        met: Literal["yes", "no", "unknown", ""] = ""
        if wanted_s is not None:
            keeping = [option for option in options if option.time.high <= wanted_s]
            best = keeping[0] if keeping else fastest
            met = "yes" if keeping else "no" if fastest.time.low > wanted_s else "unknown"
        plain = Way(best.way.device, "copy", self.naive[best.way.device], 1)
        naive = next((option for option in options if option.way == plain), None)
        return Advice(
            best=best,
            fastest=fastest,
            slower=self.ratio(best, fastest, size),
            alike=alike,
            naive=naive,
            gain=naive and self.ratio(naive, best, size),
            met=met,
            crossovers=list(self.crossovers()),
            clock=self.clock,
            counted=self.counted,
            elsewhere=[way for way in self.curves if self.curves[way].at(size) is None],
            unknown=self.unknown,
            between=self.curves[best.way].around(size),
            within=self.within,
            copied=self.copied,
            with_copies=self.with_copies,
        )

    def crossovers(self) -> Iterator[tuple[int, Option]]:
        """Yields measured sizes at which the advised way changes, with the new way and its time.

        The previous way stays while it is as fast as the best. No wanted time is considered.
        """
        before = None
        for size in next(iter(self.curves.values())).sizes:
            fastest = self.as_fast(self.at(size), size)
            if before not in {option.way for option in fastest}:
                before = fastest[0].way
                yield size, fastest[0]


def copies(rows: Frame, direction: str, confidence: float) -> dict[Way, Curve]:
    """Times of copies in one direction, over sizes."""
    figures: dict[Way, dict[int, Interval]] = {}
    for row in first_bank(rows[rows["operation"] == COPIES[direction]]).itertuples():
        way = Way(str(row.device), "copy", str(row.memory), int(row.depth))
        figures.setdefault(way, {})[way.depth * int(row.bytes)] = time_of(row, confidence)
    return {way: Curve(by_size) for way, by_size in figures.items()}


def maps(rows: Frame, confidence: float) -> dict[Way, Curve]:
    """Times of mapping a buffer and unmapping it, over sizes."""
    halves: list[dict[Way, dict[int, Interval]]] = []
    for operation in MAPS:
        halves.append({})
        for row in first_bank(rows[rows["operation"] == operation]).itertuples():
            way = Way(str(row.device), "map", str(row.memory), 1)
            halves[-1].setdefault(way, {})[int(row.bytes)] = time_of(row, confidence)
    there, back = halves
    return {
        way: Curve({s: there[way][s].plus(back[way][s]) for s in there[way].keys() & back[way]})
        for way in there.keys() & back.keys()
    }


def first_use(rows: Frame, confidence: float) -> dict[tuple[str, str], Curve]:
    """Seconds until a new buffer holds data, by its bytes; for each device and kind of memory.

    The time is that of the first offload in each process of study ``allocation``. An offload counts
    only if its runtime copies from the memory, as a transfer does.
    """
    rows = rows[(rows["study"] == "allocation") & rows["operation"].isin(FIRST_USE)]
    rows = rows[rows["verified"] != "false"]
    if rows.empty:
        return {}
    rows = rows[(rows["relative_offset"] == 0) & (rows["handover"] != "user_pointer")]
    phases: dict[tuple[str, str, int], dict[str, Interval]] = {}
    for row in rows.itertuples():
        key = (str(row.device), str(row.memory), int(row.bytes))
        phases.setdefault(key, {})[str(row.operation)] = time_of(row, confidence)
    figures: dict[tuple[str, str], dict[int, Interval]] = {}
    for (device, memory, size), times in phases.items():
        cost = combined([FIRST_USE[name] for name in times], list(times.values()))
        figures.setdefault((device, memory), {})[size] = cost
    return {key: Curve(times) for key, times in figures.items()}
