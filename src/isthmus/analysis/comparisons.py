"""What two series show together: which is faster, where that ends, and what slows what."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isthmus.analysis import wording
from isthmus.analysis.evidence import FIRST_ASKED, Answer, Evidence, table
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
from isthmus.analysis.speeds import peak_rows
from isthmus.statistics import Interval
from isthmus.units import format_size

_HALVES = {"read_rw": "read", "write_rw": "write"}
_VARIED = 3.0
"""Ratios that differ so much from size to size are told as a range."""
_TOO_WIDE = 0.5
"""An interval wider than this is no finding."""
_PAIR = ("device", "reference", "operation", "memory", "axes")
_RATIO = ("time_ratio", "low_time_ratio", "high_time_ratio", "within", "sizes", "reruns")


def small(evidence: Evidence) -> Answer:
    """Ratio of times between devices for small transfers."""
    rows = []
    said: dict[bool, list[str]] = {True: [], False: []}
    for pair in evidence.pairs:
        times = pair.times[pair.times["bytes"].between(1, SMALL)]
        found = ratio(times, evidence.together(len(evidence.pairs)))
        if found is None:
            continue
        each = by_size(times, evidence.confidence)["ratio"]
        over = wording.sizes(complete(times)["bytes"].tolist())
        finding = evidence.judge(found.interval)
        rows.append((*_names(pair), over, *found.cells, each.min(), each.max(), finding))
        if pair in evidence.contending:
            said[pair.operation in FIRST_ASKED].append(
                _varied(evidence, pair, each.min(), each.max())
                if each.max() > _VARIED * each.min()
                else _longer(evidence, pair, found)
            )
    return Answer(
        "small",
        f"Which device or API takes longer for small transfers (1 to {format_size(SMALL)})?",
        wording.few(said[True] or said[False]) or (_nothing_to_compare(evidence),),
        table(rows, *_PAIR, "over", *_RATIO, "least_ratio", "most_ratio", "finding"),
    )


def _names(pair: Pair) -> tuple[str, ...]:
    return pair.device, pair.reference, pair.operation, pair.memory, pair.axes


def _varied(evidence: Evidence, pair: Pair, least: float, most: float) -> str:
    """The same where one mean would not do for all sizes."""
    ours, theirs = evidence.labels[pair.device], evidence.labels[pair.reference]
    if most < 1.0:
        least, most, ours, theirs = 1 / most, 1 / least, theirs, ours
    what = evidence.named(pair.operation, pair.memory, pair.axes)
    span = f"{wording.number(least)} to {wording.number(most)} times as long as {theirs}"
    return f"{what}: {ours} takes {span}, depending on the size"


def _longer(evidence: Evidence, pair: Pair, found: Ratio) -> str:
    """Which of two devices takes longer, the slower one first."""
    ours, theirs = evidence.labels[pair.device], evidence.labels[pair.reference]
    what = evidence.named(pair.operation, pair.memory, pair.axes)
    finding, span = evidence.judge(found.interval), wording.interval(found)
    if finding in {"same", "undecided"}:
        word = "no difference" if finding == "same" else "cannot tell"
        return f"{what}: {word} between {ours} and {theirs} ({span})"
    if finding == "faster":
        found = found.inverse()
        ours, theirs = theirs, ours
    times = f"{wording.number(found.interval.value)} times as long as {theirs}"
    return f"{what}: {ours} takes {times} ({wording.interval(found)})"


def _nothing_to_compare(evidence: Evidence) -> str:
    devices = {point.device for point in evidence.run.points}
    if len(devices) < 2:
        return "only one device was measured: nothing to compare" if devices else "no points"
    return "no two devices measured the same point on the host's clock with verified data"


def indistinguishable(evidence: Evidence) -> Answer:
    """Size from which on two devices never differ for certain, by more than is relevant."""
    rows, clauses = [], []
    sizes = sum(pair.times["bytes"].nunique() for pair in evidence.pairs)
    for pair in evidence.pairs:
        each = by_size(pair.times, evidence.together(sizes))
        if each.empty:
            continue
        ratios = each[["ratio", "low", "high"]].itertuples(index=False)
        differs = np.array([evidence.judge(Interval(*r)) in {"slower", "faster"} for r in ratios])
        alike = each.iloc[int(np.flatnonzero(differs)[-1]) + 1 if differs.any() else 0 :]
        found = "never" if alike.empty else "from" if differs.any() else "all"
        size = np.nan if alike.empty else alike["bytes"].iloc[0]
        beyond = pd.concat([alike["high"], 1 / alike["low"]]) - 1
        widest = float(beyond.max())  # NaN where they always differ
        last, within = each["bytes"].iloc[-1], bool(each["within"].any())
        rows.append((*_names(pair), found, size, last, widest, within))
        if pair.operation in FIRST_ASKED and pair in evidence.contending:
            clauses.append(_alike(evidence, pair, found, size, widest, last))
    return Answer(
        "indistinguishable",
        "From which size on does it not matter which device or API is used?",
        wording.few(clauses) or (_nothing_to_compare(evidence),),
        table(rows, *_PAIR, "found", "bytes", "largest_bytes", "resolved_share", "within"),
    )


def _alike(
    evidence: Evidence, pair: Pair, found: str, size: float, widest: float, last: int
) -> str:
    names = f"{evidence.labels[pair.device]} and {evidence.labels[pair.reference]}"
    what = evidence.named(pair.operation, pair.memory, pair.axes)
    if found == "never":
        return f"{what}: {names} differ up to the largest size, {format_size(last)}"
    if widest > _TOO_WIDE:
        return (
            f"{what}: cannot tell {names} apart, but a difference of {wording.percent(widest)} "
            "would not have shown"
        )
    where = "at any size" if found == "all" else f"from {format_size(int(size))} on"
    return f"{what}: no difference above {wording.percent(widest)} between {names} {where}"


def throttle(evidence: Evidence) -> Answer:
    """Whether either half of consecutive pairs takes longer than alone."""
    measured = medians(evidence.run, evidence.study)
    parts: list[tuple[tuple[str, ...], pd.DataFrame]] = []
    rows: list[tuple[object, ...]] = []
    said: dict[tuple[str, ...], str] = {}
    for both, alone in _HALVES.items():
        halves = measured[measured["operation"] == both]
        for key, paired in groups(halves, ["device", "memory", "axes"]):
            device, memory, axes = key
            same = (measured["device"] == device) & (measured["memory"] == memory)
            same &= (measured["axes"] == axes) & (measured["operation"] == alone)
            times = divide(paired, measured[same])
            spans = ((LARGE, np.inf), (0, SMALL))  # what matters most first
            for part in (times[times["bytes"].between(*span)] for span in spans):
                if not complete(part).empty:
                    parts.append(((device, both, alone, memory, axes), part))
    for names, part in parts:
        found = ratio(part, evidence.together(len(parts)))
        if found is None:
            continue
        device, both, alone, memory, axes = names
        over = wording.sizes(complete(part)["bytes"].tolist())
        verdict = _slowed(evidence, found)
        rows.append((*names, over, *found.cells, verdict))
        told = f"{evidence.named(alone, memory, axes)} of {over} on {evidence.labels[device]}"
        span = wording.interval(found, change=True)
        said.setdefault(names, f"{told}: {verdict} ({span})")
    missing = "cannot tell: no operation was measured both alone and in consecutive pairs"
    return Answer(
        "throttle",
        "Does consecutive reading and writing slow either half down?",
        wording.few(said.values()) or (missing,),
        table(
            rows, "device", "operation", "reference", "memory", "axes", "over", *_RATIO, "verdict"
        ),
    )


def _slowed(evidence: Evidence, found: Ratio) -> str:
    more = found.interval.value - 1
    match evidence.judge(found.interval):
        case "slower":
            return f"yes, by {wording.percent(more)}"
        case "faster":
            return f"no, {wording.percent(-more)} less time"
        case "same":
            return "no difference"
        case _:
            return "cannot tell"


def ceiling(evidence: Evidence) -> Answer:
    """Each peak as a share of the fastest plain memory copy of the same size."""
    best = peak_rows(evidence)
    best = best[best["clock"] == "host"]
    sizes = {
        key: int(rows["bytes"].iloc[0])
        for key, rows in groups(best, ["device", "operation", "memory", "axes"])
    }
    shares: dict[tuple[str, ...], tuple[str, int, Ratio]] = {}
    for pair in evidence.pairs:
        if (pair.device in evidence.copies) == (pair.reference in evidence.copies):
            continue
        swapped = pair.device in evidence.copies
        device, copy = (pair.reference, pair.device) if swapped else (pair.device, pair.reference)
        memory = pair.memory.split(" / ")[-1 if swapped else 0]
        key = (device, pair.operation, memory, pair.axes)
        size = sizes.get(key, 0)
        found = ratio(pair.times[pair.times["bytes"] == size], evidence.confidence)
        if found is None:
            continue
        share = found if swapped else found.inverse()  # the copy's time over the device's
        if key not in shares or share.interval.value < shares[key][2].interval.value:
            shares[key] = (copy, size, share)
    rows = [
        (device, copy, operation, memory, axes, size, *share.cells[:4])
        for (device, operation, memory, axes), (copy, size, share) in shares.items()
    ]
    clauses = [
        f"{evidence.named(operation, memory, axes)} at {format_size(size)}: "
        f"{evidence.labels[device]} reaches {wording.percent(share.interval.value)} of {copy}"
        for (device, operation, memory, axes), (copy, size, share) in shares.items()
        if operation in FIRST_ASKED
    ]
    missing = (
        "no device was measured beside the memory copy"
        if evidence.copies
        else "no memory copy was measured beside a device: add the device host"
    )
    return Answer(
        "ceiling",
        "How near do the peaks come to a plain memory copy of the same size?",
        wording.few(clauses) or (missing,),
        table(rows, *_PAIR, "bytes", "share", "low_share", "high_share", "within"),
    )
