"""Formats data as JSON or CSV for other programs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from isthmus.units import printable

_FORMULA = re.compile(r"(^|;)(\s*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])")
"""Matches what a spreadsheet takes for the beginning of a formula, also as wide characters. A
formula may follow a semicolon, which separates cells where the comma is the decimal point."""
_NUMBER = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)


def json_text(data: Any) -> str:
    """Indented JSON with a newline at the end."""
    return json_escaped(msgspec.json.format(msgspec.json.encode(data), indent=2).decode()) + "\n"


def json_escaped(text: str) -> str:
    r"""JSON text with escapes (``\\u202e``) for characters that a terminal executes or hides."""
    return "\n".join(
        line if line.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in line)
        for line in text.split("\n")
    )


def _escape(character: str) -> str:
    """JSON's escape of a character: one or two units of UTF-16."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def csv_text(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    r"""Text of comma-separated values with a heading; truth values are ``true`` and ``false``.

    Names of devices may come from strangers' run files. Control characters become escapes such as
    ``\x1b``, so that each row is one line. A text that a spreadsheet would take for a formula gets
    an apostrophe before it.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    for row in rows:
        writer.writerow(map(_cell, row))
    return text.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return value
    return printable(value if _NUMBER.fullmatch(value) else _FORMULA.sub(r"\1'\2", value))
