"""Makes the tables that answer questions, and reads intervals from rows of tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from itertools import chain
from typing import Any, TypeVar

from isthmus.frames import Frame
from isthmus.statistics import Interval

Context = TypeVar("Context")
"""What a question is answered from, such as ``analysis.context.AnalysisContext``."""
Rows = Iterable[tuple[object, ...]]
"""Rows of an answer's table: see ``table``."""


@dataclass(frozen=True)
class Answer:
    """The table of figures that answers one question of a study."""

    name: str
    question: str
    table: Frame
    """Figures; a column's name ends in the unit (``_s``, ``_Bps``), and sizes are bytes."""

    @property
    def has_rows(self) -> bool:
        """Whether the run has measurements that answer the question."""
        return not self.table.empty


def question(
    name: str, text: str, *columns: str
) -> Callable[[Callable[[Context], Rows]], Callable[[Context], Answer]]:
    """Makes a function that yields rows into one that returns the answer with their table.

    ``columns``: see ``table``.
    """

    def decorated(rows: Callable[[Context], Rows]) -> Callable[[Context], Answer]:
        @wraps(rows)
        def asked(context: Context) -> Answer:
            return Answer(name, text, table(rows(context), *columns))

        return asked

    return decorated


def time_of(row: Any, confidence: float = 0.95) -> Interval:
    """Time of a summary row in seconds, with its interval."""
    return Interval(float(row.median_s), float(row.ci_low_s), float(row.ci_high_s), confidence)


def rate_of(row: Any, confidence: float = 0.95) -> Interval:
    """Rate of a summary row in bytes a second, with its interval."""
    return time_of(row, confidence).inverse(float(row.bandwidth_Bps * row.median_s))


def interval_of(row: Any, name: str) -> Interval:
    """Figure in a row's column with the ends of its interval, which ``table`` names."""
    return Interval(*(float(getattr(row, f"{end}{name}")) for end in ("", "low_", "high_")))


def table(rows: Rows, *columns: str) -> Frame:
    """Makes a frame of rows; ``columns`` are the names of its columns, separated by blanks.

    A column ``[X]`` takes an ``Interval``, which becomes ``X``, ``low_X`` and ``high_X``. Columns
    behind ``|`` are left out if no row has a value in them.
    """
    names = re.sub(r"\[(\w+)\]", r"\1 low_\1 high_\1", " ".join(columns))
    always, sometimes = (part.split() for part in names.partition("|")[::2])
    cells = [
        tuple(chain.from_iterable(c[:3] if isinstance(c, Interval) else (c,) for c in row))
        for row in rows
    ]
    frame = Frame(cells, columns=[*always, *sometimes])
    empty = {name for name in sometimes if cells and not frame[name].notna().any()}
    return frame.without(empty)
