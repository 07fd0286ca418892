"""Places the parts of plots, so that no label covers another: colours, scales, ticks, margins.

Colours are those of ``LIGHT``; the page replaces them by the colours of its theme.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

LIGHT = {
    "c1": "#0b65a3", "c2": "#b54708", "c3": "#1b7a48", "c4": "#7a3fb0", "c5": "#a81e5b",
    "c6": "#6b5a01", "c7": "#006f78", "c8": "#5d5148",
    "ink": "#1b1f24", "quiet": "#59626d", "line": "#dfe3e8", "ground": "#fffffe",
}  # fmt: skip
"""Colours by name of the page's CSS variable; all colours differ."""
COLOURS = [LIGHT[f"c{i}"] for i in range(1, 9)]
CHARACTER = 7.6
LINE = 14
"""Most pixels of a label's line in 11 pixel type; ``CHARACTER``: those of a character's width."""
LEFT = 54
_MOST_SIDE = 0.44
"""Largest share of a plot's width that labels take."""
TICK = 60
"""Pixels that a tick's label takes along an axis."""
THEME: dict[str, object] = {
    "background": None,
    "font": "system-ui, sans-serif",
    "padding": 0,
    "axis": {
        "gridColor": LIGHT["line"], "domainColor": LIGHT["quiet"], "tickColor": LIGHT["quiet"],
        "labelColor": LIGHT["quiet"], "titleColor": LIGHT["quiet"], "titleFontWeight": "normal",
        "labelFontSize": 11, "titleFontSize": 11, "labelLimit": 200, "labelOverlap": "greedy",
    },
    "axisX": {"grid": False},
    "axisY": {"domain": False, "ticks": False},
    "title": {"color": LIGHT["ink"], "fontSize": 11, "fontWeight": 600, "anchor": "start"},
    "text": {"color": LIGHT["ink"], "fontSize": 11},
    "view": {"stroke": None},
}  # fmt: skip

RATE = (
    "datum.value>=0.9995||datum.value==0?format(datum.value,'~g')"
    ":datum.value>=0.9995e-3?format(datum.value*1e3,'~g')+' MB/s'"
    ":datum.value>=0.9995e-6?format(datum.value*1e6,'~g')+' kB/s'"
    ":format(datum.value*1e9,'~g')+' B/s'"
)
TIME = (
    "datum.value==0?'0':datum.value>=0.9995?format(datum.value,'~g')+' s'"
    ":datum.value>=0.9995e-3?format(datum.value*1e3,'~g')+' ms'"
    ":datum.value>=0.9995e-6?format(datum.value*1e6,'~g')+' us'"
    ":format(datum.value*1e9,'~g')+' ns'"
)
PLAIN = "format(datum.value,'~g')"
PERCENT = "format(100*datum.value,'~g')+' %'"
SIZE = "+".join(
    f"(datum.value>={1 << low}&&datum.value<{1 << high}"
    f"?format(datum.value/{1 << low},'~g')+' {unit}':'')"
    for low, high, unit in (
        (0, 10, "B"), (10, 20, "KiB"), (20, 30, "MiB"), (30, 40, "GiB"), (40, 60, "TiB"),
    )
)  # fmt: skip

Options = dict[str, Any]
"""A part of a Vega-Lite specification."""


def ends_of(
    values: Sequence[float], *, log: bool, zero: bool = True
) -> tuple[list[float], list[float]]:
    """Domain and ticks for values > 0; a linear domain begins at 0 unless ``zero`` is false."""
    low, high = min(values), max(values)
    if log:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        ends = [float(f"{step}e{power}") for power in range(first, last + 1) for step in (1, 2, 5)]
        start = max((end for end in ends if end <= low), default=ends[0])
        stop = min((end for end in ends if end >= high and end > start), default=10 * start)
        inside = [end for end in ends if start <= end <= stop]
        decades = [end for end in inside if math.log10(end) % 1 < 0.01]
        return [start, stop], decades[:: 1 + len(decades) // 8] if last - first > 2 else inside
    span = high if zero or low == high else high - low
    power = 10.0 ** math.floor(math.log10(span))
    step = next(s * power / 10 for s in (1, 2, 2.5, 5, 10, 20) if span <= 5 * s * power / 10)
    first = 0 if zero or low == high else math.floor(low / step)
    last = math.ceil(high / step - 1e-9)
    return [first * step, last * step], [i * step for i in range(first, last + 1)]


def scale(domain: list[float], *, log: bool) -> Options:
    """A scale of Vega-Lite whose ends are those of its domain."""
    if log:
        return {"type": "log", "domain": domain, "nice": False}
    return {"type": "linear", "domain": domain, "nice": False, "zero": False}


def fitting(ticks: list[float], width: float) -> list[float]:
    """Evenly spaced ticks, so few that their labels fit into ``width`` pixels."""
    return ticks[:: math.ceil(TICK * len(ticks) / width)]


def place(value: float, domain: Sequence[float], length: float, *, log: bool) -> float:
    """Distance in pixels of a value from the start of a scale."""
    if log:
        value, low, high = math.log(value), math.log(domain[0]), math.log(domain[1])
    else:
        low, high = domain
    return length * (value - low) / (high - low)


def value_at(place: float, domain: Sequence[float], length: float, *, log: bool) -> float:
    """Value at a distance in pixels from the start of a scale."""
    low, high = (math.log(end) for end in domain) if log else domain
    value = low + (high - low) * place / length
    return math.exp(value) if log else value


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Moves places apart to at least ``gap``, in their order; within the ends if there is room."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    edge = low
    for i in order:
        edge = moved[i] = max(places[i], edge)
        edge += gap
    edge = high
    for i in reversed(order):
        edge = moved[i] = min(moved[i], edge)
        edge -= gap
    return moved


def quantity(column: str, **options: Any) -> Options:
    """A channel of Vega-Lite that shows the numbers of a column."""
    return {"field": column, "type": "quantitative", **options}


def named(column: str, **options: Any) -> Options:
    """A channel of Vega-Lite that distinguishes the values of a column."""
    return {"field": column, "type": "nominal", **options}


AS_GIVEN: Options = {"scale": None, "legend": None}
COLOUR = named("colour", **AS_GIVEN)
FILL = named("fill", **AS_GIVEN)
TIP = named("tip")


def layer(rows: pd.DataFrame, mark: str, channels: Options, **look: Any) -> Options:
    """A layer with a mark for each row; ``specification`` converts the rows to types of JSON."""
    return {"data": rows, "mark": {"type": mark, **look}, "encoding": channels}


def writing(rows: pd.DataFrame, place: Options, **look: Any) -> Options:
    """A layer of texts, whose colours are in the column ``colour``."""
    channels = {"text": named("label"), "color": COLOUR, **place}
    return layer(rows, "text", channels, baseline="middle", aria=False, **look)


def specification(
    layers: Iterable[Options],
    width: float,
    height: float,
    sides: tuple[float, float],
    title: str = "",
) -> Options:
    """A specification of layers; ``width``, ``height`` and ``sides`` (left, right) are pixels."""
    left, right = sides
    tables: dict[str, pd.DataFrame] = {}  # layers may share a table

    def of_table(options: Options) -> Options:
        name = next((name for name, rows in tables.items() if rows is options["data"]), None)
        name = name or f"rows{len(tables)}"
        tables[name] = options["data"]
        return {**options, "data": {"name": name}}

    return {
        "layer": [of_table(each) for each in layers],
        "datasets": {name: _records(rows) for name, rows in tables.items()},
        "width": width - left - right,
        "height": height,
        **({"title": title} if title else {}),
        # Renderers differ in the width of text: automatic sizes would cut labels in some of them.
        "autosize": {"type": "none"},
        "padding": {
            "left": left, "right": right, "top": 30 if title else 4, "bottom": 34 if title else 20,
        },
    }  # fmt: skip


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as types of JSON, with null for NaN."""

    def finite(value: Any) -> Any:
        return value if not isinstance(value, float) or math.isfinite(value) else None

    records = rows.to_dict("records")
    return [{str(name): finite(value) for name, value in row.items()} for row in records]


def room_for(labels: Sequence[str], width: int) -> tuple[float, int]:
    """Pixels that labels take beside the axes, and the most characters of a label that fit."""
    longest = max((len(label) for label in labels), default=0)
    side = min(18 + CHARACTER * longest, _MOST_SIDE * width)
    return side, int((side - 18) / CHARACTER + 1e-6)
