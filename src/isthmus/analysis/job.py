"""How to run a job: items that pass in, through a kernel and out, many times.

A pure function of what each part costs (``Cost``): every way with 1 to ``MOST_SETS`` buffer sets is
scheduled (``isthmus.models.pipeline``), and the simplest of the fastest is advised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from isthmus.analysis.advice import copies, maps
from isthmus.analysis.context import each, time_of
from isthmus.analysis.ratios import first_bank
from isthmus.analysis.summary import THROUGH_EMULATION, resolved
from isthmus.errors import UsageError
from isthmus.frames import Frame
from isthmus.models import pipeline
from isthmus.models.pipeline import MOST_SETS, Limit, Stages, Transfer
from isthmus.statistics import Interval, exact
from isthmus.thresholds import AS_FAST_WAY
from isthmus.units import format_size, parse_seconds, parse_size

START_BYTES = 64
"""Size of a copy whose time is taken as the start-up of every copy."""
HOST_ONLY = "host_only"
"""Memory of buffers on the host, which kernels reach over the link: nothing is transferred."""
LARGEST_START = 4096
"""Bytes up to which a measured copy is taken for its start-up."""
_FORM = "write IN,kernel=TIME,OUT, as 4Mi,kernel=232us,4Mi; 0 where nothing moves"


@dataclass(frozen=True)
class Job:
    """What passes, how long the kernel computes, and how often."""

    into: int
    """Bytes of an item to the device."""
    kernel_s: float
    out: int
    """Bytes of an item's result to the host."""
    times: int = 1

    @classmethod
    def parse(cls, text: str, times: int) -> Job:
        """A job as the command line has it; raises UsageError where it does not follow the form."""
        pieces = text.split(",")
        if len(pieces) != 3 or not pieces[1].startswith("kernel="):
            raise UsageError(f"'{text}' is no job; {_FORM}")
        into, out = (0 if one == "0" else parse_size(one) for one in (pieces[0], pieces[2]))
        if not into and not out:
            raise UsageError(f"job '{text}' moves nothing; {_FORM}")
        return cls(into, parse_seconds(pieces[1].removeprefix("kernel=")), out, times)

    def grouped(self, count: int) -> Job:
        """The job with ``count`` items in each transfer and each run of the kernel."""
        times = -(-self.times // count)
        return Job(self.into * count, self.kernel_s * count, self.out * count, times)


class Place(NamedTuple):
    """How the data of an item are held and moved."""

    device: str
    """Address, as the user named it."""
    backend: str
    call: str
    """``copy`` or ``map``, as the rows have it."""
    memory: str
    banks: int
    """Banks of card memory: 2 where what comes in and what goes out lie apart; 0: unknown."""


class Copy(NamedTuple):
    """Times of copies of an item in one direction."""

    start: Interval
    """Of a few bytes."""
    whole: Interval
    both: Interval | None
    """Of two such copies, one each way, begun together; None where it is not known."""


@dataclass(frozen=True)
class Cost:
    """What each part of an item costs at one place, in seconds."""

    into: Copy | None
    out: Copy | None
    launch: Interval
    relaunch: Interval
    """Between two kernels of which the second one waits."""
    host_before: Interval
    host_after: Interval
    channels: int = 0
    overlaps: bool = True
    kernel_least: float = 0.0
    """Least time of a kernel that moves the item across the link itself."""

    def stages(self, kernel_s: float, end: int) -> Stages:
        """Stages by the estimates (``end`` 0), by all lower ends (1) or all upper ends (2)."""
        return Stages(
            into=_transfer(self.into, end),
            kernel=max(kernel_s, self.kernel_least),
            out=_transfer(self.out, end),
            launch=self.launch[end],
            relaunch=self.relaunch[end],
            host_before=self.host_before[end],
            host_after=self.host_after[end],
            channels=self.channels,
            overlaps=self.overlaps,
        )


def _transfer(copy: Copy | None, end: int) -> Transfer:
    """A copy's start-up and data, and its share beside the other direction.

    Two copies begun together end when the slower one does: what exceeds the time of one alone is
    what the later one waits.
    """
    if copy is None:
        return Transfer()
    start, whole = min(copy.start[end], copy.whole[end]), copy.whole[end]
    data = whole - start
    if copy.both is None:  # full duplex, or nothing beside the other direction
        return Transfer(start, data, 0.0 if end == 2 else 1.0)
    alone = copy.whole[0] - copy.start[0]
    if data <= 0 or alone <= 0:
        return Transfer(start, data)
    share = 1 - (copy.both[0] - copy.whole[0]) / alone
    return Transfer(start, data, min(max(share, 0.0), 1.0))


@dataclass(frozen=True)
class Plan:
    """A way to run the job, and its time."""

    place: Place
    sets: int
    per_item: Interval
    total: Interval
    limit: Limit
    group: int = 1
    """Items in each transfer and each run of the kernel."""


@dataclass(frozen=True)
class JobAdvice:
    """The way to run a job, and what else there is."""

    job: Job
    best: Plan
    """The simplest of those within ``AS_FAST_WAY`` of the fastest."""
    others: Sequence[Plan]
    """Each differs from ``best`` in one respect: sets, banks, memory, API, items in a transfer."""
    stages: Stages
    """Of ``best``."""


def plan(job: Job, place: Place, cost: Cost, sets: int, group: int = 1) -> Plan:
    """A job at one place with so many buffer sets."""
    used = job.grouped(group)
    ends = [pipeline.total_s(cost.stages(used.kernel_s, e), used.times, sets) for e in range(3)]
    total = Interval(ends[0], min(ends), max(ends))
    limit = pipeline.limit(cost.stages(used.kernel_s, 0))
    per_item = total.times(1 / job.times)
    return Plan(place, sets, per_item, total, limit._replace(seconds=limit.seconds / group), group)


def advise(job: Job, costs: Mapping[int, Mapping[Place, Cost]]) -> JobAdvice:
    """The way to run a job.

    Args:
        job: what is to be run.
        costs: for each number of items in a transfer, 1 first, those of each place, the simplest
            first.

    """
    most = min(MOST_SETS, job.times)
    found = {
        (group, sets, place): plan(job, place, cost, sets, group)
        for group, of in costs.items()
        for sets in range(1, min(most, job.grouped(group).times) + 1)
        for place, cost in of.items()
        if sets == 1 or cost.overlaps
    }
    least = min(one.total.value for one in found.values())
    best = next(one for one in found.values() if one.total.value <= AS_FAST_WAY * least)
    keys = [(best.group, n, best.place) for n in range(1, 5)]
    keys += [(best.group, best.sets, one) for one in costs[1] if _differs_once(one, best.place)]
    keys += [(group, best.sets, best.place) for group in costs]
    others = [found[key] for key in dict.fromkeys(keys) if key in found and found[key] is not best]
    stages = costs[best.group][best.place].stages(job.grouped(best.group).kernel_s, 0)
    return JobAdvice(job, best, others, stages)


def _differs_once(one: Place, other: Place) -> bool:
    """Whether two places differ in API, memory or banks, and in that alone."""
    api, memory = one.device == other.device, one.memory == other.memory
    if api and one.call != other.call:
        memory = False
    if HOST_ONLY in {one.memory, other.memory}:
        return [api, memory].count(False) == 1
    return [api, memory, one.banks == other.banks].count(False) == 1


class Measured(NamedTuple):
    """Copies of a device by rows: times over sizes."""

    rows: Frame
    confidence: float

    def places(self) -> Iterator[tuple[str, str, str]]:
        """Device, call and kind of memory of each way measured in at least one direction."""
        there, back = self._ways("h2d"), self._ways("d2h")
        yield from [*there, *(one for one in back if one not in there)]

    def _ways(self, direction: str) -> list[tuple[str, str, str]]:
        ways = [*copies(self.rows, direction, self.confidence), *maps(self.rows, self.confidence)]
        return [(one.device, one.call, one.memory) for one in ways if one.depth == 1]

    def copy(self, device: str, call: str, memory: str, direction: str, size: int) -> Copy | None:
        """Times of one copy; None where nothing moves. Raises UsageError for an unknown size."""
        if not size:
            return None
        every = (
            copies(self.rows, direction, self.confidence)
            if call == "copy"
            else maps(self.rows, self.confidence)
        )
        curve = next(
            (curve for way, curve in every.items() if way[:4] == (device, call, memory, 1)), None
        )
        if curve is None or (whole := curve.at(size)) is None:
            raise UsageError(
                f"copies {direction} of {format_size(size)} in {memory} memory on {device} were "
                f"not measured: isthmus run transfer --device {device} --bytes "
                f"{START_BYTES},{format_size(size)}"
            )
        start = curve.figures[curve.sizes[0]] if curve.sizes[0] <= LARGEST_START else whole
        return Copy(start, whole, self._both(device, memory, size))

    def _both(self, device: str, memory: str, size: int) -> Interval | None:
        rows = self.rows[self.rows["operation"] == "bidirectional"]
        for row in each(first_bank(rows)):
            if (row.device, row.memory, int(row.bytes)) == (device, memory, size):
                return time_of(row, self.confidence)
        return None

    def launch(self, device: str) -> Interval | None:
        """Time of an empty kernel; None where it was not measured."""
        rows = self.rows[(self.rows["operation"] == "launch") & (self.rows["device"] == device)]
        return next((time_of(row, self.confidence) for row in each(rows)), None)


def measured(rows: Frame, confidence: float) -> Measured:
    """What rows of study ``transfer`` say of copies: verified ones, of one clock each."""
    rows = resolved(rows)
    untrusted = "|".join((THROUGH_EMULATION, "above_link_limit"))
    rows = rows[(rows["study"] == "transfer") & (rows["clock"] != "device")]
    rows = rows[~rows["flags"].str.contains(untrusted) & rows["ci_low_s"].notna()]
    return Measured(rows[rows["verified"] != "false"], confidence)


def costs_of_rows(
    job: Job, known: Measured, backends: Mapping[str, str], computes_on_host: Mapping[str, bool]
) -> dict[Place, Cost]:
    """Costs of real devices, by their own times, in which the software of their API is.

    ``backends``: of each address. ``computes_on_host``: whether a device's kernels and copies use
    the host's processors, so that nothing overlaps.
    """
    found: dict[Place, Cost] = {}
    nothing = exact(0.0, known.confidence)
    for device, call, memory in dict.fromkeys(known.places()):
        launch = known.launch(device)
        if launch is None:
            raise UsageError(
                f"launches on {device} were not measured: isthmus run transfer --device {device} "
                "--operation launch"
            )
        sizes = (("h2d", job.into), ("d2h", job.out))
        try:
            into, out = (known.copy(device, call, memory, *one) for one in sizes)
        except UsageError:
            continue
        waiting = Interval(0.0, 0.0, launch.high, known.confidence)
        place = Place(device, backends[device], call, memory, 0)
        found[place] = Cost(
            into, out, launch, waiting, nothing, nothing, overlaps=not computes_on_host[device]
        )
    if not found:
        raise UsageError(
            f"copies of {' and '.join(format_size(s) for s in {job.into, job.out} if s)} were not "
            "measured: leave out the run files, and advise measures them"
        )
    return found


def apart(copy: Copy | None, both: Interval | None) -> Copy | None:
    """A copy whose other direction uses another bank of card memory: ``both`` takes so long."""
    if copy is None or both is None:
        return copy
    least = max(both.value, copy.whole.value)
    return copy._replace(both=exact(least, both.confidence))
