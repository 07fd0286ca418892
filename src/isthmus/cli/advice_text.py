"""Advice as text on one screen, and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from isthmus.analysis.advice import Advice, Option, Way
from isthmus.analysis.commands import is_address, study_command
from isthmus.analysis.wording import number
from isthmus.columns import wrapped
from isthmus.program import invocation, option_words
from isthmus.results.run_file import DeviceRecord
from isthmus.statistics import Interval
from isthmus.thresholds import NOTHING_BPS
from isthmus.units import format_rate, format_seconds, format_size, percent, seconds_amount
from isthmus.written import json_text

DIRECTIONS = {"h2d": "to the device", "d2h": "to the host"}
_ROWS = 8


def named(way: Way, size: int) -> str:
    """A way in words, without its device: ``pinned memory, 4 x 16Mi``."""
    pieces = f"{way.depth} x {format_size(way.chunk(size))} in flight"
    whole = "whole" if way.call == "copy" else "mapped"
    return f"{way.memory} memory, {pieces if way.depth > 1 else whole}"


def timed(time: Interval) -> str:
    """A time with its interval: ``8.10 ms (7.94 to 8.31)``."""
    value, low, high = map(seconds_amount, time[:3])
    if not time.known:
        return f"{value} (interval unknown)"
    return str(value) if low == high else f"{value} ({low.and_to(high)})"


def _rated(option: Option, size: int) -> str:
    """The rate; empty where it is so high that nothing was copied."""
    rate = size / option.time.value
    return format_rate(rate) if rate < NOTHING_BPS else ""


def sentence(option: Option, size: int, direction: str) -> str:
    """The answer in one line."""
    rate = _rated(option, size) or "nothing is copied"
    return (
        f"{format_size(size)} {DIRECTIONS[direction]}: {named(option.way, size)}, on "
        f"{option.way.device}: {timed(option.time)}, {rate}."
    )


def lines(
    found: Advice, record: DeviceRecord, size: int, direction: str, wanted_s: float | None
) -> Iterator[str]:
    """The advice on one screen, the answer first."""
    for said in (
        sentence(found.best, size, direction),
        *_wanted(found, size, wanted_s),
        *_compared(found, size),
        *_notes(found, record),
    ):
        yield from wrapped(said)
    yield from _measure(found, record, size, direction, wanted_s)
    if len(found.crossovers) > 1:
        yield ""
        yield from _table(found.crossovers)


def _wanted(found: Advice, size: int, wanted_s: float | None) -> Iterator[str]:
    said = {
        "yes": "kept; this is the simplest way that certainly keeps it",
        "no": "no measured way keeps it; this is the fastest",
        "unknown": "not certain to be kept; this is the fastest",
    }
    if wanted_s is not None:
        rate = format_rate(size / wanted_s)
        yield f"Wanted: {format_seconds(wanted_s)}, {rate}: {said[found.met]}."


def _compared(found: Advice, size: int) -> Iterator[str]:
    """The naive way, the fastest, and those that may be as fast."""
    if found.naive is None or found.gain is None:
        yield "The naive way, plain memory in one whole transfer, was not measured at this size."
    elif found.naive.way == found.best.way:
        yield "This is the naive way: plain memory in one whole transfer."
    else:
        name = f"The naive way, {named(found.naive.way, size)},"
        value, low, high = map(number, found.gain[:3])
        span = "" if low == high else f" ({low} to {high})"
        open_ = "" if found.gain.low > 1 else ": not certainly longer"
        yield f"{name} takes {value} times as long{span}{open_}."
    if found.best.way != found.fastest.way:
        name = f"{named(found.fastest.way, size)} on {found.fastest.way.device}"
        least, most = (1 - 1 / end for end in (found.slower.low, found.slower.high))
        if found.best not in found.alike:
            ends = dict.fromkeys((percent(least), percent(most)))
            yield f"The fastest, {name}, takes {' to '.join(ends)} less time."
        elif found.slower.known:
            yield f"Nothing is certainly faster; {name} takes at most {percent(most)} less time."
        else:
            yield f"Whether {name} is faster is not known."
    others = [one.way for one in found.alike if one.way not in {found.best.way, found.fastest.way}]
    if others and found.best in found.alike:
        yield f"As fast, as far as is certain: {len(others)} more (--json)."


def _notes(found: Advice, record: DeviceRecord) -> Iterator[str]:
    """What the figures do not say by themselves."""
    if found.between:
        low, high = map(format_size, found.between)
        yield f"Estimated between measured sizes {low} and {high}."
    if found.elsewhere:
        ways = [f"{way.memory} {way.call}" for way in found.elsewhere]
        names = ", ".join(dict.fromkeys(ways))
        yield f"Not compared, for they were measured at other sizes only: {names}."
    if found.clock == "simulated":
        yield "Simulated: link and card, without the software of an API."
        if found.with_copies:
            yield "The copy that the API makes from ordinary memory is added, as timed here."
        elif found.copied:
            yield f"Left out, for the API copies from it first: {', '.join(found.copied)} memory."
    elif not record.real:
        yield "No hardware was measured."
    if found.within:
        yield "Each figure is of one process; intervals have the scatter between sizes, too."
    if found.best.way.call == "map":
        yield "Mapping and unmapping count, not what the program does with the data."
    if found.counted:
        yield "All times include the first use of newly allocated memory."
    if found.unknown and found.counted:
        yield f"Left out, for their first use was not measured: {', '.join(found.unknown)} memory."
    elif found.unknown:
        yield (
            "What the first use of memory costs was not measured for this size: plain memory alone "
            "is compared, as if it were reused."
        )


def _measure(
    found: Advice, record: DeviceRecord, size: int, direction: str, wanted_s: float | None
) -> Iterator[str]:
    """Commands that measure what is estimated here, and what is unknown of memory's first use."""
    if found.between:
        compared = (found.best, found.fastest, *found.alike)
        devices = dict.fromkeys(one.way.device for one in compared)
        words = ["advise", format_size(size)]
        words += [] if direction == "h2d" else ["--direction", direction]
        words += ["--once"] if found.counted else []
        if wanted_s is not None:
            words += ["--deadline", f"{wanted_s * 1e6:.3f}".rstrip("0").rstrip(".") + "us"]
        words += [word for address in devices for word in option_words("--device", address)]
        if all(map(is_address, devices)):
            yield f"Measure it: {invocation(*words)}"
    if found.unknown:
        kinds = ",".join(dict.fromkeys((found.best.way.memory, *found.unknown)))
        axes = {"handover": "copy", "elements": str(-(-size // 4)), "memory": kinds}
        if command := study_command("allocation", [record.address], axes):
            yield f"Measure it: {command}"


def _table(crossovers: Sequence[tuple[int, Option]]) -> Iterator[str]:
    yield f"{'from':>6}  {'time':>8}  {'rate':>9}  way"
    for at, option in crossovers[:_ROWS]:
        time, rate = format_seconds(option.time.value), _rated(option, at)
        name = f"{named(option.way, at)} ({option.way.device})"
        yield f"{format_size(at):>6}  {time:>8}  {rate:>9}  {name}"
    if len(crossovers) > _ROWS:
        yield f"        {len(crossovers) - _ROWS} more: --json"


def as_json(
    found: Advice,
    records: Mapping[str, DeviceRecord],
    size: int,
    direction: str,
    wanted_s: float | None,
) -> str:
    """The same for programs: intervals by name, null where an end is unknown."""

    def plain(value: Any, at: int = size) -> Any:
        if isinstance(value, Interval):
            return value._asdict()
        if isinstance(value, Option):
            way, api = value.way, records[value.way.device].api
            named = {"way": way._asdict(), "api": api, "chunk_bytes": way.chunk(at)}
            return {**named, "time": plain(value.time)}
        return value

    fields = {one.name: plain(getattr(found, one.name)) for one in dataclasses.fields(found)}
    fields["alike"] = [plain(one) for one in found.alike]
    fields["crossovers"] = [{"bytes": at, **plain(one, at)} for at, one in found.crossovers]
    data = {"bytes": size, "direction": direction, "wanted_s": wanted_s, **fields}
    return json_text(data)
