"""The journal: what a run has measured so far, written as points finish.

One JSON line each: first the run without points, then every rerun of every point as it ends. A run
that is killed leaves it next to its output; ``--resume`` reads it and continues.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import msgspec

from isthmus.errors import IsthmusError, UsageError
from isthmus.results.run_file import JOURNAL_ENDING, Point, Rerun, Run

PointKey = tuple[object, ...]


class Entry(msgspec.Struct, frozen=True):
    """One rerun of one point; the point itself has no reruns here."""

    point: Point
    rerun: Rerun | None = None


def key_of(point: Point) -> PointKey:
    """Identity of a point, the same in each session of a run."""
    return (
        point.study,
        point.device,
        point.operation,
        point.memory,
        point.bytes,
        *sorted(point.axes.items()),
    )


def path_of(out: Path) -> Path:
    """Path of the journal of a run file."""
    return out.with_name(out.name + JOURNAL_ENDING)


def path_of_previous(out: Path) -> Path:
    """Path of the previous session's journal while a resumed session starts its own."""
    return out.with_name(out.name + ".journal.before")


class Journal:
    """Appends entries; each is with the kernel when ``add`` returns, so that a kill loses none."""

    def __init__(self, path: Path, run: Run) -> None:
        """Starts a new journal; raises UsageError where one exists."""
        self.path = path
        try:
            self._file = path.open("xb")
        except FileExistsError as error:
            raise UsageError(
                f"{path} is left from a run that was cut off: go on with --resume, or remove it"
            ) from error
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
        self._write(run)

    def add(self, entry: Entry) -> None:
        """Writes one entry."""
        self._write(entry)

    def _write(self, value: Run | Entry) -> None:
        try:
            self._file.write(msgspec.json.encode(value) + b"\n")
            self._file.flush()
        except OSError as error:
            raise IsthmusError(f"cannot write {self.path}: {error.strerror}") from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            os.fsync(self._file.fileno())
        self._file.close()

    def remove(self) -> None:
        """Removes the journal, once the run file holds everything."""
        self.path.unlink(missing_ok=True)


def read(path: Path) -> tuple[Run, list[Entry]]:
    """Run and entries of a journal; a last line that was cut off is ignored."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    try:
        run = msgspec.json.decode(lines[0], type=Run)
    except msgspec.DecodeError as error:
        raise UsageError(f"{path}: not a journal of this version of Isthmus") from error
    entries: list[Entry] = []
    for line in lines[1:]:
        try:
            entries.append(msgspec.json.decode(line, type=Entry))
        except msgspec.DecodeError:
            break
    return run, entries


def entries_of(points: Iterable[Point]) -> list[Entry]:
    """The entries that a journal of these points would hold."""
    return [
        Entry(msgspec.structs.replace(point, reruns=[]), rerun)
        for point in points
        for rerun in point.reruns
    ]
