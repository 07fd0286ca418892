"""Questions of the study ``transfer`` that compare two series: devices, directions, limits."""

from __future__ import annotations

import numpy as np

from isthmus.analysis import hybrid, published, speeds, split, wording
from isthmus.analysis.context import AnalysisContext, Rows, each, question
from isthmus.analysis.ratios import (
    LARGE,
    SMALL,
    Ratio,
    by_size,
    complete,
    divide,
    groups,
    medians,
    ratio,
)
from isthmus.frames import Frame, Series
from isthmus.statistics import Interval
from isthmus.units import format_size

_HALVES = {"read_rw": "read", "write_rw": "write"}
_PAIR = "device reference operation memory axes"
_RATIO = "[time_ratio] within sizes reruns"


@question(
    "small", f"Which device or API takes longer for small transfers (1 to {format_size(SMALL)})?",
    _PAIR, "over", _RATIO, "least_ratio most_ratio finding",
)  # fmt: skip
def small(context: AnalysisContext) -> Rows:
    """Ratio of times between devices for small transfers."""
    for *pair, times in context.pairs:
        some = times[times["bytes"].between(1, SMALL)]
        found = ratio(some, context.simultaneous(len(context.pairs)))
        if found:
            single = by_size(some, context.confidence)["ratio"]
            ends = (single.min(), single.max())
            yield *pair, found.over, *found.cells, *ends, context.judge(found.interval)


@question(
    "indistinguishable", "From which size on does it not matter which device or API is used?",
    _PAIR, "found bytes largest_bytes resolved_share within",
)  # fmt: skip
def indistinguishable(context: AnalysisContext) -> Rows:
    """Size from which on no relevant difference between two devices is significant."""
    sizes = sum(pair.times["bytes"].nunique() for pair in context.pairs)
    for *pair, times in context.pairs:
        single = by_size(times, context.simultaneous(sizes))
        if single.empty:
            continue
        ratios = single[["ratio", "low", "high"]].itertuples()
        differs = np.array([context.judge(Interval(*r)) in {"slower", "faster"} for r in ratios])
        alike = single.iloc[int(np.flatnonzero(differs)[-1]) + 1 if differs.any() else 0 :]
        where = "never" if alike.empty else "from" if differs.any() else "all"
        size = np.nan if alike.empty else alike["bytes"].iloc[0]
        beyond = Series(np.concatenate([alike["high"], 1 / alike["low"]])) - 1
        widest = float(beyond.max())  # NaN where they always differ
        within = bool(single["within"].any())
        yield *pair, where, size, single["bytes"].iloc[-1], widest, within


@question(
    "throttle", "Does consecutive reading and writing slow either half down?",
    "device operation reference memory axes over", _RATIO, "verdict",
)  # fmt: skip
def throttle(context: AnalysisContext) -> Rows:
    """Whether a read or a write takes longer in alternating pairs than by itself."""
    measured = medians(context.run, context.study)
    parts: list[tuple[tuple[str, ...], Frame]] = []
    for both, single in _HALVES.items():
        halves, alone = (measured[measured["operation"] == name] for name in (both, single))
        known = dict(groups(alone, ["device", "memory", "axes"]))
        for (device, memory, axes), paired in groups(halves, ["device", "memory", "axes"]):
            times = divide(paired, known.get((device, memory, axes), alone[:0]))
            for span in ((LARGE, np.inf), (0, SMALL)):  # the largest effect first
                part = times[times["bytes"].between(*span)]
                if not complete(part).empty:
                    parts.append(((device, both, single, memory, axes), part))
    for names, part in parts:
        slowdown = ratio(part, context.simultaneous(len(parts)))
        if slowdown:
            yield *names, slowdown.over, *slowdown.cells, _slowed(context, slowdown.interval)


def _slowed(context: AnalysisContext, slowdown: Interval) -> str:
    more = slowdown.value - 1
    return {
        "slower": f"yes, by {wording.percent(more)}",
        "faster": f"no, {wording.percent(-more)} less time",
        "same": "no difference",
    }.get(context.judge(slowdown), "cannot tell")


@question(
    "ceiling", "How near do the peaks come to a plain memory copy of the same size?",
    _PAIR, "bytes [share] within",
)  # fmt: skip
def ceiling(context: AnalysisContext) -> Rows:
    """Each peak as a share of the fastest plain memory copy of the same size."""
    best = speeds.peaks(context).table
    sizes: dict[tuple[str, ...], int] = {
        (row.device, row.operation, row.memory, row.axes): int(row.bytes)
        for row in each(best[best["clock"] == "host"][::-1])
    }
    shares: dict[tuple[str, ...], tuple[str, Ratio]] = {}
    for pair in context.pairs:
        swapped = pair.device in context.copies
        if swapped == (pair.reference in context.copies):
            continue
        device, copy = (pair.reference, pair.device) if swapped else (pair.device, pair.reference)
        memory = pair.memory.split(" / ")[-1 if swapped else 0]
        key = (device, pair.operation, memory, pair.axes)
        at_peak = pair.times[pair.times["bytes"] == sizes.get(key, 0)]
        found = ratio(at_peak, context.confidence)
        if found:
            share = found if swapped else found.inverse()  # the copy's time over the device's
            if key not in shares or share.interval.value < shares[key][1].interval.value:
                shares[key] = copy, share
    for of, (copy, share) in shares.items():
        yield of[0], copy, *of[1:], sizes[of], share.interval, share.within


QUESTIONS = (
    speeds.peaks, hybrid.per_call, hybrid.estimated, hybrid.api_shares, split.split, small,
    indistinguishable, throttle, ceiling, speeds.half, speeds.fits, published.published_figures,
)  # fmt: skip
"""Questions of the study ``transfer``, in the order shown."""
