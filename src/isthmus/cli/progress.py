"""Progress of a run: current task, number of finished tasks, and remaining time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from types import TracebackType

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import TextColumn

from isthmus.measure.plan import Task
from isthmus.output import line
from isthmus.results.run_file import State
from isthmus.units import printable

_PLAIN_EVERY_S = 10.0


class Progress:
    """Shows progress: one live line on a terminal, else a line every few seconds.

    Counts the tasks of all studies of a run. A task counts once, whatever its number of processes.
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
        self._total = 0
        self._done = 0
        self._before = 0
        self._ends = math.inf
        self._began = clock()
        self._last_line = self._began

    def __enter__(self) -> Progress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def begin(self, total: int, done: int, most_s: float) -> None:
        """Starts counting: see Watcher."""
        self._total, self._done, self._before = total, done, done
        self._began = self._clock()
        self._ends = self._began + most_s
        self._update()

    def visiting(self, label: str) -> None:
        """Names what is measured now."""
        self._label = printable(label)
        self._update()

    def finished(self, task: Task, rerun: int, state: State) -> None:  # noqa: ARG002
        """Counts a task that ended."""
        self._done += 1
        self._update()

    def say(self, message: str) -> None:
        """One line above the progress."""
        line(self._bar.console, f"isthmus: {message}")

    def _update(self) -> None:
        counted = f"{min(self._done, self._total)} of {self._total} done{self._left()}"
        if self._console.is_terminal:
            room = self._console.width - len(counted) - 3
            self._bar.update(self._id, line=f"{counted}  {self._label[: max(room, 0)]}")
            return
        now = self._clock()
        if now - self._last_line >= _PLAIN_EVERY_S:
            self._last_line = now
            line(self._console, f"{counted}: {self._label}")

    def _left(self) -> str:
        """The remaining time at most; for simulated devices an estimate from the pace so far."""
        now = self._clock()
        if math.isfinite(self._ends):
            return f", at most {_minutes(max(0.0, self._ends - now))} left"
        fresh = self._done - self._before
        if not fresh:
            return ""
        left = (now - self._began) / fresh * max(0, self._total - self._done)
        return f", about {_minutes(left)} left"


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(math.ceil(seconds), 60)
    return f"{minutes}:{rest:02d}"
