"""Plots as Vega-Lite specifications: lines over size, dots with intervals, stacked phases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import altair as alt
import pandas as pd

from isthmus.analysis.sentences import shortened
from isthmus.reporters.html.layout import (
    AS_GIVEN,
    CHARACTER,
    COLOUR,
    FILL,
    LEFT,
    LIGHT,
    LINE,
    RATE,
    SIZE,
    TICK,
    TIME,
    TIP,
    Chart,
    Options,
    ends_of,
    fitting,
    place,
    room_for,
    scale,
    specification,
    spread,
    value_at,
    writing,
)

PUBLISHED = "published"
_STEP, _BAR = 24, 34
"""Pixels of a row."""
_Scale = Callable[[float], float]


CURVE = ("model", "model_low", "model_high")
"""Columns of a line's rows: what the curve of its series predicts; NaN where there is none."""


class Line(NamedTuple):
    """One series over size; ``rows`` has ``x, y, low, high``, ``CURVE``, and ``tip``."""

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
        right, most = room_for(labels, width)
        inner, height = width - LEFT - right, max(190, min(290, round(width * 0.42)))
        domain, ticks = ends_of(ys, log=log)
        x = alt.X(
            "x:Q",
            title=of_what,
            scale=alt.Scale(type="log", base=2, domain=[min(xs), max(xs)], nice=False),
            axis=alt.Axis(values=_size_ticks(xs, inner), labelExpr=SIZE),
        )
        y: Options = {
            "title": None,
            "scale": scale(domain, log=log),
            "axis": alt.Axis(values=ticks, labelExpr=RATE if unit == "GB/s" else TIME),
        }

        def down(value: float) -> float:
            return height - place(value, domain, height, log=log)

        def up(place: float) -> float:
            return value_at(height - place, domain, height, log=log)

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


def _size_ticks(sizes: Sequence[float], width: float) -> list[float]:
    low, high = math.ceil(math.log2(min(sizes))), math.floor(math.log2(max(sizes)))
    step = next(s for s in (1, 2, 5, 10, 20, 40) if (high - low) / s <= max(2, width / TICK))
    return [2.0**power for power in range(low, high + 1) if (power - low) % step == 0]


def _limits(panel: Panel, down: _Scale, up: _Scale, height: float, y: Options) -> Iterator[Chart]:
    if panel.limits:
        above = [down(value) - 8 for value, _ in panel.limits]
        rows = pd.DataFrame(panel.limits, columns=["y", "label"]).assign(
            at=[up(place) for place in spread(above, LINE, -4, height)], colour=LIGHT["ink"]
        )
        rule = alt.Chart(rows).mark_rule(color=LIGHT["ink"], strokeDash=[1, 3], aria=False)
        yield rule.encode(y=alt.Y("y:Q", **y))
        for halo in ({"stroke": LIGHT["ground"], "strokeWidth": 4}, {}):  # lines pass behind it
            text = writing(rows, align="left", **halo)
            yield text.encode(x=alt.value(4), y=alt.Y("at:Q", **y))


def _drawn(panel: Panel, x: alt.X, y: Options, domain: Sequence[float]) -> Iterator[Chart]:
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
    look = {"color": COLOUR, "detail": alt.Detail("line:N")}
    uncertain = rows[(rows["model_high"] > rows["model_low"] * 1.02)]["line"].unique()
    if len(uncertain):
        yield (
            alt.Chart(rows[rows["line"].isin(uncertain)])
            .mark_area(opacity=0.18, aria=False)
            .encode(x=x, y=alt.Y("model_low:Q", **y), y2=alt.Y2("model_high:Q"), **look)
        )
    for modelled, part in rows.groupby("modelled"):
        dash: Options = {"strokeDash": [6, 3]} if modelled else {}
        line = alt.Chart(part).mark_line(strokeWidth=1.8, aria=False, **dash)
        yield line.encode(x=x, y=alt.Y("model:Q", **y), **look)
    marks = alt.Chart(rows).mark_circle(size=22, strokeWidth=1.3, opacity=1)
    stroke = alt.Stroke("colour:N", **AS_GIVEN)
    yield marks.encode(x=x, y=alt.Y("y:Q", **y), stroke=stroke, fill=FILL, description=TIP)


def _published(panel: Panel, x: alt.X, y: Options) -> Iterator[Chart]:
    if panel.published is not None:
        yield (
            alt.Chart(panel.published)
            .mark_point(shape="diamond", size=46, color=LIGHT["ink"], filled=False, opacity=1)
            .encode(x=x, y=alt.Y("y:Q", **y), description=TIP)
        )


def _labels(
    panel: Panel,
    down: _Scale,
    up: _Scale,
    size: tuple[float, float],
    most: int,
    x: alt.X,
    y: Options,
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
    rows["at"] = [up(at) for at in spread([down(v) for v in rows["y"]], LINE, 0, height)]
    leader = alt.Chart(rows).mark_rule(strokeWidth=0.6, opacity=0.7, aria=False)
    yield leader.encode(
        x=x, x2=alt.value(width + 9), y=alt.Y("y:Q", **y), y2=alt.Y2("at:Q"), color=COLOUR
    )
    named = writing(rows, align="left", fontWeight=600)
    yield named.encode(x=alt.value(width + 11), y=alt.Y("at:Q", **y))


def dots(rows: Sequence[Dot]) -> Callable[[int, int, bool], dict[str, Any]]:
    """Draws one row a value, in seconds, with its interval."""
    values = [v for dot in rows for v in (dot.value, dot.low, dot.high, dot.published) if v > 0]
    frame = pd.DataFrame(rows).assign(
        row=[i + 0.5 for i in range(len(rows))],
        fill=[dot.colour if dot.filled else LIGHT["ground"] for dot in rows],
    )

    def draw(_which: int, width: int, log: bool) -> dict[str, Any]:
        left, most = room_for([dot.label for dot in rows], width)
        right, _ = room_for([dot.text for dot in rows], width)
        inner, height = width - left - right, _STEP * len(rows)
        names = [shortened(dot.label, most) for dot in rows]
        domain, ticks = ends_of(values, log=log, zero=False)
        x: Options = {
            "title": None,
            "scale": scale(domain, log=log),
            "axis": alt.Axis(values=fitting(ticks, inner), labelExpr=TIME, grid=True),
        }
        y, at = _rows(len(rows)), alt.Chart(frame)
        stroke = alt.Stroke("colour:N", **AS_GIVEN)
        layers = [
            at.mark_rule(strokeWidth=2, aria=False).encode(
                x=alt.X("low:Q", **x), x2=alt.X2("high:Q"), y=y, color=COLOUR
            ),
            at.mark_circle(size=60, strokeWidth=1.6, opacity=1).encode(
                x=alt.X("value:Q", **x), y=y, stroke=stroke, fill=FILL, description=TIP
            ),
            alt.Chart(frame.dropna(subset=["published"]))
            .mark_point(shape="diamond", size=46, color=LIGHT["ink"], filled=False, opacity=1)
            .encode(x=alt.X("published:Q", **x), y=y, description=TIP),
            writing(frame.assign(colour=LIGHT["ink"], label=names), align="right").encode(
                x=alt.value(-8), y=y
            ),
            writing(frame.assign(colour=LIGHT["quiet"], label=frame["text"]), align="left").encode(
                x=alt.value(inner + 10), y=y
            ),
        ]
        return specification(layers, width, height, (left, right))

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
        left, most = room_for([row.label for row in rows], width)
        right, _ = room_for([row.text for row in rows], width)
        inner = width - left - right
        titles = [shortened(row.label, most) for row in rows]
        ticks = [tick for tick in ends_of([longest], log=False)[1] if tick <= longest * 1.001]
        x: Options = {
            "title": None,
            "scale": alt.Scale(domain=[0, longest], nice=False),
            "axis": alt.Axis(values=fitting(ticks, inner), labelExpr=TIME),
        }
        y = _rows(len(rows))
        room = inner * (parts["end"] - parts["start"]) / longest
        named = parts[room > CHARACTER * parts["label"].str.len() + 6]
        layers = [
            alt.Chart(parts)
            .mark_rect(stroke=LIGHT["ground"], strokeWidth=1)
            .encode(
                x=alt.X("start:Q", **x), x2=alt.X2("end:Q"),
                y=_rows(len(rows), "top"), y2=alt.Y2("bottom:Q"), color=COLOUR,
                fillOpacity=alt.FillOpacity("tint:Q", **AS_GIVEN), description=TIP,
            ),
            writing(named.assign(colour=LIGHT["ink"])).encode(x=alt.X("middle:Q", **x), y=y),
            writing(whole.assign(label=titles), align="right").encode(x=alt.value(-8), y=y),
            writing(whole.assign(label=whole["text"]), align="left", dx=6, fontWeight=600).encode(
                x=alt.X("end:Q", **x), y=y
            ),
        ]  # fmt: skip
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
