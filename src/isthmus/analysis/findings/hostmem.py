"""Findings of the study ``hostmem``: kernels that access host memory directly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from isthmus.analysis import hostmem, wording
from isthmus.analysis.context import AnalysisContext, rate_of
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Reference, Verdict, shown
from isthmus.analysis.ratios import groups
from isthmus.frames import Frame, Row
from isthmus.statistics import Interval, exact
from isthmus.studies.base import Analysis
from isthmus.units import format_size

WAYS = {
    "read_bandwidth": "kernels read host memory",
    "write_bandwidth": "kernels write host memory",
    "bandwidth": "kernels read and write",
}
_PEAK = 1.1
"""Least ratio of the peak to the rate at the largest size for which the peak is a finding."""
_WORTH = 1.05
"""Ratio below which copying first and direct access count as equally fast."""


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """At most four headlines: read, write, both, and whether to copy first.

    Of a device without a point on host memory: that, with the rate of its own memory.
    """
    series = list(_series(context))
    rates = [_rate(context, rows) for rows in series]
    head = []
    for way in WAYS:
        of_way = [one for one in rates if one.operation == way and one.interval]
        head += sorted(of_way, key=lambda one: -(one.interval.value if one.interval else 0.0))[:1]
    copies = list(_copies(context))
    head = [*head, *copies[:1], *_unreached(context)][:MOST_HEADLINES]
    rest = [*rates, *copies, *_peaks(context, series), *_published(context)]
    return common.headed(head, rest)


def _series(context: AnalysisContext) -> Iterator[Frame]:
    """Rows on host memory that differ in size only, with the most sweeps (least launch time)."""
    rows = context.rows[context.rows["operation"].isin(WAYS)]
    rows = rows[rows["target"] == "host"]
    same = ["operation", "device", "memory", "clock", "implementation", "outstanding"]
    for _, group in rows.groupby(same, sort=False, dropna=False):
        yield group[group["iterations"] == group["iterations"].max()].sort_values("bytes")


def _unreached(context: AnalysisContext) -> Iterator[Finding]:
    """Devices of which no point on host memory has a rate: what their kernels reach instead."""
    rows = context.rows[context.rows["operation"].isin(WAYS)]
    for device in filter(context.is_reported, rows["device"].unique()):
        of_device = rows[rows["device"] == device]
        own = of_device[of_device["operation"] != "bandwidth"]
        if not of_device["target"].eq("host").any() and len(own):
            yield common.tell(
                context, row := common.at_largest(own), "host_unreached",
                WAYS[row.operation].replace("host", "device") + ", {size}",
                rate_of(row, context.confidence), "B/s", reference=common.reference_of(row),
                remark="no host memory",
            )  # fmt: skip


def _rate(context: AnalysisContext, rows: Frame) -> Finding:
    row = common.at_largest(rows)
    rate, limit = rate_of(row, context.confidence), common.reference_of(row)
    verdict = common.verdict_of(rate.value / limit.value if limit else None)
    return common.tell(
        context, row, "rate_of_limit" if limit else "rate_alone", "{what}, {size}", rate, "B/s",
        ways=WAYS, values={"reference": "the link"}, reference=limit, verdict=verdict,
        remark=common.REMARKS.get(verdict, ""), evidence="crossing",
    )  # fmt: skip


_CHOICES: dict[str, tuple[str, Verdict, str]] = {
    "faster": ("copy_never", "faster", "no copy needed"),
    "same": ("copy_same", "same", "as copying first"),
    "slower": ("copy_first", "slower", "copy first"),
}
"""Direct access beside copying first: template of the sentence, verdict, remark."""


def _copies(context: AnalysisContext) -> Iterator[Finding]:
    """Direct access to host memory compared with copying first, for data used once."""
    table = hostmem.direct(context).table
    for _, reads in groups(table[table["operation"] == "read_bandwidth"], ["device"]):
        row = common.pick(reads, reads["bytes"].idxmax())
        ratio, copy_s = float(row.direct_time_ratio), float(row.copy_s + row.card_sweep_s)
        chosen = "slower" if ratio > _WORTH else "faster" if ratio < 1 / _WORTH else "same"
        template, verdict, remark = _CHOICES[chosen]
        direct_s = Interval(float(row.direct_sweep_s), np.nan, np.nan)
        yield common.tell(
            context, row, template, "work on host memory, {size}", direct_s, "s",
            values={"direct": shown(direct_s.value, "s"), "copy": shown(copy_s, "s")},
            reference=Reference(kind="other", value=copy_s, name="copy first"), share=None,
            verdict=verdict, remark=remark, evidence="direct",
        )  # fmt: skip


def _peaks(context: AnalysisContext, series: Sequence[Frame]) -> Iterator[Finding]:
    """Peaks well above the rate of the largest buffer."""
    for rows in series:
        last, top = common.at_largest(rows), common.at_peak(rows)
        if top.bandwidth_Bps >= _PEAK * last.bandwidth_Bps:
            slow = shown(float(last.bandwidth_Bps), "B/s")
            yield common.tell(
                context, top, "peak", "{what}, peak at {size}", rate_of(top, context.confidence),
                "B/s", ways=WAYS, remark="peak", evidence="knee",
                values={"largest": format_size(int(last.bytes)), "slow": slow},
            )  # fmt: skip


def _published(context: AnalysisContext) -> Iterator[Finding]:
    """Residuals of a model against the published log of the same board."""
    table = hostmem.crossing(context).table
    if "published_residual" not in table:
        return
    for (device,), rows in groups(table.dropna(subset=["published_residual"]), ["device"]):
        rms = float(np.sqrt((rows["published_residual"] ** 2).mean()))
        yield common.tell(
            context, Row(device=device), "published_log", "off the published log, rms",
            exact(100 * rms), "%", remark="rms", evidence="crossing",
            values={"percent": wording.percent(rms), "count": str(len(rows))},
        )  # fmt: skip


ANALYSIS = Analysis(hostmem.QUESTIONS, findings)
