"""Time of an API's software alone, measured where calls reach no device (XRT's noop shim)."""

from __future__ import annotations

import numpy as np

from isthmus.analysis import wording
from isthmus.analysis.context import AnalysisContext, Rows, question
from isthmus.analysis.ratios import LARGE, SMALL, groups, medians, pairs_in, ratio, software_only
from isthmus.statistics import Interval

_SPANS = ((0, SMALL), (LARGE, np.inf))
_ONE = ("device", "operation", "memory", "axes")


@question(
    "api_software", "What does the API's software cost per call, with no device behind it?",
    "device reference operation memory axes over call_s reference_call_s [time_ratio] within sizes",
    "reruns",
)  # fmt: skip
def per_call(context: AnalysisContext) -> Rows:
    """Time per call of each API, and the ratio between two, for small sizes and for large ones.

    A call's time is the geometric mean of the sizes' medians. A device that shares no operation
    with another still has its rows.
    """
    times = medians(context.run, context.study, "na")
    times = times[times["device"].isin(software_only(context.run))]
    series = dict(groups(times, _ONE))
    alone = dict(series)
    for pair in pairs_in(context.run, times):
        ours, _, theirs = pair.memory.partition(" / ")
        keys = [
            (pair.device, pair.operation, ours, pair.axes),
            (pair.reference, pair.operation, theirs or ours, pair.axes),
        ]
        for key in keys:
            alone.pop(key, None)
        for span in _SPANS:
            part = pair.times[pair.times["bytes"].between(*span)]
            found = ratio(part, context.confidence)
            if found:
                both = part[["bytes", "rerun"]]  # the sizes and reruns that both devices have
                logs = [series[key].merge(both, on=["bytes", "rerun"])["log"] for key in keys]
                calls = (float(np.exp(of.mean())) for of in logs)
                yield *pair[:5], found.over, *calls, *found.cells
    none = Interval(np.nan, np.nan, np.nan)
    for (device, *rest), rows in alone.items():
        for span in _SPANS:
            part = rows[rows["bytes"].between(*span)]
            if not part.empty:
                over, reruns = wording.sizes(part["bytes"].tolist()), part["rerun"].nunique()
                support = (reruns == 1, part["bytes"].nunique(), reruns)
                call = float(np.exp(part["log"].mean()))
                yield device, "", *rest, over, call, np.nan, none, *support
