"""Findings of the study ``mmio``: time of one access, and consequences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from isthmus.analysis import mmio, wording
from isthmus.analysis.context import AnalysisContext, each, interval_of
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Reference
from isthmus.analysis.ratios import groups
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
        yield common.tell(
            context, row, "access", "{what}", interval_of(row, "median_s"), "s", ways=ACCESSES,
            subject=_on(context, row, row.memory), evidence="accesses",
        )  # fmt: skip


def _on(context: AnalysisContext, row: Any, what: str) -> str:
    return f"{common.title(context, row.device)}, {what}"


def _stores(context: AnalysisContext) -> Iterator[Finding]:
    """The highest rate at which a core stores to the device."""
    table = mmio.bandwidths(context).table
    for _, stores in groups(table[table["operation"] == "store"], ["device"]):
        row = common.at_peak(stores)
        share, reference = float(row.limit_share), None
        if np.isfinite(share) and share > 0:
            reference = Reference(kind="limit", value=row.bandwidth_Bps / share, name="link")
        yield common.tell(
            context, row, "stores_of_limit" if reference else "stores", "stores by one core",
            Interval(row.bandwidth_Bps, np.nan, np.nan), "B/s", reference=reference,
            share=share if reference else None, subject=_on(context, row, row.memory),
            evidence="bandwidths",
        )  # fmt: skip


def _lines(context: AnalysisContext) -> Iterator[Finding]:
    """Cache lines that must be in flight to fill the link (Little's law)."""
    table = mmio.concurrency(context).table
    for row in each(table[table["lines"] > _CORE_LINES]):
        yield common.tell(
            context, row, "fill_link", "cache lines that fill the link",
            Interval(float(row.lines), np.nan, np.nan), "lines", remark="use DMA",
            action="DMA in place of loads", values={"lines": wording.number(row.lines)},
            evidence="concurrency",
        )  # fmt: skip


def _crossover(context: AnalysisContext) -> Iterator[Finding]:
    for row in each(mmio.crossover(context).table):
        size = wording.size(row.crossover_bytes)
        yield common.tell(
            context, row, "crossover", "DMA is faster than loads from",
            interval_of(row, "crossover_bytes"), "B", subject=_on(context, row, row.instruction),
            values={"size": size + " B" * (size[-1:] != "i"), "instruction": row.instruction},
            evidence="crossover",
        )  # fmt: skip


def _driver(context: AnalysisContext) -> Iterator[Finding]:
    table = mmio.driver(context).table
    for row in each(table[table["overhead_s"] > 0].drop_duplicates("device")):
        yield common.tell(
            context, row, "call_extrapolated" if "configuration" in row.way else "call_measured",
            "what a system call adds", interval_of(row, "overhead_s"), "s", evidence="driver",
        )  # fmt: skip


def _combining(context: AnalysisContext) -> Iterator[Finding]:
    table = mmio.anomalies(context).table
    for row in each(table[table["anomaly"] == "merged stores"].drop_duplicates("device")):
        yield common.tell(
            context, row, "write_combining", "write combining", None, evidence="anomalies",
            subject=_on(context, row, row.memory), values={"width": str(row.width)},
        )  # fmt: skip


ANALYSIS = Analysis(mmio.QUESTIONS, findings)
