"""Draws the plots of study ``transfer``: rates in each direction, and kinds of memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isthmus.analysis.ratios import first_bank
from isthmus.frames import Frame
from isthmus.reporters.html.charts.series import (
    MOST_LINES,
    MOST_ROWS,
    Palette,
    Source,
    diamonds,
    dot_figure,
    drawable,
    limits,
    marked,
    rate_figure,
    rate_line,
    seen,
    timed_dot,
)
from isthmus.reporters.html.drawing import (
    Dot,
    Figure,
    Line,
    Panel,
)
from isthmus.studies.transfer import ORDINARY
from isthmus.units import format_bytes

_DIRECTIONS = {
    "to device": ("write", ("write", "unmap")),
    "to host": ("read", ("read", "map")),
    "both at once": ("bidirectional", ("bidirectional",)),
}
_WAYS = {"unmap": "mapped", "map": "mapped"}


def plots(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    """Yields the plots of the study over several runs."""
    panels = [
        _direction(title, operation, names, sources, palette)
        for title, (operation, names) in _DIRECTIONS.items()
    ]
    kept = [panel for panel in panels if panel.lines]
    if kept:
        yield from rate_figure("transfer-rate", seen(kept), kept, "GB/s", "size of one transfer")
    yield from _kinds(sources, palette)


def _direction(
    title: str, operation: str, names: Sequence[str], sources: Sequence[Source], palette: Palette
) -> Panel:
    drawn: list[Line] = []
    on: list[Frame] = []
    marks = []
    for source in sources:
        rows = source.rows("transfer")
        rows = rows[rows["operation"].isin(names) & rows["bandwidth_Bps"].gt(0)]
        rows = first_bank(rows[rows["depth"].eq(1)])
        for (address, api), points in rows.groups(["device", "api"]):
            lines = list(_memories(points))
            for kind, filled, part in lines:
                label = source.label(address, api)
                label = (
                    f"{label}, {kind}" if kind and (len(lines) > 1 or kind == "mapped") else label
                )
                drawn.append(rate_line(source, palette, part, label=label, filled=filled))
            on.append(points)
            marks += diamonds(source, address, "transfer", operation, api)
    return Panel(title, drawn[:MOST_LINES], marked(marks), limits(on))


def _memories(rows: Frame) -> Iterator[tuple[str, bool, Frame]]:
    """Yields name, fill and rows of lines: ordinary memory, and the fastest other kind."""
    by = {
        (operation, memory): part
        for (operation, memory), part in rows.groups(["operation", "memory"])
        if drawable(part)
    }
    plain = [key for key in by if key[0] not in _WAYS and key[1] in ORDINARY][:1]
    rest = [key for key in by if key not in plain and key[1] not in ORDINARY]
    best = sorted(rest, key=lambda key: by[key].sort_values("bytes")["bandwidth_Bps"].iloc[-1])[-1:]
    for operation, memory in [*plain, *best]:
        name = _WAYS.get(operation, "ordinary" if memory in ORDINARY else memory.replace("_", " "))
        yield name, memory not in ORDINARY, by[operation, memory]


def _kinds(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    """Yields the plot of three or more kinds of memory, at the largest size of all of them."""
    drawn: list[Dot] = []
    size = 0
    for source in sources:
        rows = source.rows("transfer")
        rows = rows[rows["operation"].eq("write") & rows["verified"].eq("true")]
        for (address, api), points in rows.groups(["device", "api"]):
            kinds = points["memory"].nunique()
            memories = points.groupby("bytes").column("memory")
            sizes = [size for size, of in memories.items() if of.nunique() == kinds]
            if kinds >= 3 and sizes:
                size = max(sizes)
                label = source.label(address, api)
                at = points[points["bytes"] == size].sort_values("median_s")[:MOST_ROWS]
                drawn += [
                    timed_dot(
                        source, palette, row, f"{label}, {row.memory}", row.memory not in ORDINARY
                    )
                    for row in at.itertuples()
                ]
    if drawn:
        low, high = min(drawn, key=lambda d: d.value), max(drawn, key=lambda d: d.value)
        title = (
            f"{format_bytes(int(size))} to device: {high.label} takes "
            f"{high.value / low.value:.2g} times as long as {low.label}"
        )
        yield dot_figure("transfer-memory", title, drawn[: 2 * MOST_ROWS])
