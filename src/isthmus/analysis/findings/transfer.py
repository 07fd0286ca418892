"""Findings of the study ``transfer``: latency, rate at large sizes, and possible gains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any

import msgspec

from isthmus.analysis import comparisons, wording
from isthmus.analysis.context import AnalysisContext, each, rate_of, time_of
from isthmus.analysis.findings import apis, common
from isthmus.analysis.findings.curves import of_curves, of_splits
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Verdict, shown
from isthmus.analysis.sentences import say
from isthmus.frames import Frame
from isthmus.statistics import judge, relevant
from isthmus.studies.base import Analysis
from isthmus.units import format_size

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
"""Operations in words."""
_SERIES = ["device", "memory", "axes", "clock"]
_PEAK = 1.25
"""Least ratio of the peak to the rate at the largest size for which the peak is a finding."""
_LATENCY_MOST = 1 << 20
"""Largest copy in bytes whose time is shown as a latency."""
_WORTH = 1.2
"""Least ratio for which a change is a headline."""
_CACHE_BYTES = 64 << 20


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """At most four headlines: a rate in each direction, latency, and the largest gain."""
    series = dict(_series(context))
    rates = [_rate(context, rows) for rows in series.values()]
    contending = [one for one in rates if context.is_reported(one.device)] or rates
    first = [
        max(of_way, key=_usable)
        for way in ("write", "read")
        if (of_way := [one for one in contending if one.operation == way])
    ] or sorted(contending, key=_usable, reverse=True)[:2]
    changes = sorted(
        _changes(context, series),
        key=lambda one: one.device not in {of.device for of in first},
    )
    latency = list(_latencies(context, series))
    of_apis = list(apis.of_apis(context, WAYS))
    head = [*(one for one in of_apis if not one.bytes), *first, *latency[:1], *changes[:1]]
    both = [one for one in contending if one.operation == "bidirectional"]
    if len(head) < MOST_HEADLINES and both:
        head.append(max(both, key=_usable))
    rest = [*of_apis, *rates, *latency, *changes, *_launches(context), *_peaks(context, series)]
    rest += [*of_splits(context, WAYS), *of_curves(context, WAYS), *_left_out(context)]
    return common.headed(head, rest)


def _usable(one: Finding) -> tuple[bool, float]:
    """Sort key of rates, best last: sizes below the others' largest rank lower."""
    return one.bytes >= 1 << 20, one.interval.value if one.interval else 0.0


def _series(context: AnalysisContext) -> Iterator[tuple[tuple[str, ...], Frame]]:
    """Rows that differ in size only, by operation, device, memory, axes and clock."""
    rows = context.rows[context.rows["operation"].isin(WAYS)]
    for operation in WAYS:
        rows_of = rows[rows["operation"] == operation]
        for key, group in rows_of.groupby(_SERIES, sort=False, dropna=False):
            yield (operation, *map(str, key)), group.sort_values("bytes")


def _rate(context: AnalysisContext, rows: Frame) -> Finding:
    """The rate at the largest size, compared with the link's limit or with a memory copy."""
    row = common.at_largest(rows)
    rate = rate_of(row, context.confidence)
    crosses = str(row.operation) not in {"kernel_read", "kernel_write", "stream"}
    reference = common.reference_of(row)
    share = rate.value / reference.value if reference else None
    verdict: Verdict = common.verdict_of(share)
    same = context.rows[context.rows["device"] == row.device]
    other = common.backend_of(context, str(row.device)).fastest_memory
    one_kind = crosses and same[same["operation"] == row.operation]["memory"].nunique() == 1
    worth = one_kind and verdict == "poor" and other not in {"", row.memory}
    what, size = WAYS[str(row.operation)], format_size(int(row.bytes))
    named = common.who(context, row)
    values = {"what": what, "rate": shown(rate.value, "B/s"), "size": size, "who": named}
    if row.direction and row.memory and row.memory not in named:
        values["who"] += f", {row.memory}"
    return Finding(
        study=context.study,
        subject=named,
        quantity=f"{what}, {size}",
        interval=rate,
        unit="B/s",
        reference=reference,
        share=share,
        verdict=verdict,
        remark=common.REMARKS.get(verdict, "") if reference and reference.kind == "limit" else "",
        sentence=say("rate_alone", **values)
        if reference is None or share is None
        else say(
            "rate_of_limit",
            share=f"{100 * share:.0f} %",
            reference=common.named(reference),
            **values,
        ),
        action=f"run transfer --device {quote(row.device)} --memory {row.memory},{other}"
        if worth and reference and reference.kind == "limit"
        else "",
        evidence="peaks",
        **common.point_of(row),
    )  # fmt: skip


def _latencies(context: AnalysisContext, series: dict[tuple[str, ...], Frame]) -> Iterator[Finding]:
    """Time of a small copy, of each device with its fastest memory; the fastest device first."""
    best: dict[str, Any] = {}
    for (operation, device, *_), rows in series.items():
        row = common.at_small(rows)
        way = operation == "write" or (operation == "read" and not _has(series, device, "write"))
        small = way and row.bytes <= _LATENCY_MOST
        if small and (device not in best or row.median_s < best[device].median_s):
            best[device] = row
    order = sorted(
        best.values(), key=lambda row: (not context.is_reported(row.device), row.median_s)
    )
    for row in order:
        time, named = time_of(row, context.confidence), common.who(context, row)
        what, size = WAYS[str(row.operation)], format_size(int(row.bytes))
        yield Finding(
            study=context.study,
            subject=named,
            quantity=f"{what}, {size}",
            interval=time,
            unit="s",
            remark="latency",
            sentence=say("latency", what=what, size=size, time=shown(time.value, "s"), who=named),
            **common.point_of(row),
        )


def _has(series: dict[tuple[str, ...], Frame], device: str, operation: str) -> bool:
    return any(key[:2] == (operation, device) for key in series)


def _changes(context: AnalysisContext, series: dict[tuple[str, ...], Frame]) -> Iterator[Finding]:
    """Possible gains by other memory, mapping or another device; the largest first."""
    changes = [*_memories(context, series), *_maps(context, series), *_devices(context, series)]
    changes.sort(key=lambda one: -one.interval.value if one.interval else 0.0)
    yield from (one for one in changes if one.interval and one.interval.value >= _WORTH)
    yield from (one for one in changes if not one.interval or one.interval.value < _WORTH)


def _ratio(of: AnalysisContext, best: Any, usual: Any, *, among: int = 1, **more: Any) -> Finding:
    """Ratio of two rows of the same size, with a verdict from their intervals.

    ``among``: number of comparisons from which this one was chosen by its outcome.
    """
    times = time_of(usual, of.confidence).over(time_of(best, of.confidence))
    times = times.logarithm().widened(of.simultaneous(among)).exponential()
    smallest = relevant(of.run.settings.precision)
    verdict: Verdict = {"slower": "faster", "faster": "slower"}.get(  # type: ignore[assignment]
        judged := judge(times, smallest), judged
    )
    what, size = WAYS[str(best.operation)], format_size(int(best.bytes))
    return Finding(
        study=of.study, quantity=f"{what}, {size}", interval=times, unit="1",
        verdict=verdict, **more, **common.point_of(best),
    )  # fmt: skip


def _reach(interval: Any) -> str:
    """How far from 1 an interval reaches, as a percentage."""
    if not interval.known or interval.low <= 0:
        return "an unknown factor"
    return wording.percent(max(interval.high, 1 / interval.low) - 1)


def _same_size(groups: Sequence[Frame]) -> list[Any]:
    """One row of each, at the largest size that all have and whose intervals are known."""
    frames = [group[group["ci_low_s"].notna()] for group in groups]
    common_sizes = set.intersection(*(set(frame["bytes"]) for frame in frames))
    if not common_sizes:
        return []
    size = max(common_sizes)
    return [next(each(frame[frame["bytes"] == size])) for frame in frames]


def _memories(context: AnalysisContext, series: dict[tuple[str, ...], Frame]) -> Iterator[Finding]:
    """The fastest kind of host memory over the usual one, on each device."""
    kinds: dict[tuple[str, ...], list[Frame]] = {}
    for (operation, device, _, axes, clock), rows in series.items():
        if operation == "write" and not common.simulated(context, device):
            kinds.setdefault((device, axes, clock), []).append(rows)
    for frames in kinds.values():
        known = [frame[frame["ci_low_s"].notna()] for frame in frames]
        known = [frame for frame in known if not frame.empty]
        plain = [one for one in known if one["memory"].iloc[0] in {"pageable", "aligned"}] or known
        if len(known) < 2:
            continue
        usual = common.at_largest(max(plain, key=lambda frame: int(frame["bytes"].max())))
        others = [
            row
            for frame in known
            for row in each(frame[frame["bytes"] == usual.bytes])
            if row.memory != usual.memory
        ]
        if not others:
            continue
        best = _fastest(context, others)
        finding = _ratio(
            context, best, usual, among=len(others),
            subject=f"{best.memory} over {usual.memory}, {common.title(context, best.device)}",
            sentence="", evidence="",
        )  # fmt: skip
        assert finding.interval is not None
        size, what = format_size(int(best.bytes)), WAYS[str(best.operation)]
        if finding.verdict == "faster":
            yield msgspec.structs.replace(
                finding,
                remark=f"use {best.memory} memory",
                action=common.call_for(context, str(best.device), str(best.memory)),
                sentence=say(
                    "better_memory", best=str(best.memory), usual=str(usual.memory),
                    ratio=wording.number(finding.interval.value), what=what, size=size,
                ),
            )  # fmt: skip
        elif finding.verdict == "same":
            yield msgspec.structs.replace(
                finding, remark="no difference",
                sentence=say("memory_same", percent=_reach(finding.interval), size=size),
            )  # fmt: skip
        elif finding.verdict == "slower":
            yield msgspec.structs.replace(
                finding, remark=f"{usual.memory} is fastest",
                sentence=say("memory_fastest", usual=str(usual.memory), what=what, size=size),
            )  # fmt: skip
        else:
            yield msgspec.structs.replace(
                finding, remark="not decided",
                action=common.to_decide(context, str(best.device)),
                sentence=say("memory_unclear", percent=_reach(finding.interval), size=size),
            )  # fmt: skip


def _fastest(context: AnalysisContext, rows: Sequence[Any]) -> Any:
    """The fastest row; of equally fast rows the one whose memory is first in ``BEST_FIRST``."""
    best = min(rows, key=lambda row: float(row.median_s))
    most = best.median_s * (1 + relevant(context.run.settings.precision))
    order = {kind: i for i, kind in enumerate(common.BEST_FIRST)}
    alike = [row for row in rows if row.median_s <= most]
    return min(alike, key=lambda row: order.get(row.memory, len(order)))


def _maps(context: AnalysisContext, series: dict[tuple[str, ...], Frame]) -> Iterator[Finding]:
    """Where mapping a buffer is faster than copying it, or needs no transfer at all."""
    maps = context.timed
    maps = maps[maps["operation"] == "map"]
    for (operation, device, *_), rows in series.items():
        mapped_rows = maps[(maps["device"] == device) & (maps["clock"].isin(rows["clock"]))]
        if operation != "read" or mapped_rows.empty or common.simulated(context, device):
            continue
        pair = _same_size([rows, mapped_rows])
        if len(pair) < 2 or pair[0].median_s < _WORTH * pair[1].median_s:
            continue
        copied, mapped = pair
        named, size = common.title(context, device), format_size(int(copied.bytes))
        shares = "zero_copy" in mapped.flags
        yield _ratio(
            context, mapped, copied, subject=f"map over copy, {named}",
            remark="map buffers", action=common.backend_of(context, device).map_advice,
            sentence=say(
                "map_shares" if shares else "map_buffers", size=size,
                map=shown(float(mapped.median_s), "s"), copy=shown(float(copied.median_s), "s"),
                who=named,
            ),
        )  # fmt: skip


def _devices(context: AnalysisContext, series: dict[tuple[str, ...], Frame]) -> Iterator[Finding]:
    """The fastest device or API over the first one, with the same memory."""
    alike: dict[tuple[str, ...], list[Frame]] = {}
    for (operation, device, memory, axes, clock), rows in series.items():
        real = not common.simulated(context, device) and context.is_reported(device)
        if operation == "write" and real:
            alike.setdefault((memory, axes, clock), []).append(rows)
    groups = [_same_size(frames) for frames in alike.values() if len(frames) > 1]
    for alike_rows in sorted(filter(None, groups), key=lambda rows: -int(rows[0].bytes))[:1]:
        ordered: list[Any] = sorted(alike_rows, key=lambda row: float(row.median_s))
        best, usual = ordered[0], ordered[-1]
        one, other = (common.title(context, str(row.device)) for row in (best, usual))
        among = len(ordered) * (len(ordered) - 1) // 2
        finding = _ratio(
            context, best, usual, among=among, subject=f"{one} over {other}", sentence=""
        )
        assert finding.interval is not None
        size, what = format_size(int(best.bytes)), WAYS[str(best.operation)]
        if finding.verdict == "faster":
            ratio = wording.number(finding.interval.value)
            values = {"best": one, "usual": other, "ratio": ratio, "what": what, "size": size}
            yield msgspec.structs.replace(
                finding, remark=f"{one} is faster", sentence=say("better_device", **values)
            )
            continue
        same = finding.verdict == "same"
        yield msgspec.structs.replace(
            finding,
            remark="no difference" if same else "not decided",
            action="" if same else common.to_decide(context, best.device, usual.device),
            sentence=say(
                "device_same" if same else "device_unclear",
                one=one, other=other, percent=_reach(finding.interval), size=size,
            ),
        )  # fmt: skip


def _launches(context: AnalysisContext) -> Iterator[Finding]:
    """Time of an empty kernel."""
    rows = context.every[context.every["study"] == context.study]
    rows = rows[(rows["operation"] == "launch") & rows["median_s"].gt(0)]
    rows = rows[(rows["clock"] != "device") & ~rows["flags"].str.contains("through_emulation")]
    for row in each(rows):
        named, time = common.title(context, str(row.device)), time_of(row)
        yield Finding(
            study=context.study, subject=named, quantity="start a kernel and wait",
            interval=time, unit="s", sentence=say("launch", time=shown(time.value, "s"), who=named),
            **common.point_of(row),
        )  # fmt: skip


def _peaks(context: AnalysisContext, series: dict[tuple[str, ...], Frame]) -> Iterator[Finding]:
    """Peaks at middle sizes, well above the rate at the largest; in a cache if there is no link."""
    for (operation, *_), rows in series.items():
        last = common.at_largest(rows)
        top = common.at_peak(rows)
        if operation not in {"read", "write"} or top.bandwidth_Bps < _PEAK * last.bandwidth_Bps:
            continue
        cached = top.bytes <= _CACHE_BYTES and top.limit != "link"
        what, named = WAYS[operation], common.who(context, top)
        rate, size = shown(float(top.bandwidth_Bps), "B/s"), format_size(int(top.bytes))
        yield Finding(
            study=context.study, subject=named,
            quantity=f"{what}, peak {'in cache ' if cached else ''}at {size}",
            interval=rate_of(top, context.confidence), unit="B/s",
            remark="in cache" if cached else "peak", evidence="peaks",
            sentence=say("in_cache", what=what, rate=rate, size=size, who=named)
            if cached
            else say(
                "peak", what=what, rate=rate, size=size, who=named,
                largest=format_size(int(last.bytes)), slow=shown(float(last.bandwidth_Bps), "B/s"),
            ),
            **common.point_of(top),
        )  # fmt: skip


def _left_out(context: AnalysisContext) -> Iterator[Finding]:
    """What a model does not predict: copies that a runtime makes in host memory."""
    rows = context.rows
    for device in rows["device"].unique():
        copies = rows[(rows["device"] == device) & (rows["operation"].isin(["read", "write"]))]
        if common.simulated(context, str(device)) and copies["memory"].nunique() > 1:
            yield Finding(
                study=context.study, subject=common.title(context, str(device)),
                quantity="kinds of host memory", interval=None, unit="",
                sentence=say("model_memory"), remark="not in the model",
                action=f"run allocation --device {quote(device)}", device=str(device),
            )  # fmt: skip


ANALYSIS = Analysis(comparisons.QUESTIONS, findings)
