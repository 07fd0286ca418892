"""What the rates of one log say by themselves: a fall, an unlike object, an unlike direction."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from isthmus.importers.base import Row
from isthmus.judging.judgement import Group, Judgement, Reason
from isthmus.judging.rows import rate
from isthmus.thresholds import FALLS, LARGE, LOWER, MUCH_LOWER

MOST_SLOW_PAIRS = 1 / 3
"""Share of all pairs up to which slow pairs are told: two groups of GPUs have more between them."""
_WAYS = 2
"""Ways between two devices."""
_FEWEST = 3
"""Sizes of a curve, and objects that have a median."""


def shape(group: Group, objects: Sequence[Row]) -> list[Reason]:
    """A fall with the size, and objects that are much slower than the others."""
    return [*_falls(group), *_differs(group, objects)]


def _falls(group: Group) -> Iterator[Reason]:
    """A rate that is much lower at the largest size than at its best size."""
    for part, ends in dict.fromkeys((row.part, row.ends) for row in group.rows):
        curve: dict[int, float] = {}
        for row in group.rows:
            if row.part == part and row.size and row.rates():
                curve[row.size] = max(curve.get(row.size, 0.0), rate(row))
        within_caches = group.kind == "network" and "D" not in ends
        if len(curve) < _FEWEST or within_caches:
            continue  # between buffers of processors, rates fall beyond the caches
        largest, best = max(curve), max(curve, key=lambda size: curve[size])
        steady = group.kind == "copy" and best >= LARGE
        if curve[largest] < (LOWER if steady else FALLS) * curve[best]:
            yield Reason(
                "falls", curve[largest] / curve[best], part=part, size=best, at=largest,
                rate=curve[best],
            )  # fmt: skip


def _differs(group: Group, objects: Sequence[Row]) -> Iterator[Reason]:
    """Objects that are much slower than the others, the slowest first."""
    if group.kind == "memory":
        return  # kernels of several kinds
    usual, slow = _much_slower(objects)
    for row in sorted(slow, key=rate):
        part = row.part or row.name
        yield Reason("differs", rate(row) / usual, part=part, rate=rate(row), line=row.line)


def _much_slower(objects: Sequence[Row]) -> tuple[float, list[Row]]:
    """The rate of the median object, and the objects that are far below it."""
    if _are_two_ways(objects):
        fastest = max(map(rate, objects))
        return fastest, [row for row in objects if rate(row) < MUCH_LOWER * fastest]
    usual = statistics.median(map(rate, objects))
    slow = [row for row in objects if rate(row) < LOWER * usual]
    few = len(objects) >= _FEWEST and len(slow) < len(objects) / 2
    return usual, slow if few and not _by_topology(slow, objects) else []


def _are_two_ways(objects: Sequence[Row]) -> bool:
    """Whether two objects are both ways between one pair of devices."""
    ends = [row.ends for row in objects]
    return len(ends) == _WAYS and bool(ends[0]) and ends[0] == ends[1][::-1]


def _by_topology(slow: Sequence[Row], objects: Sequence[Row]) -> bool:
    """Whether slow pairs may be slow by design: many are, or each device has equally many."""
    if not all(row.ends for row in objects):
        return False
    counts = Counter(end for row in slow for end in row.ends)
    ends = {end for row in objects for end in row.ends}
    regular = len({counts[end] for end in ends}) == 1
    return len(slow) > MOST_SLOW_PAIRS * len(objects) or regular


def other_runs(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Runs that are much slower than another run of the same test on the same card."""
    return [_beside_other_runs(one, judgements) for one in judgements]


def _beside_other_runs(one: Judgement, judgements: Sequence[Judgement]) -> Judgement:
    small = any(reason.kind == "too_small" for reason in one.reasons)
    if one.rate == 0 or one.seconds or small or one.verdict != "unknown":
        return one
    others = [
        other for other in judgements
        if other is not one and other.group.test == one.group.test and not other.seconds
        and other.row.size == one.row.size and other.verdict != "impossible"
        and _same_card(one, other)
    ]  # fmt: skip
    fastest = max(others, key=lambda other: other.rate, default=None)
    if fastest is None or one.rate >= MUCH_LOWER * fastest.rate:
        return one
    reason = Reason(
        "slower_run", one.rate / fastest.rate, part=fastest.group.file, at=fastest.group.run,
        rate=fastest.rate,
    )  # fmt: skip
    return replace(one, verdict="below", reasons=[reason, *one.reasons])


def _same_card(one: Judgement, other: Judgement) -> bool:
    """Whether two figures are of one card: by its address in a text, by its name between texts."""
    if one.group.file == other.group.file:
        return one.group.device == other.group.device
    return one.board is not None and one.board == other.board


def other_way(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Copies that are much slower than those of the other direction in the same log."""
    return [_beside_other_way(one, judgements) for one in judgements]


def _beside_other_way(one: Judgement, judgements: Sequence[Judgement]) -> Judgement:
    as_known = one.known is not None and one.verdict == "normal"
    if one.rate == 0 or one.seconds or as_known or one.verdict in {"below", "impossible"}:
        return one
    others = [
        other for other in judgements
        if {one.group.direction, other.group.direction} == {"h2d", "d2h"} and not other.seconds
        and _alike(one.group) == _alike(other.group) and other.verdict != "impossible"
    ]  # fmt: skip
    fastest = max(others, key=lambda other: other.rate, default=None)
    if fastest is None or one.rate >= MUCH_LOWER * fastest.rate:
        return one
    reason = Reason(
        "slower_way", one.rate / fastest.rate, part=fastest.group.direction, rate=fastest.rate
    )
    return replace(one, verdict="below", reasons=[reason, *one.reasons])


def _alike(group: Group) -> tuple[str, ...]:
    return group.kind, group.engine, group.beside, *group.place, str(group.run)
