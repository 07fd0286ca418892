"""Comparison of channels between the same devices."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import msgspec

from isthmus.analysis.context import AnalysisContext, Answer
from isthmus.analysis.ratios import by_size, divide, groups, medians
from isthmus.frames import Frame
from isthmus.results.run_file import Point


def channels(context: AnalysisContext) -> Answer:
    """Ratio of the times of a step over two channels of the same devices, for each size."""
    rows = []
    for name, reference, where, times in _pairs(context):
        for size in by_size(times, context.confidence).itertuples():
            rows.append((*where, name, reference, *size))
    return Answer.of(
        "channels", "Which channel takes longer, at which size?", rows,
        "device axes channel reference bytes time_ratio low_time_ratio high_time_ratio", "within",
    )  # fmt: skip


def _pairs(context: AnalysisContext) -> Iterator[tuple[str, str, tuple[str, str], Frame]]:
    """Names of two channels, their device and axes, and ratios by size and rerun."""
    exchanges = [
        point
        for point in context.run.points
        if point.study == context.study and point.operation == "exchange"
    ]
    ways: dict[str, list[Point]] = {}
    for point in exchanges:
        ways.setdefault(str(point.axes.get("channel", "")), []).append(point)
    if len(ways) < 2:
        return
    series: dict[tuple[str, str], dict[str, Frame]] = {}
    for channel, points in ways.items():
        channel_times = medians(msgspec.structs.replace(context.run, points=points), context.study)
        memories = channel_times.groupby("device").column("memory")
        for (device, axes, memory), group in groups(channel_times, ["device", "axes", "memory"]):
            name = f"{channel} ({memory})" if memories[device].nunique() > 1 else channel
            series.setdefault((device, axes), {})[name] = group
    for where, named in series.items():
        for reference, name in combinations(named, 2):
            times = divide(named[name], named[reference])
            if not times.empty:
                yield name, reference, where, times
