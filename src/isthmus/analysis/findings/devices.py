"""Joins findings on alike devices, and compares the APIs of one card or processor.

Alike devices share one finding with their range; a device that differs has its own. If a card is
measured by its own API, each other API has one finding: the difference between the two.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

import msgspec

from isthmus import backends
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings.finding import Finding
from isthmus.answers import rate_of, time_of
from isthmus.frames import Frame
from isthmus.statistics import APART, Interval, apart
from isthmus.thresholds import SMALL
from isthmus.units import shown, shown_range


def of_alike(context: AnalysisContext, each: Sequence[Finding]) -> list[Finding]:
    """Joins the findings of devices that are alike.

    ``each``: findings on the same quantity, one finding for each device.
    """
    of_device = {finding.device: finding for finding in each}
    result: list[Finding] = []
    for devices in context.kinds:
        alike = [of_device[record.address] for record in devices if record.address in of_device]
        result += _joined(devices[0].name, [finding for finding in alike if finding.interval])
        result += [finding for finding in alike if not finding.interval]
    return result


def _joined(name: str, findings: Sequence[Finding]) -> list[Finding]:
    """Makes one finding on the devices that agree, and one on each device that differs."""
    values = {finding.device: finding.interval.value for finding in findings if finding.interval}
    if len(values) < 2:
        return list(findings)
    middle = statistics.median(values.values())
    named = apart(values)
    agree = [finding for finding in findings if finding.device not in named]
    if len(agree) < 2:
        return list(findings)
    intervals = [finding.interval for finding in agree if finding.interval]
    near = min(agree, key=lambda finding: abs(values[finding.device] - middle))
    least, most = (choose(values[finding.device] for finding in agree) for choose in (min, max))
    unit = near.unit
    span = shown_range(middle, least, most, unit)
    common_interval = Interval(
        middle,
        min(interval.low for interval in intervals),
        max(interval.high for interval in intervals),
        intervals[0].confidence,
    )
    share = near.reference and middle / near.reference.value
    joined = msgspec.structs.replace(
        near,
        subject=f"{len(agree)} x {name}",
        interval=common_interval,
        share=share,
        devices=len(agree),
        template="stated",
        values={"subject": f"{len(agree)} x {name}", "fact": f"{near.quantity} {span}"},
    )
    return [joined, *(finding for finding in findings if finding.device in named)]


def of_other_apis(context: AnalysisContext, ways: Sequence[str]) -> Iterator[Finding]:
    """Yields a finding for each further API of a card, compared with the card's own API."""
    names = backends.api_names()
    records = context.devices
    for address, first in context.beside.items():
        device = records[address]
        own = context.rows[context.rows["device"] == first]
        rows = context.rows[context.rows["device"] == device.address]
        rates = [pair for way in ways if (pair := _rates(context, own, rows, way))]
        later = _latency(context, own, rows)
        if not rates and later is None:
            continue
        api = names.get(device.api, device.api)
        subject = f"{api} on {first}"
        if device.api == records[first].api:  # two runtimes of one API
            api, subject = address, f"{address} against {first}"
        texts = []
        if rates:
            least = min(rates, key=lambda ratio: ratio.value)
            same = all(_is_same(ratio) for ratio in rates)
            texts.append("same rate" if same else f"{100 * least.value:.0f} % of the rate")
        if later is not None:
            texts.append(difference_in_words(later))
        yield Finding(
            study=context.study, subject=f"{address} beside {first}",
            quantity=f"by {api}: {', '.join(texts)}", interval=later, unit="s",
            template="stated", values={"subject": subject, "fact": ", ".join(texts)},
            remark="another API", beside=first,
            device=device.address,
        )  # fmt: skip


def difference_in_words(by: Interval) -> str:
    """A difference of latencies in words; if it may be zero, the largest amount it may have."""
    if by.low <= 0 <= by.high:
        return f"the same latency within {shown(max(-by.low, by.high), 's')}"
    return f"{shown(abs(by.value), 's')} {'more' if by.value > 0 else 'less'} latency"


def _is_same(ratio: Interval) -> bool:
    return 1 - APART <= ratio.value <= 1 + APART


def _best_rate(context: AnalysisContext, rows: Frame, way: str) -> Interval | None:
    """The highest rate of an operation on its plateau, over the kinds of memory."""
    settled = rows[(rows["operation"] == way) & rows["plateau"]]
    return (
        None
        if settled.empty
        else rate_of(settled.row(settled["bandwidth_Bps"].idxmax()), context.confidence)
    )


def _rates(context: AnalysisContext, own: Frame, rows: Frame, way: str) -> Interval | None:
    """Rate by another API over the rate by the card's own API; None if either is unknown."""
    before, after = _best_rate(context, own, way), _best_rate(context, rows, way)
    return after.over(before) if before and after and before.known and after.known else None


def _latency(context: AnalysisContext, own: Frame, rows: Frame) -> Interval | None:
    """Additional seconds of a small write by another API, each API with its fastest memory."""
    times = []
    for part in (own, rows):
        small = part[(part["operation"] == "write") & (part["bytes"] == SMALL)]
        if small.empty:
            return None
        times.append(
            time_of(next(iter(small.sort_values("median_s").itertuples())), context.confidence)
        )
    return times[1].minus(times[0]) if all(interval.known for interval in times) else None
