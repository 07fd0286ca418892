"""Fits parameters of boards to published figures, and checks the fits by held-out points."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_type_hints

import numpy as np
from numpy.typing import NDArray

from isthmus import boards, published
from isthmus.boards import Board
from isthmus.boards.table import TABLE
from isthmus.columns import columns
from isthmus.published.source import Fit
from isthmus.student import student
from isthmus.validation.points import AS_EVENTS, PublishedPoint, all_points

_PAGE = 4096
_DIGITS = 4
_STEP = 1e-4
_ROUGHLY = 1e-3
"""Relative tolerance of the search for held-out points, far below the errors of the models."""


def fits() -> list[Fit]:
    """Fits of all sources."""
    return [fit for source in published.sources().values() for fit in source.fits]


def solve(
    board: Board,
    start: Mapping[str, float],
    points: Sequence[PublishedPoint],
    tolerance: float = 1e-12,
) -> Board:
    """The board with the parameters that minimise the squared relative residuals.

    The search varies multiples of the start values, so that nanoseconds and bytes weigh alike. For
    a point that events predict, it takes the closed form times the ratio of both predictions on
    ``board``. This is exact if the fit returns that board.
    """
    quick = [(*point.quick(board), point.row.published) for point in points]
    forms = dict.fromkeys(form for form, _, _ in quick)
    scale = np.array(list(start.values()))

    def at(multiples: NDArray[np.float64]) -> Board:
        values = np.abs(multiples) * scale
        return board.with_values(dict(zip(start, map(float, values), strict=True)))

    def residuals(multiples: NDArray[np.float64]) -> NDArray[np.float64]:
        tried = at(multiples)
        predicted = {form: form(tried) for form in forms}
        return np.array(
            [factor * predicted[form] / published - 1.0 for form, factor, published in quick]
        )

    from scipy.optimize import least_squares  # noqa: PLC0415 - readers of results do not fit

    solution = least_squares(
        residuals,
        np.ones(len(scale)),
        diff_step=np.full(len(scale), _STEP),
        xtol=tolerance,
        ftol=tolerance,
        gtol=tolerance,
    )
    return at(solution.x)


def rounded(name: str, value: float) -> float:
    """A fitted value as files store it: four digits, a ratio five; whole pages and cycles."""
    if name.endswith("_bytes"):
        return float(round(value / _PAGE) * _PAGE)
    if TABLE[name].type is int:
        return float(round(value))
    return float(f"{value:.{_DIGITS if TABLE[name].unit else _DIGITS + 1}g}")


class Fitted(NamedTuple):
    """A fitted parameter: the fit's value, and the value in the board's file."""

    board: str
    parameter: str
    fitted: float
    in_file: float
    unit: str
    calibration: str


def refit() -> list[Fitted]:
    """Repeats all fits from the published figures."""
    points = all_points()
    fitted = []
    for fit in fits():
        board = boards.load(fit.board)
        of_fit = [point for point in points if point.row.fit == fit.calibration]
        solved = solve(board, fit.start, of_fit)
        fitted += [
            Fitted(
                fit.board,
                name,
                rounded(name, solved.number(name)),
                board.number(name),
                TABLE[name].unit,
                fit.calibration,
            )
            for name in fit.start
        ]
    return fitted


def text(values: Sequence[Fitted]) -> str:
    """Formats a table of fitted parameters beside the values in the boards' files."""
    rows: list[tuple[str, ...]] = [("board", "parameter", "fitted", "in file", "unit", "points")]
    for value in values:
        fitted, in_file = f"{value.fitted:.8g}", f"{value.in_file:.8g}"
        rows.append((value.board, value.parameter, fitted, in_file, value.unit, value.calibration))
    return "\n".join(columns(rows)) + "\n"


class Constant(NamedTuple):
    """A parameter fitted to whole curves by closed forms, with its 95 % interval."""

    board: str
    parameter: str
    value: float
    low: float
    high: float
    in_file: float
    unit: str
    curves: str

    @property
    def determined(self) -> bool:
        """Whether the interval excludes 0; no parameter can be negative."""
        return self.low > 0


def constants(board: str = "") -> list[Constant]:
    """Parameters fitted to curves with more points than parameters, for one board or all boards."""
    points = all_points()
    results = []
    for fit in fits():
        of_fit = [p for p in points if p.series in fit.series and p.row.combine == "sum"]
        if len(of_fit) <= len(fit.start) or board not in {"", fit.board}:
            continue
        before = boards.load(fit.board)
        solved = solve(before, fit.start, of_fit)
        halves = map(float, _half_widths(solved, list(fit.start), of_fit))
        for name, half in zip(fit.start, halves, strict=True):
            value = solved.number(name)
            results.append(
                Constant(
                    fit.board, name, value, value - half, value + half, before.number(name),
                    TABLE[name].unit, "; ".join(fit.series),
                )
            )  # fmt: skip
    return results


def _half_widths(
    board: Board, names: Sequence[str], points: Sequence[PublishedPoint]
) -> NDArray[np.float64]:
    """Half-widths of Student's 95 % intervals around least squares, from the residuals' slopes."""

    def residuals(tried: Board) -> NDArray[np.float64]:
        return np.array([point.residual(tried) for point in points])

    def slope(name: str) -> NDArray[np.float64]:
        step = _STEP * board.number(name)
        ends = (
            residuals(board.with_values({name: board.number(name) + sign * step}))
            for sign in (1, -1)
        )
        return np.asarray(np.subtract(*ends) / (2 * step))

    scale = np.array([board.number(name) for name in names])
    slopes = np.column_stack([slope(name) for name in names]) * scale
    free = len(points) - len(names)
    variance = float((residuals(board) ** 2).sum()) / free
    errors = np.sqrt(variance * np.diag(np.linalg.pinv(slopes.T @ slopes))) * scale
    return np.asarray(student(free, 0.975) * errors)


class HeldOut(NamedTuple):
    """Errors of a curve if each size is predicted by a fit to all other sizes."""

    series: str
    fitted_points: int
    """Number of the curve's points to which each fit is made."""
    fitted_rms: float
    fitted_worst: float
    """Largest residual of the curve on the board in the file, which was fitted to its calibration.
    """
    held_out_points: int
    held_out_rms: float
    held_out_worst: float


HELD_OUT = "held_out.csv"
"""File of a source's folder with the latest results of ``held_out``, which take 20 s.
``tools/model_docs.py`` writes it; a test compares it."""


def known_held_out(board: Board, study: str) -> list[HeldOut]:
    """Stored held-out errors of a study's curves as events.

    Empty if the board differs from the file of the board that was fitted.
    """
    results = []
    for source in published.sources().values():
        of_study = {row.series for row in source.rows if row.run and row.run.study == study}
        curves = {
            f"{series}{AS_EVENTS}"
            for fit in source.fits
            for series in of_study.intersection(fit.series)
            if boards.load(fit.board).flat() == board.flat()
        }
        path = source.folder / HELD_OUT
        if curves and path.exists():
            kinds = get_type_hints(HeldOut).items()
            with path.open(encoding="utf-8", newline="") as file:
                rows = [row for row in csv.DictReader(file) if row["series"] in curves]
            results += [HeldOut(**{name: kind(row[name]) for name, kind in kinds}) for row in rows]
    return results


def _curves(fit: Fit) -> list[str]:
    """Names of a fit's curves: predicted by closed forms, and by events."""
    return [f"{series}{how}" for how in ("", AS_EVENTS) for series in fit.series]


def held_out_texts(rows: Sequence[HeldOut]) -> dict[Path, str]:
    """Contents of the file ``HELD_OUT`` of each source, by its path."""
    texts = {}
    for source in published.sources().values():
        curves = {name for fit in source.fits for name in _curves(fit)}
        if curves:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(HeldOut._fields)
            writer.writerows(
                [f"{v:.4g}" if isinstance(v, float) else v for v in row_values]
                for row_values in rows
                if row_values.series in curves
            )
            texts[source.folder / HELD_OUT] = text.getvalue()
    return texts


def held_out() -> list[HeldOut]:
    """Leaves out each size in turn from all curves of a fit, and predicts it.

    The fit approximates events by their closed form (see ``solve``); the prediction itself runs on
    the emulated card.
    """
    points = [point for point in all_points() if point.row.combine == "sum"]
    results = []
    for fit in fits():
        curves = {
            name: [point for point in points if point.series == name] for name in _curves(fit)
        }
        if not curves:
            continue
        before = boards.load(fit.board)
        unseen: dict[str, list[float]] = {series: [] for series in curves}
        every = [point for curve in curves.values() for point in curve]
        start = {name: before.number(name) for name in fit.start}
        for size in dict.fromkeys(point.row.item for point in every):
            solved = solve(before, start, [p for p in every if p.row.item != size], _ROUGHLY)
            for point in every:
                if point.row.item == size:
                    unseen[point.series].append(point.residual(solved))
        for series, left_out in unseen.items():
            seen = [point.residual(before) for point in curves[series]]
            results.append(
                HeldOut(
                    series, len(seen) - 1, rms(seen), worst(seen),
                    len(left_out), rms(left_out), worst(left_out),
                )
            )  # fmt: skip
    return results


def rms(residuals: Sequence[float]) -> float:
    """Root mean square of residuals."""
    return math.sqrt(sum(r * r for r in residuals) / len(residuals))


def worst(residuals: Sequence[float]) -> float:
    """The residual with the largest absolute value, with its sign."""
    return max(residuals, key=abs)
