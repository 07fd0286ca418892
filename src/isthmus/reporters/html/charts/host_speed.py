"""Plots the host's own speed over the time of a run, from readings of its references."""

from __future__ import annotations

import numpy as np
import pandas as pd

from isthmus.reporters.html.charts.series import Source
from isthmus.reporters.html.drawing import Figure, Line, over_time
from isthmus.reporters.html.layout import COLOURS
from isthmus.units import format_seconds

_NAMES = {
    "system_call_s": "system call",
    "copy_s": "copy of 4 MiB",
    "arithmetic_s": "arithmetic",
}
_MOST_MARKS = 60
"""Most marks of a series; each is the median of the readings in its part of the run."""


def figure(name: str, source: Source) -> Figure | None:
    """The plot of a run's readings; None if there are fewer than two."""
    readings = pd.DataFrame(
        [(reading.at_s, reading.system_call_s, reading.copy_s, reading.arithmetic_s)
         for reading in source.run.host_readings],
        columns=["x", *_NAMES],
    )  # fmt: skip
    if readings["x"].nunique() < 2 or not (readings[list(_NAMES)] > 0).all(axis=None):
        return None
    edges = np.linspace(readings["x"].min(), readings["x"].max(), _MOST_MARKS + 1)
    part = np.digitize(readings["x"], edges[1:-1])
    marks = readings.groupby(part).median()
    drawn = [
        Line(label, colour, _relative(marks, column, float(readings[column].median()), label))
        for (column, label), colour in zip(_NAMES.items(), COLOURS, strict=False)
    ]
    spans = (
        f"{label} {format_seconds(low)} to {format_seconds(high)}"
        for column, label in _NAMES.items()
        for low, high in [readings[column].quantile([0.1, 0.9])]
    )
    return Figure(
        name,
        f"The host during the run: {', '.join(spans)}",
        1,
        over_time(drawn, "time of one operation, of its median in the run"),
        readings.rename(columns={"x": "at_s"}),
        note=f"{len(readings)} readings; the title has the 10th and the 90th percentile of each. "
        "More than 100 %: the host is slower than usual.",
    )


def _relative(marks: pd.DataFrame, column: str, median: float, label: str) -> pd.DataFrame:
    """Returns the marks of a series as ratios to its median, with texts for tooltips."""
    tips = [
        f"{label}, {at_s:.1f} s: {format_seconds(seconds)}"
        for at_s, seconds in zip(marks["x"], marks[column], strict=True)
    ]
    return pd.DataFrame({"x": marks["x"], "y": marks[column] / median, "tip": tips})
