"""What a user is shown of a run while it goes on."""

from __future__ import annotations

import io
import math

import pytest
from rich.console import Console

from isthmus.cli.progress import Progress
from isthmus.measure.rounds import Standing
from isthmus.measure.runner import Answer
from isthmus.statistics import Interval

LABEL = "transfer card:u250 read 4Ki"
RATE = Answer(
    ["cuda:0"], "copy to device", "pinned", 64 << 20, 64 << 20,
    [Interval(1.2e-3, 1.198e-3, 1.202e-3)], certainty="precise", simulated=False, plateau=True,
)  # fmt: skip


WIDE = Interval(1.2e-3, 1e-4, 16.8e-3)
ONE_PROCESS = Interval(1.2e-3, math.nan, math.nan)


class Shown:
    """A progress display on a clock of its own, and what it wrote."""

    def __init__(self, **console: object) -> None:
        self.now = 0.0
        self.out = io.StringIO()
        self.display = Progress(
            Console(file=self.out, **console),  # type: ignore[arg-type]
            clock=lambda: self.now,
        )

    def lines(self) -> list[str]:
        return self.out.getvalue().splitlines()

    def after(self, seconds: float, *standing: float) -> list[str]:
        """All lines when so many seconds more have passed."""
        self.now += seconds
        self.display.visiting(LABEL, Standing(*standing))  # type: ignore[arg-type]
        return self.lines()


@pytest.fixture
def shown() -> Shown:
    return Shown(width=200)


def test_answers_are_counted_first_and_points_when_all_answers_are_known(shown: Shown) -> None:
    assert shown.after(11.0, 6, 8, 6, 60, 20.0)[-1] == f"6 of 8 answers, 20 s left: {LABEL}"
    assert shown.after(11.0, 8, 8, 12, 60, 200.0)[-1] == f"12 of 60 points, 4 min left: {LABEL}"


def test_without_a_terminal_a_line_comes_every_ten_seconds(shown: Shown) -> None:
    before = len(shown.after(11.0, 0, 8, 0, 60, 20.0))
    for _ in range(9):
        assert len(shown.after(1.0, 1, 8, 1, 60, 20.0)) == before
    assert len(shown.after(1.0, 1, 8, 1, 60, 20.0)) == before + 1


def test_an_answer_is_one_line_at_once(shown: Shown) -> None:
    shown.display.answered(RATE)
    assert shown.lines() == ["cuda:0 copy to device, 64Mi pinned: 55.9 GB/s +-0.17 %"]


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"bytes": 4096, "moved_bytes": 4096}, "4Ki pinned: 1.20 ms +-0.17 %"),
        (
            {"seconds": [WIDE], "certainty": "scatter"},
            "64Mi pinned: 55.9 GB/s: processes differ too much to tell",
        ),
        (
            {"seconds": [WIDE], "certainty": "open"},
            "64Mi pinned: 55.9 GB/s so far: processes differ too much to tell",
        ),
        (
            {"certainty": "few"},
            "64Mi pinned: 55.9 GB/s +-0.17 %: too few processes to know the host's speed",
        ),
        ({"certainty": "scatter"}, "64Mi pinned: 55.9 GB/s +-0.17 %: processes differ too much"),
        ({"certainty": "open"}, "64Mi pinned: 55.9 GB/s +-0.17 % so far"),
        ({"certainty": "time"}, "64Mi pinned: 55.9 GB/s +-0.17 %: the time is up"),
        ({"simulated": True}, "64Mi pinned: 55.9 GB/s, simulated"),
        (
            {"seconds": [Interval(1.2e-3, math.nan, math.nan)]},
            "64Mi pinned: 55.9 GB/s (one process)",
        ),
        (
            {"certainty": "host"},
            "64Mi pinned: 55.9 GB/s +-0.17 %: the host's own speed varies",
        ),
        (
            {"certainty": "scatter", "seconds": [Interval(1.2e-3, 1e-3, 2.395e-3)]},
            "64Mi pinned: 55.9 GB/s +-100 %: processes differ too much",
        ),
        ({"plateau": False}, "64Mi pinned: 55.9 GB/s +-0.17 %; larger copies may be faster"),
        ({"moved_bytes": 0}, "64Mi pinned: 1.20 ms +-0.17 %"),
        (
            {"seconds": [Interval(0.0, math.nan, math.nan)]},
            "64Mi pinned: 0 ns (one process)",
        ),
    ],
)
def test_an_answer_says_how_certain_it_is(
    shown: Shown, changes: dict[str, object], line: str
) -> None:
    shown.display.answered(RATE._replace(**changes))  # type: ignore[arg-type]
    assert shown.lines() == [f"cuda:0 copy to device, {line}"]


def test_alike_devices_answer_in_one_line_with_their_range(shown: Shown) -> None:
    seconds = [Interval(value, 0.999 * value, 1.001 * value) for value in (1.2e-3, 1.21e-3)]
    shown.display.answered(RATE._replace(devices=["cuda:1", "cuda:2"], seconds=seconds))
    seven = [f"cuda:{number}" for number in range(1, 8)]
    shown.display.answered(RATE._replace(devices=seven, seconds=7 * seconds[:1]))
    assert shown.lines() == [
        "cuda:1, cuda:2 copy to device, 64Mi pinned: 55.9 GB/s to 55.5 GB/s +-0.1 %",
        "7 devices, cuda:1 to cuda:7, copy to device, 64Mi pinned: 55.9 GB/s +-0.1 %",
    ]


@pytest.mark.parametrize("width", [30, 60, 120])
def test_on_a_terminal_progress_is_one_line(width: int) -> None:
    shown = Shown(width=width, force_terminal=True, color_system=None)
    with shown.display:
        shown.display.visiting(LABEL * 5, Standing(0, 8, 0, 269, 60.0))
    assert "0 of 8 answers, 60 s" in shown.out.getvalue()
    assert "\n\n" not in shown.out.getvalue().replace("\r", "")
