"""What judges runs of the study ``hops``."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings import Finding, common
from isthmus.analysis.sentences import filled
from isthmus.answers import Rows, question, rate_of
from isthmus.studies.base import Analysis
from isthmus.units import shown


@question("rates", "How fast are the hops?", "device hops bytes [bandwidth_Bps]")
def rates(context: AnalysisContext) -> Rows:
    """Bytes a second over all hops, of each point."""
    for row in context.rows.itertuples():
        yield row.device, row.hops, row.bytes, rate_of(row)


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """The fastest point."""
    if context.rows.empty:
        return []
    best = common.picks(context.rows).peak
    one = common.finding_of(
        context, best, "", "hops", rate_of(best), "B/s", evidence="rates",
        sentence=filled("Copies over {hops} buffers: {rate} ({who}).", hops=str(best.hops),
                        rate=shown(best.bandwidth_Bps, "B/s"), who=best.device),
    )  # fmt: skip
    return common.headed([one], [])


ANALYSIS = Analysis((rates,), findings)
