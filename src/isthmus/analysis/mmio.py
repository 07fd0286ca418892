"""Answers the questions of study ``mmio``: times of loads and stores, and derived figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from isthmus.analysis import reproduction
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Reference
from isthmus.analysis.summary import THROUGH_EMULATION
from isthmus.answers import Rows, interval_of, question, time_of
from isthmus.boards import Board
from isthmus.frames import Frame
from isthmus.models import mmio as model
from isthmus.models.littles_law import in_flight
from isthmus.models.pcie import Link, link_of, path_of
from isthmus.statistics import Interval, combined
from isthmus.studies.base import Analysis
from isthmus.units import number, rounded_size

_MOVED = 1 << 20
"""Bytes stored in blocks of decreasing size by one method of ``ways`` to time the driver."""
NO_FENCE = "none"


class Device:
    """One device's rows of the study on one clock, selected by operation and axes."""

    def __init__(self, context: AnalysisContext, address: str, clock: str, rows: Frame) -> None:
        self.address = address
        self.clock = clock
        self.rows = rows
        record = next(device for device in context.run.devices if device.address == address)
        self.board: Board | None = context.boards[address]
        self.link: Link | None = path_of(self.board).link if self.board else link_of(record.link)

    @property
    def moving(self) -> Frame:
        """Rows of stores, and of loads from the device's memory."""
        return self.rows[self.rows["operation"].isin(["store", "bar_memory_load"])]

    def of(self, operation: str, **wanted: object) -> Frame:
        """Rows of an operation whose columns have the wanted values, from small to large."""
        rows = self.rows[self.rows["operation"] == operation]
        for name, value in wanted.items():
            rows = rows[rows[name] == value]
        return rows.sort_values("bytes")

    def one(self, operation: str, **wanted: object) -> Interval | None:
        """Time of the first row of an operation with the wanted values; None without a row."""
        rows = self.of(operation, **wanted)
        return time_of(rows.iloc[0]) if len(rows) else None

    def latency(self, operation: str) -> Interval | None:
        """Latency of one load of 8 B, else of the widest narrower load, without overlap."""
        loads = self.of(operation, pipelined="no", fence=NO_FENCE)
        loads = loads[loads["instruction"].isin(["mov", "read_register"])]
        loads = loads[loads["memory"].isin(["bar_uc", "bar_wc"])]
        return time_of(loads.iloc[-1]) if len(loads) else None


def devices(context: AnalysisContext) -> Iterator[Device]:
    """Yields each device of the run on each clock that measured it."""
    timed = context.timed
    timed = timed[~timed["flags"].str.contains(THROUGH_EMULATION)]  # it times software, no board
    for (address, clock), rows in timed.groupby(["device", "clock"], sort=False):
        yield Device(context, str(address), str(clock), rows)


def ways(device: Device) -> Iterator[tuple[str, Interval]]:
    """Yields times that the driver adds to an access, one by each method that has rows.

    Methods are those of McCalpin's report, and the start-up time of reads of configuration space.
    """
    stores = device.of("syscall_store")
    stores = stores[_MOVED % stores["bytes"] == 0]
    if len(stores) > 2:
        calls = _MOVED / stores["bytes"].to_numpy(dtype=float)
        yield "1 MiB stored in shrinking blocks", _line(calls, stores, calls)[0]
    for size in (8, 64):
        call = device.one("syscall_load", bytes=size, memory="bar_uc")
        pointer = device.one(
            "bar_memory_load", bytes=size, width=8, instruction="mov", memory="bar_uc",
            pipelined="no" if size == 8 else "yes",
        )  # fmt: skip
        if call and pointer:
            yield f"loads of {size} B", call.minus(pointer).at_least(0.0)
    spin, read = (device.one("poll", instruction=name) for name in ("mov", "pread"))
    if spin and read:
        yield "spin, then load", read.minus(spin).at_least(0.0)
    config = device.of("syscall_load", memory="config", width=4)
    if len(config) > 2:
        words = config["bytes"].to_numpy(dtype=float) / 4
        none = _line(words, config)[1].at_least(0.0)
        yield "reads of configuration space, extrapolated to 0 B", none


def _line(x: Any, rows: Frame, scale: Any = 1.0) -> tuple[Interval, Interval]:
    """Slope and value at 0 of the least-squares line through ``scale`` * time over ``x``."""
    weights = np.linalg.pinv(np.column_stack([x, np.ones(len(x))])) * scale
    times = [time_of(row) for row in rows.itertuples()]
    slope, start = (combined(part.tolist(), times) for part in weights)
    return slope, start


_PIO = (("movntdqa", "bar_wc", 64), ("mov", "bar_uc", 8))
"""Pipelined loads that DMA is compared with: instruction, mapping, bytes of a load."""


def crossings(device: Device, context: AnalysisContext) -> Iterator[tuple[str, Interval]]:
    """Yields the size from which on DMA is faster than loads, for each instruction of a load."""
    dma = device.of("dma_read")
    if dma.empty:  # else copies of study transfer
        every = context.every
        reads = (every["device"] == device.address) & (every["operation"] == "read")
        dma = every[reads & (every["clock"] == device.clock) & every["median_s"].gt(0)]
    for instruction, memory, width in _PIO:
        pio = device.of(
            "bar_memory_load", instruction=instruction, memory=memory, width=width, pipelined="yes"
        )
        ends = (("median_s", "median_s"), ("ci_high_s", "ci_low_s"), ("ci_low_s", "ci_high_s"))
        size = Interval(*(_meeting(pio, dma, *names) for names in ends))
        if np.isfinite(size.value):
            yield instruction, size


def _meeting(pio: Frame, dma: Frame, of_pio: str, of_dma: str) -> float:
    """Size in bytes from which on DMA is faster, interpolated in log-log; NaN where it never is."""
    both = pio.merge(dma, on="bytes", suffixes=("", "_of_dma")).sort_values("bytes")
    if len(both) < 2:
        return float("nan")
    ahead = np.log(both[of_pio].to_numpy(float) / both[f"{of_dma}_of_dma"].to_numpy(float))
    at = int(np.argmax(ahead > 0))
    if ahead[at] <= 0 or at == 0:
        return float("nan")
    sizes = np.log(both["bytes"].to_numpy(float))
    return float(np.exp(np.interp(0.0, ahead[at - 1 : at + 1], sizes[at - 1 : at + 1])))


_CPU_HERTZ = 3.4e9
"""Clock of the processor in McCalpin, TACC TR-14-10, section 5.2, whose lost work is shown."""
_INSTRUCTIONS_PER_CYCLE, _FLOPS_PER_CYCLE = 4.0, 8.0
"""Instructions and floating-point operations of one core of that processor in each cycle."""
_PACKET = 24
"""Bytes that a packet of a store or a load adds to its data, with 64-bit addresses."""
_COMPLETION = 20
"""Bytes that a completion adds to its data."""
_TRIPS = 3.0
"""Read latencies in one synchronisation: half to push, one and a half to poll, one to fetch."""
_ACCELERATOR_FLOPS = 1e12
_SINGLE_ACCESSES = (
    "register_load", "bar_memory_load", "syscall_load", "poll", "host_load", "line_exchange",
)  # fmt: skip


@question(
    "accesses", "What does one access cost?",
    "device clock operation memory instruction bytes [median_s]",
)  # fmt: skip
def accesses(context: AnalysisContext) -> Rows:
    """Yields the time of one access of each kind, without overlap, and of host memory."""
    for device in devices(context):
        for operation in _SINGLE_ACCESSES:
            dependent = device.of(operation, pipelined="no", fence=NO_FENCE)
            single = dependent[dependent["width"] <= 8]  # a wider row may be several accesses
            for kind, group in single.groupby("memory", sort=False):
                row = group[group["width"] == group["width"].max()].iloc[0]
                key = (device.address, device.clock, operation, kind, row.instruction)
                yield *key, int(row.bytes), time_of(row)


@question("driver", "What does a system call add to an access?", "device clock way [overhead_s]")
def driver(context: AnalysisContext) -> Rows:
    """Yields the time of a system call less that of the access that it makes."""
    for device in devices(context):
        for way, share in ways(device):
            yield device.address, device.clock, way, share


@question(
    "bandwidths", "How many bytes a second can the processor itself move?",
    "device clock operation memory instruction width bytes bandwidth_Bps limit_share flags",
)  # fmt: skip
def bandwidths(context: AnalysisContext) -> Rows:
    """Yields the best rate of stores and loads by mapping and instruction, as share of the link."""
    same = ["operation", "memory", "instruction", "width"]
    for device in devices(context):
        best = device.moving.sort_values("bandwidth_Bps", ascending=False).drop_duplicates(same)
        rest = [*same, "bytes", "bandwidth_Bps", "limit_share", "flags"]
        for row in best.rows(rest):
            yield device.address, device.clock, *row


@question(
    "concurrency", "How many cache lines must be in flight to fill the link?",
    "device latency_s rate_Bps lines",
)  # fmt: skip
def concurrency(context: AnalysisContext) -> Rows:
    """Yields the cache lines that must be in flight to fill a link: rate x latency / 64 B."""
    for device in devices(context):
        load = device.latency("bar_memory_load") or device.latency("register_load")
        if load and device.link:
            lines = in_flight(device.link.raw, load.value) / model.LINE
            yield device.address, load.value, device.link.raw, lines


@question(
    "synchronisation", "What does one synchronisation with the device cost?",
    "device clock load_s three_loads_s polled_s polled_in_loads cycles instructions cpu_flops",
    "flops_not_done",
)  # fmt: skip
def synchronisation(context: AnalysisContext) -> Rows:
    """Yields the time of a synchronisation: computed from read latencies, measured by polling."""
    for device in devices(context):
        load = device.latency("register_load") or device.latency("bar_memory_load")
        if load is None:
            continue
        cost = _TRIPS * load.value
        cycles, lost = cost * _CPU_HERTZ, cost * _ACCELERATOR_FLOPS
        seen = device.one("poll", instruction="mov")
        measured = seen.value if seen else np.nan
        key = (device.address, device.clock, load.value, cost, measured, measured / load.value)
        yield *key, cycles, cycles * _INSTRUCTIONS_PER_CYCLE, cycles * _FLOPS_PER_CYCLE, lost


@question(
    "crossover", "From which size on is DMA faster than loads?",
    "device clock instruction [crossover_bytes] predicted_bytes residual",
)  # fmt: skip
def crossover(context: AnalysisContext) -> Rows:
    """Yields the size from which DMA reads the device faster than loads: measured and predicted."""
    for device in devices(context):
        for instruction, size in crossings(device, context):
            predicted = np.nan
            if device.board and device.board.has("dma") and instruction == "movntdqa":
                predicted = model.crossover_bytes(device.board)
            key = (device.address, device.clock, instruction)
            yield *key, size, predicted, size.value / predicted - 1


@question(
    "anomalies", "Is anything faster than the link allows?",
    "device clock operation memory instruction width bytes median_s least_s anomaly",
)  # fmt: skip
def anomalies(context: AnalysisContext) -> Rows:
    """Yields rows that are faster than one packet for each access allows, with the reason."""
    for device in devices(context):
        link = device.link
        if link is None:
            continue
        for row in device.moving[device.moving["memory"].isin(["bar_uc", "bar_wc"])].itertuples():
            count, loads = int(row.bytes) / int(row.width), row.operation == "bar_memory_load"
            around = _COMPLETION if loads else _PACKET
            if loads and row.pipelined == "no":
                around += _PACKET  # the packet of the request
            least = count * (int(row.width) + around) / link.raw
            if row.median_s < least:
                kind = "speculated" if loads else "merged stores"
                key = (device.address, device.clock, row.operation, row.memory, row.instruction)
                yield *key, int(row.width), int(row.bytes), row.median_s, least, kind


QUESTIONS = (
    accesses, driver, bandwidths, concurrency, synchronisation, crossover, anomalies,
    reproduction.published_figures,
)  # fmt: skip


ACCESSES = {
    "register_load": "load of a register",
    "bar_memory_load": "load of the card's memory",
    "poll": "start and wait by polling",
    "syscall_load": "load by a system call",
    "host_load": "load of host memory",
    "line_exchange": "cache line to another core and back",
}
"""Words for each operation, the most important operation first."""
_CORE_LINES = 10
"""Approximate number of cache lines that one core keeps in flight."""


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """Returns findings on the times of four kinds of access, on stores and on the link."""
    accesses = list(_accesses(context))
    first: dict[str, Finding] = {}
    for access in accesses:
        first.setdefault(access.operation, access)
    head = [first[name] for name in ACCESSES if name in first][:MOST_HEADLINES]
    rest = [*accesses, *_stores(context), *_lines(context), *_crossover(context)]
    rest += [*_driver(context), *_combining(context)]
    return common.headed(head, rest)


def _accesses(context: AnalysisContext) -> Iterator[Finding]:
    for row in accesses(context).table.itertuples():
        yield common.finding_of(
            context, row, "access", "{what}", interval_of(row, "median_s"), "s", ways=ACCESSES,
            subject=_on(context, row, row.memory), evidence="accesses",
        )  # fmt: skip


def _on(context: AnalysisContext, row: Any, what: str) -> str:
    return f"{context.titles[row.device]}, {what}"


def _stores(context: AnalysisContext) -> Iterator[Finding]:
    """Yields the highest rate at which a core stores to the device."""
    table = bandwidths(context).table
    for _, stores in table[table["operation"] == "store"].groups(["device"]):
        row = stores.row(stores["bandwidth_Bps"].idxmax())
        share, reference = float(row.limit_share), None
        if np.isfinite(share) and share > 0:
            reference = Reference(kind="limit", value=row.bandwidth_Bps / share, name="link")
        yield common.finding_of(
            context, row, "stores_of_limit" if reference else "stores", "stores by one core",
            Interval(row.bandwidth_Bps, np.nan, np.nan), "B/s", reference=reference,
            share=share if reference else None, subject=_on(context, row, row.memory),
            evidence="bandwidths",
        )  # fmt: skip


def _lines(context: AnalysisContext) -> Iterator[Finding]:
    """Yields the cache lines that must be in flight to fill the link (Little's law)."""
    table = concurrency(context).table
    for row in table[table["lines"] > _CORE_LINES].itertuples():
        yield common.finding_of(
            context, row, "fill_link", "cache lines that fill the link",
            Interval(float(row.lines), np.nan, np.nan), "lines", remark="use DMA",
            action="DMA in place of loads", values={"lines": number(row.lines)},
            evidence="concurrency",
        )  # fmt: skip


def _crossover(context: AnalysisContext) -> Iterator[Finding]:
    for row in crossover(context).table.itertuples():
        size = rounded_size(row.crossover_bytes)
        yield common.finding_of(
            context, row, "crossover", "DMA is faster than loads from",
            interval_of(row, "crossover_bytes"), "B", subject=_on(context, row, row.instruction),
            values={"size": size + " B" * (size[-1:] != "i"), "instruction": row.instruction},
            evidence="crossover",
        )  # fmt: skip


def _driver(context: AnalysisContext) -> Iterator[Finding]:
    table = driver(context).table
    for row in table[table["overhead_s"] > 0].drop_duplicates("device").itertuples():
        yield common.finding_of(
            context, row, "call_extrapolated" if "configuration" in row.way else "call_measured",
            "what a system call adds", interval_of(row, "overhead_s"), "s", evidence="driver",
        )  # fmt: skip


def _combining(context: AnalysisContext) -> Iterator[Finding]:
    table = anomalies(context).table
    for row in table[table["anomaly"] == "merged stores"].drop_duplicates("device").itertuples():
        yield common.finding_of(
            context, row, "write_combining", "write combining", None, evidence="anomalies",
            subject=_on(context, row, row.memory), values={"width": str(row.width)},
        )  # fmt: skip


ANALYSIS = Analysis(QUESTIONS, findings)
