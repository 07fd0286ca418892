"""Tables of columns on numpy, with the functions of pandas' data frames that analysis needs.

Names and meanings are those of pandas, but labels are not aligned: both operands of an operator
need the same rows. Compute nodes without pandas can thus show and compare runs: only
``Frame.to_pandas`` imports pandas.
"""

from __future__ import annotations

import contextlib
import math
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from isthmus.series import Array, Series, array_of, key_of, missing, positions

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Frame", "Groups", "Row", "Series", "concat", "missing", "whole"]


class Row(dict[str, Any]):
    """One row as a dict by column; each column is also an attribute."""

    def __getattr__(self, name: str) -> Any:
        """The row's value in the column ``name``."""
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error


@cache
def _row_type(columns: tuple[str, ...]) -> Any:
    return namedtuple("Row", columns, rename=True)


class _Rows:
    """Access to a frame's rows by position, like ``iloc`` of pandas."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, (int, np.integer)):
            return Row({name: self._frame[name].values[at] for name in self._frame})
        return self._frame.take(at)


class Frame:
    """Columns of equal length by name. ``index`` holds labels of rows, which selections keep."""

    def __init__(
        self, data: Any = (), columns: Iterable[str] | None = None, index: Array | None = None
    ) -> None:
        """Creates a frame from columns by name, or from rows: mappings or tuples."""
        if isinstance(data, Mapping):
            given_columns = {str(k): v for k, v in data.items()}
            names = list(columns) if columns is not None else list(given_columns)
            rows = next((len(v) for v in given_columns.values() if _is_column(v)), 0)
            self._columns: dict[str, Array] = {
                name: array_of(
                    given_columns[name]
                    if _is_column(given_columns[name])
                    else [given_columns[name]] * rows
                )
                for name in names
            }
        else:
            table = list(data)
            if table and isinstance(table[0], Mapping):
                names = list(columns or dict.fromkeys(name for row in table for name in row))
                parts: Iterable[Any] = ([row.get(n, math.nan) for row in table] for n in names)
            else:
                names = list(columns or ())
                parts = zip(*table, strict=True) if table else ([] for _ in names)
            self._columns = dict(zip(names, map(array_of, parts), strict=True))
            rows = len(table)
        self.index = np.arange(rows) if index is None else index

    @classmethod
    def _of(cls, columns: dict[str, Array], index: Array) -> Frame:
        """A frame of arrays of equal length. Checks nothing, since analysis creates many frames."""
        frame = cls.__new__(cls)
        frame._columns, frame.index = columns, index
        return frame

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._columns)

    @property
    def empty(self) -> bool:
        """Whether the frame has no rows."""
        return not len(self)

    @property
    def iloc(self) -> _Rows:
        """Rows by position."""
        return _Rows(self)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.index)

    def __iter__(self) -> Iterator[str]:
        """Iterates over the names of the columns."""
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        """Whether the frame has this column."""
        return name in self._columns

    @overload
    def __getitem__(self, selection: str) -> Series: ...

    @overload
    def __getitem__(
        self, selection: list[str] | slice | Series | NDArray[np.bool_] | NDArray[np.int64]
    ) -> Frame: ...

    def __getitem__(self, selection: Any) -> Series | Frame:
        """A column by name, several columns by names, or rows by a mask or slice."""
        if isinstance(selection, str):
            return Series(self._columns[selection], self.index)
        if isinstance(selection, list) and all(isinstance(name, str) for name in selection):
            return Frame._of({name: self._columns[name] for name in selection}, self.index)
        return self.take(positions(selection))

    def __setitem__(self, name: str, values: Any) -> None:
        """Replaces or adds a column."""
        self._columns[name] = array_of(values if _is_column(values) else [values] * len(self))

    def get(self, name: str, default: Any = None) -> Any:
        """A column, or ``default`` if the frame lacks it."""
        return self[name] if name in self else default  # noqa: SIM401

    def take(self, rows: Any) -> Frame:
        """The rows that a mask, positions or a slice select."""
        if isinstance(rows, np.ndarray) and not len(rows):
            rows = rows.astype(int if len(self) else bool)
        return Frame._of({n: v[rows] for n, v in self._columns.items()}, self.index[rows])

    def labelled(self, labels: Iterable[Any]) -> Frame:
        """The rows with these labels, in the order of the labels."""
        place = {int(label): i for i, label in enumerate(self.index)}
        return self.take(np.array([place[int(label)] for label in labels], int))

    def set(self, rows: Any, name: str, value: Any) -> None:
        """Replaces the values of a column in some rows, which a mask or positions select."""
        column = self._columns[name].copy()
        fits = column.dtype.kind == "O" or isinstance(value, (int, float, np.ndarray))
        column = column if fits else column.astype(object)
        column[positions(rows)] = value
        self._columns[name] = column

    def copy(self) -> Frame:
        """A shallow copy, whose columns can be replaced separately."""
        return Frame._of(dict(self._columns), self.index)

    def assign(self, **columns: Any) -> Frame:
        """A copy with further columns."""
        frame = self.copy()
        for name, values in columns.items():
            frame[name] = values
        return frame

    def rename(self, columns: Mapping[str, str]) -> Frame:
        """A copy with new names for the columns in ``columns`` (old name to new name)."""
        renamed = {columns.get(name, name): values for name, values in self._columns.items()}
        return Frame._of(renamed, self.index)

    def without(self, names: Iterable[str]) -> Frame:
        """A copy without these columns."""
        left_out = set(names)
        return self[[name for name in self if name not in left_out]]

    def dropna(self, subset: Sequence[str] = ()) -> Frame:
        """The rows that have a value in each column of ``subset``, by default in every column."""
        names = list(subset) or self.columns
        return self.take(np.array([not any(map(missing, row)) for row in self.rows(names)], bool))

    def rows(self, names: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
        """Rows as tuples of Python objects, not numpy's, of these columns or all columns."""
        chosen = self.columns if names is None else names
        lists = [self._columns[name].tolist() for name in chosen]
        return list(zip(*lists, strict=True)) if lists else [()] * len(self)

    def keys(self, names: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
        """Rows as tuples for comparison, in which missing values are equal, unlike NaN."""
        chosen = self.columns if names is None else names
        complete = [_without_gaps(self._columns[name]) for name in chosen]
        lists = [
            values if is_complete else list(map(key_of, values))
            for values, is_complete in zip(
                (self._columns[name].tolist() for name in chosen), complete, strict=True
            )
        ]
        return list(zip(*lists, strict=True)) if lists else [()] * len(self)

    def itertuples(self) -> Iterator[Any]:
        """Iterates over rows that have their columns as attributes."""
        return map(_row_type(tuple(self._columns))._make, self.rows())

    def sort_values(self, by: str | Sequence[str], *, ascending: bool = True) -> Frame:
        """Rows sorted by these columns, missing values last; equal rows keep their order."""
        order = list(range(len(self)))
        for name in reversed([by] if isinstance(by, str) else by):
            values = self._columns[name].tolist()
            order.sort(key=lambda i: 0 if missing(values[i]) else values[i], reverse=not ascending)
            order.sort(key=lambda i: missing(values[i]))
        return self.take(np.array(order, int))

    def drop_duplicates(
        self, names: str | Sequence[str] | None = None, *, last: bool = False
    ) -> Frame:
        """Of each set of rows that are equal in these columns, only the first or the last."""
        chosen = [names] if isinstance(names, str) else names
        keys = self.keys(chosen)
        places = list(enumerate(keys)) if last else list(enumerate(keys))[::-1]
        kept = sorted({key: i for i, key in places}.values())
        return self.take(np.array(kept, int))

    def groupby(self, by: str | Sequence[str], *, sort: bool = True, dropna: bool = True) -> Groups:
        """Groups of rows that are equal in these columns."""
        return Groups(self, by, sort=sort, dropna=dropna)

    def groups(self, keys: Sequence[str]) -> Iterator[tuple[tuple[str, ...], Frame]]:
        """Yields rows that are equal in all these columns, with the key as texts.

        Groups come in the order of their first rows; a missing value is a key as well.
        """
        for key, group in self.groupby(list(keys), sort=False, dropna=False):
            yield tuple(map(str, key)), group

    def row(self, label: Any) -> Any:
        """The row with this label; the row's columns are attributes."""
        return next(self.labelled([label]).itertuples())

    def merge(
        self, other: Frame, on: str | Sequence[str], suffixes: tuple[str, str] = ("_x", "_y")
    ) -> Frame:
        """Joins each row with each row of ``other`` that is equal in the columns ``on``.

        Other columns that both frames have get the ``suffixes``. Rows keep this frame's order.
        """
        keys = [on] if isinstance(on, str) else list(on)
        places: dict[tuple[Any, ...], list[int]] = {}
        for i, key in enumerate(other.keys(keys)):
            places.setdefault(key, []).append(i)
        pairs = [(i, j) for i, key in enumerate(self.keys(keys)) for j in places.get(key, ())]
        left, right = (np.array(side, int) for side in (zip(*pairs) if pairs else ((), ())))  # noqa: B905
        shared = {name for name in self if name in other and name not in keys}
        ours = {
            f"{n}{suffixes[0]}" if n in shared else n: v[left] for n, v in self._columns.items()
        }
        theirs = {
            f"{n}{suffixes[1]}" if n in shared else n: v[right]
            for n, v in other._columns.items()
            if n not in keys
        }
        return Frame(ours | theirs)

    def to_pandas(self) -> pd.DataFrame:
        """The same data as a data frame of pandas."""
        import pandas as pd  # noqa: PLC0415 - see above

        return pd.DataFrame(dict(self._columns), index=self.index)


def _without_gaps(column: Array) -> bool:
    """Whether no value is missing; False for objects that are not all texts, without a look."""
    if column.dtype.kind == "f":
        return not np.isnan(column).any()
    return column.dtype.kind != "O" or {type(value) for value in column} <= {str}


def _is_column(values: Any) -> bool:
    return isinstance(values, (Series, np.ndarray, list, tuple))


class Groups:
    """Groups of a frame's rows. Iteration yields each group's key and rows.

    A key of several columns is a tuple.
    """

    def __init__(self, frame: Frame, by: str | Sequence[str], *, sort: bool, dropna: bool) -> None:
        names = [by] if isinstance(by, str) else by
        places: dict[tuple[Any, ...], list[int]] = {}
        for i, key in enumerate(frame.keys(names)):
            places.setdefault(key, []).append(i)
        rows = frame.rows(names)
        firsts = [(rows[groups[0]], groups) for groups in places.values()]
        groups = [
            (key[0] if isinstance(by, str) else key, of_key)
            for key, of_key in firsts
            if not (dropna and any(map(missing, key)))
        ]
        if sort:
            with contextlib.suppress(TypeError):  # a mix of numbers and texts has no order
                groups = sorted(groups, key=lambda group: group[0])
        self._frame = frame
        self._places = [(key, np.array(rows, int)) for key, rows in groups]

    def __iter__(self) -> Iterator[tuple[Any, Frame]]:
        """Yields the key of each group, and its rows as a frame."""
        return ((key, self._frame.take(rows)) for key, rows in self._places)

    def column(self, name: str) -> dict[Any, Series]:
        """One column of each group, by the group's key."""
        return {key: self._frame[name][rows] for key, rows in self._places}

    def spread(self, name: str, function: Callable[[Series], Any]) -> Series:
        """The result of ``function`` for each group's column, repeated in each row of the group."""
        values: list[Any] = [math.nan] * len(self._frame)
        for rows in (rows for _, rows in self._places):
            figure = function(self._frame[name][rows])
            for i in rows:
                values[i] = figure
        return Series(array_of(values), self._frame.index)


def concat(parts: Iterable[Frame]) -> Frame:
    """The rows of several frames in one frame, with labels from 0.

    A column that a frame lacks is NaN in the rows of that frame.
    """
    frames = list(parts)
    names = dict.fromkeys(name for frame in frames for name in frame)
    return Frame(
        {
            name: array_of(
                [
                    value
                    for frame in frames
                    for value in (frame[name] if name in frame else [math.nan] * len(frame))
                ]
            )
            for name in names
        },
        index=np.arange(sum(map(len, frames))),
    )


def whole(value: Any) -> Any:
    """An axis value as text, where a whole number that a frame stores as a float is whole again."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
