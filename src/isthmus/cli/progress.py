"""Shows the progress of a run: new answers, the current measurement, and the remaining time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import TextColumn

from isthmus.measure.rounds import Standing
from isthmus.measure.runner import Answer
from isthmus.output import line
from isthmus.thresholds import LARGE
from isthmus.units import format_rate, format_seconds, format_size, printable

_PLAIN_EVERY_S = 10.0
"""Least seconds between two lines of progress, if the output is no terminal."""
_LEAST_WIDTH = 0.001
"""Least half-width that is shown, as a share: figures have three digits."""
_WHY = {
    "precise": "",
    "open": " so far",
    "time": ": the time is up",
    "scatter": ": processes differ too much",
    "host": ": the host's own speed varies",
    "few": ": too few processes to know the host's speed",
}
"""Words for the reason why an interval is not narrower, by ``Certainty``."""
_MOST_NAMED = 2
"""Most devices of an answer that are named one by one; else the first and the last are named."""


class Progress:
    """Shows a line for each answer of a run, and the progress.

    Progress is one live line on a terminal, else a line every few seconds. The line counts answers
    all are known, then points.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock
        self._bar = Bar(
            TextColumn("{task.fields[line]}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._label = "looking for devices"
        self._id = self._bar.add_task("", total=None, line=self._label)
        self._last_line = clock()

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def visiting(self, label: str, standing: Standing) -> None:
        """Shows the current measurement, and how far the run is."""
        counted = _counted(standing)
        if self._console.is_terminal:
            room = self._console.width - len(counted) - 3
            self._bar.update(self._id, line=f"{counted}  {printable(label)[: max(room, 0)]}")
            return
        now = self._clock()
        if now - self._last_line >= _PLAIN_EVERY_S:
            self._last_line = now
            self._print(f"{counted}: {label}")

    def answered(self, answer: Answer) -> None:
        """Prints the line of an answer above the progress."""
        self._print(answer_line(answer))

    def say(self, message: str) -> None:
        """Prints a message above the progress."""
        self._print(f"isthmus: {message}")

    def _print(self, text: str) -> None:
        line(self._bar.console, text)


def answer_line(answer: Answer) -> str:
    """A headline in one line: ``cuda:0 copy to device, 64Mi pinned: 55.1 GB/s +-0.2 %``.

    Devices that are alike have their range: ``7 devices, cuda:1 to cuda:7, copy to device, 64Mi
    pinned: 55.1 GB/s to 55.0 GB/s``.
    """
    size = format_size(answer.bytes) if answer.bytes else ""
    what = " ".join(filter(None, (size, answer.memory)))
    values = sorted(interval.value for interval in answer.seconds)
    # A copy below the clock's resolution has the time 0 s, so that no rate can be computed.
    of_rate = answer.moved_bytes and answer.bytes >= LARGE and values[0] > 0
    shown = [
        format_rate(answer.moved_bytes / value) if of_rate else format_seconds(value)
        for value in values
    ]
    figure = " to ".join(dict.fromkeys((shown[0], shown[-1])))
    devices = ", ".join(answer.devices)
    if len(answer.devices) > _MOST_NAMED:
        count = len(answer.devices)
        devices = f"{count} devices, {answer.devices[0]} to {answer.devices[-1]},"
    grows = "" if answer.plateau else "; larger copies may be faster"
    return f"{devices} {answer.says}{what and f', {what}'}: {figure}{_certainty(answer)}{grows}"


def _certainty(answer: Answer) -> str:
    """The interval's half-width in words, with the reason why the interval is not narrower."""
    if answer.simulated:
        return ", simulated"
    if not all(interval.known for interval in answer.seconds):
        return " (one process)"
    widest = max(_LEAST_WIDTH, *(interval.half_width for interval in answer.seconds))
    digits = f"{100 * widest:.2g}" if widest < 0.1 else f"{100 * widest:.0f}"  # avoids an exponent
    if widest >= 1:
        return f"{' so far' * (answer.certainty == 'open')}: processes differ too much to tell"
    return f" +-{digits} %{_WHY[answer.certainty]}"


def _counted(standing: Standing) -> str:
    """Words for the progress: ``6 of 8 answers, 20 s left``, then ``12 of 40 points``."""
    if standing.answers < standing.all_answers:
        counted = f"{standing.answers} of {standing.all_answers} answers"
    else:
        counted = f"{standing.points} of {standing.all_points} points"
    return f"{counted}, {_minutes(standing.left_s)} left"


def _minutes(seconds: float) -> str:
    return f"{math.ceil(seconds)} s" if seconds < 120 else f"{math.ceil(seconds / 60)} min"
