"""Findings of the study ``hostmem``: kernels that access host memory directly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from isthmus.analysis import hostmem, wording
from isthmus.analysis.context import AnalysisContext, rate_of
from isthmus.analysis.crossing import crossing
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Reference, shown
from isthmus.analysis.sentences import say
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


def _series(context: AnalysisContext) -> Iterator[pd.DataFrame]:
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
        if of_device["target"].eq("host").any() or own.empty:
            continue
        row = common.at_largest(own)
        limit, values = common.reference_of(row), _values(context, row)
        rate = rate_of(row, context.confidence)
        yield Finding(
            study=context.study, subject=values["who"],
            quantity=f"{values['what'].replace('host', 'device')}, {values['size']}",
            interval=rate, unit="B/s", reference=limit,
            share=rate.value / limit.value if limit else None, remark="no host memory",
            sentence=say("host_unreached", **values), **common.point_of(row),
        )  # fmt: skip


def _values(context: AnalysisContext, row: Any) -> dict[str, str]:
    return {
        "what": WAYS[str(row.operation)], "size": format_size(int(row.bytes)),
        "rate": shown(float(row.bandwidth_Bps), "B/s"),
        "who": common.title(context, str(row.device)),
    }  # fmt: skip


def _rate(context: AnalysisContext, rows: pd.DataFrame) -> Finding:
    row = common.at_largest(rows)
    rate, values = rate_of(row, context.confidence), _values(context, row)
    limit = common.reference_of(row)
    share = rate.value / limit.value if limit else None
    verdict = common.verdict_of(share)
    return Finding(
        study=context.study, subject=values["who"],
        quantity=f"{values['what']}, {values['size']}", interval=rate, unit="B/s",
        reference=limit, share=share, verdict=verdict, remark=common.REMARKS.get(verdict, ""),
        sentence=say("rate_alone", **values) if share is None
        else say("rate_of_limit", share=f"{100 * share:.0f} %", reference="the link", **values),
        evidence="crossing", **common.point_of(row),
    )  # fmt: skip


def _copies(context: AnalysisContext) -> Iterator[Finding]:
    """Direct access to host memory compared with copying first, for data used once."""
    table = hostmem.direct(context).table
    for device in table["device"].unique():
        reads = table[(table["device"] == device) & (table["operation"] == "read_bandwidth")]
        if reads.empty:
            continue
        row = common.pick(reads, reads["bytes"].idxmax())
        named, size = common.title(context, str(device)), format_size(int(row.bytes))
        ratio = float(row.direct_time_ratio)
        copied = ratio > _WORTH
        name = "copy_first" if copied else "copy_never" if ratio < 1 / _WORTH else "copy_same"
        times = {"direct": shown(row.direct_sweep_s, "s")}
        times["copy"] = shown(row.copy_s + row.card_sweep_s, "s")
        yield Finding(
            study=context.study, subject=named, quantity=f"work on host memory, {size}",
            interval=Interval(float(row.direct_sweep_s), np.nan, np.nan), unit="s",
            reference=Reference(
                kind="other", value=float(row.copy_s + row.card_sweep_s), name="copy first"
            ),
            verdict="slower" if copied else "same" if name == "copy_same" else "faster",
            remark={"copy_first": "copy first", "copy_same": "as copying first"}.get(
                name, "no copy needed"
            ),
            sentence=say(name, who=named, size=size, **times), evidence="direct",
            device=str(device), operation="read_bandwidth", bytes=int(row.bytes),
            clock=str(row.clock),
        )  # fmt: skip


def _peaks(context: AnalysisContext, series: Sequence[pd.DataFrame]) -> Iterator[Finding]:
    """Peaks well above the rate of the largest buffer."""
    for rows in series:
        last, top = common.at_largest(rows), common.at_peak(rows)
        if top.bandwidth_Bps < _PEAK * last.bandwidth_Bps:
            continue
        values = _values(context, top)
        yield Finding(
            study=context.study, subject=values["who"],
            quantity=f"{values['what']}, peak at {values['size']}",
            interval=rate_of(top, context.confidence), unit="B/s", remark="peak",
            sentence=say(
                "peak", largest=format_size(int(last.bytes)),
                slow=shown(float(last.bandwidth_Bps), "B/s"), **values,
            ),
            evidence="knee", **common.point_of(top),
        )  # fmt: skip


def _published(context: AnalysisContext) -> Iterator[Finding]:
    """Residuals of a model against the published log of the same board."""
    table = crossing(context).table
    if "published_residual" not in table:
        return
    for device in table["device"].unique():
        rows = table[table["device"] == device].dropna(subset=["published_residual"])
        if rows.empty:
            continue
        rms = float(np.sqrt((rows["published_residual"] ** 2).mean()))
        named = common.title(context, str(device))
        yield Finding(
            study=context.study, subject=named, quantity="off the published log, rms",
            interval=exact(100 * rms), unit="%", remark="rms",
            sentence=say(
                "published_log", percent=wording.percent(rms), count=str(len(rows)), who=named
            ),
            evidence="crossing", device=str(device),
        )  # fmt: skip


ANALYSIS = Analysis(hostmem.QUESTIONS, findings)
