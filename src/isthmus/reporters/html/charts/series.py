"""Makes the parts of plots from rows of runs: lines over size, dots, published marks, limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd

from isthmus import backends, boards, studies
from isthmus.analysis.context import RunContext
from isthmus.analysis.reproduction import from_points, rows_of_card
from isthmus.analysis.summary import THROUGH_EMULATION, resolved
from isthmus.frames import Frame
from isthmus.published import Row
from isthmus.published import sources as published_sources
from isthmus.reporters.html.drawing import (
    CURVE,
    Dot,
    Figure,
    Line,
    Panel,
    dots,
    lines,
)
from isthmus.reporters.html.layout import (
    COLOURS,
    LIGHT,
)
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.text import cut_middle
from isthmus.units import format_bytes, format_rate, format_seconds, format_size, percent

MOST_LINES = 6
MOST_ROWS = 12
_DECADE = 10
_TIMES = ("s", "ms", "us", "ns")
_CURVES = (
    "Marks are measured. The line is start-up time plus size over rate, in up to three parts, with "
    "the band that a measurement is in; where that does not fit, it joins the marks and their "
    "intervals."
)
_NEAR = 0.05
_LONGEST = 24
"""Most characters of a device's name in a plot."""


@dataclass(frozen=True, eq=False)
class Source:
    """One run, and the names of its devices on a page of several runs."""

    name: str
    run: Run
    several: bool = False

    @cached_property
    def context(self) -> RunContext:
        """The run with its summary, and what is known of its devices."""
        return RunContext.of(self.run)

    @property
    def summary(self) -> Frame:
        """The summary rows of the run."""
        return self.context.summary

    def device(self, address: str) -> DeviceRecord:
        """Returns the run's record of a device."""
        devices = (d for d in self.run.devices if d.address == address)
        return next(devices, DeviceRecord(address=address, backend="", real=True))

    def label(self, address: str, api: str = "") -> str:
        """Shortest name that is distinct on the page; several runs add the run's name."""
        text = self.title(address, api)
        return cut_middle(f"{self.name}, {text}" if self.several else text, _LONGEST)

    def title(self, address: str, api: str = "") -> str:
        """Shortest name that is distinct in the run: ``CUDA``, ``memcpy``, ``U250 (model)``."""
        device = self.device(address)
        api = api or device.api
        if device.simulated:
            text = f"{address.partition(':')[2].upper() if ',' not in address else address} (model)"
        elif not device.real:
            text = address
        elif api == "host":
            text = " ".join(["memcpy", *address.split(":")[1:]])
        else:
            same = [d for d in self.run.devices if d.api == device.api and d.real]
            only_one = len(same) <= 1 or "+" in address
            text = backends.api_names().get(api, address) if only_one else address
        return text

    def rows(self, study: str) -> Frame:
        """Trustworthy rows of a study with times that a user of the device waits for.

        The device's clock is left out, because its times exclude the host's work. Host times above
        an emulated card are left out, because they are times of software only.
        """
        rows = resolved(self.summary[self.summary["study"] == study])
        rows = rows[(rows["clock"] != "device") & (rows["median_s"] > 0)]
        rows = rows[(rows["verified"] != "false") & ~rows["flags"].str.contains(THROUGH_EMULATION)]
        if rows.empty:  # an empty frame has no types for arithmetic
            return rows
        declared = studies.registry().get(study)
        missing = set(declared.columns if declared else ()) - set(rows.columns)
        return rows.assign(
            **dict.fromkeys(missing, ""),
            low=rows["ci_low_s"].where(rows["ci_low_s"] > 0, rows["median_s"]),
            high=rows["ci_high_s"].where(np.isfinite(rows["ci_high_s"]), rows["median_s"]),
        )


class Palette:
    """One colour for each device and API on the whole page; memory copies of the host are grey."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str, str], str] = {}

    def of(self, source: Source, address: str, api: str) -> str:
        """Returns the colour for an API on a device of a run."""
        if api == "host":
            return LIGHT["quiet"]
        key = (source.name if source.several else "", address, api)
        return self._taken.setdefault(key, COLOURS[len(self._taken) % len(COLOURS)])


def _tip(label: str, row: Any, value: str, interval: str) -> str:
    at = f", {format_bytes(int(row.bytes))}" if row.bytes else ""
    flags = f"; {row.flags.replace(';', ', ')}" if row.flags else ""
    return f"{label}{at}: {value}{interval}{flags}"


def _between(low: float, high: float, text_of: Callable[[float], str]) -> str:
    return f" ({text_of(low)} to {text_of(high)})" if low < high else ""


def _of_limit(row: Any) -> str:
    """Words for a rate's share of its limit, with the source of the limit."""
    if not row.limit_share > 0:
        return ""
    return f", {percent(row.limit_share)} of {row.limit} ({row.limit_source})"


def _of_model(row: Any) -> str:
    """Words for the rate that the series' curve predicts, with its interval."""
    if not row.model > 0:
        return ""
    ends = _between(row.model_low * 1e9, row.model_high * 1e9, format_rate)
    return f"; its curve says {format_rate(row.model * 1e9)}{ends}"


def rate_line(source: Source, palette: Palette, rows: Frame, **look: Any) -> Line:
    """A line of rates over size; ``look``: fields of ``Line``, and ``subject`` for tooltips."""
    first = rows.iloc[0]
    label = look.pop("label", source.label(first["device"], first["api"]))
    subject = look.pop("subject", label)
    moved = rows["bandwidth_Bps"] * rows["median_s"]
    drawn = rows.assign(
        x=rows["bytes"], y=rows["bandwidth_Bps"] / 1e9,
        low_=moved / rows["high"] / 1e9, high_=moved / rows["low"] / 1e9,
        model=moved / rows["model_s"] / 1e9,
        model_low=moved / rows["model_high_s"] / 1e9, model_high=moved / rows["model_low_s"] / 1e9,
    ).sort_values("x")  # fmt: skip
    tips = [
        _tip(
            subject, r, format_rate(r.y * 1e9),
            _between(r.low_ * 1e9, r.high_ * 1e9, format_rate) + _of_limit(r) + _of_model(r),
        )
        for r in drawn.itertuples()
    ]  # fmt: skip
    return _line(
        source, palette, drawn.assign(low=drawn["low_"], high=drawn["high_"]), tips, label, look
    )


def time_line(source: Source, palette: Palette, rows: Frame, **look: Any) -> Line:
    """A line of times over size; ``look``: fields of ``Line``."""
    first = rows.iloc[0]
    label = look.pop("label", source.label(first["device"], first["api"]))
    nothing = [math.nan] * len(rows)
    drawn = rows.assign(
        x=rows["bytes"], y=rows["median_s"], model=nothing, model_low=nothing, model_high=nothing
    ).sort_values("x")
    tips = [
        _tip(label, r, format_seconds(r.y), _between(r.low, r.high, format_seconds))
        for r in drawn.itertuples()
    ]
    return _line(source, palette, drawn, tips, label, look)


def _line(
    source: Source, palette: Palette, drawn: Frame, tips: list[str], label: str,
    look: dict[str, Any],
) -> Line:  # fmt: skip
    first = drawn.iloc[0]
    colour = palette.of(source, first["device"], first["api"])
    modelled = first["clock"] == "simulated"
    drawn = drawn.assign(tip=tips)[["x", "y", "low", "high", *CURVE, "tip"]]
    return Line(label, colour, drawn.to_pandas(), modelled=modelled, **look)


def drawable(rows: Frame) -> bool:
    """Whether a line can be drawn through rows: they have several sizes."""
    return rows["bytes"].nunique() > 1


def _frame(panels: Sequence[Panel], unit: str) -> pd.DataFrame:
    parts = [
        line.rows.assign(panel=panel.title, series=line.label)
        for panel in panels
        for line in panel.lines
    ]
    parts += [
        panel.published.assign(panel=panel.title, series="published", low=np.nan, high=np.nan)
        for panel in panels
        if panel.published is not None
    ]
    named = {"x": "bytes", "y": unit, "low": "interval_low", "high": "interval_high"}
    columns = ["panel", "series", "x", "y", "low", "high", *CURVE]
    return pd.concat(parts, ignore_index=True)[columns].rename(columns=named)


def rate_figure(
    name: str, title: str, panels: Sequence[Panel], unit: str, of_what: str, note: str = ""
) -> Iterator[Figure]:
    """Yields a figure of panels with lines over size, if any; ``unit``: ``GB/s`` or ``s``."""
    panels = [panel for panel in panels if panel.lines]
    if panels:
        frame = _frame(panels, "GB_per_s" if unit == "GB/s" else "seconds")
        if frame["model"].notna().any():
            note = f"{note} {_CURVES}".strip()
        draw = lines(panels, unit, of_what)
        yield Figure(name, title, len(panels), draw, frame, note=note, unit=unit)


def limits(points: Sequence[Frame]) -> list[tuple[float, str]]:
    """The two highest different limits of links in GB/s, with their names."""
    links = [rows[rows["limit"] == "link"]["limit_Bps"] for rows in points]
    rates = sorted({round(rate / 1e9, 1) for part in links for rate in part})
    return [(rate, f"link limit {rate:.3g} GB/s") for rate in rates][-2:]


def diamonds(
    source: Source, address: str, study: str, operation: str, api: str = "", **where: str
) -> list[dict[str, Any]]:
    """Published rates of the device's board by size, for this operation.

    ``api`` selects rates, if a source compares several APIs; emulated cards ignore it.
    """
    return [
        {"x": row.plus[0].bytes, "y": row.published * row.scale / 1e9, "tip": _source_text(row)}
        for row in rows_of_card(study, source.device(address))
        if row.rate and len(row.terms) == 1 and row.plus[0].operation == operation
        and where.items() <= row.plus[0].where.items()
        and (source.device(address).simulated or row.api in {"", api})
    ]  # fmt: skip


def marked(marks: Sequence[dict[str, Any]]) -> pd.DataFrame | None:
    """Makes a table for ``Panel`` of the marks of ``diamonds``; None without marks."""
    return pd.DataFrame(marks) if marks else None


def _source_text(row: Row) -> str:
    """Tooltip of a published figure: its source, and the value in the source's unit."""
    size = row.plus[0].bytes if len(row.terms) == 1 else None
    what = [row.item] if size is None or row.item != format_size(size) else []
    what += [format_bytes(int(size))] if size is not None else []
    by = published_sources()[row.source].by
    return f"published, {_title(row.board)} ({by}), {', '.join(what)}: {row.text}"


@cache
def _title(board: str) -> str:
    return boards.load(board).title


def seen(panels: Sequence[Panel]) -> str:
    """Title for the first panel: the fastest device at the largest size, against link or memcpy."""
    panel = panels[0]
    copies = [line for line in panel.lines if line.colour == LIGHT["quiet"]]
    others = [line for line in panel.lines if line.colour != LIGHT["quiet"]] or copies
    best = max(others, key=lambda line: float(line.rows["y"].iloc[-1]))
    size, rate = best.rows["x"].iloc[-1], best.rows["y"].iloc[-1]
    text = f"{best.label}: {rate:.3g} GB/s {panel.title} at {format_bytes(int(size))}"
    # Of several limits it is unknown which one holds for this line.
    if len(panel.limits) == 1:
        return f"{text}, {100 * rate / panel.limits[0][0]:.0f} % of the link"
    of_memcpy = [y for line in copies for y in line.rows["y"][line.rows["x"] == size]]
    if of_memcpy and best.colour != LIGHT["quiet"]:
        return f"{text}, {100 * rate / of_memcpy[0]:.0f} % of memcpy"
    return text


def timed_dot(source: Source, palette: Palette, row: Any, label: str, filled: bool = True) -> Dot:
    """A dot with the time of a row and its interval."""
    value = format_seconds(row.median_s)
    tip = _tip(label, row, value, _between(row.low, row.high, format_seconds))
    colour = palette.of(source, row.device, row.api)
    return Dot(label, colour, row.median_s, row.low, row.high, value, tip, filled)


def dot_figure(name: str, title: str, rows: Sequence[Dot], note: str = "") -> Figure:
    """A figure of times; the axis is logarithmic if times differ by more than a factor of ten."""
    frame = pd.DataFrame(
        [(d.label, d.value, d.low, d.high, d.published) for d in rows],
        columns=["series", "seconds", "interval_low", "interval_high", "published"],
    ).dropna(axis="columns", how="all")
    wide = max(d.value for d in rows) > _DECADE * min(d.value for d in rows)
    return Figure(name, title, 1, dots(rows, log=wide), frame, note=note, unit="s")


def beside_published(study: str, sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    """Yields the plot of published times of boards, each with the reproduced time in its row."""
    drawn: list[Dot] = []
    theirs: dict[str, None] = {}
    for source in sources:
        rows = source.rows(study)
        for (address, api), points in rows.groups(["device", "api"]):
            published = [
                row for row in rows_of_card(study, source.device(address)) if row.unit in _TIMES
            ]
            for entry in from_points(published, points):
                if entry.interval is None or min(entry.interval.value, entry.row.published) <= 0:
                    continue
                here = entry.interval.times(entry.row.scale)
                low, high = here[1:3] if here.known else (here.value, here.value)
                value = format_seconds(here.value)
                tip = f"{entry.row.item}: {value}{_between(low, high, format_seconds)}; "
                # the distinct part comes first
                label = ", ".join(reversed(entry.row.item.split(", ")))
                drawn.append(
                    Dot(label, palette.of(source, address, api), here.value, low, high,
                        value, tip + _source_text(entry.row),
                        published=entry.row.published * entry.row.scale)
                )  # fmt: skip
                theirs[published_sources()[entry.row.source].by] = None
    if drawn:
        within = sum(abs(dot.value / dot.published - 1) <= _NEAR for dot in drawn)
        title = (
            f"{' and '.join(theirs)}: {within} of {len(drawn)} published times within "
            f"{100 * _NEAR:.0f} %"
        )
        yield dot_figure(f"{study}-published", title, drawn, "Diamonds are published.")
