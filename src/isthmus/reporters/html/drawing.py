"""Plots as Vega-Lite specifications: lines over size, dots with intervals, stacked phases.

Layout is computed in pixels here, so that no label covers another. Colours are those of ``LIGHT``;
a page replaces them by its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from isthmus.analysis.sentences import shortened
from isthmus.units import format_size

LIGHT = {
    "c1": "#0b65a3", "c2": "#b54708", "c3": "#1b7a48", "c4": "#7a3fb0", "c5": "#a81e5b",
    "c6": "#6b5a01", "c7": "#006f78", "c8": "#5d5148",
    "ink": "#1b1f24", "quiet": "#59626d", "line": "#dfe3e8", "ground": "#fffffe",
}  # fmt: skip
"""Colours by the name of the page's variable; all differ."""
COLOURS = [LIGHT[f"c{i}"] for i in range(1, 9)]
PUBLISHED = "published"
_CHARACTER = 7.6
_LINE = 14
"""Pixels that a label's character and line take, at most, in 11 pixel type."""
_LEFT = 54
_MOST_SIDE = 0.44
"""Share of a plot's width that labels may take."""
_TICK = 60
"""Pixels that a tick's label takes along an axis."""
_STEP, _BAR = 24, 34
"""Pixels of a row."""
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

_RATE = (
    "datum.value>=0.9995||datum.value==0?format(datum.value,'~g')"
    ":datum.value>=0.9995e-3?format(datum.value*1e3,'~g')+' MB/s'"
    ":datum.value>=0.9995e-6?format(datum.value*1e6,'~g')+' kB/s'"
    ":format(datum.value*1e9,'~g')+' B/s'"
)
_TIME = (
    "datum.value==0?'0':datum.value>=0.9995?format(datum.value,'~g')+' s'"
    ":datum.value>=0.9995e-3?format(datum.value*1e3,'~g')+' ms'"
    ":datum.value>=0.9995e-6?format(datum.value*1e6,'~g')+' us'"
    ":format(datum.value*1e9,'~g')+' ns'"
)
_SIZE = "+".join(
    f"(datum.value>={1 << low}&&datum.value<{1 << high}"
    f"?format(datum.value/{1 << low},'~g')+' {unit}':'')"
    for low, high, unit in (
        (0, 10, "B"), (10, 20, "KiB"), (20, 30, "MiB"), (30, 40, "GiB"), (40, 60, "TiB"),
    )
)  # fmt: skip

_Options = dict[str, Any]
_Scale = Callable[[float], float]
Chart = Any
"""Altair's, which comes without types."""


def size_text(size: float) -> str:
    """``4 KiB``."""
    text = format_size(int(size))
    number = text.rstrip("KMGTi")
    return f"{number} {text[len(number) :]}B"


class Line(NamedTuple):
    """One series over size; ``rows`` has ``x, y, low, high`` and ``tip``, the tooltip."""

    label: str
    colour: str
    rows: pd.DataFrame
    filled: bool = True
    """Whether marks are filled: for memory that the device accesses directly."""
    modelled: bool = False


class Panel(NamedTuple):
    """Lines that are compared; ``published`` has ``x, y, tip``, each limit a value and its name."""

    title: str
    lines: Sequence[Line]
    published: pd.DataFrame | None = None
    limits: Sequence[tuple[float, str]] = ()


class Dot(NamedTuple):
    """One value with its interval, in a row of its own."""

    label: str
    colour: str
    value: float
    low: float
    high: float
    text: str
    """Text next to the mark."""
    tip: str
    filled: bool = True
    published: float = math.nan
    """Published value of the same quantity; NaN: none."""


class Stack(NamedTuple):
    """Phases that follow one another: name, value, tip."""

    label: str
    colour: str
    parts: Sequence[tuple[str, float, str]]
    text: str


@dataclass(frozen=True, eq=False)
class Figure:
    """One plot, drawn by ``draw(panel, width, log)`` for each of its panels."""

    name: str
    """File name without its ending."""
    title: str
    """Statement that the plot shows."""
    panels: int
    draw: Callable[[int, int, bool], dict[str, Any]]
    frame: pd.DataFrame
    """The plotted values as a table."""
    log: bool = True
    """Whether both axes can be logarithmic; they then are by default."""
    note: str = ""
    unit: str = field(default="")


def _ends(
    values: Sequence[float], *, log: bool, zero: bool = True
) -> tuple[list[float], list[float]]:
    """Domain and ticks of values > 0; one that is linear begins at 0 unless it need not."""
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


def _scale(domain: list[float], *, log: bool) -> alt.Scale:
    if log:
        return alt.Scale(type="log", domain=domain, nice=False)
    return alt.Scale(type="linear", domain=domain, nice=False, zero=False)


def _fitting(ticks: list[float], width: float) -> list[float]:
    return ticks[:: math.ceil(_TICK * len(ticks) / width)]


def _place(value: float, domain: Sequence[float], length: float, *, log: bool) -> float:
    """Distance in pixels of a value from the start of a scale."""
    if log:
        value, low, high = math.log(value), math.log(domain[0]), math.log(domain[1])
    else:
        low, high = domain
    return length * (value - low) / (high - low)


def _value(place: float, domain: Sequence[float], length: float, *, log: bool) -> float:
    """Value at a distance in pixels from the start of a scale."""
    low, high = (math.log(end) for end in domain) if log else domain
    value = low + (high - low) * place / length
    return math.exp(value) if log else value


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places moved apart to at least ``gap``, in their order, between the ends if they fit."""
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


_AS_GIVEN: _Options = {"scale": None, "legend": None}
_COLOUR = alt.Color("colour:N", **_AS_GIVEN)
_FILL = alt.Fill("fill:N", **_AS_GIVEN)


def _writing(rows: pd.DataFrame, **options: Any) -> Chart:
    """A layer of texts, not yet placed, in the colours of a column ``colour``."""
    chart = alt.Chart(rows).mark_text(baseline="middle", aria=False, **options)
    return chart.encode(text="label:N", color=_COLOUR)


def _spec(
    layers: Sequence[Chart],
    width: float,
    height: float,
    sides: tuple[float, float],
    title: str = "",
) -> dict[str, Any]:
    """``width`` is that of the whole plot; ``sides`` is what stands left and right of the axes."""
    left, right = sides
    titled = {"title": title} if title else {}
    chart = alt.layer(*layers).properties(width=width - left - right, height=height, **titled)
    spec: dict[str, Any] = chart.to_dict(validate=False)
    del spec["config"]  # Altair's own theme
    below = 34 if title else 20
    # Renderers differ in the width of text: a fit to one of them would cut labels in another.
    spec["autosize"] = {"type": "none"}
    spec["padding"] = {"left": left, "right": right, "top": 30 if title else 4, "bottom": below}
    return spec


def _room(labels: Sequence[str], width: int) -> tuple[float, int]:
    """Pixels beside the axes for labels, and how many characters of each fit there."""
    longest = max((len(label) for label in labels), default=0)
    side = min(18 + _CHARACTER * longest, _MOST_SIDE * width)
    return side, int((side - 18) / _CHARACTER + 1e-6)


def lines(
    panels: Sequence[Panel], unit: str, of_what: str
) -> Callable[[int, int, bool], dict[str, Any]]:
    """Draws panels on the same axes; ``unit`` is ``GB/s`` or ``s``, of ``y`` as given."""
    drawn = [line.rows for panel in panels for line in panel.lines]
    drawn += [panel.published for panel in panels if panel.published is not None]
    xs = [x for rows in drawn for x in rows["x"]]
    ys = [y for rows in drawn for y in rows["y"]]
    ys += [value for panel in panels for value, _ in panel.limits]
    labels = [line.label for panel in panels for line in panel.lines]
    labels += [PUBLISHED for panel in panels if panel.published is not None]

    def draw(which: int, width: int, log: bool) -> dict[str, Any]:
        right, most = _room(labels, width)
        inner, height = width - _LEFT - right, max(190, min(290, round(width * 0.42)))
        domain, ticks = _ends(ys, log=log)
        x = alt.X(
            "x:Q",
            title=of_what,
            scale=alt.Scale(type="log", base=2, domain=[min(xs), max(xs)], nice=False),
            axis=alt.Axis(values=_size_ticks(xs, inner), labelExpr=_SIZE),
        )
        y: _Options = {
            "title": None,
            "scale": _scale(domain, log=log),
            "axis": alt.Axis(values=ticks, labelExpr=_RATE if unit == "GB/s" else _TIME),
        }

        def down(value: float) -> float:
            return height - _place(value, domain, height, log=log)

        def up(place: float) -> float:
            return _value(height - place, domain, height, log=log)

        panel = panels[which]
        layers = [
            *_drawn(panel, x, y),
            *_published(panel, x, y),
            *_limits(panel, down, up, height, y),
            *_labels(panel, down, up, (inner, height), most, x, y),
        ]
        title = f"{panel.title}, {unit}" if unit == "GB/s" else panel.title
        return _spec(layers, width, height, (_LEFT, right), title)

    return draw


def _size_ticks(sizes: Sequence[float], width: float) -> list[float]:
    low, high = math.ceil(math.log2(min(sizes))), math.floor(math.log2(max(sizes)))
    step = next(s for s in (1, 2, 5, 10, 20, 40) if (high - low) / s <= max(2, width / _TICK))
    return [2.0**power for power in range(low, high + 1) if (power - low) % step == 0]


def _limits(panel: Panel, down: _Scale, up: _Scale, height: float, y: _Options) -> Iterator[Chart]:
    if panel.limits:
        above = [down(value) - 8 for value, _ in panel.limits]
        rows = pd.DataFrame(panel.limits, columns=["y", "label"]).assign(
            at=[up(place) for place in spread(above, _LINE, -4, height)], colour=LIGHT["ink"]
        )
        rule = alt.Chart(rows).mark_rule(color=LIGHT["ink"], strokeDash=[1, 3], aria=False)
        yield rule.encode(y=alt.Y("y:Q", **y))
        for halo in ({"stroke": LIGHT["ground"], "strokeWidth": 4}, {}):  # lines pass behind it
            text = _writing(rows, align="left", **halo)
            yield text.encode(x=alt.value(4), y=alt.Y("at:Q", **y))


def _drawn(panel: Panel, x: alt.X, y: _Options) -> Iterator[Chart]:
    rows = pd.concat(
        [
            line.rows.assign(
                colour=line.colour, line=i, modelled=line.modelled,
                fill=line.colour if line.filled else LIGHT["ground"],
            )
            for i, line in enumerate(panel.lines)
        ],
        ignore_index=True,
    )  # fmt: skip
    look = {"color": _COLOUR, "detail": "line:N"}
    uncertain = rows[(rows["high"] > rows["low"] * 1.02)]["line"].unique()
    if len(uncertain):
        yield (
            alt.Chart(rows[rows["line"].isin(uncertain)])
            .mark_area(opacity=0.18, aria=False)
            .encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q", **look)
        )
    for modelled, part in rows.groupby("modelled"):
        dash: _Options = {"strokeDash": [6, 3]} if modelled else {}
        line = alt.Chart(part).mark_line(strokeWidth=1.8, aria=False, **dash)
        yield line.encode(x=x, y=alt.Y("y:Q", **y), **look)
    marks = alt.Chart(rows).mark_circle(size=22, strokeWidth=1.3, opacity=1)
    stroke = alt.Stroke("colour:N", **_AS_GIVEN)
    yield marks.encode(x=x, y=alt.Y("y:Q", **y), stroke=stroke, fill=_FILL, description="tip:N")


def _published(panel: Panel, x: alt.X, y: _Options) -> Iterator[Chart]:
    if panel.published is not None:
        yield (
            alt.Chart(panel.published)
            .mark_point(shape="diamond", size=46, color=LIGHT["ink"], filled=False, opacity=1)
            .encode(x=x, y=alt.Y("y:Q", **y), description="tip:N")
        )


def _labels(
    panel: Panel,
    down: _Scale,
    up: _Scale,
    size: tuple[float, float],
    most: int,
    x: alt.X,
    y: _Options,
) -> Iterator[Chart]:
    """Names at the lines' ends, moved apart, each with a thin leader."""
    width, height = size
    rows = pd.DataFrame(
        [
            {
                "label": shortened(line.label, most),
                "colour": line.colour,
                **line.rows.iloc[-1][["x", "y"]],
            }
            for line in panel.lines
        ]
    )
    if panel.published is not None:
        last = panel.published.iloc[-1][["x", "y"]]
        rows.loc[len(rows)] = {"label": PUBLISHED, "colour": LIGHT["ink"], **last}
    rows["at"] = [up(at) for at in spread([down(v) for v in rows["y"]], _LINE, 0, height)]
    leader = alt.Chart(rows).mark_rule(strokeWidth=0.6, opacity=0.7, aria=False)
    yield leader.encode(x=x, x2=alt.value(width + 9), y=alt.Y("y:Q", **y), y2="at:Q", color=_COLOUR)
    named = _writing(rows, align="left", fontWeight=600)
    yield named.encode(x=alt.value(width + 11), y=alt.Y("at:Q", **y))


def dots(rows: Sequence[Dot]) -> Callable[[int, int, bool], dict[str, Any]]:
    """Draws one row a value, in seconds, with its interval."""
    values = [v for dot in rows for v in (dot.value, dot.low, dot.high, dot.published) if v > 0]
    frame = pd.DataFrame(rows).assign(
        row=[i + 0.5 for i in range(len(rows))],
        fill=[dot.colour if dot.filled else LIGHT["ground"] for dot in rows],
    )

    def draw(_which: int, width: int, log: bool) -> dict[str, Any]:
        left, most = _room([dot.label for dot in rows], width)
        right, _ = _room([dot.text for dot in rows], width)
        inner, height = width - left - right, _STEP * len(rows)
        names = [shortened(dot.label, most) for dot in rows]
        domain, ticks = _ends(values, log=log, zero=False)
        x: _Options = {
            "title": None,
            "scale": _scale(domain, log=log),
            "axis": alt.Axis(values=_fitting(ticks, inner), labelExpr=_TIME, grid=True),
        }
        y, at = _rows(len(rows)), alt.Chart(frame)
        stroke = alt.Stroke("colour:N", **_AS_GIVEN)
        layers = [
            at.mark_rule(strokeWidth=2, aria=False).encode(
                x=alt.X("low:Q", **x), x2="high:Q", y=y, color=_COLOUR
            ),
            at.mark_circle(size=60, strokeWidth=1.6, opacity=1).encode(
                x=alt.X("value:Q", **x), y=y, stroke=stroke, fill=_FILL, description="tip:N"
            ),
            alt.Chart(frame.dropna(subset=["published"]))
            .mark_point(shape="diamond", size=46, color=LIGHT["ink"], filled=False, opacity=1)
            .encode(x=alt.X("published:Q", **x), y=y, description="tip:N"),
            _writing(frame.assign(colour=LIGHT["ink"], label=names), align="right").encode(
                x=alt.value(-8), y=y
            ),
            _writing(frame.assign(colour=LIGHT["quiet"], label=frame["text"]), align="left").encode(
                x=alt.value(inner + 10), y=y
            ),
        ]
        return _spec(layers, width, height, (left, right))

    return draw


def _rows(count: int, field: str = "row") -> alt.Y:
    """Rows from the top, by number."""
    return alt.Y(f"{field}:Q", axis=None, scale=alt.Scale(domain=[count, 0], nice=False))


_TINTS = (0.55, 0.2, 0.4, 0.12)


def stacks(rows: Sequence[Stack]) -> Callable[[int, int, bool], dict[str, Any]]:
    """Draws one bar a row, in seconds; a phase's name stands in it where there is room."""
    longest = max(sum(value for _, value, _ in row.parts) for row in rows)
    names = list(dict.fromkeys(name for row in rows for name, _, _ in row.parts))
    parts = pd.DataFrame(_parts(rows, names))
    whole = pd.DataFrame(
        [
            {"label": row.label, "text": row.text, "row": i + 0.5, "colour": LIGHT["ink"],
             "end": sum(value for _, value, _ in row.parts)}
            for i, row in enumerate(rows)
        ]
    )  # fmt: skip

    def draw(_which: int, width: int, _log: bool) -> dict[str, Any]:
        left, most = _room([row.label for row in rows], width)
        right, _ = _room([row.text for row in rows], width)
        inner = width - left - right
        titles = [shortened(row.label, most) for row in rows]
        ticks = [tick for tick in _ends([longest], log=False)[1] if tick <= longest * 1.001]
        x: _Options = {
            "title": None,
            "scale": alt.Scale(domain=[0, longest], nice=False),
            "axis": alt.Axis(values=_fitting(ticks, inner), labelExpr=_TIME),
        }
        y = _rows(len(rows))
        room = inner * (parts["end"] - parts["start"]) / longest
        named = parts[room > _CHARACTER * parts["label"].str.len() + 6]
        layers = [
            alt.Chart(parts)
            .mark_rect(stroke=LIGHT["ground"], strokeWidth=1)
            .encode(
                x=alt.X("start:Q", **x), x2="end:Q",
                y=_rows(len(rows), "top"), y2="bottom:Q", color=_COLOUR,
                fillOpacity=alt.FillOpacity("tint:Q", **_AS_GIVEN), description="tip:N",
            ),
            _writing(named.assign(colour=LIGHT["ink"])).encode(x=alt.X("middle:Q", **x), y=y),
            _writing(whole.assign(label=titles), align="right").encode(x=alt.value(-8), y=y),
            _writing(whole.assign(label=whole["text"]), align="left", dx=6, fontWeight=600).encode(
                x=alt.X("end:Q", **x), y=y
            ),
        ]  # fmt: skip
        return _spec(layers, width, _BAR * len(rows), (left, right))

    return draw


def _parts(rows: Sequence[Stack], names: Sequence[str]) -> Iterator[dict[str, object]]:
    for i, row in enumerate(rows):
        start = 0.0
        for name, value, tip in row.parts:
            yield {
                "label": name, "tip": tip, "colour": row.colour, "row": i + 0.5,
                "tint": _TINTS[names.index(name) % len(_TINTS)],
                "top": i + 0.12, "bottom": i + 0.88,
                "start": start, "end": start + value, "middle": start + value / 2,
            }  # fmt: skip
            start += value
