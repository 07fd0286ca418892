"""Questions of the study ``mmio``: time of loads and stores, and consequences."""

from __future__ import annotations

import numpy as np

from isthmus.analysis import published
from isthmus.analysis.context import AnalysisContext, Answer, each, time_of
from isthmus.analysis.mmio_rows import NO_FENCE, crossings, devices, ways
from isthmus.models import mmio as model
from isthmus.models.littles_law import in_flight

_LINE = 64
_CPU_HERTZ = 3.4e9
_INSTRUCTIONS_PER_CYCLE, _FLOPS_PER_CYCLE = 4.0, 8.0
"""Of the processor whose lost work is told: that of McCalpin, TACC TR-14-10, section 5.2."""
_PACKET = 24
"""Bytes around a store's or a load's packet with 64-bit addresses; a completion's 20 beside."""
_COMPLETION = 20
_TRIPS = 3.0
"""Read latencies of one synchronisation: half to push, one and a half to poll, one to fetch."""
_CPU_HERTZ = 3.4e9
_INSTRUCTIONS_PER_CYCLE, _FLOPS_PER_CYCLE = 4.0, 8.0
"""Of the processor that McCalpin, TACC TR-14-10, section 5.2, counts the work of."""
_ACCELERATOR_FLOPS = 1e12
_SINGLE_ACCESSES = (
    "register_load", "bar_memory_load", "syscall_load", "poll", "host_load", "line_exchange",
)  # fmt: skip


def accesses(context: AnalysisContext) -> Answer:
    """Time of one access of each kind, without overlap, and of the host's own memory."""
    rows: list[tuple[object, ...]] = []
    for device in devices(context):
        for operation in _SINGLE_ACCESSES:
            dependent = device.of(operation, pipelined="no", fence=NO_FENCE)
            single = dependent[dependent["width"] <= 8]  # a wider one may be several accesses
            for kind, group in single.groupby("memory", sort=False):
                row = group[group["width"] == group["width"].max()].iloc[0]
                key = (device.address, device.clock, operation, kind, row["instruction"])
                rows.append((*key, int(row["bytes"]), *time_of(row)[:3]))
    return Answer.of(
        "accesses", "What does one access cost?", rows,
        "device clock operation memory instruction bytes median_s low_s high_s",
    )  # fmt: skip


def driver(context: AnalysisContext) -> Answer:
    """Time of a system call without the access that it makes."""
    rows: list[tuple[object, ...]] = []
    for device in devices(context):
        rows += [(device.address, device.clock, way, *share[:3]) for way, share in ways(device)]
    return Answer.of(
        "driver", "What does the way through the driver add?", rows,
        "device clock way overhead_s low_s high_s",
    )  # fmt: skip


def bandwidths(context: AnalysisContext) -> Answer:
    """Best rate of stores and loads by mapping and instruction, as a share of the link."""
    rows: list[tuple[object, ...]] = []
    for device in devices(context):
        moving = device.rows[device.rows["operation"].isin(["store", "bar_memory_load"])]
        best = moving.sort_values("bandwidth_Bps", ascending=False)
        best = best.drop_duplicates(["operation", "memory", "instruction", "width"])
        for row in each(best):
            key = (device.address, device.clock, row.operation, row.memory, row.instruction)
            rate = float(row.bandwidth_Bps)
            rows.append((*key, int(row.width), int(row.bytes), rate, row.limit_share, row.flags))
    return Answer.of(
        "bandwidths", "How many bytes a second can the processor itself move?", rows,
        "device clock operation memory instruction width bytes bandwidth_Bps limit_share", "flags",
    )  # fmt: skip


def concurrency(context: AnalysisContext) -> Answer:
    """Cache lines that must be in flight to fill a link: rate x latency / 64 B."""
    rows: list[tuple[object, ...]] = []
    for device in devices(context):
        load = device.latency("bar_memory_load") or device.latency("register_load")
        if load and device.link:
            lines = in_flight(device.link.raw, load.value) / model.LINE
            rows.append((device.address, load.value, device.link.raw, lines))
    return Answer.of(
        "concurrency", "How many lines must be on their way to fill the link?", rows,
        "device latency_s rate_Bps lines",
    )  # fmt: skip


def synchronisation(context: AnalysisContext) -> Answer:
    """Time of one synchronisation: from read latencies, and as measured."""
    rows: list[tuple[object, ...]] = []
    for device in devices(context):
        load = device.latency("register_load") or device.latency("bar_memory_load")
        if load is None:
            continue
        cost = _TRIPS * load.value
        cycles, lost = cost * _CPU_HERTZ, cost * _ACCELERATOR_FLOPS
        seen = device.one("poll", instruction="mov")
        measured = seen.value if seen else np.nan
        key = (device.address, device.clock, load.value, cost, measured, measured / load.value)
        instructions, flops = cycles * _INSTRUCTIONS_PER_CYCLE, cycles * _FLOPS_PER_CYCLE
        rows.append((*key, cycles, instructions, flops, lost))
    return Answer.of(
        "synchronisation", "What does one synchronisation with the device cost?", rows,
        "device clock load_s three_loads_s polled_s polled_in_loads cycles instructions",
        "cpu_flops flops_not_done",
    )  # fmt: skip


def crossover(context: AnalysisContext) -> Answer:
    """Size from which DMA reads the device faster than loads do: measured, and predicted."""
    rows: list[tuple[object, ...]] = []
    for device in devices(context):
        for instruction, size in crossings(device, context):
            predicted = np.nan
            if device.board and device.board.has("dma") and instruction == "movntdqa":
                predicted = model.crossover_bytes(device.board)
            key = (device.address, device.clock, instruction)
            rows.append((*key, *size[:3], predicted, size.value / predicted - 1))
    return Answer.of(
        "crossover", "From which size on is DMA faster than loads?", rows,
        "device clock instruction crossover_bytes low_bytes high_bytes predicted_bytes",
        "residual",
    )  # fmt: skip


def anomalies(context: AnalysisContext) -> Answer:
    """Rows faster than one packet for each access allows, and the reason."""
    rows: list[tuple[object, ...]] = []
    for device in devices(context):
        if device.link is None:
            continue
        moving = device.rows[device.rows["operation"].isin(["store", "bar_memory_load"])]
        moving = moving[moving["memory"].isin(["bar_uc", "bar_wc"])]
        for row in each(moving):
            count = int(row.bytes) / int(row.width)
            loads = row.operation == "bar_memory_load"
            around = _COMPLETION if loads else _PACKET
            least = count * (int(row.width) + around) / device.link.raw
            if loads and row.pipelined == "no":
                least += count * _PACKET / device.link.raw  # the request, before the data
            if row.median_s >= least:
                continue
            kind = "speculated" if loads else "merged stores"
            key = (device.address, device.clock, row.operation, row.memory, row.instruction)
            rows.append((*key, int(row.width), int(row.bytes), row.median_s, least, kind))
    return Answer.of(
        "anomalies", "Is anything faster than the link allows?", rows,
        "device clock operation memory instruction width bytes median_s least_s anomaly",
    )  # fmt: skip


QUESTIONS = (
    accesses, driver, bandwidths, concurrency, synchronisation, crossover, anomalies,
    published.published_figures,
)  # fmt: skip
