"""Questions about a single series: its peak, the size of half its peak, and its curve."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isthmus.analysis.context import SERIES, AnalysisContext, Answer
from isthmus.analysis.fits import Curve, half_bandwidth
from isthmus.analysis.predicted import curve_of
from isthmus.analysis.ratios import groups
from isthmus.frames import Frame


def peaks(context: AnalysisContext) -> Answer:
    """Highest bandwidth of each series, with the size it was reached at."""
    return Answer(
        "peaks",
        "What is the highest bandwidth, and at which size?",
        peak_rows(context),
    )


def peak_rows(context: AnalysisContext) -> Frame:
    """The row of each series that has the highest bandwidth."""
    rows = context.rows
    top = [group["bandwidth_Bps"].idxmax() for _, group in groups(rows, SERIES)]
    best = rows.take(np.isin(rows.index, top))
    moved = best["bandwidth_Bps"] * best["median_s"]
    best = best.assign(
        low_bandwidth_Bps=moved / best["ci_high_s"],
        high_bandwidth_Bps=(moved / best["ci_low_s"]).where(best["ci_low_s"] > 0),
    )
    rate = ["bandwidth_Bps", "low_bandwidth_Bps", "high_bandwidth_Bps"]
    return best[[*SERIES, *rate, "bytes", "converged"]].renumbered()


def half(context: AnalysisContext) -> Answer:
    """Size at which each series has half of its peak."""
    rows = []
    for key, group in groups(context.rows, SERIES):
        half_size = half_bandwidth(group["bytes"].tolist(), group["bandwidth_Bps"].tolist())
        if half_size is None:
            continue
        note = "still rising at the largest size" if half_size.still_rising else ""
        rows.append((*key, *half_size.size[:3], note))
    return Answer.of(
        "half", "At which size is half of the peak bandwidth reached (n1/2)?", rows,
        *SERIES, "half_bytes low_half_bytes high_half_bytes note",
    )  # fmt: skip


def curves(context: AnalysisContext) -> Iterator[tuple[tuple[str, ...], Frame, Curve]]:
    """Each series with its key (``SERIES``), its rows and the curve through them."""
    for key, group in groups(context.rows, SERIES):
        fitted = curve_of(group, context.confidence)
        if fitted is not None:
            yield key, group, fitted


def fits(context: AnalysisContext) -> Answer:
    """Start-up time and rate of each series, a row for each way of the runtime, and their errors.

    ``from`` and ``to`` are bytes moved by one operation; ``rms_residual`` is of the whole curve,
    which describes its series where ``note`` is empty.
    """
    rows = []
    for key, group, fitted in curves(context):
        note = "" if fitted.fits else "no curve fits"
        for line in fitted.lines:
            size = group["bytes"].iloc[line.worst_at]
            ends = (line.smallest, line.largest, *line.alpha[:3], *line.beta[:3])
            rows.append((*key, *ends, line.worst_residual, size, line.points, fitted.rms, note))
    return Answer.of(
        "fits", "What are start-up time and rate (time = alpha + bytes / beta)?", rows,
        *SERIES, "from_bytes to_bytes alpha_s low_alpha_s high_alpha_s",
        "beta_Bps low_beta_Bps high_beta_Bps worst_residual worst_bytes points rms_residual note",
    )  # fmt: skip
