"""Makes the plots of each study: at most two, and one beside published times.

A study names its plots in ``Study.plotted_by``; without a name, its rates over size are plotted.
A study with a single size has no plot over size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pkgutil import resolve_name

from isthmus import studies
from isthmus.reporters.html.charts.series import (
    MOST_LINES,
    Palette,
    Source,
    drawable,
    rate_figure,
    rate_line,
    seen,
)
from isthmus.reporters.html.drawing import (
    Figure,
    Line,
    Panel,
)

__all__ = ["Palette", "Source", "figures", "slugged"]

Plots = Callable[[Sequence[Source], Palette], Iterator[Figure]]
"""Function that draws the plots of a study over several runs, which have rows of the study."""


def figures(study: str, sources: Sequence[Source], palette: Palette) -> list[Figure]:
    """Plots of a study over all its runs; empty for a study that is not installed."""
    held = [source for source in sources if not source.rows(study).empty]
    declared = studies.registry().get(study)
    named = declared.plotted_by if declared else ""
    draw: Plots = resolve_name(named) if named else _rates(study)
    return list(draw(held, palette)) if held else []


def _rates(study: str) -> Plots:
    """Makes the function that plots rates over size, for operations with two sizes or more."""

    def draw(sources: Sequence[Source], palette: Palette) -> Iterator[Figure]:
        panels: dict[str, list[Line]] = {}
        for source in sources:
            rows = source.rows(study)
            rows = rows[rows["bandwidth_Bps"].gt(0)]
            for (operation, _, _), part in rows.groups(["operation", "device", "api"]):
                part = part.drop_duplicates("bytes")  # noqa: PLW2901
                if drawable(part):
                    panels.setdefault(operation, []).append(rate_line(source, palette, part))
        kept = [Panel(name, lines[:MOST_LINES]) for name, lines in panels.items()][:3]
        if kept:
            yield from rate_figure(f"{slugged(study)}-rate", seen(kept), kept, "GB/s", "size")

    return draw


def slugged(text: str) -> str:
    """Makes a text fit into the name of a file."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "other"
