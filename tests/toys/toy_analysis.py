"""What judges runs of the study ``hops``."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.analysis.context import AnalysisContext, Answer, each, rate_of
from isthmus.analysis.findings import Finding, common, shown
from isthmus.analysis.sentences import filled
from isthmus.studies.base import Analysis


def rates(context: AnalysisContext) -> Answer:
    """Bytes a second over all hops, of each point."""
    rows = [(row.device, row.hops, row.bytes, *rate_of(row)[:3]) for row in each(context.rows)]
    return Answer.of(
        "rates", "How fast are the hops?", rows,
        "device hops bytes bandwidth_Bps low_bandwidth_Bps high_bandwidth_Bps",
    )  # fmt: skip


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """The fastest point."""
    if context.rows.empty:
        return []
    best = common.at_peak(context.rows)
    rate = shown(best.bandwidth_Bps, "B/s")
    one = Finding(
        study=context.study, subject=best.device, quantity="hops", interval=rate_of(best),
        unit="B/s", evidence="rates", **common.point_of(best),
        sentence=filled("Copies over {hops} buffers: {rate} ({who}).", hops=str(best.hops),
                        rate=rate, who=best.device),
    )  # fmt: skip
    return common.headed([one], [])


ANALYSIS = Analysis((rates,), findings)
