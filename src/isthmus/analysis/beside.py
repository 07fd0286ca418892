"""Rows of published figures beside a run's: residuals, aims, and what they come to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import msgspec
import pandas as pd

from isthmus import boards
from isthmus.analysis.evidence import Evidence, each
from isthmus.analysis.hybrid import estimated
from isthmus.analysis.summary import resolved, simulated_devices, summarise
from isthmus.published.source import Figure, Row, Source, Term
from isthmus.results.run_file import QUICK_PROCESSES, Run
from isthmus.statistics import Interval, exact, location, over_processes
from isthmus.units import format_size
from isthmus.validation import events
from isthmus.validation.closed_forms import closed_form
from isthmus.validation.combining import combined

NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Beside:
    """A published figure and ours, in the row's unit."""

    row: Row
    found: Interval | None
    """None: not measured."""
    how: str
    reason: str = ""
    """Why it was not measured."""

    @property
    def here(self) -> float | None:
        """Ours."""
        return None if self.found is None else self.found.value

    @property
    def text(self) -> str:
        """Ours as ``Row.text`` has the published; empty where it was not measured."""
        return "" if self.here is None else self.row.with_unit(self.here)

    @property
    def residual(self) -> float | None:
        """Ours over the published, less 1."""
        return None if self.here is None else self.row.residual(self.here)

    @property
    def missed(self) -> bool:
        """Whether it has an aim and lies beyond it."""
        residual, aim = self.residual, self.row.aim
        return residual is not None and aim is not None and abs(residual) > aim


def from_run(rows: Sequence[Row], run: Run, address: str = "") -> list[Beside]:
    """Rows by the points of a run.

    ``address`` is the device that stands in for the rows' own; empty: none does. Of an emulated
    card its simulated time counts, of any other device the host's. A row of several points is
    computed process by process, so that its interval counts what disturbs a process's points
    alike. Where fewer than three processes have them all, points count as if they erred
    independently.
    """
    found = _found(rows, run, address)
    cards = simulated_devices(run)
    processes = {r.rerun for point in run.points if point.device not in cards for r in point.reruns}
    several = [row for row in rows if len(row.terms) > 1]
    if not several or len(processes) < QUICK_PROCESSES:
        return found
    values: dict[int, list[float]] = {}
    for process in sorted(processes):
        for one in _found(several, _of_process(run, process, cards), address):
            if one.here is not None:
                values.setdefault(id(one.row), []).append(one.here)
    return [_over_processes(one, values.get(id(one.row), ())) for one in found]


def _of_process(run: Run, number: int, cards: Set[str]) -> Run:
    """The run with what one process measured; simulated times are the same in each."""
    points = [
        point
        if point.device in cards
        else msgspec.structs.replace(point, reruns=[r for r in point.reruns if r.rerun == number])
        for point in run.points
    ]
    return msgspec.structs.replace(run, points=points)


def _over_processes(one: Beside, values: Sequence[float]) -> Beside:
    """A row with the interval of what it is in each process; a difference may be below 0."""
    if len(values) < QUICK_PROCESSES:
        return one
    estimate = location if one.row.minus or min(values) <= 0 else over_processes
    return dataclasses.replace(one, found=estimate(values))


def _found(rows: Sequence[Row], run: Run, address: str) -> list[Beside]:
    """Rows by the points of a run, or of one process of it."""
    summary = summarise(run)
    if not address and rows[0].run and rows[0].run.hybrid:
        found = estimated(Evidence.of(run, summary, rows[0].run.study)).table
        names = {"hybrid_s": "median_s", "low_hybrid_s": "ci_low_s", "high_hybrid_s": "ci_high_s"}
        return from_points(rows, found.rename(columns=names), "hybrid")
    points = resolved(summary)
    points = points[points["verified"].ne("false") & points["median_s"].gt(0)]
    simulated = points["clock"].eq("simulated").any()
    points = points[points["clock"] == ("simulated" if simulated else "host")]
    how = "simulated" if simulated else "measured"
    return from_points(rows, points, how if address else "")


def from_points(rows: Sequence[Row], points: pd.DataFrame, how: str = "") -> list[Beside]:
    """Rows by points of a summary, of one device; ``how`` in place of what the rows say."""
    known: dict[tuple[str, int], list[Mapping[str, object]]] = {}
    for one in each(points):
        point = one._asdict()
        known.setdefault((str(one.operation), int(one.bytes)), []).append(point)
        known.setdefault((str(one.operation), 0), []).append(point)
    return [_row(row, known, how) for row in rows]


def _row(
    row: Row, known: Mapping[tuple[str, int], Sequence[Mapping[str, object]]], how: str
) -> Beside:
    used: dict[str, None] = {}

    def found(term: Term) -> Interval:
        for point in known.get((term.operation, term.bytes or 0), ()):
            if all(_text(point.get(name)) == value for name, value in term.where.items()):
                used[f"{point.get('api')}, {point.get('memory')} memory"] = None
                return _interval(point, rate=row.rate)
        size = f" of {format_size(term.bytes)}" if term.bytes else ""
        where = ", ".join(f"{name} {value}" for name, value in term.where.items())
        raise LookupError(f"no {term.operation}{size}{where and f' with {where}'}")

    try:
        here = combined(row, found)
    except LookupError as error:
        return Beside(row, None, NOT_MEASURED, f"the run has {error.args[0]}")
    # The source may speak of another API or kind of memory than this device has.
    source = f"{how}: {' and '.join(used)}" if how == "measured" else how
    return Beside(row, here, source or row.how)


def _interval(point: Mapping[str, object], *, rate: bool) -> Interval:
    """Of a point's time in seconds, or of its rate in bytes a second."""
    seconds, low, high = (float(str(point[end])) for end in ("median_s", "ci_low_s", "ci_high_s"))
    time = Interval(seconds, low, high)
    return time.inverse(float(str(point["bandwidth_Bps"])) * seconds) if rate else time


def _text(value: object) -> str:
    """An axis's value as a row writes it; a column with gaps has whole numbers as fractions."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def from_model(row: Row) -> Beside:
    """A row that no study gives, by its closed form."""
    board = boards.load(row.board)
    return Beside(row, exact(closed_form(row.model, row.inputs)(board) / row.scale), row.how)


def from_events(row: Row) -> Beside:
    """A row by the emulated card in this process, within seconds."""
    return Beside(row, exact(events.figure(row, boards.load(row.board))), row.how)


@dataclass(frozen=True)
class FigureFound:
    """A figure of a source with what was found for its rows."""

    figure: Figure
    rows: tuple[Beside, ...]

    @property
    def names(self) -> list[str]:
        """Of the rows: items, behind the last word of their series where items alone are alike."""
        items = [one.row.item for one in self.rows]
        if len(set(items)) == len(items):
            return items
        return [f"{one.row.series.rpartition(', ')[2]}, {one.row.item}" for one in self.rows]

    @property
    def worst(self) -> Beside | None:
        """The row that is farthest off; None where nothing was found."""
        found = [one for one in self.rows if one.residual is not None]
        return max(found, key=lambda one: abs(one.residual or 0.0), default=None)


def missed_aims(found: Iterable[FigureFound], sources: Iterable[Source]) -> list[str]:
    """Each aim that is missed, in words: rows beyond theirs, series beyond theirs together."""
    first: dict[int, tuple[str, Beside]] = {}
    for figure in found:
        for name, one in zip(figure.names, figure.rows, strict=True):
            first.setdefault(id(one.row), (f"{figure.figure.name}, {name}", one))
    every = [one for _, one in first.values()]
    missed = [
        f"{name}: {100 * (one.residual or 0.0):+.3g} % "
        f"(aim: within {100 * (one.row.aim or 0.0):.2g} %)"
        for name, one in first.values()
        if one.missed
    ]
    for aim in (aim for source in sources for aim in source.aims if aim.rms is not None):
        all_of_it = [one.residual for one in every if one.row.series in aim.series]
        residuals = [residual for residual in all_of_it if residual is not None]
        if not residuals or len(residuals) < len(all_of_it):
            continue
        rms = (sum(r * r for r in residuals) / len(residuals)) ** 0.5
        if rms > (aim.rms or 0.0):
            missed.append(
                f"{aim.name}: {100 * rms:.3g} % rms (aim: {100 * (aim.rms or 0.0):.2g} %)"
            )
    return missed
