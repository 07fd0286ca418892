"""Draws the plots of study ``hostmem``: rates of kernels on host memory and on card memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isthmus.reporters.html.charts.series import (
    MOST_LINES,
    Palette,
    Source,
    diamonds,
    drawable,
    limits,
    marked,
    rate_figure,
    rate_line,
)
from isthmus.reporters.html.drawing import (
    Figure,
    Panel,
)
from isthmus.units import format_bytes

_KERNELS = {
    "read_bandwidth": "kernels read", "write_bandwidth": "kernels write",
    "bandwidth": "read and write",
}  # fmt: skip


def plots(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    """Yields the plots of the study over several runs."""
    panels = []
    places: dict[str, tuple[str, str]] = {}  # device and kind of memory, by the line's label
    for operation, title in _KERNELS.items():
        drawn, on, marks = [], [], []
        for source in sources:
            rows = source.rows("hostmem")
            one_device = rows["device"].nunique() == 1 and len(sources) == 1
            rows = rows[rows["operation"].eq(operation) & rows["bandwidth_Bps"].gt(0)]
            for (address, api, target), points in rows.groups(["device", "api", "target"]):
                points = points[points["iterations"].eq(points["iterations"].max())]  # noqa: PLW2901
                points = points.drop_duplicates("bytes")  # noqa: PLW2901 - one of several kernels
                if not drawable(points):
                    continue
                hosts = target == "host"
                name = source.label(address, api)
                where = "host memory" if hosts else "own memory"
                label = where if one_device else f"{name}, {where}"
                places[label] = name, where
                drawn.append(
                    rate_line(source, palette, points, label=label, subject=name, filled=hosts)
                )
                if hosts:
                    on.append(points)
                    marks += diamonds(source, address, "hostmem", operation, target="host")
        panels.append(Panel(title, drawn[:MOST_LINES], marked(marks), limits(on)))
    kept = [panel for panel in panels if panel.lines]
    if kept:
        on_host = [line for line in kept[0].lines if line.filled] or kept[0].lines
        last = on_host[0].rows.iloc[-1]
        who, where = places[on_host[0].label]
        size = format_bytes(int(last["x"]))
        title = f"{who}: {kept[0].title} {where} at {last['y']:.3g} GB/s ({size})"
        yield from rate_figure("hostmem-rate", title, kept, "GB/s", "size of the buffer")
