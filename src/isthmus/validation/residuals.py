"""Makes the residual table of models and published figures, and formats it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from isthmus import boards, published
from isthmus.columns import columns
from isthmus.published.source import Aim
from isthmus.validation.fitting import Constant, HeldOut, constants, held_out, rms, worst
from isthmus.validation.points import AS_EVENTS, PublishedPoint, all_points
from isthmus.written import csv_text, json_text

FORMATS = ("table", "md", "csv", "json")


class Row(NamedTuple):
    """One published figure and its prediction."""

    series: str
    point: str
    unit: str
    published: float
    predicted: float
    residual: float
    """Predicted over published, less 1."""
    kind: str
    note: str


class SeriesSummary(NamedTuple):
    """Number of points of a series, and summary of their residuals."""

    series: str
    points: int
    fitted: int
    rms: float
    worst: float
    worst_at: str


class AimSummary(NamedTuple):
    """An aim, the residuals of the series that it is for, and the points that miss it."""

    aim: str
    wanted: str
    reached: str
    met: bool
    misses: tuple[str, ...]


class Validation(NamedTuple):
    """The whole residual table, with fits and held-out points."""

    rows: list[Row]
    series: list[SeriesSummary]
    held_out: list[HeldOut]
    constants: list[Constant]
    aims: list[AimSummary]


def validate() -> Validation:
    """Predicts every published figure from the boards that come with Isthmus."""
    rows = [_row(point) for point in all_points()]
    series = [_summary(name, rows) for name in dict.fromkeys(row.series for row in rows)]
    aims = [_judged(aim, rows) for aim in _aims(series)]
    return Validation(rows, series, held_out(), constants(), aims)


def _aims(series: Sequence[SeriesSummary]) -> Iterator[Aim]:
    """Yields the aims of the sources; series as events have the aims of their closed forms."""
    names = {summary.series for summary in series}
    for aim in (aim for source in published.sources().values() for aim in source.aims):
        yield aim
        as_events = tuple(f"{name}{AS_EVENTS}" for name in aim.series)
        if names.issuperset(as_events):
            yield dataclasses.replace(aim, name=f"{aim.name}{AS_EVENTS}", series=as_events)


def _not_modelled() -> list[tuple[str, str]]:
    """Names of figures of which no row is predicted, each with the reason."""
    figures = (figure for source in published.sources().values() for figure in source.figures)
    return [
        (f"{figure.name}: {figure.title}", figure.because or f"needs {figure.needs}")
        for figure in figures
        if not figure.rows
    ]


def _row(point: PublishedPoint) -> Row:
    row = point.row
    predicted = point.predict(boards.load(row.board))
    return Row(
        point.series, row.item, row.unit, row.published, predicted,
        row.residual(predicted), row.how, row.note,
    )  # fmt: skip


def _summary(name: str, rows: Sequence[Row]) -> SeriesSummary:
    own = [row for row in rows if row.series == name]
    residuals = [row.residual for row in own]
    farthest = max(own, key=lambda row: abs(row.residual))
    fitted = sum(row.kind == "fitted" for row in own)
    return SeriesSummary(name, len(own), fitted, rms(residuals), worst(residuals), farthest.point)


def _judged(aim: Aim, rows: Sequence[Row]) -> AimSummary:
    of_series = [row for row in rows if row.series in aim.series]
    residuals = [row.residual for row in of_series]
    misses = tuple(
        f"{row.series}, {row.point}: {_percent(row.residual)}" + (f" ({row.note})" * bool(row.note))
        for row in of_series
        if abs(row.residual) > aim.worst
    )
    wanted, reached = f"worst {aim.worst:.1%}", f"worst {abs(worst(residuals)):.2%}"
    met = not misses
    if aim.rms is not None:
        wanted, reached = f"rms {aim.rms:.1%}, {wanted}", f"rms {rms(residuals):.2%}, {reached}"
        met = met and rms(residuals) <= aim.rms
    return AimSummary(aim.name, _spaced(wanted), _spaced(reached), met, misses)


def _spaced(text: str) -> str:
    return text.replace("%", " %")


def _percent(share: float) -> str:
    return f"{100 * share:+.2f} %"


def render(validation: Validation, form: str) -> str:
    """The table as text in one of ``FORMATS``."""
    if form == "csv":
        return csv_text(Row._fields, validation.rows)
    if form == "json":
        content = {
            "points": [row._asdict() for row in validation.rows],
            "series": [item._asdict() for item in validation.series],
            "held_out": [item._asdict() for item in validation.held_out],
            "constants": [
                {**item._asdict(), "determined": item.determined} for item in validation.constants
            ],
            "aims": [item._asdict() for item in validation.aims],
            "not_modelled": [{"figure": figure, "why": why} for figure, why in _not_modelled()],
        }
        return json_text(content)
    if form == "md":
        return "\n".join(_md(validation)).rstrip() + "\n"
    return "\n".join(_plain(validation)).rstrip() + "\n"


Cells = list[list[str]]


def _tables(validation: Validation) -> Iterator[tuple[str, list[str], Cells]]:
    yield (
        "Aims",
        ["aim", "wanted", "reached", "met", "misses"],
        [
            [a.aim, a.wanted, a.reached, "yes" if a.met else "no", "; ".join(a.misses)]
            for a in validation.aims
        ],
    )
    yield (
        "Series",
        ["series", "points", "of them fitted", "rms", "worst", "at"],
        [
            [s.series, str(s.points), str(s.fitted), _spaced(f"{s.rms:.2%}"), _percent(s.worst),
             s.worst_at]
            for s in validation.series
        ],
    )  # fmt: skip
    yield (
        "Held out: each size predicted by a fit to the other sizes",
        ["series", "in each fit", "rms of the board", "worst", "held out", "rms", "worst"],
        [
            [
                h.series, str(h.fitted_points), _spaced(f"{h.fitted_rms:.2%}"),
                _percent(h.fitted_worst), str(h.held_out_points),
                _spaced(f"{h.held_out_rms:.2%}"), _percent(h.held_out_worst),
            ]
            for h in validation.held_out
        ],
    )  # fmt: skip
    yield (
        "Constants: fitted to whole curves as closed forms, with 95 % intervals; undetermined: the "
        "interval contains 0",
        ["board", "parameter", "fitted", "interval", "in file", "unit", "curves"],
        [
            [
                c.board, c.parameter, f"{c.value:.5g}" if c.determined else "undetermined",
                f"{c.low:.5g} to {c.high:.5g}",
                f"{c.in_file:.5g}", c.unit, c.curves,
            ]
            for c in validation.constants
        ],
    )  # fmt: skip
    yield (
        "Points",
        ["series", "point", "unit", "published", "predicted", "residual", "kind", "note"],
        [
            [r.series, r.point, r.unit, f"{r.published:.5g}", f"{r.predicted:.5g}",
             _percent(r.residual), r.kind, r.note]
            for r in validation.rows
        ],
    )  # fmt: skip
    yield "Not modelled", ["figure", "why"], [list(pair) for pair in _not_modelled()]


def _line(cells: Sequence[str]) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _md(validation: Validation) -> Iterator[str]:
    for title, headings, rows in _tables(validation):
        yield from (f"### {title}", "", _line(headings))
        yield f"|{'---|' * len(headings)}"
        yield from map(_line, rows)
        yield ""


def _plain(validation: Validation) -> Iterator[str]:
    """Yields lines of text without the longest tables; shows how many points miss their aims."""
    aims, *tables, points, not_modelled = _tables(validation)
    missed = [str(len(aim.misses)) for aim in validation.aims]
    short = [[*row[:-1], number] for row, number in zip(aims[2], missed, strict=True)]
    for title, headings, rows in ((*aims[:2], short), *tables):
        yield title
        yield from columns([headings, *rows], indent="  ")
        yield ""
    yield (
        f"{len(points[2])} points, the misses and {len(not_modelled[2])} figures that are not "
        "modelled: --format md, csv or json; isthmus reproduce shows figure by figure"
    )
