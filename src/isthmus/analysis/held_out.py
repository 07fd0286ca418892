"""How well a board's model predicts what it has not seen: an answer for runs on that board."""

from __future__ import annotations

from collections.abc import Callable

from isthmus.analysis.evidence import Answer, Evidence, known_board
from isthmus.validation import fitting


def held_out(board: str) -> Callable[[Evidence], Answer]:
    """Asks that of runs on this board, left as it is."""

    def ask(evidence: Evidence) -> Answer:
        return _answer(evidence, board)

    return ask


def _answer(evidence: Evidence, board: str) -> Answer:
    on_it = [
        device.address
        for device in evidence.run.devices
        if device.simulated
        and known_board(device) == board
        and device.address in set(evidence.rows["device"])
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
