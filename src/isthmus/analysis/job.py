"""Advises how to run a job, whose items are copied in, processed by a kernel, and copied out.

Each way with 1 to ``MOST_SETS`` buffer sets is scheduled (``isthmus.models.pipeline``) from the
costs of its parts (``Cost``). The simplest of the fastest ways is advised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from isthmus.analysis.advice import copies, maps
from isthmus.analysis.ratios import first_bank
from isthmus.analysis.summary import THROUGH_EMULATION, resolved
from isthmus.answers import time_of
from isthmus.errors import UsageError
from isthmus.frames import Frame
from isthmus.models import pipeline
from isthmus.models.pipeline import MOST_SETS, Limit, Stages, Transfer
from isthmus.statistics import Interval, exact
from isthmus.thresholds import AS_FAST_WAY
from isthmus.units import format_size, parse_seconds, parse_size

START_BYTES = 64
"""Bytes of a suggested copy, small enough for its time to be the start-up time of every copy."""
HOST_ONLY = "host_only"
"""Memory of buffers that stay on the host: kernels reach them over the link, without a copy."""
LARGEST_START = 4096
"""Largest copy in bytes whose time may count as the start-up time."""
_FORM = "write IN,kernel=TIME,OUT, as 4Mi,kernel=232us,4Mi; 0 where nothing moves"


@dataclass(frozen=True)
class Job:
    """Bytes of an item in and out, the kernel's time for an item, and the number of items."""

    into: int
    """Bytes of an item to the device."""
    kernel_s: float
    out: int
    """Bytes of an item's result to the host."""
    times: int = 1

    @classmethod
    def parse(cls, text: str, times: int) -> Job:
        """Reads a job from the command line; raises UsageError if the text has another form."""
        pieces = text.split(",")
        if len(pieces) != 3 or not pieces[1].startswith("kernel="):
            raise UsageError(f"'{text}' is no job; {_FORM}")
        into, out = (0 if size == "0" else parse_size(size) for size in (pieces[0], pieces[2]))
        if not into and not out:
            raise UsageError(f"job '{text}' moves nothing; {_FORM}")
        return cls(into, parse_seconds(pieces[1].removeprefix("kernel=")), out, times)

    def grouped(self, count: int) -> Job:
        """Returns the job with ``count`` items in each transfer and each run of the kernel."""
        times = -(-self.times // count)
        return Job(self.into * count, self.kernel_s * count, self.out * count, times)


class Place(NamedTuple):
    """Device, call and memory that hold and move the data of an item."""

    device: str
    """Address of the device in the user's words."""
    backend: str
    call: str
    """``copy`` or ``map``, as in ``Way.call``."""
    memory: str
    banks: int
    """Banks of card memory: 2 if input and output lie in different banks; 0 if unknown."""


class Copy(NamedTuple):
    """Times of copies of an item in one direction."""

    start: Interval
    """Start-up time: time of the smallest measured copy, or ``whole`` if that copy is large."""
    whole: Interval
    both: Interval | None
    """Time of two copies in opposite directions that begin together; None if unknown."""


@dataclass(frozen=True)
class Cost:
    """Seconds of each part of an item at one place."""

    into: Copy | None
    out: Copy | None
    launch: Interval
    relaunch: Interval
    """Gap between two kernels if the second was queued before the first ended."""
    host_before: Interval
    host_after: Interval
    channels: int = 0
    overlaps: bool = True
    kernel_least: float = 0.0
    """Least seconds of a kernel that moves the item across the link by its own accesses."""

    def stages(self, kernel_s: float, end: int) -> Stages:
        """Returns the stages from the estimates (``end`` 0), lower ends (1) or upper ends (2)."""
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
    """Start-up time and data time of a copy, and its share of the rate beside a copy back.

    Two copies begun together take as long as the slower one. The time beyond that of one copy alone
    is the wait of the other.
    """
    if copy is None:
        return Transfer()
    start, whole = min(copy.start[end], copy.whole[end]), copy.whole[end]
    data = whole - start
    if copy.both is None:  # assume full duplex, and at worst no overlap of the directions
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
    """Number of items in each transfer and in each run of the kernel."""


@dataclass(frozen=True)
class JobAdvice:
    """The advised way to run a job, and alternatives to it."""

    job: Job
    best: Plan
    """The simplest plan within ``AS_FAST_WAY`` of the fastest."""
    others: Sequence[Plan]
    """Plans that differ from ``best`` only in sets, banks, memory, API or items in a transfer."""
    stages: Stages
    """Stages of an item in the plan ``best``."""


def plan(job: Job, place: Place, cost: Cost, sets: int, group: int = 1) -> Plan:
    """Returns the time of a job at one place with this number of buffer sets."""
    used = job.grouped(group)
    ends = [pipeline.total_s(cost.stages(used.kernel_s, e), used.times, sets) for e in range(3)]
    total = Interval(ends[0], min(ends), max(ends))
    limit = pipeline.limit(cost.stages(used.kernel_s, 0))
    per_item = total.times(1 / job.times)
    return Plan(place, sets, per_item, total, limit._replace(seconds=limit.seconds / group), group)


def advise(job: Job, costs: Mapping[int, Mapping[Place, Cost]]) -> JobAdvice:
    """Advises the fastest way to run a job, or a simpler way that is as fast.

    Args:
        job: The job to run.
        costs: Cost of each place, the simplest first; by number of items in a transfer, from 1.

    """
    most = min(MOST_SETS, job.times)
    plans = {
        (group, sets, place): plan(job, place, cost, sets, group)
        for group, of in costs.items()
        for sets in range(1, min(most, job.grouped(group).times) + 1)
        for place, cost in of.items()
        if sets == 1 or cost.overlaps
    }
    least = min(plan_.total.value for plan_ in plans.values())
    best = next(plan_ for plan_ in plans.values() if plan_.total.value <= AS_FAST_WAY * least)
    keys = [(best.group, n, best.place) for n in range(1, 5)]
    keys += [(best.group, best.sets, p) for p in costs[1] if _differs_once(p, best.place)]
    keys += [(group, best.sets, best.place) for group in costs]
    others = [plans[key] for key in dict.fromkeys(keys) if key in plans and plans[key] is not best]
    stages = costs[best.group][best.place].stages(job.grouped(best.group).kernel_s, 0)
    return JobAdvice(job, best, others, stages)


def _differs_once(place: Place, other: Place) -> bool:
    """Whether two places differ in exactly one of API, memory and banks."""
    api, memory = place.device == other.device, place.memory == other.memory
    if api and place.call != other.call:
        memory = False
    if HOST_ONLY in {place.memory, other.memory}:
        return [api, memory].count(False) == 1
    return [api, memory, place.banks == other.banks].count(False) == 1


class Measured(NamedTuple):
    """Rows of a summary with the measured copies of devices."""

    rows: Frame
    confidence: float

    def places(self) -> Iterator[tuple[str, str, str]]:
        """Device, call and kind of memory of each way measured in at least one direction."""
        there, back = self._ways("h2d"), self._ways("d2h")
        yield from [*there, *(way for way in back if way not in there)]

    def _ways(self, direction: str) -> list[tuple[str, str, str]]:
        ways = [*copies(self.rows, direction, self.confidence), *maps(self.rows, self.confidence)]
        return [(way.device, way.call, way.memory) for way in ways if way.depth == 1]

    def copy(self, device: str, call: str, memory: str, direction: str, size: int) -> Copy | None:
        """Times of one copy; None for 0 bytes. Raises UsageError for a size without a time."""
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
        for row in first_bank(rows).itertuples():
            if (row.device, row.memory, int(row.bytes)) == (device, memory, size):
                return time_of(row, self.confidence)
        return None

    def launch(self, device: str) -> Interval | None:
        """Time of an empty kernel; None where it was not measured."""
        rows = self.rows[(self.rows["operation"] == "launch") & (self.rows["device"] == device)]
        return next((time_of(row, self.confidence) for row in rows.itertuples()), None)


def measured(rows: Frame, confidence: float) -> Measured:
    """Selects trustworthy rows of study ``transfer``, without those on the device's clock."""
    rows = resolved(rows)
    untrusted = "|".join((THROUGH_EMULATION, "above_link_limit"))
    rows = rows[(rows["study"] == "transfer") & (rows["clock"] != "device")]
    rows = rows[~rows["flags"].str.contains(untrusted) & rows["ci_low_s"].notna()]
    return Measured(rows[rows["verified"] != "false"], confidence)


def costs_of_rows(
    job: Job, copies: Measured, backends: Mapping[str, str], computes_on_host: Mapping[str, bool]
) -> dict[Place, Cost]:
    """Costs of real devices at each place, whose measured times include the API's software.

    ``backends``: name of each device's backend, by address. ``computes_on_host``: whether kernels
    and copies of an address use the host's processors, so that they do not overlap.
    """
    costs: dict[Place, Cost] = {}
    nothing = exact(0.0, copies.confidence)
    for device, call, memory in dict.fromkeys(copies.places()):
        launch = copies.launch(device)
        if launch is None:
            raise UsageError(
                f"launches on {device} were not measured: isthmus run transfer --device {device} "
                "--operation launch"
            )
        sizes = (("h2d", job.into), ("d2h", job.out))
        try:
            into, out = (copies.copy(device, call, memory, *transfer) for transfer in sizes)
        except UsageError:
            continue
        waiting = Interval(0.0, 0.0, launch.high, copies.confidence)
        place = Place(device, backends[device], call, memory, 0)
        costs[place] = Cost(
            into, out, launch, waiting, nothing, nothing, overlaps=not computes_on_host[device]
        )
    if not costs:
        raise UsageError(
            f"copies of {' and '.join(format_size(s) for s in {job.into, job.out} if s)} were not "
            "measured: leave out the run files, and advise measures them"
        )
    return costs


def apart(copy: Copy | None, both: Interval | None) -> Copy | None:
    """Returns the times of a copy whose opposite copy uses another bank.

    ``both``: time of the two copies at once, with separate banks.
    """
    if copy is None or both is None:
        return copy
    least = max(both.value, copy.whole.value)
    return copy._replace(both=exact(least, both.confidence))
