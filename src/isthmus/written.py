"""Data for other programs: JSON, CSV, new files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from isthmus.errors import IsthmusError, UsageError

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a text begins that spreadsheets take for a formula."""
_NUMBER = re.compile(r"[+-]?[0-9.]+(e[+-]?[0-9]+)?", re.IGNORECASE)


def json_text(data: Any) -> str:
    """Indented JSON with a newline at the end."""
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def csv_text(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Comma-separated values with a heading; truth values as ``true`` and ``false``.

    A text that a spreadsheet would take for a formula has an apostrophe before it: names of devices
    come from run files of others.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    for row in rows:
        writer.writerow(map(_cell, row))
    return text.getvalue()


def save_new(content: bytes, path: Path) -> None:
    """Writes a file. Raises UsageError where there is one already: nothing is overwritten."""
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError as error:
        raise UsageError(f"{path} exists; nothing is overwritten: choose another --out") from error
    except OSError as error:
        raise IsthmusError(f"cannot write {path}: {error.strerror}") from error


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    formula = isinstance(value, str) and value.startswith(_FORMULA) and not _NUMBER.fullmatch(value)
    return f"'{value}" if formula else value
