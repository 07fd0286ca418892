"""Kernels on host memory compared with the link's limit, the model and published figures."""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus import boards
from isthmus.analysis import published
from isthmus.analysis.context import AnalysisContext, Answer, each, rate_of, table
from isthmus.boards import Board
from isthmus.models import host_memory

KERNELS = {"read_bandwidth": "read", "write_bandwidth": "write", "bandwidth": "copy"}
"""Kernels as the closed form names them, by operation."""


def _predicted(board: Board | None, row: Any) -> float:
    """Prediction of the closed form for this row; NaN where it does not apply."""
    if board is None or row.target != "host" or not board.has("kernel"):
        return np.nan
    kernel = KERNELS[row.operation]
    shape = _as_measured(board, row)
    return host_memory.bandwidth(shape, kernel, int(row.bytes), int(row.iterations))


def crossing(context: AnalysisContext) -> Answer:
    """Each point on host memory compared with the link's limit, the model and the published log.

    Includes points whose data were wrong, marked FAIL; no other answer does.
    """
    known = {device.address: device for device in context.run.devices}
    points = context.every[context.every["operation"].isin(KERNELS)]
    points = points[(points["target"] == "host") & points["bandwidth_Bps"].gt(0)]
    points = points[points["clock"] != "device"]
    rows = []
    for row in each(points):
        device = known[str(row.device)]
        board = boards.of_device(device.properties)
        model = _predicted(board, row)
        theirs = _published(context, board, row)
        named = (row.device, row.operation, row.memory, row.axes, row.clock, row.bytes)
        measured = (*rate_of(row)[:3], row.limit_share)
        compared = (row.bandwidth_Bps / model - 1, theirs, row.bandwidth_Bps / theirs - 1)
        data = {"true": "PASS", "false": "FAIL"}.get(str(row.verified), "not checked")
        rows.append((*named, *measured, *compared, data))
    frame = table(
        rows,
        "device operation memory axes clock bytes bandwidth_Bps low_bandwidth_Bps",
        "high_bandwidth_Bps limit_share model_residual published_Bps published_residual",
        "data",
    )
    order = {name: i for i, name in enumerate(KERNELS)}
    frame = frame.assign(order=frame["operation"].map(order.get))
    frame = frame.sort_values(["device", "clock", "axes", "order", "bytes"]).without(["order"])
    return Answer(
        "crossing",
        "How near do kernels come to what the link leaves for data, and to what is known?",
        frame.known_columns() if rows else frame,
    )


def _published(context: AnalysisContext, board: Board | None, row: Any) -> float:
    """The published figure for this very point: the same card, link, bursts and sweeps."""
    if board is None:
        return np.nan
    known = published.rates(
        context.study, _as_measured(board, row), row.operation,
        target=row.target, iterations=row.iterations,
    )  # fmt: skip
    return known.get(int(row.bytes), np.nan)


def _as_measured(board: Board, row: Any) -> Board:
    """The board with the values that the point's axes replace."""
    changed = {
        key: float(value) / scale
        for key, value, scale in (
            ("kernel.outstanding", row.outstanding, 1.0),
            ("kernel.burst_beats", row.burst_bytes, board.number("kernel.width_bytes")),
            ("host.page_bytes", row.page_bytes, 1.0),
        )
        if isinstance(value, (int, float)) and np.isfinite(value)
    }
    return board.with_values(changed)
