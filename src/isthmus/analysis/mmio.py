"""Answers of the study mmio: what loads and stores cost, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from isthmus import boards, published
from isthmus.analysis import wording
from isthmus.analysis.evidence import Answer, Evidence, table
from isthmus.boards import Board
from isthmus.models import mmio as model
from isthmus.models.littles_law import in_flight
from isthmus.models.pcie import Link, link_of, path_of
from isthmus.units import format_rate, format_seconds, format_size

_LINE = 64
_MOVED = 1 << 20
"""Bytes that the first of the four ways moves in ever smaller blocks."""
_PACKET = 24
"""Bytes around a store's or a load's packet with 64-bit addresses; a completion's 20 beside."""
_COMPLETION = 20
_TRIPS = 3.0
"""Read latencies of one synchronisation: half to push, one and a half to poll, one to fetch."""
_CPU_HERTZ = 3.4e9
_ACCELERATOR_FLOPS = 1e12
_INSTRUCTIONS_PER_CYCLE = 1.0
_STATED_RATE = 6.4e9
_STATED_LATENCIES = (60e-9, 420e-9)
_BEST = "none"


class Value(NamedTuple):
    """A figure and its interval."""

    value: float
    low: float
    high: float

    def minus(self, other: Value) -> Value:
        """The difference; both ends as if the two erred independently."""
        down = np.hypot(self.value - self.low, other.high - other.value)
        up = np.hypot(self.high - self.value, other.value - other.low)
        middle = self.value - other.value
        return Value(middle, middle - down, middle + up)


class Device:
    """One device's rows of the study on one clock, asked by what they are."""

    def __init__(self, evidence: Evidence, address: str, clock: str, rows: pd.DataFrame) -> None:
        self.address = address
        self.clock = clock
        self.rows = rows
        self.label = evidence.labels[address]
        record = next(one for one in evidence.run.devices if one.address == address)
        flat = {key: value for key, value in record.properties.items() if "." in key}
        self.board: Board | None = boards.recorded(flat)
        self.link: Link | None = path_of(self.board).link if self.board else link_of(record.link)

    def of(self, operation: str, **wanted: object) -> pd.DataFrame:
        """Rows of an operation with these values, from small to large."""
        found = self.rows[self.rows["operation"] == operation]
        for name, value in wanted.items():
            found = found[found[name] == value]
        return found.sort_values("bytes")

    def one(self, operation: str, **wanted: object) -> Value | None:
        """Time of the first such row; None where there is none."""
        found = self.of(operation, **wanted)
        return _time(found.iloc[0]) if len(found) else None

    def latency(self, operation: str) -> Value | None:
        """Of one load of 8 B, or of the widest below, that nothing overlaps."""
        alone = self.of(operation, pipelined="no", instruction="mov", fence=_BEST)
        alone = alone[alone["memory"].isin(["bar_uc", "bar_wc"])]
        return _time(alone.iloc[-1]) if len(alone) else None


def _time(row: Any) -> Value:
    value = float(row["median_s"])
    low, high = float(row["ci_low_s"]), float(row["ci_high_s"])
    return Value(value, low if low > 0 else value, high if np.isfinite(high) else value)


def _devices(evidence: Evidence) -> Iterator[Device]:
    mine = evidence.every[evidence.every["study"] == evidence.study]
    mine = mine[(mine["verified"] != "false") & mine["median_s"].gt(0)]
    for (address, clock), rows in mine.groupby(["device", "clock"], sort=False):
        yield Device(evidence, str(address), str(clock), rows)


def _answer(
    name: str, question: str, clauses: list[str], rows: list[tuple[object, ...]], *columns: str,
    in_full: bool = False, otherwise: str = "nothing in this run tells",
) -> Answer:  # fmt: skip
    said = tuple(clauses) if in_full else wording.few(clauses)
    return Answer(name, question, said or (otherwise,), table(rows, *columns), in_full=in_full)


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
    for device in _devices(evidence):
        told: list[str] = []
        for operation, words in named.items():
            alone = device.of(operation, pipelined="no", fence=_BEST)
            for kind, group in alone.groupby("memory", sort=False):
                first = group[group["width"] == group["width"].where(group["width"] <= 8).max()]
                row = first.iloc[0]
                key = (device.address, device.clock, operation, kind, row["instruction"])
                rows.append((*key, int(row["bytes"]), *_time(row)))
                told.append(f"{words if not told else words.replace(' takes', '')} "
                            f"{format_seconds(row['median_s'])} ({kind})")  # fmt: skip
        stream = device.of("host_stream")
        if len(stream):
            told.append(f"cached loads run at {format_rate(stream['bandwidth_Bps'].iloc[-1])}")
        if told:
            clauses.append(f"{', '.join(told)} ({device.label}, {device.clock} clock)")
    return _answer(
        "accesses", "What does one access cost?", clauses, rows,
        "device", "clock", "operation", "memory", "instruction", "bytes", "median_s", "low_s",
        "high_s",
    )  # fmt: skip


def _ways(device: Device) -> Iterator[tuple[str, Value]]:
    """The driver's share of an access, in the report's ways as far as the run has rows for them.

    Beside them the start-up time of reads of configuration space.
    """
    stores = device.of("syscall_store")
    stores = stores[_MOVED % stores["bytes"] == 0]
    if len(stores) > 2:
        calls = _MOVED / stores["bytes"].to_numpy(dtype=float)
        yield "1 MiB stored in shrinking blocks", _slope(calls, stores, calls)
    for size in (8, 64):
        call = device.one("syscall_load", bytes=size, memory="bar_uc")
        pointer = device.one(
            "bar_memory_load", bytes=size, width=8, instruction="mov", memory="bar_uc",
            pipelined="no" if size == 8 else "yes",
        )  # fmt: skip
        if call and pointer:
            yield f"loads of {size} B", call.minus(pointer)
    spin, read = (device.one("poll", instruction=name) for name in ("mov", "pread"))
    if spin and read:
        yield "spin, then load", read.minus(spin)
    config = device.of("syscall_load", memory="config", width=4)
    if len(config) > 2:
        words = config["bytes"].to_numpy(dtype=float) / 4
        fit = np.polyfit(words, config["median_s"].to_numpy(dtype=float), 1)
        yield "reads of configuration space, to no words", Value(fit[1], np.nan, np.nan)


def _slope(x: Any, rows: pd.DataFrame, scale: Any) -> Value:
    """Least squares of time over ``x``, at the rows' medians and at the ends of their intervals."""
    ends = (
        np.polyfit(x, scale * rows[name].to_numpy(dtype=float), 1)[0]
        for name in ("median_s", "ci_low_s", "ci_high_s")
    )
    return Value(*map(float, ends))


_WAYS = {
    "1 MiB stored in shrinking blocks": "driver_overhead_write_fit",
    "loads of 8 B": "driver_overhead_read8",
    "loads of 64 B": "driver_overhead_read64",
    "spin, then load": "driver_overhead_spin",
}


def driver(evidence: Evidence) -> Answer:
    """What a system call costs beside the access that it makes."""
    rows: list[tuple[object, ...]] = []
    clauses = []
    for device in _devices(evidence):
        found = list(_ways(device))
        rows += [(device.address, device.clock, way, *value) for way, value in found]
        if found:
            each = ", ".join(f"{format_seconds(value.value)} by {way}" for way, value in found)
            clauses.append(f"{each} ({device.label}, {device.clock} clock)")
    return _answer(
        "driver", "What does the way through the driver add?", clauses, rows,
        "device", "clock", "way", "overhead_s", "low_s", "high_s",
    )  # fmt: skip


def bandwidths(evidence: Evidence) -> Answer:
    """Best rate of stores and loads by mapping and instruction, as a share of the link."""
    rows: list[tuple[object, ...]] = []
    clauses = []
    for device in _devices(evidence):
        raw = device.link.raw if device.link else np.nan
        moving = device.rows[device.rows["operation"].isin(["store", "bar_memory_load"])]
        best = moving.loc[moving.groupby(["operation", "memory", "instruction", "width"])[
            "bandwidth_Bps"].idxmax()] if len(moving) else moving  # fmt: skip
        for row in best.itertuples(index=False):
            key = (device.address, device.clock, row.operation, row.memory, row.instruction)
            rate = float(row.bandwidth_Bps)
            rows.append((*key, int(row.width), int(row.bytes), rate, rate / raw, row.flags))
        for operation, words in (("store", "stores"), ("bar_memory_load", "loads")):
            mine = best[(best["operation"] == operation) & ~best["flags"].str.contains("what_if")]
            if len(mine):
                top = mine.loc[mine["bandwidth_Bps"].idxmax()]
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
    return _answer(
        "bandwidths", "How many bytes a second can the processor itself move?", clauses, rows,
        "device", "clock", "operation", "memory", "instruction", "width", "bytes",
        "bandwidth_Bps", "link_share", "flags",
    )  # fmt: skip


def concurrency(evidence: Evidence) -> Answer:
    """Lines that must be on their way to fill a link: rate x latency / 64 B."""
    rows: list[tuple[object, ...]] = []
    clauses = []
    for latency in _STATED_LATENCIES:
        lines = in_flight(_STATED_RATE, latency) / _LINE
        rows.append(("as published", latency, _STATED_RATE, lines))
    stated = " and ".join(f"{row[3]:.0f} lines" for row in rows)
    for device in _devices(evidence):
        load = device.latency("bar_memory_load") or device.latency("register_load")
        if load and device.link:
            lines = in_flight(device.link.raw, load.value) / _LINE
            rows.append((device.address, load.value, device.link.raw, lines))
            clauses.append(
                f"{wording.number(lines)} lines fill this link at {format_seconds(load.value)} "
                f"each ({device.label})"
            )
    if not clauses:
        rows = []
    else:
        clauses.append(f"6.40 GB/s at 60 and 420 ns need {stated}, as published")
    return _answer(
        "concurrency", "How many lines must be on their way to fill the link?", clauses, rows,
        "device", "latency_s", "rate_Bps", "lines",
    )  # fmt: skip


def synchronisation(evidence: Evidence) -> Answer:
    """One exchange of a flag and an answer: as a count of read latencies, and as it was seen."""
    rows: list[tuple[object, ...]] = []
    clauses = []
    for device in _devices(evidence):
        load = device.latency("register_load") or device.latency("bar_memory_load")
        if load is None:
            continue
        cost = _TRIPS * load.value
        cycles, lost = cost * _CPU_HERTZ, cost * _ACCELERATOR_FLOPS
        seen = device.one("poll", instruction="mov")
        measured = seen.value if seen else np.nan
        key = (device.address, device.clock, load.value, cost, measured, measured / load.value)
        rows.append((*key, cycles, cycles * _INSTRUCTIONS_PER_CYCLE, lost))
        told = f"; it took {wording.number(measured / load.value)}" if seen else ""
        clauses.append(
            f"three loads are {format_seconds(cost)}{told}: {cycles:.0f} cycles at 3.4 GHz, "
            f"{lost:.3g} operations of a 1 Tflop/s accelerator ({device.label})"
        )
    return _answer(
        "synchronisation", "What does one synchronisation with the device cost?", clauses, rows,
        "device", "clock", "load_s", "three_loads_s", "polled_s", "polled_in_loads", "cycles",
        "instructions", "flops_not_done",
    )  # fmt: skip


def _meeting(pio: pd.DataFrame, dma: pd.DataFrame, names: tuple[str, str]) -> float:
    """Size from which DMA is faster, between the sizes of both; NaN where they do not cross."""
    both = pio.merge(dma, on="bytes", suffixes=("", "_dma")).sort_values("bytes")
    if len(both) < 2:
        return np.nan
    ahead = np.log(both[names[0]].to_numpy(float) / both[f"{names[1]}_dma"].to_numpy(float))
    at = int(np.argmax(ahead > 0))
    if ahead[at] <= 0 or at == 0:
        return np.nan
    sizes = np.log(both["bytes"].to_numpy(float))
    return float(np.exp(np.interp(0.0, ahead[at - 1 : at + 1], sizes[at - 1 : at + 1])))


def crossover(evidence: Evidence) -> Answer:
    """Size from which DMA reads the device faster than loads do: measured, and predicted."""
    rows: list[tuple[object, ...]] = []
    clauses = []
    for device in _devices(evidence):
        dma = device.of("dma_read")
        if dma.empty:  # a study of transfers in the same run
            every = evidence.every
            mine = (every["device"] == device.address) & (every["operation"] == "read")
            dma = every[mine & (every["clock"] == device.clock) & every["median_s"].gt(0)]
        for instruction in ("movntdqa", "mov"):
            pio = device.of("bar_memory_load", instruction=instruction, pipelined="yes")
            pio = pio[pio["width"] == (_LINE if instruction == "movntdqa" else 8)]
            pio = pio[pio["memory"] == ("bar_wc" if instruction == "movntdqa" else "bar_uc")]
            found, low, high = (
                _meeting(pio, dma, names)
                for names in (
                    ("median_s", "median_s"), ("ci_high_s", "ci_low_s"), ("ci_low_s", "ci_high_s")
                )
            )  # fmt: skip
            predicted = np.nan
            if device.board and instruction == "movntdqa" and device.board.has("dma"):
                predicted = model.crossover_bytes(device.board)
            if np.isfinite(found):
                rows.append((device.address, device.clock, instruction, found, low, high, predicted,
                             found / predicted - 1))  # fmt: skip
                told = f", {wording.size(predicted)} predicted" if np.isfinite(predicted) else ""
                clauses.append(
                    f"from {wording.size(found)} on DMA beats {instruction}{told} ({device.label})"
                )
    return _answer(
        "crossover", "From which size on is DMA faster than loads?", clauses, rows,
        "device", "clock", "instruction", "crossover_bytes", "low_bytes", "high_bytes",
        "predicted_bytes", "residual",
        otherwise="this run has no DMA of the same device to compare with",
    )  # fmt: skip


def anomalies(evidence: Evidence) -> Answer:
    """Rows that are faster than one packet for each access can be, and why that may be."""
    rows: list[tuple[object, ...]] = []
    clauses: dict[str, str] = {}
    for device in _devices(evidence):
        if device.link is None:
            continue
        moving = device.rows[device.rows["operation"].isin(["store", "bar_memory_load"])]
        moving = moving[moving["memory"].isin(["bar_uc", "bar_wc"])]
        for row in moving.itertuples(index=False):
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
    return _answer(
        "anomalies", "Is anything faster than the link allows?", list(clauses.values()), rows,
        "device", "clock", "operation", "memory", "instruction", "width", "bytes", "median_s",
        "least_s", "anomaly", otherwise="nothing is",
    )  # fmt: skip


def _published() -> dict[str, float]:
    frame = published.series("mmio_stratix4_gen2x8")
    return {str(row.quantity): float(row.value) for row in frame.itertuples(index=False)}


def _change(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def _as_published(device: Device) -> Iterator[tuple[str, float, str, float, str]]:
    """Quantity, published, unit, here, and how the model came to it."""
    known, ns = _published(), 1 / 3.4
    register, sram = device.latency("register_load"), device.latency("bar_memory_load")
    if register:
        yield (
            "register load",
            known["status_register_read"] * ns,
            "ns",
            register.value * 1e9,
            "fitted",
        )
    if sram:
        yield "SRAM load", known["sram_read"] * ns, "ns", sram.value * 1e9, "fitted"
    for way, value in _ways(device):
        how = "fitted" if way.startswith("loads") else "predicted"
        yield f"driver, {way}", known[_WAYS[way]] * ns, "ns", value.value * 1e9, how
    stores = device.of("store", memory="bar_wc", width=_LINE)
    if len(stores) and device.link:
        best = float(stores["bandwidth_Bps"].max())
        yield "stores", known["write_bandwidth"], "GB/s", best / 1e9, "predicted"
        share = known["write_bandwidth"] / known["link_raw_bandwidth"]
        yield "stores, of the link", 100 * share, "%", 100 * best / device.link.raw, "predicted"
    streams = device.of("bar_memory_load", instruction="movntdqa", memory="bar_wc", width=_LINE)
    if len(streams) and sram:
        speedup = float(streams["bandwidth_Bps"].max()) * sram.value / 8
        yield (
            "streaming over 8 B loads",
            known["streaming_load_speedup"],
            "",
            speedup,
            "after the fact",
        )
    for latency in _STATED_LATENCIES:
        stated = {60e-9: 6.0, 420e-9: 42.0}[latency]
        lines = in_flight(_STATED_RATE, latency) / _LINE
        yield f"lines for 6.4 GB/s at {latency * 1e9:.0f} ns", stated, "", lines, "predicted"
    polled = device.one("poll", instruction="mov")
    if register:
        trips, load = known["sync_round_trips"], known["status_register_read"] * ns
        yield "synchronisation, 3 loads", trips * load, "ns", trips * register.value * 1e9, "fitted"
        if polled:
            seen = polled.value / register.value
            yield "synchronisation, polled, in loads", trips, "", seen, "predicted"


def replica(evidence: Evidence) -> Answer:
    """The published experiment again, on the emulated card that is its board."""
    original = boards.load("stratix4-gen2x8")
    rows: list[tuple[object, ...]] = []
    clauses = []
    for device in _devices(evidence):
        if device.board is None or device.board.flat() != original.flat():
            continue
        found = list(_as_published(device))
        meets = crossover(evidence).table
        mine = meets[(meets["device"] == device.address) & (meets["instruction"] == "movntdqa")]
        if len(mine):
            here = float(mine["crossover_bytes"].iloc[0])
            found.append(
                ("DMA over loads", _published()["pio_to_dma_crossover"], "B", here, "fitted")
            )
        for name, theirs, unit, here, how in found:
            rows.append((device.address, name, theirs, here, unit, _change(here / theirs), how))
        worst = max(found, key=lambda one: abs(one[3] / one[1] - 1))
        clauses.append(
            f"{len(found)} figures of McCalpin, TACC TR-14-10, again in simulated time; furthest "
            f"off is {worst[0]}, {_change(worst[3] / worst[1])} ({device.label})"
        )
    return _answer(
        "replica", "How near does the emulated card come to the published experiment?", clauses,
        rows, "device", "quantity", "published", "here", "unit", "residual", "how", in_full=True,
    )  # fmt: skip


ASKED = (
    accesses, driver, bandwidths, concurrency, synchronisation, crossover, anomalies, replica,
)  # fmt: skip
