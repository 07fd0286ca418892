"""Answers of the study hostmem: kernels on the card as masters of host memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from isthmus.analysis import speeds, wording
from isthmus.analysis.crossing import PUBLISHED, crossing
from isthmus.analysis.evidence import Answer, Evidence, each, rate_of, table, time_of
from isthmus.analysis.held_out import held_out
from isthmus.analysis.ratios import groups
from isthmus.statistics import Interval, Judgement, combined, exact
from isthmus.units import format_rate, format_seconds, format_size

_ALL_THERE = 0.95
"""Of the peak: a size that reaches this has lost nothing worth a word."""
_KNOBS = ["implementation", "iterations", "outstanding", "burst_bytes", "page_bytes"]
_SAME = ["device", "memory", "target", "clock", *_KNOBS]
"""What two kernels must share to be compared."""
_TIMES = {
    "faster": "less time",
    "slower": "more time",
    "same": "as much time",
    "undecided": "perhaps less, perhaps more time",
}
_WORTH_MORE = 1e6
"""Sweeps: as good as always."""


def _kernels(evidence: Evidence, target: str = "") -> pd.DataFrame:
    rows = evidence.rows[evidence.rows["operation"].isin(PUBLISHED)]
    rows = rows[rows["target"].isin(["host", "device"])]
    return rows[rows["target"] == target] if target else rows


def peaks(evidence: Evidence) -> Answer:
    """Highest bandwidth of each kernel on each memory."""
    best = speeds.peak_rows(evidence)
    rows = _kernels(evidence)
    clauses = []
    for (device, operation, target), mine in groups(rows, ["device", "operation", "target"]):
        top = mine.iloc[int(mine["bandwidth_Bps"].argmax())]
        clauses.append(
            f"{operation} on {target} memory reaches {format_rate(top['bandwidth_Bps'])} at "
            f"{format_size(int(top['bytes']))} ({evidence.labels[device]})"
        )
    return Answer(
        "peaks",
        "What is the highest bandwidth, and at which size?",
        tuple(clauses) or ("no bandwidth was measured",),
        best,
    )


def _span(low: str, high: str) -> str:
    """An interval in words; nothing where simulated time has none."""
    return f" ({low} to {high})" if low != high else ""


def _over(one: Any, other: Any) -> Interval:
    """One bandwidth over another."""
    return rate_of(one).over(rate_of(other))


def concurrent(evidence: Evidence) -> Answer:
    """What reading and writing at once moves, over the faster of the two alone."""
    rows: list[tuple[object, ...]] = []
    best: dict[tuple[str, str], tuple[float, int, Interval]] = {}
    for key, mine in groups(_kernels(evidence), [*_SAME, "bytes"]):
        by_kernel = {str(row.operation): row for row in each(mine)}
        if len(by_kernel) < len(PUBLISHED):
            continue
        both = by_kernel["bandwidth"]
        single = max(
            (by_kernel["read_bandwidth"], by_kernel["write_bandwidth"]),
            key=lambda row: float(row.bandwidth_Bps),
        )
        share = _over(both, single)
        device, memory, target, clock = key[:4]
        rows.append((device, target, memory, both.axes, clock, both.bytes, *share[:3]))
        of = (device, target)
        if of not in best or both.bandwidth_Bps > best[of][0]:
            best[of] = (both.bandwidth_Bps, both.bytes, share)
    clauses = [
        f"{target} memory on {evidence.labels[device]}: both at once move "
        f"{wording.number(share.value)} times what one direction does alone, at "
        f"{format_size(int(size))}{_span(wording.number(share.low), wording.number(share.high))}"
        for (device, target), (_, size, share) in best.items()
    ]
    return Answer(
        "concurrent",
        "What do reading and writing at once gain over one alone?",
        wording.few(clauses) or ("the three kernels were not measured alike",),
        table(
            rows, "device", "target", "memory", "axes", "clock", "bytes", "gain_ratio",
            "low_gain_ratio", "high_gain_ratio",
        ),
    )  # fmt: skip


def knee(evidence: Evidence) -> Answer:
    """The sizes between which a series keeps 95 % of its peak, and what the largest loses."""
    rows, clauses = [], []
    for key, unsorted in groups(_kernels(evidence), [*_SAME, "operation"]):
        device, memory, target, clock, operation = *key[:4], key[-1]
        mine = unsorted.sort_values("bytes")
        if len(mine) < 3:
            continue
        peak = mine.iloc[int(mine["bandwidth_Bps"].argmax())]
        kept = mine[mine["bandwidth_Bps"] >= _ALL_THERE * peak["bandwidth_Bps"]]["bytes"]
        last = mine.iloc[-1]
        left = _over(last, peak).logarithm().widened(evidence.together(len(mine) - 1))
        loss = exact(1.0).minus(left.exponential())
        first, until = int(kept.iloc[0]), int(kept.iloc[-1])
        rows.append(
            (device, operation, target, memory, peak["axes"], clock, peak["bytes"], first, until,
             last["bytes"], *loss[:3])
        )  # fmt: skip
        if target == "host":
            falls = bool(loss.low > 0 and until < last["bytes"])
            largest = format_size(int(last["bytes"]))
            if falls:
                span = _span(wording.percent(loss.low), wording.percent(loss.high))
                end = f"and loses {wording.percent(loss.value)}{span} by {largest}"
            elif until < last["bytes"] and np.isnan(loss.low):
                end = f"and too few samples to tell what it loses by {largest}"
            else:
                end = f"and loses nothing for certain up to {largest}"
            what = evidence.named(operation, memory, peak["axes"])
            where = f"from {format_size(first)} on" + f" to {format_size(until)}" * falls
            clauses.append(f"{what} has 95 % of its peak {where} {end} ({evidence.labels[device]})")
    return Answer(
        "knee",
        "From which size on is the bandwidth there, and what do large buffers lose?",
        wording.few(clauses) or ("too few sizes: three are needed",),
        table(
            rows, "device", "operation", "target", "memory", "axes", "clock", "peak_bytes",
            "first_bytes", "last_bytes", "largest_bytes", "loss_share", "low_loss_share",
            "high_loss_share",
        ),
    )  # fmt: skip


def without_launch(evidence: Evidence) -> Answer:
    """Bandwidth less the launch: from two numbers of sweeps over the same buffer.

    A sweep takes the difference of the times over the difference of the sweeps; the launch is what
    is left of the shorter one.
    """
    same = [name for name in _SAME if name != "iterations"]
    rows, clauses = [], []
    for key, mine in groups(_kernels(evidence), [*same, "operation", "bytes"]):
        few, most = (
            mine.iloc[int(mine["iterations"].argmin())],
            mine.iloc[int(mine["iterations"].argmax())],
        )
        sweeps = most["iterations"] - few["iterations"]
        if sweeps <= 0:
            continue
        sweep_s = (most["median_s"] - few["median_s"]) / sweeps
        launch_s = few["median_s"] - few["iterations"] * sweep_s
        if sweep_s <= 0:
            continue
        rate = few["bandwidth_Bps"] * few["median_s"] / few["iterations"] / sweep_s
        device, memory, target, clock, operation = *key[:4], key[-2]
        span = f"{few['iterations']:.0f} and {most['iterations']:.0f}"
        rows.append(
            (device, operation, target, memory, clock, few["bytes"], span, sweep_s, launch_s, rate,
             most["bandwidth_Bps"])
        )  # fmt: skip
    found = table(
        rows, "device", "operation", "target", "memory", "clock", "bytes", "sweeps", "sweep_s",
        "launch_s", "without_launch_Bps", "bandwidth_Bps",
    )  # fmt: skip
    for (device, operation, target), mine in groups(found, ["device", "operation", "target"]):
        small = mine.iloc[int(mine["bytes"].argmin())]
        clauses.append(
            f"{operation} on {target} memory: a launch takes "
            f"{format_seconds(max(float(small['launch_s']), 0.0))}, a sweep over "
            f"{format_size(int(small['bytes']))} {format_seconds(float(small['sweep_s']))} "
            f"({evidence.labels[device]})"
        )
    return Answer(
        "without_launch",
        "What is the bandwidth without the launch?",
        wording.few(clauses)
        or ("one number of sweeps does not tell: measure two, --iterations 1,1024",),
        found,
    )


def direct(evidence: Evidence) -> Answer:
    """Kernels on host memory against copying the buffer to card memory and working there.

    Working on ``n`` sweeps: ``n`` host sweeps against one copy and ``n`` card sweeps. Direct access
    is better up to copy / (host sweep - card sweep) sweeps. Copies are the points ``write`` (in
    front of a reading kernel) and ``read`` (behind a writing one) of this run, of any study.
    """
    copies = evidence.every
    copies = copies[copies["operation"].isin(["write", "read"]) & (copies["verified"] == "true")]
    copies = copies[copies["clock"] != "device"].drop_duplicates(
        ["device", "operation", "bytes", "clock"]
    )
    found: list[tuple[Any, Any, Any]] = []
    rows: list[tuple[object, ...]] = []
    said: dict[tuple[str, str], list[tuple[int, Judgement, float]]] = {}
    kernels = _kernels(evidence)
    kernels = kernels[kernels["operation"] != "bandwidth"].sort_values("iterations", kind="stable")
    same = ["device", "clock", "operation", "bytes", "implementation", "outstanding", "burst_bytes"]
    for key, mine in groups(kernels, same):
        device, clock, operation = key[:3]
        sides = {str(row.target): row for row in each(mine)}  # of most sweeps: least launch
        if set(sides) != {"host", "device"}:
            continue
        size = int(sides["host"].bytes)
        way = "write" if operation == "read_bandwidth" else "read"
        copy = copies[
            (copies["device"] == device) & (copies["clock"] == clock)
            & (copies["operation"] == way) & (copies["bytes"] == size)
        ]  # fmt: skip
        if not copy.empty:
            found.append((sides["host"], sides["device"], copy.iloc[0]))
    for on_host, on_card, copied in found:
        host, card = (time_of(row).times(1 / row.iterations) for row in (on_host, on_card))
        copy_s, extra = time_of(copied), host.value - card.value
        sweeps = copy_s.value / extra if extra > 0 else np.inf
        ratio = host.over(combined((1.0, 1.0), (copy_s, card))).logarithm()
        once = ratio.widened(evidence.together(len(found))).exponential()
        of = (on_host.device, on_host.operation)
        seconds = (host.value, copy_s.value, card.value)
        rows.append((*of, on_host.clock, on_host.bytes, copied.memory, *seconds, *once[:3], sweeps))
        said.setdefault(of, []).append((int(on_host.bytes), evidence.judge(once), sweeps))
    clauses = [_verdict(evidence, *key, sizes) for key, sizes in said.items()]
    return Answer(
        "direct",
        "Is reaching host memory directly better than copying to card memory first?",
        wording.few(clauses)
        or (
            "no host-to-card copies of these sizes in this run: measure them too, with --operation "
            "read_bandwidth,write_bandwidth,bandwidth,write,read",
        ),
        table(
            rows, "device", "operation", "clock", "bytes", "copied_memory", "direct_sweep_s",
            "copy_s", "card_sweep_s", "direct_time_ratio", "low_direct_time_ratio",
            "high_direct_time_ratio", "sweeps_until_copy_wins",
        ),
    )  # fmt: skip


def _verdict(
    evidence: Evidence, device: str, operation: str, sizes: list[tuple[int, Judgement, float]]
) -> str:
    """Sizes in runs of the same finding, and for the largest how often the data may be used."""
    runs: list[tuple[str, list[int]]] = []
    for size, once, _ in sorted(sizes):
        found = _TIMES[once]
        if not runs or runs[-1][0] != found:
            runs.append((found, []))
        runs[-1][1].append(size)
    told = "; ".join(f"{found} at {wording.sizes(span)}" for found, span in runs)
    size, _, sweeps = max(sizes)
    pays = (
        "pays however often they are used"
        if sweeps > _WORTH_MORE
        else f"pays up to {wording.number(sweeps)} uses"
        if sweeps >= 1
        else "does not pay"
    )
    return (
        f"{operation}, data used once: directly on host memory it takes {told} (against copy and "
        f"card memory); with {format_size(size)} it {pays} "
        f"({evidence.labels[device]})"
    )


ASKED = (crossing, peaks, concurrent, knee, direct, without_launch, held_out("u250"))
"""The study's questions, in the order shown."""
