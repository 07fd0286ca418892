"""Rows of the study ``mmio`` selected by operation and axes, and figures from differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from isthmus.analysis.context import AnalysisContext, each, time_of
from isthmus.analysis.summary import THROUGH_EMULATION
from isthmus.boards import Board
from isthmus.frames import Frame
from isthmus.models.pcie import Link, link_of, path_of
from isthmus.statistics import Interval, combined

_MOVED = 1 << 20
"""Bytes that the first of the four methods stores in blocks of decreasing size."""
NO_FENCE = "none"


class Device:
    """One device's rows of the study on one clock, selected by operation and axes."""

    def __init__(self, context: AnalysisContext, address: str, clock: str, rows: Frame) -> None:
        self.address = address
        self.clock = clock
        self.rows = rows
        record = next(one for one in context.run.devices if one.address == address)
        self.board: Board | None = context.boards[address]
        self.link: Link | None = path_of(self.board).link if self.board else link_of(record.link)

    @property
    def moving(self) -> Frame:
        """Rows of stores, and of loads from the device's memory."""
        return self.rows[self.rows["operation"].isin(["store", "bar_memory_load"])]

    def of(self, operation: str, **wanted: object) -> Frame:
        """Rows of an operation with these values, from small to large."""
        rows = self.rows[self.rows["operation"] == operation]
        for name, value in wanted.items():
            rows = rows[rows[name] == value]
        return rows.sort_values("bytes")

    def one(self, operation: str, **wanted: object) -> Interval | None:
        """Time of the first such row; None where there is none."""
        rows = self.of(operation, **wanted)
        return time_of(rows.iloc[0]) if len(rows) else None

    def latency(self, operation: str) -> Interval | None:
        """Latency of one load of 8 B, or of the widest narrower one, without overlap."""
        loads = self.of(operation, pipelined="no", fence=NO_FENCE)
        loads = loads[loads["instruction"].isin(["mov", "read_register"])]
        loads = loads[loads["memory"].isin(["bar_uc", "bar_wc"])]
        return time_of(loads.iloc[-1]) if len(loads) else None


def devices(context: AnalysisContext) -> Iterator[Device]:
    """Each device of the run with each clock that it was measured on."""
    timed = context.timed
    timed = timed[~timed["flags"].str.contains(THROUGH_EMULATION)]  # no cost of a board
    for (address, clock), rows in timed.groupby(["device", "clock"], sort=False):
        yield Device(context, str(address), str(clock), rows)


def ways(device: Device) -> Iterator[tuple[str, Interval]]:
    """The driver's share of an access, by the report's methods for which the run has rows.

    A further method is the start-up time of reads of configuration space.
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
    """Slope and start of the least-squares line of ``scale`` times the rows' times over ``x``."""
    weights = np.linalg.pinv(np.column_stack([x, np.ones(len(x))])) * scale
    times = [time_of(row) for row in each(rows)]
    slope, start = (combined(part.tolist(), times) for part in weights)
    return slope, start


_PIO = (("movntdqa", "bar_wc", 64), ("mov", "bar_uc", 8))
"""Pipelined loads that DMA is compared with: instruction, mapping, width."""


def crossings(device: Device, context: AnalysisContext) -> Iterator[tuple[str, Interval]]:
    """Size from which on DMA is faster, by the loads' instruction, with its interval."""
    dma = device.of("dma_read")
    if dma.empty:  # a study of transfers in the same run
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
    """Size from which on DMA is faster, interpolated in log-log; NaN where it never is."""
    both = pio.merge(dma, on="bytes", suffixes=("", "_of_dma")).sort_values("bytes")
    if len(both) < 2:
        return float("nan")
    ahead = np.log(both[of_pio].to_numpy(float) / both[f"{of_dma}_of_dma"].to_numpy(float))
    at = int(np.argmax(ahead > 0))
    if ahead[at] <= 0 or at == 0:
        return float("nan")
    sizes = np.log(both["bytes"].to_numpy(float))
    return float(np.exp(np.interp(0.0, ahead[at - 1 : at + 1], sizes[at - 1 : at + 1])))
