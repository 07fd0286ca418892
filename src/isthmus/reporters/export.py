"""Writes rows of a run for other programs: CSV, JSON and Parquet, with the same columns."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Mapping
from types import MappingProxyType

from isthmus.analysis.typed import typed
from isthmus.frames import Frame
from isthmus.reporters.cells import plain_rows
from isthmus.written import csv_text, json_text


def _csv(frame: Frame) -> bytes:
    return csv_text(frame.columns, (row.values() for row in plain_rows(frame))).encode()


def _json(frame: Frame) -> bytes:
    """A list of rows; unknown values are null."""
    return json_text(list(plain_rows(frame))).encode()


def _parquet(frame: Frame) -> bytes:
    """Rows with the types of ``isthmus.analysis.typed``."""
    importlib.import_module("pyarrow")  # pandas' own error has ten lines

    file = io.BytesIO()
    typed(frame).to_parquet(file, index=False)
    return file.getvalue()


FORMATS: Mapping[str, Callable[[Frame], bytes]] = MappingProxyType(
    {"csv": _csv, "json": _json, "parquet": _parquet}
)
"""Functions that make the content of a file, by name of the format."""
