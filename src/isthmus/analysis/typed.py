"""Makes tables of a run for other programs: adds host, device and date, and types for pandas.

Texts are categories, truth values are booleans, counts are integers (``Int64`` if values are
missing), times and rates are floats, dates are timestamps in UTC.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from isthmus.analysis.summary import COLUMNS
from isthmus.frames import Frame, missing, whole
from isthmus.results.run_file import Run

if TYPE_CHECKING:
    import pandas as pd

_DATES = frozenset({"started"})
_REAL = ("_s", "_Bps", "_share", "seconds")
"""Endings of names of columns that become floats, even if all their values are whole."""


def with_run(frame: Frame, run: Run) -> Frame:
    """Adds host, device name and start as last columns; an imported run has no start."""
    names = {device.address: device.name for device in run.devices}
    return frame.assign(
        host=str(run.environment.get("host", "")),
        device_name=[names.get(address, "") for address in frame["device"]],
        started="" if run.origin else run.started,
    )


def typed(frame: Frame) -> pd.DataFrame:
    """Converts the rows to a frame of pandas, each column with its type."""
    import pandas as pd  # noqa: PLC0415 - slow to load, rarely needed

    columns = {name: _column(name, frame) for name in frame}
    return pd.DataFrame(columns, index=frame.index)


def _column(name: str, frame: Frame) -> Any:
    """A column of a frame as an array with its type for pandas."""
    import pandas as pd  # noqa: PLC0415 - as above

    column = frame[name].values
    if name in _DATES:
        return pd.to_datetime(pd.Series(column, dtype=object), utc=True, errors="coerce").array
    if column.dtype.kind in "biu" or _is_real(name, frame):
        return column
    values = [None if missing(value) else whole(value) for value in column.tolist()]
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pd.array(values, dtype="boolean")
    if kinds == {int}:
        return pd.array(values, dtype="Int64" if None in values else "int64")
    if kinds and kinds <= {int, float}:
        return [math.nan if value is None else float(value) for value in values]
    return pd.Categorical([None if value is None else str(value) for value in values])


def _is_real(name: str, frame: Frame) -> bool:
    """Whether a column stays a float; an axis, which a frame stores as float, becomes integer."""
    return frame[name].values.dtype.kind == "f" and (name in COLUMNS or name.endswith(_REAL))
