"""Questions of the study ``mmio``: time of loads and stores, and consequences."""

from __future__ import annotations

import numpy as np

from isthmus.analysis import published
from isthmus.analysis.context import AnalysisContext, Rows, each, question, time_of
from isthmus.analysis.mmio_rows import NO_FENCE, crossings, devices, ways
from isthmus.models import mmio as model
from isthmus.models.littles_law import in_flight

_CPU_HERTZ = 3.4e9
_INSTRUCTIONS_PER_CYCLE, _FLOPS_PER_CYCLE = 4.0, 8.0
"""Of the processor whose lost work is told: that of McCalpin, TACC TR-14-10, section 5.2."""
_PACKET = 24
"""Bytes around a store's or a load's packet with 64-bit addresses; a completion's 20 beside."""
_COMPLETION = 20
_TRIPS = 3.0
"""Read latencies of one synchronisation: half to push, one and a half to poll, one to fetch."""
_ACCELERATOR_FLOPS = 1e12
_SINGLE_ACCESSES = (
    "register_load", "bar_memory_load", "syscall_load", "poll", "host_load", "line_exchange",
)  # fmt: skip


@question(
    "accesses", "What does one access cost?",
    "device clock operation memory instruction bytes [median_s]",
)  # fmt: skip
def accesses(context: AnalysisContext) -> Rows:
    """Time of one access of each kind, without overlap, and of the host's own memory."""
    for device in devices(context):
        for operation in _SINGLE_ACCESSES:
            dependent = device.of(operation, pipelined="no", fence=NO_FENCE)
            single = dependent[dependent["width"] <= 8]  # a wider one may be several accesses
            for kind, group in single.groupby("memory", sort=False):
                row = group[group["width"] == group["width"].max()].iloc[0]
                key = (device.address, device.clock, operation, kind, row.instruction)
                yield *key, int(row.bytes), time_of(row)


@question("driver", "What does the way through the driver add?", "device clock way [overhead_s]")
def driver(context: AnalysisContext) -> Rows:
    """Time of a system call without the access that it makes."""
    for device in devices(context):
        for way, share in ways(device):
            yield device.address, device.clock, way, share


@question(
    "bandwidths", "How many bytes a second can the processor itself move?",
    "device clock operation memory instruction width bytes bandwidth_Bps limit_share flags",
)  # fmt: skip
def bandwidths(context: AnalysisContext) -> Rows:
    """Best rate of stores and loads by mapping and instruction, as a share of the link."""
    same = ["operation", "memory", "instruction", "width"]
    for device in devices(context):
        best = device.moving.sort_values("bandwidth_Bps", ascending=False).drop_duplicates(same)
        rest = [*same, "bytes", "bandwidth_Bps", "limit_share", "flags"]
        for row in best.rows(rest):
            yield device.address, device.clock, *row


@question(
    "concurrency", "How many lines must be on their way to fill the link?",
    "device latency_s rate_Bps lines",
)  # fmt: skip
def concurrency(context: AnalysisContext) -> Rows:
    """Cache lines that must be in flight to fill a link: rate x latency / 64 B."""
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
    """Time of one synchronisation: from read latencies, and as measured."""
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
    """Size from which DMA reads the device faster than loads do: measured, and predicted."""
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
    """Rows faster than one packet for each access allows, and the reason."""
    for device in devices(context):
        link = device.link
        if link is None:
            continue
        for row in each(device.moving[device.moving["memory"].isin(["bar_uc", "bar_wc"])]):
            count, loads = int(row.bytes) / int(row.width), row.operation == "bar_memory_load"
            around = _COMPLETION if loads else _PACKET
            if loads and row.pipelined == "no":
                around += _PACKET  # the request, before the data
            least = count * (int(row.width) + around) / link.raw
            if row.median_s < least:
                kind = "speculated" if loads else "merged stores"
                key = (device.address, device.clock, row.operation, row.memory, row.instruction)
                yield *key, int(row.width), int(row.bytes), row.median_s, least, kind


QUESTIONS = (
    accesses, driver, bandwidths, concurrency, synchronisation, crossover, anomalies,
    published.published_figures,
)  # fmt: skip
