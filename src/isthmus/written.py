"""Data as text for other programs: JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

import msgspec


def json_text(data: Any) -> str:
    """Indented JSON with a newline at the end."""
    return msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n"


def csv_text(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Comma-separated values with a heading; truth values as ``true`` and ``false``."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([str(v).lower() if isinstance(v, bool) else v for v in row])
    return text.getvalue()
