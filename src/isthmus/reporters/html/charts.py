"""Plots of a run as Vega-Lite specifications, free of any theme: page and files bring their own."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from isthmus import studies
from isthmus.analysis import wording
from isthmus.analysis.ratios import by_size, contenders, pairs, varying_axes, with_axes
from isthmus.analysis.summary import THROUGH_EMULATION, resolved
from isthmus.results.run_file import Run
from isthmus.studies.base import Published
from isthmus.units import format_rate, format_seconds

PALETTE = (
    "#2f6fdb", "#e0662b", "#12916a", "#a04bc8", "#c99700", "#d6447f", "#3f9fc0", "#8a7458",
)  # fmt: skip
"""Tells series apart on a light and on a dark ground."""
NEUTRAL = "#8a8a8a"
WIDTH, HEIGHT = 560, 280
_SHAPES = ["diamond", "triangle-up", "square"]
"""Of what others published."""

_SIZE_LABEL = "+".join(
    f"(datum.value>={1 << low}&&datum.value<{1 << high}"
    f"?format(datum.value/{1 << low},'~g')+'{unit}':'')"
    for low, high, unit in (
        (0, 10, ""), (10, 20, "Ki"), (20, 30, "Mi"), (30, 40, "Gi"), (40, 60, "Ti"),
    )
)  # fmt: skip
_TIME_LABEL = (
    "datum.value>=0.9995?format(datum.value,'~g')+' s'"
    ":datum.value>=0.9995e-3?format(datum.value*1e3,'~g')+' ms'"
    ":datum.value>=0.9995e-6?format(datum.value*1e6,'~g')+' us'"
    ":format(datum.value*1e9,'~g')+' ns'"
)

_Options = dict[str, Any]


class Figure(NamedTuple):
    """One plot."""

    name: str
    """File name without its ending."""
    kind: str
    """``bandwidth``, ``time`` or ``ratio``."""
    operation: str
    title: str
    note: str
    """What the plot alone does not say."""
    spec: dict[str, Any]


def figures(run: Run, summary: pd.DataFrame, study: str, prefix: str) -> list[Figure]:
    """All plots of a study whose points differ in size, operation by operation."""
    rows = _lines(run, summary, study)
    known = studies.registry().get(study)

    def beside(operation: str, rates: pd.DataFrame) -> Published | None:
        return known.published(operation, frozenset(rates["api"])) if known else None

    found: list[Figure] = []
    for operation in dict.fromkeys(rows["operation"]):
        mine = rows[rows["operation"] == operation]
        slug = f"{prefix}-{slugged(operation)}"
        rates = mine[(mine["verified"] == "true") & mine["bandwidth_Bps"].gt(0)]
        if not rates.empty:
            found.append(
                _bandwidth(study, f"{slug}-bandwidth", operation, rates, beside(operation, rates))
            )
        found.append(_time(study, f"{slug}-time", operation, mine))
    found += _ratios(run, study, prefix)
    taken: dict[str, int] = {}
    unique = []
    for figure in found:
        count = taken[figure.name] = taken.get(figure.name, 0) + 1
        name = figure.name if count == 1 else f"{figure.name}-{count}"
        unique.append(figure._replace(name=name))
    return unique


def slugged(text: str) -> str:
    """Text as a part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "other"


def _lines(run: Run, summary: pd.DataFrame, study: str) -> pd.DataFrame:
    """Rows to draw; ``series`` is a device and its clock, ``variant`` is what else differs."""
    rows = with_axes(
        resolved(summary[summary["study"] == study]),
        varying_axes(point for point in run.points if point.study == study),
    )
    # The device's own clock leaves out what the host had to do, and the host's above an emulated
    # card is of software: other quantities, in the table.
    rows = rows[(rows["median_s"] > 0) & (rows["bytes"] > 0) & (rows["clock"] != "device")]
    rows = rows[~rows["flags"].str.contains(THROUGH_EMULATION)]
    if rows.empty:  # its columns have no types to reckon with
        return rows
    labels = wording.labels(run)
    rows = rows.assign(
        series=[
            labels[device] + ("" if clock == "host" else f", {clock} clock")
            for device, clock in zip(rows["device"], rows["clock"], strict=True)
        ]
    )
    kinds = rows.groupby(["operation", "device"])["memory"].transform("nunique")
    memory = rows["memory"].where(kinds > 1, "")
    deep = rows.groupby(["operation", "device"])["axes"].transform("nunique")
    axes = rows["axes"].where(deep > 1, "")
    variant = [", ".join(filter(None, both)) for both in zip(memory, axes, strict=True)]
    low = rows["ci_low_s"].where(rows["ci_low_s"] > 0, rows["median_s"])
    return _coloured(rows).assign(
        variant=variant,
        low_s=low,
        high_s=rows["ci_high_s"].where(np.isfinite(rows["ci_high_s"]), rows["median_s"]),
        size_text=rows["bytes"].map(wording.size),
    )


def _of_what(study: str) -> str:
    """What the sizes of a study are, as its axis says."""
    known = studies.registry().get(study)
    axes = known.axes if known else ()
    return next((axis.describes for axis in axes if axis.name == "bytes"), "size")


def _size_axis(study: str, sizes: Sequence[int]) -> alt.X:
    low, high = math.log2(min(sizes)), math.log2(max(sizes))
    step = next(s for s in (1, 2, 5, 10) if high - low <= 8 * s or s == 10)
    ticks = [1 << power for power in range(math.ceil(high) + 1) if power % step == 0]
    return alt.X(
        "bytes:Q",
        title=f"{_of_what(study)} (bytes)",
        scale=alt.Scale(type="log", base=2, nice=False, domain=_padded(low, high)),
        axis=alt.Axis(values=ticks, labelExpr=_SIZE_LABEL, labelOverlap=True),
    )


def _padded(low: float, high: float) -> list[float]:
    return [2 ** (low - 0.5), 2 ** (high + 0.5)] if low == high else [2**low, 2**high]


def _of_one(rows: pd.DataFrame) -> str:
    """The device, where the colours do not tell it: there is but one."""
    names = rows["series"].unique()
    return f", {names[0]}" if len(names) == 1 else ""


def _decades(values: Sequence[float]) -> list[float]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = (1,) if high - low > 2 else (1, 2, 5)
    ticks = [float(f"{step}e{power}") for power in range(low, high + 1) for step in steps]
    first = max((i for i, tick in enumerate(ticks) if tick <= min(values)), default=0)
    last = min((i for i, tick in enumerate(ticks) if tick >= max(values)), default=len(ticks) - 1)
    return ticks[first : max(last, first + 1) + 1]


def _colours(names: Sequence[str]) -> list[str]:
    return [PALETTE[i % len(PALETTE)] for i in range(len(names))]


def _coloured(rows: pd.DataFrame) -> pd.DataFrame:
    """Gives each series a colour that it keeps in every plot."""
    names = list(dict.fromkeys(rows["series"]))
    return rows.assign(colour=rows["series"].map(dict(zip(names, _colours(names), strict=True))))


def _legend(**options: Any) -> alt.Legend:
    return alt.Legend(
        title=None,
        orient="bottom",
        direction="vertical",
        symbolOpacity=1,
        **options,
    )


def _look(rows: pd.DataFrame) -> dict[str, Any]:
    """Colour tells devices apart, dashes what one device was measured with."""
    series, variants = list(dict.fromkeys(rows["series"])), list(dict.fromkeys(rows["variant"]))
    by, names, title = ("series", series, "device")
    if len(series) == 1 and len(variants) > 1:
        by, names, title = ("variant", variants, "measured with")
    legend = _legend()
    colours = list(dict(zip(rows["series"], rows["colour"], strict=True)).values())
    if by == "variant":
        colours = _colours(names)
    look: dict[str, Any] = {
        "color": alt.Color(
            f"{by}:N", title=title, scale=alt.Scale(domain=names, range=colours), legend=legend
        ),
        "detail": [alt.Detail("series:N"), alt.Detail("variant:N")],
    }
    if by == "series" and len(variants) > 1:
        look["strokeDash"] = alt.StrokeDash("variant:N", sort=variants, legend=legend)
    return look


def _drawn(
    study: str, rows: pd.DataFrame, value: str, y: _Options, tips: Sequence[alt.Tooltip]
) -> list[alt.Chart]:
    """Band, line and points of each series; the band spans ``low_`` to ``high_`` of the value."""
    x, look = _size_axis(study, rows["bytes"].tolist()), _look(rows)
    chart = alt.Chart(rows)
    solid = {name: channel for name, channel in look.items() if name != "strokeDash"}
    return [
        chart.mark_area(opacity=0.22).encode(
            x=x, y=alt.Y(f"low_{value}:Q", **y), y2=f"high_{value}:Q", **solid
        ),
        chart.mark_line(strokeWidth=1.8).encode(x=x, y=alt.Y(f"{value}:Q", **y), **look),
        chart.mark_point(filled=True, size=26, opacity=1).encode(
            x=x, y=alt.Y(f"{value}:Q", **y), tooltip=list(tips), **solid
        ),
    ]


def _spec(layers: Sequence[alt.Chart], title: str, description: str) -> dict[str, Any]:
    chart = alt.layer(*layers).properties(
        width=WIDTH, height=HEIGHT, title=title, description=description
    )
    spec: dict[str, Any] = chart.to_dict(validate=False)
    del spec["config"]  # Altair's own theme
    return spec


def _tips(*more: alt.Tooltip) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("series:N", title="device"),
        alt.Tooltip("variant:N", title="measured with"),
        alt.Tooltip("size_text:N", title="size"),
        *more,
        alt.Tooltip("flags:N", title="flags"),
    ]


def _bandwidth(
    study: str, name: str, operation: str, rows: pd.DataFrame, beside: Published | None
) -> Figure:
    moved = rows["bandwidth_Bps"] * rows["median_s"]
    rows = rows.assign(
        rate=rows["bandwidth_Bps"] / 1e9,
        low_rate=moved / rows["high_s"] / 1e9,
        high_rate=moved / rows["low_s"] / 1e9,
        rate_text=rows["bandwidth_Bps"].map(format_rate),
    )
    y: _Options = {"title": "bandwidth (GB/s)", "scale": alt.Scale(zero=True, nice=True)}
    keep = ["bytes", "series", "colour", "variant", "size_text", "flags"]
    tips = _tips(alt.Tooltip("rate_text:N", title="bandwidth"))
    drawn = rows[[*keep, "rate", "low_rate", "high_rate", "rate_text"]]
    layers = _drawn(study, drawn, "rate", y, tips)
    if beside is not None:
        others = pd.DataFrame({"bytes": beside.sizes, "rate": beside.rates, "text": beside.names})
        sizes = [*rows["bytes"], *others["bytes"]]
        for layer in layers:
            layer.encoding.x = _size_axis(study, sizes)
        names = list(dict.fromkeys(beside.names))
        shapes = alt.Scale(domain=names, range=_SHAPES[: len(names)])
        legend = _legend(symbolFillColor="transparent", symbolStrokeColor=NEUTRAL)
        layers.append(
            alt.Chart(others)
            .mark_point(size=90, filled=False, color=NEUTRAL, opacity=1)
            .encode(
                x=_size_axis(study, sizes),
                y=alt.Y("rate:Q", **y),
                shape=alt.Shape("text:N", scale=shapes, legend=legend),
                tooltip=[
                    alt.Tooltip("text:N", title="not measured here"),
                    alt.Tooltip("rate:Q", title="GB/s or GiB/s"),
                ],
            )
        )
    title = f"{operation}: bandwidth{_of_one(rows)}"
    description = f"Bandwidth of {operation} by size, one line per device."
    note = "" if beside is None else beside.note
    return Figure(name, "bandwidth", operation, title, note, _spec(layers, title, description))


def _time(study: str, name: str, operation: str, rows: pd.DataFrame) -> Figure:
    rows = rows.assign(seconds=rows["median_s"], time_text=rows["median_s"].map(format_seconds))
    rows = rows.rename(columns={"low_s": "low_seconds", "high_s": "high_seconds"})
    ticks = _decades([*rows["low_seconds"], *rows["high_seconds"]])
    y: _Options = {
        "title": "median time",
        "scale": alt.Scale(type="log", nice=False, domain=[ticks[0], ticks[-1]]),
        "axis": alt.Axis(values=ticks, labelExpr=_TIME_LABEL, labelOverlap=True),
    }
    keep = ["bytes", "series", "colour", "variant", "size_text", "flags", "seconds"]
    tips = _tips(alt.Tooltip("time_text:N", title="median"))
    drawn = rows[[*keep, "low_seconds", "high_seconds", "time_text"]]
    layers = _drawn(study, drawn, "seconds", y, tips)
    title = f"{operation}: time{_of_one(rows)}"
    description = f"Median time of {operation} by size, one line per device."
    return Figure(name, "time", operation, title, "", _spec(layers, title, description))


def _ratios(run: Run, study: str, prefix: str) -> Iterator[Figure]:
    labels, confidence = wording.labels(run), run.settings.confidence
    parts = [
        by_size(pair.times, confidence).assign(
            operation=pair.operation,
            series=f"{labels[pair.device]} over {labels[pair.reference]}",
            variant=", ".join(filter(None, [pair.memory, pair.axes])),
        )
        for pair in contenders(run, pairs(run, study))
    ]
    told = [part for part in parts if not part.empty]  # others have no types to reckon with
    if not told:
        return
    rows = _coloured(pd.concat(told, ignore_index=True))
    rows = rows[(rows["bytes"] > 0) & (rows["low"] > 0) & np.isfinite(rows["high"])]
    for operation in dict.fromkeys(rows["operation"]):
        mine = rows[rows["operation"] == operation]
        yield _ratio(study, f"{prefix}-{slugged(operation)}-ratio", operation, mine)


def _ratio(study: str, name: str, operation: str, rows: pd.DataFrame) -> Figure:
    within = bool(rows["within"].any())
    rows = rows.rename(columns={"low": "low_ratio", "high": "high_ratio"}).assign(
        size_text=rows["bytes"].map(wording.size),
        flags=["within one process" if w else "" for w in rows["within"]],
        ratio_text=[
            f"{wording.number(r)} ({wording.number(low)} to {wording.number(high)})"
            for r, low, high in zip(rows["ratio"], rows["low"], rows["high"], strict=True)
        ],
    )
    if rows["variant"].nunique() == 1:
        rows["variant"] = ""
    ticks = _decades([*rows["low_ratio"], *rows["high_ratio"], 1.0])
    y: _Options = {
        "title": "ratio of times",
        "scale": alt.Scale(type="log", nice=False, domain=[ticks[0], ticks[-1]]),
        "axis": alt.Axis(values=ticks, format="~g", labelOverlap=True),
    }
    tips = _tips(alt.Tooltip("ratio_text:N", title="ratio"))
    layers = _drawn(study, rows.drop(columns="within"), "ratio", y, tips)
    even = alt.Chart(pd.DataFrame({"even": [1.0]}))
    layers.insert(
        0, even.mark_rule(color=NEUTRAL, strokeDash=[5, 4]).encode(y=alt.Y("even:Q", **y))
    )
    title = f"{operation}: ratio of times"
    note = "Bands speak for one process only." if within else ""
    description = f"Ratio of the times of {operation} between devices by size."
    return Figure(name, "ratio", operation, title, note, _spec(layers, title, description))
