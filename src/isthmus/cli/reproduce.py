"""``isthmus reproduce``: published figures compared with those measured or simulated here."""

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
"""Axes for which a device skips values that it does not have."""
_SOFTWARE_PROCESSES = 8
"""Processes that measure software: so many that one odd process does not decide the interval."""
_INTERVAL = 3
"""Column of the intervals."""
CANNOT_TELL = "cannot tell"
"""In place of a residual whose interval holds agreement and a large residual."""


class _Settings(NamedTuple):
    """Options of the command that decide how studies are measured."""

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
    from isthmus.cli import given

    if name is None:
        if any(given.options(context)):
            raise UsageError("which figures? isthmus reproduce lists them; all is every one")
        put("\n".join(_sources()))
        return 0
    positive(budget, "--budget")
    figures = published.chosen(name)
    options, axes = separated(context.obj)
    for axis in axes:
        raise UsageError(f"--{axis} {axes[axis]}: the figure says what is measured")
    measured = [row.run for figure in figures for row in figure.rows if row.run]
    if not device:
        given.refuse(context, {"quick"}, "without --device")
    if not device and not any(run.hybrid for run in measured):
        given.refuse(context, {"budget"}, "on simulated figures")
    if not measured:
        unused = {"out", *context.obj}
        given.refuse(context, unused, "on these figures: no study gives them")
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
        (one.value is None or not one.told) and one.row.aim is not None
        for figure in reproduced
        for one in figure.rows
    )
    return GATE_FAILED if gate and (missed or unmeasured) else 0


def _sources() -> Iterator[str]:
    """Every source with its figures: what each shows, and how far it is reproduced."""
    from isthmus import published
    from isthmus.columns import wrapped
    from isthmus.program import invocation

    for source in published.sources().values():
        yield from wrapped(f"{source.by}: {source.title}", "", "")
        for one in source.figures:
            yield from wrapped(f"{one.name}: {one.title}", "  ", _DEEP)
            state = ": ".join(filter(None, (_state(one), one.because or one.note)))
            yield from wrapped(state, _DEEP, _DEEP)
        yield ""
    every = (row for source in published.sources().values() for row in source.rows)
    yield from _legend(row.how for row in every)
    command = invocation("reproduce", "NAME")
    yield from wrapped(f"{command} puts published figures beside ours;", others="")
    yield "NAME is SOURCE/FIGURE, SOURCE or all."


def _state(figure: Figure) -> str:
    """How a figure is reproduced, or what this machine lacks for it."""
    from isthmus.measure import discovery

    runs = {row.run.name: row.run for row in figure.rows if row.run} if figure.needs else {}
    devices = [device for run in runs.values() for device in (run.device, *run.further_devices)]
    lacks = not all(map(discovery.may_be_here, devices))
    return f"needs {figure.needs}, which is not here" if lacks else figure.state


def _legend(ways: Iterable[str]) -> Iterator[str]:
    """What the words of the column "how" mean, those that appear."""
    from isthmus.columns import wrapped
    from isthmus.published.source import KINDS

    used = set(ways)
    words = "; ".join(f"{word} = {meaning}" for word, meaning in KINDS.items() if word in used)
    if words:
        yield from wrapped(words, "", "  ")


def _compare(
    figures: Sequence[Figure], settings: _Settings
) -> tuple[list[ReproducedFigure], list[Path], bool]:
    """Runs the studies of the figures: the figures compared, run files, whether any point failed.

    Raises NoDeviceError where the requested device can run none of the studies.
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
        raise UsageError("no study gives these figures: leave --device out")
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
        by_row.update((id(one.row), one) for one in compared)
    reproduced = [ReproducedFigure(f, tuple(by_row[id(row)] for row in f.rows)) for f in figures]
    return reproduced, files, failed


def _refusal(
    error: NoDeviceError | UsageError, measurement: Measurement, settings: _Settings
) -> str:
    """Why the device cannot run the study; which option helps where it needs registers."""
    from isthmus.measure import discovery
    from isthmus.run_options import REGISTERS
    from isthmus.studies import by_name

    if measurement.further_devices:  # of several devices that lack the same, the first says it
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
    """Measures and compares the rows of one measurement; true where a point failed."""
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
    for one in run.devices:
        if one.error:
            raise NoDeviceError(f"{one.address}: {one.error}")
    reproduced = from_run(rows, run, settings.device or "")
    if settings.device and all(one.interval is None for one in reproduced):
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
    """Request for the measurement, on its own device or ``--device``, for the axes of its rows."""
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
    # Another device may lack some of several kinds of memory or fences: its own are measured.
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
        # A runtime that hands work to a thread on another processor takes five times as long.
        binding=one_processor() if measurement.hybrid else UNBOUND,
    )


def _in_full(figures: Sequence[ReproducedFigure]) -> Iterator[str]:
    """A table for each figure."""
    from isthmus.columns import columns, wrapped

    for one in figures:
        yield from wrapped(f"{one.figure.name}: {one.figure.title}", "", "")
        if one.rows:
            cells: list[tuple[str, ...]]
            cells = [("item", "published", "here", "interval", "residual", "how")]
            cells += [_cells(name, row) for name, row in zip(one.names, one.rows, strict=True)]
            if not any(row[_INTERVAL] for row in cells[1:]):  # simulated times are exact
                cells = [(*row[:_INTERVAL], *row[_INTERVAL + 1 :]) for row in cells]
            yield from columns(cells, indent="  ")
        else:
            state = f"{one.figure.state}: {one.figure.because or one.figure.title}"
            yield from wrapped(state, "  ", "    ")
        for note in _notes(one):
            yield from wrapped(note, "  ", "    ")
        yield ""


def _notes(one: ReproducedFigure) -> Iterator[str]:
    """Notes on the figure and on rows; a note on all rows names no items."""
    if one.figure.note:
        yield one.figure.note
    if any(row.row.unit == "GiB/s" for row in one.rows):
        yield "1 GiB/s is 1.0737 GB/s, the unit of isthmus run"
    for text_of in (
        lambda row: row.row.note,
        lambda row: f"{row.how}: {row.reason}" if row.reason else "",
    ):
        of_rows: dict[str, list[str]] = {}
        for name, row in zip(one.names, one.rows, strict=True):
            of_rows.setdefault(text_of(row), []).append(name)
        for note, items in of_rows.items():
            if note:
                whose = ", ".join(items) if len(items) < _FEW else f"{len(items)} of the items"
                yield note if len(items) == len(one.rows) else f"{whose}: {note}"


def _cells(name: str, one: ReproducedRow) -> tuple[str, ...]:
    return (name, one.row.text, one.text, _span(one.interval), residual(one), one.how)


def residual(one: ReproducedRow) -> str:
    """``+2.10 % (-1.0 to +5.2)`` with its interval, or that the interval does not tell."""
    if one.residuals is None:
        return percent(one.residual)
    low, high = (f"{round(100 * end, 1) + 0.0:+.1f}" for end in one.residuals)
    return f"{percent(one.residual) if one.told else CANNOT_TELL} ({low} to {high})"


def percent(residual: float | None) -> str:
    """With its sign: ``+0.12 %``; no rounded ``-0.00 %``."""
    return "" if residual is None else f"{round(100 * residual, 2) + 0.0:+.2f} %"


def _span(interval: Interval | None) -> str:
    """Ends of a confidence interval; empty where there is none, or where the value is exact."""
    if interval is None or interval.low == interval.high:
        return ""
    return f"{interval.low:.4g} to {interval.high:.4g}" if interval.known else "one process only"


def _overview(figures: Sequence[ReproducedFigure]) -> Iterator[str]:
    """A line for each figure with rows; then reasons, and the number of figures without a model."""
    from isthmus.analysis.reproduction import NOT_MEASURED
    from isthmus.columns import columns, wrapped
    from isthmus.program import invocation
    from isthmus.published.source import counted

    rows = [("figure", "rows", "farthest off", "how", "at")]
    for one in figures:
        worst = one.worst
        if worst and worst.residual is not None:
            at = one.names[one.rows.index(worst)]
            off = residual(worst)
            ways = counted(row.how for row in one.rows)
            rows.append((one.figure.name, str(len(one.rows)), off, ways, at))
        elif one.rows:
            rows.append((one.figure.name, str(len(one.rows)), "", NOT_MEASURED, ""))
    yield from columns(rows)
    reasons: dict[str, list[str]] = {}
    for one in figures:
        for reason in dict.fromkeys(row.reason for row in one.rows if row.reason):
            reasons.setdefault(reason, []).append(one.figure.name)
    for reason, names in reasons.items():
        yield from wrapped(f"{NOT_MEASURED}: {', '.join(names)}: {reason}")
    without = sum(bool(one.figure.because) for one in figures)
    yield f"{without} more figures are not modelled: {invocation('reproduce')} says why"
