"""What an API's software costs by itself, where nothing is behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from isthmus.analysis import wording
from isthmus.analysis.evidence import FIRST_ASKED, Answer, Evidence, table
from isthmus.analysis.ratios import (
    LARGE,
    SMALL,
    Pair,
    Ratio,
    complete,
    groups,
    medians,
    pairs_in,
    ratio,
    software_alone,
)
from isthmus.units import format_seconds

_SPANS = ((0, SMALL), (LARGE, np.inf))
_NOT_COMPARED = (np.nan,) * 4
"""The reference's time, and the ratio with its interval."""
_ONE = ("device", "operation", "memory", "axes")
_COLUMNS = (
    "device", "reference", "operation", "memory", "axes", "over", "call_s", "reference_call_s",
    "time_ratio", "low_time_ratio", "high_time_ratio", "within", "sizes", "reruns",
)  # fmt: skip


def per_call(evidence: Evidence) -> Answer:
    """Time per call of each API, and the ratio between two, for small sizes and for large ones.

    A call's time is the geometric mean of the sizes' medians. A device that shares no operation
    with another still has its rows.
    """
    alone = software_alone(evidence.run)
    times = medians(evidence.run, evidence.study, "na")
    times = times[times["device"].isin(alone)]
    rows: list[tuple[object, ...]] = []
    said: dict[bool, list[str]] = {True: [], False: []}
    compared: set[tuple[str, ...]] = set()
    for pair in pairs_in(evidence.run, times):
        ours, _, theirs = pair.memory.partition(" / ")
        keys = [
            (pair.device, pair.operation, ours, pair.axes),
            (pair.reference, pair.operation, theirs or ours, pair.axes),
        ]
        compared.update(keys)
        for low, high in _SPANS:
            part = pair.times[pair.times["bytes"].between(low, high)]
            found = ratio(part, evidence.confidence)
            if found is None:
                continue
            calls = [_call_s(times, key, part) for key in keys]
            over = wording.sizes(complete(part)["bytes"].tolist())
            names = (pair.device, pair.reference, pair.operation, pair.memory, pair.axes)
            rows.append((*names, over, *calls, *found.cells))
            if low == 0:
                said[pair.operation in FIRST_ASKED].append(
                    _clause(evidence, pair, over, calls, found)
                )
    for key, mine in groups(times, _ONE):
        if key in compared:
            continue
        device, operation, memory, axes = key
        spans = list(_spans(mine))
        for over, call, *support in spans:
            rows.append((device, "", *key[1:], over, call, *_NOT_COMPARED, *support))
        for over, call, *_ in spans[:1]:
            what = _what(operation, over, memory, axes)
            said[False].append(f"{what}: {format_seconds(call)} on {evidence.labels[device]}")
    return Answer(
        "api_software",
        "What does the API's software cost per call, with no device behind it?",
        wording.few(said[True] or said[False])
        or ("no device was measured whose API has nothing behind it",),
        table(rows, *_COLUMNS),
    )


def _call_s(times: pd.DataFrame, key: tuple[str, ...], common: pd.DataFrame) -> float:
    """Geometric mean over the sizes and reruns that both have."""
    mine = times
    for name, value in zip(_ONE, key, strict=True):
        mine = mine[mine[name] == value]
    both = mine.merge(common[["bytes", "rerun"]], on=["bytes", "rerun"])
    return float(np.exp(both["log"].mean()))


def _clause(evidence: Evidence, pair: Pair, over: str, calls: Sequence[float], found: Ratio) -> str:
    told = [
        f"{format_seconds(call)} on {evidence.labels[device]}"
        for call, device in zip(calls, (pair.device, pair.reference), strict=True)
    ]
    if found.interval.value < 1.0:
        found = found.inverse()
        told.reverse()
    ours, _, theirs = pair.memory.partition(" / ")
    memory = f"unlike memory: {ours} against {theirs}" if theirs else ours
    return (
        f"{_what(pair.operation, over, memory, pair.axes)}: {told[0]}, {told[1]}: "
        f"{wording.number(found.interval.value)} times as long ({wording.interval(found)})"
    )


def _what(operation: str, over: str, memory: str, axes: str) -> str:
    """An operation with its sizes, if it has any, its memory and its axes."""
    sized = operation if over == "0" else f"{operation} of {over} bytes"
    told = ", ".join(filter(None, (memory, axes)))
    return f"{sized} ({told})" if told else sized


def _spans(mine: pd.DataFrame) -> Iterator[tuple[str, float, bool, int, int]]:
    """Small and large sizes of one series: which, seconds per call, within, sizes, reruns."""
    for low, high in _SPANS:
        part = mine[mine["bytes"].between(low, high)]
        if not part.empty:
            reruns = part["rerun"].nunique()
            yield (
                wording.sizes(part["bytes"].tolist()),
                float(np.exp(part["log"].mean())),
                reruns == 1,
                part["bytes"].nunique(),
                reruns,
            )
