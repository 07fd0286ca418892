"""What a user is told of a run while it goes on, where there is no terminal."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from isthmus.cli import progress
from isthmus.cli.progress import Progress
from isthmus.studies.base import Task

TASK = Task("read", 1, "aligned", {}, {})


class Told:
    """A progress display on a clock of its own, and what it wrote."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: self.now))
        self._out = io.StringIO()
        self.display = Progress(Console(file=self._out, width=200))

    def after(self, seconds: float, finished: int) -> str:
        """The last line when so many tasks have ended in so many seconds more."""
        self.now += seconds
        for _ in range(finished):
            self.display.finished(TASK, 0, "precision")
        return self._out.getvalue().splitlines()[-1]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    return Told(monkeypatch)


def test_what_is_left_follows_from_what_was_done(told: Told) -> None:
    told.display.begin(30, 0, 1000.0)
    assert told.after(20.0, 1) == "1 of 30 measured, 100 % precise, about 9:40 left"


def test_no_more_is_left_than_the_budget(told: Told) -> None:
    told.display.begin(30, 0, 50.0)
    assert told.after(20.0, 1).endswith("about 0:30 left")
    assert told.after(40.0, 1).endswith("about 0:00 left")


def test_another_part_of_the_run_counts_anew(told: Told) -> None:
    told.display.begin(3, 0, 1000.0)
    told.after(20.0, 3)
    told.display.begin(2, 0, 1000.0)
    assert told.after(20.0, 1) == "1 of 2 measured, 100 % precise, about 0:20 left"


def test_more_repetitions_than_the_fewest_are_no_surplus(told: Told) -> None:
    told.display.begin(1, 0, 1000.0)
    told.after(11.0, 1)
    assert told.after(20.0, 1) == "2 of 2 measured, 100 % precise, about 0:00 left"
