"""``isthmus reproduce``: compares published figures with figures measured or simulated here."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from isthmus.cli.declared import separated
from isthmus.cli.run import failed, fresh_name, positive
from isthmus.errors import GATE_FAILED, NoDeviceError, UsageError
from isthmus.output import put, warn
from isthmus.text import truncated

if TYPE_CHECKING:
    from isthmus.analysis.reproduction import ReproducedFigure, ReproducedRow
    from isthmus.measure.session import Request
    from isthmus.published import Figure, Row
    from isthmus.published.source import Measurement
    from isthmus.statistics import Interval

_FEW = 4
_DEEP = " " * 6
_ANYWHERE = ("bytes", "operation")
"""Axes whose values a device may lack: the device skips such values."""
_SOFTWARE_PROCESSES = 8
"""Processes that measure software: with eight, one outlier does not decide the interval."""
_INTERVAL = 3
"""Index of the table's column of intervals."""
CANNOT_TELL = "cannot tell"
"""Shown for a residual whose interval includes both agreement and a large residual."""


class _Settings(NamedTuple):
    """Options of the command that set how studies are measured."""

    device: str | None
    out: Path
    quick: bool
    budget_s: float | None
    options: Mapping[str, str]


def reproduce(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="SOURCE/FIGURE, a whole SOURCE, or all")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="a device in place of the emulated card")
    ] = None,
    gate: Annotated[bool, typer.Option("--gate", help="exit 3 where an aim is missed")] = False,
    out: Annotated[Path, typer.Option(help="folder of the run files")] = Path(),
    quick: Annotated[
        bool, typer.Option("--quick", help="of a device: 10 % precision, three processes, 60 s")
    ] = False,
    budget: Annotated[float | None, typer.Option(help="of a device: seconds for each run")] = None,
) -> int:
    """Prints published figures with the reproduced ones, and writes run files."""
    from isthmus import published
    from isthmus.cli import shared_options

    if name is None:
        if any(shared_options.options(context)):
            raise UsageError("which figures? isthmus reproduce lists them; all means every one")
        put("\n".join(_sources()))
        return 0
    positive(budget, "--budget")
    figures = published.chosen(name)
    options, axes = separated(context.obj)
    for axis in axes:
        raise UsageError(f"--{axis} {axes[axis]}: the figure decides what is measured")
    measured = [row.run for figure in figures for row in figure.rows if row.run]
    if not device:
        shared_options.refuse(context, {"quick"}, "without --device")
    if not device and not any(run.hybrid for run in measured):
        shared_options.refuse(context, {"budget"}, "on simulated figures")
    if not measured:
        unused = {"out", *context.obj}
        shared_options.refuse(context, unused, "on these figures: no study measures them")
    settings = _Settings(device, out, quick, budget, options)
    reproduced, files, failed = _compare(figures, settings)
    put("\n".join(_overview(reproduced) if name == "all" else _in_full(reproduced)).rstrip())
    for text in _legend(row.how for figure in reproduced for row in figure.rows):
        put(text)
    from isthmus.analysis.reproduction import missed_aims
    from isthmus.program import invocation, shorter

    missed = missed_aims(reproduced, published.sources().values())
    if missed:
        of_card = ", which are the emulated card's" if device else ""
        put("\n".join(["", f"Missed aims{of_card}:", *(f"  {text}" for text in missed)]))
    if files:
        put(f"\nPage with the plots: {invocation('report', *map(shorter, files))}")
    if failed:
        return 1
    unmeasured = any(
        (row.value is None or not row.decisive) and row.row.aim is not None
        for figure in reproduced
        for row in figure.rows
    )
    return GATE_FAILED if gate and (missed or unmeasured) else 0


def _sources() -> Iterator[str]:
    """Yields lines on each source and its figures: title, and how each figure is reproduced."""
    from isthmus import published
    from isthmus.columns import wrapped
    from isthmus.program import invocation

    for source in published.sources().values():
        yield from wrapped(f"{source.by}: {source.title}", "", "")
        for figure in source.figures:
            yield from wrapped(f"{figure.name}: {figure.title}", "  ", _DEEP)
            state = ": ".join(filter(None, (_state(figure), figure.because or figure.note)))
            yield from wrapped(state, _DEEP, _DEEP)
        yield ""
    every = (row for source in published.sources().values() for row in source.rows)
    yield from _legend(row.how for row in every)
    command = invocation("reproduce", "NAME")
    yield from wrapped(f"{command} puts published figures beside ours;", others="")
    yield "NAME is SOURCE/FIGURE, SOURCE or all."


def _state(figure: Figure) -> str:
    """Says how a figure is reproduced, or what this machine lacks for it."""
    from isthmus.measure import discovery

    runs = {row.run.name: row.run for row in figure.rows if row.run} if figure.needs else {}
    devices = [device for run in runs.values() for device in (run.device, *run.further_devices)]
    lacks = not all(map(discovery.may_be_here, devices))
    return f"needs {figure.needs}, which is not here" if lacks else figure.state


def _legend(ways: Iterable[str]) -> Iterator[str]:
    """Yields lines that explain the words in column "how"."""
    from isthmus.columns import wrapped
    from isthmus.published.source import KINDS

    used = set(ways)
    words = "; ".join(f"{word} = {meaning}" for word, meaning in KINDS.items() if word in used)
    if words:
        yield from wrapped(words, "", "  ")


def _compare(
    figures: Sequence[Figure], settings: _Settings
) -> tuple[list[ReproducedFigure], list[Path], bool]:
    """Runs the studies that reproduce the figures.

    Returns the reproduced figures, the run files, and whether a point failed. Raises NoDeviceError
    or UsageError if the requested device can run none of the studies.
    """
    from isthmus.analysis.reproduction import (
        NOT_MEASURED,
        ReproducedFigure,
        ReproducedRow,
        from_model,
    )

    rows = list({id(row): row for figure in figures for row in figure.rows}.values())
    runs: dict[str, tuple[Measurement, list[Row]]] = {}
    by_row: dict[int, ReproducedRow] = {}
    for row in rows:
        if row.run:
            runs.setdefault(f"{row.source}/{row.run.name}", (row.run, []))[1].append(row)
        else:
            by_row[id(row)] = from_model(row)
    if settings.device and not runs:
        raise UsageError("no study measures these figures: leave --device out")
    files: list[Path] = []
    failed = False
    refused = 0
    for name, (measurement, needed) in runs.items():
        try:
            compared, wrong = _run(name, measurement, needed, settings, files)
            failed |= wrong
        except (NoDeviceError, UsageError) as error:
            if not (settings.device or measurement.further_devices):
                raise
            refused += 1
            reason = _refusal(error, measurement, settings)
            if settings.device and refused == len(runs):
                raise type(error)(reason) from error
            compared = [ReproducedRow(row, None, NOT_MEASURED, reason) for row in needed]
        by_row.update((id(row.row), row) for row in compared)
    reproduced = [ReproducedFigure(f, tuple(by_row[id(row)] for row in f.rows)) for f in figures]
    return reproduced, files, failed


def _refusal(
    error: NoDeviceError | UsageError, measurement: Measurement, settings: _Settings
) -> str:
    """Says why the device cannot run the study; names the option if registers must be allowed."""
    from isthmus.measure import discovery
    from isthmus.run_options import REGISTERS
    from isthmus.studies import by_name

    if measurement.further_devices:  # all devices lack the same study
        return str(error).partition("; ")[0]
    needs = by_name(measurement.study).needs
    if settings.device and needs and not settings.options.keys() & {o.name for o in REGISTERS}:
        device = discovery.resolve(settings.device)
        if set(REGISTERS) <= set(device.backend.run_options_of(device.description)):
            return (
                f"{settings.device}: {measurement.study} needs {needs}: name them, "
                "--registers BAR:OFFSET+8 --allow-loads"
            )
    return str(error)


def _run(
    name: str, measurement: Measurement, rows: Sequence[Row], settings: _Settings, files: list[Path]
) -> tuple[list[ReproducedRow], bool]:
    """Measures the rows of one measurement; returns the rows and whether a point failed."""
    from isthmus.analysis import wording
    from isthmus.analysis.reproduction import from_run
    from isthmus.cli import over_ranks
    from isthmus.cli.progress import Progress
    from isthmus.measure import session

    if settings.device and measurement.further_devices:
        raise NoDeviceError(f"{name} compares two APIs: leave --device out")
    console = over_ranks.LastingConsole(stderr=True)
    request = _request(name, measurement, rows, settings)
    with Progress(console) as progress:
        run = session.measure(request, progress)
    for device in run.devices:
        if device.error:
            raise NoDeviceError(f"{device.address}: {device.error}")
    reproduced = from_run(rows, run, settings.device or "")
    if settings.device and all(row.interval is None for row in reproduced):
        raise UsageError(
            f"{settings.device} measures none of these figures: {reproduced[0].reason}"
        )
    files.append(request.out)
    for fault in truncated(wording.faults(run)):
        warn(f"{name}: {fault}")
    return reproduced, failed(run)


def _request(
    name: str, measurement: Measurement, rows: Sequence[Row], settings: _Settings
) -> Request:
    """The request to measure the rows, on the measurement's device or ``--device``."""
    from isthmus.measure import session
    from isthmus.studies import by_name
    from isthmus.system.binding import UNBOUND, one_processor
    from isthmus.units import format_size

    what = by_name(measurement.study)
    points = []
    for term in (term for row in rows for term in row.terms):
        sizes = {"bytes": format_size(term.bytes)} if term.bytes else {}
        points.append({"operation": term.operation, **sizes, **term.where})
    values = {
        axis: list(dict.fromkeys(point[axis] for point in points))
        for axis in points[0]
        if all(axis in point for point in points) and axis in what.names
    }
    # Another device may lack some values of an axis: it measures the axis' default values.
    axes = {
        axis: ",".join(several)
        for axis, several in values.items()
        if len(several) == 1 or axis in _ANYWHERE or settings.device is None
    }
    if settings.device is None:
        axes = {
            **({"memory": measurement.memory} if measurement.memory else {}),
            **axes,
            **measurement.axes,
        }
    if settings.out.exists() and not settings.out.is_dir():
        raise UsageError(f"--out {settings.out} is a file; name a folder")
    settings.out.mkdir(parents=True, exist_ok=True)
    return session.Request(
        studies=[what],
        devices=[settings.device]
        if settings.device
        else [measurement.device, *measurement.further_devices],
        axes=axes,
        out=fresh_name(f"reproduce-{name.replace('/', '-')}", settings.out),
        command=["isthmus", *sys.argv[1:]],
        quick=settings.quick or measurement.hybrid,
        reruns=_SOFTWARE_PROCESSES if measurement.hybrid else None,
        budget_s=settings.budget_s,
        options=settings.options,
        # A runtime takes five times as long if its threads run on several processors.
        binding=one_processor() if measurement.hybrid else UNBOUND,
    )


def _in_full(figures: Sequence[ReproducedFigure]) -> Iterator[str]:
    from isthmus.columns import columns, wrapped

    for figure in figures:
        yield from wrapped(f"{figure.figure.name}: {figure.figure.title}", "", "")
        if figure.rows:
            cells: list[tuple[str, ...]]
            cells = [("item", "published", "here", "interval", "residual", "how")]
            cells += map(_cells, figure.names, figure.rows)
            if not any(row[_INTERVAL] for row in cells[1:]):  # simulated times are exact
                cells = [(*row[:_INTERVAL], *row[_INTERVAL + 1 :]) for row in cells]
            yield from columns(cells, indent="  ")
        else:
            state = f"{figure.figure.state}: {figure.figure.because or figure.figure.title}"
            yield from wrapped(state, "  ", "    ")
        for note in _notes(figure):
            yield from wrapped(note, "  ", "    ")
        yield ""


def _notes(figure: ReproducedFigure) -> Iterator[str]:
    """Yields notes on the figure and on its rows; a note on all rows names no row."""
    if figure.figure.note:
        yield figure.figure.note
    if any(row.row.unit == "GiB/s" for row in figure.rows):
        yield "1 GiB/s is 1.0737 GB/s, the unit of isthmus run"
    for text_of in (
        lambda row: row.row.note,
        lambda row: f"{row.how}: {row.reason}" if row.reason else "",
    ):
        of_rows: dict[str, list[str]] = {}
        for name, row in zip(figure.names, figure.rows, strict=True):
            of_rows.setdefault(text_of(row), []).append(name)
        for note, items in of_rows.items():
            if note:
                whose = ", ".join(items) if len(items) < _FEW else f"{len(items)} of the items"
                yield note if len(items) == len(figure.rows) else f"{whose}: {note}"


def _cells(name: str, row: ReproducedRow) -> tuple[str, ...]:
    return (name, row.row.text, row.text, _span(row.interval), residual(row), row.how)


def residual(row: ReproducedRow) -> str:
    """A row's residual with its interval: ``+2.10 % (-1.0 to +5.2)``, or ``CANNOT_TELL``."""
    if row.residuals is None:
        return percent(row.residual)
    low, high = (f"{round(100 * end, 1) + 0.0:+.1f}" for end in row.residuals)
    return f"{percent(row.residual) if row.decisive else CANNOT_TELL} ({low} to {high})"


def percent(residual: float | None) -> str:
    """A residual with its sign: ``+0.12 %``, but never ``-0.00 %``."""
    return "" if residual is None else f"{round(100 * residual, 2) + 0.0:+.2f} %"


def _span(interval: Interval | None) -> str:
    """Ends of a confidence interval; empty without an interval or for an exact value."""
    if interval is None or interval.low == interval.high:
        return ""
    return f"{interval.low:.4g} to {interval.high:.4g}" if interval.known else "one process only"


def _overview(figures: Sequence[ReproducedFigure]) -> Iterator[str]:
    """Yields a line for each figure with rows, then reasons, and how many figures lack a model."""
    from isthmus.analysis.reproduction import NOT_MEASURED
    from isthmus.columns import columns, wrapped
    from isthmus.program import invocation
    from isthmus.published.source import counted

    rows = [("figure", "rows", "farthest off", "how", "at")]
    for figure in figures:
        worst = figure.worst
        if worst and worst.residual is not None:
            at = figure.names[figure.rows.index(worst)]
            off = residual(worst)
            ways = counted(row.how for row in figure.rows)
            rows.append((figure.figure.name, str(len(figure.rows)), off, ways, at))
        elif figure.rows:
            rows.append((figure.figure.name, str(len(figure.rows)), "", NOT_MEASURED, ""))
    yield from columns(rows)
    reasons: dict[str, list[str]] = {}
    for figure in figures:
        for reason in dict.fromkeys(row.reason for row in figure.rows if row.reason):
            reasons.setdefault(reason, []).append(figure.figure.name)
    for reason, names in reasons.items():
        yield from wrapped(f"{NOT_MEASURED}: {', '.join(names)}: {reason}")
    without = sum(bool(figure.figure.because) for figure in figures)
    yield f"{without} more figures are not modelled: {invocation('reproduce')} says why"
