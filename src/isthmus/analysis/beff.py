"""Questions of the study ``beff``: effective bandwidth between devices, and its limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from isthmus import boards
from isthmus.analysis import fits, published
from isthmus.analysis.beff_channels import channels
from isthmus.analysis.beff_rows import SAME
from isthmus.analysis.context import AnalysisContext, Answer, each, rate_of, table
from isthmus.analysis.messages import messages
from isthmus.analysis.ratios import groups
from isthmus.boards import Board
from isthmus.frames import Frame
from isthmus.models import serial
from isthmus.statistics import Interval, combined

_NAMED = ("device", "channel", "ranks", "topology", "depth", "memory", "clock", "sizes")


def _boards(context: AnalysisContext) -> Mapping[str, Board | None]:
    """Board of each emulated card by address; None where it has no serial channels."""
    known = {device.address: boards.of_device(device.properties) for device in context.run.devices}
    return {a: b if b is not None and b.has("serial") else None for a, b in known.items()}


def _as_measured(board: Board, row: Any) -> Board:
    """The board with the values that the point's axes replace."""
    deep = isinstance(row.depth, (int, float)) and np.isfinite(row.depth)
    return board.with_values({"serial.depth": float(row.depth)}) if deep else board


def _published(context: AnalysisContext, board: Board, row: Any) -> dict[int, float]:
    """Bytes a second by message size; empty where none of this very setting are published."""
    if row.looplength != serial.LOOPLENGTH:
        return {}
    return published.rates(context.study, board, "exchange", ranks=row.ranks)


def _law(sizes: Any, times: Any) -> fits.AlphaBeta | None:
    return fits.alpha_beta(list(map(float, sizes)), list(map(float, times)))


def _exchanges(context: AnalysisContext) -> Frame:
    return context.rows[context.rows["operation"] == "exchange"]


def _b_effs(context: AnalysisContext) -> Frame:
    return context.rows[context.rows["operation"] == "b_eff"]


def b_eff(context: AnalysisContext) -> Answer:
    """b_eff of each complete set of sizes: mean over sizes of the best bandwidth of a process.

    The mean of the median bandwidths follows, with its own interval.
    """
    known = _boards(context)
    rows = []
    exchanges = dict(groups(_exchanges(context), SAME))
    for key, group in groups(_b_effs(context), SAME):
        (row,) = each(group)
        typical = _mean_rate(exchanges[key])
        best = Interval(row.bandwidth_Bps, row.low_bandwidth_Bps, row.high_bandwidth_Bps)
        board = known.get(row.device)
        sizes = serial.SIZES[row.sizes]
        model, theirs = np.nan, np.nan
        if board is not None:
            shape = _as_measured(board, row)
            model = serial.b_eff(shape, int(row.ranks), sizes, int(row.looplength))
            rates = _published(context, shape, row)
            theirs = float(np.mean([rates.get(size, np.nan) for size in sizes]))
        ranks = int(row.ranks or 1)
        rows.append(
            (*(getattr(row, name) for name in _NAMED), *best[:3], *typical[:3],
             best.value / ranks, best.value / model - 1, theirs, best.value / theirs - 1)
        )  # fmt: skip
    return Answer(
        "b_eff",
        "What is the effective bandwidth, and on which sizes?",
        table(
            rows,
            *_NAMED,
            "b_eff_Bps low_b_eff_Bps high_b_eff_Bps median_Bps low_median_Bps",
            "high_median_Bps rank_Bps model_residual published_Bps published_residual",
        ).known_columns(),
    )


def by_size(context: AnalysisContext) -> Answer:
    """Each size compared with the links' limit, the model, a fit to this run, and the log."""
    known = _boards(context)
    rows: list[tuple[Any, ...]] = []
    for _, unsorted in groups(_exchanges(context), SAME):
        group = unsorted.sort_values("bytes")
        first = group.iloc[0]
        board = known.get(first["device"])
        fitted = _law(group["bytes"], group["median_s"]) if board is None else None
        rows += [_row_with_references(context, row, board, fitted) for row in each(group)]
    frame = table(rows, *_COLUMNS)
    return Answer(
        "by_size",
        "How near does each size come to the links' limit, and to what is known?",
        frame.known_columns() if rows else frame,
    )


_COLUMNS = (
    "device", "channel", "ranks", "sizes", "depth", "clock", "bytes", "looplength", "transfer_s",
    "best_Bps", "bandwidth_Bps", "low_bandwidth_Bps", "high_bandwidth_Bps", "limit_share",
    "model_residual", "fit_residual", "published_Bps", "published_residual",
)  # fmt: skip


def _row_with_references(
    context: AnalysisContext,
    row: Any,
    board: Board | None,
    fitted: fits.AlphaBeta | None,
) -> tuple[Any, ...]:
    size, rate, ranks = int(row.bytes), row.bandwidth_Bps, int(row.ranks or 1)
    model, theirs = np.nan, np.nan
    if board is not None:
        shape, steps = _as_measured(board, row), int(row.looplength)
        model = rate / serial.bandwidth(shape, size, ranks, steps) - 1
        theirs = _published(context, shape, row).get(size, np.nan)
    law = np.nan
    if fitted is not None:
        law = (fitted.alpha.value + size / fitted.beta.value) / row.median_s - 1
    return (
        row.device, row.channel, row.ranks, row.sizes, row.depth, row.clock, size, row.looplength,
        row.transfer_s, rate * row.median_s / row.min_s, *rate_of(row)[:3], row.limit_share,
        model, law, theirs, rate / theirs - 1,
    )  # fmt: skip


def constants(context: AnalysisContext) -> Answer:
    """Start-up time and rate of a step, fitted to this run, and those published.

    A step is two messages, one after the other: t / 2 = latency + bytes / rate. On a card with
    serial channels the bytes are rounded up to whole flits.
    """
    known = _boards(context)
    rows = []
    for _, group in groups(_exchanges(context), SAME):
        first = group.iloc[0]
        board = known.get(first["device"])
        sent = group["bytes"].to_numpy(float)
        if board is not None:
            flit = board.number("serial.channels") * board.number("serial.width_bytes")
            sent = np.ceil(sent / flit) * flit
        fitted = _law(sent, group["median_s"] / 2)
        if fitted is None:
            continue
        stated = serial.PUBLISHED_CONSTANTS["serial.latency_ns"] * 1e-9 if board else np.nan
        rows.append(
            (*(first[name] for name in _NAMED), *fitted.alpha[:3], *fitted.beta[:3],
             stated, serial.channel_rate(board) if board else np.nan, fitted.worst_residual,
             group["bytes"].iloc[fitted.worst_at])
        )  # fmt: skip
    frame = table(
        rows,
        *_NAMED,
        "latency_s low_latency_s high_latency_s wire_Bps low_wire_Bps high_wire_Bps",
        "published_latency_s published_wire_Bps worst_residual worst_bytes",
    )
    return Answer(
        "constants",
        "Which latency and which rate describe a message?",
        frame.known_columns() if rows else frame,
    )


def slowest(context: AnalysisContext) -> Answer:
    """Mean rate of each rank, and its ratio to the median over the ranks."""
    own = context.rows[context.rows["operation"] == "exchange_rank"]
    rows = []
    for _, group in groups(own, SAME):
        first = group.iloc[0]
        ranks = {int(str(r)): _mean_rate(some) for r, some in group.groupby("rank")}
        typical = float(np.median([rate.value for rate in ranks.values()]))
        for rank, rate in ranks.items():
            rows.append((*(first[name] for name in _NAMED), rank, *rate[:3],
                         rate.value / typical))  # fmt: skip
    return Answer.of(
        "slowest", "Which link is the slowest?", rows,
        *_NAMED, "rank rank_Bps low_rank_Bps high_rank_Bps median_ratio",
    )  # fmt: skip


def _mean_rate(rows: Frame) -> Interval:
    """Mean over sizes, bytes a second."""
    rates = [rate_of(row) for row in each(rows)]
    return combined([1 / len(rates)] * len(rates), rates)


def scaling(context: AnalysisContext) -> Answer:
    """b_eff by number of ranks: share of linear scaling from the fewest ranks, and the model's."""
    known = _boards(context)
    rows = []
    whole = _b_effs(context)
    whole = whole[whole["ranks"] != ""]
    for _, unsorted in groups(whole, [name for name in SAME if name != "ranks"]):
        group = unsorted.sort_values("ranks")
        first = group.iloc[0]
        board = known.get(first["device"])
        if len(group) < 2:
            continue
        for row in each(group):
            kept = row.bandwidth_Bps / row.ranks / (first["bandwidth_Bps"] / first["ranks"])
            model = np.nan
            if board is not None:
                sizes, steps = serial.SIZES[row.sizes], int(row.looplength)
                shape = _as_measured(board, row)
                with_fewest, with_these = (
                    serial.b_eff(shape, int(n), sizes, steps) / n
                    for n in (first["ranks"], row.ranks)
                )
                model = with_these / with_fewest
            rate = row.bandwidth_Bps
            rows.append((row.device, row.channel, row.sizes, row.ranks, rate, kept, model))
    frame = table(rows, "device channel sizes ranks b_eff_Bps kept_share model_share")
    return Answer(
        "scaling",
        "What does each rank keep where there are more?",
        frame.known_columns() if rows else frame,
    )


QUESTIONS = (
    b_eff, by_size, channels, slowest, constants, scaling, messages, published.held_out,
)  # fmt: skip
"""The study's questions, in the order shown."""
