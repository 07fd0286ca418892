"""Compares published figures with figures of a run or a model: residuals and missed aims.

It also has questions of studies: a run compared with figures published of the same board.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from isthmus import boards, published
from isthmus.analysis.context import AnalysisContext, RunContext
from isthmus.analysis.hybrid import estimated
from isthmus.analysis.summary import resolved, simulated_devices, summarise
from isthmus.answers import Rows, question, rate_of, time_of
from isthmus.boards import Board
from isthmus.frames import Frame, whole
from isthmus.published.source import Figure, Row, Source, Term
from isthmus.results.run_file import QUICK_PROCESSES, DeviceRecord, Run
from isthmus.statistics import Interval, exact, location, over_processes
from isthmus.thresholds import BUSY, QUICK
from isthmus.units import format_size
from isthmus.validation import events, fitting
from isthmus.validation.closed_forms import closed_form
from isthmus.validation.combining import combined

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class ReproducedRow:
    """A published figure with the reproduced figure, both in the row's unit."""

    row: Row
    interval: Interval | None
    """The reproduced figure; None where it was not measured."""
    how: str
    reason: str = ""
    """Why the figure was not measured, or why its interval does not decide."""
    busy: bool = False
    """Whether other programs ran on the host while software was measured."""

    @property
    def value(self) -> float | None:
        """The reproduced figure without its interval; None if it was not measured."""
        return None if self.interval is None else self.interval.value

    @property
    def text(self) -> str:
        """The reproduced figure in the format of ``Row.text``; empty if it was not measured."""
        return "" if self.value is None else self.row.with_unit(self.value)

    @property
    def residual(self) -> float | None:
        """Reproduced figure over the published figure, less 1."""
        return None if self.value is None else self.row.residual(self.value)

    @property
    def residuals(self) -> tuple[float, float] | None:
        """Residuals at both ends of the interval; None without an interval or for exact values."""
        interval = self.interval
        if interval is None or not interval.known or interval.low == interval.high:
            return None
        low, high = sorted(map(self.row.residual, (interval.low, interval.high)))
        return low, high

    @property
    def decisive(self) -> bool:
        """Whether the interval decides if the published figure is reproduced.

        It does not if it contains both agreement and a residual beyond ``QUICK``, or if other
        programs ran: the next run may then differ by more than the interval.
        """
        ends = self.residuals
        if ends is None or self.busy:
            return not self.busy
        low, high = ends
        return not (low <= 0 <= high and max(-low, high) > QUICK)

    @property
    def missed(self) -> bool:
        """Whether the row has an aim, and the interval decides that its residual is larger."""
        residual, aim = self.residual, self.row.aim
        return self.decisive and residual is not None and aim is not None and abs(residual) > aim


def from_run(rows: Sequence[Row], run: Run, address: str = "") -> list[ReproducedRow]:
    """Reproduces rows from the points of a run.

    ``address``: the device that was measured instead of the rows' device; empty if none. The
    simulated time of an emulated card counts, the host time of any other device. A row of several
    points is computed in each process, so that common disturbances are in its interval. If fewer
    than three processes have all points, their errors count as independent.
    """
    reproduced = [_beside_others(entry, run) for entry in _reproduced(rows, run, address)]
    cards = simulated_devices(run)
    processes = {r.rerun for point in run.points if point.device not in cards for r in point.reruns}
    several = [row for row in rows if len(row.terms) > 1]
    if not several or len(processes) < QUICK_PROCESSES:
        return reproduced
    values: dict[int, list[float]] = {}
    for process in sorted(processes):
        for entry in _reproduced(several, _of_process(run, process, cards), address):
            if entry.value is not None:
                values.setdefault(id(entry.row), []).append(entry.value)
    return [_over_processes(entry, values.get(id(entry.row), ())) for entry in reproduced]


def _beside_others(reproduced: ReproducedRow, run: Run) -> ReproducedRow:
    """Marks the row as busy if other programs slowed the software that it measured."""
    load, processors = (
        (run.environment.get("load_average") or [0.0])[0],
        int(run.environment.get("logical_cpus") or 1),
    )
    if reproduced.how != "hybrid" or load < BUSY * processors:
        return reproduced
    reason = (
        f"other programs ran (load average {load:.1f}, processors: {processors}) and slow the "
        "software by up to a half: repeat on a quiet machine"
    )
    return dataclasses.replace(reproduced, busy=True, reason=reason)


def _of_process(run: Run, number: int, cards: Set[str]) -> Run:
    """Returns the run with samples of one process; simulated times stay, equal in each process."""
    points = [
        point
        if point.device in cards
        else msgspec.structs.replace(point, reruns=[r for r in point.reruns if r.rerun == number])
        for point in run.points
    ]
    return msgspec.structs.replace(run, points=points)


def _over_processes(reproduced: ReproducedRow, values: Sequence[float]) -> ReproducedRow:
    """Adds an interval over the processes' values to a row, if they are enough processes."""
    if len(values) < QUICK_PROCESSES:
        return reproduced
    estimate = location if reproduced.row.minus or min(values) <= 0 else over_processes
    return dataclasses.replace(reproduced, interval=estimate(values))


def _reproduced(rows: Sequence[Row], run: Run, address: str) -> list[ReproducedRow]:
    """Reproduces rows from the points of a run, or from those of one process."""
    summary = summarise(run)
    if not address and rows[0].run and rows[0].run.hybrid:
        estimates = estimated(RunContext.of(run, summary).of_study(rows[0].run.study)).table
        names = {"hybrid_s": "median_s", "low_hybrid_s": "ci_low_s", "high_hybrid_s": "ci_high_s"}
        return from_points(rows, estimates.rename(names), "hybrid")
    points = resolved(summary)
    points = points[points["verified"].ne("false") & points["median_s"].gt(0)]
    simulated = points["clock"].eq("simulated").any()
    points = points[points["clock"] == ("simulated" if simulated else "host")]
    how = "simulated" if simulated else "measured"
    return from_points(rows, points, how if address else "")


def from_points(rows: Sequence[Row], points: Frame, how: str = "") -> list[ReproducedRow]:
    """Reproduces rows from a summary's points of one device; ``how`` replaces that of the rows."""
    by_operation: dict[tuple[str, int], list[Any]] = {}
    for point in points.itertuples():
        for size in (int(point.bytes), 0):
            by_operation.setdefault((str(point.operation), size), []).append(point)
    return [_row(row, by_operation, how) for row in rows]


def _row(row: Row, known: Mapping[tuple[str, int], Sequence[Any]], how: str) -> ReproducedRow:
    used: dict[str, None] = {}

    def figure_of(term: Term) -> Interval:
        for point in known.get((term.operation, term.bytes or 0), ()):
            if is_of(term, point._asdict()):
                used[f"{point.api}, {point.memory} memory"] = None
                return rate_of(point) if row.rate else time_of(point)
        size = f" of {format_size(term.bytes)}" if term.bytes else ""
        where = ", ".join(f"{name} {value}" for name, value in term.where.items())
        raise LookupError(f"no {term.operation}{size}{where and f' with {where}'}")

    try:
        interval = combined(row, figure_of)
    except LookupError as error:
        return ReproducedRow(row, None, NOT_MEASURED, f"the run has {error.args[0]}")
    # The source of the published figure may use another API or kind of memory than this device.
    source = f"{how}: {' and '.join(used)}" if how == "measured" else how
    return ReproducedRow(row, interval, source or row.how)


def is_of(term: Term, point: Mapping[str, object]) -> bool:
    """Whether a summary row has the operation, the axes and the memory that a term names."""
    where = {"operation": term.operation, **term.where}
    return all(str(whole(point.get(name))) == value for name, value in where.items())


def from_model(row: Row) -> ReproducedRow:
    """Reproduces a row by its closed form."""
    board = boards.load(row.board)
    return ReproducedRow(row, exact(closed_form(row.model, row.inputs)(board) / row.scale), row.how)


def from_events(row: Row) -> ReproducedRow:
    """Reproduces a row by emulating the card in this process, which takes seconds."""
    return ReproducedRow(row, exact(events.figure(row, boards.load(row.board))), row.how)


@dataclass(frozen=True)
class ReproducedFigure:
    """A figure of a publication with its reproduced rows."""

    figure: Figure
    rows: tuple[ReproducedRow, ...]

    @property
    def names(self) -> list[str]:
        """Name of each row: its item, with the end of its series' name where items repeat."""
        items = [reproduced.row.item for reproduced in self.rows]
        if len(set(items)) == len(items):
            return items
        return [
            f"{reproduced.row.series.rpartition(', ')[2]}, {reproduced.row.item}"
            for reproduced in self.rows
        ]

    @property
    def worst(self) -> ReproducedRow | None:
        """The row with the largest residual; None where no row was reproduced."""
        reproduced = [row for row in self.rows if row.residual is not None]
        return max(reproduced, key=lambda row: abs(row.residual or 0.0), default=None)


def missed_aims(figures: Iterable[ReproducedFigure], sources: Iterable[Source]) -> list[str]:
    """A sentence for each missed aim: first of single rows, then of whole series."""
    first: dict[int, tuple[str, ReproducedRow]] = {}
    for figure in figures:
        for name, reproduced in zip(figure.names, figure.rows, strict=True):
            first.setdefault(id(reproduced.row), (f"{figure.figure.name}, {name}", reproduced))
    every = [reproduced for _, reproduced in first.values()]
    missed = [
        f"{name}: {100 * (reproduced.residual or 0.0):+.3g} % "
        f"(aim: within {100 * (reproduced.row.aim or 0.0):.2g} %)"
        for name, reproduced in first.values()
        if reproduced.missed
    ]
    for aim in (aim for source in sources for aim in source.aims if aim.rms is not None):
        all_of_it = [
            reproduced.residual for reproduced in every if reproduced.row.series in aim.series
        ]
        residuals = [residual for residual in all_of_it if residual is not None]
        if not residuals or len(residuals) < len(all_of_it):
            continue
        rms = (sum(r * r for r in residuals) / len(residuals)) ** 0.5
        if rms > (aim.rms or 0.0):
            missed.append(
                f"{aim.name}: {100 * rms:.3g} % rms (aim: {100 * (aim.rms or 0.0):.2g} %)"
            )
    return missed


@cache
def _flat(board: str) -> dict[str, str]:
    return boards.load(board).flat()


def rows_on(study: str, board: Board | None) -> list[Row]:
    """Published figures of a study on a board; empty if the user changed the board's values."""
    if board is None:
        return []
    flat = board.flat()
    return [row for row in published.rows_of(study) if _flat(row.board) == flat]


def rows_of_card(study: str, device: DeviceRecord) -> list[Row]:
    """Published figures of a study on the board that a device is, or is a model of.

    Empty for a card below a real runtime, because its simulated time lacks the runtime's software.
    A device matches if its name contains the card's: the board's name up to its first hyphen.
    """
    if "emulated_card" in device.properties:
        return []
    if device.simulated:
        return rows_on(study, boards.of_device(device.properties))
    words = set(re.split(r"[^a-z0-9]+", device.name.lower()))
    return [r for r in published.rows_of(study) if Path(r.board).stem.partition("-")[0] in words]


def rates(study: str, board: Board | None, operation: str, **axes: object) -> dict[int, float]:
    """Published bytes a second by size, at points that have the values of these axes."""
    point = {"operation": operation, **axes}
    return {
        row.plus[0].bytes: row.published * row.scale
        for row in rows_on(study, board)
        if row.rate and len(row.terms) == 1 and row.plus[0].bytes and is_of(row.plus[0], point)
    }


@question(
    "published_figures",
    "How near does the emulated card come to what was published of its board?",
    "device item published here unit residual how",
)
def published_figures(context: AnalysisContext) -> Rows:
    """Yields published figures that the run reproduces on emulated cards of the same board."""
    for device in (device for device in context.run.devices if device.simulated):
        points = context.timed[context.timed["device"] == device.address]
        for reproduced in from_points(rows_of_card(context.study, device), points):
            if reproduced.interval:
                row, here = reproduced.row, reproduced.interval.value
                named = (device.address, row.item, row.nearest(here))
                yield *named, here, row.unit, row.residual(here), reproduced.how


@question(
    "held_out", "How well does the model predict published points that its fit did not use?",
    "series fitted_points fitted_rms_share fitted_worst_residual held_out_points",
    "held_out_rms_share held_out_worst_residual",
)  # fmt: skip
def held_out(context: AnalysisContext) -> Rows:
    """Yields errors of the boards' models at published points that the models' fits did not use."""
    fits = {
        fit.series: fit
        for address, board in context.boards.items()
        if board is not None and (context.rows["device"] == address).any()
        for fit in fitting.known_held_out(board, context.study)
    }
    for fit in fits.values():
        yield (
            fit.series, fit.fitted_points, fit.fitted_rms, fit.fitted_worst,
            fit.held_out_points, fit.held_out_rms, fit.held_out_worst,
        )  # fmt: skip
