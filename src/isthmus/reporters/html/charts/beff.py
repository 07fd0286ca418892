"""Draws the plots of study ``beff``: rates of exchanges, of ranks, and of two ranks' windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from isthmus.reporters.html.charts.series import (
    MOST_LINES,
    Palette,
    Source,
    diamonds,
    drawable,
    marked,
    rate_figure,
    rate_line,
)
from isthmus.reporters.html.drawing import (
    Figure,
    Line,
    Panel,
)
from isthmus.units import format_bytes

_WINDOWS = {"window": "", "window_both": ", both ways"}
"""Operations with many messages in flight, and the endings of their labels."""


def plots(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
    """Yields the plots of the study over several runs."""
    drawn: list[Line] = []
    ranks: list[Line] = []
    windows: list[Line] = []
    marks: list[dict[str, Any]] = []
    for source in sources:
        rows = source.rows("beff")
        rows = rows[rows["bandwidth_Bps"].gt(0)]
        for operation in ("exchange", "exchange_rank", *_WINDOWS):
            keys = ["device", "api", "channel", "ranks", "rank"]
            points = rows[rows["operation"] == operation]
            for (address, api, channel, *numbers), part in points.groups(keys):
                part = part.drop_duplicates("bytes")  # noqa: PLW2901 - one of several topologies
                if not drawable(part):
                    continue
                name, (count, rank) = source.label(address, api), map(_integer, numbers)
                look: dict[str, Any] = {"filled": channel != "staged"}
                if operation == "exchange":
                    label = f"{name}, {channel}" if channel not in {"card", api} else name
                    label = f"{label}, to itself" if "to_itself" in part["flags"].iloc[0] else label
                    drawn.append(rate_line(source, palette, part, label=label, **look))
                    marks += diamonds(source, address, "beff", operation, ranks=str(count))
                elif operation in _WINDOWS:
                    label = (name if channel == api else f"{name}, {channel}") + _WINDOWS[operation]
                    windows.append(rate_line(source, palette, part, label=label, **look))
                elif count > 1:
                    label = f"{channel}, rank {rank}"
                    ranks.append(rate_line(source, palette, part, label=label, **look))
    if drawn:
        best = max(drawn, key=lambda line: line.rows["y"].iloc[-1])
        last = best.rows.iloc[-1]
        title = f"{best.label}: {last['y']:.3g} GB/s in all at {format_bytes(int(last['x']))}"
        panels = [Panel("sum over all", drawn[:MOST_LINES], marked(marks))]
        yield from rate_figure("beff-rate", title, panels, "GB/s", "size of a message")
    if ranks:
        ends = [line.rows["y"].iloc[-1] for line in ranks]
        title = f"Each rank's own rate: {min(ends):.3g} to {max(ends):.3g} GB/s at the largest size"
        panels = [Panel("each rank", ranks[: 2 * MOST_LINES])]
        yield from rate_figure("beff-ranks", title, panels, "GB/s", "size of a message")
    if windows:
        best = max(windows, key=lambda line: line.rows["y"].max())
        title = f"Many messages at once, {best.label}: up to {best.rows['y'].max():.3g} GB/s"
        panels = [Panel("between pairs of ranks", windows[:MOST_LINES])]
        yield from rate_figure("beff-window", title, panels, "GB/s", "size of a message")


def _integer(number: str) -> int:
    return 0 if number in {"", "nan"} else int(float(number))
