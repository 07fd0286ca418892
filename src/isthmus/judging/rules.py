"""From logs, a link and references to verdicts.

A group's figure is that of its slowest object, at the object's best size of ``LARGE`` or more.

1. A rate above what the link can carry is impossible; so is one above every link of the engine.
2. Where only small transfers were measured, the time of one is compared with known times.
3. With known runs of the board (else of its engine, on the same link): normal from ``NEAR`` of the
   slowest run on, below under that. A run that has the very figures of the log is no reference.
4. Without: normal from ``GOOD`` of the limit on, below under ``POOR``; between, an engine may not
   reach more.
5. Where 3 and 4 say normal, a link that is trained below what the device is capable of is "below".
6. Whatever they say: below where the rate falls with the size, where one object is much slower than
   the others, or where a copy is much slower than that of the other direction (``shapes``).
7. Without a limit and a reference nothing is judged: the result says what is missing.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from isthmus import importers
from isthmus.errors import UsageError
from isthmus.importers.base import Log, Row
from isthmus.importers.cleaning import cleaned
from isthmus.judging import causes, known, limits, shapes
from isthmus.judging.judgement import (
    Group,
    Judged,
    Judgement,
    Limit,
    Missing,
    Range,
    Reason,
    ReasonKind,
    Verdict,
)
from isthmus.judging.rows import best_of_each, each, rate
from isthmus.models.pcie import Link
from isthmus.references import Reference, board, engine, of_names
from isthmus.references import link as parsed_link
from isthmus.studies.transfer import LARGE

LARGE_MESSAGE = 64 << 10
"""The same for messages between ranks: perftest's default size."""
GOOD, POOR = 0.75, 0.6
"""Shares of a limit: healthy copies of the references reach 0.76 or more of their link's data rate,
but for writes of XDMA, which the references know."""
GOOD_CALL = 0.65
"""The same for copies that a runtime makes of ordinary memory: 0.69 to 0.73 of gen4 x16 by clpeak
(RTX 4090, Arc A770)."""
POOR_MEMORY = 0.3
"""Share of a device's memory below which kernels are slow: kernels are not made to fill it."""
NEAR = 0.8
"""Share of the slowest known run: writes of five U200 in other hosts differ by up to 1.5 times."""
SLOW_CALL = 2.0
"""Times the slowest known time, up to which a small transfer is normal."""
_ROUNDED = 1.005
"""Rates above the raw link by less are rounding."""
_JUDGED = ("copy", "peer", "on_card", "memory", "host_memory", "network", "collective")
_TO_HOST = ("copy", "host_memory")
"""Kinds whose limit is the link to the host."""
_NO_PCIE_KNOWN = ("nvbandwidth", "clpeak", "rocm_bandwidth_test")
"""Programs that also measure devices joined to the host by more than PCIe."""


def judge(
    text: str, board_name: str | None = None, link: str | None = None, port_gigabits: float = 0.0
) -> Judged:
    """Judges a text that was pasted; raises UsageError where it has no format that is known."""
    plain = cleaned(text)
    logs, problems = _logs(plain)
    given = _Given(parsed_link(link) if link else None, port_gigabits)
    chosen = board(board_name) if board_name else None
    names = [name for log in logs for name in log.names]
    boards = [chosen] if chosen else of_names(names)
    judgements: list[Judgement] = []
    shown: list[Row] = []
    for log in logs:
        shown += [row for row in log.rows if row.kind not in _JUDGED or row.nothing]
        for group in groups(log.rows):
            judgements.append(_Case(logs, log, group, boards, given).judged())
    judgements = shapes.other_way(judgements)
    judgements = [causes.explained(one, logs, judgements) for one in judgements]
    missing = dict.fromkeys(
        what for one in judgements if one.verdict == "unknown" for what in one.missing
    )
    problems += [str(one) for log in logs for one in log.problems]
    return Judged(
        logs=logs, boards=boards, judgements=judgements, shown=shown, problems=problems,
        missing=list(missing),
    )  # fmt: skip


class _Given(NamedTuple):
    """What the user says."""

    link: Link | None
    port_gigabits: float


def _logs(text: str) -> tuple[list[Log], list[str]]:
    """What each importer reads; a format that cannot be read at all is a problem."""
    logs, problems = [], []
    for one in importers.all_recognised(text):
        try:
            logs.append(one.read(text))
        except UsageError as error:
            problems.append(f"{one.name}: {error}")
    if not logs:
        if problems:
            raise UsageError(problems[0])
        names = ", ".join(one.reads for one in importers.registry().values())
        raise UsageError(f"no output that Isthmus knows; it reads {names}")
    return logs, problems


def groups(rows: Sequence[Row]) -> Iterator[Group]:
    """Rows that measure the same, over all objects and sizes."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        if row.kind in _JUDGED and not row.nothing:
            found.setdefault(_key(row), []).append(row)
    for (kind, way, engine_, beside, memory, name, *_), of_one in found.items():
        yield Group(kind, way, engine_, beside, memory, name, of_one)


def _key(row: Row) -> tuple[str, ...]:
    gpu = row.device.startswith("cuda:") and row.name.endswith(("_ce", "_sm"))
    way = "both" if row.operation == "window_both" else row.direction
    name = row.name
    if row.kind == "copy" and (name.startswith("/dev/") or " to " in name):
        name = "copy"
    return (
        row.kind, way, row.name[-2:] if gpu else "", row.beside,
        row.memory if row.kind in {"copy", "network"} else "",
        "kernels" if row.kind == "memory" else name,
        "timed" if row.timed and not row.moved else "",
        row.part if row.kind == "network" else "",
    )  # fmt: skip


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
        given: _Given,
    ) -> None:
        self.logs, self.log, self.group, self.given = logs, log, group, given
        self.board = _board_of(log, group, boards)
        names = [name for name in log.facts.get("engine", "").split(",") if name]
        names = names or ([self.board.engine] if self.board and self.board.engine else [])
        self.engines = [one for one in map(engine, names) if one]
        copies = [row for row in log.rows if row.kind == "copy" and not row.nothing]
        self.fastest_copy = max(map(rate, copies), default=0.0)

    def judged(self) -> Judgement:
        """The verdict, without causes."""
        if self.log.facts.get("emulated"):
            return self._unjudged("emulated")
        if any(row.fault for row in self.group.rows):
            return replace(self._unjudged("faulty"), verdict="impossible")
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
        found = self._impossible(fastest, limit) or self._compared(slowest, limit)
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

    def _limit(self, fastest: float) -> Limit | None:
        kind, ways = self.group.kind, limits.ways_of(self.group)
        if kind in _TO_HOST:
            device = self.group.rows[0].device
            found = limits.of_link(self.logs, self.board, self.given.link, device, ways)
            return found or limits.only_link(self.engines, self.fastest_copy, ways)
        if kind == "memory":
            return limits.of_memory(self.board)
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
        return all(row.part.partition(",")[0] == "D to D" for row in self.group.rows)

    def _impossible(self, fastest: float, limit: Limit | None) -> _Found | None:
        """Whether a rate cannot be true."""
        if limit and fastest > _ROUNDED * limit.raw:
            if self.group.kind == "memory":  # a cache is faster
                return _Found("unknown", [Reason("not_comparable")])
            return _Found("impossible", [Reason("above_limit", fastest / limit.raw)])
        joined = self.log.tool in _NO_PCIE_KNOWN and not self.engines
        if limit is None and self.group.kind in _TO_HOST and not joined:
            most = limits.ceiling(self.board, self.engines, limits.ways_of(self.group))
            if most and fastest > _ROUNDED * most.raw:
                reason = Reason("above_any_link", fastest / most.raw, part=most.source)
                return _Found("impossible", [reason])
        return None

    def _compared(self, row: Row, limit: Limit | None) -> _Found:
        """The verdict from known runs, else from the share of the limit."""
        runs = known.rates(self.group, self.board, self.engines, limit)
        if runs:
            share = rate(row) / runs.least
            if share < NEAR:
                return _Found("below", [Reason("below_known", share)], runs)
            return self._as_trained(limit, _Found("normal", [Reason("as_known", share)], runs))
        if limit is None or (self.group.beside and self.group.kind == "peer"):
            return _Found("unknown", [Reason("no_limit")], None, self._missing())
        share = rate(row) / limit.value
        good, poor = self._thresholds(row)
        if share >= good:
            return self._as_trained(limit, _Found("normal", [Reason("fills", share)]))
        if share < poor:
            return _Found("below", [Reason("low_share", share)])
        return _Found("unknown", [Reason("middle_share", share)])

    def _thresholds(self, row: Row) -> tuple[float, float]:
        """Shares of the limit from which a rate is normal, and under which it is below."""
        if self.group.kind in _TO_HOST:
            return GOOD_CALL if row.initiator == "cpu" else GOOD, POOR
        return GOOD, POOR_MEMORY if self.group.kind == "memory" else 0.0

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
        gpus = self.log.tool in {"nvbandwidth", "nccl-tests"}
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
        fastest, limit = max(map(rate, same)), self._limit(max(map(rate, same)))
        basis = replace(
            self._unjudged("latency_unknown"), row=row, rate=rate(row), fastest=fastest,
            seconds=seconds,
        )  # fmt: skip
        if self.group.kind == "copy" and (found := self._impossible(fastest, limit)):
            return replace(
                basis, verdict=found.verdict, reasons=found.reasons, limit=limit, seconds=0.0
            )
        runs = known.times(self.group, largest, self.board, self.engines)
        if runs is None:
            what: tuple[Missing, ...] = ("large",) if self.group.kind == "copy" else ()
            reason = Reason("latency_unknown", seconds=seconds, size=largest)
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
