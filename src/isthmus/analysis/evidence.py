"""What answers are made of: a run's trusted rows, and the form that an answer takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from isthmus import boards
from isthmus.analysis.ratios import Pair, memory_copies, pairs, varying_axes, with_axes
from isthmus.analysis.summary import resolved
from isthmus.boards import Board
from isthmus.errors import IsthmusError
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.statistics import Interval, Judgement, judge, relevant, simultaneous

SERIES = ["device", "api", "operation", "memory", "axes", "clock"]
"""What makes one line in a plot: points that differ in size only."""


@dataclass(frozen=True)
class Answer:
    """What one question of a study came to."""

    name: str
    question: str
    table: pd.DataFrame
    """Its figures; column names end in their unit: ``_s``, ``_Bps``; sizes are bytes."""

    @classmethod
    def of(
        cls, name: str, question: str, rows: Iterable[tuple[object, ...]], *columns: str
    ) -> Answer:
        """An answer whose table has these rows and columns, as ``table`` has them."""
        return cls(name, question, table(rows, *columns))

    @property
    def found(self) -> bool:
        """Whether the run holds anything that answers it."""
        return not self.table.empty


@dataclass(frozen=True)
class Evidence:
    """A run as the answers need it."""

    run: Run
    study: str
    every: pd.DataFrame
    """Summary rows of all studies that the clock could tell; ``axes`` in words where this study's
    differ."""
    rows: pd.DataFrame
    """This study's, of data that arrived and a bandwidth; all clocks but the device's.

    Operations that move no data (verified ``na``, e.g. a launch) have no bandwidth: see ``timed``.
    """
    pairs: list[Pair]
    copies: frozenset[str]
    """Devices that are plain memory copies."""

    @classmethod
    def of(
        cls, run: Run, summary: pd.DataFrame, study: str, columns: Sequence[str] = ()
    ) -> Evidence:
        """Takes what can be trusted from a run and its summary.

        ``columns`` are the study's own; where no point has one it is empty.
        """
        missing = [name for name in columns if name not in summary]
        summary = summary.assign(**dict.fromkeys(missing, ""))
        axes = varying_axes(point for point in run.points if point.study == study)
        every = with_axes(resolved(summary), axes)
        rows = every[every["study"] == study]
        rows = rows[(rows["verified"] == "true") & rows["bandwidth_Bps"].gt(0)]
        return cls(
            run=run,
            study=study,
            every=every,
            rows=rows[rows["clock"] != "device"],  # it leaves out what the host had to do
            pairs=pairs(run, study),
            copies=memory_copies(run),
        )

    @property
    def timed(self) -> pd.DataFrame:
        """Rows of this study that have a time, also of operations that move no data; all clocks.

        Left out are points where data did not arrive, and what was not measured.
        """
        rows = self.every[self.every["study"] == self.study]
        return rows[rows["verified"].ne("false") & rows["median_s"].gt(0)]

    @property
    def confidence(self) -> float:
        """That of every interval of the run."""
        return self.run.settings.confidence

    def together(self, comparisons: int) -> float:
        """Confidence of each interval of so many comparisons that one answer judges."""
        return simultaneous(self.confidence, comparisons)

    def judge(self, ratio: Interval) -> Judgement:
        """What a ratio of times says, beyond what the run was asked to tell."""
        return judge(ratio, relevant(self.run.settings.precision))

    def speaks_of(self, device: str) -> bool:
        """Whether a sentence should: the memory copy is left to the table beside others."""
        return device not in self.copies or set(self.rows["device"]) <= self.copies


def time_of(row: Any, confidence: float = 0.95) -> Interval:
    """Seconds of a summary row and their interval."""
    return Interval(float(row.median_s), float(row.ci_low_s), float(row.ci_high_s), confidence)


def rate_of(row: Any, confidence: float = 0.95) -> Interval:
    """Bytes a second of a summary row and their interval."""
    return time_of(row, confidence).inverse(float(row.bandwidth_Bps * row.median_s))


def each(rows: pd.DataFrame) -> Iterator[Any]:
    """Rows one by one, their columns as attributes."""
    return rows.itertuples(index=False)  # type: ignore[no-any-return, unused-ignore]


def board_of(device: DeviceRecord) -> Board | None:
    """The board of an emulated card: as the run recorded it, or as the run names it."""
    try:
        named = device.properties.get("emulated_card")
        return boards.named(named) if named else boards.recorded(device.properties)
    except IsthmusError:
        return None


def known_board(device: DeviceRecord) -> str:
    """Name of the installed board that a device is, or is an unchanged model of; empty: none."""
    if not device.simulated:
        name = device.name.lower()
        return next((board for board in boards.names() if board in name), "")
    board = board_of(device)
    if board is None or board.name not in boards.names():
        return ""
    return board.name if board.flat() == boards.load(board.name).flat() else ""


def table(rows: Iterable[tuple[object, ...]], *columns: str) -> pd.DataFrame:
    """A frame of rows, with its columns even where there are none; blanks divide their names."""
    return pd.DataFrame(list(rows), columns=" ".join(columns).split())
