"""What healthy boards are known to reach, for one group of rows.

A run that has the very figures of the log is the log itself, and so no reference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from isthmus.importers.base import UNITS, Log, Row
from isthmus.judging import limits
from isthmus.judging.judgement import Group, Limit, Range
from isthmus.references import Known, Reference
from isthmus.references import link as parsed_link
from isthmus.thresholds import SMALL
from isthmus.units import parse_size

SAME = 2e-4
"""Relative difference up to which a figure is the known run's own."""
_TELLING_DIGITS = 4
"""Digits from which a single figure tells a run; with fewer, both ends of a range must agree."""
LIKE_SIZE = 16.0
"""Ratio of sizes up to which the time of a larger transfer bounds that of a smaller one."""
LIKE_SMALLER = 4.0
"""The same for the time of a smaller known transfer, which says less."""
_OTHER_LINK = 0.01
"""Relative difference from which two links are not the same."""


def own_sources(log: Log, references: Sequence[Reference]) -> frozenset[str]:
    """Sources of known runs that have the figures of this log: they are the log itself."""
    rows = [*log.rows, *log.details]
    return frozenset(
        one.source for reference in references for one in reference.known if _is_of(one, rows)
    )


def _is_of(known: Known, rows: Sequence[Row]) -> bool:
    """Whether rows have a telling end of a known range, or both ends as they are rounded."""
    alike = [
        row for row in rows
        if row.kind == ("copy" if known.quantity == "call" else known.quantity)
        and row.direction == (known.direction or row.direction)
    ]  # fmt: skip
    if known.quantity == "call":
        values = [second / UNITS[known.unit] for row in alike for second in row.seconds()]
    else:
        values = [rate / UNITS[known.unit] for row in alike for rate in row.rates()]
    ends = {known.low, known.high}
    telling = [one for one in (*ends, *known.also) if len(_digits(one)) >= _TELLING_DIGITS]
    if any(abs(value / one - 1) < SAME for value in values for one in telling):
        return True
    return len(ends) > 1 and all(
        any(round(value, _decimals(one)) == one for value in values) for one in ends
    )


def _digits(value: float) -> str:
    """Significant digits of a figure as its source gives it: ``29265`` of 29.265."""
    return repr(value).replace(".", "").strip("0")


def _decimals(value: float) -> int:
    return len(repr(value).rstrip("0").partition(".")[2])


def rates(
    group: Group, board: Reference | None, engines: Sequence[Reference], limit: Limit | None,
    own: Collection[str],
) -> Range | None:  # fmt: skip
    """Known rates of the board, else of an engine; None where nothing is known.

    ``own``: sources that are the log itself.
    """
    found = (_rates(group, one, limit, own) for one in (board, *engines) if one)
    return next((one for one in found if one), None)


def _rates(
    group: Group, reference: Reference, limit: Limit | None, own: Collection[str]
) -> Range | None:
    if group.beside:
        return None
    fitting = [
        one for one in reference.known
        if (one.quantity, one.direction) == (group.kind, group.direction) and not one.size
        and one.engine in {"", group.engine} and one.memory in {"", group.memory}
        and one.source not in own
    ]  # fmt: skip
    fitting = [one for one in fitting if one.memory] or fitting
    scaled = [(one, _factor(group, reference, one, limit)) for one in fitting]
    usable = [(one, factor) for one, factor in scaled if 0 < factor < 1 + _OTHER_LINK]
    exact = [(one, factor) for one, factor in usable if factor > 1 - _OTHER_LINK]
    usable = exact or usable
    if not usable:
        return None
    slowest, factor = min(usable, key=lambda pair: pair[0].least * pair[1])
    most = max(one.most * of_one for one, of_one in usable)
    return Range(
        slowest.least * factor, most, len(usable), reference.title, slowest.cited, not exact
    )


def _factor(group: Group, reference: Reference, known: Known, limit: Limit | None) -> float:
    """Ratio of this link to the known run's; 0 where it is an engine's and the link unknown."""
    link = known.link or reference.link.pcie
    if group.kind not in {"copy", "host_memory"} or not link:
        return 1.0
    if limit is None:
        return 0.0 if reference.kind == "engine" else 1.0
    if not limit.pcie:
        return 1.0
    return limit.raw / limits.ways_of(group) / parsed_link(link).raw


def times(
    group: Group, size: int, board: Reference | None, engines: Sequence[Reference],
    own: Collection[str],
) -> Range | None:  # fmt: skip
    """Known times of one transfer of about this size, or of more; of calls, the last engine's.

    A time in the log is one of a single transfer: a board's small rates are of many at once.
    """
    if group.kind != "copy":
        return None
    single = all(row.timed for row in group.rows)
    order = (*reversed(engines), board) if single else (board, *reversed(engines))
    for reference in filter(None, order):
        found = list(_times(group, size, reference, own))
        if found:
            nearest = min(ratio for ratio, *_ in found)
            of_size = [one for one in found if one[0] == nearest]
            return Range(
                min(one[1] for one in of_size), max(one[2] for one in of_size), len(of_size),
                reference.title, of_size[0][3],
            )  # fmt: skip
    return None


def start_up(engines: Sequence[Reference], own: Collection[str]) -> float:
    """Seconds that a small transfer of the last engine takes at most; 0 where that is unknown."""
    for reference in reversed(engines):
        calls = [
            one.most for one in reference.known
            if one.quantity == "call" and one.source not in own
        ]  # fmt: skip
        if calls:
            return max(calls)
    return 0.0


def _times(
    group: Group, size: int, reference: Reference, own: Collection[str]
) -> Iterator[tuple[float, float, float, str]]:
    """Ratio of sizes, least and most seconds, and source of each known time that fits."""
    for one in reference.known:
        if not one.size or one.source in own:
            continue
        known_size = parse_size(one.size)
        if one.quantity == "call":
            least, most = one.least, one.most
        elif (one.quantity, one.direction) == ("copy", group.direction):
            least, most = known_size / one.most, known_size / one.least
        else:
            continue
        ratio = max(size, known_size) / min(size, known_size)
        near = ratio <= (LIKE_SIZE if known_size >= size else LIKE_SMALLER)
        if near or max(size, known_size) <= SMALL:
            yield ratio, least, most, one.cited
