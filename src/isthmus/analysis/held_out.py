"""Errors of a board's model on points held out of its fit: a question of several studies."""

from __future__ import annotations

from collections.abc import Callable

from isthmus import boards
from isthmus.analysis.context import AnalysisContext, Answer, board_of
from isthmus.validation import fitting


def held_out(board: str) -> Callable[[AnalysisContext], Answer]:
    """A question for runs on this board with no parameter replaced."""

    def ask(context: AnalysisContext) -> Answer:
        return _answer(context, board)

    return ask


def _answer(context: AnalysisContext, board: str) -> Answer:
    on_it = [
        device.address
        for device in context.run.devices
        if (emulated := board_of(device)) is not None
        and emulated.flat() == boards.load(board).flat()
        and device.address in set(context.rows["device"])
    ]
    errors = fitting.known_held_out(board) if on_it else ()
    return Answer.of(
        "held_out",
        "How well does the model predict published points that it has not seen?",
        [
            (one.series, one.fitted_points, one.fitted_rms, one.fitted_worst,
             one.held_out_points, one.held_out_rms, one.held_out_worst)
            for one in errors
        ],
        "series fitted_points fitted_rms_share fitted_worst_residual held_out_points",
        "held_out_rms_share held_out_worst_residual",
    )  # fmt: skip
