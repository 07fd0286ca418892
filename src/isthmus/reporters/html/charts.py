"""The plots of each study: at most two, none with a single size.

A further plot compares with times that were published of the board.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from isthmus import backends, boards, studies
from isthmus.analysis.context import each
from isthmus.analysis.published import rows_of_card
from isthmus.analysis.ratios import groups
from isthmus.analysis.reproduction import from_points
from isthmus.analysis.sentences import shortened
from isthmus.analysis.summary import THROUGH_EMULATION, resolved, summarise
from isthmus.analysis.wording import percent
from isthmus.published import Row
from isthmus.published import sources as published_sources
from isthmus.reporters.html.drawing import (
    COLOURS,
    LIGHT,
    Dot,
    Figure,
    Line,
    Panel,
    Stack,
    dots,
    lines,
    size_text,
    stacks,
)
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.units import format_rate, format_seconds, format_size

_ORDINARY = ("aligned", "pageable")
_MOST_LINES = 6
_MOST_ROWS = 12
_DECADE = 10
_TIMES = ("s", "ms", "us", "ns")
_NEAR = 0.05
_LONGEST = 24
"""Characters of a device's name in a plot."""


@dataclass(frozen=True, eq=False)
class Source:
    """One run, and the names of its devices on a page of several runs."""

    name: str
    run: Run
    several: bool = False

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Its rows."""
        return summarise(self.run)

    def device(self, address: str) -> DeviceRecord:
        """The run's record of a device."""
        known = (d for d in self.run.devices if d.address == address)
        return next(known, DeviceRecord(address=address, backend="", real=True))

    def label(self, address: str, api: str = "") -> str:
        """Shortest distinct name: ``CUDA``, ``memcpy``, ``U250 (model)``."""
        device = self.device(address)
        api = api or device.api
        if device.simulated:
            text = f"{address.partition(':')[2].upper() if ',' not in address else address} (model)"
        elif api == "host":
            text = " ".join(["memcpy", *address.split(":")[1:]])
        else:
            same = [d for d in self.run.devices if d.api == device.api and d.real]
            only_one = len(same) <= 1 or "+" in address
            text = backends.api_names().get(api, address) if only_one else address
        return shortened(f"{text}, {self.name}" if self.several else text, _LONGEST)

    def rows(self, study: str) -> pd.DataFrame:
        """Trustworthy rows of a study with times as a user of the device sees them.

        The device's clock excludes work of the host, and above an emulated card the host's clock
        times software only: both are left out.
        """
        rows = resolved(self.summary[self.summary["study"] == study])
        rows = rows[(rows["clock"] != "device") & (rows["median_s"] > 0)]
        rows = rows[(rows["verified"] != "false") & ~rows["flags"].str.contains(THROUGH_EMULATION)]
        if rows.empty:  # its columns have no types to reckon with
            return rows
        known = studies.registry().get(study)
        missing = set(known.columns if known else ()) - set(rows.columns)
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
        """The colour of an API on a device of a run."""
        if api == "host":
            return LIGHT["quiet"]
        key = (source.name if source.several else "", address, api)
        return self._taken.setdefault(key, COLOURS[len(self._taken) % len(COLOURS)])


def figures(study: str, sources: Sequence[Source], palette: Palette) -> list[Figure]:
    """Plots of a study over all its runs; none of a study that is not installed."""
    makers: dict[str, Callable[[Sequence[Source], Palette], Iterator[Figure]]] = {
        "transfer": _transfer, "hostmem": _hostmem, "allocation": _allocation, "beff": _beff,
        "mmio": _mmio,
    }  # fmt: skip
    held = [source for source in sources if not source.rows(study).empty]
    return list(makers.get(study, _others(study))(held, palette)) if held else []


def _tip(label: str, row: Any, value: str, interval: str) -> str:
    at = f", {size_text(row.bytes)}" if row.bytes else ""
    flags = f"; {row.flags.replace(';', ', ')}" if row.flags else ""
    return f"{label}{at}: {value}{interval}{flags}"


def _between(low: float, high: float, text_of: Callable[[float], str]) -> str:
    return f" ({text_of(low)} to {text_of(high)})" if low < high else ""


def _of_limit(row: Any) -> str:
    return f", {percent(row.limit_share)} of {row.limit}" if row.limit_share > 0 else ""


def _rate_line(source: Source, palette: Palette, rows: pd.DataFrame, **look: Any) -> Line:
    first = rows.iloc[0]
    label = look.pop("label", source.label(first["device"], first["api"]))
    subject = look.pop("subject", label)
    moved = rows["bandwidth_Bps"] * rows["median_s"]
    drawn = rows.assign(
        x=rows["bytes"], y=rows["bandwidth_Bps"] / 1e9,
        low_=moved / rows["high"] / 1e9, high_=moved / rows["low"] / 1e9,
    ).sort_values("x")  # fmt: skip
    tips = [
        _tip(
            subject,
            r,
            format_rate(r.y * 1e9),
            _between(r.low_ * 1e9, r.high_ * 1e9, format_rate) + _of_limit(r),
        )
        for r in each(drawn)
    ]
    return _line(
        source, palette, drawn.assign(low=drawn["low_"], high=drawn["high_"]), tips, label, look
    )


def _time_line(source: Source, palette: Palette, rows: pd.DataFrame, **look: Any) -> Line:
    first = rows.iloc[0]
    label = look.pop("label", source.label(first["device"], first["api"]))
    drawn = rows.assign(x=rows["bytes"], y=rows["median_s"]).sort_values("x")
    tips = [
        _tip(label, r, format_seconds(r.y), _between(r.low, r.high, format_seconds))
        for r in each(drawn)
    ]
    return _line(source, palette, drawn, tips, label, look)


def _line(
    source: Source, palette: Palette, drawn: pd.DataFrame, tips: list[str], label: str,
    look: dict[str, Any],
) -> Line:  # fmt: skip
    first = drawn.iloc[0]
    colour = palette.of(source, first["device"], first["api"])
    modelled = first["clock"] == "simulated"
    drawn = drawn.assign(tip=tips)[["x", "y", "low", "high", "tip"]]
    return Line(label, colour, drawn.reset_index(drop=True), modelled=modelled, **look)


def _drawable(rows: pd.DataFrame) -> bool:
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
    columns = ["panel", "series", "x", "y", "low", "high"]
    return pd.concat(parts, ignore_index=True)[columns].rename(columns=named)


def _figure(
    name: str, title: str, panels: Sequence[Panel], unit: str, of_what: str, note: str = ""
) -> Iterator[Figure]:
    panels = [panel for panel in panels if panel.lines]
    if panels:
        frame = _frame(panels, "GB_per_s" if unit == "GB/s" else "seconds")
        draw = lines(panels, unit, of_what)
        yield Figure(name, title, len(panels), draw, frame, note=note, unit=unit)


def _limits(points: Sequence[pd.DataFrame]) -> list[tuple[float, str]]:
    """The two highest different limits of links in GB/s, with their names."""
    links = [rows.loc[rows["limit"] == "link", "limit_Bps"] for rows in points]
    rates = sorted({round(rate / 1e9, 1) for part in links for rate in part})
    return [(rate, f"link limit {rate:.3g} GB/s") for rate in rates][-2:]


# transfer

_DIRECTIONS = {
    "to device": ("write", ("write", "unmap")),
    "to host": ("read", ("read", "map")),
    "both at once": ("bidirectional", ("bidirectional",)),
}
_WAYS = {"unmap": "mapped", "map": "mapped"}


def _transfer(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    panels = [
        _direction(title, operation, names, sources, palette)
        for title, (operation, names) in _DIRECTIONS.items()
    ]
    kept = [panel for panel in panels if panel.lines]
    if kept:
        yield from _figure("transfer-rate", _seen(kept), kept, "GB/s", "size of one transfer")
    yield from _kinds(sources, palette)


def _direction(
    title: str, operation: str, names: Sequence[str], sources: Sequence[Source], palette: Palette
) -> Panel:
    drawn: list[Line] = []
    on: list[pd.DataFrame] = []
    marks = []
    for source in sources:
        rows = source.rows("transfer")
        rows = rows[rows["operation"].isin(names) & rows["bandwidth_Bps"].gt(0)]
        rows = rows[rows["bank"].eq(rows["bank"].min()) & rows["depth"].eq(1)]
        for (address, api), points in groups(rows, ["device", "api"]):
            lines = list(_memories(points))
            for kind, filled, part in lines:
                label = source.label(address, api)
                label = (
                    f"{label}, {kind}" if kind and (len(lines) > 1 or kind == "mapped") else label
                )
                drawn.append(_rate_line(source, palette, part, label=label, filled=filled))
            on.append(points)
            marks += _diamonds(source, address, "transfer", operation, api)
    return Panel(title, drawn[:_MOST_LINES], _marked(marks), _limits(on))


def _memories(rows: pd.DataFrame) -> Iterator[tuple[str, bool, pd.DataFrame]]:
    """Ordinary memory and the fastest other kind; the plot of kinds shows all."""
    by = {
        (operation, memory): part
        for (operation, memory), part in groups(rows, ["operation", "memory"])
        if _drawable(part)
    }
    plain = [key for key in by if key[0] not in _WAYS and key[1] in _ORDINARY][:1]
    rest = [key for key in by if key not in plain and key[1] not in _ORDINARY]
    best = sorted(rest, key=lambda key: by[key].sort_values("bytes")["bandwidth_Bps"].iloc[-1])[-1:]
    for operation, memory in [*plain, *best]:
        name = _WAYS.get(operation, "ordinary" if memory in _ORDINARY else memory.replace("_", " "))
        yield name, memory not in _ORDINARY, by[operation, memory]


def _diamonds(
    source: Source, address: str, study: str, operation: str, api: str = "", **where: str
) -> list[dict[str, Any]]:
    """Published rates of the device's board by size, from rows of this operation.

    ``api`` selects rows where a source compares several, unless the device is an emulated card.
    """
    return [
        {"x": row.plus[0].bytes, "y": row.published * row.scale / 1e9, "tip": _source_text(row)}
        for row in rows_of_card(study, source.device(address))
        if row.rate and len(row.terms) == 1 and row.plus[0].operation == operation
        and where.items() <= row.plus[0].where.items()
        and (source.device(address).simulated or row.api in {"", api})
    ]  # fmt: skip


def _marked(marks: Sequence[dict[str, Any]]) -> pd.DataFrame | None:
    return pd.DataFrame(marks) if marks else None


def _source_text(row: Row) -> str:
    """Tooltip of a published figure: its source, and its value in the source's unit."""
    size = row.plus[0].bytes if len(row.terms) == 1 else None
    what = [row.item] if size is None or row.item != format_size(size) else []
    what += [size_text(size)] if size is not None else []
    by = published_sources()[row.source].by
    return f"published, {boards.load(row.board).title} ({by}), {', '.join(what)}: {row.text}"


def _seen(panels: Sequence[Panel]) -> str:
    """Title of the first panel: fastest device at the largest size, against link or memcpy."""
    panel = panels[0]
    copies = [line for line in panel.lines if line.colour == LIGHT["quiet"]]
    others = [line for line in panel.lines if line.colour != LIGHT["quiet"]] or copies
    best = max(others, key=lambda line: float(line.rows["y"].iloc[-1]))
    size, rate = best.rows["x"].iloc[-1], best.rows["y"].iloc[-1]
    text = f"{best.label}: {rate:.3g} GB/s {panel.title} at {size_text(size)}"
    if panel.limits:
        return f"{text}, {100 * rate / panel.limits[0][0]:.0f} % of the link"
    of_memcpy = [y for line in copies for y in line.rows["y"][line.rows["x"] == size]]
    if of_memcpy and best.colour != LIGHT["quiet"]:
        return f"{text}, {100 * rate / of_memcpy[0]:.0f} % of memcpy"
    return text


def _kinds(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    """Plot of three or more kinds of memory, at the largest size that all were measured at."""
    drawn: list[Dot] = []
    size = 0
    for source in sources:
        rows = source.rows("transfer")
        rows = rows[rows["operation"].eq("write") & rows["verified"].eq("true")]
        for (address, api), points in groups(rows, ["device", "api"]):
            kinds = points["memory"].nunique()
            sizes = points.groupby("bytes")["memory"].nunique()
            if kinds >= 3 and (sizes == kinds).any():
                size = int(sizes[sizes == kinds].index.max())
                label = source.label(address, api)
                at = points[points["bytes"] == size].sort_values("median_s").head(_MOST_ROWS)
                drawn += [
                    _dot(
                        source, palette, row, f"{label}, {row.memory}", row.memory not in _ORDINARY
                    )
                    for row in each(at)
                ]
    if drawn:
        low, high = min(drawn, key=lambda d: d.value), max(drawn, key=lambda d: d.value)
        title = (
            f"{size_text(size)} to device: {high.label} takes {high.value / low.value:.2g} times "
            f"as long as {low.label}"
        )
        yield _of_dots("transfer-memory", title, drawn[: 2 * _MOST_ROWS])


def _dot(source: Source, palette: Palette, row: Any, label: str, filled: bool = True) -> Dot:
    value = format_seconds(row.median_s)
    tip = _tip(label, row, value, _between(row.low, row.high, format_seconds))
    colour = palette.of(source, row.device, row.api)
    return Dot(label, colour, row.median_s, row.low, row.high, value, tip, filled)


def _of_dots(name: str, title: str, rows: Sequence[Dot], note: str = "") -> Figure:
    frame = pd.DataFrame(
        [(d.label, d.value, d.low, d.high, d.published) for d in rows],
        columns=["series", "seconds", "interval_low", "interval_high", "published"],
    ).dropna(axis="columns", how="all")
    wide = max(d.value for d in rows) > _DECADE * min(d.value for d in rows)
    return Figure(name, title, 1, dots(rows), frame, log=wide, note=note, unit="s")


def _of_sources(study: str, sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    """Plot of published times of the device's board with the reproduced ones, one in each row."""
    drawn: list[Dot] = []
    theirs: dict[str, None] = {}
    for source in sources:
        rows = source.rows(study)
        for (address, api), points in groups(rows, ["device", "api"]):
            published = [
                row for row in rows_of_card(study, source.device(address)) if row.unit in _TIMES
            ]
            for one in from_points(published, points):
                if one.interval is None or min(one.interval.value, one.row.published) <= 0:
                    continue
                here = one.interval.times(one.row.scale)
                low, high = here[1:3] if here.known else (here.value, here.value)
                value = format_seconds(here.value)
                tip = f"{one.row.item}: {value}{_between(low, high, format_seconds)}; "
                label = ", ".join(reversed(one.row.item.split(", ")))  # what differs comes first
                drawn.append(
                    Dot(label, palette.of(source, address, api), here.value, low, high,
                        value, tip + _source_text(one.row),
                        published=one.row.published * one.row.scale)
                )  # fmt: skip
                theirs[published_sources()[one.row.source].by] = None
    if drawn:
        within = sum(abs(dot.value / dot.published - 1) <= _NEAR for dot in drawn)
        title = (
            f"{' and '.join(theirs)}: {within} of {len(drawn)} published times within "
            f"{100 * _NEAR:.0f} %"
        )
        yield _of_dots(f"{study}-published", title, drawn, "Diamonds are published.")


# hostmem

_KERNELS = {
    "read_bandwidth": "kernels read", "write_bandwidth": "kernels write",
    "bandwidth": "read and write",
}  # fmt: skip


def _hostmem(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    panels = []
    for operation, title in _KERNELS.items():
        drawn, on, marks = [], [], []
        for source in sources:
            rows = source.rows("hostmem")
            one_device = rows["device"].nunique() == 1 and len(sources) == 1
            rows = rows[rows["operation"].eq(operation) & rows["bandwidth_Bps"].gt(0)]
            for (address, api, target), points in groups(rows, ["device", "api", "target"]):
                points = points[points["iterations"].eq(points["iterations"].max())]  # noqa: PLW2901
                points = points.drop_duplicates("bytes")  # noqa: PLW2901 - one of several shapes
                if not _drawable(points):
                    continue
                hosts = target == "host"
                name = source.label(address, api)
                where = "host memory" if hosts else "own memory"
                label = where if one_device else f"{name}, {where}"
                drawn.append(
                    _rate_line(source, palette, points, label=label, subject=name, filled=hosts)
                )
                if hosts:
                    on.append(points)
                    marks += _diamonds(source, address, "hostmem", operation, target="host")
        panels.append(Panel(title, drawn[:_MOST_LINES], _marked(marks), _limits(on)))
    kept = [panel for panel in panels if panel.lines]
    if kept:
        on_host = [line for line in kept[0].lines if line.filled] or kept[0].lines
        last = on_host[0].rows.iloc[-1]
        who = last["tip"].partition(", ")[0]
        where = on_host[0].label.rpartition(", ")[2]
        title = f"{who}: {kept[0].title} {where} at {last['y']:.3g} GB/s ({size_text(last['x'])})"
        yield from _figure("hostmem-rate", title, kept, "GB/s", "size of the buffer")


# allocation

_PHASES = {
    "start": ("initialise", "program_device"),
    "allocate": ("allocate",),
    "fill": ("populate",),
    "map": ("map",),
    "to device": ("migrate_to_device", "migrate_to_device_wait"),
    "kernel": ("set_arguments", "kernel_enqueue", "kernel_run"),
    "back": ("read_back",),
    "rest": ("remainder",),
}
"""Phases of an offload in order, and their names in the plot."""


def _allocation(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    bars: list[Stack] = []
    drawn: list[Dot] = []
    for source in sources:
        rows = source.rows("allocation")
        several = rows[rows["operation"] == "total"]["device"].nunique() > 1 or len(sources) > 1
        for (address, api), points in groups(rows, ["device", "api"]):
            kinds = dict(_offloads(points))
            totals: dict[str, Any] = {
                kind: next(each(part[part["operation"] == "total"]), None)
                for kind, part in kinds.items()
            }
            known = sorted(
                (k for k in totals if totals[k]), key=lambda k: float(totals[k].median_s)
            )
            before = f"{source.label(address, api)}, " if several else ""
            drawn += [
                _dot(source, palette, totals[k], f"{before}{k}", not k.startswith(_ORDINARY))
                for k in known[:_MOST_ROWS]
            ]
            shown = [known[0], *[k for k in known if k in _ORDINARY], known[-1]] if known else []
            for kind in dict.fromkeys(shown):
                bars.append(_stack(source, palette, kinds[kind], f"{before}{kind}"))
    if not bars:
        return
    part, seconds, _ = max(bars[0].parts, key=lambda part: part[1])
    whole = sum(value for _, value, _ in bars[0].parts)
    yield Figure(
        "allocation-phases",
        f"First offload, {bars[0].label}: '{part}' takes {format_seconds(seconds)} of "
        f"{format_seconds(whole)}",
        1,
        stacks(bars),
        pd.DataFrame(
            [(b.label, name, value) for b in bars for name, value, _ in b.parts],
            columns=["memory", "phase", "seconds"],
        ),
        log=False,
        note="Medians of each phase, one after the other.",
    )
    if len(drawn) > 1:
        yield _of_dots("allocation-memory", _differ(drawn), drawn[: 2 * _MOST_ROWS])
    yield from _of_sources("allocation", sources, palette)


def _offloads(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Offloads of the largest vectors, by kind of memory."""
    rows = rows[rows["bytes"] == rows["bytes"].max()]
    for (memory, handover, offset), part in groups(rows, ["memory", "handover", "relative_offset"]):
        further = f" +{float(offset):.0f} B" if offset.strip("0.") else ""
        yield f"{memory}{further}{' (copied)' if handover == 'copy' else ''}", part


def _stack(source: Source, palette: Palette, rows: pd.DataFrame, label: str) -> Stack:
    medians = rows.set_index("operation")["median_s"]
    first = rows.iloc[0]
    parts = []
    for name, phases in _PHASES.items():
        value = float(sum(medians.get(phase, 0.0) for phase in phases))
        if value > 0:
            parts.append((name, value, f"{label}, {name}: {format_seconds(value)}"))
    colour = palette.of(source, first["device"], first["api"])
    return Stack(label, colour, parts, format_seconds(sum(value for _, value, _ in parts)))


def _differ(rows: Sequence[Dot]) -> str:
    low, high = min(rows, key=lambda d: d.value), max(rows, key=lambda d: d.value)
    if low.high >= high.low:
        return "Whole offload: intervals of all kinds of memory overlap"
    more = format_seconds(high.value - low.value)
    return f"Whole offload: {high.label} takes {more} more than {low.label}"


# beff


def _beff(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    drawn: list[Line] = []
    ranks: list[Line] = []
    marks: list[dict[str, Any]] = []
    for source in sources:
        rows = source.rows("beff")
        rows = rows[rows["bandwidth_Bps"].gt(0)]
        for operation in ("exchange", "exchange_rank"):
            keys = ["device", "api", "channel", "ranks", "rank"]
            points = rows[rows["operation"] == operation]
            for (address, api, channel, *numbers), part in groups(points, keys):
                part = part.drop_duplicates("bytes")  # noqa: PLW2901 - of several topologies the first
                if not _drawable(part):
                    continue
                name, (count, rank) = source.label(address, api), map(_integer, numbers)
                look: dict[str, Any] = {"filled": channel != "staged"}
                if operation == "exchange":
                    label = f"{name}, {channel}" if channel not in {"card", api} else name
                    label = f"{label}, to itself" if "to_itself" in part["flags"].iloc[0] else label
                    drawn.append(_rate_line(source, palette, part, label=label, **look))
                    marks += _diamonds(source, address, "beff", operation, ranks=str(count))
                elif count > 1:
                    label = f"{channel}, rank {rank}"
                    ranks.append(_rate_line(source, palette, part, label=label, **look))
    if drawn:
        best = max(drawn, key=lambda line: line.rows["y"].iloc[-1])
        last = best.rows.iloc[-1]
        title = f"{best.label}: {last['y']:.3g} GB/s in all at {size_text(last['x'])}"
        panels = [Panel("sum over all", drawn[:_MOST_LINES], _marked(marks))]
        yield from _figure("beff-rate", title, panels, "GB/s", "size of a message")
    if ranks:
        ends = [line.rows["y"].iloc[-1] for line in ranks]
        title = f"Each rank's own rate: {min(ends):.3g} to {max(ends):.3g} GB/s at the largest size"
        panels = [Panel("each rank", ranks[: 2 * _MOST_LINES])]
        yield from _figure("beff-ranks", title, panels, "GB/s", "size of a message")


def _integer(number: str) -> int:
    return 0 if number in {"", "nan"} else int(float(number))


# mmio

_ACCESSES = {
    "register_load": "register load", "bar_memory_load": "memory load", "store": "store",
    "syscall_load": "load by system call", "syscall_store": "store by system call",
    "poll": "start and poll", "host_load": "host memory load", "line_exchange": "line to a CPU",
}  # fmt: skip


def _mmio(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    accesses: list[Dot] = []
    drawn: list[Line] = []
    for source in sources:
        rows = source.rows("mmio")
        for (address, api), points in groups(rows, ["device", "api"]):
            before = f"{source.label(address, api)}, " if rows["device"].nunique() > 1 else ""
            for (operation, memory), part in groups(points, ["operation", "memory"]):
                name = _ACCESSES.get(operation, operation.replace("_", " "))
                kind = memory.replace("bar_", "") if operation == "store" else ""
                label = f"{before}{name}{f', {kind}' if kind else ''}"
                if operation in _ACCESSES:
                    single = part[part["bytes"] <= 64].sort_values(["bytes", "median_s"])
                    row = next(each(single[single["bytes"].isin([4, 8, 64])]), None)
                    accesses += [_dot(source, palette, row, label)] if row else []
                quickest = part.sort_values("median_s").drop_duplicates("bytes")
                if _drawable(quickest) and operation not in {"poll", "host_stream"}:
                    drawn.append(_time_line(source, palette, quickest, label=label))
    if len(accesses) > 1:
        accesses.sort(key=lambda d: d.value)
        fastest, slowest = accesses[0], accesses[-1]
        title = f"One {slowest.label} takes {slowest.text}, one {fastest.label} {fastest.text}"
        yield _of_dots("mmio-access", title, accesses[:_MOST_ROWS])
    if drawn:
        ends = sorted(drawn, key=lambda line: (-line.rows["x"].iloc[-1], line.rows["y"].iloc[-1]))
        first, last = ends[0].rows.iloc[0], ends[0].rows.iloc[-1]
        title = (
            f"{ends[0].label}: {format_seconds(first['y'])} for {size_text(first['x'])}, "
            f"{format_seconds(last['y'])} for {size_text(last['x'])}"
        )
        panels = [Panel("quickest of each way", drawn[:_MOST_LINES])]
        yield from _figure("mmio-size", title, panels, "s", "size of the block")
    yield from _of_sources("mmio", sources, palette)


def _others(study: str) -> Callable[[Sequence[Source], Palette], Iterator[Figure]]:
    """Plot of a third-party study: rates by size of each operation with at least two sizes."""

    def draw(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
        panels: dict[str, list[Line]] = {}
        for source in sources:
            rows = source.rows(study)
            rows = rows[rows["bandwidth_Bps"].gt(0)]
            for (operation, _, _), part in groups(rows, ["operation", "device", "api"]):
                part = part.drop_duplicates("bytes")  # noqa: PLW2901
                if _drawable(part):
                    panels.setdefault(operation, []).append(_rate_line(source, palette, part))
        kept = [Panel(name, lines[:_MOST_LINES]) for name, lines in panels.items()][:3]
        if kept:
            yield from _figure(f"{slugged(study)}-rate", _seen(kept), kept, "GB/s", "size")

    return draw


def slugged(text: str) -> str:
    """Text as a part of a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "other"
