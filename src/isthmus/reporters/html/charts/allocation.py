"""Draws the plots of study ``allocation``: phases of an offload, and kinds of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from isthmus.frames import Frame
from isthmus.reporters.html.charts.series import (
    MOST_ROWS,
    Palette,
    Source,
    beside_published,
    dot_figure,
    timed_dot,
)
from isthmus.reporters.html.drawing import Dot, Figure, Stack, stacks
from isthmus.studies.transfer import ORDINARY
from isthmus.units import format_seconds

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
"""Names in the plot with the phases that each name stands for, in order."""


def plots(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    """Yields the plots of the study over several runs."""
    bars: list[Stack] = []
    drawn: list[Dot] = []
    for source in sources:
        rows = source.rows("allocation")
        several = rows[rows["operation"] == "total"]["device"].nunique() > 1 or len(sources) > 1
        for (address, api), points in rows.groups(["device", "api"]):
            kinds = dict(_offloads(points))
            totals: dict[str, Any] = {
                kind: next(part[part["operation"] == "total"].itertuples(), None)
                for kind, part in kinds.items()
            }
            ranked = sorted(
                (k for k in totals if totals[k]), key=lambda k: float(totals[k].median_s)
            )
            before = f"{source.label(address, api)}, " if several else ""
            drawn += [
                timed_dot(
                    source, palette, totals[k], f"{before}{k}", totals[k].memory not in ORDINARY
                )
                for k in ranked[:MOST_ROWS]
            ]
            shown = [ranked[0], *[k for k in ranked if k in ORDINARY], ranked[-1]] if ranked else []
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
        note="Medians of each phase, one after the other.",
    )
    if len(drawn) > 1:
        yield dot_figure("allocation-memory", _differ(drawn), drawn[: 2 * MOST_ROWS])
    yield from beside_published("allocation", sources, palette)


def _offloads(rows: Frame) -> Iterator[tuple[str, Frame]]:
    """Yields the offloads of the largest vectors, by kind of memory."""
    rows = rows[rows["bytes"] == rows["bytes"].max()]
    for (memory, handover, offset), part in rows.groups(["memory", "handover", "relative_offset"]):
        further = f" +{float(offset):.0f} B" if offset.strip("0.") else ""
        yield f"{memory}{further}{' (copied)' if handover == 'copy' else ''}", part


def _stack(source: Source, palette: Palette, rows: Frame, label: str) -> Stack:
    medians = dict(zip(rows["operation"], rows["median_s"], strict=True))
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
    if not low.high < high.low:  # also true if an end is NaN
        return "Whole offload: kinds of memory do not differ significantly"
    more = format_seconds(high.value - low.value)
    return f"Whole offload: {high.label} takes {more} more than {low.label}"
