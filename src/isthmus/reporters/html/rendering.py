"""Renders specifications of plots: SVG in the page's colours, and files in several formats.

If the library cannot draw a plot, the page shows the reason in its place.
"""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Iterator
from html import escape
from typing import Any, NamedTuple

from markupsafe import Markup

from isthmus.reporters.html import vega
from isthmus.reporters.html.drawing import Figure
from isthmus.reporters.html.layout import LIGHT, THEME
from isthmus.reporters.html.vega import NotDrawnError
from isthmus.units import printable
from isthmus.written import csv_text

_NARROW = 360
"""Pixels of a panel on a telephone, and of a column of a paper at 96 per inch."""
_WIDE = {1: 556, 2: 556, 3: 360}
"""Pixels of a panel's width, by number of panels side by side."""
_FIRST = 780
_PNG_SCALE = 3.0
_VARIABLES = {colour: f"var(--{name})" for name, colour in LIGHT.items()}
_NUMBER = re.compile(r"-?\d+\.\d{2,}")
_MARK = re.compile(r' aria-label="([^"]*)" role="graphics-symbol" aria-roledescription="[^"]*"')
_DISC = re.compile(
    r'transform="translate\(([-\d.]+),([-\d.]+)\)" '
    r'd="M([\d.]+),0A\3,\3,0,1,1,-\3,0A\3,\3,0,1,1,\3,0"'
)
_NEEDLESS = re.compile(
    r" (?:role|aria-roledescription|aria-label|aria-hidden|class|pointer-events|font-family"
    r'|font-size|stroke-miterlimit|xmlns:xlink|version)="[^"]*"'
    r'| opacity="1"|<path class="(?:background|foreground)"[^>]*/>'
)
_FRAME = re.compile(r'<path class="(?:background|foreground)"[^>]*/>')


class Drawing(NamedTuple):
    """A plot in the forms that a page shows."""

    name: str
    title: str
    note: str
    narrow: list[Markup]
    """SVG of each panel for small screens."""
    wide: list[Markup]
    """SVG of each panel for other screens; empty if equal to ``narrow``."""
    endings: list[str]
    """Endings of the names of the plot's files, see ``Renderer.files``."""
    missing: str = ""
    """Reason why there is no drawing; else empty."""


class Renderer:
    """Draws the plots of a page, each panel and width once."""

    def __init__(self) -> None:
        self._known: dict[tuple[Figure, int, int], str] = {}
        self._files: dict[Figure, dict[str, bytes]] = {}

    def _svg(self, figure: Figure, panel: int, width: int) -> str:
        """A panel as SVG; raises NotDrawnError."""
        key = (figure, panel, width)
        if key not in self._known:
            self._known[key] = vega.svg(_clean(figure.draw(panel, width)), THEME)
        return self._known[key]

    def drawing(self, figure: Figure, *, first: bool = False) -> Drawing:
        """The drawing of a plot; with ``first``, only the first panel at full width."""
        wide = _FIRST if first else _WIDE[min(figure.panels, 3)]
        panels = range(1 if first else figure.panels)
        name = f"{figure.name}-first" if first else figure.name

        def drawn(width: int) -> list[Markup]:
            return [_inline(self._svg(figure, panel, width)) for panel in panels]

        endings = list(self.files(figure))
        try:
            return Drawing(
                name, figure.title, figure.note, drawn(_NARROW),
                drawn(wide) if wide != _NARROW else [], endings,
            )  # fmt: skip
        except NotDrawnError as error:
            return Drawing(
                name, figure.title, figure.note, [], [], endings, missing=str(error)
            )  # fmt: skip

    def files(self, figure: Figure) -> dict[str, bytes]:
        """Files of a plot by ending: one column wide, with the panels one below the other.

        A plot that cannot be drawn has only the file with its values.
        """
        if figure not in self._files:
            self._files[figure] = dict(self._made(figure))
        return self._files[figure]

    def _made(self, figure: Figure) -> Iterator[tuple[str, bytes]]:
        with contextlib.suppress(NotDrawnError):  # ``Drawing.missing`` has the reason
            svg = "".join(self._stacked(figure))
            yield "svg", svg.encode()
            yield "pdf", vega.pdf(svg)
            yield "png", vega.png(svg, _PNG_SCALE)
        values = figure.frame.astype(object).where(figure.frame.notna(), "")
        yield "csv", csv_text(figure.frame.columns, values.itertuples(index=False)).encode()

    def _stacked(self, figure: Figure) -> Iterator[str]:
        heads = textwrap.wrap(printable(figure.title), 54)
        panels = [self._svg(figure, panel, _NARROW) for panel in range(figure.panels)]
        heights = [int(match[1]) for p in panels if (match := re.search(r'height="(\d+)"', p))]
        top = 14 * len(heads) + 10
        width, height = _NARROW + 16, top + sum(heights) + 8
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
            f'<rect width="{width}" height="{height}" fill="white"/>'
        )
        for i, line in enumerate(heads):
            yield (
                f'<text x="8" y="{14 * i + 16}" font-family="sans-serif" font-size="12" '
                f'font-weight="600" fill="{LIGHT["ink"]}">{escape(line)}</text>'
            )
        for panel, down in zip(panels, heights, strict=True):
            yield panel.replace("<svg ", f'<svg x="8" y="{top}" ', 1)
            top += down
        yield "</svg>\n"


def _clean(part: Any) -> Any:
    """Removes control characters from the texts of a part of a specification.

    The library that measures the width of texts aborts at control characters.
    """
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, dict):
        return {name: _clean(value) for name, value in part.items()}
    return [_clean(value) for value in part] if isinstance(part, list) else part


def _inline(svg: str) -> Markup:
    """Turns SVG into a part of a page: colours become CSS variables, marks keep their tooltips."""
    svg = _MARK.sub(r' data-t="\1"', _FRAME.sub("", svg))
    svg = re.sub(r'data-t="([XY]-axis|Title)[^"]*"', "", svg)
    svg = _NUMBER.sub(lambda match: f"{float(match[0]):.1f}", svg)
    svg = _DISC.sub(r'cx="\1" cy="\2" r="\3"', svg)
    svg = re.sub(r'<path( data-t="[^"]*") (cx="[^>]*?)/>', r"<circle\1 \2/>", svg)
    svg = _NEEDLESS.sub("", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(f'"{colour}"', f'"{variable}"')
    width = re.search(r'width="(\d+)"', svg)
    style = f'aria-hidden="true" style="max-width:{width[1] if width else _FIRST}px"'
    return Markup(re.sub(r' width="\d+" height="\d+"', f" {style}", svg, count=1))
