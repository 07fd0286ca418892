"""Answers the questions of study ``hostmem``: kernels on the card that access host memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from isthmus.analysis import reproduction, transfer
from isthmus.analysis.commands import again
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings import common
from isthmus.analysis.findings.devices import of_alike
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Reference, Verdict
from isthmus.answers import Rows, interval_of, question, rate_of, time_of
from isthmus.boards import Board
from isthmus.frames import Frame, Row
from isthmus.models import host_memory
from isthmus.statistics import Interval, exact, judge, simultaneous
from isthmus.studies.base import Analysis
from isthmus.thresholds import AS_FAST, PEAK_ON_HOST, WORTH_COPYING
from isthmus.units import format_size, percent, shown

KERNELS = {"read_bandwidth": "read", "write_bandwidth": "write", "bandwidth": "copy"}
"""Name of the kernel in the closed form, by operation."""
_KNOBS = ["implementation", "iterations", "outstanding", "burst_bytes", "page_bytes"]
_SAME = ["device", "memory", "target", "clock", *_KNOBS]
"""Columns that are equal for two kernels which a table compares."""


def _kernels(context: AnalysisContext) -> Frame:
    rows = context.rows[context.rows["operation"].isin(KERNELS)]
    return rows[rows["target"].isin(["host", "device"])]


def _as_measured(board: Board, row: Any) -> Board:
    """Returns the board with the values that the row's axes set."""
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


@question(
    "crossing", "How near do kernels come to the rate that the link leaves for data?",
    "device operation memory axes clock bytes [bandwidth_Bps]",
    "| limit_share model_residual published_Bps published_residual data",
)  # fmt: skip
def crossing(context: AnalysisContext) -> Rows:
    """Each point on host memory compared with the link's limit, the model and the published log.

    Includes points whose data were wrong, marked FAIL; no other answer does.
    """
    points = context.every[context.every["operation"].isin(KERNELS)]
    points = points[(points["target"] == "host") & points["bandwidth_Bps"].gt(0)]
    points = points[points["clock"] != "device"]
    points = points.assign(order=[list(KERNELS).index(name) for name in points["operation"]])
    for row in points.sort_values(["device", "clock", "axes", "order", "bytes"]).itertuples():
        board, model, theirs = context.boards.get(row.device), np.nan, np.nan
        if board is not None:
            # A published log is compared only for the same card, link, bursts and sweeps.
            shape, count = _as_measured(board, row), row.iterations
            named = {"target": row.target, "iterations": count}
            published = reproduction.rates(context.study, shape, row.operation, **named)
            theirs = published.get(int(row.bytes), np.nan)
            if board.has("kernel"):
                model = host_memory.bandwidth(
                    shape, KERNELS[row.operation], int(row.bytes), int(count)
                )
        rate = row.bandwidth_Bps
        data = {"true": "PASS", "false": "FAIL"}.get(str(row.verified), "not checked")
        key = (row.device, row.operation, row.memory, row.axes, row.clock, row.bytes)
        figures = (row.limit_share, rate / model - 1, theirs, rate / theirs - 1)
        yield *key, rate_of(row), *figures, data


@question(
    "concurrent", "What do reading and writing at once gain over one alone?",
    "device target memory axes clock bytes [gain_ratio]",
)  # fmt: skip
def concurrent(context: AnalysisContext) -> Rows:
    """Yields the bandwidth of reading and writing at once, over the faster of both alone."""
    for (device, memory, target, clock, *_), group in _kernels(context).groups([*_SAME, "bytes"]):
        by_kernel = {str(row.operation): row for row in group.itertuples()}
        if len(by_kernel) == len(KERNELS):
            both = by_kernel.pop("bandwidth")
            single = max(by_kernel.values(), key=lambda row: float(row.bandwidth_Bps))
            gain = rate_of(both).over(rate_of(single))
            yield device, target, memory, both.axes, clock, both.bytes, gain


@question(
    "knee", "From which size on is the bandwidth there, and what do large buffers lose?",
    "device operation target memory axes clock peak_bytes first_bytes last_bytes",
    "largest_bytes [loss_share]",
)  # fmt: skip
def knee(context: AnalysisContext) -> Rows:
    """Yields the sizes with at least 95 % of a series' peak, and the loss at the largest size."""
    for _, unsorted in _kernels(context).groups([*_SAME, "operation"]):
        group = unsorted.sort_values("bytes")
        if len(group) < 3:
            continue
        peak, last = group.iloc[int(group["bandwidth_Bps"].argmax())], group.iloc[-1]
        kept = group[group["bandwidth_Bps"] >= AS_FAST * peak.bandwidth_Bps]["bytes"]
        left = rate_of(last).over(rate_of(peak))
        loss = exact(1.0).minus(
            left.with_confidence(simultaneous(context.confidence, len(group) - 1))
        )
        key = (last.device, last.operation, last.target, last.memory, peak.axes, last.clock)
        yield *key, peak.bytes, int(kept.iloc[0]), int(kept.iloc[-1]), last.bytes, loss


@question(
    "without_launch", "What is the bandwidth without the launch?",
    "device operation target memory clock bytes sweeps sweep_s launch_s without_launch_Bps",
    "bandwidth_Bps",
)  # fmt: skip
def without_launch(context: AnalysisContext) -> Rows:
    """Yields bandwidth without launch time, from two numbers of sweeps over the same buffer.

    The time of a sweep is the difference of the times, divided by the difference of the sweeps. The
    launch time is the shorter time less that of its sweeps.
    """
    same = [name for name in _SAME if name != "iterations"]
    for _, unsorted in _kernels(context).groups([*same, "operation", "bytes"]):
        group = unsorted.sort_values("iterations")
        fewest, most = group.iloc[0], group.iloc[-1]
        sweeps = most.iterations - fewest.iterations
        sweep_s = (most.median_s - fewest.median_s) / sweeps if sweeps else 0.0
        if sweep_s > 0:
            launch_s = fewest.median_s - fewest.iterations * sweep_s
            rate = fewest.bandwidth_Bps * fewest.median_s / fewest.iterations / sweep_s
            span = f"{fewest.iterations:.0f} and {most.iterations:.0f}"
            key = (most.device, most.operation, most.target, most.memory, most.clock, most.bytes)
            yield *key, span, sweep_s, launch_s, rate, most.bandwidth_Bps


@question(
    "direct", "Is reaching host memory directly better than copying to card memory first?",
    "device operation clock bytes copied_memory direct_sweep_s copy_s card_sweep_s",
    "[direct_time_ratio] sweeps_until_copy_wins",
)  # fmt: skip
def direct(context: AnalysisContext) -> Rows:
    """Compares kernels on host memory with a copy to card memory and kernels there.

    For ``n`` sweeps: ``n`` host sweeps against one copy and ``n`` card sweeps. Direct access is
    faster up to copy / (host sweep - card sweep) sweeps. Copies are the points ``write`` (in
    front of a reading kernel) and ``read`` (behind a writing one) of this run, of any study.
    """
    copies = context.every
    copies = copies[copies["operation"].isin(["write", "read"]) & (copies["verified"] == "true")]
    copies = copies[copies["clock"] != "device"]
    by_point = {
        (row.device, row.clock, row.operation, row.bytes): row
        for row in copies[::-1].itertuples()  # the dict keeps the first of equal points
    }
    kernels = _kernels(context)
    kernels = kernels[kernels["operation"] != "bandwidth"].sort_values("iterations")
    same = ["device", "clock", "operation", "bytes", "implementation", "outstanding", "burst_bytes"]
    comparable: list[tuple[Any, Any, Any]] = []
    for _, group in kernels.groups(same):
        sides = {str(row.target): row for row in group.itertuples()}  # keeps most sweeps
        host = sides.get("host")
        if host and "device" in sides:
            way = "write" if host.operation == "read_bandwidth" else "read"
            copy = by_point.get((host.device, host.clock, way, host.bytes))
            if copy:
                comparable.append((host, sides["device"], copy))
    for on_host, on_card, copied in comparable:
        host, card = (time_of(row).times(1 / row.iterations) for row in (on_host, on_card))
        copy_s, extra = time_of(copied), host.value - card.value
        sweeps = copy_s.value / extra if extra > 0 else np.inf
        ratio = host.over(copy_s.plus(card))
        key = (on_host.device, on_host.operation, on_host.clock, on_host.bytes, copied.memory)
        once = ratio.with_confidence(simultaneous(context.confidence, len(comparable)))
        yield *key, host.value, copy_s.value, card.value, once, sweeps


QUESTIONS = (
    crossing, transfer.peaks, concurrent, knee, direct, without_launch, reproduction.held_out,
)  # fmt: skip
"""Questions of study ``hostmem``, in the order shown."""


WAYS = {
    "read_bandwidth": "kernels read host memory",
    "write_bandwidth": "kernels write host memory",
    "bandwidth": "kernels read and write",
}


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """At most four headlines: read, write, both, and whether to copy first.

    A device whose kernels did not reach host memory has the rate of its own memory instead.
    """
    series = list(_series(context))
    rates = [_rate(context, rows) for rows in series]
    head = []
    for way in WAYS:
        of_way = [finding for finding in rates if finding.operation == way and finding.interval]
        of_way.sort(key=lambda finding: -(finding.interval.value if finding.interval else 0.0))
        best = {finding.device: finding for finding in reversed(of_way)}
        head += sorted(of_alike(context, [*best.values()]), key=lambda finding: -finding.devices)[
            :1
        ]
    copies = list(_copies(context))
    head = [*head, *copies[:1], *_unreached(context)][:MOST_HEADLINES]
    rest = [*rates, *copies, *_peaks(context, series), *_published(context)]
    return common.headed(head, rest)


def _series(context: AnalysisContext) -> Iterator[Frame]:
    """Yields rows on host memory that differ in size only, with the most sweeps of a launch."""
    rows = context.rows[context.rows["operation"].isin(WAYS)]
    rows = rows[rows["target"] == "host"]
    same = ["operation", "device", "memory", "clock", "implementation", "outstanding"]
    for _, group in rows.groupby(same, sort=False, dropna=False):
        yield group[group["iterations"] == group["iterations"].max()].sort_values("bytes")


def _unreached(context: AnalysisContext) -> Iterator[Finding]:
    """Yields rates of device memory, for devices whose kernels have no rate on host memory."""
    rows = context.rows[context.rows["operation"].isin(WAYS)]
    for device in filter(context.reported.__contains__, rows["device"].unique()):
        of_device = rows[rows["device"] == device]
        own = of_device[of_device["operation"] != "bandwidth"]
        if not of_device["target"].eq("host").any() and len(own):
            yield common.finding_of(
                context, row := common.picks(own).largest, "host_unreached",
                WAYS[row.operation].replace("host", "device") + ", {size}",
                rate_of(row, context.confidence), "B/s", reference=common.limit_of(row).reference,
                remark="no host memory",
            )  # fmt: skip


def _rate(context: AnalysisContext, rows: Frame) -> Finding:
    row = common.picks(rows).plateau
    rate, limit = rate_of(row, context.confidence), common.limit_of(row)
    return common.finding_of(
        context, row, "rate_of_limit" if limit.reference else "rate_alone", "{what}, {size}",
        rate, "B/s", ways=WAYS, values={"reference": "the link"}, reference=limit.reference,
        verdict=limit.verdict, remark=limit.remark, evidence="crossing",
    )  # fmt: skip


_CHOICES: dict[str, tuple[str, Verdict, str]] = {
    "faster": ("copy_never", "faster", "no copy needed"),
    "same": ("copy_same", "same", "as copying first"),
    "slower": ("copy_first", "slower", "copy first"),
    "undecided": ("copy_unclear", "undecided", "not decided"),
}
"""Template of the sentence, verdict and remark, by verdict on direct access against a copy."""


def _copies(context: AnalysisContext) -> Iterator[Finding]:
    """Compares direct access to host memory with copying first, for data that are used once."""
    table = direct(context).table
    for _, reads in table[table["operation"] == "read_bandwidth"].groups(["device"]):
        row = reads.row(reads["bytes"].idxmax())
        copy_s = float(row.copy_s + row.card_sweep_s)
        chosen = judge(interval_of(row, "direct_time_ratio"), WORTH_COPYING - 1)
        template, verdict, remark = _CHOICES[chosen]
        direct_s = Interval(float(row.direct_sweep_s), np.nan, np.nan)
        yield common.finding_of(
            context, row, template, "work on host memory, {size}", direct_s, "s",
            values={"direct": shown(direct_s.value, "s"), "copy": shown(copy_s, "s")},
            reference=Reference(kind="other", value=copy_s, name="copy first"), share=None,
            verdict=verdict, remark=remark, evidence="direct",
            action=again(context.run, context.study, [str(row.device)], longer=True)
            if chosen == "undecided" else "",
        )  # fmt: skip


def _peaks(context: AnalysisContext, series: Sequence[Frame]) -> Iterator[Finding]:
    """Yields peaks of series that lie well above the rate of the largest buffer."""
    for rows in series:
        picks = common.picks(rows)
        last, top = picks.largest, picks.peak
        if top.bandwidth_Bps >= PEAK_ON_HOST * last.bandwidth_Bps:
            slow = shown(float(last.bandwidth_Bps), "B/s")
            yield common.finding_of(
                context, top, "peak", "{what}, peak at {size}", rate_of(top, context.confidence),
                "B/s", ways=WAYS, remark="peak", evidence="knee",
                values={"largest": format_size(int(last.bytes)), "slow": slow},
            )  # fmt: skip


def _published(context: AnalysisContext) -> Iterator[Finding]:
    """Compares the rates of a modelled board with its published log, and yields the residuals."""
    table = crossing(context).table
    if "published_residual" not in table:
        return
    for (device,), rows in table.dropna(subset=["published_residual"]).groups(["device"]):
        rms = float(np.sqrt((rows["published_residual"] ** 2).mean()))
        yield common.finding_of(
            context, Row(device=device), "published_log", "off the published log, rms",
            exact(100 * rms), "%", remark="rms", evidence="crossing",
            values={"percent": percent(rms), "count": str(len(rows))},
        )  # fmt: skip


ANALYSIS = Analysis(QUESTIONS, findings)
