"""Fits of boards' parameters to published figures, and the check with held-out points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from isthmus import boards
from isthmus.boards import Board
from isthmus.boards.listing import columns
from isthmus.boards.table import TABLE
from isthmus.validation.points import (
    AS_EVENTS,
    BEFF_SERIES,
    HOST_MEMORY_FIT,
    HOST_MEMORY_SERIES,
    OFFLOAD_FIT,
    PEAK_FIT,
    PublishedPoint,
    all_points,
)

_PAGE = 4096
_DIGITS = 4
_STEP = 1e-4


class Fit(NamedTuple):
    """Parameters of a board that one calibration sets, and where the search starts."""

    calibration: str
    board: str
    start: Mapping[str, float]
    series: tuple[str, ...] = ()
    """Curves whose every second point is held out for the check; empty: too few points."""


FITS = (
    Fit(
        HOST_MEMORY_FIT,
        "u250",
        {
            "kernel.launch_ns": 60e3,
            "kernel.block_interval_ns": 700.0,
            "kernel.copy_block_interval_ns": 1000.0,
            "kernel.write_response_ns": 1200.0,
            "kernel.host_latency_ns": 500.0,
            "link.credit_return_ns": 500.0,
            "host.memory_miss_ns": 180.0,
            "host.memory_bandwidth_Bps": 12e9,
            "host.cache_write_bytes": 12e6,
            "host.cache_read_bytes": 3.5e6,
        },
        tuple(series + how for how in ("", AS_EVENTS) for series in HOST_MEMORY_SERIES.values()),
    ),
    Fit(
        "b_eff_520n_1fpga: 1 B and 2 MiB",
        "520n",
        {"serial.latency_ns": 520.0, "serial.stretch": 1.0},
        (BEFF_SERIES[0], BEFF_SERIES[0] + AS_EVENTS),
    ),
    Fit(
        "b_eff_520n_8fpga: 1 B",
        "520n",
        {"serial.hop_ns": 50.0},
        (BEFF_SERIES[1], BEFF_SERIES[1] + AS_EVENTS),
    ),
    Fit(
        "McCalpin, TACC TR-14-10: status_register_read and status_register_read_2",
        "stratix4-gen2x8",
        {"host.load_ns": 200.0},
    ),
    Fit(
        "McCalpin, TACC TR-14-10: driver_overhead_read8 and driver_overhead_read64",
        "stratix4-gen2x8",
        {"host.system_call_ns": 100.0},
    ),
    Fit("McCalpin, TACC TR-14-10: sram_read", "stratix4-gen2x8", {"sram.extra_cycles": 10.0}),
    Fit(PEAK_FIT, "f1-vu9p", {"host.memory_latency_ns": 800.0}),
    Fit(
        "AMD Vitis runtime tutorial 2020.2, example 2, aligned: "
        "migrate_to_device, 2 x 24 MiB in 6.615 ms",
        "u200",
        {"host.memory_latency_ns": 1000.0},
    ),
    Fit(
        "AMD Vitis runtime tutorial 2020.2, example 2, aligned: read_back, 24 MiB in 2.479 ms",
        "u200",
        {"host.write_retire_ns": 500.0},
    ),
    Fit(
        OFFLOAD_FIT,
        "u200",
        {
            "offload.initialise_ns": 256e6,
            "offload.allocate_ns": 55e3,
            "offload.fault_ns": 1500.0,
            "offload.pin_ns": 500.0,
            "offload.copy_Bps": 2.8e9,
            "offload.populate_ns": 4.6,
            "offload.arguments_ns": 14e3,
            "offload.enqueue_ns": 116e3,
            "offload.kernel_ns": 14.6,
            "offload.add_ns": 4.2,
        },
    ),
)
"""In order: a later one of the same board starts from the values of the earlier."""


def solve(board: Board, start: Mapping[str, float], points: Sequence[PublishedPoint]) -> Board:
    """The board with the parameters that make the squared relative residuals least.

    Parameters are searched as multiples of their start, so that nanoseconds and bytes weigh alike.
    What events predict is taken as their closed form times the ratio that both have on ``board``:
    right where the fit gives the board back.
    """
    quick = [(point.quick(board), point.published) for point in points]
    scale = np.array(list(start.values()))

    def at(multiples: NDArray[np.float64]) -> Board:
        values = np.abs(multiples) * scale
        return board.with_values(dict(zip(start, map(float, values), strict=True)))

    def residuals(multiples: NDArray[np.float64]) -> NDArray[np.float64]:
        tried = at(multiples)
        return np.array([predict(tried) / published - 1.0 for predict, published in quick])

    found = optimize.least_squares(
        residuals,
        np.ones(len(scale)),
        diff_step=np.full(len(scale), _STEP),
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
    )
    return at(found.x)


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
    found = []
    for fit in FITS:
        board = boards.load(fit.board)
        mine = [point for point in points if point.fit == fit.calibration]
        solved = solve(board, fit.start, mine)
        found += [
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
    return found


def text(found: Sequence[Fitted]) -> str:
    """The fits' parameters, a line each, and whether the boards' files say the same."""
    rows: list[tuple[str, ...]] = [("board", "parameter", "fitted", "in file", "unit", "points")]
    for one in found:
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


def constants(board: str = "") -> list[Constant]:
    """Parameters whose curves have more points than they are; of one board, where it is named."""
    points = all_points()
    found = []
    for fit in FITS:
        curves = [series for series in fit.series if not series.endswith(AS_EVENTS)]
        mine = [p for p in points if p.series in curves and p.name != "mean"]
        if len(mine) <= len(fit.start) or board not in {"", fit.board}:
            continue
        before = boards.load(fit.board)
        solved = solve(before, fit.start, mine)
        halves = map(float, _half_widths(solved, list(fit.start), mine))
        for name, half in zip(fit.start, halves, strict=True):
            value = solved.number(name)
            found.append(
                Constant(
                    fit.board, name, value, value - half, value + half, before.number(name),
                    TABLE[name].unit, "; ".join(curves),
                )
            )  # fmt: skip
    return found


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
    return np.asarray(stats.t.ppf(0.975, free) * errors)


class HeldOut(NamedTuple):
    """Errors of a fit on every second point of a curve, there and on the others."""

    series: str
    fitted_points: int
    fitted_rms: float
    fitted_worst: float
    held_out_points: int
    held_out_rms: float
    held_out_worst: float


def held_out(board: str = "", *, closed_forms_only: bool = False) -> list[HeldOut]:
    """Fits on every second point, and predicts the rest; the first point is fitted.

    Of one board, where it is named; ``closed_forms_only`` leaves out events, which take seconds.
    """
    points = all_points()
    found = []
    for fit in FITS:
        curves = {
            series: [p for p in points if p.series == series and p.name != "mean"]
            for series in fit.series
            if not (closed_forms_only and series.endswith(AS_EVENTS))
        }
        if not curves or board not in {"", fit.board}:
            continue
        chosen = [point for curve in curves.values() for point in curve[::2]]
        # The board in the file has seen all points: events are compared with one that has not.
        unseeing = [point for point in chosen if point.closed_form is None]
        blind = solve(boards.load(fit.board), fit.start, unseeing)
        solved = blind if len(unseeing) == len(chosen) else solve(blind, fit.start, chosen)
        for series, curve in curves.items():
            seen = [point.residual(solved) for point in curve[::2]]
            unseen = [point.residual(solved) for point in curve[1::2]]
            found.append(
                HeldOut(
                    series, len(seen), rms(seen), worst(seen),
                    len(unseen), rms(unseen), worst(unseen),
                )
            )  # fmt: skip
    return found


def rms(residuals: Sequence[float]) -> float:
    """Root of the mean of the squares."""
    return math.sqrt(sum(r * r for r in residuals) / len(residuals))


def worst(residuals: Sequence[float]) -> float:
    """The largest by size, with its sign."""
    return max(residuals, key=abs)
