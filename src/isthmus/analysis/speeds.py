"""Questions about a single series: its peak, the size of half its peak, and its curve."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from isthmus.analysis.context import SERIES, AnalysisContext, Rows, each, question, rate_of
from isthmus.analysis.fits import Curve, curve_of, half_bandwidth
from isthmus.analysis.ratios import groups
from isthmus.frames import Frame


@question(
    "peaks", "What is the highest bandwidth, and at which size?",
    *SERIES, "[bandwidth_Bps] bytes converged",
)  # fmt: skip
def peaks(context: AnalysisContext) -> Rows:
    """Highest bandwidth of each series, with the size it was reached at."""
    rows = context.rows
    top = [group["bandwidth_Bps"].idxmax() for _, group in groups(rows, SERIES)]
    for row in each(rows.take(np.isin(rows.index, top))):
        yield *(getattr(row, name) for name in SERIES), rate_of(row), row.bytes, row.converged


@question(
    "half", "At which size is half of the peak bandwidth reached (n1/2)?",
    *SERIES, "[half_bytes] note",
)  # fmt: skip
def half(context: AnalysisContext) -> Rows:
    """Size at which each series has half of its peak."""
    for key, group in groups(context.rows, SERIES):
        found = half_bandwidth(group["bytes"].tolist(), group["bandwidth_Bps"].tolist())
        if found is not None:
            note = "still rising at the largest size" if found.still_rising else ""
            yield *key, found.size, note


def curves(context: AnalysisContext) -> Iterator[tuple[tuple[str, ...], Frame, Curve]]:
    """Each series with its key (``SERIES``), its rows and the curve through them."""
    for key, group in groups(context.rows, SERIES):
        fitted = curve_of(group, context.confidence)
        if fitted is not None:
            yield key, group, fitted


@question(
    "fits", "What are start-up time and rate (time = alpha + bytes / beta)?",
    *SERIES, "from_bytes to_bytes [alpha_s] [beta_Bps] worst_residual worst_bytes points",
    "rms_residual note",
)  # fmt: skip
def fits(context: AnalysisContext) -> Rows:
    """Start-up time and rate of each series, a row for each way of the runtime, and their errors.

    ``from`` and ``to`` are bytes moved by one operation; ``rms_residual`` is of the whole curve,
    which describes its series where ``note`` is empty.
    """
    for key, group, fitted in curves(context):
        note = "" if fitted.fits else "no curve fits"
        for line in fitted.lines:
            worst = (line.worst_residual, group["bytes"].iloc[line.worst_at])
            ends = (line.smallest, line.largest, line.alpha, line.beta)
            yield *key, *ends, *worst, line.points, fitted.rms, note
