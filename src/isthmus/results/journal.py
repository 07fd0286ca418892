"""Writes and reads the journal of a run, which gets each result as soon as it is measured.

Each line is a JSON value: first the run without points, then each rerun of a point as it ends. A
run that is killed leaves the journal beside its output; ``--resume`` reads it and continues.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from isthmus.errors import IsthmusError, UsageError
from isthmus.results import run_file
from isthmus.results.run_file import (
    FINAL_STATES,
    JOURNAL_ENDING,
    MOST_BYTES,
    UNREADABLE,
    Point,
    Rerun,
    Run,
)
from isthmus.system import private

PointKey = tuple[object, ...]
_MOST_BYTES = 2 * MOST_BYTES
"""Bytes of the largest journal that is read. It is larger than its run file, because it repeats
each point for each rerun."""


class Entry(msgspec.Struct, frozen=True):
    """A line of the journal: one rerun of a point, whose ``point.reruns`` is empty."""

    point: Point
    rerun: Rerun | None = None


def key_of(point: Point) -> PointKey:
    """Key of a point in all sessions of a run: study, device, operation, memory, size, axes."""
    return (
        point.study,
        point.device,
        point.operation,
        point.memory,
        point.bytes,
        *sorted(point.axes.items()),
    )


def path_of(out: Path) -> Path:
    """Path of the journal that belongs to a run file."""
    return out.with_name(out.name + JOURNAL_ENDING)


def path_of_previous(out: Path) -> Path:
    """Path to which a resumed session moves the previous journal until its own is complete."""
    return out.with_name(out.name + ".journal.before")


class Journal:
    """Appends entries to a file. A kill of this process loses no entry that ``add`` has written."""

    def __init__(self, path: Path, run: Run) -> None:
        """Creates the journal of ``run``. Raises UsageError if the file exists."""
        self.path = path
        try:
            self._file = path.open("xb")
        except FileExistsError as error:
            raise UsageError(
                f"{path} is left from a run that was cut off: go on with --resume, or remove it"
            ) from error
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
        try:
            self._write(run)
        except IsthmusError:  # without its first line no journal is readable: remove it
            self._close()
            self.remove()
            raise

    def add(self, entry: Entry) -> None:
        """Writes one entry."""
        self._write(entry)

    def _write(self, value: Run | Entry) -> None:
        try:
            self._file.write(run_file.encoded(value) + b"\n")
            self._file.flush()
        except OSError as error:
            raise IsthmusError(f"cannot write {self.path}: {error.strerror}") from error

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            os.fsync(self._file.fileno())
        self._close()

    def _close(self) -> None:
        with contextlib.suppress(OSError):  # ``_write`` has reported a failed write
            self._file.close()

    def remove(self) -> None:
        """Removes the journal's file."""
        self.path.unlink(missing_ok=True)

    def end(self, run: Run, out: Path, *, replace: bool) -> None:
        """Writes the run file and removes the journal.

        If ``out`` cannot be written, writes the run file to this user's temporary folder, and
        raises an IsthmusError that names it.
        """
        try:
            run_file.save(run, out, replace=replace)
        except IsthmusError as error:
            try:
                kept = private.folder("kept") / f"{out.stem}-{os.getpid()}.json"
                run_file.save(run, kept)
            except (IsthmusError, OSError):
                raise IsthmusError(
                    f"{error}; the results are in {self.path}: go on with --resume"
                ) from error
            self.remove()
            raise IsthmusError(f"{error}; the run is in {kept} instead") from error
        self.remove()


def read(path: Path) -> tuple[Run, list[Entry]]:
    """Reads the run and the entries of a journal, up to the first line that is not readable."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    if len(data) > _MOST_BYTES:
        raise UsageError(f"{path}: larger than {_MOST_BYTES >> 20} MiB, which no journal is")
    lines = io.BytesIO(data)
    try:
        run = msgspec.json.decode(lines.readline(), type=Run)
    except UNREADABLE as error:
        raise UsageError(f"{path}: not a journal of this version of Isthmus") from error
    entries: list[Entry] = []
    for line in lines:
        try:
            entries.append(msgspec.json.decode(line, type=Entry))
        except UNREADABLE:
            break
    return run, entries


def entries_of(points: Iterable[Point]) -> list[Entry]:
    """The entries that a journal of these points would hold."""
    return [
        Entry(msgspec.structs.replace(point, reruns=[]), rerun)
        for point in points
        for rerun in point.reruns
    ]


def _completeness(rerun: Rerun) -> tuple[bool, int]:
    samples = rerun.clocks.get("host")
    return rerun.state in FINAL_STATES, len(samples.ticks) if samples else 0


def assemble(planned: Iterable[Point], entries: Iterable[Entry]) -> list[Point]:
    """Makes the points of a run file: all planned points and all points with entries.

    Each point gets the reruns of its entries; of two with one number, the more complete counts.
    """
    reruns: dict[PointKey, dict[int, Rerun]] = {}
    latest: dict[PointKey, Point] = {}
    for entry in entries:
        key = key_of(entry.point)
        before = latest.get(key)
        reason = entry.point.error or entry.point.skipped
        if before is None or entry.rerun is not None or reason:
            moved = entry.point.moved_bytes or (before.moved_bytes if before else 0)
            latest[key] = msgspec.structs.replace(entry.point, moved_bytes=moved)
        if entry.rerun is not None:
            of_point = reruns.setdefault(key, {})
            rival = of_point.get(entry.rerun.rerun)
            if rival is None or _completeness(entry.rerun) >= _completeness(rival):
                of_point[entry.rerun.rerun] = entry.rerun
    expected = {key_of(point): point for point in planned}
    # Keep points of an earlier session even if their device is gone or their size fits no more.
    points: list[Point] = []
    for key, point in {
        **expected,
        **{k: p for k, p in latest.items() if k not in expected},
    }.items():
        measured = reruns.get(key, {})
        latest_point = latest.get(key, point)
        points.append(
            msgspec.structs.replace(latest_point, reruns=[measured[n] for n in sorted(measured)])
        )
    return points
