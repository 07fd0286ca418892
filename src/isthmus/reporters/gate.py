"""The first line of a gate: PASS, FAIL or UNDECIDED, with the reason and the next command."""

from __future__ import annotations

from collections.abc import Iterator

from isthmus.analysis import wording
from isthmus.analysis.change import Change
from isthmus.analysis.changes import Comparison
from isthmus.analysis.gate import Doubt, Gate, decide, unknown_quantities
from isthmus.program import Invocation
from isthmus.text import counted
from isthmus.units import printable

_MOST_NAMED = 2
_WIDEST = 2
"""Kinds of memory whose limits are named."""


def line(result: Comparison, more: Invocation, again: Invocation | None) -> str:
    """The decision, its reason, and the next command, in one line.

    ``more``: shows all points; ``again``: measures the new side again, where a run file says how.
    """
    gate = decide(result)
    reasons = [*_REASONS[gate.outcome](result, gate), *_counts(result), *map(_doubt, gate.doubts)]
    command = again if gate.outcome == "undecided" and again else more
    then = " (runs of each side in a folder of their own decide more)" if command is again else ""
    names = f"{result.new.name} against {result.base.name}"
    text = f"{gate.outcome.upper()}: {names}: {'; '.join(reasons)}. Next: {command}{then}"
    return printable(text)


def _passes(result: Comparison, _: Gate) -> Iterator[str]:
    devices = len({one.device for one in result.series})
    yield (
        f"none of {counted(len(result.series), 'series', 'series')} of "
        f"{counted(devices, 'device', 'devices')} is slower by more than {_limit(result)}"
    )


def _fails(result: Comparison, _: Gate) -> Iterator[str]:
    slower = result.of("slower")
    beyond = _limit(result)
    if slower:
        count = f"{len(slower)} of {counted(len(result.series), 'series', 'series')}"
        yield f"{count} slower by more than {beyond} ({_named(slower)})"
    elif result.slower_points:
        points = counted(len(result.slower_points), "single point", "single points")
        yield f"{points} slower by more than {beyond} ({_named(result.slower_points)})"
    if result.undecided:
        yield f"{len(result.undecided)} undecided"


def _undecided(result: Comparison, gate: Gate) -> Iterator[str]:
    if result.undecided:
        count = f"{len(result.undecided)} of {counted(len(result.series), 'series', 'series')}"
        yield f"{count} may be slower by more than {_limit(result)} ({_named(result.undecided)})"
    quantities = unknown_quantities(result)
    if quantities:
        named = ", ".join(f"{one.device} {one.words}" for one, _ in quantities[:_MOST_NAMED])
        more = len(quantities) - _MOST_NAMED
        named += f" and {more} more" if more > 0 else ""
        points = sum(count for _, count in quantities)
        yield f"{counted(points, 'point', 'points')} cannot be compared ({named})"
    if gate.dead:
        yield f"no time of {', '.join(gate.dead)}"


_REASONS = {"pass": _passes, "fail": _fails, "undecided": _undecided}


def _counts(result: Comparison) -> Iterator[str]:
    """Points that are missing on either side."""
    new, base = len(result.missing), result.added
    if new or base:
        yield f"missing points: {new} in {result.new.name}, {base} in {result.base.name}"


def _doubt(doubt: Doubt) -> str:
    if doubt.kind == "newer":
        return "the base is newer"
    if doubt.kind == "incomplete":
        side = "the base" if doubt.side == "base" else "the new side"
        return f"{side} is incomplete"
    if doubt.kind == "machine":
        return f"the base is of another machine ({doubt.names[0]}, not {doubt.names[1]})"
    return f"the base has other settings ({', '.join(doubt.names)})"


def _named(changes: list[Change]) -> str:
    """The worst of some series, with the ratio that is known or possible."""
    texts = []
    for one in changes[:_MOST_NAMED]:
        sizes = "" if one.sizes == "0" else f" {one.sizes}"
        if one.verdict == "slower":
            share = f"+{wording.percent(one.ratio.value - 1)}"
        elif 1 < one.most < wording.MOST_TOLD:
            share = f"up to +{wording.percent(one.most - 1)}"
        else:
            share = "unknown"
        texts.append(f"{one.device} {one.words}{sizes} {share}")
    more = len(changes) - _MOST_NAMED
    return "; ".join(texts) + (f" and {more} more" if more > 0 else "")


def _limit(result: Comparison) -> str:
    """The limit in words; of times that are judged by their own spread, the widest."""
    if not result.own:
        return wording.percent(result.least)
    widest: dict[str, float] = {}
    for one in result.series:
        memory = one.memory or one.operation
        widest[memory] = max(widest.get(memory, 0.0), one.limit)
    ordered = sorted(widest.items(), key=lambda pair: -pair[1])[:_WIDEST]
    shown = [
        f"{memory} {wording.percent(limit)}" if limit < wording.MOST_TOLD else f"{memory} unknown"
        for memory, limit in ordered
    ]
    return f"their own spread (at most {', '.join(shown)})"
