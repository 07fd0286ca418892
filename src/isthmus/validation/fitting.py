"""Fits of boards' parameters to published figures, and the check with held-out points."""

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
"""Tolerance of the search, far below the errors of the models."""


def fits() -> list[Fit]:
    """Those of all sources."""
    return [fit for source in published.sources().values() for fit in source.fits]


def solve(
    board: Board,
    start: Mapping[str, float],
    points: Sequence[PublishedPoint],
    tolerance: float = 1e-12,
) -> Board:
    """The board with the parameters that minimise the squared relative residuals.

    Parameters are searched as multiples of their start, so that nanoseconds and bytes weigh alike.
    What events predict is taken as their closed form times the ratio that both have on ``board``:
    right where the fit gives the board back.
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

    from scipy.optimize import least_squares  # noqa: PLC0415 - who reads results does not fit

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
    """A fitted value as it stands in a file: four digits, a ratio five; whole pages and cycles."""
    if name.endswith("_bytes"):
        return float(round(value / _PAGE) * _PAGE)
    if TABLE[name].type is int:
        return float(round(value))
    return float(f"{value:.{_DIGITS if TABLE[name].unit else _DIGITS + 1}g}")


class Fitted(NamedTuple):
    """One parameter: what the fit gives, and what the board's file says."""

    board: str
    parameter: str
    fitted: float
    in_file: float
    unit: str
    calibration: str


def refit() -> list[Fitted]:
    """All fits, redone from the published figures."""
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
    """The fits' parameters, a line each, and whether the boards' files say the same."""
    rows: list[tuple[str, ...]] = [("board", "parameter", "fitted", "in file", "unit", "points")]
    for one in values:
        fitted, in_file = f"{one.fitted:.8g}", f"{one.in_file:.8g}"
        rows.append((one.board, one.parameter, fitted, in_file, one.unit, one.calibration))
    return "\n".join(columns(rows)) + "\n"


class Constant(NamedTuple):
    """A parameter fitted to whole curves, as closed forms, with its 95 % interval."""

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
        """Whether the curves tell the parameter from 0; no parameter can be negative."""
        return self.low > 0


def constants(board: str = "") -> list[Constant]:
    """Parameters with more points than parameters in their curves, of one board or of all."""
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
    """Of Student's 95 % intervals around least squares, from the slopes of the residuals there."""

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
    """Errors of a curve where each size is predicted by a fit to all the others."""

    series: str
    fitted_points: int
    """Of the curve, in each of the fits."""
    fitted_rms: float
    fitted_worst: float
    """Of the board in the file, which has seen what its calibration names."""
    held_out_points: int
    held_out_rms: float
    held_out_worst: float


HELD_OUT = "held_out.csv"
"""File of a source's folder with what ``held_out`` gave last: 20 s. ``tools/model_docs.py`` writes
it, a test compares."""


def known_held_out(board: Board, study: str) -> list[HeldOut]:
    """What the sources' files have of a study's curves as events, on a board as its file has it."""
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
    """Its series, by closed forms and as events."""
    return [f"{series}{how}" for how in ("", AS_EVENTS) for series in fit.series]


def held_out_texts(rows: Sequence[HeldOut]) -> dict[Path, str]:
    """Texts of the sources' files with these errors of their curves."""
    texts = {}
    for source in published.sources().values():
        curves = {name for fit in source.fits for name in _curves(fit)}
        if curves:
            text = io.StringIO()
            writer = csv.writer(text, lineterminator="\n")
            writer.writerow(HeldOut._fields)
            writer.writerows(
                [f"{v:.4g}" if isinstance(v, float) else v for v in one]
                for one in rows
                if one.series in curves
            )
            texts[source.folder / HELD_OUT] = text.getvalue()
    return texts


def held_out() -> list[HeldOut]:
    """Leaves one size out of all curves of a fit, and predicts it; for each size in turn.

    Events near a board are its closed form times the ratio of the two on the board in the file
    (``solve``); what is predicted really runs on the card.
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
    """Root of the mean of the squares."""
    return math.sqrt(sum(r * r for r in residuals) / len(residuals))


def worst(residuals: Sequence[float]) -> float:
    """The largest by size, with its sign."""
    return max(residuals, key=abs)
