"""Questions of the study ``transfer`` that compare two series: devices, directions, limits."""

from __future__ import annotations

import numpy as np

from isthmus.analysis import api_software, hybrid, published, speeds, split, wording
from isthmus.analysis.context import AnalysisContext, Answer
from isthmus.analysis.ratios import (
    LARGE,
    SMALL,
    Pair,
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
_PAIR = ("device", "reference", "operation", "memory", "axes")
_RATIO = ("time_ratio", "low_time_ratio", "high_time_ratio", "within", "sizes", "reruns")


def small(context: AnalysisContext) -> Answer:
    """Ratio of times between devices for small transfers."""
    rows = []
    for pair in context.pairs:
        times = pair.times[pair.times["bytes"].between(1, SMALL)]
        time_ratio = ratio(times, context.simultaneous(len(context.pairs)))
        if time_ratio is None:
            continue
        each = by_size(times, context.confidence)["ratio"]
        over = wording.sizes(complete(times)["bytes"].tolist())
        finding = context.judge(time_ratio.interval)
        rows.append((*_names(pair), over, *time_ratio.cells, each.min(), each.max(), finding))
    return Answer.of(
        "small",
        f"Which device or API takes longer for small transfers (1 to {format_size(SMALL)})?", rows,
        *_PAIR, "over", *_RATIO, "least_ratio most_ratio finding",
    )  # fmt: skip


def _names(pair: Pair) -> tuple[str, ...]:
    return pair.device, pair.reference, pair.operation, pair.memory, pair.axes


def indistinguishable(context: AnalysisContext) -> Answer:
    """Size from which on no relevant difference between two devices is significant."""
    rows = []
    sizes = sum(pair.times["bytes"].nunique() for pair in context.pairs)
    for pair in context.pairs:
        each = by_size(pair.times, context.simultaneous(sizes))
        if each.empty:
            continue
        ratios = each[["ratio", "low", "high"]].itertuples()
        differs = np.array([context.judge(Interval(*r)) in {"slower", "faster"} for r in ratios])
        alike = each.iloc[int(np.flatnonzero(differs)[-1]) + 1 if differs.any() else 0 :]
        where = "never" if alike.empty else "from" if differs.any() else "all"
        size = np.nan if alike.empty else alike["bytes"].iloc[0]
        beyond = Series(np.concatenate([alike["high"], 1 / alike["low"]])) - 1
        widest = float(beyond.max())  # NaN where they always differ
        last, within = each["bytes"].iloc[-1], bool(each["within"].any())
        rows.append((*_names(pair), where, size, last, widest, within))
    return Answer.of(
        "indistinguishable", "From which size on does it not matter which device or API is used?",
        rows,
        *_PAIR, "found bytes largest_bytes resolved_share within",
    )  # fmt: skip


def throttle(context: AnalysisContext) -> Answer:
    """Whether a read or a write takes longer in alternating pairs than by itself."""
    measured = medians(context.run, context.study)
    parts: list[tuple[tuple[str, ...], Frame]] = []
    rows: list[tuple[object, ...]] = []
    for both, single in _HALVES.items():
        halves = measured[measured["operation"] == both]
        for key, paired in groups(halves, ["device", "memory", "axes"]):
            device, memory, axes = key
            same = (measured["device"] == device) & (measured["memory"] == memory)
            same &= (measured["axes"] == axes) & (measured["operation"] == single)
            times = divide(paired, measured[same])
            spans = ((LARGE, np.inf), (0, SMALL))  # the largest effect first
            for part in (times[times["bytes"].between(*span)] for span in spans):
                if not complete(part).empty:
                    parts.append(((device, both, single, memory, axes), part))
    for names, part in parts:
        slowdown = ratio(part, context.simultaneous(len(parts)))
        if slowdown is None:
            continue
        over = wording.sizes(complete(part)["bytes"].tolist())
        rows.append((*names, over, *slowdown.cells, _slowed(context, slowdown)))
    return Answer.of(
        "throttle", "Does consecutive reading and writing slow either half down?", rows,
        "device operation reference memory axes over", *_RATIO, "verdict",
    )  # fmt: skip


def _slowed(context: AnalysisContext, slowdown: Ratio) -> str:
    more = slowdown.interval.value - 1
    match context.judge(slowdown.interval):
        case "slower":
            return f"yes, by {wording.percent(more)}"
        case "faster":
            return f"no, {wording.percent(-more)} less time"
        case "same":
            return "no difference"
        case _:
            return "cannot tell"


def ceiling(context: AnalysisContext) -> Answer:
    """Each peak as a share of the fastest plain memory copy of the same size."""
    best = speeds.peak_rows(context)
    best = best[best["clock"] == "host"]
    sizes = {
        key: int(rows["bytes"].iloc[0])
        for key, rows in groups(best, ["device", "operation", "memory", "axes"])
    }
    shares: dict[tuple[str, ...], tuple[str, int, Ratio]] = {}
    for pair in context.pairs:
        if (pair.device in context.copies) == (pair.reference in context.copies):
            continue
        swapped = pair.device in context.copies
        device, copy = (pair.reference, pair.device) if swapped else (pair.device, pair.reference)
        memory = pair.memory.split(" / ")[-1 if swapped else 0]
        key = (device, pair.operation, memory, pair.axes)
        size = sizes.get(key, 0)
        time_ratio = ratio(pair.times[pair.times["bytes"] == size], context.confidence)
        if time_ratio is None:
            continue
        share = time_ratio if swapped else time_ratio.inverse()  # the copy's time over the device's
        if key not in shares or share.interval.value < shares[key][2].interval.value:
            shares[key] = (copy, size, share)
    rows = [
        (device, copy, operation, memory, axes, size, *share.cells[:4])
        for (device, operation, memory, axes), (copy, size, share) in shares.items()
    ]
    return Answer.of(
        "ceiling", "How near do the peaks come to a plain memory copy of the same size?", rows,
        *_PAIR, "bytes share low_share high_share within",
    )  # fmt: skip


QUESTIONS = (
    speeds.peaks, api_software.per_call, hybrid.estimated, hybrid.api_shares, split.split, small,
    indistinguishable, throttle, ceiling, speeds.half, speeds.fits, published.published_figures,
)  # fmt: skip
"""Questions of the study ``transfer``, in the order shown."""
