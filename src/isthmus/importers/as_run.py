"""Makes run files of outputs of other programs.

A row that measures the same as an operation of Isthmus becomes a process of the run file. Its
sample is the time of a repetition times the number of repetitions whose mean was printed. The
statistic ``each`` gives several samples. The row has no interval, its data are not verified
(``na``), and its flags name ``imported`` and the statistic. A further row of the same point becomes
another process. The user gives the size of a transfer if the output lacks it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import msgspec

import isthmus
from isthmus import importers
from isthmus.errors import UsageError
from isthmus.importers.base import Importer, Log, Row
from isthmus.importers.cleaning import cleaned
from isthmus.patience import limited
from isthmus.results.noise import Noise
from isthmus.results.run_file import (
    IMPORTED,
    ClockRecord,
    Origin,
    Point,
    Rerun,
    Run,
    Samples,
    Settings,
    Software,
)
from isthmus.text import shortened
from isthmus.thresholds import NOTHING_BPS

MOST_BYTES = 16 << 20
"""Bytes of the largest file that is read: outputs of benchmarks have some kilobytes."""
MOST_FIGURES = 20_000
_TICKS_S = (1e-15, 1e-9)
"""Seconds of a tick in the run file: the first value, or the second if a sample would otherwise
reach ``_MOST_TICKS``."""
_MOST_TICKS = 1 << 62
_PRECISION, _CONFIDENCE = 0.02, 0.95
_NOT_MEASURED = {
    "mean": "single repetitions: each figure is a mean",
    "median": "single repetitions: each figure is a median",
    "best": "typical repetitions: each figure is the fastest",
    "each": "other processes than one",
}


def imported(path: Path, form: str | None, bytes_each: int | None, command: Sequence[str]) -> Run:
    """Reads an output of another program as a run.

    Args:
        path: The file with the output.
        form: Name of the importer; None: the content decides.
        bytes_each: Bytes of each transfer, if the file lacks sizes; else None.
        command: The command line, for the run file.

    Raises UsageError with one line that says why the file cannot be imported.

    """
    chosen = importers.by_name(form) if form else None
    data = _read(path)
    try:
        with limited("its text"):
            text = cleaned(_text(data))
            chosen, log = _log(chosen, text)
            rows, left_out = _usable(log, bytes_each)
            points, lines = _points(rows)
    except UsageError as error:
        of = f"not read as {chosen.name}: " if chosen else ""
        raise UsageError(f"{path}: {of}{error}") from error
    origin = _origin(path, data, chosen, log, rows, lines, left_out)
    return Run(
        software=Software(version=isthmus.__version__, command=list(command)),
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        status="complete",
        studies=list(dict.fromkeys(point.study for point in points)),
        settings=Settings(
            precision=_PRECISION, confidence=_CONFIDENCE, reruns=1, budget_s=0, seed=0, quick=False
        ),
        environment={"host": log.host} if log.host else {},
        devices=[d for d in log.devices if d.address in {point.device for point in points}],
        points=points,
        origin=origin,
    )


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise UsageError(f"{path}: no file" if path.exists() else f"{path}: not there")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    if len(data) > MOST_BYTES:
        raise UsageError(
            f"{path}: larger than {MOST_BYTES >> 20} MiB, so it is not a benchmark's output"
        )
    if not data.strip():
        raise UsageError(f"{path}: empty")
    return data


def _text(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError("not text") from error
    if "\0" in text:
        raise UsageError("not text")
    return text


def _log(chosen: Importer | None, text: str) -> tuple[Importer, Log]:
    """The chosen importer and its log; without a choice, the first that finds an operation.

    If no matching importer finds an operation of Isthmus, the first matching importer counts.
    """
    if chosen:
        return chosen, chosen.log(text)
    matching = [importers.recognised(text), *importers.all_recognised(text)[1:]]
    logs = [(importer, importer.log(text)) for importer in matching]
    return next((pair for pair in logs if any(row.operation for row in pair[1].rows)), logs[0])


def _usable(log: Log, bytes_each: int | None) -> tuple[list[Row], list[str]]:
    """Returns the rows that become points, and reasons for rows left out.

    Raises UsageError if no row remains, or if ``bytes_each`` is given but the file has all sizes.
    """
    rows, left_out = [], dict[str, None]()
    for row in log.rows:
        if not row.operation:
            left_out[f"{row.name} (no operation of Isthmus is the same)"] = None
        elif row.size is None and bytes_each is None:
            left_out[f"{row.name} (no size in the output; --bytes gives one)"] = None
        else:
            rows.append(row if bytes_each is None else row.of_size(bytes_each))
    left_out |= dict.fromkeys(str(problem) for problem in log.problems)
    if bytes_each is not None and rows and not any(row.size is None for row in log.rows):
        raise UsageError("the file says its sizes: leave --bytes out")
    if len(rows) > MOST_FIGURES:
        raise UsageError(f"more than {MOST_FIGURES} figures")
    if not rows:
        raise UsageError(_nothing_left(log, list(left_out)))
    return rows, list(left_out)


def _nothing_left(log: Log, left_out: Sequence[str]) -> str:
    if any(row.operation and row.size is None for row in log.rows):
        return (
            "the output does not say the size of its transfers: --bytes SIZE gives it, "
            "and isthmus judge needs none"
        )
    why = log.problems or left_out or [f"{test.test} {test.status}" for test in log.outcomes]
    return f"it has no figure that Isthmus can use{': ' + shortened(str(why[0])) if why else ''}"


def _points(figures: Sequence[Row]) -> tuple[list[Point], list[int]]:
    """Returns the points, and the line of the output with the first figure of each point."""
    points: dict[tuple[object, ...], tuple[Point, int]] = {}
    for figure in figures:
        point = _point(figure)
        key = (point.study, point.device, point.operation, point.memory, point.bytes,
               figure.clock, *sorted(point.axes.items()))  # fmt: skip
        first, line = points.get(key, (point, figure.line))
        again = [_rerun(figure, len(first.reruns))]
        points[key] = msgspec.structs.replace(first, reruns=[*first.reruns, *again]), line
    return [point for point, _ in points.values()], [line for _, line in points.values()]


def _point(figure: Row) -> Point:
    names = ("study", "device", "api", "operation", "memory", "direction", "initiator")
    return Point(
        **{name: getattr(figure, name) for name in names},
        bytes=figure.size or 0,
        axes=dict(figure.axes),
        moved_bytes=0 if _moves_nothing(figure) else figure.moved,
    )


def _moves_nothing(figure: Row) -> bool:
    return bool(figure.direction) and figure.moved > NOTHING_BPS * min(figure.seconds())


def _rerun(figure: Row, number: int) -> Rerun:
    seconds = figure.seconds()
    longest = max(seconds) * figure.batch
    tick = next((tick_s for tick_s in _TICKS_S if longest < _MOST_TICKS * tick_s), None)
    ticks = [round(value * figure.batch / tick) for value in seconds] if tick else [0]
    if tick is None or not all(ticks):
        raise UsageError(f"line {figure.line}: {seconds[0]:.3g} s is no time of a transfer")
    remarks = [IMPORTED, *figure.remarks]
    remarks += [] if figure.statistic == "each" else [f"{figure.statistic}_only"]
    remarks += ["zero_copy"] if _moves_nothing(figure) else []
    return Rerun(
        rerun=number,
        batch=figure.batch,
        intervals=1,
        clocks={figure.clock: Samples(ticks, tick)},
        blocks=[len(ticks)],
        clock=ClockRecord("the program's own", "imported", 0.0, 0.0, 0.0),
        verified="false" if figure.fault else "na",
        fault=figure.fault,
        state="visit",
        noise=Noise(),
        remarks=remarks,
        measured_s=sum(ticks) * tick,
    )


def _origin(
    path: Path,
    data: bytes,
    importer: Importer,
    log: Log,
    figures: Sequence[Row],
    lines: list[int],
    left_out: Sequence[str],
) -> Origin:
    statistics: list[str] = list(dict.fromkeys(figure.statistic for figure in figures))
    return Origin(
        tool=log.tool,
        version=log.version,
        format=importer.name,
        file=path.name,
        sha256=hashlib.sha256(data).hexdigest(),
        statistics=statistics,
        not_measured=["whether the data arrived", *map(_NOT_MEASURED.__getitem__, statistics)],
        left_out=list(dict.fromkeys([*log.left_out, *left_out])),
        assumed=list(log.assumed),
        lines=lines,
    )
