"""The time that each point's own series predicts for it: the curve of ``fits`` at its size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from isthmus.analysis.fits import Curve, curve
from isthmus.frames import Frame

COLUMNS = ("model_s", "model_low_s", "model_high_s")
"""Columns of the summary: the predicted time, and the interval that a measurement there is in."""
LEAST_SIZES = 6
"""Sizes of a series whose curve is told."""
_SERIES = ("study", "device", "api", "operation", "memory", "clock")


def curve_of(rows: Frame, confidence: float) -> Curve | None:
    """The curve through rows that differ in size only, over the bytes that they move."""
    moved = (rows["bandwidth_Bps"] * rows["median_s"]).round().tolist()
    return curve(moved, rows["median_s"].tolist(), confidence)


def complete(
    frame: Frame, usable: NDArray[np.bool_], axes: Sequence[str], confidence: float
) -> Frame:
    """The summary with its predicted times; empty where a series is short or no curve fits it.

    ``usable``: which rows count; the others get none. ``axes``: columns in which series differ,
    too.
    """
    columns = {name: np.full(len(frame), np.nan) for name in COLUMNS}
    places = np.flatnonzero(usable)
    for _, rows in frame.take(usable).assign(place=places).groupby([*_SERIES, *axes], dropna=False):
        if rows["bytes"].nunique() < LEAST_SIZES:
            continue
        fitted = curve_of(rows, confidence)
        if fitted is None or not fitted.fits:
            continue
        moved = (rows["bandwidth_Bps"] * rows["median_s"]).round()
        for place, size in zip(rows["place"], moved, strict=True):
            for name, value in zip(COLUMNS, fitted.predicted(size)[:3], strict=True):
                columns[name][place] = value
    return frame.assign(**columns)
