"""Writes advice as text on one screen, and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from isthmus.analysis.advice import Advice, Option, Way
from isthmus.analysis.commands import is_address, study_command
from isthmus.columns import wrapped
from isthmus.program import invocation, option_words
from isthmus.results.run_file import DeviceRecord
from isthmus.statistics import Interval
from isthmus.thresholds import NOTHING_BPS
from isthmus.units import format_rate, format_seconds, format_size, number, percent, seconds_amount
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
    """The rate of a way; empty if it is so high that no data can have been copied."""
    rate = size / option.time.value
    return format_rate(rate) if rate < NOTHING_BPS else ""


def sentence(option: Option, size: int, direction: str) -> str:
    """The advised way with its time and rate, in one line."""
    rate = _rated(option, size) or "nothing is copied"
    return (
        f"{format_size(size)} {DIRECTIONS[direction]}: {named(option.way, size)}, on "
        f"{option.way.device}: {timed(option.time)}, {rate}."
    )


def lines(
    advice: Advice, record: DeviceRecord, size: int, direction: str, wanted_s: float | None
) -> Iterator[str]:
    """The advice on one screen, the answer first."""
    for text in (
        sentence(advice.best, size, direction),
        *_wanted(advice, size, wanted_s),
        *_compared(advice, size),
        *_notes(advice, record),
    ):
        yield from wrapped(text)
    yield from _measure(advice, record, size, direction, wanted_s)
    if len(advice.crossovers) > 1:
        yield ""
        yield from _table(advice.crossovers)


def _wanted(advice: Advice, size: int, wanted_s: float | None) -> Iterator[str]:
    outcomes = {
        "yes": "kept; this is the simplest way that certainly keeps it",
        "no": "no measured way keeps it; this is the fastest",
        "unknown": "not certain to be kept; this is the fastest",
    }
    if wanted_s is not None:
        rate = format_rate(size / wanted_s)
        yield f"Wanted: {format_seconds(wanted_s)}, {rate}: {outcomes[advice.met]}."


def _compared(advice: Advice, size: int) -> Iterator[str]:
    """Yields lines on the naive way, the fastest way, and ways that may be as fast."""
    if advice.naive is None or advice.gain is None:
        yield "The naive way, plain memory in one whole transfer, was not measured at this size."
    elif advice.naive.way == advice.best.way:
        yield "This is the naive way: plain memory in one whole transfer."
    else:
        name = f"The naive way, {named(advice.naive.way, size)},"
        value, low, high = map(number, advice.gain[:3])
        span = "" if low == high else f" ({low} to {high})"
        open_ = "" if advice.gain.low > 1 else ": not certainly longer"
        yield f"{name} takes {value} times as long{span}{open_}."
    if advice.best.way != advice.fastest.way:
        name = f"{named(advice.fastest.way, size)} on {advice.fastest.way.device}"
        least, most = (1 - 1 / end for end in (advice.slower.low, advice.slower.high))
        if advice.best not in advice.alike:
            ends = dict.fromkeys((percent(least), percent(most)))
            yield f"The fastest, {name}, takes {' to '.join(ends)} less time."
        elif advice.slower.known:
            yield f"Nothing is certainly faster; {name} takes at most {percent(most)} less time."
        else:
            yield f"Whether {name} is faster is not known."
    named_ways = {advice.best.way, advice.fastest.way}
    others = [option.way for option in advice.alike if option.way not in named_ways]
    if others and advice.best in advice.alike:
        yield f"Not certainly slower: {len(others)} more (--json)."


def _notes(advice: Advice, record: DeviceRecord) -> Iterator[str]:
    """Yields lines on limits of the figures: estimates, ways left out, parts that do not count."""
    if advice.between:
        low, high = map(format_size, advice.between)
        yield f"Estimated between measured sizes {low} and {high}."
    if advice.elsewhere:
        ways = [f"{way.memory} {way.call}" for way in advice.elsewhere]
        names = ", ".join(dict.fromkeys(ways))
        yield f"Not compared, because measured only at other sizes: {names}."
    if advice.clock == "simulated":
        yield "Simulated: link and card, without the software of an API."
        if advice.with_copies:
            yield "The copy that the API makes from ordinary memory is added, as timed here."
        elif advice.copied:
            yield f"Left out, as the API copies from it first: {', '.join(advice.copied)} memory."
    elif not record.real:
        yield "No hardware was measured."
    if advice.within:
        yield "Each figure is of one process; intervals have the scatter between sizes, too."
    if advice.best.way.call == "map":
        yield "Times include mapping and unmapping, but no work of the program on the data."
    if advice.counted:
        yield "All times include the first use of newly allocated memory."
    if advice.unknown and advice.counted:
        yield f"Left out, because first use was not measured: {', '.join(advice.unknown)} memory."
    elif advice.unknown:
        yield (
            "What the first use of memory costs was not measured for this size: plain memory alone "
            "is compared, as if it were reused."
        )


def _measure(
    advice: Advice, record: DeviceRecord, size: int, direction: str, wanted_s: float | None
) -> Iterator[str]:
    """Yields commands that measure estimated times, and unknown costs of first use."""
    if advice.between:
        compared = (advice.best, advice.fastest, *advice.alike)
        devices = dict.fromkeys(option.way.device for option in compared)
        words = ["advise", format_size(size)]
        words += [] if direction == "h2d" else ["--direction", direction]
        words += ["--once"] if advice.counted else []
        if wanted_s is not None:
            words += ["--deadline", f"{wanted_s * 1e6:.3f}".rstrip("0").rstrip(".") + "us"]
        words += [word for address in devices for word in option_words("--device", address)]
        if all(map(is_address, devices)):
            yield f"Measure it: {invocation(*words)}"
    if advice.unknown:
        kinds = ",".join(dict.fromkeys((advice.best.way.memory, *advice.unknown)))
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
    advice: Advice,
    records: Mapping[str, DeviceRecord],
    size: int,
    direction: str,
    wanted_s: float | None,
) -> str:
    """The advice as JSON: intervals are objects, or null if an end is unknown."""

    def plain(value: Any, at: int = size) -> Any:
        if isinstance(value, Interval):
            return value._asdict()
        if isinstance(value, Option):
            way, api = value.way, records[value.way.device].api
            named = {"way": way._asdict(), "api": api, "chunk_bytes": way.chunk(at)}
            return {**named, "time": plain(value.time)}
        return value

    fields = {f.name: plain(getattr(advice, f.name)) for f in dataclasses.fields(advice)}
    fields["alike"] = [plain(option) for option in advice.alike]
    fields["crossovers"] = [{"bytes": at, **plain(option, at)} for at, option in advice.crossovers]
    data = {"bytes": size, "direction": direction, "wanted_s": wanted_s, **fields}
    return json_text(data)
