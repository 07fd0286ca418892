"""Draws the plots of study ``mmio``: times of single accesses, and times over size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isthmus.reporters.html.charts.series import (
    MOST_LINES,
    MOST_ROWS,
    Palette,
    Source,
    beside_published,
    dot_figure,
    drawable,
    rate_figure,
    time_line,
    timed_dot,
)
from isthmus.reporters.html.drawing import (
    Dot,
    Figure,
    Line,
    Panel,
)
from isthmus.units import format_bytes, format_seconds

_ACCESSES = {
    "register_load": "register load", "bar_memory_load": "memory load", "store": "store",
    "syscall_load": "load by system call", "syscall_store": "store by system call",
    "poll": "start and poll", "host_load": "host memory load", "line_exchange": "line to a CPU",
}  # fmt: skip


def plots(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    """Yields the plots of the study over several runs."""
    accesses: list[Dot] = []
    drawn: list[Line] = []
    for source in sources:
        rows = source.rows("mmio")
        for (address, api), points in rows.groups(["device", "api"]):
            before = f"{source.label(address, api)}, " if rows["device"].nunique() > 1 else ""
            for (operation, memory), part in points.groups(["operation", "memory"]):
                name = _ACCESSES.get(operation, operation.replace("_", " "))
                kind = memory.replace("bar_", "") if operation == "store" else ""
                label = f"{before}{name}{f', {kind}' if kind else ''}"
                if operation in _ACCESSES:
                    single = part[part["bytes"] <= 64].sort_values(["bytes", "median_s"])
                    row = next(single[single["bytes"].isin([4, 8, 64])].itertuples(), None)
                    accesses += [timed_dot(source, palette, row, label)] if row else []
                quickest = part.sort_values("median_s").drop_duplicates("bytes")
                if drawable(quickest) and operation not in {"poll", "host_stream"}:
                    drawn.append(time_line(source, palette, quickest, label=label))
    if len(accesses) > 1:
        accesses.sort(key=lambda d: d.value)
        fastest, slowest = accesses[0], accesses[-1]
        title = f"One {slowest.label} takes {slowest.text}, one {fastest.label} {fastest.text}"
        yield dot_figure("mmio-access", title, accesses[:MOST_ROWS])
    if drawn:
        ends = sorted(drawn, key=lambda line: (-line.rows["x"].iloc[-1], line.rows["y"].iloc[-1]))
        first, last = ends[0].rows.iloc[0], ends[0].rows.iloc[-1]
        title = (
            f"{ends[0].label}: {format_seconds(first['y'])} for {format_bytes(int(first['x']))}, "
            f"{format_seconds(last['y'])} for {format_bytes(int(last['x']))}"
        )
        panels = [Panel("quickest of each way", drawn[:MOST_LINES])]
        yield from rate_figure("mmio-size", title, panels, "s", "size of the block")
    yield from beside_published("mmio", sources, palette)
