"""Questions of the study ``hostmem``: kernels on the card that access host memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.analysis import published, speeds
from isthmus.analysis.context import AnalysisContext, Answer, each, rate_of, time_of
from isthmus.analysis.crossing import KERNELS, crossing
from isthmus.analysis.ratios import groups
from isthmus.frames import Frame
from isthmus.statistics import Interval, combined, exact

_ALL_THERE = 0.95
"""Share of the peak from which on a size counts as at the peak."""
_KNOBS = ["implementation", "iterations", "outstanding", "burst_bytes", "page_bytes"]
_SAME = ["device", "memory", "target", "clock", *_KNOBS]
"""Columns that are equal for two kernels that are compared."""


def _kernels(context: AnalysisContext) -> Frame:
    rows = context.rows[context.rows["operation"].isin(KERNELS)]
    return rows[rows["target"].isin(["host", "device"])]


def _over(one: Any, other: Any) -> Interval:
    """Ratio of two bandwidths, with its interval."""
    return rate_of(one).over(rate_of(other))


def concurrent(context: AnalysisContext) -> Answer:
    """Bandwidth of reading and writing at once, over the faster of the two by itself."""
    rows = []
    for key, group in groups(_kernels(context), [*_SAME, "bytes"]):
        by_kernel = {str(row.operation): row for row in each(group)}
        if len(by_kernel) < len(KERNELS):
            continue
        both = by_kernel["bandwidth"]
        single = max(
            (by_kernel["read_bandwidth"], by_kernel["write_bandwidth"]),
            key=lambda row: float(row.bandwidth_Bps),
        )
        device, memory, target, clock = key[:4]
        gain = _over(both, single)
        rows.append((device, target, memory, both.axes, clock, both.bytes, *gain[:3]))
    return Answer.of(
        "concurrent", "What do reading and writing at once gain over one alone?", rows,
        "device target memory axes clock bytes gain_ratio low_gain_ratio", "high_gain_ratio",
    )  # fmt: skip


def knee(context: AnalysisContext) -> Answer:
    """The sizes between which a series keeps 95 % of its peak, and the loss at the largest size."""
    rows = []
    for key, unsorted in groups(_kernels(context), [*_SAME, "operation"]):
        device, memory, target, clock, operation = *key[:4], key[-1]
        group = unsorted.sort_values("bytes")
        if len(group) < 3:
            continue
        peak = group.iloc[int(group["bandwidth_Bps"].argmax())]
        kept = group[group["bandwidth_Bps"] >= _ALL_THERE * peak["bandwidth_Bps"]]["bytes"]
        last = group.iloc[-1]
        left = _over(last, peak).logarithm().widened(context.simultaneous(len(group) - 1))
        loss = exact(1.0).minus(left.exponential())
        first, until = int(kept.iloc[0]), int(kept.iloc[-1])
        rows.append(
            (device, operation, target, memory, peak["axes"], clock, peak["bytes"], first, until,
             last["bytes"], *loss[:3])
        )  # fmt: skip
    return Answer.of(
        "knee", "From which size on is the bandwidth there, and what do large buffers lose?", rows,
        "device operation target memory axes clock peak_bytes first_bytes last_bytes",
        "largest_bytes loss_share low_loss_share high_loss_share",
    )  # fmt: skip


def without_launch(context: AnalysisContext) -> Answer:
    """Bandwidth without launch time, from two numbers of sweeps over the same buffer.

    Time of a sweep: difference of the times over difference of the sweeps. Launch time: the rest of
    the shorter time.
    """
    same = [name for name in _SAME if name != "iterations"]
    rows = []
    for key, group in groups(_kernels(context), [*same, "operation", "bytes"]):
        fewest, most = (
            group.iloc[int(group["iterations"].argmin())],
            group.iloc[int(group["iterations"].argmax())],
        )
        sweeps = most["iterations"] - fewest["iterations"]
        if sweeps <= 0:
            continue
        sweep_s = (most["median_s"] - fewest["median_s"]) / sweeps
        launch_s = fewest["median_s"] - fewest["iterations"] * sweep_s
        if sweep_s <= 0:
            continue
        rate = fewest["bandwidth_Bps"] * fewest["median_s"] / fewest["iterations"] / sweep_s
        device, memory, target, clock, operation = *key[:4], key[-2]
        span = f"{fewest['iterations']:.0f} and {most['iterations']:.0f}"
        rows.append(
            (device, operation, target, memory, clock, fewest["bytes"], span, sweep_s, launch_s,
             rate, most["bandwidth_Bps"])
        )  # fmt: skip
    return Answer.of(
        "without_launch", "What is the bandwidth without the launch?", rows,
        "device operation target memory clock bytes sweeps sweep_s launch_s",
        "without_launch_Bps bandwidth_Bps",
    )  # fmt: skip


def direct(context: AnalysisContext) -> Answer:
    """Kernels on host memory compared with a copy to card memory and kernels there.

    For ``n`` sweeps: ``n`` host sweeps against one copy and ``n`` card sweeps. Direct access is
    faster up to copy / (host sweep - card sweep) sweeps. Copies are the points ``write`` (in
    front of a reading kernel) and ``read`` (behind a writing one) of this run, of any study.
    """
    copies = context.every
    copies = copies[copies["operation"].isin(["write", "read"]) & (copies["verified"] == "true")]
    copies = copies[copies["clock"] != "device"].drop_duplicates(
        ["device", "operation", "bytes", "clock"]
    )
    sides_and_copies: list[tuple[Any, Any, Any]] = []
    rows: list[tuple[object, ...]] = []
    kernels = _kernels(context)
    kernels = kernels[kernels["operation"] != "bandwidth"].sort_values("iterations")
    same = ["device", "clock", "operation", "bytes", "implementation", "outstanding", "burst_bytes"]
    for key, group in groups(kernels, same):
        device, clock, operation = key[:3]
        sides = {str(row.target): row for row in each(group)}  # of most sweeps: least launch
        if set(sides) != {"host", "device"}:
            continue
        size = int(sides["host"].bytes)
        way = "write" if operation == "read_bandwidth" else "read"
        copy = copies[
            (copies["device"] == device) & (copies["clock"] == clock)
            & (copies["operation"] == way) & (copies["bytes"] == size)
        ]  # fmt: skip
        if not copy.empty:
            sides_and_copies.append((sides["host"], sides["device"], copy.iloc[0]))
    for on_host, on_card, copied in sides_and_copies:
        host, card = (time_of(row).times(1 / row.iterations) for row in (on_host, on_card))
        copy_s, extra = time_of(copied), host.value - card.value
        sweeps = copy_s.value / extra if extra > 0 else np.inf
        ratio = host.over(combined((1.0, 1.0), (copy_s, card))).logarithm()
        once = ratio.widened(context.simultaneous(len(sides_and_copies))).exponential()
        of = (on_host.device, on_host.operation)
        seconds = (host.value, copy_s.value, card.value)
        rows.append((*of, on_host.clock, on_host.bytes, copied.memory, *seconds, *once[:3], sweeps))
    return Answer.of(
        "direct", "Is reaching host memory directly better than copying to card memory first?",
        rows,
        "device operation clock bytes copied_memory direct_sweep_s copy_s card_sweep_s",
        "direct_time_ratio low_direct_time_ratio high_direct_time_ratio", "sweeps_until_copy_wins",
    )  # fmt: skip


QUESTIONS = (
    crossing, speeds.peaks, concurrent, knee, direct, without_launch, published.held_out,
)  # fmt: skip
"""The study's questions, in the order shown."""
