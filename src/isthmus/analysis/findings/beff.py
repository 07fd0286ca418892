"""Findings of the study ``beff``: b_eff, and rate and latency of messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from isthmus.analysis import beff, beff_rows
from isthmus.analysis.context import AnalysisContext, each
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Reference, shown
from isthmus.analysis.fits import NO_LAW
from isthmus.analysis.messages import messages
from isthmus.analysis.sentences import say
from isthmus.analysis.wording import number
from isthmus.frames import Frame
from isthmus.statistics import Interval, judge, relevant
from isthmus.studies.base import Analysis
from isthmus.units import format_size

_MESSAGES = {
    "pingpong": "one message",
    "window": "many messages one way",
    "window_both": "many messages both ways",
}
"""Operations of two ranks in words."""


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """Headlines: b_eff of the fastest channel, its gain, the largest messages; then the others.

    Last come messages of two ranks, which are measured on request.
    """
    means, largest = list(_b_eff(context)), list(_largest(context))
    gains = list(_better(context, [one for one in means if not _without_network(context, one)]))
    results = [*means[:1], *gains, *largest[:1], *means[1:], *largest[1:], *_latencies(context)]
    results += _messages(context)
    head = [one for one in results if not _without_network(context, one)][:MOST_HEADLINES]
    return common.headed(head, results)


def _without_network(context: AnalysisContext, one: Finding) -> bool:
    """Whether one rank sent to itself in host memory, so that no network was measured."""
    rows = context.every[context.every["device"] == one.device]
    own_rows = rows[(rows["study"] == context.study) & (rows["ranks"].isin(["", 1]))]
    return not own_rows.empty and bool(own_rows["flags"].str.contains("to_itself").any())


def _better(context: AnalysisContext, means: Sequence[Finding]) -> Iterator[Finding]:
    """Ratio of the fastest channel to the next one of the same devices, where significant."""
    by_device: dict[str, list[Finding]] = {}
    for one in means:
        by_device.setdefault(one.device, []).append(one)
    for ranked in by_device.values():
        if len(ranked) < 2 or ranked[0].interval is None or ranked[1].interval is None:
            continue
        best, usual = (one.quantity.rpartition(" ")[2] for one in ranked[:2])
        gain = ranked[0].interval.over(ranked[1].interval)
        gain = gain.logarithm().widened(context.simultaneous(len(ranked) - 1)).exponential()
        # A rate that is higher is a time that is lower.
        if judge(gain, relevant(context.run.settings.precision)) == "slower":
            yield msgspec.structs.replace(
                ranked[0], subject=f"{best} over {usual}", quantity="b_eff",
                interval=gain, unit="1", reference=None, share=None,
                verdict="faster", remark=f"use channel {best}",
                action=f"--channel {best}", evidence="channels",
                sentence=say("better_channel", best=best, usual=usual,
                             ratio=number(gain.value), who=ranked[0].subject),
            )  # fmt: skip


def _interval(row: Any, name: str) -> Interval:
    ends = [float(getattr(row, f"{end}_{name}", np.nan)) for end in ("low", "high")]
    return Interval(float(getattr(row, name)), *ends)


def _ranks(row: Any) -> str:
    count = int(getattr(row, "ranks", 1) or 1)
    return f"{count} rank{'s' if count > 1 else ''}"


def _who(context: AnalysisContext, row: Any) -> str:
    return f"{common.title(context, str(row.device))}, {_ranks(row)}"


def _b_eff(context: AnalysisContext) -> Iterator[Finding]:
    table = beff.b_eff(context).table
    order = [] if table.empty else list(np.argsort(-table["median_Bps"].to_numpy(float)))
    for row in each(table.iloc[order]):
        theirs = float(getattr(row, "published_Bps", np.nan))
        reference = None
        if np.isfinite(theirs):
            reference = Reference(kind="published", value=theirs, name="published")
        share = row.median_Bps / theirs if reference else None
        values = {
            "rate": shown(row.median_Bps, "B/s"), "channel": str(row.channel),
            "who": _who(context, row),
        }  # fmt: skip
        best = shown(row.b_eff_Bps, "B/s")
        yield Finding(
            study=context.study, subject=values["who"], quantity=f"b_eff, channel {row.channel}",
            interval=_interval(row, "median_Bps"), unit="B/s", reference=reference, share=share,
            remark="" if best == values["rate"] else f"best-of rule {best}",
            sentence=say("b_eff_published", share=f"{100 * share:.1f} %", **values)
            if share is not None
            else say("b_eff", **values)
            if best == values["rate"]
            else say("b_eff_best", best_rate=best, **values),
            evidence="b_eff", device=str(row.device), operation="b_eff", memory=str(row.memory),
            clock=str(row.clock),
        )  # fmt: skip


def _largest(context: AnalysisContext) -> Iterator[Finding]:
    """Rate of the largest messages, as a share of the links' rate."""
    table = beff.by_size(context).table
    if table.empty:
        return
    same = [name for name in ("device", "channel", "ranks", "clock") if name in table]
    tops: list[Any] = []
    for _, rows in table.groupby(same, sort=False, dropna=False):
        tops.append(common.pick(rows, rows["bytes"].idxmax()))
    for row in sorted(tops, key=lambda row: -float(row.bandwidth_Bps)):
        share = float(getattr(row, "limit_share", np.nan))
        values = {
            "what": f"channel {row.channel}", "rate": shown(row.bandwidth_Bps, "B/s"),
            "size": format_size(int(row.bytes)), "who": _who(context, row),
        }  # fmt: skip
        reference = None
        if np.isfinite(share) and share > 0:
            reference = Reference(kind="limit", value=row.bandwidth_Bps / share, name="links")
        ring = reference is not None and common.simulated(context, str(row.device))
        yield Finding(
            study=context.study, subject=values["who"],
            quantity=f"messages of {values['size']}, channel {row.channel}",
            interval=_interval(row, "bandwidth_Bps"), unit="B/s",
            reference=reference, share=share if reference else None,
            # A card's step sends to one side, then to the other: half of its links rest.
            remark="half is the ceiling" if ring else "",
            sentence=say(
                "rate_of_limit", share=f"{100 * share:.0f} %", reference="the links", **values
            )
            if reference
            else say("rate_alone", **values),
            evidence="by_size", device=str(row.device), operation="exchange",
            bytes=int(row.bytes), clock=str(getattr(row, "clock", "")),
        )  # fmt: skip


def _latencies(context: AnalysisContext) -> Iterator[Finding]:
    """Start-up time and rate of a message, where such a law fits."""
    table = beff.constants(context).table
    rows = Frame() if table.empty else table[table["worst_residual"].abs() <= NO_LAW]
    for row in each(rows):
        values = {"who": _who(context, row), "channel": str(row.channel)}
        yield Finding(
            study=context.study, subject=values["who"],
            quantity=f"latency, channel {row.channel}",
            interval=_interval(row, "latency_s"), unit="s", remark="latency",
            sentence=say(
                "message", time=shown(row.latency_s, "s"), rate=shown(row.wire_Bps, "B/s"),
                **values,
            )
            if np.isfinite(row.wire_Bps)
            else say("message_alone", time=shown(row.latency_s, "s"), **values),
            evidence="constants", device=str(row.device), operation="exchange",
            memory=str(row.memory), clock=str(row.clock),
        )  # fmt: skip


def _messages(context: AnalysisContext) -> Iterator[Finding]:
    """Latency of the smallest message of two ranks, and rate of many of the largest."""
    table = messages(context).table
    same = ["operation", "device", "channel", "depth", "memory", "clock"]
    for (operation, *_), rows in table.groupby(same, sort=False, dropna=False):
        latency = operation == "pingpong"
        row = common.pick(rows, rows["bytes"].idxmin() if latency else rows["bytes"].idxmax())
        interval = _interval(row, "latency_s" if latency else "pair_Bps")
        what, unit = _MESSAGES[str(operation)], "s" if latency else "B/s"
        values = {
            "what": what, "size": format_size(int(row.bytes)), "who": _who(context, row),
            "time" if latency else "rate": shown(interval.value, unit),
        }  # fmt: skip
        yield Finding(
            study=context.study, subject=values["who"], quantity=f"{what}, {values['size']}",
            interval=interval, unit=unit, remark="latency" if latency else "",
            sentence=say("latency" if latency else "rate_alone", **values), evidence="messages",
            **common.point_of(row),
        )  # fmt: skip


ANALYSIS = Analysis(beff.QUESTIONS, findings, beff_rows.complete)
