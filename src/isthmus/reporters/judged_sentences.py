"""Sentences about judgements: what it is about, and the verdict, in plain English."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from isthmus.analysis.findings.finding import shown
from isthmus.analysis.wording import size_in_bytes
from isthmus.importers.base import Row
from isthmus.judging import Judgement, Reason
from isthmus.judging.grouping import backend
from isthmus.judging.rows import best_of_each
from isthmus.references import link_of
from isthmus.text import counted
from isthmus.thresholds import LOWER, SLOW_CALL
from isthmus.units import percent

KINDS = {
    "copy": "copy", "peer": "between devices", "on_card": "within the card",
    "memory": "kernels on card memory", "host_memory": "kernels on host memory",
    "network": "between ranks", "collective": "collective", "call": "call", "other": "",
}  # fmt: skip
WAYS = {"h2d": "to device", "d2h": "to host", "both": "both ways", "": ""}
_KERNEL_WAYS = {"h2d": "read", "d2h": "written", "both": "both ways", "": ""}
_GPUS = ("cuda", "rocm")
_ALIKE = 0.25
"""Objects that differ more are not alike."""
_PAIR = 2
"""Ways between two devices."""
_JUST = 1.01
"""Times the end of a known range, up to which a figure is at the end."""
_BEYOND_PCIE_BPS = 64e9
"""More than PCIe gen5 x16 carries in a direction."""


def what(judgement: Judgement) -> str:
    """What a judgement is about: ``copy to device, SM, while copying back``."""
    group = judgement.group
    ways = _KERNEL_WAYS if group.kind == "host_memory" else WAYS
    words = f"{KINDS[group.kind]} {ways[group.direction]}".strip()
    if group.kind in {"network", "collective", "peer", "on_card"}:
        words = f"{group.name}" if group.kind in {"network", "collective"} else words
        words += f", {judgement.row.part}" if group.kind == "network" and judgement.row.part else ""
    words += {"ce": ", copy engine", "sm": ", SM"}.get(group.engine, "")
    words += f", {judgement.row.called}" if judgement.row.called else ""
    words += {"opposite": ", both ways at once"}.get(group.beside, "")
    return words


def printed(row: Row) -> str:
    """A value with its unit, as the program prints them: ``777.5 MB/s``."""
    if row.name == "iops":
        return f"{1e6 / row.values[0]:.0f} IOPS"
    value = row.values[0] / (2 if row.operation == "pingpong" else 1)
    return f"{value:.7g} {row.printed_unit or row.unit}"


def objects(one: Judgement) -> list[Row]:
    """The best row of each object, where a group has several; of banks, GPUs or pairs."""
    return best_of_each([row for row in one.group.rows if row.values])


def noun(one: Judgement) -> str:
    """What the objects of a group are: banks, GPUs, pairs."""
    device = backend(one.row.device)
    if one.group.kind == "peer" or (one.group.kind == "on_card" and device not in _GPUS):
        return "pairs"
    if one.group.kind == "collective":
        return "buffers"
    nouns = {"cuda": "GPUs", "rocm": "GPUs", "xrt": "banks", "xdma": "channels", "dd": "channels"}
    return nouns.get(device, "rows")


def spread(rows: Sequence[Row]) -> str:
    """The printed values of several objects: ``8485.43-9566.47 MB/s``."""
    low = min(rows, key=lambda row: row.values[0])
    high = max(rows, key=lambda row: row.values[0])
    if low.values[0] == high.values[0]:
        return printed(low)
    return f"{low.values[0]:.6g}-{high.values[0]:.6g} {low.printed_unit or low.unit}"


class _Said(NamedTuple):
    """What a sentence is made of."""

    one: Judgement
    reason: Reason
    subject: str
    rate: str
    """Of the slowest object; empty where only times are known."""

    @property
    def of_limit(self) -> str:
        """The share of the limit; empty without one."""
        limit, share = self.one.limit, self.one.share
        if limit is None or share is None:
            return ""
        return f", {percent(share)} of {limit.name} ({shown(limit.value, 'B/s')} for data)"

    @property
    def share(self) -> str:
        """The reason's share."""
        return percent(self.reason.share)

    @property
    def other(self) -> str:
        """The reason's rate."""
        return shown(self.reason.rate, "B/s")


def sentence(one: Judgement) -> str:
    """The verdict on one group in plain English."""
    kinds = {reason.kind: reason for reason in reversed(one.reasons)}
    rate = shown(one.rate, "B/s") if one.rate else ""
    for kind, make in _SENTENCES.items():
        if kind in kinds:
            slowest = _slowest(one) if kind in {"below_known", "low_share"} else ""
            return make(_Said(one, kinds[kind], what(one) + slowest, rate))
    return f"{what(one)} {rate}."


def _slowest(one: Judgement) -> str:
    """The object that a low rate is of; empty where all objects are about as slow."""
    if not one.row.part or one.rate > (1 - _ALIKE) * one.fastest:
        return ""
    return f", {_part(one.row.part, one.row.line)}"


def known_range(one: Judgement, unit: str = "B/s") -> str:
    """What is known, as a range; empty where nothing is."""
    if one.known is None:
        return ""
    low, high = shown(one.known.least, unit), shown(one.known.most, unit)
    return low if low == high else f"{low} to {high}"


def _above(said: _Said) -> str:
    fastest, limit = shown(said.one.fastest, "B/s"), said.one.limit
    if limit is None:
        return f"{said.subject} {fastest} is more than any link carries."
    most, at = shown(limit.raw, "B/s"), said.reason.size
    fastest += f" at {size_in_bytes(at)}" if at else ""
    return f"{said.subject} {fastest}; {limit.name} can carry {most} at most ({limit.source})."


def _above_any(said: _Said) -> str:
    fastest = shown(said.one.fastest, "B/s")
    return (
        f"{said.subject} {fastest} is {said.reason.share:.3g} times what the fastest link can "
        f"carry ({said.reason.part})."
    )


def _falls(said: _Said) -> str:
    reason = said.reason
    last = shown(reason.rate * reason.share, "B/s")
    return (
        f"{said.subject} falls from {said.other} at {size_in_bytes(reason.size)} to {last} at "
        f"{size_in_bytes(reason.at)}."
    )


def _differs(said: _Said) -> str:
    others = [one for one in said.one.reasons if one.kind == "differs" and one != said.reason]
    more = f"; {counted(len(others), 'more is', 'more are')} slow" if others else ""
    usual = "the other way" if len(objects(said.one)) == _PAIR else "the median of all"
    return (
        f"{said.subject}: {_part(said.reason.part, said.reason.line)} reaches {said.other}, "
        f"{said.share} of {usual}{said.of_limit}{more}."
    )


def _part(name: str, line: int) -> str:
    """An object with the line of its figure: ``GPU 1 and 5 (line 28)``."""
    return f"{name} (line {line})" if line else name


def _slower_way(said: _Said) -> str:
    way = WAYS[said.reason.part]
    return (
        f"{said.subject} {said.rate}, {said.share} of the copy {way} ({said.other}){said.of_limit}."
    )


def _lesser(said: _Said) -> str:
    fact = said.one.limit.fact if said.one.limit else None
    if fact is None or fact.capable is None:
        return f"{said.subject} {said.rate}."
    generation, lanes = fact.capable
    return (
        f"the link runs at gen{fact.generation} x{fact.lanes}, the device can do gen{generation} "
        f"x{lanes}. {said.subject} {said.rate}{said.of_limit}."
    )


def _as_known(said: _Said) -> str:
    known = said.one.known
    if known is None:
        return _share(said)
    runs = counted(known.runs, "known run", "known runs")
    reach = "reaches" if known.runs == 1 else "reach"
    reach = f", scaled to this link, {reach}" if known.scaled else f" {reach}"
    return (
        f"{said.subject} {said.rate}{said.of_limit}; {runs} of {known.of}{reach} "
        f"{known_range(said.one)}{_then(outside(said.one))}."
    )


def outside(one: Judgement) -> str:
    """Why a figure outside the known range is normal nevertheless; empty inside, and if it is not.

    The known range is of few boards and hosts; only the limit says what cannot be.
    """
    if one.known is None or one.verdict != "normal":
        return ""
    if one.seconds > one.known.most * _JUST:
        return f"slower, but up to {SLOW_CALL:g} times the slowest is normal"
    if one.seconds:
        return "faster than all of them" if one.seconds < one.known.least / _JUST else ""
    if one.rate < one.known.least / _JUST:
        return f"less, but from {percent(LOWER)} of the slowest on is normal"
    if one.rate > one.known.most * _JUST:
        return "more than all of them" + (", and below the limit" if one.limit else "")
    return ""


def _then(words: str) -> str:
    return f"; {words}" if words else ""


def _same_data(said: _Said) -> str:
    seconds = f" {shown(said.one.seconds, 's')} each" if said.one.seconds else ""
    return (
        f"{said.subject} {said.rate or seconds.strip()}: the known run that it would be compared "
        "with has these very figures."
    )


def _slower_run(said: _Said) -> str:
    reason = said.reason
    other = f"run {reason.at}{f' of {reason.part}' if reason.part else ''}"
    return f"{said.subject} {said.rate}, {said.share} of {other} ({said.other}){said.of_limit}."


def _start_up(said: _Said) -> str:
    seconds = shown(said.one.row.seconds()[0] / said.one.row.times, "s")
    return (
        f"{said.subject}: {size_in_bytes(said.reason.size)} in {seconds} a call, of which a small "
        f"call takes up to {shown(said.reason.seconds, 's')}: {said.rate}{said.of_limit} says "
        "little."
    )


def _no_link(said: _Said) -> str:
    return (
        f"{said.subject} {said.rate}: the device is the processor, or shares its memory, so no "
        "link is crossed."
    )


def _share(said: _Said) -> str:
    return f"{said.subject} {said.rate}{said.of_limit}."


def _middle(said: _Said) -> str:
    return f"{said.subject} {said.rate}{said.of_limit}; no run of such a device is known."


def _latency(said: _Said) -> str:
    size_, seconds = size_in_bytes(said.reason.size), shown(said.reason.seconds, "s")
    each = f"{said.subject}: {size_} in {seconds} each: latency, no share of a link"
    if said.one.known is None:
        return f"{each}, and no known time to compare it with."
    return f"{each}; {said.one.known.of}: {known_range(said.one, 's')}{_then(outside(said.one))}."


def _too_small(said: _Said) -> str:
    each = size_in_bytes(said.one.row.size or 0)
    return f"{said.subject} {said.rate} with {each} each: too small."


def _no_limit(said: _Said) -> str:
    one, alike = said.one, ""
    if len(found := objects(one)) > 1 and one.fastest:
        apart = max(1 - one.rate / one.fastest, 0.001)
        alike = f", {len(found)} {noun(one)} within {percent(apart)}"
        if apart > _ALIKE:
            alike = f", the least of {len(found)} {noun(one)}, {percent(1 - apart)} of the best"
    return f"{said.subject} {said.rate}{alike}: the log names no limit{_would_be(one)}."


def _would_be(one: Judgement) -> str:
    """Which PCIe link a rate would fill: the least that carries it."""
    if one.group.kind in {"peer", "network"}:
        beyond = one.fastest > _BEYOND_PCIE_BPS
        return "; more than PCIe gen5 x16 carries, so over NVLink or xGMI" if beyond else ""
    if one.group.kind not in {"copy", "host_memory"} or one.group.direction == "both":
        return ""
    for generation in (1, 2, 3, 4, 5, 6):
        found = link_of(generation, 16)
        if found and found.payload() >= one.fastest:
            return f"; it would be {percent(one.rate / found.payload())} of PCIe {found.name}"
    return "; no PCIe link carries it"


def _emulated(said: _Said) -> str:
    return f"{said.subject} {said.rate}: hardware emulation is no hardware."


def _faulty(said: _Said) -> str:
    fault = next((row.fault for row in said.one.group.rows if row.fault), "")
    return f"{said.subject}: its data were wrong ({fault}), so its rates count for nothing."


def _cache(said: _Said) -> str:
    return f"{said.subject} {said.rate}: faster than the memory, so a cache was measured."


_SENTENCES = {
    "above_limit": _above, "above_any_link": _above_any, "faulty": _faulty, "emulated": _emulated,
    "falls": _falls, "differs": _differs, "slower_way": _slower_way, "slower_run": _slower_run,
    "lesser_link": _lesser, "same_data": _same_data, "no_link": _no_link,
    "start_up": _start_up,
    "as_known": _as_known, "below_known": _as_known, "fills": _share, "low_share": _share,
    "middle_share": _middle, "latency_as_known": _latency, "latency_slow": _latency,
    "latency_unknown": _latency, "not_comparable": _cache, "no_limit": _no_limit,
    "too_small": _too_small,
}  # fmt: skip
"""By reason; the first here is told where a group has several."""
