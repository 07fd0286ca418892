"""Finds rates that are low beside other sizes, objects, directions or runs in the logs."""

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
"""Largest share of slow pairs that is a fault: with more, GPUs form two groups by design."""
_WAYS = 2
"""Number of directions between two devices."""
_FEWEST = 3
"""Least number of sizes in a curve, and of objects whose median counts."""


def shape(group: Group, objects: Sequence[Row]) -> list[Reason]:
    """Returns reasons: a rate that falls with the size, objects much slower than others."""
    return [*_falls(group), *_differs(group, objects)]


def _falls(group: Group) -> Iterator[Reason]:
    """Yields a reason if the rate is much lower at the largest size than at the best size."""
    for part, ends in dict.fromkeys((row.part, row.ends) for row in group.rows):
        curve: dict[int, float] = {}
        for row in group.rows:
            if row.part == part and row.size and row.rates():
                curve[row.size] = max(curve.get(row.size, 0.0), rate(row))
        within_caches = group.kind == "network" and "D" not in ends
        if len(curve) < _FEWEST or within_caches:
            continue  # between host buffers, rates fall when the buffers exceed the caches
        largest, best = max(curve), max(curve, key=lambda size: curve[size])
        steady = group.kind == "copy" and best >= LARGE
        if curve[largest] < (LOWER if steady else FALLS) * curve[best]:
            yield Reason(
                "falls", curve[largest] / curve[best], part=part, size=best, at=largest,
                rate=curve[best],
            )  # fmt: skip


def _differs(group: Group, objects: Sequence[Row]) -> Iterator[Reason]:
    """Yields a reason for each object that is much slower than the others, the slowest first."""
    if group.kind == "memory":
        return  # objects of this group are different kernels
    usual, slow = _much_slower(objects)
    for row in sorted(slow, key=rate):
        part = row.part or row.name
        yield Reason("differs", rate(row) / usual, part=part, rate=rate(row), line=row.line)


def _much_slower(objects: Sequence[Row]) -> tuple[float, list[Row]]:
    """Returns the usual rate of an object, and the objects that are far below that rate."""
    if _are_two_ways(objects):
        fastest = max(map(rate, objects))
        return fastest, [row for row in objects if rate(row) < MUCH_LOWER * fastest]
    usual = statistics.median(map(rate, objects))
    slow = [row for row in objects if rate(row) < LOWER * usual]
    few = len(objects) >= _FEWEST and len(slow) < len(objects) / 2
    return usual, slow if few and not _by_topology(slow, objects) else []


def _are_two_ways(objects: Sequence[Row]) -> bool:
    """Whether two objects are the two directions between the same devices."""
    ends = [row.ends for row in objects]
    return len(ends) == _WAYS and bool(ends[0]) and ends[0] == ends[1][::-1]


def _by_topology(slow: Sequence[Row], objects: Sequence[Row]) -> bool:
    """Whether pairs may be slow by design: many are, or equally many pairs of each device."""
    if not all(row.ends for row in objects):
        return False
    counts = Counter(end for row in slow for end in row.ends)
    ends = {end for row in objects for end in row.ends}
    regular = len({counts[end] for end in ends}) == 1
    return len(slow) > MOST_SLOW_PAIRS * len(objects) or regular


def other_runs(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Makes a judgement "below" if another run on the same card is much faster."""
    return [_beside_other_runs(judgement, judgements) for judgement in judgements]


def _beside_other_runs(judgement: Judgement, judgements: Sequence[Judgement]) -> Judgement:
    small = any(reason.kind == "too_small" for reason in judgement.reasons)
    if judgement.rate == 0 or judgement.seconds or small or judgement.verdict != "unknown":
        return judgement
    others = [
        other for other in judgements
        if other is not judgement and other.group.test == judgement.group.test and not other.seconds
        and other.row.size == judgement.row.size and other.verdict != "impossible"
        and _same_card(judgement, other)
    ]  # fmt: skip
    fastest = max(others, key=lambda other: other.rate, default=None)
    if fastest is None or judgement.rate >= MUCH_LOWER * fastest.rate:
        return judgement
    reason = Reason(
        "slower_run", judgement.rate / fastest.rate, part=fastest.group.file, at=fastest.group.run,
        rate=fastest.rate,
    )  # fmt: skip
    return replace(judgement, verdict="below", reasons=[reason, *judgement.reasons])


def _same_card(judgement: Judgement, other: Judgement) -> bool:
    """Whether two figures are of one card: by address in one text, by board in two texts."""
    if judgement.group.file == other.group.file:
        return judgement.group.device == other.group.device
    return judgement.board is not None and judgement.board == other.board


def other_way(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Makes a judgement on a copy "below" if the other direction in its log is much faster."""
    return [_beside_other_way(judgement, judgements) for judgement in judgements]


def _beside_other_way(judgement: Judgement, judgements: Sequence[Judgement]) -> Judgement:
    as_known = judgement.known is not None and judgement.verdict == "normal"
    decided = as_known or judgement.verdict in {"below", "impossible"}
    if judgement.rate == 0 or judgement.seconds or decided:
        return judgement
    others = [
        other for other in judgements
        if {judgement.group.direction, other.group.direction} == {"h2d", "d2h"}
        and not other.seconds and other.verdict != "impossible"
        and _alike(judgement.group) == _alike(other.group)
    ]  # fmt: skip
    fastest = max(others, key=lambda other: other.rate, default=None)
    if fastest is None or judgement.rate >= MUCH_LOWER * fastest.rate:
        return judgement
    reason = Reason(
        "slower_way", judgement.rate / fastest.rate, part=fastest.group.direction, rate=fastest.rate
    )
    return replace(judgement, verdict="below", reasons=[reason, *judgement.reasons])


def _alike(group: Group) -> tuple[str, ...]:
    return group.kind, group.engine, group.beside, *group.place, str(group.run)
