"""From logs, a link and references to verdicts.

A group is of one text, device and run. Its figure is that of its slowest object, at the object's
best size of ``LARGE`` or more.

1. A rate of any size above what the link can carry is impossible; so is one above every link of
   the engine.
2. Where only small transfers were measured, the time of one is compared with known times.
3. With known runs of the board (else of its engine, on the same link): normal from ``LOWER`` of the
   slowest run on, below under that. A run that has figures of the log is no reference: it is named.
4. Without: normal from ``GOOD_OF_LOG`` of the limit on, below under ``FAIR``; between, an engine
   may not reach more.
5. Where 3 and 4 say normal, a link that is trained below what the device is capable of is "below".
6. Whatever they say: below where the rate falls with the size, where one object or pair is much
   slower than the others, or where a copy is much slower than that of the other direction or that
   of another run (``shapes``).
7. Without a limit and a reference nothing is judged: the result says what is missing.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from isthmus.importers.base import Log, Row
from isthmus.importers.device_names import kind as kind_of
from isthmus.judging import causes, known, limits, links, shapes
from isthmus.judging.grouping import JUDGED, backend, groups
from isthmus.judging.judgement import (
    Group,
    Judged,
    Judgement,
    Limit,
    Missing,
    Range,
    Reason,
    ReasonKind,
    SameData,
    UnusedLink,
    Verdict,
)
from isthmus.judging.options import Given, contradictions, without_effect
from isthmus.judging.pasted import Pasted, logs_of, names_of, visible
from isthmus.judging.rows import best_of_each, each, rate
from isthmus.references import Reference, board, engine, of_names
from isthmus.references import link as parsed_link
from isthmus.thresholds import (
    FAIR,
    GOOD_CALL,
    GOOD_OF_LOG,
    LARGE,
    LARGE_MESSAGE,
    LOWER,
    POOR_MEMORY,
    SLOW_CALL,
)

_ROUNDED = 1.005
"""Rates above the raw link by less are rounding."""
_TO_HOST = ("copy", "host_memory")
"""Kinds whose limit is the link to the host."""
_NO_PCIE_KNOWN = ("nvbandwidth", "clpeak", "rocm_bandwidth_test")
"""Programs that also measure devices joined to the host by more than PCIe."""
_GPUS = ("cuda", "rocm")
"""Backends of GPUs, whose copies within the device their memory alone limits."""


def judge(
    pasted: Sequence[Pasted],
    board_name: str | None = None,
    link: str | None = None,
    port_gigabits: float = 0.0,
) -> Judged:
    """Judges texts that were pasted; raises UsageError where none has a format that is known."""
    logs, problems = logs_of(pasted)
    given = Given(
        board(board_name) if board_name else None, board_name or "",
        parsed_link(link) if link else None, port_gigabits,
    )  # fmt: skip
    named = of_names([name for log in logs for name in log.names])
    judgements: list[Judgement] = []
    shown: list[Row] = []
    same: dict[SameData, None] = {}
    for log in logs:
        shown += [row for row in log.rows if row.kind not in JUDGED or row.nothing]
        seen = visible(log, logs)
        boards = [given.board] if given.board else of_names(names_of(log, logs))
        for group in groups(log):
            case = _Case(seen, log, group, boards, given)
            judgements.append(replace(case.judged(), board=case.board))
            same |= dict.fromkeys(SameData(log.file, one) for one in case.own)
    judgements = shapes.other_runs(shapes.other_way(judgements))
    unlike = contradictions(given, named, judgements)
    by_file = {log.file: visible(log, logs) for log in logs}
    judgements = [
        causes.explained(one, by_file[one.group.file], judgements, unlike, given)
        for one in judgements
    ]
    missing = dict.fromkeys(
        what for one in judgements if one.verdict == "unknown" for what in one.missing
    )
    return Judged(
        logs=logs, boards=[given.board] if given.board else named, judgements=judgements,
        shown=shown, problems=[*problems, *_unread(logs)], missing=list(missing),
        contradictions=unlike, without_effect=without_effect(given, judgements, unlike),
        same=list(same), unused_links=list(_unused_links(logs)),
    )  # fmt: skip


def _unused_links(logs: Sequence[Log]) -> Iterator[UnusedLink]:
    """Texts that describe links, but not that of a measured card."""
    for described in logs:
        measured = [
            (log, [row for row in log.rows if row.kind in _TO_HOST and not row.nothing])
            for log in logs if described in visible(log, logs)
        ]  # fmt: skip
        yield from links.unused(described, measured, logs)


def _unread(logs: Sequence[Log]) -> Iterator[str]:
    """Lines that could not be read; lines of one fault together."""
    for log in logs:
        lines: dict[str, list[int]] = {}
        for one in log.problems:
            lines.setdefault(one.what, []).append(one.line)
        before = f"{log.file} " if log.file else ""
        for what, numbers in lines.items():
            first = f"line {numbers[0]}" if numbers[0] else ""
            first += f" and {len(numbers) - 1} more" if len(numbers) > 1 else ""
            yield f"{before}{first}: {what}" if first else f"{before}{what}"


class _Found(NamedTuple):
    """A verdict with its reasons."""

    verdict: Verdict
    reasons: Sequence[Reason]
    known: Range | None = None
    missing: Sequence[Missing] = ()


class _Case:
    """One group, and all that is known of where it was measured."""

    def __init__(
        self,
        logs: Sequence[Log],
        log: Log,
        group: Group,
        boards: Sequence[Reference],
        given: Given,
    ) -> None:
        self.logs, self.log, self.group, self.given = logs, log, group, given
        self.board = _board_of(log, group, boards)
        names = log.engines or ([self.board.engine] if self.board and self.board.engine else [])
        self.engines = [one for one in map(engine, names) if one]
        references = [one for one in (self.board, *self.engines) if one]
        self.own = known.own_sources(log, references)
        copies = [row for row in log.rows if row.kind == "copy" and not row.nothing]
        self.fastest_copy = max(map(rate, copies), default=0.0)

    def judged(self) -> Judgement:
        """The verdict, without causes."""
        if self.log.emulated:
            return self._unjudged("emulated")
        if any(row.fault for row in self.group.rows):
            return replace(self._unjudged("faulty"), verdict="impossible")
        if self._without_link():
            return self._unjudged("no_link")
        if above := self._above():
            return above
        least = LARGE_MESSAGE if self.group.kind == "network" else LARGE
        large = [
            row for row in self.group.rows
            if row.rates() and (row.size is None or row.size >= least)
        ]  # fmt: skip
        if not large:
            return self._small()
        objects = best_of_each(large)
        slowest, fastest = min(objects, key=rate), max(map(rate, objects))
        limit = self._limit(fastest)
        found = self._cached(fastest, limit) or self._compared(slowest, limit)
        unlike = shapes.shape(self.group, objects) if found.verdict != "impossible" else []
        return Judgement(
            self.group, rate(slowest), fastest, slowest, "below" if unlike else found.verdict,
            [*unlike, *found.reasons], limit, found.known,
            rate(slowest) / limit.value if limit else None, missing=found.missing,
        )  # fmt: skip

    def _unjudged(self, reason: ReasonKind, missing: Sequence[Missing] = ()) -> Judgement:
        row = max(self.group.rows, key=lambda one: (rate(one), one.size or 0))
        seconds = each(row) if row.seconds() else 0.0
        return Judgement(
            self.group, rate(row), rate(row), row, "unknown", [Reason(reason)], seconds=seconds,
            missing=missing,
        )  # fmt: skip

    def _without_link(self) -> bool:
        """Whether the device is a processor, or shares the host's memory."""
        if self.group.kind not in (*_TO_HOST, "memory"):
            return False
        names = {one.address: one.name for one in self.log.devices}
        kind = kind_of(names.get(self.group.rows[0].device, ""))
        shared = self.board and self.board.memory and self.board.memory.shared_with_host
        within = kind == "integrated" or bool(shared and self.group.kind == "copy")
        return kind == "cpu" or (within and self.given.link is None)

    def _above(self) -> Judgement | None:
        """Impossible, where a figure of any size is above what the link can carry."""
        rated = [row for row in self.group.rows if row.rates()]
        if not rated or self.group.kind in {"memory", "on_card"}:
            return None
        row = max(rated, key=rate)
        limit = self._limit(rate(row))
        found = self._impossible(rate(row), limit)
        if found is None:
            return None
        reasons = [replace(one, size=row.size or 0) for one in found.reasons]
        share = rate(row) / limit.value if limit else None
        return Judgement(
            self.group, rate(row), rate(row), row, found.verdict, reasons, limit, share=share
        )

    def _limit(self, fastest: float) -> Limit | None:
        kind, ways = self.group.kind, limits.ways_of(self.group)
        if kind in _TO_HOST:
            fact = links.fact_of(self.logs, links.cards_of(self.log, self.group.rows))
            found = limits.of_link(fact, self.board, self.given.link, ways)
            return found or limits.only_link(self.engines, self.fastest_copy, ways)
        if kind == "memory":
            return limits.of_memory(self.board)
        if kind == "on_card":
            gpu = backend(self.group.rows[0].device) in _GPUS
            return limits.of_copies_within(self.board) if gpu else None
        return self._limit_between(fastest, ways)

    def _limit_between(self, fastest: float, ways: int) -> Limit | None:
        """The limit between ranks or devices."""
        kind = self.group.kind
        if kind == "network" and self.given.port_gigabits:
            return limits.of_port(self.given.port_gigabits, ways)
        if kind == "collective" and self._several_hosts and self.given.port_gigabits:
            return limits.of_ports(self.given.port_gigabits)
        on_one_host = kind == "collective" and not self._several_hosts
        if kind == "peer" or on_one_host or (kind == "network" and self._between_devices()):
            return limits.of_peers(self.board, fastest)
        return None

    @property
    def _several_hosts(self) -> bool:
        return self.log.facts.get("hosts", "1") != "1"

    def _between_devices(self) -> bool:
        return all(row.ends == ("D", "D") for row in self.group.rows)

    def _impossible(self, fastest: float, limit: Limit | None) -> _Found | None:
        """Whether a rate cannot be true."""
        if limit and fastest > _ROUNDED * limit.raw:
            return _Found("impossible", [Reason("above_limit", fastest / limit.raw)])
        joined = self.log.tool in _NO_PCIE_KNOWN and not self.engines
        if limit is None and self.group.kind in _TO_HOST and not joined:
            most = limits.ceiling(self.board, self.engines, limits.ways_of(self.group))
            if most and fastest > _ROUNDED * most.raw:
                reason = Reason("above_any_link", fastest / most.raw, part=most.source)
                return _Found("impossible", [reason])
        return None

    def _cached(self, fastest: float, limit: Limit | None) -> _Found | None:
        """Unknown, where a rate is above that of the device's memory: a cache is faster."""
        if limit and fastest > _ROUNDED * limit.raw and self.group.kind in {"memory", "on_card"}:
            return _Found("unknown", [Reason("not_comparable")])
        return None

    def _compared(self, row: Row, limit: Limit | None) -> _Found:
        """The verdict from known runs, else from the share of the limit.

        Below only where the start-up of a call, which the time of a single transfer has, too, does
        not explain it.
        """
        found = self._by_rate(row, rate(row), limit)
        if found.verdict != "below" or not (row.timed and self.group.kind == "copy"):
            return found
        start_up = known.start_up(self.engines, self.own)
        left = each(row) - start_up
        without = (row.size or 0) / left if left > 0 else math.inf
        if self._by_rate(row, without, limit).verdict == "below":
            return found
        reason = Reason("start_up", size=row.size or 0, seconds=start_up)
        return _Found("unknown", [reason], found.known, ("large",))

    def _by_rate(self, row: Row, value: float, limit: Limit | None) -> _Found:
        runs = known.rates(self.group, self.board, self.engines, limit, self.own)
        if runs:
            share = value / runs.least
            if share < LOWER:
                return _Found("below", [Reason("below_known", share)], runs)
            return self._as_trained(limit, _Found("normal", [Reason("as_known", share)], runs))
        if limit is None or (self.group.beside and self.group.kind == "peer"):
            kind: ReasonKind = "same_data" if self.own else "no_limit"
            return _Found("unknown", [Reason(kind)], None, self._missing())
        share = value / limit.value
        good, poor = self._thresholds(row)
        if share >= good:
            return self._as_trained(limit, _Found("normal", [Reason("fills", share)]))
        if share < poor:
            return _Found("below", [Reason("low_share", share)])
        return _Found("unknown", [Reason("middle_share", share)])

    def _thresholds(self, row: Row) -> tuple[float, float]:
        """Shares of the limit from which a rate is normal, and under which it is below."""
        if self.group.kind in _TO_HOST:
            return GOOD_CALL if row.initiator == "cpu" else GOOD_OF_LOG, FAIR
        return GOOD_OF_LOG, POOR_MEMORY if self.group.kind in {"memory", "on_card"} else 0.0

    def _as_trained(self, limit: Limit | None, found: _Found) -> _Found:
        """Below, where the link is trained below what the device is capable of."""
        fact = limit.fact if limit else None
        if fact is None or fact.capable is None or self.given.link or 0 in fact.capable:
            return found
        generation = fact.capable[0] if fact.idle else fact.generation
        now = parsed_link(f"gen{generation}x{fact.lanes}").raw
        able = parsed_link(f"gen{fact.capable[0]}x{fact.capable[1]}").raw
        if now >= able:
            return found
        reason = Reason("lesser_link", now / able)
        return _Found("below", [reason, *found.reasons], found.known)

    def _missing(self) -> tuple[Missing, ...]:
        if self.group.kind == "network" and not self._between_devices():
            return ("network",)
        if self.group.kind == "collective" and self._several_hosts:
            return ("ports",)
        if self.group.kind in _TO_HOST:
            return ("link",)
        if self.board and self.group.kind != "network":
            return ("reference",)
        gpus = backend(self.group.rows[0].device) in (*_GPUS, "nccl")
        if self.group.kind == "network":  # between two GPUs of one machine, or of two
            return "gpu", "network"
        return ("gpu",) if gpus else ("board",)

    # Small transfers

    def _small(self) -> Judgement:
        rows = [row for row in self.group.rows if row.seconds() and row.size]
        if not rows:
            return self._unjudged("too_small" if self.group.rows[0].size else "no_limit")
        if self.group.kind == "network" and not any(row.timed for row in rows):
            # many are under way at once: the rate says no time of one
            return replace(self._unjudged("too_small", ["messages"]), seconds=0.0)
        largest = max(row.size or 0 for row in rows)
        same = [row for row in rows if row.size == largest]
        seconds = statistics.median(map(each, same))
        row = min(same, key=lambda one: abs(each(one) - seconds))
        basis = replace(
            self._unjudged("latency_unknown"), row=row, rate=rate(row),
            fastest=max(map(rate, same)), seconds=seconds,
        )  # fmt: skip
        runs = known.times(self.group, largest, self.board, self.engines, self.own)
        if runs is None:
            what: tuple[Missing, ...] = ("large",) if self.group.kind == "copy" else ()
            unknown: ReasonKind = "same_data" if self.own else "latency_unknown"
            reason = Reason(unknown, seconds=seconds, size=largest)
            return replace(basis, reasons=[reason], missing=what)
        normal = seconds <= SLOW_CALL * runs.most
        kind: Literal["latency_as_known", "latency_slow"] = (
            "latency_as_known" if normal else "latency_slow"
        )
        reason = Reason(kind, seconds / runs.most, size=largest, seconds=seconds)
        verdict: Verdict = "normal" if normal else "below"
        return replace(basis, verdict=verdict, reasons=[reason], known=runs)


def _board_of(log: Log, group: Group, boards: Sequence[Reference]) -> Reference | None:
    """The board of a group's device; None where several may be meant."""
    if len(boards) <= 1:
        return next(iter(boards), None)
    named = {one.address: one.name for one in log.devices}
    found = {b.name: b for row in group.rows for b in boards if b.fits(named.get(row.device, ""))}
    return next(iter(found.values())) if len(found) == 1 else None
