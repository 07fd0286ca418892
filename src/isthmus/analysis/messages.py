"""Answers of the study beff to ``pingpong`` and ``window``: messages between two ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from isthmus.analysis import wording
from isthmus.analysis.evidence import Answer, Evidence, each, rate_of, table, time_of
from isthmus.analysis.ratios import groups
from isthmus.units import format_rate, format_seconds, format_size

_SAME = ["device", "channel", "ranks", "depth", "memory", "clock"]


def messages(evidence: Evidence) -> Answer:
    """Latency, half a round trip of ``pingpong``; and what each pair carries in ``window``."""
    rows: list[tuple[Any, ...]] = []
    clauses: list[str] = []
    for operation, told in (("pingpong", _latency), ("window", _bandwidth)):
        asked = evidence.rows[evidence.rows["operation"] == operation]
        for _, unsorted in groups(asked, _SAME):
            mine = unsorted.sort_values("bytes")
            first = mine.iloc[0]
            rows += [_figures(row) for row in each(mine)]
            where = f"channel {first['channel']}, ranks: {first['ranks'] or 1}"
            clauses.append(f"{told(mine)}, {where} ({evidence.labels[first['device']]})")
    return Answer(
        "messages",
        "How long is a message under way, and how fast do many go one way?",
        wording.few(clauses) or ("neither pingpong nor window was measured",),
        table(
            rows, "operation", *_SAME, "bytes", "latency_s", "low_latency_s", "high_latency_s",
            "pair_Bps", "low_pair_Bps", "high_pair_Bps",
        ),
    )  # fmt: skip


def _pairs(ranks: Any) -> int:
    """Ranks 0 and 1, 2 and 3, ...; one that is left over is its own partner."""
    return -(-int(ranks or 1) // 2)


def _one_way(row: Any) -> tuple[float, ...]:
    """Seconds of half a round trip, and their interval."""
    return time_of(row).times(0.5)[:3]


def _of_a_pair(row: Any) -> tuple[float, ...]:
    """Bytes a second, and their interval."""
    return rate_of(row).times(1 / _pairs(row.ranks))[:3]


def _figures(row: Any) -> tuple[Any, ...]:
    same = tuple(getattr(row, name) for name in _SAME)
    none = (np.nan,) * 3
    if row.operation == "pingpong":
        return ("pingpong", *same, row.bytes, *_one_way(row), *none)
    return ("window", *same, row.bytes, *none, *_of_a_pair(row))


def _bytes(count: float) -> str:
    return f"{format_size(int(count))}B"


def _interval(low: str, high: str) -> str:
    """Nothing where there are too few samples for one."""
    return f" ({low} to {high})" if low and high else ""


def _latency(rows: pd.DataFrame) -> str:
    least = rows.iloc[0]
    typical, low, high = map(format_seconds, _one_way(least))
    return (
        f"a message of {_bytes(least['bytes'])} takes {typical}, half a round trip"
        f"{_interval(low, high)}"
    )


def _bandwidth(rows: pd.DataFrame) -> str:
    most = rows.sort_values("bandwidth_Bps").iloc[-1]
    typical, low, high = map(format_rate, _of_a_pair(most))
    return (
        f"a pair carries {typical} one way{_interval(low, high)}, "
        f"{int(most['depth'])} messages of {_bytes(most['bytes'])} in flight"
    )
