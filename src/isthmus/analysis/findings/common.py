"""Provides findings of several studies with a row's figures, references and names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings.finding import (
    MOST_HEADLINES,
    Finding,
    Reference,
    ReferenceKind,
    Verdict,
)
from isthmus.backends import BackendDescription
from isthmus.frames import Frame
from isthmus.program import quoted
from isthmus.statistics import Interval
from isthmus.thresholds import FAIR, GOOD, SMALL
from isthmus.units import format_size, shown

BEST_FIRST = ("pinned", "alloc_host", "host_only", "use_host_ptr", "registered", "aligned")
"""Kinds of memory in order of preference, for the choice among equally fast kinds."""


def call_for(context: AnalysisContext, address: str, memory: str) -> str:
    """The call that gives memory of this kind on a device; "malloc" for ordinary memory."""
    usual = "malloc" if memory == "pageable" else f"--memory {quoted(memory)}"
    backend = context.backends.get(address, BackendDescription)
    return backend.memory_calls.get(memory, usual)


class Limit(NamedTuple):
    """The limit of a row's rate, and what the rate's share of the limit means."""

    reference: Reference | None
    """None without a known limit, or if larger sizes are faster."""
    verdict: Verdict
    remark: str


def limit_of(row: Any) -> Limit:
    """Compares a row's rate with its limit."""
    if not (row.limit_Bps > 0 and row.limit_share > 0):
        return Limit(None, "none", "")
    kind: ReferenceKind = "memcpy" if row.limit == "memcpy" else "limit"
    reference = Reference(
        kind=kind, value=float(row.limit_Bps), name=str(row.limit), source=str(row.limit_source)
    )
    share = row.bandwidth_Bps / row.limit_Bps
    if not math.isfinite(share):
        return Limit(reference, "none", "")
    if share >= GOOD:
        return Limit(reference, "good", "near the limit")
    if share >= FAIR:
        return Limit(reference, "fair", "below the limit")
    return Limit(reference, "poor", "far below the limit")


class Picks(NamedTuple):
    """Rows of a series, whose rows differ in size only, that findings are about."""

    plateau: Any
    """Headline of the rate: on the plateau, the size measured best; else ``largest``."""
    largest: Any
    """The largest size whose interval is known, else the largest size."""
    peak: Any
    """The highest rate."""
    small: Any
    """The largest size up to 4 KiB; without such sizes, the smallest size."""


def picks(rows: Frame) -> Picks:
    """Picks rows of a series that has at least one row."""
    settled = rows[rows["plateau"].eq(True)] if "plateau" in rows else rows[:0]
    if not settled.empty:
        settled = settled[settled["reruns"] == settled["reruns"].max()]
    small = rows[rows["bytes"] <= SMALL]
    return Picks(
        plateau=_largest(rows if settled.empty else settled),
        largest=_largest(rows),
        peak=rows.row(rows["bandwidth_Bps"].idxmax()),
        small=rows.row(rows["bytes"].idxmin() if small.empty else small["bytes"].idxmax()),
    )


def _largest(rows: Frame) -> Any:
    with_interval = rows[rows["ci_low_s"].notna()]
    rows = rows if with_interval.empty else with_interval
    return rows.row(rows["bytes"].idxmax())


def point_of(row: Any) -> dict[str, Any]:
    """Fields of a finding that identify its point in the run; empty if the row lacks them."""
    names = ("device", "operation", "memory", "clock")
    columns = {name: str(getattr(row, name, "")) for name in names}
    return {**columns, "bytes": int(getattr(row, "bytes", 0))}


def finding_of(
    context: AnalysisContext, row: Any, template: str, quantity: str, interval: Interval | None,
    unit: str = "", *, ways: Mapping[str, str] = MappingProxyType({}), who: str = "",
    values: Mapping[str, str] = MappingProxyType({}), **fields: Any,
) -> Finding:  # fmt: skip
    """Returns a finding on a row, with values for the templates of its quantity and its sentence.

    Both templates know ``what`` the row's operation does (``ways``: operations in words), its
    ``size``, the figure as ``time`` or ``rate``, ``who``, by default the device, the ``share`` of
    the ``reference`` in ``fields``, and ``values``.
    """
    point = point_of(row)
    reference, figure = fields.get("reference"), interval.value if interval else math.nan
    share = fields.setdefault("share", figure / reference.value if reference else None)
    text = shown(figure, unit)
    words = {
        "what": ways.get(point["operation"], ""), "size": format_size(point["bytes"]),
        "time": text, "rate": text, "who": who or context.titles[point["device"]],
        "share": "" if share is None else f"{100 * share:.0f} %",
        "reference": f"the {reference.name}" if reference and reference.kind == "limit"
        else reference.name if reference else "", **values,
    }  # fmt: skip
    about: dict[str, Any] = {"subject": words["who"], "template": template, "values": words}
    return Finding(
        study=context.study, quantity=quantity.format(**words), interval=interval, unit=unit,
        **(about | point | fields),
    )  # fmt: skip


def headed(
    head: Sequence[Finding], others: Iterable[Finding], most: int = MOST_HEADLINES
) -> list[Finding]:
    """Makes the first ``most`` findings of ``head`` headlines, and appends all others."""
    first = head[:most]
    headlines = [msgspec.structs.replace(finding, headline=True) for finding in first]
    return [*headlines, *(finding for finding in others if finding not in first)]
