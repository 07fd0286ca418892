"""Finds known runs of healthy boards with which a group of rows is compared.

A log is not compared with a known run that has the log's figures: both are the same run.
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
"""Largest relative difference at which a figure of a log counts as that of a known run."""
_ENOUGH_DIGITS = 4
"""Least digits with which one figure identifies a known run; else both ends have to agree."""
LIKE_SIZE = 16.0
"""Largest ratio of sizes at which a time is compared with the known time of a larger transfer."""
LIKE_SMALLER = 4.0
"""Largest ratio of sizes at which a time is compared with that of a smaller known transfer."""
_OTHER_LINK = 0.01
"""Least relative difference of rates by which two links count as different."""


def own_sources(log: Log, references: Sequence[Reference]) -> frozenset[str]:
    """Sources of known runs that have the figures of this log."""
    rows = [*log.rows, *log.details]
    return frozenset(
        run.source for reference in references for run in reference.known if _is_of(run, rows)
    )


def _is_of(run: Known, rows: Sequence[Row]) -> bool:
    """Whether rows have a known run's figure with enough digits, or both ends of its range."""
    alike = [
        row for row in rows
        if row.kind == ("copy" if run.quantity == "call" else run.quantity)
        and row.direction == (run.direction or row.direction)
    ]  # fmt: skip
    if run.quantity == "call":
        values = [second / UNITS[run.unit] for row in alike for second in row.seconds()]
    else:
        values = [rate / UNITS[run.unit] for row in alike for rate in row.rates()]
    ends = {run.low, run.high}
    precise = [figure for figure in (*ends, *run.also) if len(_digits(figure)) >= _ENOUGH_DIGITS]
    if any(abs(value / figure - 1) < SAME for value in values for figure in precise):
        return True
    return len(ends) > 1 and all(
        any(round(value, _decimals(end)) == end for value in values) for end in ends
    )


def _digits(value: float) -> str:
    """Significant digits of a figure, as its source prints them: ``29265`` of 29.265."""
    return repr(value).replace(".", "").strip("0")


def _decimals(value: float) -> int:
    return len(repr(value).rstrip("0").partition(".")[2])


def rates(
    group: Group, board: Reference | None, engines: Sequence[Reference], limit: Limit | None,
    own: Collection[str],
) -> Range | None:  # fmt: skip
    """Range of known rates of the board, or else of an engine; None if no rate is known.

    ``own``: sources of known runs to leave out, because the log is the same run.
    """
    ranges = (_rates(group, reference, limit, own) for reference in (board, *engines) if reference)
    return next(filter(None, ranges), None)


def _rates(
    group: Group, reference: Reference, limit: Limit | None, own: Collection[str]
) -> Range | None:
    if group.beside:
        return None
    fitting = [
        run for run in reference.known
        if (run.quantity, run.direction) == (group.kind, group.direction) and not run.size
        and run.engine in {"", group.engine} and run.memory in {"", group.memory}
        and run.source not in own
    ]  # fmt: skip
    fitting = [run for run in fitting if run.memory] or fitting
    scaled = [(run, _factor(group, reference, run, limit)) for run in fitting]
    usable = [(run, factor) for run, factor in scaled if 0 < factor < 1 + _OTHER_LINK]
    exact = [(run, factor) for run, factor in usable if factor > 1 - _OTHER_LINK]
    usable = exact or usable
    if not usable:
        return None
    slowest, factor = min(usable, key=lambda pair: pair[0].least * pair[1])
    most = max(run.most * factor_of_run for run, factor_of_run in usable)
    return Range(
        slowest.least * factor, most, len(usable), reference.title, slowest.cited, not exact
    )


def _factor(group: Group, reference: Reference, run: Known, limit: Limit | None) -> float:
    """Rate of this link divided by the known run's link; 0 for an engine without a known limit."""
    link = run.link or reference.link.pcie
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
    """Range of known seconds of one transfer of about this size; None if no time is known.

    If the log times single transfers, times of the engines come first, from the last engine. The
    board's times may be those of many transfers at once.
    """
    if group.kind != "copy":
        return None
    single = all(row.timed for row in group.rows)
    order = (*reversed(engines), board) if single else (board, *reversed(engines))
    for reference in filter(None, order):
        candidates = list(_times(group, size, reference, own))
        if candidates:
            nearest = min(ratio for ratio, *_ in candidates)
            of_size = [candidate for candidate in candidates if candidate[0] == nearest]
            _, least, most, sources = zip(*of_size, strict=True)
            return Range(min(least), max(most), len(of_size), reference.title, sources[0])
    return None


def start_up(engines: Sequence[Reference], own: Collection[str]) -> float:
    """Longest known seconds of a small transfer by the last engine that has any; 0 if none has."""
    for reference in reversed(engines):
        calls = [
            run.most for run in reference.known
            if run.quantity == "call" and run.source not in own
        ]  # fmt: skip
        if calls:
            return max(calls)
    return 0.0


def _times(
    group: Group, size: int, reference: Reference, own: Collection[str]
) -> Iterator[tuple[float, float, float, str]]:
    """Yields comparable known times: ratio of sizes, least and most seconds, and source."""
    for run in reference.known:
        if not run.size or run.source in own:
            continue
        known_size = parse_size(run.size)
        if run.quantity == "call":
            least, most = run.least, run.most
        elif (run.quantity, run.direction) == ("copy", group.direction):
            least, most = known_size / run.most, known_size / run.least
        else:
            continue
        ratio = max(size, known_size) / min(size, known_size)
        near = ratio <= (LIKE_SIZE if known_size >= size else LIKE_SMALLER)
        if near or max(size, known_size) <= SMALL:
            yield ratio, least, most, run.cited
