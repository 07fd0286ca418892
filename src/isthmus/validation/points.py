"""Every published hardware figure beside the model that should give it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from isthmus import published
from isthmus.boards import Board
from isthmus.models import dma, host_memory, mmio, offload, serial
from isthmus.models.pcie import path_of
from isthmus.units import format_size
from isthmus.validation import events

GIB = float(1 << 30)
_MIB = 1 << 20
_CYCLES_PER_NS = 3.4
_PEAKS = "transfer peaks, F1"
PEAK_FIT = "Li 2024, table 4: peak of XRT's write, 8.775"


@dataclass(frozen=True)
class PublishedPoint:
    """One published figure and the model for it."""

    series: str
    name: str
    unit: str
    published: float
    board: str
    predict: Callable[[Board], float]
    """In ``unit``."""
    fit: str = ""
    """Calibration that this figure belongs to; empty: the model has not seen it."""
    kind: str = "predicted"
    """Without a fit: ``predicted``; ``after the fact`` where an input was chosen in sight of it."""
    note: str = ""
    closed_form: Callable[[Board], float] | None = None
    """Of a point that events predict, which take seconds: a fit goes by this, times their ratio."""

    def quick(self, board: Board) -> tuple[Callable[[Board], float], float]:
        """A closed form, and the factor by which it stands for ``predict`` near that board."""
        if self.closed_form is None:
            return self.predict, 1.0
        return self.closed_form, self.predict(board) / self.closed_form(board)

    @property
    def how(self) -> str:
        """``fitted``, ``predicted`` or ``after the fact``."""
        return "fitted" if self.fit else self.kind

    def residual(self, board: Board) -> float:
        """Predicted over published, less 1."""
        return self.predict(board) / self.published - 1.0


def all_points() -> list[PublishedPoint]:
    """All, in the order shown."""
    return [*_beff(), *_host_memory(), *_mmio(), *_peaks(), *_offload()]


def _rows(name: str) -> Iterator[Any]:
    frame: pd.DataFrame = published.series(name)
    return frame.itertuples(index=False)


def _beff() -> Iterator[PublishedPoint]:
    for devices, csv, series in zip(
        (1, 8), ("b_eff_520n_1fpga", "b_eff_520n_8fpga"), BEFF_SERIES, strict=True
    ):
        fits = {1: f"{csv}: 1 B"} if devices > 1 else dict.fromkeys((1, 2 << 20), _BEFF_ONE)
        for row in _rows(csv):
            size = int(row.message_bytes)

            def rate(board: Board, size: int = size, devices: int = devices) -> float:
                return serial.bandwidth(board, size, devices) / 1e9

            def simulated(board: Board, size: int = size, devices: int = devices) -> float:
                return events.exchange(board, devices, size) / 1e9

            measured = 2 * devices * size * row.looplength / row.transfer_s / 1e9
            note = _SEVERAL_FLITS if devices > 1 and size in {256, 512, 1024} else ""
            told, fit = (format_size(size), "GB/s", measured, "520n"), fits.get(size, "")
            yield PublishedPoint(series, *told, rate, fit, note=note)
            yield PublishedPoint(
                f"{series}{AS_EVENTS}", *told, simulated, fit, note=note, closed_form=rate
            )

        def mean(board: Board, devices: int = devices) -> float:
            return serial.b_eff(board, devices, serial.SIZES["published"]) / 1e9

        def simulated_mean(board: Board, devices: int = devices) -> float:
            sizes = serial.SIZES["published"]
            return sum(events.exchange(board, devices, size) for size in sizes) / len(sizes) / 1e9

        stated = ("mean", "GB/s", {1: 3.95057, 8: 31.3237}[devices], "520n")
        yield PublishedPoint(series, *stated, mean)
        yield PublishedPoint(f"{series}{AS_EVENTS}", *stated, simulated_mean, closed_form=mean)


_SEVERAL_FLITS = "eight less one is 36 to 39 ns here, 43 ns at 1 B"
_BEFF_ONE = "b_eff_520n_1fpga: 1 B and 2 MiB"
HOST_MEMORY_FIT = "host_memory_bw_u250_gen3x16: all 51 points"
AS_EVENTS = ", as events"
BEFF_SERIES = ("b_eff, 1 x 520N", "b_eff, 8 x 520N")
HOST_MEMORY_SERIES = {
    "read": "host memory, U250, read",
    "write": "host memory, U250, write",
    "copy": "host memory, U250, both",
}


def _host_memory() -> Iterator[PublishedPoint]:
    columns = {"read": "read_GiBps", "write": "write_GiBps", "copy": "concurrent_GiBps"}
    for kernel, column in columns.items():
        for row in _rows("host_memory_bw_u250_gen3x16"):
            size = int(row.buffer_bytes)

            def rate(board: Board, kernel: str = kernel, size: int = size) -> float:
                return host_memory.bandwidth(board, kernel, size) / GIB

            def simulated(board: Board, kernel: str = kernel, size: int = size) -> float:
                return events.host_memory(board, kernel, size) / GIB

            odd = kernel == "read" and size == 512 << 10
            note = "half of the copy ran faster than the read alone" if odd else ""
            told = (format_size(size), "GiB/s", float(getattr(row, column)), "u250")
            series = HOST_MEMORY_SERIES[kernel]
            yield PublishedPoint(series, *told, rate, HOST_MEMORY_FIT, note=note)
            yield PublishedPoint(
                f"{series}{AS_EVENTS}", *told, simulated, HOST_MEMORY_FIT, note=note,
                closed_form=rate,
            )  # fmt: skip


def _mmio() -> Iterator[PublishedPoint]:
    values = {row.quantity: float(row.value) for row in _rows("mmio_stratix4_gen2x8")}
    source = "McCalpin, TACC TR-14-10: "
    registers = f"{source}status_register_read and status_register_read_2"

    def register(board: Board) -> float:
        return mmio.load_s(board) * 1e9

    def point(
        quantity: str, unit: str, predict: Callable[[Board], float], fit: str = "",
        *, scale: float = 1.0, series: str = "MMIO, Stratix IV gen2 x8", note: str = "",
        kind: str = "predicted",
    ) -> PublishedPoint:  # fmt: skip
        return PublishedPoint(
            series, quantity.replace("_", " "), unit, values[quantity] * scale, "stratix4-gen2x8",
            predict, fit, kind, note,
        )  # fmt: skip

    ns = 1 / _CYCLES_PER_NS
    yield point("status_register_read", "ns", register, registers, scale=ns)
    yield point("status_register_read_2", "ns", register, registers, scale=ns)
    yield point(
        "sram_read", "ns", lambda b: mmio.load_s(b, sram=True) * 1e9, f"{source}sram_read", scale=ns
    )
    call = f"{source}driver_overhead_read8 and driver_overhead_read64"
    for way, fit in (("read8", call), ("read64", call), ("write_fit", ""), ("spin", "")):
        yield point(
            f"driver_overhead_{way}", "ns", lambda b: b.number("host.system_call_ns"), fit,
            scale=ns, series="MMIO, driver", note="" if fit else "one constant for all four ways",
        )  # fmt: skip
    yield point("write_bandwidth", "GB/s", lambda b: mmio.store_rate(b) / 1e9)
    yield point("link_raw_bandwidth", "GB/s", lambda b: path_of(b).link.raw / 1e9)
    other = "MMIO, other figures"
    yield point(
        "streaming_load_speedup", "ratio", mmio.streaming_speedup, series=other,
        kind="after the fact", note="two lines in flight were chosen for it",
    )  # fmt: skip
    yield point(
        "pio_to_dma_crossover", "B", mmio.crossover_bytes, series=other,
        note="the source's range: loads lead to 512 B, DMA from 1 KiB on",
    )  # fmt: skip
    yield point(
        "pio_share_of_dma", "ratio", lambda b: mmio.share_of_dma(b, 64), series=other,
        note="the source says about half, below 128 B",
    )  # fmt: skip


def _peaks() -> Iterator[PublishedPoint]:
    for row in _rows("opencl_xrt_peaks"):
        if row.target != "hw":
            continue
        direction = "d2h" if row.operation.startswith("read") else "h2d"
        size = int(row.at_bytes)
        for unit, scale in (("GiB/s", GIB), ("GB/s", 1e9)):

            def rate(
                board: Board, direction: str = direction, size: int = size, scale: float = scale
            ) -> float:
                return size / dma.transfer_s(board, direction, size) / scale

            def simulated(
                board: Board, direction: str = direction, size: int = size, scale: float = scale
            ) -> float:
                return events.transfer(board, direction, size) / scale

            told = (f"{row.api} {row.operation}", unit, float(row.peak_GBps), "f1-vu9p")
            fitted = (row.api, row.operation, unit) == ("xrt", "write", "GiB/s")
            fit = PEAK_FIT if fitted else ""
            kind = "after the fact" if direction == "d2h" else "predicted"
            series = f"{_PEAKS}, read as {unit}"
            yield PublishedPoint(series, *told, rate, fit, kind)
            yield PublishedPoint(
                f"{series}{AS_EVENTS}", *told, simulated, fit, kind, closed_form=rate
            )


OFFLOAD_FIT = (
    "AMD Vitis runtime tutorial 2020.2, example 2: aligned, and unaligned allocate, map and migrate"
)
OFFLOAD_SERIES = "offload, U200"
_AS_TRANSFERS = {
    phase: f"AMD Vitis runtime tutorial 2020.2, example 2, aligned: {phase}, {told}"
    for phase, told in (
        ("migrate_to_device", "2 x 24 MiB in 6.615 ms"),
        ("read_back", "24 MiB in 2.479 ms"),
    )
}
"""These two are the board's transfers, with calibrations of their own."""


def _offload() -> Iterator[PublishedPoint]:
    """The ten phases from either memory, but for the two transfers that are points of their own."""
    for row in _rows("aligned_allocation_u200"):
        for memory in ("aligned", "unaligned"):
            published_ms = float(getattr(row, f"{memory}_ms"))
            aligned = memory == "aligned"
            if math.isnan(published_ms):
                continue

            def milliseconds(
                board: Board, phase: str = row.phase, aligned: bool = aligned
            ) -> float:
                return offload.phases(board, offload.ELEMENTS, aligned=aligned)[phase] * 1e3

            fit = OFFLOAD_FIT if aligned or row.phase in _BOTH else ""
            if aligned:
                fit = _AS_TRANSFERS.get(row.phase, fit)
            yield PublishedPoint(
                OFFLOAD_SERIES, f"{row.phase.replace('_', ' ')}, {memory}", "ms", published_ms,
                "u200", milliseconds, fit,
                note="a parameter for each: no evidence" if fit else _SAME.get(row.phase, ""),
            )  # fmt: skip


_BOTH = ("allocate", "map", "migrate_to_device")
"""What alignment is told to change, and the model has parameters for."""
_SAME = dict.fromkeys(
    ("initialise", "kernel_enqueue", "populate", "software_vadd", "set_arguments", "kernel_run"),
    "as with aligned memory: the published runs differ so much by chance",
)

NOT_MODELLED = (
    ("hardware emulation peaks (0.13 to 0.30 GB/s)", "software: the speed of a simulator"),
    ("CPU and FPGA clocks, synchronisation's 3 read latencies", "inputs of the model"),
    ("posted write overhead, 20 to 24 B", "an input: 20 B with 32-bit addresses, 24 B with 64"),
)
"""Published figures without a residual, and why."""
