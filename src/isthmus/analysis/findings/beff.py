"""Makes the findings of study ``beff``: b_eff, and rate and latency of messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np

from isthmus.analysis import beff
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Reference
from isthmus.answers import interval_of
from isthmus.program import quoted
from isthmus.statistics import Interval, judge, simultaneous
from isthmus.statistics.fits import NO_LAW
from isthmus.studies.base import Analysis
from isthmus.units import number, shown

_MESSAGES = {
    "pingpong": "one message",
    "window": "many messages one way",
    "window_both": "many messages both ways",
}
"""Words for operations of two ranks."""


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """Headlines: b_eff of the fastest channel, its gain, the largest messages; then the rest.

    Messages of two ranks come last: they are measured on request only.
    """
    by_channel, largest = list(_b_eff(context)), list(_largest(context))
    means = [finding for _, finding in by_channel]
    network = [
        (name, finding) for name, finding in by_channel if not _without_network(context, finding)
    ]
    gains = list(_better(context, network))
    results = [*means[:1], *gains, *largest[:1], *means[1:], *largest[1:], *_latencies(context)]
    results += _messages(context)
    head = [finding for finding in results if not _without_network(context, finding)][
        :MOST_HEADLINES
    ]
    return common.headed(head, results)


def _without_network(context: AnalysisContext, finding: Finding) -> bool:
    """Whether one rank sent to itself in host memory, so that no network was measured."""
    rows = context.every[context.every["device"] == finding.device]
    own_rows = rows[(rows["study"] == context.study) & (rows["ranks"].isin(["", 1]))]
    return not own_rows.empty and bool(own_rows["flags"].str.contains("to_itself").any())


def _better(context: AnalysisContext, means: Sequence[tuple[str, Finding]]) -> Iterator[Finding]:
    """Yields the ratio of the fastest channel to the next of the same devices, if significant."""
    by_device: dict[str, list[tuple[str, Finding]]] = {}
    for channel, finding in means:
        by_device.setdefault(finding.device, []).append((channel, finding))
    for ranked in by_device.values():
        if len(ranked) < 2:
            continue
        (best, first), (usual, second) = ranked[:2]
        if first.interval is None or second.interval is None:
            continue
        gain = first.interval.over(second.interval)
        gain = gain.with_confidence(simultaneous(context.confidence, len(ranked) - 1))
        # ``judge`` expects a ratio of times; ``gain`` is one of rates, so "slower" means faster.
        if judge(gain, context.least) == "slower":
            yield msgspec.structs.replace(
                first, subject=f"{best} over {usual}", quantity="b_eff",
                interval=gain, unit="1", reference=None, share=None,
                verdict="faster", remark=f"use channel {best}",
                action=f"--channel {quoted(best)}", evidence="channels",
                template="better_channel",
                values={"best": best, "usual": usual, "ratio": number(gain.value),
                        "who": first.subject},
            )  # fmt: skip


def _finding(
    context: AnalysisContext, row: Any, template: str, quantity: str, interval: Interval,
    unit: str, values: Mapping[str, str] = MappingProxyType({}), **fields: Any,
) -> Finding:  # fmt: skip
    """Makes a finding by ``common.finding_of`` that also names the ranks and the channel."""
    count = int(getattr(row, "ranks", 1) or 1)
    who = f"{context.titles[row.device]}, {count} rank{'s' if count > 1 else ''}"
    words = {"channel": str(row.channel), **values}
    return common.finding_of(
        context, row, template, quantity, interval, unit, who=who, values=words, **fields
    )


def _b_eff(context: AnalysisContext) -> Iterator[tuple[str, Finding]]:
    """Yields each channel with its finding, the fastest channel first."""
    table = beff.b_eff(context).table.sort_values("median_Bps", ascending=False)
    for row in table.itertuples():
        theirs = float(getattr(row, "published_Bps", np.nan))
        published = np.isfinite(theirs)
        reference = (
            Reference(kind="published", value=theirs, name="published") if published else None
        )
        best = shown(row.b_eff_Bps, "B/s")
        same = best == shown(row.median_Bps, "B/s")
        yield str(row.channel), _finding(
            context, row, "b_eff_published" if published else "b_eff" if same else "b_eff_best",
            "b_eff, channel {channel}", interval_of(row, "median_Bps"), "B/s",
            {"best_rate": best} | ({"share": f"{100 * row.median_Bps / theirs:.1f} %"}),
            reference=reference, remark="" if same else f"best-of rule {best}", evidence="b_eff",
            operation="b_eff",
        )  # fmt: skip


def _largest(context: AnalysisContext) -> Iterator[Finding]:
    """Yields the rate of the largest messages, as a share of the links' rate."""
    table = beff.by_size(context).table
    tops = [
        rows.row(rows["bytes"].idxmax())
        for _, rows in table.groups(["device", "channel", "ranks", "clock"])
    ]
    for row in sorted(tops, key=lambda row: -float(row.bandwidth_Bps)):
        share, reference = float(getattr(row, "limit_share", np.nan)), None
        if np.isfinite(share) and share > 0:
            reference = Reference(kind="limit", value=row.bandwidth_Bps / share, name="links")
        ring = reference is not None and row.device in context.simulated
        yield _finding(
            context, row, "rate_of_limit" if reference else "rate_alone",
            "messages of {size}, channel {channel}", interval_of(row, "bandwidth_Bps"), "B/s",
            {"what": f"channel {row.channel}"}, reference=reference,
            share=share if reference else None,
            # Each step of a card sends one way, then the other: half of the links are idle.
            remark="half is the ceiling" if ring else "", evidence="by_size", operation="exchange",
        )  # fmt: skip


def _latencies(context: AnalysisContext) -> Iterator[Finding]:
    """Yields start-up time and rate of a message, where a straight line fits time over size."""
    table = beff.constants(context).table
    for row in table[table["worst_residual"].abs() <= NO_LAW].itertuples():
        yield _finding(
            context, row, "message" if np.isfinite(row.wire_Bps) else "message_alone",
            "latency, channel {channel}", interval_of(row, "latency_s"), "s",
            {"rate": shown(row.wire_Bps, "B/s")}, remark="latency", evidence="constants",
            operation="exchange",
        )  # fmt: skip


def _messages(context: AnalysisContext) -> Iterator[Finding]:
    """Yields two ranks' latency of the smallest message, and rate of many of the largest size."""
    same = ["operation", "device", "channel", "depth", "memory", "clock"]
    for (operation, *_), rows in beff.messages(context).table.groups(same):
        latency = operation == "pingpong"
        row = rows.row(rows["bytes"].idxmin() if latency else rows["bytes"].idxmax())
        yield _finding(
            context, row, "latency" if latency else "rate_alone", "{what}, {size}",
            interval_of(row, "latency_s" if latency else "pair_Bps"), "s" if latency else "B/s",
            ways=_MESSAGES, remark="latency" if latency else "", evidence="messages",
        )  # fmt: skip


ANALYSIS = Analysis(beff.QUESTIONS, findings, beff.complete)
