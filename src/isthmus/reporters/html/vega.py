"""Draws plots with Vega in V8 and with resvg, both of which the library vl_convert includes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import vl_convert

from isthmus.errors import IsthmusError


class NotDrawnError(IsthmusError):
    """Error: the library could not make a drawing."""


def svg(specification: Mapping[str, Any], theme: Mapping[str, Any]) -> str:
    """Draws a Vega-Lite specification as SVG. Raises NotDrawnError."""
    text = msgspec.json.encode(specification).decode()
    return str(_made(vl_convert.vegalite_to_svg, text, config=theme))


def pdf(drawing: str) -> bytes:
    """Converts a drawing from SVG to PDF. Raises NotDrawnError."""
    return bytes(_made(vl_convert.svg_to_pdf, drawing))


def png(drawing: str, scale: float) -> bytes:
    """Converts a drawing from SVG to PNG. Raises NotDrawnError."""
    return bytes(_made(vl_convert.svg_to_png, drawing, scale=scale))


def _made(function: Callable[..., Any], text: str, **options: Any) -> Any:
    try:
        return function(text, **options)
    except Exception as error:
        raise NotDrawnError(str(error).partition("\n")[0]) from error
