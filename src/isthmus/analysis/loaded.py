"""A run file with its analysis as a Python object, which ``isthmus.load`` returns."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus.analysis import changes
from isthmus.analysis.context import RunContext, answers
from isthmus.analysis.findings import Finding, findings
from isthmus.analysis.summary import CLOCKS, measured_on
from isthmus.analysis.typed import typed, with_run
from isthmus.answers import Answer
from isthmus.errors import analysing
from isthmus.frames import Frame
from isthmus.results import run_file
from isthmus.results.run_file import Run

if TYPE_CHECKING:
    import pandas as pd

_IDENTITY = ("study", "device", "api", "operation", "memory", "bytes")


class LoadedRun:
    """A run file with its analysis. Times are seconds, sizes bytes, rates bytes a second."""

    def __init__(self, path: str | Path) -> None:
        """Raises UsageError with one line on what is wrong with the file."""
        self.path = Path(path)
        self.run: Run = run_file.load(self.path)
        """Content of the run file."""

    def __repr__(self) -> str:
        """Describes the run: ``LoadedRun('first.json'): 12 points of transfer``."""
        return f"LoadedRun('{self.path}'): {len(self.run.points)} points of {self.run.studies}"

    @cached_property
    def _context(self) -> RunContext:
        with analysing(self.path):
            return RunContext.of(self.run)

    def frame(self) -> pd.DataFrame:
        """One row for each point and clock: the columns of ``show --format csv``, and the run's.

        ``isthmus export`` writes the same columns.
        """
        return typed(with_run(self._context.summary, self.run))

    def samples(self) -> pd.DataFrame:
        """One row for each sample: point, its axes, ``clock``, ``rerun``, ``index``, ``seconds``.

        ``rerun`` is the number of the process; ``seconds`` is the time of one repetition.
        """
        return typed(with_run(samples_of(self.run), self.run))

    @cached_property
    def findings(self) -> list[Finding]:
        """Findings of the run as data; ``isthmus show`` prints their sentences."""
        with analysing(self.path):
            return findings(self._context)

    @cached_property
    def answers(self) -> list[Answer]:
        """Tables behind the findings, one table for each question of the run's studies."""
        with analysing(self.path):
            return answers(self._context)

    @property
    def environment(self) -> dict[str, Any]:
        """The machine that measured: host, processor, kernel, memory, power settings."""
        return self.run.environment

    def compare(
        self, other: LoadedRun, least: float | None = None, *, mixed: bool = False
    ) -> changes.Comparison:
        """Compares the times of another run with this run's, as ``isthmus compare`` does.

        ``least``: smallest relevant difference as a share, else the runs' precision. ``mixed``:
        simulated times are compared with measured ones. Raises UsageError where the runs have no
        point in common.
        """
        base, new = (changes.Side(str(run.path), [run.run], str(run.path)) for run in (self, other))
        return changes.compare(base, new, least, mixed=mixed)


def samples_of(run: Run) -> Frame:
    """One row for each sample, with the columns of ``LoadedRun.samples``."""
    rows = [
        {
            **{name: getattr(point, name) for name in _IDENTITY},
            **point.axes,
            "clock": clock,
            "rerun": rerun.rerun,
            "index": index,
            "seconds": seconds,
        }
        for point in run.points
        for clock in CLOCKS
        for rerun in measured_on(point, clock)
        for index, seconds in enumerate(rerun.seconds(clock).tolist())
    ]
    columns = [*_IDENTITY, "clock", "rerun", "index", "seconds"]
    return Frame(rows, columns=None if rows else columns)
