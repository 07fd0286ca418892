"""Writes a sentence on each judgement: the judged quantity and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from isthmus.importers.base import Row
from isthmus.judging import Judgement, Reason
from isthmus.judging.grouping import backend
from isthmus.judging.rows import best_of_each
from isthmus.references import link_of
from isthmus.text import counted
from isthmus.thresholds import LOWER, SLOW_CALL
from isthmus.units import percent, rounded_bytes, shown

KINDS = {
    "copy": "copy", "peer": "between devices", "on_card": "within the card",
    "memory": "kernels on card memory", "host_memory": "kernels on host memory",
    "network": "between ranks", "collective": "collective", "call": "call", "other": "",
}  # fmt: skip
WAYS = {"h2d": "to device", "d2h": "to host", "both": "both ways", "": ""}
_KERNEL_WAYS = {"h2d": "read", "d2h": "written", "both": "both ways", "": ""}
_GPUS = ("cuda", "rocm")
_ALIKE = 0.25
"""Largest relative difference of objects' figures at which the objects count as alike."""
_PAIR = 2
"""Number of directions between two devices."""
_JUST = 1.01
"""Largest ratio of a figure to an end of the known range at which both count as equal."""
_BEYOND_PCIE_BPS = 64e9
"""Bytes a second above which a rate exceeds PCIe gen5 x16 in one direction."""


def what(judgement: Judgement) -> str:
    """Subject of a judgement in words: ``copy to device, SM, while copying back``."""
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
    """A row's value with its unit, in the judged program's own format: ``777.5 MB/s``."""
    if row.name == "iops":
        return f"{1e6 / row.values[0]:.0f} IOPS"
    value = row.values[0] / (2 if row.operation == "pingpong" else 1)
    return f"{value:.7g} {row.printed_unit or row.unit}"


def objects(judgement: Judgement) -> list[Row]:
    """The best row of each object of a group: of each bank, GPU or pair."""
    return best_of_each([row for row in judgement.group.rows if row.values])


def noun(judgement: Judgement) -> str:
    """Noun for the objects of a group: banks, GPUs, pairs."""
    kind, device = judgement.group.kind, backend(judgement.row.device)
    if kind == "peer" or (kind == "on_card" and device not in _GPUS):
        return "pairs"
    if kind == "collective":
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


class _Parts(NamedTuple):
    """Parts of a sentence on a judgement."""

    judgement: Judgement
    reason: Reason
    subject: str
    rate: str
    """Rate of the slowest object in words; empty if only times are known."""

    @property
    def of_limit(self) -> str:
        """The rate's share of the limit in words; empty without a limit."""
        limit, share = self.judgement.limit, self.judgement.share
        if limit is None or share is None:
            return ""
        return f", {percent(share)} of {limit.name} ({shown(limit.value, 'B/s')} for data)"

    @property
    def share(self) -> str:
        """The share that the reason states, in words."""
        return percent(self.reason.share)

    @property
    def other(self) -> str:
        """The rate that the reason states, in words."""
        return shown(self.reason.rate, "B/s")


def sentence(judgement: Judgement) -> str:
    """Writes the verdict on one group of rows in plain English."""
    kinds = {reason.kind: reason for reason in reversed(judgement.reasons)}
    rate = shown(judgement.rate, "B/s") if judgement.rate else ""
    for kind, make in _SENTENCES.items():
        if kind in kinds:
            slowest = _slowest(judgement) if kind in {"below_known", "low_share"} else ""
            return make(_Parts(judgement, kinds[kind], what(judgement) + slowest, rate))
    return f"{what(judgement)} {rate}."


def _slowest(judgement: Judgement) -> str:
    """Names the slowest object; empty if all objects are about as slow."""
    if not judgement.row.part or judgement.rate > (1 - _ALIKE) * judgement.fastest:
        return ""
    return f", {_part(judgement.row.part, judgement.row.line)}"


def known_range(judgement: Judgement, unit: str = "B/s") -> str:
    """Range of the known runs in words; empty if there are no known runs."""
    if judgement.known is None:
        return ""
    low, high = shown(judgement.known.least, unit), shown(judgement.known.most, unit)
    return low if low == high else f"{low} to {high}"


def _above(parts: _Parts) -> str:
    fastest, limit = shown(parts.judgement.fastest, "B/s"), parts.judgement.limit
    if limit is None:
        return f"{parts.subject} {fastest} is more than any link carries."
    most, at = shown(limit.raw, "B/s"), parts.reason.size
    fastest += f" at {rounded_bytes(at)}" if at else ""
    return f"{parts.subject} {fastest}; {limit.name} can carry {most} at most ({limit.source})."


def _above_any(parts: _Parts) -> str:
    fastest = shown(parts.judgement.fastest, "B/s")
    return (
        f"{parts.subject} {fastest} is {parts.reason.share:.3g} times what the fastest link can "
        f"carry ({parts.reason.source})."
    )


def _falls(parts: _Parts) -> str:
    reason = parts.reason
    last = shown(reason.rate * reason.share, "B/s")
    return (
        f"{parts.subject} falls from {parts.other} at {rounded_bytes(reason.size)} to {last} at "
        f"{rounded_bytes(reason.at)}."
    )


def _differs(parts: _Parts) -> str:
    reasons = [r for r in parts.judgement.reasons if r.kind == "differs" and r != parts.reason]
    more = f"; {counted(len(reasons), 'more is', 'more are')} slow" if reasons else ""
    usual = "the other way" if len(objects(parts.judgement)) == _PAIR else "the median of all"
    return (
        f"{parts.subject}: {_part(parts.reason.part, parts.reason.line)} reaches {parts.other}, "
        f"{parts.share} of {usual}{parts.of_limit}{more}."
    )


def _part(name: str, line: int) -> str:
    """Names an object, with the line of its figure: ``GPU 1 and 5 (line 28)``."""
    return f"{name} (line {line})" if line else name


def _slower_way(parts: _Parts) -> str:
    way = WAYS[parts.reason.part]
    of_other = f"{parts.share} of the copy {way} ({parts.other})"
    return f"{parts.subject} {parts.rate}, {of_other}{parts.of_limit}."


def _lesser(parts: _Parts) -> str:
    fact = parts.judgement.limit.fact if parts.judgement.limit else None
    if fact is None or fact.capable is None:
        return f"{parts.subject} {parts.rate}."
    generation, lanes = fact.capable
    return (
        f"the link runs at gen{fact.generation} x{fact.lanes}, the device can do gen{generation} "
        f"x{lanes}. {parts.subject} {parts.rate}{parts.of_limit}."
    )


def _as_known(parts: _Parts) -> str:
    runs_known = parts.judgement.known
    if runs_known is None:
        return _share(parts)
    runs = counted(runs_known.runs, "known run", "known runs")
    reach = "reaches" if runs_known.runs == 1 else "reach"
    reach = f", scaled to this link, {reach}" if runs_known.scaled else f" {reach}"
    return (
        f"{parts.subject} {parts.rate}{parts.of_limit}; {runs} of {runs_known.of}{reach} "
        f"{known_range(parts.judgement)}{_then(outside(parts.judgement))}."
    )


def outside(judgement: Judgement) -> str:
    """Says why a figure outside of the known range is still normal; else empty.

    Few boards and hosts make up the known range: a figure may be above it, up to the limit.
    """
    known = judgement.known
    if known is None or judgement.verdict != "normal":
        return ""
    if judgement.seconds > known.most * _JUST:
        return f"slower, but up to {SLOW_CALL:g} times the slowest is normal"
    if judgement.seconds:
        return "faster than all of them" if judgement.seconds < known.least / _JUST else ""
    if judgement.rate < known.least / _JUST:
        return f"less, but from {percent(LOWER)} of the slowest on is normal"
    if judgement.rate > known.most * _JUST:
        return "more than all of them" + (", and below the limit" if judgement.limit else "")
    return ""


def _then(words: str) -> str:
    return f"; {words}" if words else ""


def _same_data(parts: _Parts) -> str:
    seconds = f" {shown(parts.judgement.seconds, 's')} each" if parts.judgement.seconds else ""
    return (
        f"{parts.subject} {parts.rate or seconds.strip()}: the known run that it would be compared "
        "with has the same figures."
    )


def _slower_run(parts: _Parts) -> str:
    reason = parts.reason
    other = f"run {reason.at}{f' of {reason.part}' if reason.part else ''}"
    of_other = f"{parts.share} of {other} ({parts.other})"
    return f"{parts.subject} {parts.rate}, {of_other}{parts.of_limit}."


def _start_up(parts: _Parts) -> str:
    seconds = shown(parts.judgement.row.seconds()[0] / parts.judgement.row.times, "s")
    return (
        f"{parts.subject}: {rounded_bytes(parts.reason.size)} in {seconds} a call, of which a "
        f"small call takes up to {shown(parts.reason.seconds, 's')}: "
        f"{parts.rate}{parts.of_limit} says little."
    )


def _no_link(parts: _Parts) -> str:
    return (
        f"{parts.subject} {parts.rate}: the device is the processor, or shares its memory, so no "
        "link is crossed."
    )


def _share(parts: _Parts) -> str:
    return f"{parts.subject} {parts.rate}{parts.of_limit}."


def _middle(parts: _Parts) -> str:
    return f"{parts.subject} {parts.rate}{parts.of_limit}; no run of such a device is known."


def _latency(parts: _Parts) -> str:
    size_, seconds = rounded_bytes(parts.reason.size), shown(parts.reason.seconds, "s")
    each = f"{parts.subject}: {size_} in {seconds} each: latency, no share of a link"
    if parts.judgement.known is None:
        return f"{each}, and no known time to compare it with."
    known = f"{parts.judgement.known.of}: {known_range(parts.judgement, 's')}"
    return f"{each}; {known}{_then(outside(parts.judgement))}."


def _too_small(parts: _Parts) -> str:
    each = rounded_bytes(parts.judgement.row.size or 0)
    return f"{parts.subject} {parts.rate} with {each} each: too small."


def _no_limit(parts: _Parts) -> str:
    judgement, alike = parts.judgement, ""
    if len(rows := objects(judgement)) > 1 and judgement.fastest:
        apart = max(1 - judgement.rate / judgement.fastest, 0.001)
        alike = f", {len(rows)} {noun(judgement)} within {percent(apart)}"
        if apart > _ALIKE:
            nouns = noun(judgement)
            alike = f", the least of {len(rows)} {nouns}, {percent(1 - apart)} of the best"
    return f"{parts.subject} {parts.rate}{alike}: the log names no limit{_would_be(judgement)}."


def _would_be(judgement: Judgement) -> str:
    """Names the slowest PCIe link that can carry the rate."""
    if judgement.group.kind in {"peer", "network"}:
        beyond = judgement.fastest > _BEYOND_PCIE_BPS
        return "; more than PCIe gen5 x16 carries, so over NVLink or xGMI" if beyond else ""
    if judgement.group.kind not in {"copy", "host_memory"} or judgement.group.direction == "both":
        return ""
    for generation in (1, 2, 3, 4, 5, 6):
        link = link_of(generation, 16)
        if link and link.payload() >= judgement.fastest:
            return f"; it would be {percent(judgement.rate / link.payload())} of PCIe {link.name}"
    return "; no PCIe link carries it"


def _emulated(parts: _Parts) -> str:
    return f"{parts.subject} {parts.rate}: hardware emulation is no hardware."


def _faulty(parts: _Parts) -> str:
    fault = next((row.fault for row in parts.judgement.group.rows if row.fault), "")
    return f"{parts.subject}: its data were wrong ({fault}), so its rates count for nothing."


def _cache(parts: _Parts) -> str:
    return f"{parts.subject} {parts.rate}: faster than the memory, so a cache was measured."


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
"""Functions that write a sentence, by reason; the first reason here that a group has counts."""
