"""Answers the questions of study ``beff``, the effective bandwidth (b_eff) between devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from isthmus.analysis import ratios, reproduction
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.ratios import divide
from isthmus.analysis.summary import measured_on, medians, trusted
from isthmus.answers import Rows, interval_of, question, rate_of, time_of
from isthmus.boards import Board
from isthmus.frames import Frame, Series, concat
from isthmus.models import serial
from isthmus.models.serial import SIZES
from isthmus.results.run_file import ClockName, Point, Rerun
from isthmus.statistics import Interval, combined, exact, fits, over_processes

STUDY = "beff"
SAME = ["device", "api", "memory", "clock", "channel", "ranks", "topology", "depth", "sizes"]
"""Columns that are equal for all sizes of one effective bandwidth."""


def complete(frame: Frame, owners: Sequence[Point], precision: float) -> Frame:
    """Adds columns, and a row ``b_eff`` with its interval for each complete set of sizes.

    ``looplength`` is the number of steps in one timed loop, the batch of the samples;
    ``transfer_s`` is the median time of such a loop in seconds.
    """
    absent = [name for name in (*SAME, "rank", "looplength") if name not in frame]
    frame = frame.assign(**dict.fromkeys(absent, ""))
    of_study = np.array([point.study == STUDY for point in owners])
    steps = Series(
        [np.median([r.batch for r in p.reruns]) if p.reruns else np.nan for p in owners],
        index=frame.index,
    )
    with_steps = of_study & steps.notna()
    frame["looplength"] = frame["looplength"].astype(object).where(~with_steps, steps)
    frame["transfer_s"] = (steps * frame["median_s"]).where(of_study)
    frame["low_bandwidth_Bps"] = frame["high_bandwidth_Bps"] = np.nan
    rows = [
        _b_eff(group, frame.columns, [owners[int(at)] for at in group.index], precision)
        for group in whole_sets(frame[of_study])
    ]
    if not rows:
        return frame
    return concat([frame, Frame(rows, columns=frame.columns)])


def whole_sets(rows: Frame) -> Iterator[Frame]:
    """Yields the trusted exchanges that together have all sizes of a named set (``SIZES``)."""
    usable = trusted(rows) & rows["bandwidth_Bps"].gt(0)
    for key, group in rows[usable & (rows["operation"] == "exchange")].groupby(
        SAME, sort=False, dropna=False
    ):
        sizes = SIZES.get(str(dict(zip(SAME, key, strict=True))["sizes"]), ())
        if sizes and sorted(group["bytes"]) == sorted(sizes):
            yield group


def best_mean(points: Sequence[Point], clock: ClockName) -> Interval:
    """b_eff: mean over the points of the fastest repetition's bytes a second, over processes.

    The first processes of all points give one mean, the second processes the next: processes may
    differ from point to point. With one process the interval is unknown; simulated time is exact.
    """
    by_point = [[_best(p, rerun, clock) for rerun in measured_on(p, clock)] for p in points]
    means = [float(np.mean(best)) for best in zip(*by_point)]  # noqa: B905 - as many as all have
    if clock == "simulated" and len(means) == 1:
        return exact(means[0])
    return over_processes(means) if means else Interval(np.nan, np.nan, np.nan)


def _best(point: Point, rerun: Rerun, clock: ClockName) -> float:
    least = max(float(rerun.seconds(clock).min()), rerun.resolution_s(clock))
    return point.moved_bytes / least


def _b_eff(
    group: Frame, columns: Sequence[str], points: Sequence[Point], precision: float
) -> dict[str, object]:
    """Makes the row ``b_eff``: mean over sizes of the best bandwidth. Its time is empty."""
    first = group.iloc[0]
    mean = best_mean(points, first["clock"])
    shared = {name: first[name] for name in columns if group[name].nunique(dropna=False) == 1}
    flags = {flag for text in group["flags"] for flag in str(text).split(";") if flag}
    return {
        **shared,
        "operation": "b_eff",
        "bytes": 0,
        **dict.fromkeys(
            ("median_s", "ci_low_s", "ci_high_s", "min_s", "p10_s", "p90_s", "p99_s", "max_s",
             "cold_s", "transfer_s"),
            np.nan,
        ),
        "samples": int(group["samples"].sum()),
        "reruns": int(group["reruns"].min()),
        "bandwidth_Bps": mean.value,
        "low_bandwidth_Bps": mean.low,
        "high_bandwidth_Bps": mean.high,
        "converged": mean.half_width <= precision,
        "flags": ";".join(sorted(flags)),
    }  # fmt: skip


_NAMED = ("device", "channel", "ranks", "topology", "depth", "memory", "clock", "sizes")


def _named(row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in _NAMED)


def _board(context: AnalysisContext, row: Any) -> Board | None:
    """Returns the emulated board, at the row's depth; None without serial channels or emulation."""
    board = context.boards.get(row.device)
    if board is None or not board.has("serial"):
        return None
    deep = isinstance(row.depth, (int, float)) and np.isfinite(row.depth)
    return board.with_values({"serial.depth": float(row.depth)}) if deep else board


def _published(context: AnalysisContext, board: Board | None, row: Any) -> dict[int, float]:
    """Published bytes a second by message size; empty if no publication has the row's settings."""
    if row.looplength != serial.LOOPLENGTH:
        return {}
    return reproduction.rates(context.study, board, "exchange", ranks=row.ranks)


def _law(sizes: Any, times: Any) -> fits.AlphaBeta | None:
    return fits.alpha_beta(list(map(float, sizes)), list(map(float, times)))


def _of(context: AnalysisContext, operation: str) -> Frame:
    return context.rows[context.rows["operation"] == operation]


@question(
    "b_eff", "What is the effective bandwidth, and on which sizes?",
    *_NAMED, "[b_eff_Bps] [median_Bps] rank_Bps",
    "| model_residual published_Bps published_residual",
)  # fmt: skip
def b_eff(context: AnalysisContext) -> Rows:
    """Yields b_eff of each complete set of sizes: mean over sizes of the best process's bandwidth.

    The mean of the median bandwidths follows, with its own interval.
    """
    exchanges = dict(_of(context, "exchange").groups(SAME))
    for key, group in _of(context, "b_eff").groups(SAME):
        (row,) = group.itertuples()
        best = interval_of(row, "bandwidth_Bps")
        board, sizes, ranks = _board(context, row), serial.SIZES[row.sizes], int(row.ranks or 1)
        model = serial.b_eff(board, ranks, sizes, int(row.looplength)) if board else np.nan
        rates = _published(context, board, row)
        theirs = float(np.mean([rates.get(size, np.nan) for size in sizes]))
        figures = (best.value / ranks, best.value / model - 1, theirs, best.value / theirs - 1)
        yield *_named(row), best, _mean_rate(exchanges[key]), *figures


@question(
    "by_size", "How near does each size come to the links' limit, and to what is known?",
    "device channel ranks sizes depth clock bytes looplength transfer_s best_Bps [bandwidth_Bps]",
    "| limit_share model_residual fit_residual published_Bps published_residual",
)  # fmt: skip
def by_size(context: AnalysisContext) -> Rows:
    """Compares each size with the links' limit, the model, a fit, and published rates."""
    for _, unsorted in _of(context, "exchange").groups(SAME):
        group = unsorted.sort_values("bytes")
        fitted = _law(group["bytes"], group["median_s"])
        for row in group.itertuples():
            size, rate, ranks = int(row.bytes), row.bandwidth_Bps, int(row.ranks or 1)
            board, model, law = _board(context, row), np.nan, np.nan
            if board is not None:
                model = rate / serial.bandwidth(board, size, ranks, int(row.looplength)) - 1
            elif fitted is not None:
                law = fitted.seconds(size) / row.median_s - 1
            theirs = _published(context, board, row).get(size, np.nan)
            yield (
                row.device, row.channel, row.ranks, row.sizes, row.depth, row.clock, size,
                row.looplength, row.transfer_s, rate * row.median_s / row.min_s, rate_of(row),
                row.limit_share, model, law, theirs, rate / theirs - 1,
            )  # fmt: skip


@question(
    "constants", "Which latency and which rate describe a message?",
    *_NAMED, "[latency_s] [wire_Bps]",
    "| published_latency_s published_wire_Bps worst_residual worst_bytes",
)  # fmt: skip
def constants(context: AnalysisContext) -> Rows:
    """Yields the start-up time and rate of a step, fitted to this run, beside published values.

    A step is two messages, one after the other: t / 2 = latency + bytes / rate. On a card with
    serial channels the bytes are rounded up to whole flits.
    """
    for _, group in _of(context, "exchange").groups(SAME):
        first = group.iloc[0]
        board, sent = _board(context, first), group["bytes"].to_numpy(float)
        stated, rate = np.nan, np.nan
        if board is not None:
            flit = board.number("serial.channels") * board.number("serial.width_bytes")
            sent = np.ceil(sent / flit) * flit
            stated = serial.PUBLISHED_CONSTANTS["serial.latency_ns"] * 1e-9
            rate = serial.channel_rate(board)
        fitted = _law(sent, group["median_s"] / 2)
        if fitted is not None:
            worst = (fitted.worst_residual, group["bytes"].iloc[fitted.worst_at])
            yield *_named(first), fitted.alpha, fitted.beta, stated, rate, *worst


@question("slowest", "Which link is the slowest?", *_NAMED, "rank [rank_Bps] median_ratio")
def slowest(context: AnalysisContext) -> Rows:
    """Yields the mean rate of each rank, with its ratio to the median over the ranks."""
    for _, group in _of(context, "exchange_rank").groups(SAME):
        ranks = {int(str(r)): _mean_rate(some) for r, some in group.groupby("rank")}
        typical = float(np.median([rate.value for rate in ranks.values()]))
        for rank, rate in ranks.items():
            yield *_named(group.iloc[0]), rank, rate, rate.value / typical


def _mean_rate(rows: Frame) -> Interval:
    """Mean rate over sizes, in bytes a second."""
    rates = [rate_of(row) for row in rows.itertuples()]
    return combined([1 / len(rates)] * len(rates), rates)


@question(
    "scaling", "Which share of its rate does each rank keep with more ranks?",
    "device channel sizes ranks b_eff_Bps kept_share | model_share",
)  # fmt: skip
def scaling(context: AnalysisContext) -> Rows:
    """Yields b_eff by number of ranks, as a share of linear scaling, measured and modelled."""
    whole = _of(context, "b_eff")
    for _, group in whole[whole["ranks"] != ""].groups([n for n in SAME if n != "ranks"]):
        fewest, *more = group.sort_values("ranks").itertuples()
        for row in (fewest, *more) if more else ():
            kept = row.bandwidth_Bps / row.ranks / (fewest.bandwidth_Bps / fewest.ranks)
            model, board = np.nan, _board(context, row)
            if board is not None:
                sizes, steps = serial.SIZES[row.sizes], int(row.looplength)
                with_these, with_fewest = (
                    serial.b_eff(board, int(n), sizes, steps) / n for n in (row.ranks, fewest.ranks)
                )
                model = with_these / with_fewest
            yield row.device, row.channel, row.sizes, row.ranks, row.bandwidth_Bps, kept, model


@question(
    "channels", "Which channel takes longer, at which size?",
    "device axes channel reference bytes [time_ratio] within",
)  # fmt: skip
def channels(context: AnalysisContext) -> Rows:
    """Yields the ratio of step times over two channels of the same devices, for each size."""
    exchanges = [
        point
        for point in context.run.points
        if point.study == context.study and point.operation == "exchange"
    ]
    series: dict[tuple[str, ...], dict[str, Frame]] = {}
    for channel in dict.fromkeys(str(point.axes.get("channel", "")) for point in exchanges):
        points = [
            exchange for exchange in exchanges if str(exchange.axes.get("channel", "")) == channel
        ]
        times = medians(context.run, context.study, points=points)
        memories = times.groupby("device").column("memory")
        for (device, axes, memory), group in times.groups(["device", "axes", "memory"]):
            name = f"{channel} ({memory})" if memories[device].nunique() > 1 else channel
            series.setdefault((device, axes), {})[name] = group
    for where, named in series.items():
        for reference, name in combinations(named, 2):
            times = divide(named[name], named[reference])
            for row in ratios.by_size(times, context.confidence).itertuples():
                yield *where, name, reference, *row


_SAME_MESSAGES = ("device", "channel", "ranks", "depth", "memory", "clock")


@question(
    "messages", "How long is a message under way, and how fast do many go one way?",
    "operation", *_SAME_MESSAGES, "bytes [latency_s] [pair_Bps]",
)  # fmt: skip
def messages(context: AnalysisContext) -> Rows:
    """Latency (half a round trip of ``pingpong``), and rate of each pair of ranks in ``window``.

    Ranks 0 and 1 are a pair, then 2 and 3; a single last rank is paired with itself. Only imported
    runs have ``window_both``: a window in each direction at once.
    """
    none = Interval(np.nan, np.nan, np.nan)
    for operation in ("pingpong", "window", "window_both"):
        for _, group in _of(context, operation).groups(_SAME_MESSAGES):
            for row in group.sort_values("bytes").itertuples():
                pairs = -(-int(row.ranks or 1) // 2)
                figures = (time_of(row).times(0.5), none)
                if operation != "pingpong":
                    figures = (none, rate_of(row).times(1 / pairs))
                same = (getattr(row, name) for name in _SAME_MESSAGES)
                yield operation, *same, row.bytes, *figures


QUESTIONS = (
    b_eff, by_size, channels, slowest, constants, scaling, messages, reproduction.held_out,
)  # fmt: skip
"""Questions of study ``beff``, in the order shown."""
