"""Provides findings of several studies with a row's figures, references and names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from isthmus import backends
from isthmus.analysis.commands import again
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings.finding import (
    MOST_HEADLINES,
    Finding,
    Reference,
    ReferenceKind,
    Verdict,
)
from isthmus.analysis.sentences import say
from isthmus.backends import BackendDescription
from isthmus.frames import Frame
from isthmus.program import Invocation, quoted
from isthmus.results.run_file import DeviceRecord
from isthmus.statistics import Interval
from isthmus.thresholds import FAIR, GOOD, SMALL
from isthmus.units import format_size, shown

BEST_FIRST = ("pinned", "alloc_host", "host_only", "use_host_ptr", "registered", "aligned")
"""Kinds of memory in order of preference, for the choice among equally fast kinds."""


def backend_of(
    context: AnalysisContext, address: str
) -> BackendDescription | type[BackendDescription]:
    """The backend of a device, or the base class with defaults if the backend is not installed."""
    record = device_of(context, address)
    return backends.of(record.backend if record else "")


def call_for(context: AnalysisContext, address: str, memory: str) -> str:
    """The call that gives memory of this kind on a device; "malloc" for ordinary memory."""
    usual = "malloc" if memory == "pageable" else f"--memory {quoted(memory)}"
    return backend_of(context, address).memory_calls.get(memory, usual)


def device_of(context: AnalysisContext, address: str) -> DeviceRecord | None:
    """The record of a device in the run; None if the run has none."""
    return next((device for device in context.run.devices if device.address == address), None)


def simulated(context: AnalysisContext, address: str) -> bool:
    """Whether a device is a model, whose times are simulated."""
    record = device_of(context, address)
    return record is not None and record.simulated


def title(context: AnalysisContext, address: str) -> str:
    """Name of a device in sentences; a model or emulated card is named as such."""
    record = device_of(context, address)
    if record is None or record.real:
        return address
    return f"{address}, model" if record.simulated else f"{address}, no hardware"


def who(context: AnalysisContext, row: Any) -> str:
    """Name of a row's device; with memory and axes if the operation was measured with several."""
    rows = context.rows[context.rows["device"] == row.device]
    rows = rows[rows["operation"] == row.operation]
    distinguishing = [getattr(row, name) for name in ("memory", "axes") if rows[name].nunique() > 1]
    return ", ".join(filter(None, [title(context, str(row.device)), *distinguishing]))


def to_decide(context: AnalysisContext, *devices: str) -> Invocation | str:
    """The command that measures these devices longer; empty if the run file allows no command."""
    budget_s = max(60, 60 * round(4 * context.run.settings.budget_s / 60))
    return again(context.run, context.study, devices, budget_s=budget_s) or ""


def reference_of(row: Any) -> Reference | None:
    """The limit of a row's rate; None without a known limit, or if larger sizes are faster."""
    if not (row.limit_Bps > 0 and row.limit_share > 0):
        return None
    kind: ReferenceKind = "memcpy" if row.limit == "memcpy" else "limit"
    return Reference(
        kind=kind, value=float(row.limit_Bps), name=str(row.limit), source=str(row.limit_source)
    )


def named(reference: Reference) -> str:
    """Words for a reference in a sentence: "the link", "memcpy"."""
    return f"the {reference.name}" if reference.kind == "limit" else reference.name


def verdict_of(share: float | None) -> Verdict:
    """Judges a rate by its share of the limit."""
    if share is None or not math.isfinite(share):
        return "none"
    return "good" if share >= GOOD else "fair" if share >= FAIR else "poor"


REMARKS: dict[str, str] = {
    "good": "near the limit", "fair": "below the limit", "poor": "far below the limit",
}  # fmt: skip


def at_largest(rows: Frame) -> Any:
    """The row of the largest size whose interval is known, else of the largest size."""
    with_interval = rows[rows["ci_low_s"].notna()]
    rows = rows if with_interval.empty else with_interval
    return rows.row(rows["bytes"].idxmax())


def at_plateau(rows: Frame) -> Any:
    """The row whose rate is the headline of a curve: on the plateau, the size measured best.

    Without a plateau the row of the largest size.
    """
    settled = rows[rows["plateau"].eq(True)]
    if settled.empty:
        return at_largest(rows)
    most = settled[settled["reruns"] == settled["reruns"].max()]
    return at_largest(most)


def at_small(rows: Frame) -> Any:
    """The row of the largest size up to 4 KiB; without such sizes, that of the smallest size."""
    small = rows[rows["bytes"] <= SMALL]
    return rows.row(rows["bytes"].idxmin() if small.empty else small["bytes"].idxmax())


def at_peak(rows: Frame) -> Any:
    """Returns the row with the highest rate."""
    return rows.row(rows["bandwidth_Bps"].idxmax())


def point_of(row: Any) -> dict[str, Any]:
    """Fields of a finding that identify its point in the run; empty if the row lacks them."""
    names = ("device", "operation", "memory", "clock")
    columns = {name: str(getattr(row, name, "")) for name in names}
    return {**columns, "bytes": int(getattr(row, "bytes", 0))}


def reach(ratio: Interval) -> float:
    """Largest difference from 1 within an interval, as a share; NaN if the interval is unknown."""
    return max(ratio.high, 1 / ratio.low) - 1 if ratio.known and ratio.low > 0 else math.nan


def finding_of(
    context: AnalysisContext, row: Any, template: str, quantity: str, interval: Interval | None,
    unit: str = "", *, ways: Mapping[str, str] = MappingProxyType({}), who: str = "",
    values: Mapping[str, str] = MappingProxyType({}), **fields: Any,
) -> Finding:  # fmt: skip
    """Returns a finding on a row, with figures in the templates of its quantity and its sentence.

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
        "time": text, "rate": text, "who": who or title(context, point["device"]),
        "share": "" if share is None else f"{100 * share:.0f} %",
        "reference": named(reference) if reference else "", **values,
    }  # fmt: skip
    about = {"subject": words["who"], "sentence": say(template, **words) if template else ""}
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
