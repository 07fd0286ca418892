"""Decides the verdict on each group of rows from logs, limits and known runs.

A group has one text, device and run. Its figure is the rate of its slowest object, at the object's
best size of ``LARGE`` or more.

1. A rate above what the link can carry is "impossible", at any size. So is a rate above every link
   of the engine.
2. If only small transfers were measured, the time of one transfer is compared with known times.
3. With known runs of the board, else of its engine: "normal" from ``LOWER`` of the slowest run on,
   else "below". A known run with the figures of the log is not compared, but named.
4. Without known runs: "normal" from ``GOOD_OF_LOG`` of the limit on, "below" under ``FAIR``, else
   "unknown", because some engines do not reach more.
5. A group that 3 or 4 call "normal" is "below" if its link is trained slower or narrower than the
   device allows.
6. A group is always "below" if its rate falls with the size, if an object is much slower than the
   others, or if it is much slower than the other direction or another run (``shapes``).
7. Without a limit and a reference there is no verdict: the result says what is missing.
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
from isthmus.judging.options import Options, contradictions, without_effect
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
"""Largest ratio of a rate to the link's raw rate that rounding of printed figures explains."""
_TO_HOST = ("copy", "host_memory")
"""Kinds of groups whose limit is the link to the host."""
_NO_PCIE_KNOWN = ("nvbandwidth", "clpeak", "rocm_bandwidth_test")
"""Programs that also measure devices that more than PCIe joins to the host."""
_GPUS = ("cuda", "rocm")
"""Backends of GPUs: for other backends, memory does not limit copies within the device."""


def judge(
    pasted: Sequence[Pasted],
    board_name: str | None = None,
    link: str | None = None,
    port_gigabits: float = 0.0,
) -> Judged:
    """Judges texts; raises UsageError if none of them has a known format."""
    logs, problems = logs_of(pasted)
    options = Options(
        board(board_name) if board_name else None, board_name or "",
        parsed_link(link) if link else None, port_gigabits,
    )  # fmt: skip
    named = of_names([name for log in logs for name in log.names])
    judgements: list[Judgement] = []
    shown: list[Row] = []
    same: dict[SameData, None] = {}
    for log in logs:
        shown += [row for row in log.rows if row.kind not in JUDGED or row.nothing]
        described_by = visible(log, logs)
        boards = [options.board] if options.board else of_names(names_of(log, logs))
        for group in groups(log):
            case = _Case(described_by, log, group, boards, options)
            judgements.append(replace(case.judged(), board=case.board))
            same |= dict.fromkeys(SameData(log.file, source) for source in case.own)
    judgements = shapes.other_runs(shapes.other_way(judgements))
    unlike = contradictions(options, named, judgements)
    by_file = {log.file: visible(log, logs) for log in logs}
    judgements = [
        causes.explained(judgement, by_file[judgement.group.file], judgements, unlike, options)
        for judgement in judgements
    ]
    missing = dict.fromkeys(
        what for case in judgements if case.verdict == "unknown" for what in case.missing
    )
    return Judged(
        logs=logs, boards=[options.board] if options.board else named, judgements=judgements,
        shown=shown, problems=[*problems, *_unread(logs)], missing=list(missing),
        contradictions=unlike, without_effect=without_effect(options, judgements, unlike),
        same=list(same), unused_links=list(_unused_links(logs)),
    )  # fmt: skip


def _unused_links(logs: Sequence[Log]) -> Iterator[UnusedLink]:
    """Yields texts that describe links, but not the link of every measured card."""
    for described in logs:
        measured = [
            (log, [row for row in log.rows if row.kind in _TO_HOST and not row.nothing])
            for log in logs if described in visible(log, logs)
        ]  # fmt: skip
        yield from links.unused(described, measured, logs)


def _unread(logs: Sequence[Log]) -> Iterator[str]:
    """Yields a sentence for each kind of fault in lines that could not be read."""
    for log in logs:
        lines: dict[str, list[int]] = {}
        for problem in log.problems:
            lines.setdefault(problem.what, []).append(problem.line)
        before = f"{log.file} " if log.file else ""
        for what, numbers in lines.items():
            first = f"line {numbers[0]}" if numbers[0] else ""
            first += f" and {len(numbers) - 1} more" if len(numbers) > 1 else ""
            yield f"{before}{first}: {what}" if first else f"{before}{what}"


class _Decision(NamedTuple):
    """A verdict with its reasons, and what a certain verdict would need."""

    verdict: Verdict
    reasons: Sequence[Reason]
    known: Range | None = None
    missing: Sequence[Missing] = ()


class _Case:
    """A group with the facts that decide its verdict."""

    def __init__(
        self,
        logs: Sequence[Log],
        log: Log,
        group: Group,
        boards: Sequence[Reference],
        options: Options,
    ) -> None:
        self.logs, self.log, self.group, self.options = logs, log, group, options
        self.board = _board_of(log, group, boards)
        names = log.engines or ([self.board.engine] if self.board and self.board.engine else [])
        self.engines = list(filter(None, map(engine, names)))
        references = list(filter(None, (self.board, *self.engines)))
        self.own = known.own_sources(log, references)
        copies = [row for row in log.rows if row.kind == "copy" and not row.nothing]
        self.fastest_copy = max(map(rate, copies), default=0.0)

    def judged(self) -> Judgement:
        """Makes the judgement of the group, without its causes."""
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
        decision = self._cached(fastest, limit) or self._compared(slowest, limit)
        unlike = shapes.shape(self.group, objects) if decision.verdict != "impossible" else []
        return Judgement(
            self.group, rate(slowest), fastest, slowest, "below" if unlike else decision.verdict,
            [*unlike, *decision.reasons], limit, decision.known,
            rate(slowest) / limit.value if limit else None, missing=decision.missing,
        )  # fmt: skip

    def _unjudged(self, reason: ReasonKind, missing: Sequence[Missing] = ()) -> Judgement:
        row = max(self.group.rows, key=lambda candidate: (rate(candidate), candidate.size or 0))
        seconds = each(row) if row.seconds() else 0.0
        return Judgement(
            self.group, rate(row), rate(row), row, "unknown", [Reason(reason)], seconds=seconds,
            missing=missing,
        )  # fmt: skip

    def _without_link(self) -> bool:
        """Whether no link limits copies: the device is a processor, or shares the host's memory."""
        if self.group.kind not in (*_TO_HOST, "memory"):
            return False
        names = {device.address: device.name for device in self.log.devices}
        kind = kind_of(names.get(self.group.rows[0].device, ""))
        shared = self.board and self.board.memory and self.board.memory.shared_with_host
        within = kind == "integrated" or bool(shared and self.group.kind == "copy")
        return kind == "cpu" or (within and self.options.link is None)

    def _above(self) -> Judgement | None:
        """The verdict "impossible" if a figure of any size exceeds the link; else None."""
        rated = [row for row in self.group.rows if row.rates()]
        if not rated or self.group.kind in {"memory", "on_card"}:
            return None
        row = max(rated, key=rate)
        limit = self._limit(rate(row))
        decision = self._impossible(rate(row), limit)
        if decision is None:
            return None
        reasons = [replace(reason, size=row.size or 0) for reason in decision.reasons]
        share = rate(row) / limit.value if limit else None
        return Judgement(
            self.group, rate(row), rate(row), row, decision.verdict, reasons, limit, share=share
        )

    def _limit(self, fastest: float) -> Limit | None:
        kind, ways = self.group.kind, limits.ways_of(self.group)
        if kind in _TO_HOST:
            fact = links.fact_of(self.logs, links.cards_of(self.log, self.group.rows))
            limit = limits.of_link(fact, self.board, self.options.link, ways)
            return limit or limits.only_link(self.engines, self.fastest_copy, ways)
        if kind == "memory":
            return limits.of_memory(self.board)
        if kind == "on_card":
            gpu = backend(self.group.rows[0].device) in _GPUS
            return limits.of_copies_within(self.board) if gpu else None
        return self._limit_between(fastest, ways)

    def _limit_between(self, fastest: float, ways: int) -> Limit | None:
        kind = self.group.kind
        if kind == "network" and self.options.port_gigabits:
            return limits.of_port(self.options.port_gigabits, ways)
        if kind == "collective" and self._several_hosts and self.options.port_gigabits:
            return limits.of_ports(self.options.port_gigabits)
        on_one_host = kind == "collective" and not self._several_hosts
        if kind == "peer" or on_one_host or (kind == "network" and self._between_devices()):
            return limits.of_peers(self.board, fastest)
        return None

    @property
    def _several_hosts(self) -> bool:
        return self.log.facts.get("hosts", "1") != "1"

    def _between_devices(self) -> bool:
        return all(row.ends == ("D", "D") for row in self.group.rows)

    def _impossible(self, fastest: float, limit: Limit | None) -> _Decision | None:
        """The decision "impossible" if a rate cannot be true; else None."""
        if limit and fastest > _ROUNDED * limit.raw:
            return _Decision("impossible", [Reason("above_limit", fastest / limit.raw)])
        joined = self.log.tool in _NO_PCIE_KNOWN and not self.engines
        if limit is None and self.group.kind in _TO_HOST and not joined:
            most = limits.ceiling(self.board, self.engines, limits.ways_of(self.group))
            if most and fastest > _ROUNDED * most.raw:
                reason = Reason("above_any_link", fastest / most.raw, source=most.source)
                return _Decision("impossible", [reason])
        return None

    def _cached(self, fastest: float, limit: Limit | None) -> _Decision | None:
        """The decision "unknown" if a rate exceeds the memory's, as from a cache; else None."""
        if limit and fastest > _ROUNDED * limit.raw and self.group.kind in {"memory", "on_card"}:
            return _Decision("unknown", [Reason("not_comparable")])
        return None

    def _compared(self, row: Row, limit: Limit | None) -> _Decision:
        """Decides by known runs, or else by the share of the limit.

        The time of a single transfer includes the start-up of the call. Such a transfer is "below"
        only if its rate without the start-up is also low.
        """
        decision = self._by_rate(row, rate(row), limit)
        if decision.verdict != "below" or not (row.timed and self.group.kind == "copy"):
            return decision
        start_up = known.start_up(self.engines, self.own)
        left = each(row) - start_up
        without = (row.size or 0) / left if left > 0 else math.inf
        if self._by_rate(row, without, limit).verdict == "below":
            return decision
        reason = Reason("start_up", size=row.size or 0, seconds=start_up)
        return _Decision("unknown", [reason], decision.known, ("large",))

    def _by_rate(self, row: Row, value: float, limit: Limit | None) -> _Decision:
        runs = known.rates(self.group, self.board, self.engines, limit, self.own)
        if runs:
            share = value / runs.least
            if share < LOWER:
                return _Decision("below", [Reason("below_known", share)], runs)
            return self._as_trained(limit, _Decision("normal", [Reason("as_known", share)], runs))
        if limit is None or (self.group.beside and self.group.kind == "peer"):
            kind: ReasonKind = "same_data" if self.own else "no_limit"
            return _Decision("unknown", [Reason(kind)], None, self._missing())
        share = value / limit.value
        good, poor = self._thresholds(row)
        if share >= good:
            return self._as_trained(limit, _Decision("normal", [Reason("fills", share)]))
        if share < poor:
            return _Decision("below", [Reason("low_share", share)])
        return _Decision("unknown", [Reason("middle_share", share)])

    def _thresholds(self, row: Row) -> tuple[float, float]:
        """Shares of the limit: from the first on a rate is "normal", under the second "below"."""
        if self.group.kind in _TO_HOST:
            return GOOD_CALL if row.initiator == "cpu" else GOOD_OF_LOG, FAIR
        return GOOD_OF_LOG, POOR_MEMORY if self.group.kind in {"memory", "on_card"} else 0.0

    def _as_trained(self, limit: Limit | None, decision: _Decision) -> _Decision:
        """Makes a decision "below" if the link trained slower or narrower than the device can."""
        fact = limit.fact if limit else None
        if fact is None or fact.capable is None or self.options.link or 0 in fact.capable:
            return decision
        generation = fact.capable[0] if fact.idle else fact.generation
        now = parsed_link(f"gen{generation}x{fact.lanes}").raw
        able = parsed_link(f"gen{fact.capable[0]}x{fact.capable[1]}").raw
        if now >= able:
            return decision
        reason = Reason("lesser_link", now / able)
        return _Decision("below", [reason, *decision.reasons], decision.known)

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
        if self.group.kind == "network":  # GPUs may be in one machine or in two: both are missing
            return "gpu", "network"
        return ("gpu",) if gpus else ("board",)

    # Small transfers

    def _small(self) -> Judgement:
        rows = [row for row in self.group.rows if row.seconds() and row.size]
        if not rows:
            return self._unjudged("too_small" if self.group.rows[0].size else "no_limit")
        if self.group.kind == "network" and not any(row.timed for row in rows):
            # Many messages are in flight: the rate does not show the time of one message.
            return replace(self._unjudged("too_small", ["messages"]), seconds=0.0)
        largest = max(row.size or 0 for row in rows)
        same = [row for row in rows if row.size == largest]
        seconds = statistics.median(map(each, same))
        row = min(same, key=lambda candidate: abs(each(candidate) - seconds))
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
    """Returns the board of a group's device; None if several boards fit."""
    if len(boards) <= 1:
        return next(iter(boards), None)
    named = {device.address: device.name for device in log.devices}
    fitting = {b.name: b for row in group.rows for b in boards if b.fits(named.get(row.device, ""))}
    return next(iter(fitting.values())) if len(fitting) == 1 else None
