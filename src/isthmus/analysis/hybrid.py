"""Estimates times of a board: measured software of an API plus the simulated crossing.

The software is measured where calls reach no device (XRT's noop shim, ``xrt:0@noop``). The crossing
is simulated on an emulated card of the same API in the same run: link, card, and the driver as far
as the board describes it. Their sum has the clock ``hybrid``; it was not measured. Work that
software and card do at the same time is counted twice.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.ratios import Memories, by_memory, pairs, ratio
from isthmus.analysis.summary import medians
from isthmus.answers import Rows, interval_of, question
from isthmus.frames import Frame
from isthmus.statistics import Interval, simultaneous
from isthmus.thresholds import LARGE, SMALL
from isthmus.units import size_range

_SPANS = ((0, SMALL), (LARGE, np.inf))
_ONE = ("device", "operation", "memory", "axes")


@question(
    "api_software", "What does the API's software cost per call, with no device behind it?",
    "device reference operation memory axes over call_s reference_call_s [time_ratio] within sizes",
    "reruns",
)  # fmt: skip
def per_call(context: AnalysisContext) -> Rows:
    """Yields the time per call of each API, and the ratio of two APIs, for small and large sizes.

    A call's time is the geometric mean of the medians of all sizes. Operations that only one device
    has are included.
    """
    times = medians(context.run, context.study, "na")
    times = times[times["device"].isin(context.software)]
    series = dict(times.groups(_ONE))
    alone = dict(series)
    for pair in pairs(context.run, times):
        keys = [
            (pair.device, pair.operation, pair.memories.own, pair.axes),
            (pair.reference, pair.operation, pair.memories.reference, pair.axes),
        ]
        for key in keys:
            alone.pop(key, None)
        for span in _SPANS:
            part = pair.times[pair.times["bytes"].between(*span)]
            interval = ratio(part, context.confidence)
            if interval:
                both = part[["bytes", "rerun"]]  # the sizes and reruns that both devices have
                logs = [series[key].merge(both, on=["bytes", "rerun"])["log"] for key in keys]
                calls = (float(np.exp(of.mean())) for of in logs)
                yield *pair.names, interval.over, *calls, *interval.cells
    none = Interval(np.nan, np.nan, np.nan)
    for (device, *rest), rows in alone.items():
        for span in _SPANS:
            part = rows[rows["bytes"].between(*span)]
            if not part.empty:
                over, reruns = size_range(part["bytes"].tolist()), part["rerun"].nunique()
                support = (reruns == 1, part["bytes"].nunique(), reruns)
                call = float(np.exp(part["log"].mean()))
                yield device, "", *rest, over, call, np.nan, none, *support


_POINT = ["api", "operation", "memory", "bytes", "axes"]


@question(
    "hybrid",
    "What would a board take (an estimate: the API's software as measured without a device, and "
    "the crossing as simulated)?",
    "device software", *_POINT,
    "clock software_s simulated_s [hybrid_s] bandwidth_Bps software_share",
)  # fmt: skip
def estimated(context: AnalysisContext) -> Rows:
    """Yields the estimated time of each point: measured software plus simulated crossing."""
    rows = context.every[context.every["study"] == context.study]
    simulated = rows[
        rows["device"].isin(context.simulated)
        & rows["clock"].eq("simulated")
        & rows["verified"].ne("false")
        & rows["median_s"].gt(0)
    ]
    bare = rows["device"].isin(context.software)
    software = rows[bare & rows["clock"].eq("host") & rows["samples"].gt(0)]
    for row in simulated.merge(
        software.drop_duplicates(_POINT), on=_POINT, suffixes=("", "_alone")
    ).itertuples():
        # Simulated time is exact: the interval of the sum is that of the software.
        alone = (row.median_s_alone, row.ci_low_s_alone, row.ci_high_s_alone)
        value, low, high = (row.median_s + end for end in alone)
        hybrid = Interval(value, low, high)
        point = (getattr(row, name) for name in _POINT)
        rate = row.bandwidth_Bps * row.median_s / hybrid.value
        times = (row.median_s_alone, row.median_s, hybrid)
        yield (
            row.device, row.device_alone, *point, "hybrid", *times, rate,
            row.median_s_alone / hybrid.value,
        )  # fmt: skip


class Share(NamedTuple):
    """Ratio of the estimated times of two APIs on the same card, the faster API first."""

    device: str
    reference: str
    operation: str
    memory: str
    axes: str
    by_size: Mapping[int, Interval]
    """Ratio by bytes, from small to large."""

    def over(self, sizes: Sequence[int]) -> Interval:
        """Geometric mean of the ratio over sizes, as if the sizes' errors were fully correlated."""
        logs = [self.by_size[size].logarithm() for size in sizes]
        value, low, high = (
            math.fsum(ends) / len(logs) for ends in list(zip(*logs, strict=True))[:3]
        )
        return Interval(value, low, high, logs[0].confidence).exponential()


@question(
    "api_shares",
    "Which share of the other API's time does an API take on a board (an estimate, as above)?",
    "device reference operation memory axes clock bytes [time_ratio]",
)
def api_shares(context: AnalysisContext) -> Rows:
    """Yields the ratio of the estimated times of two APIs above the same card, by size."""
    for *pair, by_size in shares(context, estimated(context).table):
        for size, time_ratio in by_size.items():
            yield *pair, "hybrid", size, time_ratio


def shares(context: AnalysisContext, estimates: Frame) -> list[Share]:
    """Compares every two APIs on the same emulated card, for each operation that both have.

    Equal kinds of memory are compared; if each API has only one kind, these two are. Intervals are
    simultaneous over all sizes and over each pair's mean over sizes. ``estimates``: table of
    ``estimated``.
    """
    cards = {d.address: (d.properties.get("emulated_card"), d.api) for d in context.run.devices}
    shares_ = []
    for (operation, axes), rows in estimates.groups(["operation", "axes"]):
        for reference, device in combinations(dict.fromkeys(rows["device"]), 2):
            (card, api), (other_card, other_api) = cards[device], cards[reference]
            if card != other_card or api == other_api:
                continue
            ours, theirs = (rows[rows["device"] == address] for address in (device, reference))
            for memories, own, other in by_memory(ours, theirs):
                both = own.merge(other, on="bytes", suffixes=("", "_of")).sort_values("bytes")
                times = {
                    int(row.bytes): tuple(
                        interval_of(row, name)._replace(confidence=context.confidence)
                        for name in ("hybrid_s", "hybrid_s_of")
                    )
                    for row in both.itertuples()
                }
                ahead = sum(math.log(a.value / b.value) for a, b in times.values()) <= 0
                names = (device, reference, operation, str(memories)) if ahead else (
                    reference, device, operation, str(Memories(*reversed(memories)))
                )  # fmt: skip
                by_size = {
                    size: a.over(b) if ahead else b.over(a) for size, (a, b) in times.items()
                }
                shares_.append(Share(*names, axes, by_size))
    together = simultaneous(context.confidence, sum(len(share.by_size) + 1 for share in shares_))
    return [
        share._replace(by_size={n: r.with_confidence(together) for n, r in share.by_size.items()})
        for share in shares_
    ]
