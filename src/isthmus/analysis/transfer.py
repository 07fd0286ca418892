"""Answers the questions of study ``transfer``, about one device or about two devices compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from isthmus import backends
from isthmus.analysis import hybrid, reproduction
from isthmus.analysis.context import SERIES, AnalysisContext
from isthmus.analysis.hybrid import estimated
from isthmus.analysis.ratios import Ratio, by_size, complete, divide, ratio
from isthmus.answers import Rows, question, rate_of
from isthmus.boards import Board
from isthmus.frames import Frame, Series
from isthmus.statistics import Interval, judge, simultaneous
from isthmus.statistics.fits import Curve, curve_of, half_bandwidth
from isthmus.thresholds import LARGE, SMALL
from isthmus.units import format_size, percent


@question(
    "peaks", "What is the highest bandwidth, and at which size?",
    *SERIES, "[bandwidth_Bps] bytes converged",
)  # fmt: skip
def peaks(context: AnalysisContext) -> Rows:
    """Yields the highest bandwidth of each series, with the size at which it was reached."""
    rows = context.rows
    top = [group["bandwidth_Bps"].idxmax() for _, group in rows.groups(SERIES)]
    for row in rows.take(np.isin(rows.index, top)).itertuples():
        yield *(getattr(row, name) for name in SERIES), rate_of(row), row.bytes, row.converged


@question(
    "half", "At which size is half of the peak bandwidth reached (n1/2)?",
    *SERIES, "[half_bytes] note",
)  # fmt: skip
def half(context: AnalysisContext) -> Rows:
    """Yields the size at which each series has half of its peak bandwidth."""
    for key, group in context.rows.groups(SERIES):
        half_size = half_bandwidth(group["bytes"].tolist(), group["bandwidth_Bps"].tolist())
        if half_size is not None:
            size, rising = half_size
            yield *key, size, "still rising at the largest size" if rising else ""


def curves(context: AnalysisContext) -> Iterator[tuple[tuple[str, ...], Frame, Curve]]:
    """Yields each series: its key (``SERIES``), its rows and the curve through the rows."""
    for key, group in context.rows.groups(SERIES):
        fitted = curve_of(group, context.confidence)
        if fitted is not None:
            yield key, group, fitted


@question(
    "fits", "What are start-up time and rate (time = alpha + bytes / beta)?",
    *SERIES, "from_bytes to_bytes [alpha_s] [beta_Bps] worst_residual worst_bytes points",
    "rms_residual note",
)  # fmt: skip
def fits(context: AnalysisContext) -> Rows:
    """Yields start-up time and rate of each series, by way of the runtime, with their errors.

    ``from`` and ``to`` are bytes that one operation moves; ``rms_residual`` is that of the whole
    curve. The curve describes the series where ``note`` is empty.
    """
    for key, group, fitted in curves(context):
        note = "" if fitted.fits else "no curve fits"
        for line in fitted.lines:
            worst = (line.worst_residual, group["bytes"].iloc[line.worst_at])
            ends = (line.smallest, line.largest, line.alpha, line.beta)
            yield *key, *ends, *worst, line.points, fitted.rms, note


_OPERATIONS = ("write", "read")


class Split(NamedTuple):
    """The time of a copy, split into its parts."""

    row: Any
    """The copy's row in the summary, or in the answer ``hybrid``."""
    seconds: float
    parts: dict[str, float]
    """Seconds of each part by name, in the order in which the parts of a transfer begin."""

    @property
    def largest(self) -> list[tuple[str, float]]:
        """The parts with their seconds, the largest part first."""
        return sorted(self.parts.items(), key=lambda part: -part[1])


def splits(context: AnalysisContext, estimates: Frame) -> Iterator[Split]:
    """Yields the parts of a copy's time, by device, memory and direction, if parts are known.

    ``estimates``: table of ``hybrid.estimated``.
    """
    for row in _small(context.rows):
        board = context.boards.get(row.device)
        if row.clock == "simulated" and board is not None:
            if parts := _of_board(board, row.operation, row.median_s):
                yield Split(row, row.median_s, parts)
        elif row.limit == "memcpy":
            copying = min(row.bandwidth_Bps / row.limit_Bps, 1.0) * row.median_s
            software = f"software of {_api(row)}"
            parts = {software: row.median_s - copying, "the copy itself": copying}
            yield Split(row, row.median_s, parts)
        elif (called := _above_nothing(context, row)) is not None:
            rest = row.median_s - called
            parts = {f"software of {_api(row)}": called, "driver, link and device": rest}
            yield Split(row, row.median_s, parts)
    for row in _small(estimates):
        board = context.boards.get(row.device)
        parts = {f"software of {_api(row)}": float(row.software_s)}
        below = _of_board(board, row.operation, row.simulated_s) if board else {}
        parts |= below or {"driver, link and device": float(row.simulated_s)}
        yield Split(row, float(row.hybrid_s), parts)


def _small(rows: Frame) -> Iterator[Any]:
    """Yields, for each series of copies, the row of the largest size up to ``SMALL``."""
    rows = rows[rows["operation"].isin(_OPERATIONS) & (rows["bytes"] <= SMALL)]
    for _, group in rows.groups(["device", "operation", "memory", "axes", "clock"]):
        yield next(group[group["bytes"] == group["bytes"].max()].itertuples())


def _of_board(board: Board, operation: str, seconds: float) -> dict[str, float]:
    """Seconds of a DMA transfer by part; link and memory take what the board leaves open."""
    if not board.has("dma"):
        return {}
    polls = board.value("dma.completion") == "poll"
    driver = board.seconds("dma.submit_ns") + board.seconds("dma.finish_ns")
    notice = board.seconds("host.polling_ns" if polls else "host.interrupt_ns")
    engine = board.seconds("dma.start_ns")
    engine += board.seconds(f"dma.{'h2d' if operation == 'write' else 'd2h'}_descriptor_ns")
    rest = seconds - driver - notice - engine
    if rest < 0:
        return {}
    return {"driver": driver, "DMA engine": engine, "link and memory": rest,
            "polling" if polls else "interrupt": notice}  # fmt: skip


def _above_nothing(context: AnalysisContext, row: Any) -> float | None:
    """Seconds of the same call on an API without a device, in this run; None if not measured."""
    every = context.every
    same = every["device"].isin(context.software) & every["api"].eq(row.api)
    for name in ("study", "operation", "memory", "bytes", "axes", "clock"):
        same &= every[name].eq(getattr(row, name))
    median_s = every[same]["median_s"]
    return float(median_s.iloc[0]) if len(median_s) and median_s.iloc[0] < row.median_s else None


def _api(row: Any) -> str:
    return backends.api_names().get(str(row.api), str(row.api))


@question(
    "split", "What is the time of a small transfer spent on?",
    "device operation memory clock bytes median_s part part_s share",
)  # fmt: skip
def split(context: AnalysisContext) -> Rows:
    """Yields the parts of each small transfer's time."""
    for copy_split in splits(context, estimated(context).table):
        key = (
            copy_split.row.device,
            copy_split.row.operation,
            copy_split.row.memory,
            copy_split.row.clock,
            copy_split.row.bytes,
        )
        for part, seconds in copy_split.parts.items():
            yield *key, copy_split.seconds, part, seconds, seconds / copy_split.seconds


_HALVES = {"read_rw": "read", "write_rw": "write"}
_PAIR = "device reference operation memory axes"
_RATIO = "[time_ratio] within sizes reruns"


@question(
    "small", f"Which device or API takes longer for small transfers (1 to {format_size(SMALL)})?",
    _PAIR, "over", _RATIO, "least_ratio most_ratio finding",
)  # fmt: skip
def small(context: AnalysisContext) -> Rows:
    """Yields the ratio of two devices' times for small transfers."""
    for pair in context.pairs:
        some = pair.times[pair.times["bytes"].between(1, SMALL)]
        interval = ratio(some, simultaneous(context.confidence, len(context.pairs)))
        if interval:
            single = by_size(some, context.confidence)["ratio"]
            ends = (single.min(), single.max())
            yield (
                *pair.names,
                interval.over,
                *interval.cells,
                *ends,
                judge(interval.interval, context.least),
            )


@question(
    "indistinguishable", "From which size on does it not matter which device or API is used?",
    _PAIR, "found bytes largest_bytes resolved_share within",
)  # fmt: skip
def indistinguishable(context: AnalysisContext) -> Rows:
    """Yields the size from which on no relevant difference between two devices is significant."""
    sizes = sum(pair.times["bytes"].nunique() for pair in context.pairs)
    for pair in context.pairs:
        single = by_size(pair.times, simultaneous(context.confidence, sizes))
        if single.empty:
            continue
        ratios = single[["ratio", "low", "high"]].itertuples()
        differs = np.array(
            [judge(Interval(*r), context.least) in {"slower", "faster"} for r in ratios]
        )
        alike = single.iloc[int(np.flatnonzero(differs)[-1]) + 1 if differs.any() else 0 :]
        where = "never" if alike.empty else "from" if differs.any() else "all"
        size = np.nan if alike.empty else alike["bytes"].iloc[0]
        beyond = Series(np.concatenate([alike["high"], 1 / alike["low"]])) - 1
        widest = float(beyond.max())  # NaN if the two devices always differ
        within = bool(single["within"].any())
        yield *pair.names, where, size, single["bytes"].iloc[-1], widest, within


@question(
    "throttle", "Does consecutive reading and writing slow either half down?",
    "device operation reference memory axes over", _RATIO, "verdict",
)  # fmt: skip
def throttle(context: AnalysisContext) -> Rows:
    """Says whether a read or a write takes longer in alternating pairs than by itself."""
    measured = context.medians
    parts: list[tuple[tuple[str, ...], Frame]] = []
    for both, single in _HALVES.items():
        halves, alone = (measured[measured["operation"] == name] for name in (both, single))
        by_device = dict(alone.groups(["device", "memory", "axes"]))
        for (device, memory, axes), paired in halves.groups(["device", "memory", "axes"]):
            times = divide(paired, by_device.get((device, memory, axes), alone[:0]))
            for span in ((LARGE, np.inf), (0, SMALL)):  # large sizes first: they show most
                part = times[times["bytes"].between(*span)]
                if not complete(part).empty:
                    parts.append(((device, both, single, memory, axes), part))
    for names, part in parts:
        slowdown = ratio(part, simultaneous(context.confidence, len(parts)))
        if slowdown:
            yield *names, slowdown.over, *slowdown.cells, _slowed(context, slowdown.interval)


def _slowed(context: AnalysisContext, slowdown: Interval) -> str:
    more = slowdown.value - 1
    return {
        "slower": f"yes, by {percent(more)}",
        "faster": f"no, {percent(-more)} less time",
        "same": "no difference",
    }.get(judge(slowdown, context.least), "cannot tell")


@question(
    "ceiling", "How near do the peaks come to a plain memory copy of the same size?",
    _PAIR, "bytes [share] within",
)  # fmt: skip
def ceiling(context: AnalysisContext) -> Rows:
    """Yields each peak as a share of the fastest plain memory copy of the same size."""
    best = peaks(context).table
    sizes: dict[tuple[str, ...], int] = {
        (row.device, row.operation, row.memory, row.axes): int(row.bytes)
        for row in best[best["clock"] == "host"][::-1].itertuples()
    }
    shares: dict[tuple[str, ...], tuple[str, Ratio]] = {}
    for pair in context.pairs:
        swapped = pair.device in context.copies
        if swapped == (pair.reference in context.copies):
            continue
        device, copy = (pair.reference, pair.device) if swapped else (pair.device, pair.reference)
        memory = pair.memories.reference if swapped else pair.memories.own
        key = (device, pair.operation, memory, pair.axes)
        at_peak = pair.times[pair.times["bytes"] == sizes.get(key, 0)]
        interval = ratio(at_peak, context.confidence)
        if interval:
            share = interval if swapped else interval.inverse()  # time of memcpy / time of device
            if key not in shares or share.interval.value < shares[key][1].interval.value:
                shares[key] = copy, share
    for of, (copy, share) in shares.items():
        yield of[0], copy, *of[1:], sizes[of], share.interval, share.within


QUESTIONS = (
    peaks, hybrid.per_call, hybrid.estimated, hybrid.api_shares, split, small,
    indistinguishable, throttle, ceiling, half, fits, reproduction.published_figures,
)  # fmt: skip
"""Questions of the study ``transfer``, in the order shown."""
