"""Progress of a run: points done, precision reached, time left."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from isthmus.results.run_file import State
from isthmus.studies.base import Task

_PLAIN_EVERY_S = 10.0
_WIDE = 100
"""Columns; narrower terminals go without a bar."""


class Progress:
    """A bar on a terminal; a line now and then elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Bar(
            TextColumn("{task.fields[now]}", justify="left"),
            *([BarColumn(bar_width=24)] if console.width >= _WIDE else []),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._id = self._bar.add_task("", total=None, now="looking for devices", state="")
        self._total = 0
        self._before = 0
        self._most_s = 0.0
        self._states: Counter[State] = Counter()
        self._began = time.monotonic()
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
        """Starts counting anew: see Watcher."""
        self._total = total
        self._before = done
        self._most_s = most_s
        self._states.clear()
        self._began = time.monotonic()
        self._bar.update(self._id, total=total, completed=done)

    def visiting(self, label: str) -> None:
        """Names what is measured now."""
        width = 32 if self._console.width >= _WIDE else 20
        self._bar.update(self._id, now=f"{label[:width]:<{width}}")

    def finished(self, task: Task, rerun: int, state: State) -> None:  # noqa: ARG002
        """Counts a task that ended."""
        self._states[state] += 1
        self._bar.update(self._id, advance=1, state=self._summary())
        now = time.monotonic()
        if not self._console.is_terminal and now - self._last_line > _PLAIN_EVERY_S:
            self._last_line = now
            done = self._before + self._done
            total = max(done, self._total)  # some repeat until they are certain
            self._console.print(f"{done} of {total} measured, {self._summary()}")

    def say(self, message: str) -> None:
        """One line above the bar."""
        self._bar.console.print(
            f"isthmus: {message}", markup=False, highlight=False, soft_wrap=True
        )

    @property
    def _done(self) -> int:
        return sum(self._states.values())

    def _summary(self) -> str:
        reached = 100 * self._states["precision"] / self._done
        took = time.monotonic() - self._began
        open_ = self._total - self._before - self._done
        left = max(0.0, min(took / self._done * open_, self._most_s - took))
        minutes, seconds = divmod(round(left), 60)
        return f"{reached:.0f} % precise, about {minutes}:{seconds:02d} left"
