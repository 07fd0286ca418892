"""What one series shows by itself: its peak, half of it, and the law it follows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isthmus.analysis import wording
from isthmus.analysis.evidence import FIRST_ASKED, SERIES, Answer, Evidence, table
from isthmus.analysis.fits import NO_LAW, AlphaBeta, HalfBandwidth, alpha_beta, half_bandwidth
from isthmus.analysis.ratios import groups
from isthmus.units import format_rate, format_seconds, format_size

_FINE_STEP = 4
"""Sizes no further apart than this are near enough to interpolate between."""


def peaks(evidence: Evidence) -> Answer:
    """Highest bandwidth of each series, with the size it was reached at."""
    best = peak_rows(evidence)
    return Answer(
        "peaks",
        "What is the highest bandwidth, and at which size?",
        _highest(evidence, best) or ("no bandwidth was measured",),
        best,
    )


def peak_rows(evidence: Evidence) -> pd.DataFrame:
    """The row of each series that has the highest bandwidth."""
    rows = evidence.rows
    top = [group["bandwidth_Bps"].idxmax() for _, group in groups(rows, SERIES)]
    best = rows[rows.index.isin(top)]
    moved = best["bandwidth_Bps"] * best["median_s"]
    best = best.assign(
        low_bandwidth_Bps=moved / best["ci_high_s"],
        high_bandwidth_Bps=(moved / best["ci_low_s"]).where(best["ci_low_s"] > 0),
    )
    rate = ["bandwidth_Bps", "low_bandwidth_Bps", "high_bandwidth_Bps"]
    return best[[*SERIES, *rate, "bytes", "converged"]].reset_index(drop=True)


def _highest(evidence: Evidence, best: pd.DataFrame) -> tuple[str, ...]:
    unreal = [device.address for device in evidence.run.devices if not device.real]
    shown = best
    for preferred in (
        ~best["device"].isin(unreal) & (best["clock"] == "host"),
        ~best["device"].isin(evidence.copies),
        best["operation"].isin(FIRST_ASKED),
    ):
        chosen = shown[preferred.loc[shown.index]]
        shown = shown if chosen.empty else chosen
    clauses = []
    for (operation,), group in groups(shown, ["operation"]):
        top = group.iloc[int(group["bandwidth_Bps"].argmax())]
        clock = "" if top["clock"] == "host" else f", {top['clock']} clock"
        unsure = "" if top["converged"] else ", precision not reached"
        clauses.append(
            f"{operation} reaches {format_rate(top['bandwidth_Bps'])} "
            f"at {format_size(top['bytes'])} ({evidence.labels[top['device']]}{clock}{unsure})"
        )
    return wording.few(clauses)


def half(evidence: Evidence) -> Answer:
    """Size at which each series has half of its peak."""
    rows, clauses = [], []
    for key, group in groups(evidence.rows, SERIES):
        found = half_bandwidth(group["bytes"].tolist(), group["bandwidth_Bps"].tolist())
        if found is None:
            continue
        note = "still rising at the largest size" if found.still_rising else ""
        rows.append((*key, *found.size[:3], note))
        device, _, operation, memory, axes, _ = key
        if operation in FIRST_ASKED and evidence.speaks_of(device):
            clauses.append(
                f"{evidence.named(operation, memory, axes)} reaches half of its peak "
                f"{_where(found)} ({evidence.labels[device]})"
            )
    return Answer(
        "half",
        "At which size is half of the peak bandwidth reached (n1/2)?",
        wording.few(clauses) or ("no series of sizes shows where half of its peak is reached",),
        table(rows, *SERIES, "half_bytes", "low_half_bytes", "high_half_bytes", "note"),
    )


def _where(found: HalfBandwidth) -> str:
    size, low, high = map(wording.size, found.size[:3])
    if found.size.low == 0.0:
        return f"at {size} or below"
    if found.still_rising:
        return f"not before {size}: it still rises at the largest size"
    if found.size.high > _FINE_STEP * found.size.low:
        return f"between {low} and {high}"
    return f"at about {size}"


def _law(found: AlphaBeta, worst_bytes: float) -> str:
    off = wording.percent(abs(found.worst_residual))
    if abs(found.worst_residual) > NO_LAW:
        return f"no such law, the best is off by {off} at {wording.size(worst_bytes)}"
    rate = format_rate(found.beta.value) if np.isfinite(found.beta.value) else "no limit seen"
    return f"{format_seconds(found.alpha.value)} + bytes / {rate}, off by up to {off}"


def fits(evidence: Evidence) -> Answer:
    """Start-up time and rate of each series, and how far the law is off."""
    rows, clauses = [], []
    for key, group in groups(evidence.rows, SERIES):
        moved = (group["bandwidth_Bps"] * group["median_s"]).tolist()
        found = alpha_beta(moved, group["median_s"].tolist(), evidence.confidence)
        if found is None:
            continue
        size = group["bytes"].iloc[found.worst_at]
        ends = (*found.alpha[:3], *found.beta[:3])
        rows.append((*key, *ends, found.worst_residual, size, found.points))
        device, _, operation, memory, axes, _ = key
        if operation in FIRST_ASKED and evidence.speaks_of(device):
            named = evidence.named(operation, memory, axes)
            clauses.append(f"{named}: {_law(found, size)} ({evidence.labels[device]})")
    columns = ("alpha_s", "low_alpha_s", "high_alpha_s", "beta_Bps", "low_beta_Bps")
    more = ("high_beta_Bps", "worst_residual", "worst_bytes", "points")
    return Answer(
        "fits",
        "What are start-up time and rate (time = alpha + bytes / beta)?",
        wording.few(clauses) or ("too few sizes to fit: three are needed",),
        table(rows, *SERIES, *columns, *more),
    )
