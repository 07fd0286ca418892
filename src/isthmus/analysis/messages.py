"""Questions of the study ``beff`` about ``pingpong`` and ``window``: messages of two ranks.

``window_both``, which only imported runs have, is a window in each direction at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from isthmus.analysis.context import AnalysisContext, Answer, each, rate_of, time_of
from isthmus.analysis.ratios import groups

_SAME = ["device", "channel", "ranks", "depth", "memory", "clock"]


def messages(context: AnalysisContext) -> Answer:
    """Latency (half a round trip of ``pingpong``), and rate of each pair of ranks in ``window``."""
    rows: list[tuple[Any, ...]] = []
    for operation in ("pingpong", "window", "window_both"):
        of_operation = context.rows[context.rows["operation"] == operation]
        for _, group in groups(of_operation, _SAME):
            rows += [_figures(row) for row in each(group.sort_values("bytes"))]
    return Answer.of(
        "messages", "How long is a message under way, and how fast do many go one way?", rows,
        "operation", *_SAME, "bytes latency_s low_latency_s high_latency_s pair_Bps low_pair_Bps",
        "high_pair_Bps",
    )  # fmt: skip


def _pairs(ranks: Any) -> int:
    """Pairs of ranks: 0 and 1, 2 and 3, ...; a single last rank is paired with itself."""
    return -(-int(ranks or 1) // 2)


def _one_way(row: Any) -> tuple[float, ...]:
    """Half a round trip in seconds, with its interval."""
    return time_of(row).times(0.5)[:3]


def _of_a_pair(row: Any) -> tuple[float, ...]:
    """Rate of one pair in bytes a second, with its interval."""
    return rate_of(row).times(1 / _pairs(row.ranks))[:3]


def _figures(row: Any) -> tuple[Any, ...]:
    same = tuple(getattr(row, name) for name in _SAME)
    none = (np.nan,) * 3
    if row.operation == "pingpong":
        return ("pingpong", *same, row.bytes, *_one_way(row), *none)
    return (row.operation, *same, row.bytes, *none, *_of_a_pair(row))
