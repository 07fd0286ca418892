"""The published programmed-IO experiment compared with the emulated card."""

from __future__ import annotations

from collections.abc import Iterator

from isthmus import boards, published
from isthmus.analysis.context import AnalysisContext, Answer, each
from isthmus.analysis.mmio_rows import WAYS, Device, crossings, devices, ways
from isthmus.models.littles_law import in_flight
from isthmus.models.mmio import LOCAL_MEMORY_S

LINE = 64
STATED_RATE = 6.4e9
STATED_LINES = {60e-9: 6.0, 420e-9: 42.0}
"""Lines that fill a link of that rate, by latency in seconds, as the report says."""
STATED_FACTOR = 8 * 8 * 2 * 8
"""Cached over uncached loads: block, lines in flight, prefetching, latency (section 3.2)."""
STATED_SYNC_S = 1.2e-6
"""Three read latencies, as the report rounds them (section 5.2)."""
CPU_HERTZ = 3.4e9
INSTRUCTIONS_PER_CYCLE, FLOPS_PER_CYCLE = 4.0, 8.0
STATED_WORK = {
    "instructions": (16_000.0, INSTRUCTIONS_PER_CYCLE), "CPU flops": (32_000.0, FLOPS_PER_CYCLE),
}  # fmt: skip
"""What the report says that the processor could do meanwhile, and how much in a cycle."""


def _published() -> dict[str, float]:
    frame = published.series("mmio_stratix4_gen2x8")
    return {str(row.quantity): float(row.value) for row in each(frame)}


def _change(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def _as_published(device: Device) -> Iterator[tuple[str, float, str, float, str]]:
    """Quantity, published value, unit, value here, and kind of prediction."""
    known, ns = _published(), 1 / 3.4
    register, sram = device.latency("register_load"), device.latency("bar_memory_load")
    if register:
        for name, which in (("", ""), ("_2", ", the other")):
            stated = known[f"status_register_read{name}"] * ns
            yield f"register load{which}", stated, "ns", register.value * 1e9, "fitted"
    if sram:
        yield "SRAM load", known["sram_read"] * ns, "ns", sram.value * 1e9, "fitted"
    for way, value in ways(device):
        how = "fitted" if way.startswith("loads") else "predicted"
        yield f"driver, {way}", known[WAYS[way]] * ns, "ns", value.value * 1e9, how
    stores = device.of("store", memory="bar_wc", width=LINE)
    if len(stores) and device.link:
        best = float(stores["bandwidth_Bps"].max())
        yield "stores", known["write_bandwidth"], "GB/s", best / 1e9, "predicted"
        share = known["write_bandwidth"] / known["link_raw_bandwidth"]
        yield "stores, of the link", 100 * share, "%", 100 * best / device.link.raw, "predicted"
    streams = device.of("bar_memory_load", instruction="movntdqa", memory="bar_wc", width=LINE)
    plain = device.of("bar_memory_load", instruction="movdqa", memory="bar_wc", width=16)
    if len(streams) and len(plain):
        speedup = float(streams["bandwidth_Bps"].max() / plain["bandwidth_Bps"].max())
        stated = known["streaming_load_speedup"]
        yield "streaming over 16 B loads", stated, "", speedup, "after the fact"
    if sram:
        farther = sram.value / LOCAL_MEMORY_S
        yield "cached over uncached loads", STATED_FACTOR, "", 8 * 8 * 2 * farther, "fitted"
    for latency, stated in STATED_LINES.items():
        lines = in_flight(STATED_RATE, latency) / LINE
        yield f"lines for 6.4 GB/s at {latency * 1e9:.0f} ns", stated, "", lines, "predicted"
    polled = device.one("poll", instruction="mov")
    if register:
        trips = known["sync_round_trips"]
        cost = trips * register.value
        yield "synchronisation, 3 loads", STATED_SYNC_S * 1e9, "ns", cost * 1e9, "fitted"
        for name, (stated, per_cycle) in STATED_WORK.items():
            yield f"synchronisation, {name}", stated, "", cost * CPU_HERTZ * per_cycle, "fitted"
        if polled:
            seen = polled.value / register.value
            yield "synchronisation, polled, in loads", trips, "", seen, "predicted"


def replica(context: AnalysisContext) -> Answer:
    """The published experiment repeated on the emulated card of its board."""
    original = boards.load("stratix4-gen2x8")
    rows: list[tuple[object, ...]] = []
    for device in devices(context):
        if device.board is None or device.board.flat() != original.flat():
            continue
        quantities = list(_as_published(device))
        for instruction, meets in crossings(device, context):
            if instruction == "movntdqa":
                stated = _published()["pio_to_dma_crossover"]
                quantities.append(("DMA over loads", stated, "B", meets.value, "predicted"))
        for name, theirs, unit, here, how in quantities:
            rows.append((device.address, name, theirs, here, unit, _change(here / theirs), how))
    return Answer.of(
        "replica", "How near does the emulated card come to the published experiment?", rows,
        "device quantity published here unit residual how",
    )  # fmt: skip
