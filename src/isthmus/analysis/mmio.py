"""Answers of the study mmio: what loads and stores cost, and what follows from it."""

from __future__ import annotations

import numpy as np

from isthmus.analysis import wording
from isthmus.analysis.evidence import Answer, Evidence, each, time_of
from isthmus.analysis.mmio_published import (
    CPU_HERTZ,
    FLOPS_PER_CYCLE,
    INSTRUCTIONS_PER_CYCLE,
    LINE,
    STATED_LINES,
    STATED_RATE,
    replica,
)
from isthmus.analysis.mmio_rows import NO_FENCE, answer, crossings, devices, ways
from isthmus.models import mmio as model
from isthmus.models.littles_law import in_flight
from isthmus.units import format_rate, format_seconds, format_size

_PACKET = 24
"""Bytes around a store's or a load's packet with 64-bit addresses; a completion's 20 beside."""
_COMPLETION = 20
_TRIPS = 3.0
"""Read latencies of one synchronisation: half to push, one and a half to poll, one to fetch."""
_ACCELERATOR_FLOPS = 1e12


def accesses(evidence: Evidence) -> Answer:
    """One access of each kind that nothing overlaps, and the host's own memory beside it."""
    named = {
        "register_load": "a register load takes", "bar_memory_load": "a load of its memory",
        "syscall_load": "a load by a system call", "poll": "a round trip by polling",
        "host_load": "a load of host memory that misses every cache",
        "line_exchange": "a line to another processor and back",
    }  # fmt: skip
    rows: list[tuple[object, ...]] = []
    clauses = []
    for device in devices(evidence):
        told: list[str] = []
        for operation, words in named.items():
            alone = device.of(operation, pipelined="no", fence=NO_FENCE)
            for kind, group in alone.groupby("memory", sort=False):
                first = group[group["width"] == group["width"].where(group["width"] <= 8).max()]
                row = first.iloc[0]
                key = (device.address, device.clock, operation, kind, row["instruction"])
                rows.append((*key, int(row["bytes"]), *time_of(row)[:3]))
                told.append(f"{words if not told else words.replace(' takes', '')} "
                            f"{format_seconds(row['median_s'])} ({kind})")  # fmt: skip
        stream = device.of("host_stream")
        if len(stream):
            told.append(f"cached loads run at {format_rate(stream['bandwidth_Bps'].iloc[-1])}")
        if told:
            clauses.append(f"{', '.join(told)} ({device.label}, {device.clock} clock)")
    return answer(
        "accesses", "What does one access cost?", clauses, rows,
        "device", "clock", "operation", "memory", "instruction", "bytes", "median_s", "low_s",
        "high_s",
    )  # fmt: skip


def driver(evidence: Evidence) -> Answer:
    """What a system call costs beside the access that it makes."""
    rows: list[tuple[object, ...]] = []
    clauses = []
    for device in devices(evidence):
        found = list(ways(device))
        rows += [(device.address, device.clock, way, *value[:3]) for way, value in found]
        if found:
            each = ", ".join(f"{format_seconds(value.value)} by {way}" for way, value in found)
            clauses.append(f"{each} ({device.label}, {device.clock} clock)")
    return answer(
        "driver", "What does the way through the driver add?", clauses, rows,
        "device", "clock", "way", "overhead_s", "low_s", "high_s",
    )  # fmt: skip


def bandwidths(evidence: Evidence) -> Answer:
    """Best rate of stores and loads by mapping and instruction, as a share of the link."""
    rows: list[tuple[object, ...]] = []
    clauses = []
    for device in devices(evidence):
        raw = device.link.raw if device.link else np.nan
        moving = device.rows[device.rows["operation"].isin(["store", "bar_memory_load"])]
        best = moving.sort_values("bandwidth_Bps", ascending=False, kind="stable")
        best = best.drop_duplicates(["operation", "memory", "instruction", "width"])
        for row in each(best):
            key = (device.address, device.clock, row.operation, row.memory, row.instruction)
            rate = float(row.bandwidth_Bps)
            rows.append((*key, int(row.width), int(row.bytes), rate, rate / raw, row.flags))
        for operation, words in (("store", "stores"), ("bar_memory_load", "loads")):
            mine = best[(best["operation"] == operation) & ~best["flags"].str.contains("what_if")]
            if len(mine):
                top = mine.iloc[0]
                share = top["bandwidth_Bps"] / raw
                of_link = f", {wording.percent(share)} of the link" if share > 0 else ""
                clauses.append(
                    f"{words} reach {format_rate(top['bandwidth_Bps'])}{of_link} ("
                    f"{top['instruction']} of {int(top['width'])} B, {top['memory']}, blocks of "
                    f"{format_size(int(top['bytes']))}; {device.label}, {device.clock} clock)"
                )
        stream, load = device.of("host_stream"), device.latency("bar_memory_load")
        if len(stream) and load:
            times = float(stream["bandwidth_Bps"].iloc[-1]) * load.value / 8
            clauses.append(
                f"uncached loads of 8 B have 1/{wording.number(times)} of the rate of cached ones "
                f"({device.label})"
            )
    return answer(
        "bandwidths", "How many bytes a second can the processor itself move?", clauses, rows,
        "device", "clock", "operation", "memory", "instruction", "width", "bytes",
        "bandwidth_Bps", "link_share", "flags",
    )  # fmt: skip


def concurrency(evidence: Evidence) -> Answer:
    """Lines that must be on their way to fill a link: rate x latency / 64 B."""
    rows: list[tuple[object, ...]] = []
    clauses = []
    for latency in STATED_LINES:
        lines = in_flight(STATED_RATE, latency) / LINE
        rows.append(("as published", latency, STATED_RATE, lines))
    stated = " and ".join(f"{row[3]:.0f} lines" for row in rows)
    for device in devices(evidence):
        load = device.latency("bar_memory_load") or device.latency("register_load")
        if load and device.link:
            lines = in_flight(device.link.raw, load.value) / LINE
            rows.append((device.address, load.value, device.link.raw, lines))
            clauses.append(
                f"{wording.number(lines)} lines fill this link at {format_seconds(load.value)} "
                f"each ({device.label})"
            )
    if not clauses:
        rows = []
    else:
        clauses.append(f"6.40 GB/s at 60 and 420 ns need {stated}, as published")
    return answer(
        "concurrency", "How many lines must be on their way to fill the link?", clauses, rows,
        "device", "latency_s", "rate_Bps", "lines",
    )  # fmt: skip


def synchronisation(evidence: Evidence) -> Answer:
    """One exchange of a flag and an answer: as a count of read latencies, and as it was seen."""
    rows: list[tuple[object, ...]] = []
    clauses = []
    for device in devices(evidence):
        load = device.latency("register_load") or device.latency("bar_memory_load")
        if load is None:
            continue
        cost = _TRIPS * load.value
        cycles, lost = cost * CPU_HERTZ, cost * _ACCELERATOR_FLOPS
        seen = device.one("poll", instruction="mov")
        measured = seen.value if seen else np.nan
        key = (device.address, device.clock, load.value, cost, measured, measured / load.value)
        instructions, flops = cycles * INSTRUCTIONS_PER_CYCLE, cycles * FLOPS_PER_CYCLE
        rows.append((*key, cycles, instructions, flops, lost))
        loads = wording.number(measured / load.value)
        told = f" (a polled round trip took {loads} loads)" if seen else ""
        clauses.append(
            f"three loads are {format_seconds(cost)}{told}: {cycles:.0f} cycles at 3.4 GHz, "
            f"{lost:.3g} operations of a 1 Tflop/s accelerator ({device.label})"
        )
    return answer(
        "synchronisation", "What does one synchronisation with the device cost?", clauses, rows,
        "device", "clock", "load_s", "three_loads_s", "polled_s", "polled_in_loads", "cycles",
        "instructions", "cpu_flops", "flops_not_done",
    )  # fmt: skip


def crossover(evidence: Evidence) -> Answer:
    """Size from which DMA reads the device faster than loads do: measured, and predicted."""
    rows: list[tuple[object, ...]] = []
    clauses = []
    for device in devices(evidence):
        for instruction, found in crossings(device, evidence):
            predicted = np.nan
            if device.board and device.board.has("dma") and instruction == "movntdqa":
                predicted = model.crossover_bytes(device.board)
            key = (device.address, device.clock, instruction)
            rows.append((*key, *found[:3], predicted, found.value / predicted - 1))
            told = f", {wording.size(predicted)} predicted" if np.isfinite(predicted) else ""
            clauses.append(
                f"from {wording.size(found.value)} on DMA beats {instruction}{told} "
                f"({device.label})"
            )
    return answer(
        "crossover", "From which size on is DMA faster than loads?", clauses, rows,
        "device", "clock", "instruction", "crossover_bytes", "low_bytes", "high_bytes",
        "predicted_bytes", "residual",
        otherwise="this run has no DMA of the same device to compare with",
    )  # fmt: skip


def anomalies(evidence: Evidence) -> Answer:
    """Rows that are faster than one packet for each access can be, and why that may be."""
    rows: list[tuple[object, ...]] = []
    clauses: dict[str, str] = {}
    for device in devices(evidence):
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
            why = (
                "loads were served by a line that the processor had fetched ahead"
                if loads
                else "the processor merged stores into fewer packets"
            )
            key = (device.address, device.clock, row.operation, row.memory, row.instruction)
            rows.append((*key, int(row.width), int(row.bytes), row.median_s, least, kind))
            clauses.setdefault(
                f"{device.address} {kind}",
                f"{row.instruction} of {int(row.width)} B ({row.memory}) is faster than a packet "
                f"for each on this link: {why} ({device.label})",
            )
    return answer(
        "anomalies", "Is anything faster than the link allows?", list(clauses.values()), rows,
        "device", "clock", "operation", "memory", "instruction", "width", "bytes", "median_s",
        "least_s", "anomaly", otherwise="nothing is",
    )  # fmt: skip


ASKED = (
    accesses, driver, bandwidths, concurrency, synchronisation, crossover, anomalies, replica,
)  # fmt: skip
