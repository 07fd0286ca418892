"""Makes Vega-Lite specifications of plots: lines over size, dots with intervals, stacked phases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pandas as pd

from isthmus.reporters.html.layout import (
    AS_GIVEN,
    CHARACTER,
    COLOUR,
    FILL,
    LEFT,
    LIGHT,
    LINE,
    PERCENT,
    PLAIN,
    RATE,
    SIZE,
    TICK,
    TIME,
    TIP,
    Options,
    ends_of,
    fitting,
    layer,
    named,
    place,
    quantity,
    room_for,
    scale,
    specification,
    spread,
    value_at,
    writing,
)
from isthmus.text import cut_middle

PUBLISHED = "published"
_STEP, _BAR = 24, 34
"""Height in pixels of a row of dots, and of a row of bars."""
_OVER_TIME = 150
"""Height in pixels of a plot over time."""
_Scale = Callable[[float], float]
Draw = Callable[[int, int], dict[str, Any]]


CURVE = ("model", "model_low", "model_high")
"""Columns of a line's rows with the prediction of its curve and both ends; NaN without a curve."""


class Line(NamedTuple):
    """A series over size; ``rows`` has the columns ``x, y, low, high``, ``CURVE``, and ``tip``."""

    label: str
    colour: str
    rows: pd.DataFrame
    filled: bool = True
    """Whether marks are filled, which stands for memory that the device accesses directly."""
    modelled: bool = False


class Panel(NamedTuple):
    """Lines on the same axes; ``published`` has ``x, y, tip``, a limit has a value and a name."""

    title: str
    lines: Sequence[Line]
    published: pd.DataFrame | None = None
    limits: Sequence[tuple[float, str]] = ()


class Dot(NamedTuple):
    """A value with its interval, drawn in a row of its own."""

    label: str
    colour: str
    value: float
    low: float
    high: float
    text: str
    """Text next to the mark of the value."""
    tip: str
    filled: bool = True
    published: float = math.nan
    """Published value of the same quantity; NaN without one."""


class Stack(NamedTuple):
    """Phases in one bar, one after the other, each with name, value and tooltip."""

    label: str
    colour: str
    parts: Sequence[tuple[str, float, str]]
    text: str


@dataclass(frozen=True, eq=False)
class Figure:
    """One plot, drawn by ``draw(panel, width)`` for each of its panels."""

    name: str
    """File name without its ending."""
    title: str
    """Statement that the plot supports, as its title."""
    panels: int
    draw: Draw
    frame: pd.DataFrame
    """Table of the plotted values."""
    note: str = ""
    unit: str = field(default="")


def lines(panels: Sequence[Panel], unit: str, of_what: str) -> Draw:
    """Draws panels on common axes; ``unit`` is ``GB/s`` or ``s``, the unit of ``y``."""
    drawn = [line.rows for panel in panels for line in panel.lines]
    drawn += [panel.published for panel in panels if panel.published is not None]
    xs = [x for rows in drawn for x in rows["x"]]
    ys = [y for rows in drawn for y in rows["y"]]
    ys += [value for panel in panels for value, _ in panel.limits]
    labels = [line.label for panel in panels for line in panel.lines]
    labels += [PUBLISHED for panel in panels if panel.published is not None]

    def draw(which: int, width: int) -> dict[str, Any]:
        right, most = room_for(labels, width)
        inner, height = width - LEFT - right, max(190, min(290, round(width * 0.42)))
        domain, ticks = ends_of(ys, log=True)
        x = quantity(
            "x",
            title=of_what,
            scale={"type": "log", "base": 2, "domain": [min(xs), max(xs)], "nice": False},
            axis={"values": _size_ticks(xs, inner), "labelExpr": SIZE},
        )
        y: Options = {
            "title": None,
            "scale": scale(domain, log=True),
            "axis": {"values": ticks, "labelExpr": RATE if unit == "GB/s" else TIME},
        }

        def down(value: float) -> float:
            return height - place(value, domain, height, log=True)

        def up(place: float) -> float:
            return value_at(height - place, domain, height, log=True)

        panel = panels[which]
        layers = [
            *_drawn(panel, x, y, domain),
            *_published(panel, x, y),
            *_limits(panel, down, up, height, y),
            *_labels(panel, down, up, (inner, height), most, x, y),
        ]
        title = f"{panel.title}, {unit}" if unit == "GB/s" else panel.title
        return specification(layers, width, height, (LEFT, right), title)

    return draw


def over_time(series: Sequence[Line], title: str) -> Draw:
    """Draws series over the seconds of a run; ``y`` is a ratio, shown in percent."""
    xs = [x for line in series for x in line.rows["x"]]
    ys = [y for line in series for y in line.rows["y"]]

    def draw(_which: int, width: int) -> dict[str, Any]:
        right, most = room_for([line.label for line in series], width)
        inner, height = width - LEFT - right, _OVER_TIME
        domain, ticks = ends_of(ys, log=False, zero=False)
        span, seconds = ends_of(xs, log=False, zero=False)
        x = quantity(
            "x",
            title="seconds from the start of the run",
            scale=scale(span, log=False),
            axis={"values": fitting(seconds, inner), "labelExpr": PLAIN},
        )
        y: Options = {
            "title": None,
            "scale": scale(domain, log=False),
            "axis": {"values": ticks, "labelExpr": PERCENT},
        }

        def down(value: float) -> float:
            return height - place(value, domain, height, log=False)

        def up(place: float) -> float:
            return value_at(height - place, domain, height, log=False)

        rows = pd.concat(
            [line.rows.assign(colour=line.colour, line=i) for i, line in enumerate(series)],
            ignore_index=True,
        )
        at = {"x": x, "y": quantity("y", **y), "color": COLOUR}
        layers = [
            layer(rows, "line", {**at, "detail": named("line")}, strokeWidth=1.4, aria=False),
            layer(rows, "circle", {**at, "description": TIP}, size=14, opacity=1),
            *_labels(Panel("", series), down, up, (inner, height), most, x, y),
        ]
        return specification(layers, width, height, (LEFT, right), title)

    return draw


def _size_ticks(sizes: Sequence[float], width: float) -> list[float]:
    low, high = math.ceil(math.log2(min(sizes))), math.floor(math.log2(max(sizes)))
    step = next(s for s in (1, 2, 5, 10, 20, 40) if (high - low) / s <= max(2, width / TICK))
    return [2.0**power for power in range(low, high + 1) if (power - low) % step == 0]


def _limits(panel: Panel, down: _Scale, up: _Scale, height: float, y: Options) -> Iterator[Options]:
    if panel.limits:
        above = [down(value) - 8 for value, _ in panel.limits]
        rows = pd.DataFrame(panel.limits, columns=["y", "label"]).assign(
            at=[up(place) for place in spread(above, LINE, -4, height)], colour=LIGHT["ink"]
        )
        at = {"y": quantity("y", **y)}
        yield layer(rows, "rule", at, color=LIGHT["ink"], strokeDash=[1, 3], aria=False)
        # a halo separates the name from lines below it
        for halo in ({"stroke": LIGHT["ground"], "strokeWidth": 4}, {}):
            yield writing(rows, {"x": {"value": 4}, "y": quantity("at", **y)}, align="left", **halo)


def _drawn(panel: Panel, x: Options, y: Options, domain: Sequence[float]) -> Iterator[Options]:
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
    for name, measured in zip(CURVE, ("y", "low", "high"), strict=True):
        rows[name] = rows[name].fillna(rows[measured]).clip(*domain)
    of_line = {"x": x, "color": COLOUR, "detail": named("line")}
    uncertain = rows[(rows["model_high"] > rows["model_low"] * 1.02)]["line"].unique()
    if len(uncertain):
        part = rows[rows["line"].isin(uncertain)]
        band = {"y": quantity("model_low", **y), "y2": {"field": "model_high"}}
        yield layer(part, "area", {**of_line, **band}, opacity=0.18, aria=False)
    for modelled, part in rows.groupby("modelled"):
        dash: Options = {"strokeDash": [6, 3]} if modelled else {}
        curve = {**of_line, "y": quantity("model", **y)}
        yield layer(part, "line", curve, strokeWidth=1.8, aria=False, **dash)
    marks = {"x": x, "y": quantity("y", **y), "stroke": COLOUR, "fill": FILL, "description": TIP}
    yield layer(rows, "circle", marks, size=22, strokeWidth=1.3, opacity=1)


def _diamonds(rows: pd.DataFrame, places: Options) -> Options:
    look = {"shape": "diamond", "size": 46, "color": LIGHT["ink"], "filled": False, "opacity": 1}
    return layer(rows, "point", {**places, "description": TIP}, **look)


def _published(panel: Panel, x: Options, y: Options) -> Iterator[Options]:
    if panel.published is not None:
        yield _diamonds(panel.published, {"x": x, "y": quantity("y", **y)})


def _labels(
    panel: Panel,
    down: _Scale,
    up: _Scale,
    size: tuple[float, float],
    most: int,
    x: Options,
    y: Options,
) -> Iterator[Options]:
    """Yields names at the lines' ends, moved apart; a thin line joins each name to its end."""
    width, height = size
    rows = pd.DataFrame(
        [
            {
                "label": cut_middle(line.label, most),
                "colour": line.colour,
                **line.rows.iloc[-1][["x", "y"]],
            }
            for line in panel.lines
        ]
    )
    if panel.published is not None:
        last = panel.published.iloc[-1][["x", "y"]]
        rows.loc[len(rows)] = {"label": PUBLISHED, "colour": LIGHT["ink"], **last}
    rows["at"] = [up(at) for at in spread([down(v) for v in rows["y"]], LINE, 0, height)]
    leader = {
        "x": x, "x2": {"value": width + 9},
        "y": quantity("y", **y), "y2": {"field": "at"}, "color": COLOUR,
    }  # fmt: skip
    yield layer(rows, "rule", leader, strokeWidth=0.6, opacity=0.7, aria=False)
    beside = {"x": {"value": width + 11}, "y": quantity("at", **y)}
    yield writing(rows, beside, align="left", fontWeight=600)


def dots(rows: Sequence[Dot], *, log: bool) -> Draw:
    """Draws each value, in seconds, with its interval in a row; ``log``: on a logarithmic axis."""
    values = [v for dot in rows for v in (dot.value, dot.low, dot.high, dot.published) if v > 0]
    frame = pd.DataFrame(rows).assign(
        row=[i + 0.5 for i in range(len(rows))],
        fill=[dot.colour if dot.filled else LIGHT["ground"] for dot in rows],
    )

    def draw(_which: int, width: int) -> dict[str, Any]:
        left, most = room_for([dot.label for dot in rows], width)
        right, _ = room_for([dot.text for dot in rows], width)
        inner, height = width - left - right, _STEP * len(rows)
        names = [cut_middle(dot.label, most) for dot in rows]
        domain, ticks = ends_of(values, log=log, zero=False)
        x: Options = {
            "title": None,
            "scale": scale(domain, log=log),
            "axis": {"values": fitting(ticks, inner), "labelExpr": TIME, "grid": True},
        }
        y = _rows(len(rows))
        span = {"x": quantity("low", **x), "x2": {"field": "high"}, "y": y, "color": COLOUR}
        marks = {
            "x": quantity("value", **x), "y": y, "stroke": COLOUR, "fill": FILL, "description": TIP,
        }  # fmt: skip
        published = frame.dropna(subset=["published"])
        titles = frame.assign(colour=LIGHT["ink"], label=names)
        figures = frame.assign(colour=LIGHT["quiet"], label=frame["text"])
        layers = [
            layer(frame, "rule", span, strokeWidth=2, aria=False),
            layer(frame, "circle", marks, size=60, strokeWidth=1.6, opacity=1),
            _diamonds(published, {"x": quantity("published", **x), "y": y}),
            writing(titles, {"x": {"value": -8}, "y": y}, align="right"),
            writing(figures, {"x": {"value": inner + 10}, "y": y}, align="left"),
        ]
        return specification(layers, width, height, (left, right))

    return draw


def _rows(count: int, column: str = "row") -> Options:
    """A vertical channel that places rows by number, from the top."""
    return quantity(column, axis=None, scale={"domain": [count, 0], "nice": False})


_TINTS = (0.55, 0.2, 0.4, 0.12)


def stacks(rows: Sequence[Stack]) -> Draw:
    """Draws a bar for each row, in seconds; a phase has its name in the bar if there is room."""
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

    def draw(_which: int, width: int) -> dict[str, Any]:
        left, most = room_for([row.label for row in rows], width)
        right, _ = room_for([row.text for row in rows], width)
        inner = width - left - right
        titles = [cut_middle(row.label, most) for row in rows]
        ticks = [tick for tick in ends_of([longest], log=False)[1] if tick <= longest * 1.001]
        x: Options = {
            "title": None,
            "scale": {"domain": [0, longest], "nice": False},
            "axis": {"values": fitting(ticks, inner), "labelExpr": TIME},
        }
        y = _rows(len(rows))
        room = inner * (parts["end"] - parts["start"]) / longest
        roomy = parts[room > CHARACTER * parts["label"].str.len() + 6].assign(colour=LIGHT["ink"])
        bars = {
            "x": quantity("start", **x), "x2": {"field": "end"},
            "y": _rows(len(rows), "top"), "y2": {"field": "bottom"}, "color": COLOUR,
            "fillOpacity": quantity("tint", **AS_GIVEN), "description": TIP,
        }  # fmt: skip
        after = {"x": quantity("end", **x), "y": y}
        sums = whole.assign(label=whole["text"])
        layers = [
            layer(parts, "rect", bars, stroke=LIGHT["ground"], strokeWidth=1),
            writing(roomy, {"x": quantity("middle", **x), "y": y}),
            writing(whole.assign(label=titles), {"x": {"value": -8}, "y": y}, align="right"),
            writing(sums, after, align="left", dx=6, fontWeight=600),
        ]
        return specification(layers, width, _BAR * len(rows), (left, right))

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
