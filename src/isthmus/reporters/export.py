"""Rows of a run as files for other programs: CSV, JSON and Parquet, all with the same columns."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Mapping
from types import MappingProxyType

from isthmus.frames import Frame
from isthmus.reporters.cells import plain_rows
from isthmus.written import csv_text, json_text


def _csv(frame: Frame) -> bytes:
    return csv_text(frame.columns, (row.values() for row in plain_rows(frame))).encode()


def _json(frame: Frame) -> bytes:
    """A list of rows; what is not known is null."""
    return json_text(list(plain_rows(frame))).encode()


def _parquet(frame: Frame) -> bytes:
    """A column of numbers and texts becomes one of texts: Parquet has one type a column."""
    import pandas as pd  # noqa: PLC0415

    importlib.import_module("pyarrow")  # pandas would name it in ten lines where it is missing

    rows = pd.DataFrame(plain_rows(frame), columns=frame.columns)
    for name in rows:
        kinds = set(map(type, rows[name].dropna()))
        if len(kinds) > 1 and not kinds <= {int, float}:
            rows[name] = rows[name].map(str, na_action="ignore")
    file = io.BytesIO()
    rows.convert_dtypes().to_parquet(file, index=False)
    return file.getvalue()


FORMATS: Mapping[str, Callable[[Frame], bytes]] = MappingProxyType(
    {"csv": _csv, "json": _json, "parquet": _parquet}
)
"""Functions that give the whole file, by name."""
