"""A run on a board beside what was published of that very board."""

from __future__ import annotations

from functools import cache

from isthmus import boards, published
from isthmus.analysis.context import AnalysisContext, Rows, question
from isthmus.analysis.reproduction import from_points, is_of
from isthmus.boards import Board
from isthmus.published import Row
from isthmus.results.run_file import DeviceRecord
from isthmus.validation import fitting


@cache
def _flat(board: str) -> dict[str, str]:
    return boards.load(board).flat()


def rows_on(study: str, board: Board | None) -> list[Row]:
    """Published figures that a study gives on a board; none of a board that was changed."""
    if board is None:
        return []
    flat = board.flat()
    return [row for row in published.rows_of(study) if _flat(row.board) == flat]


def rows_of_card(study: str, device: DeviceRecord) -> list[Row]:
    """Published figures that a study gives on the board that a device is, or is a model of.

    None of a card below a real runtime: its simulated time lacks the runtime's software. Hardware
    has its board's name in its own.
    """
    if "emulated_card" in device.properties:
        return []
    if device.simulated:
        return rows_on(study, boards.of_device(device.properties))
    return [row for row in published.rows_of(study) if row.board in device.name.lower()]


def rates(study: str, board: Board | None, operation: str, **axes: object) -> dict[int, float]:
    """Published bytes a second by size, of points with these axes among theirs; empty: none."""
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
    """Each published figure that points of the run give, on emulated cards of the same board."""
    for device in (one for one in context.run.devices if one.simulated):
        points = context.timed[context.timed["device"] == device.address]
        for one in from_points(rows_of_card(context.study, device), points):
            if one.interval:
                row, here = one.row, one.interval.value
                named = (device.address, row.item, row.nearest(here))
                yield *named, here, row.unit, row.residual(here), one.how


@question(
    "held_out", "How well does the model predict published points that it has not seen?",
    "series fitted_points fitted_rms_share fitted_worst_residual held_out_points",
    "held_out_rms_share held_out_worst_residual",
)  # fmt: skip
def held_out(context: AnalysisContext) -> Rows:
    """How well the models of the run's boards predict points that their fits did not see."""
    found = {
        one.series: one
        for address, board in context.boards.items()
        if board is not None and (context.rows["device"] == address).any()
        for one in fitting.known_held_out(board, context.study)
    }
    for one in found.values():
        yield (
            one.series, one.fitted_points, one.fitted_rms, one.fitted_worst,
            one.held_out_points, one.held_out_rms, one.held_out_worst,
        )  # fmt: skip
