"""Findings of the study ``mmio``: time of one access, and consequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from isthmus.analysis import mmio, wording
from isthmus.analysis.context import AnalysisContext, each
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Reference, shown
from isthmus.analysis.mmio_rows import devices
from isthmus.analysis.sentences import say
from isthmus.statistics import Interval
from isthmus.studies.base import Analysis

ACCESSES = {
    "register_load": "load of a register",
    "bar_memory_load": "load of the card's memory",
    "poll": "start and wait by polling",
    "syscall_load": "load by a system call",
    "host_load": "load of host memory",
    "line_exchange": "cache line to another core and back",
}
"""Operations in words, the most important first."""
_CORE_LINES = 10
"""Approximate number of cache lines that one core keeps in flight."""
_LINE = 64


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """Headlines: the times of four kinds of access."""
    accesses = list(_accesses(context))
    first: dict[str, Finding] = {}
    for one in accesses:
        first.setdefault(one.operation, one)
    head = [first[name] for name in ACCESSES if name in first][:MOST_HEADLINES]
    rest = [*accesses, *_stores(context), *_lines(context), *_crossover(context)]
    rest += [*_driver(context), *_combining(context)]
    return common.headed(head, rest)


def _accesses(context: AnalysisContext) -> Iterator[Finding]:
    for row in each(mmio.accesses(context).table):
        what, named = ACCESSES[str(row.operation)], common.title(context, str(row.device))
        yield Finding(
            study=context.study, subject=f"{named}, {row.memory}", quantity=what,
            interval=Interval(row.median_s, row.low_s, row.high_s), unit="s",
            sentence=say("access", what=what, time=shown(row.median_s, "s"), who=named),
            evidence="accesses", device=str(row.device), operation=str(row.operation),
            memory=str(row.memory), bytes=int(row.bytes), clock=str(row.clock),
        )  # fmt: skip


def _stores(context: AnalysisContext) -> Iterator[Finding]:
    """The highest rate at which a core stores to the device."""
    table = mmio.bandwidths(context).table
    stores = table[table["operation"] == "store"] if len(table) else table
    for address in stores["device"].unique() if len(stores) else ():
        row = common.at_peak(stores[stores["device"] == address])
        named, share = common.title(context, str(address)), float(row.limit_share)
        reference = None
        if np.isfinite(share) and share > 0:
            reference = Reference(kind="limit", value=row.bandwidth_Bps / share, name="link")
        values = {"rate": shown(row.bandwidth_Bps, "B/s"), "who": named}
        yield Finding(
            study=context.study, subject=f"{named}, {row.memory}", quantity="stores by one core",
            interval=Interval(row.bandwidth_Bps, np.nan, np.nan), unit="B/s",
            reference=reference, share=share if reference else None,
            sentence=say("stores_of_limit", share=f"{100 * share:.0f} %", **values)
            if reference else say("stores", **values),
            evidence="bandwidths", device=str(address), operation="store", memory=str(row.memory),
            bytes=int(row.bytes), clock=str(row.clock),
        )  # fmt: skip


def _lines(context: AnalysisContext) -> Iterator[Finding]:
    """Cache lines that must be in flight to fill the link (Little's law)."""
    for row in each(mmio.concurrency(context).table):
        named = common.title(context, str(row.device))
        if row.lines <= _CORE_LINES:
            continue
        yield Finding(
            study=context.study, subject=named, quantity="cache lines that fill the link",
            interval=Interval(float(row.lines), np.nan, np.nan), unit="lines",
            remark="use DMA", action="DMA in place of loads",
            sentence=say("fill_link", lines=wording.number(row.lines), who=named),
            evidence="concurrency", device=str(row.device),
        )  # fmt: skip


def _crossover(context: AnalysisContext) -> Iterator[Finding]:
    for row in each(mmio.crossover(context).table):
        named, size = common.title(context, str(row.device)), wording.size(row.crossover_bytes)
        size += "" if size[-1:] == "i" else " B"
        yield Finding(
            study=context.study, subject=f"{named}, {row.instruction}",
            quantity="DMA is faster than loads from",
            interval=Interval(row.crossover_bytes, row.low_bytes, row.high_bytes), unit="B",
            sentence=say("crossover", size=size, instruction=str(row.instruction), who=named),
            evidence="crossover", device=str(row.device), clock=str(row.clock),
        )  # fmt: skip


def _driver(context: AnalysisContext) -> Iterator[Finding]:
    done: set[str] = set()
    for row in each(mmio.driver(context).table):
        if row.device in done or not row.overhead_s > 0:
            continue
        done.add(str(row.device))
        named, config = common.title(context, str(row.device)), "configuration" in str(row.way)
        yield Finding(
            study=context.study, subject=named, quantity="what a system call adds",
            interval=Interval(row.overhead_s, row.low_s, row.high_s), unit="s",
            sentence=say(
                "call_extrapolated" if config else "call_measured",
                time=shown(row.overhead_s, "s"), who=named,
            ),
            evidence="driver", device=str(row.device), clock=str(row.clock),
        )  # fmt: skip


def _combining(context: AnalysisContext) -> Iterator[Finding]:
    table = mmio.anomalies(context).table
    known = {device.address for device in devices(context)}
    merged = table[table["anomaly"] == "merged stores"] if len(table) else table
    for address in merged["device"].unique() if len(merged) else ():
        row = next(each(merged[merged["device"] == address]))
        named = common.title(context, str(address))
        if address in known:
            yield Finding(
                study=context.study, subject=f"{named}, {row.memory}", quantity="write combining",
                interval=None, unit="",
                sentence=say("write_combining", width=str(int(row.width)), who=named),
                evidence="anomalies", device=str(address), operation="store",
                memory=str(row.memory),
            )  # fmt: skip


ANALYSIS = Analysis(mmio.QUESTIONS, findings)
