"""Makes the findings of study ``transfer``: latency, rate at large sizes, and possible gains."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from isthmus import backends
from isthmus.analysis import hybrid, transfer
from isthmus.analysis.commands import again
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings import common
from isthmus.analysis.findings.devices import of_alike, of_other_apis
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Verdict
from isthmus.analysis.hybrid import Share
from isthmus.answers import rate_of, time_of
from isthmus.frames import Frame, Row
from isthmus.program import Invocation
from isthmus.statistics import Interval, judge, relevant, simultaneous
from isthmus.statistics.fits import LEAST_SIZES, AlphaBeta
from isthmus.studies.base import Analysis
from isthmus.thresholds import CACHE_BYTES, LARGE, LOWER, PLATEAU_BYTES, SMALL, WORTH
from isthmus.units import format_size, number, percent, rounded_size, shown, size_range, span

WAYS = {
    "write": "copy to device",
    "read": "copy to host",
    "bidirectional": "both ways at once",
    "map": "map to read",
    "unmap": "unmap after writing",
    "stream": "stream through the device",
    "kernel_read": "kernel reads device memory",
    "kernel_write": "kernel writes device memory",
    "peer_write": "copy to another device",
    "peer_read": "copy from another device",
}
"""Words for each operation."""
_SERIES = ["device", "memory", "axes", "clock"]
_STEP = 4
"""Factor between the largest measured size and the largest size in an advised further run."""


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """Headlines of each kind of device: rates, latency and the largest gain; then the rest."""
    series = dict(_series(context))
    rates = [_rate(context, rows) for rows in series.values()]
    others_of_card = context.beside
    contending = [finding for finding in rates if finding.device in context.reported] or rates
    contending = [
        finding for finding in contending if finding.device not in others_of_card
    ] or contending
    latency = [
        finding for finding in _latencies(context, series) if finding.device not in others_of_card
    ]
    if latency:  # rates below ``LARGE`` mostly show the latency, which has its own headline
        contending = [finding for finding in contending if finding.bytes >= LARGE]
    first = [
        finding
        for way in ("write", "read", "bidirectional")
        for finding in of_alike(context, list(_best(contending, way)))
    ] or sorted(contending, key=_usable, reverse=True)[:2]
    changes = sorted(
        _changes(context, series),
        key=lambda finding: finding.device not in {of.device for of in first},
    )
    reported = [finding for finding in latency if finding.device in context.reported] or latency
    small = of_alike(context, reported) or reported
    others = list(of_other_apis(context, ("write", "read")))
    estimated = hybrid.estimated(context).table
    estimates = list(of_apis(context, estimated))
    both = [finding for finding in first if finding.operation == "bidirectional"]
    alone = [finding for finding in first if finding not in both]
    head = [
        *(finding for finding in estimates if not finding.bytes),
        *alone,
        *small[: len(context.kinds)],
    ]
    head += [*changes[:1], *others[:1]]
    most = MOST_HEADLINES * max(len({finding.device for finding in alone}), 1)
    head += both if len(head) < most else []
    rest = [*estimates, *rates, *latency, *changes, *_launches(context), *_peaks(context, series)]
    rest += [*others, *_splits(context, estimated), *_curves(context), *_left_out(context)]
    return common.headed(head, rest, most)


def _best(rates: Sequence[Finding], way: str) -> Iterator[Finding]:
    """Yields the finding with an operation's highest rate, for each device."""
    of_way = [finding for finding in rates if finding.operation == way]
    for device in dict.fromkeys(finding.device for finding in of_way):
        yield max((finding for finding in of_way if finding.device == device), key=_usable)


def _usable(finding: Finding) -> tuple[bool, float]:
    """Sort key of findings on rates, best last; rates that still grow with size rank lower."""
    return (
        finding.verdict != "none" or finding.bytes >= LARGE,
        finding.interval.value if finding.interval else 0.0,
    )


def _series(context: AnalysisContext) -> Iterator[tuple[tuple[str, ...], Frame]]:
    """Yields rows that differ in size only, by operation, device, memory, axes and clock."""
    rows = context.rows[context.rows["operation"].isin(WAYS)]
    for operation in WAYS:
        rows_of = rows[rows["operation"] == operation]
        for key, group in rows_of.groupby(_SERIES, sort=False, dropna=False):
            yield (operation, *map(str, key)), group.sort_values("bytes")


def _rate(context: AnalysisContext, rows: Frame) -> Finding:
    """Makes a finding on the plateau's rate, compared with the link's limit or a memory copy.

    A rate that still grows with size is not compared with the link; the finding has the command
    that measures larger sizes.
    """
    row = common.picks(rows).plateau
    rate = rate_of(row, context.confidence)
    reference, verdict, of_remark = common.limit_of(row)
    of_link = reference is not None and reference.kind == "limit"
    same = context.rows[context.rows["device"] == row.device]
    one_kind = same[same["operation"] == row.operation]["memory"].nunique() == 1
    other = context.backends[row.device].fastest_memory
    crosses = str(row.operation) not in {"kernel_read", "kernel_write", "stream"}
    worth = crosses and one_kind and verdict == "poor" and other not in {"", row.memory}
    who = named = row.who
    if row.direction and row.memory and row.memory not in named:
        who += f", {row.memory}"
    remark = of_remark if of_link else ""
    template = "rate_of_limit" if reference else "rate_alone"
    axes: dict[str, str] = {}
    if worth and of_link:
        axes = {"memory": f"{row.memory},{other}"}
    elif not row.plateau and row.limit == "link":
        largest = format_size(max(PLATEAU_BYTES, _STEP * int(row.bytes)))
        smallest = format_size(max(LARGE, int(row.bytes)))
        axes = {"operation": str(row.operation), "bytes": f"{smallest}:{largest}"}
        remark, template = "still grows", "rate_grows"
    action = again(context.run, "transfer", [str(row.device)], axes) if axes else ""
    return common.finding_of(
        context, row, template, "{what}, {size}", rate, "B/s",
        ways=WAYS, who=who, subject=named, reference=reference, verdict=verdict,
        remark=remark, evidence="peaks", action=action,
    )  # fmt: skip


def _latencies(context: AnalysisContext, series: dict[tuple[str, ...], Frame]) -> Iterator[Finding]:
    """Yields a small copy's time on each device, with the fastest memory; fastest device first."""
    best: dict[str, Any] = {}
    for (operation, device, *_), rows in series.items():
        row = common.picks(rows).small
        way = operation == "write" or (operation == "read" and not _has(series, device, "write"))
        small = way and row.bytes <= LARGE
        if small and (device not in best or row.median_s < best[device].median_s):
            best[device] = row
    order = sorted(
        best.values(), key=lambda row: (row.device not in context.reported, row.median_s)
    )
    for row in order:
        yield common.finding_of(
            context, row, "latency", "{what}, {size}", time_of(row, context.confidence), "s",
            ways=WAYS, who=row.who, remark="latency",
        )  # fmt: skip


def _has(series: dict[tuple[str, ...], Frame], device: str, operation: str) -> bool:
    return any(key[:2] == (operation, device) for key in series)


def _changes(context: AnalysisContext, series: dict[tuple[str, ...], Frame]) -> Iterator[Finding]:
    """Yields possible gains by other memory, mapping or another device, the largest gain first."""
    changes = [*_memories(context), *_maps(context, series), *_devices(context, series)]
    changes.sort(key=lambda finding: -finding.interval.value if finding.interval else 0.0)
    yield from (
        finding for finding in changes if finding.interval and finding.interval.value >= WORTH
    )
    yield from (
        finding for finding in changes if not finding.interval or finding.interval.value < WORTH
    )


_OUTCOMES: dict[str, tuple[str, str]] = {
    "memory faster": ("better_memory", "use {best} memory"),
    "memory same": ("memory_same", "no difference"),
    "memory slower": ("memory_fastest", "{usual} is fastest"),
    "memory undecided": ("memory_unclear", "not decided"),
    "device faster": ("better_device", "{best} is faster"),
    "device same": ("device_same", "no difference"),
    "device undecided": ("device_unclear", "not decided"),
}
"""By comparison and verdict on the better side: the sentence's template, and the remark."""


def _gain(context: AnalysisContext, best: Any, usual: Any, among: int = 1) -> Interval:
    """Ratio of the times of two rows of the same size.

    ``among``: number of comparisons from which this one was chosen by its outcome.
    """
    times = time_of(usual, context.confidence).over(time_of(best, context.confidence))
    return times.with_confidence(simultaneous(context.confidence, among))


def _better(
    context: AnalysisContext, what: str, best: Any, usual: Any, names: Sequence[str], among: int,
    *, subject: str, advice: str, others: Sequence[str],
) -> Finding:  # fmt: skip
    """Makes a finding on whether ``best`` is faster than ``usual``.

    ``names``: words for both rows. ``others``: other devices. ``advice``: for a faster ``best``.
    """
    gain = _gain(context, best, usual, among)
    verdict = judge(gain.inverse(), context.least)
    template, remark = _OUTCOMES.get(f"{what} {verdict}", _OUTCOMES[f"{what} undecided"])
    far = gain.reach
    values = {
        "best": names[0], "usual": names[1], "one": names[0], "other": names[1],
        "ratio": number(gain.value),
        "percent": "an unknown factor" if math.isnan(far) else percent(far),
    }  # fmt: skip
    open_ = again(context.run, context.study, others, longer=True)
    action = open_ if remark == "not decided" else advice if verdict == "faster" else ""
    return common.finding_of(
        context, best, template, "{what}, {size}", gain, "1", ways=WAYS, values=values,
        subject=subject, verdict=verdict, remark=remark.format(**values), action=action,
    )  # fmt: skip


def _same_size(several: Sequence[Frame]) -> list[Any]:
    """The row of each frame at the largest common size with known intervals; empty without one."""
    frames = [group[group["ci_low_s"].notna()] for group in several]
    common_sizes = set.intersection(*(set(frame["bytes"]) for frame in frames))
    if not common_sizes:
        return []
    size = max(common_sizes)
    return [next(frame[frame["bytes"] == size].itertuples()) for frame in frames]


def _memories(context: AnalysisContext) -> Iterator[Finding]:
    """Yields the ratio of the fastest kind of host memory to the usual one, on each device."""
    writes = context.rows[context.rows["operation"].eq("write") & context.rows["ci_low_s"].notna()]
    for (device, *_), rows in writes.groups(["device", "axes", "clock"]):
        plain = rows[rows["memory"].isin(["pageable", "aligned"])]
        usual = common.picks(rows if plain.empty else plain).largest
        same_size = rows[rows["bytes"] == usual.bytes]
        others = list(same_size[same_size["memory"] != usual.memory].itertuples())
        if device in context.simulated or not others:
            continue
        best = _fastest(context, others)
        yield _better(
            context, "memory", best, usual, (best.memory, usual.memory), len(others),
            subject=f"{best.memory} over {usual.memory}, {context.titles[best.device]}",
            advice=common.call_for(context, str(best.device), str(best.memory)),
            others=[str(best.device)],
        )  # fmt: skip


def _fastest(context: AnalysisContext, rows: Sequence[Any]) -> Any:
    """The fastest row; among equally fast rows, that whose memory is first in ``BEST_FIRST``."""
    best = min(rows, key=lambda row: float(row.median_s))
    most = best.median_s * (1 + relevant(context.run.settings.precision))
    order = {kind: i for i, kind in enumerate(common.BEST_FIRST)}
    alike = [row for row in rows if row.median_s <= most]
    return min(alike, key=lambda row: order.get(row.memory, len(order)))


def _maps(context: AnalysisContext, series: dict[tuple[str, ...], Frame]) -> Iterator[Finding]:
    """Findings that mapping a buffer is faster than copying it, or needs no transfer."""
    maps = context.timed
    maps = maps[maps["operation"] == "map"]
    for (operation, device, *_), rows in series.items():
        mapped_rows = maps[(maps["device"] == device) & (maps["clock"].isin(rows["clock"]))]
        if operation != "read" or mapped_rows.empty or device in context.simulated:
            continue
        pair = _same_size([rows, mapped_rows])
        if len(pair) < 2 or pair[0].median_s < WORTH * pair[1].median_s:
            continue
        copied, mapped = pair
        gain = _gain(context, mapped, copied)
        verdict = judge(gain.inverse(), context.least)
        template, remark = "map_unclear", "not decided"
        action: Invocation | str = again(context.run, context.study, [device], longer=True)
        if verdict == "faster":
            template = "map_shares" if "zero_copy" in mapped.flags else "map_buffers"
            remark, action = "map buffers", context.backends[device].map_advice
        yield common.finding_of(
            context, mapped, template, "{what}, {size}", gain, "1", ways=WAYS, verdict=verdict,
            subject=f"map over copy, {context.titles[device]}", remark=remark, action=action,
            values={
                "map": shown(float(mapped.median_s), "s"),
                "copy": shown(float(copied.median_s), "s"),
            },
        )  # fmt: skip


def _devices(context: AnalysisContext, series: dict[tuple[str, ...], Frame]) -> Iterator[Finding]:
    """Yields the ratio of the fastest device or API to the first one, with the same memory."""
    alike: dict[tuple[str, ...], list[Frame]] = {}
    for (operation, device, memory, axes, clock), rows in series.items():
        real = device not in context.simulated and device in context.reported
        if operation == "write" and real:
            alike.setdefault((memory, axes, clock), []).append(rows)
    same_size = [_same_size(frames) for frames in alike.values() if len(frames) > 1]
    for alike_rows in sorted(filter(None, same_size), key=lambda rows: -int(rows[0].bytes))[:1]:
        ordered: list[Any] = sorted(alike_rows, key=lambda row: float(row.median_s))
        best, usual = ordered[0], ordered[-1]
        names = [context.titles[row.device] for row in (best, usual)]
        yield _better(
            context, "device", best, usual, names, len(ordered) * (len(ordered) - 1) // 2,
            subject=" over ".join(names), advice="", others=[best.device, usual.device],
        )  # fmt: skip


def _launches(context: AnalysisContext) -> Iterator[Finding]:
    rows = context.every[context.every["study"] == context.study]
    rows = rows[(rows["operation"] == "launch") & rows["median_s"].gt(0)]
    rows = rows[(rows["clock"] != "device") & ~rows["flags"].str.contains("through_emulation")]
    for row in rows.itertuples():
        yield common.finding_of(
            context, row, "launch", "start a kernel and wait", time_of(row), "s", ways=WAYS
        )


def _peaks(context: AnalysisContext, series: dict[tuple[str, ...], Frame]) -> Iterator[Finding]:
    """Yields findings on sizes, as in a cache, that are much faster than the largest size."""
    for (operation, *_), rows in series.items():
        picks = common.picks(rows)
        last, top = picks.largest, picks.peak
        if operation not in {"read", "write"} or last.bandwidth_Bps > LOWER * top.bandwidth_Bps:
            continue
        cached = top.bytes <= CACHE_BYTES and top.limit != "link"
        yield common.finding_of(
            context, top, "in_cache" if cached else "peak",
            f"{{what}}, peak {'in cache ' if cached else ''}at {{size}}",
            rate_of(top, context.confidence), "B/s", ways=WAYS, who=top.who,
            remark="in cache" if cached else "peak", evidence="peaks",
            values={
                "largest": format_size(int(last.bytes)),
                "slow": shown(float(last.bandwidth_Bps), "B/s"),
            },
        )  # fmt: skip


def _left_out(context: AnalysisContext) -> Iterator[Finding]:
    """Yields remarks that a model leaves out the copies of a runtime within host memory."""
    rows = context.rows
    for device in rows["device"].unique():
        copies = rows[(rows["device"] == device) & (rows["operation"].isin(["read", "write"]))]
        if str(device) in context.simulated and copies["memory"].nunique() > 1:
            yield common.finding_of(
                context,
                Row(device=device),
                "model_memory",
                "kinds of host memory",
                None,
                remark="not in the model",
                action=again(context.run, "allocation", [str(device)]),
            )


def _splits(context: AnalysisContext, estimated: Frame) -> Iterator[Finding]:
    """Yields the one or two largest parts of a small copy's time, where its parts are known."""
    for split in transfer.splits(context, estimated):
        first, seconds = split.largest[0]
        time = shown(split.seconds, "s")
        parts = " and ".join(f"{shown(of, 's')} {part}" for part, of in split.largest[:2])
        yield common.finding_of(
            context, split.row, "split", f"{{what}}, {{size}}, {first}",
            Interval(seconds, math.nan, math.nan), "s", ways=WAYS,
            who=context.titles[split.row.device]
            + ", estimate" * (split.row.clock == "hybrid"),
            values={"time": time, "parts": parts}, evidence="split", remark=f"of {time}",
            share=seconds / split.seconds,
        )  # fmt: skip


def _curves(context: AnalysisContext) -> Iterator[Finding]:
    """Yields a finding for each straight part of a series' time over bytes, or if no curve fits."""
    for (device, _, operation, *_), rows, fitted in transfer.curves(context):
        few = sum(line.points for line in fitted.lines) < LEAST_SIZES
        if few or operation not in WAYS or device not in context.reported:
            continue
        row = common.picks(rows).largest
        who = str(row.who)
        if not fitted.fits:
            yield common.finding_of(
                context, row, "curve_none", "{what}, time over size", None, ways=WAYS, who=who,
                values={"percent": percent(fitted.rms)}, remark="no curve fits",
                evidence="fits",
            )  # fmt: skip
        for line in fitted.lines if fitted.fits else ():
            small, large = (rounded_size(size) for size in (line.smallest, line.largest))
            template, values = _line(line, len(fitted.lines))
            yield common.finding_of(
                context, row, template, f"{{what}}, start-up time, {small} to {large}",
                line.alpha, "s", ways=WAYS, who=who, values=values, remark="start-up",
                evidence="fits", bytes=0,
            )  # fmt: skip


def _line(line: AlphaBeta, of: int) -> tuple[str, dict[str, str]]:
    """Template of a line's sentence, and its values: with intervals, and shorter without."""
    values = {"size": rounded_size(line.smallest), "largest": rounded_size(line.largest)}
    kind = "curve_between" if of > 1 else "curve"
    if not math.isfinite(line.beta.high):
        kind = "curve_constant"
    elif not line.alpha.low > 0:
        kind = "curve_rate"
    per = line.beta.times(1e-9)
    texts = {"time": shown(line.alpha.value, "s"), "per": f"{number(per.value)} B"}
    for name, figure, unit in (("time", line.alpha, "s"), ("per", per, "B")):
        ends = span(*figure[:3], unit)
        values[name] = texts[name] + (f" ({ends})" if ends else "")
        values[f"short_{name}"] = texts[name]
    return kind, values


ANALYSIS = Analysis(transfer.QUESTIONS, findings)


def of_apis(context: AnalysisContext, estimated: Frame) -> Iterator[Finding]:
    """Yields comparisons of APIs: for each operation all small sizes together, then each size."""
    shares = [share for share in hybrid.shares(context, estimated) if share.operation in WAYS]
    for share in shares:
        small = [size for size in share.by_size if size <= SMALL]
        if small:
            yield _of_share(context, share, size_range(small), share.over(small))
    for share in shares:
        for size, time_ratio in share.by_size.items():
            yield _of_share(context, share, format_size(size), time_ratio, size)


def _of_share(
    context: AnalysisContext, share: Share, sizes: str, ratio: Interval,
    size: int = 0,
) -> Finding:  # fmt: skip
    apis = {device.address: device.api for device in context.run.devices}
    names = backends.api_names()
    less, more = (names.get(apis[address], address) for address in (share.device, share.reference))
    verdict: Verdict = judge(ratio, context.least)
    template = {"same": "api_same", "undecided": "api_undecided"}.get(verdict, "api_share")
    what = f"{WAYS[share.operation]}, {sizes}"
    values = {
        "what": what, "best": less, "usual": more, "share": f"{100 * ratio.value:.0f} %",
        "span": f"{100 * ratio.low:.0f} to {100 * ratio.high:.0f} %"
        if ratio.known else "one process only",
        "percent": percent(ratio.reach),
    }  # fmt: skip
    return common.finding_of(
        context, share, template if ratio.known else "api_share", what, ratio, "1", values=values,
        subject=f"{less} over {more}, {WAYS[share.operation]}", verdict=verdict, remark="hybrid",
        evidence="api_shares", bytes=size, clock="hybrid",
    )  # fmt: skip
