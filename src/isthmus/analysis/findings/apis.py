"""Findings on several APIs above the same emulated card: which share of the other's time one takes.

The times are estimates on the clock ``hybrid``: see ``analysis.hybrid``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from isthmus import backends
from isthmus.analysis import hybrid, wording
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings.finding import Finding, Verdict
from isthmus.analysis.hybrid import Share
from isthmus.analysis.ratios import SMALL
from isthmus.analysis.sentences import say
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
            what = f"{ways[share.operation]}, {wording.sizes(small)}"
            yield _finding(context, share, what, share.over(small))
    for share in shares:
        for size, time_ratio in share.by_size.items():
            what = f"{ways[share.operation]}, {format_size(size)}"
            yield _finding(context, share, what, time_ratio, size)


def _finding(
    context: AnalysisContext, share: Share, what: str, time_ratio: Interval, size: int = 0
) -> Finding:
    names = backends.api_names()
    apis = {device.address: device.api for device in context.run.devices}
    less, more = (names.get(apis[one], one) for one in (share.device, share.reference))
    verdict: Verdict = context.judge(time_ratio)
    span = f"{100 * time_ratio.low:.0f} to {100 * time_ratio.high:.0f} %"
    return Finding(
        study=context.study,
        subject=f"{less} over {more}, {what.partition(', ')[0]}",
        quantity=what,
        interval=time_ratio,
        unit="1",
        verdict=verdict,
        remark="hybrid",
        sentence=say(
            "api_undecided" if time_ratio.known and verdict != "faster" else "api_share",
            what=what, best=less, usual=more, share=f"{100 * time_ratio.value:.0f} %",
            span=span if time_ratio.known else "one process only",
        ),
        evidence="api_shares",
        device=share.device,
        operation=share.operation,
        memory=share.memory,
        bytes=size,
        clock="hybrid",
    )  # fmt: skip
