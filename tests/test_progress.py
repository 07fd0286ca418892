"""What a user is shown of a run while it goes on."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from isthmus.cli.progress import Progress
from isthmus.measure.plan import Task

TASK = Task("read", 1, "aligned", {}, {})
LABEL = "transfer card:u250 read 4Ki"


class Shown:
    """A progress display on a clock of its own, and what it wrote."""

    def __init__(self, **console: object) -> None:
        self.now = 0.0
        self.out = io.StringIO()
        self.display = Progress(
            Console(file=self.out, **console),  # type: ignore[arg-type]
            clock=lambda: self.now,
        )
        self.display.visiting(LABEL)

    def lines(self) -> list[str]:
        return self.out.getvalue().splitlines()

    def after(self, seconds: float, finished: int) -> str:
        """The last line when so many tasks have ended in so many seconds more."""
        self.now += seconds
        for _ in range(finished):
            self.display.finished(TASK, 0, "precision")
        self.display.visiting(LABEL)
        return self.lines()[-1]


@pytest.fixture
def shown() -> Shown:
    return Shown(width=200)


def test_what_is_measured_how_much_is_done_and_the_time_left_at_most(shown: Shown) -> None:
    shown.display.begin(30, 0, 50.0)
    assert shown.after(20.0, 2) == f"1 of 30 done, at most 0:30 left: {LABEL}"
    assert shown.after(40.0, 1).startswith("3 of 30 done, at most 0:00 left")


def test_without_a_terminal_a_line_comes_every_ten_seconds(shown: Shown) -> None:
    shown.display.begin(30, 0, 1000.0)
    shown.after(11.0, 1)
    before = len(shown.lines())
    for _ in range(9):
        shown.after(1.0, 1)
    assert len(shown.lines()) == before
    shown.after(1.0, 1)
    assert len(shown.lines()) == before + 1


def test_what_is_simulated_has_no_limit_but_a_pace(shown: Shown) -> None:
    shown.display.begin(30, 10, math.inf)
    assert shown.after(11.0, 0).startswith("10 of 30 done: ")
    shown.after(9.0, 5)
    assert shown.after(11.0, 0).startswith("15 of 30 done, about 1:33 left")


def test_a_task_that_ends_twice_is_no_surplus(shown: Shown) -> None:
    shown.display.begin(1, 0, 60.0)
    assert shown.after(11.0, 2).startswith("1 of 1 done")
    assert shown.after(11.0, 0).startswith("1 of 1 done")


@pytest.mark.parametrize("width", [30, 60, 120])
def test_on_a_terminal_it_is_one_line(width: int) -> None:
    shown = Shown(width=width, force_terminal=True, color_system=None)
    with shown.display:
        shown.display.begin(269, 0, 60.0)
        shown.display.visiting(LABEL * 5)
    assert "0 of 269 done, at most 1:0" in shown.out.getvalue()
    assert "\n\n" not in shown.out.getvalue().replace("\r", "")
