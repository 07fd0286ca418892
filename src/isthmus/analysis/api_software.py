"""Time of an API's software alone, measured where calls reach no device (XRT's noop shim)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isthmus.analysis import wording
from isthmus.analysis.context import AnalysisContext, Answer
from isthmus.analysis.ratios import (
    LARGE,
    SMALL,
    complete,
    groups,
    medians,
    pairs_in,
    ratio,
    software_only,
)
from isthmus.frames import Frame

_SPANS = ((0, SMALL), (LARGE, np.inf))
_NOT_COMPARED = (np.nan,) * 4
"""In place of the reference's time and the ratio with its interval."""
_ONE = ("device", "operation", "memory", "axes")
_COLUMNS = (
    "device", "reference", "operation", "memory", "axes", "over", "call_s", "reference_call_s",
    "time_ratio", "low_time_ratio", "high_time_ratio", "within", "sizes", "reruns",
)  # fmt: skip


def per_call(context: AnalysisContext) -> Answer:
    """Time per call of each API, and the ratio between two, for small sizes and for large ones.

    A call's time is the geometric mean of the sizes' medians. A device that shares no operation
    with another still has its rows.
    """
    without_device = software_only(context.run)
    times = medians(context.run, context.study, "na")
    times = times[times["device"].isin(without_device)]
    rows: list[tuple[object, ...]] = []
    compared: set[tuple[str, ...]] = set()
    for pair in pairs_in(context.run, times):
        ours, _, theirs = pair.memory.partition(" / ")
        keys = [
            (pair.device, pair.operation, ours, pair.axes),
            (pair.reference, pair.operation, theirs or ours, pair.axes),
        ]
        compared.update(keys)
        for low, high in _SPANS:
            part = pair.times[pair.times["bytes"].between(low, high)]
            time_ratio = ratio(part, context.confidence)
            if time_ratio is None:
                continue
            calls = [_call_s(times, key, part) for key in keys]
            over = wording.sizes(complete(part)["bytes"].tolist())
            names = (pair.device, pair.reference, pair.operation, pair.memory, pair.axes)
            rows.append((*names, over, *calls, *time_ratio.cells))
    for key, series in groups(times, _ONE):
        if key in compared:
            continue
        for over, call, *support in _spans(series):
            rows.append((key[0], "", *key[1:], over, call, *_NOT_COMPARED, *support))
    return Answer.of(
        "api_software", "What does the API's software cost per call, with no device behind it?",
        rows,
        *_COLUMNS,
    )  # fmt: skip


def _call_s(times: Frame, key: tuple[str, ...], common: Frame) -> float:
    """Geometric mean in seconds over the sizes and reruns that both devices have."""
    series = times
    for name, value in zip(_ONE, key, strict=True):
        series = series[series[name] == value]
    both = series.merge(common[["bytes", "rerun"]], on=["bytes", "rerun"])
    return float(np.exp(both["log"].mean()))


def _spans(series: Frame) -> Iterator[tuple[str, float, bool, int, int]]:
    """For small and for large sizes: range, seconds per call, one process only?, sizes, reruns."""
    for low, high in _SPANS:
        part = series[series["bytes"].between(low, high)]
        if not part.empty:
            reruns = part["rerun"].nunique()
            yield (
                wording.sizes(part["bytes"].tolist()),
                float(np.exp(part["log"].mean())),
                reruns == 1,
                part["bytes"].nunique(),
                reruns,
            )
