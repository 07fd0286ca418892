"""Findings on several APIs above the same emulated card: which share of the other's time one takes.

The times are estimates on the clock ``hybrid``: see ``analysis.hybrid``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from isthmus import backends
from isthmus.analysis import hybrid, wording
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import Finding, Verdict
from isthmus.analysis.hybrid import Share
from isthmus.analysis.ratios import SMALL
from isthmus.statistics import Interval
from isthmus.units import format_size


def of_apis(context: AnalysisContext, ways: Mapping[str, str]) -> Iterator[Finding]:
    """Small transfers together first, of each operation; then each size by itself.

    ``ways``: operations in words.
    """
    shares = [share for share in hybrid.shares(context) if share.operation in ways]
    for share in shares:
        small = [size for size in share.by_size if size <= SMALL]
        if small:
            yield _finding(context, share, ways, wording.sizes(small), share.over(small))
    for share in shares:
        for size, time_ratio in share.by_size.items():
            yield _finding(context, share, ways, format_size(size), time_ratio, size)


def _finding(
    context: AnalysisContext, share: Share, ways: Mapping[str, str], sizes: str, ratio: Interval,
    size: int = 0,
) -> Finding:  # fmt: skip
    apis = {device.address: device.api for device in context.run.devices}
    names = backends.api_names()
    less, more = (names.get(apis[one], one) for one in (share.device, share.reference))
    verdict: Verdict = context.judge(ratio)
    template = {"same": "api_same", "undecided": "api_undecided"}.get(verdict, "api_share")
    what = f"{ways[share.operation]}, {sizes}"
    values = {
        "what": what, "best": less, "usual": more, "share": f"{100 * ratio.value:.0f} %",
        "span": f"{100 * ratio.low:.0f} to {100 * ratio.high:.0f} %"
        if ratio.known else "one process only",
        "percent": wording.percent(common.reach(ratio)),
    }  # fmt: skip
    return common.tell(
        context, share, template if ratio.known else "api_share", what, ratio, "1", values=values,
        subject=f"{less} over {more}, {ways[share.operation]}", verdict=verdict, remark="hybrid",
        evidence="api_shares", bytes=size, clock="hybrid",
    )  # fmt: skip
