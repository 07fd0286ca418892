"""Type of a table's column (``isthmus.frames``): a numpy array with the labels of its rows."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

Array = NDArray[Any]


def missing(value: Any) -> bool:
    """Whether a value is None or NaN."""
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value))


def array_of(values: Iterable[Any]) -> Array:
    """Makes an array: of numbers, with NaN for None, or of objects if any value is no number."""
    if isinstance(values, Series):
        return values.values
    if isinstance(values, np.ndarray):
        return values
    items = list(values)
    kinds = {type(value) for value in items}
    if kinds and all(issubclass(kind, (bool, np.bool_)) for kind in kinds):
        return np.array(items, bool)
    numbers = kinds - {type(None)}
    if numbers and all(
        issubclass(kind, (int, float, np.number)) and kind is not bool for kind in numbers
    ):
        if numbers == kinds and all(issubclass(kind, (int, np.integer)) for kind in kinds):
            if all(-(1 << 63) <= value < 1 << 63 for value in items):
                return np.array(items, np.int64)
        else:
            return np.array(items, np.float64)
    objects = np.empty(len(items), object)
    for i, value in enumerate(items):  # one by one: numpy would make more dimensions of lists
        objects[i] = value
    return objects


class _Text:
    """Functions that work on each text of a column."""

    def __init__(self, column: Series) -> None:
        self._column = column

    def _each(self, function: Callable[[str], Any], kind: type | None = None) -> Series:
        texts = [str(text) for text in self._column.values]
        of_text = {text: function(text) for text in dict.fromkeys(texts)}
        results = [of_text[text] for text in texts]
        return Series(np.array(results, kind) if kind else array_of(results), self._column.index)

    def contains(self, pattern: str) -> Series:
        """For each text, whether it contains a match of a regular expression."""
        return self._each(lambda text: re.search(pattern, text) is not None, bool)

    def replace(self, old: str, new: str) -> Series:
        """Texts with each ``old`` replaced."""
        return self._each(lambda text: text.replace(old, new))


class Series(NDArrayOperatorsMixin):  # noqa: PLW1641 - comparison gives a column
    """A column, with the labels of its rows."""

    def __init__(self, values: Iterable[Any], index: Array | None = None) -> None:
        self.values = array_of(values)
        self.index = np.arange(len(self.values)) if index is None else index

    if TYPE_CHECKING:  # operators that NDArrayOperatorsMixin defines

        def __eq__(self, other: object) -> Series: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Series: ...  # type: ignore[override]
        def __lt__(self, other: Any) -> Series: ...
        def __le__(self, other: Any) -> Series: ...
        def __gt__(self, other: Any) -> Series: ...
        def __ge__(self, other: Any) -> Series: ...
        def __and__(self, other: Any) -> Series: ...
        def __or__(self, other: Any) -> Series: ...
        def __add__(self, other: Any) -> Series: ...
        def __radd__(self, other: Any) -> Series: ...
        def __sub__(self, other: Any) -> Series: ...
        def __rsub__(self, other: Any) -> Series: ...
        def __mul__(self, other: Any) -> Series: ...
        def __rmul__(self, other: Any) -> Series: ...
        def __truediv__(self, other: Any) -> Series: ...
        def __rtruediv__(self, other: Any) -> Series: ...
        def __mod__(self, other: Any) -> Series: ...
        def __rmod__(self, other: Any) -> Series: ...
        def __invert__(self) -> Series: ...
        def __neg__(self) -> Series: ...

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The values as an array, for numpy."""
        return np.asarray(self.values, dtype)

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Applies a numpy function to each value; values of any type compare for equality."""
        if method != "__call__":
            return NotImplemented
        plain = [value.values if isinstance(value, Series) else value for value in inputs]
        if function in {np.equal, np.not_equal}:
            kinds = {np.asarray(value).dtype.kind in "biuf" for value in plain}
            if kinds != {True}:
                plain = [np.asarray(value, object) for value in plain]
                return Series(np.asarray(function(*plain), bool), self.index)
        options.pop("out", None)  # an operator such as += makes a new column
        with np.errstate(all="ignore"):
            return Series(function(*plain, **options), self.index)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        """Iterates over the values as Python objects, not numpy's."""
        return iter(self.values.tolist())

    def __getitem__(self, rows: Any) -> Series:
        """The rows that a mask or a slice selects."""
        chosen = positions(rows)
        return Series(self.values[chosen], self.index[chosen])

    def _of(self, values: Any) -> Series:
        return Series(values, self.index)

    @property
    def empty(self) -> bool:
        """Whether the column has no rows."""
        return not len(self)

    @property
    def iloc(self) -> Array:
        """The values as an array, to select them by position."""
        return self.values

    @property
    def str(self) -> _Text:
        """Functions that work on each text of the column."""
        return _Text(self)

    def tolist(self) -> list[Any]:
        """Values as Python's own types."""
        return list(self.values.tolist())

    def to_numpy(self, dtype: Any = None) -> Array:
        """The values as an array."""
        return np.asarray(self.values, dtype)

    def astype(self, kind: Any) -> Series:
        """The values as another type."""
        return self._of(self.values.astype(kind))

    def eq(self, other: Any) -> Series:
        """For each value, whether it equals ``other``."""
        result: Series = self == other
        return result

    def ne(self, other: Any) -> Series:
        """For each value, whether it differs from ``other``."""
        result: Series = self != other
        return result

    def gt(self, other: Any) -> Series:
        """For each value, whether it is greater than ``other``."""
        result: Series = self > other
        return result

    def between(self, low: Any, high: Any) -> Series:
        """For each value, whether it lies from ``low`` to ``high``, both included."""
        result: Series = (self >= low) & (self <= high)
        return result

    def isin(self, wanted: Iterable[Any]) -> Series:
        """For each value, whether it is in ``wanted``."""
        choices = set(wanted)
        return self._of(np.array([value in choices for value in self], bool))

    def isna(self) -> Series:
        """For each value, whether it is missing."""
        return self._of(np.array([missing(value) for value in self], bool))

    def notna(self) -> Series:
        """For each value, whether it is present."""
        result: Series = ~self.isna()
        return result

    def dropna(self) -> Series:
        """The values that are present."""
        return self[self.notna()]

    def fillna(self, value: Any) -> Series:
        """Values, with ``value`` in place of missing ones."""
        return self._of(array_of([value if missing(item) else item for item in self]))

    def where(self, condition: Any, other: Any = math.nan) -> Series:
        """Values where the condition holds, ``other`` elsewhere."""
        replacements = other if isinstance(other, Series) else [other] * len(self)
        chosen = zip(self, replacements, np.asarray(condition), strict=True)
        return self._of(array_of([value if holds else rest for value, rest, holds in chosen]))

    def map(self, function: Callable[[Any], Any]) -> Series:
        """Applies a function to each value."""
        kind = None if len(self) else bool
        results = [function(value) for value in self]
        return self._of(np.array(results, kind) if kind else array_of(results))

    def unique(self) -> list[Any]:
        """Different values, in order of appearance."""
        return list(dict.fromkeys(self))

    def nunique(self, dropna: bool = True) -> int:
        """Number of different values."""
        return len(set(map(key_of, self.dropna() if dropna else self)))

    def abs(self) -> Series:
        """Absolute values."""
        return self._of(np.abs(self.values))

    def _present(self) -> Array:
        return self.values if self.values.dtype.kind in "biu" else self.dropna().values

    def mean(self, skipna: bool = True) -> Any:
        """Mean of the present values; with ``skipna`` False of all values."""
        present = self._present() if skipna else self.values
        return present.mean() if len(present) else math.nan

    def median(self) -> Any:
        """Median of the present values."""
        present = self._present()
        return np.median(present) if len(present) else math.nan

    def sum(self) -> Any:
        """Sum of the present values."""
        return self._present().sum()

    def min(self) -> Any:
        """The least present value."""
        present = self._present().tolist()
        return min(present) if present else math.nan

    def max(self) -> Any:
        """The greatest present value."""
        present = self._present().tolist()
        return max(present) if present else math.nan

    def any(self) -> bool:
        """Whether any value is true."""
        return bool(self.values.any())

    def all(self) -> bool:
        """Whether all values are true."""
        return bool(self.values.all())

    def argmax(self) -> int:
        """Position of the greatest present value."""
        return int(np.nanargmax(self.values.astype(float)))

    def argmin(self) -> int:
        """Position of the least present value."""
        return int(np.nanargmin(self.values.astype(float)))

    def idxmax(self) -> int:
        """Label of the greatest present value."""
        return int(self.index[self.argmax()])

    def idxmin(self) -> int:
        """Label of the least present value."""
        return int(self.index[self.argmin()])


def positions(rows: Any) -> Any:
    """Converts a mask, positions or a slice to a form by which numpy selects."""
    if isinstance(rows, slice):
        return rows
    return np.asarray(rows.values if isinstance(rows, Series) else rows)


_MISSING = object()


def key_of(value: Any) -> Any:
    """A value for comparison: one and the same value for all missing values."""
    return _MISSING if missing(value) else value
