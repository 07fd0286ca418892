"""From logs, a link and references to verdicts.

A group's figure is that of its slowest object, at the object's best size of ``LARGE`` or more.

1. A rate above what the link can carry is impossible; so is one above every link of the engine.
2. Where only small transfers were measured, the time of one is compared with known times.
3. With known runs of the board (else of its engine, on the same link): normal from ``NEAR`` of the
   slowest run on, below under that. One run alone says less (``NEAR_ONE``).
4. Without: normal from ``GOOD`` of the limit on, below under ``POOR``; between, an engine may not
   reach more.
5. Whatever 3 and 4 say: below where the rate falls with the size, where one object is much slower
   than the others, or where a copy is much slower than that of the other direction.
6. Without a limit and a reference nothing is judged: the result says what is missing.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace

from isthmus import importers
from isthmus.errors import UsageError
from isthmus.importers.base import Log, Row
from isthmus.importers.cleaning import cleaned
from isthmus.judging import causes, limits
from isthmus.judging.judgement import (
    Group,
    Judged,
    Judgement,
    Limit,
    Missing,
    Range,
    Reason,
    Verdict,
)
from isthmus.models.pcie import Link
from isthmus.references import Reference, board, engine, of_names
from isthmus.references import link as parsed_link
from isthmus.units import parse_size

LARGE = 1 << 20
"""Bytes from which a copy shows its link rather than its start-up time."""
LARGE_MESSAGE = 64 << 10
"""The same for messages between ranks: perftest's default size."""
GOOD, POOR = 0.75, 0.6
"""Shares of a limit: healthy copies of the references reach 0.76 or more of their link's data rate,
but for writes of XDMA, which the references know."""
NEAR, NEAR_ONE, NEAR_ENGINE = 0.9, 0.8, 0.85
"""Shares of the slowest known run: hosts of one board differ by a tenth (four runs of a U200)."""
FEW_RUNS = 3
FALLS = 0.6
"""Share of the peak that a rate at larger sizes keeps where nothing is wrong."""
DIFFERS = 0.8
"""Share of the median object that every object reaches where nothing is wrong."""
OTHER_WAY = 0.5
"""Share of the other direction's rate that each direction reaches where nothing is wrong."""
SLOW_CALL = 2.0
"""Times the slowest known time, up to which a small transfer is normal."""
LIKE_SIZE = 4.0
"""Ratio of sizes up to which times of small transfers are compared."""
_ROUNDED = 1.005
"""Rates above the raw link by less are rounding."""
_JUDGED = ("copy", "peer", "on_card", "memory", "host_memory", "network", "collective")


def judge(
    text: str, board_name: str | None = None, link: str | None = None, network_Gbps: float = 0.0,
) -> Judged:  # fmt: skip
    """Judges a text that was pasted; raises UsageError where it has no format that is known."""
    plain = cleaned(text)
    logs, problems = _logs(plain)
    user_link = parsed_link(link) if link else None
    chosen = board(board_name) if board_name else None
    found = [chosen] if chosen else of_names([name for log in logs for name in log.names])
    judgements: list[Judgement] = []
    shown: list[Row] = []
    for log in logs:
        rows = [row for row in log.rows if row.kind in _JUDGED and not row.nothing]
        shown += [row for row in log.rows if row.kind not in _JUDGED or row.nothing]
        for group in _groups(rows):
            judgements.append(_Case(logs, log, group, found, user_link, network_Gbps).judged())
    judgements = _other_way(judgements)
    judgements = [causes.explained(one, logs, judgements) for one in judgements]
    missing = dict.fromkeys(what for one in judgements for what in one.missing)
    problems += [str(one) for log in logs for one in log.problems]
    return Judged(
        logs=logs, boards=found, judgements=judgements, shown=shown, problems=problems,
        missing=list(missing),
    )  # fmt: skip


def _logs(text: str) -> tuple[list[Log], list[str]]:
    """What each importer reads; a format that cannot be read at all is a problem."""
    known = importers.all_recognised(text)
    logs, problems = [], []
    for one in known:
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


def _groups(rows: Sequence[Row]) -> Iterator[Group]:
    """Rows that measure the same, over all objects and sizes."""
    keys: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        engine_ = ""
        if row.device.startswith("cuda:") and row.name.endswith(("_ce", "_sm")):
            engine_ = row.name[-2:]
        memory = row.memory if row.kind in {"copy", "network"} else ""
        way = "both" if row.operation == "window_both" else row.direction
        timed = "timed" if row.timed and not row.moved else ""
        series = row.part if row.kind == "network" else ""
        keys.setdefault(
            (row.kind, way, engine_, row.beside, memory, _name(row), timed, series), []
        ).append(row)
    for (kind, way, engine_, beside, memory, name, *_), found in keys.items():
        yield Group(kind, way, engine_, beside, memory, name, found)


def _name(row: Row) -> str:
    """Of the test; copies of one kind by several names of a program stay apart."""
    if row.kind == "copy" and (row.name.startswith("/dev/") or " to /" in row.name):
        return "copy"
    return "kernels" if row.kind == "memory" else row.name


class _Case:
    """One group, and all that is known of where it was measured."""

    def __init__(
        self, logs: Sequence[Log], log: Log, group: Group, boards: Sequence[Reference],
        user_link: Link | None, network_Gbps: float,  # noqa: N803 - a unit
    ) -> None:  # fmt: skip
        self.logs, self.log, self.group = logs, log, group
        self.board = _board_of(log, group, boards)
        names = [name for name in log.facts.get("engine", "").split(",") if name]
        names = names or ([self.board.engine] if self.board and self.board.engine else [])
        self.engines = [one for one in map(engine, names) if one]
        self.user_link, self.network = user_link, network_Gbps

    def judged(self) -> Judgement:
        """The verdict, without causes."""
        if self.log.facts.get("emulated"):
            return self._unjudged("emulated", ())
        faulty = [row for row in self.group.rows if row.fault]
        if faulty:
            return replace(self._unjudged("faulty", ()), verdict="impossible")
        least = LARGE_MESSAGE if self.group.kind == "network" else LARGE
        large = [row for row in self.group.rows if row.rates() and (row.size is None
                                                                   or row.size >= least)]  # fmt: skip
        if not large:
            return self._small()
        objects = _best_of_each(large)
        slowest = min(objects, key=_rate)
        rate, fastest = _rate(slowest), max(map(_rate, objects))
        limit = self._limit(fastest)
        reasons, verdict, known, missing = self._verdict(slowest, rate, fastest, limit)
        verdict, more = self._shape(objects, verdict, fastest)
        return Judgement(
            self.group, rate, fastest, slowest, verdict, [*more, *reasons], limit, known,
            rate / limit.value if limit else None, causes=(), missing=missing,
        )  # fmt: skip

    def _unjudged(self, reason: str, missing: Sequence[Missing]) -> Judgement:
        row = max(self.group.rows, key=lambda one: (_rate(one), one.size or 0))
        seconds = row.seconds()
        return Judgement(
            self.group, _rate(row), _rate(row), row, "unknown", [Reason(reason)],  # type: ignore[arg-type]
            seconds=seconds[0] / row.times if seconds else 0.0, missing=missing,
        )  # fmt: skip

    def _limit(self, rate: float) -> Limit | None:
        kind, ways = self.group.kind, limits.ways_of(self.group)
        if kind in {"copy", "host_memory"}:
            device = self.group.rows[0].device
            return limits.of_link(self.logs, self.board, self.user_link, self.engines, device, ways)
        if kind == "memory":
            return limits.of_memory(self.board)
        if kind == "network":
            if self.network:
                value = ways * self.network * 1e9 / 8
                return Limit(value, value, f"{self.network:g} Gb/s port", "as you say (--link)")
            return limits.of_peers(self.board, rate) if self._between_devices() else None
        if kind == "peer" or (kind == "collective" and self.log.facts.get("hosts", "1") == "1"):
            return limits.of_peers(self.board, rate)
        return None

    def _between_devices(self) -> bool:
        return all(row.part.split(",")[0] == "D to D" for row in self.group.rows)

    def _verdict(
        self, row: Row, rate: float, fastest: float, limit: Limit | None
    ) -> tuple[list[Reason], Verdict, Range | None, tuple[Missing, ...]]:
        """From the limit and from what is known."""
        if limit and self.group.kind != "memory" and fastest > _ROUNDED * limit.raw:
            return [Reason("above_limit", fastest / limit.raw)], "impossible", None, ()
        if limit and self.group.kind == "memory" and fastest > _ROUNDED * limit.raw:
            return [Reason("not_comparable")], "unknown", None, ()  # a cache is faster
        if limit is None and self.group.kind in {"copy", "host_memory"}:
            ceiling = limits.ceiling(self.board, self.engines, limits.ways_of(self.group))
            if ceiling and fastest > _ROUNDED * ceiling.raw and not self._joined_to_host(fastest):
                share = fastest / ceiling.raw
                return (
                    [Reason("above_any_link", share, part=ceiling.source)],
                    "impossible",
                    None,
                    (),
                )
        known = self._known(limit)
        if self.group.beside and not known:
            return self._beside(rate, limit)
        if known:
            near = NEAR_ENGINE if self._by_engine else NEAR if known.runs >= FEW_RUNS else NEAR_ONE
            if rate >= near * known.least:
                reasons = [Reason("as_known", rate / known.least)]
                return [*self._lesser(limit), *reasons], self._trained(limit, "normal"), known, ()
            return [Reason("below_known", rate / known.least)], "below", known, ()
        if limit is None:
            return [Reason("no_limit")], "unknown", None, self._missing()
        share = rate / limit.value
        if self.group.kind in {"peer", "memory", "collective", "network"}:
            if share >= GOOD:
                return [Reason("fills", share)], "normal", None, ()
            below = self.group.kind == "memory" and share < POOR / 2
            kind = "low_share" if below else "middle_share"
            return [Reason(kind, share)], "below" if below else "unknown", None, ()
        if share >= GOOD:
            return (
                [*self._lesser(limit), Reason("fills", share)], self._trained(limit, "normal"),
                None, (),
            )  # fmt: skip
        if share < POOR:
            return [Reason("low_share", share)], "below", None, ()
        return [Reason("middle_share", share)], "unknown", None, ()

    def _joined_to_host(self, rate: float) -> bool:
        """Whether a GPU without a known name may be joined to its host by more than PCIe."""
        return self.log.tool in {"nvbandwidth", "clpeak", "rocm_bandwidth_test"} and rate < 1e12

    def _beside(
        self, rate: float, limit: Limit | None
    ) -> tuple[list[Reason], Verdict, Range | None, tuple[Missing, ...]]:
        if limit is None or self.group.kind == "peer":
            return [Reason("no_limit")], "unknown", None, self._missing() if limit is None else ()
        share = rate / limit.value
        kind = "fills" if share >= GOOD else "low_share" if share < POOR else "middle_share"
        verdict: Verdict = {"fills": "normal", "low_share": "below"}.get(kind, "unknown")  # type: ignore[assignment]
        return [Reason(kind, share)], verdict, None, ()  # type: ignore[arg-type]

    def _lesser(self, limit: Limit | None) -> list[Reason]:
        """That the link is trained below what the device is capable of."""
        fact = limit.fact if limit else None
        if fact is None or fact.capable is None or self.user_link:
            return []
        now = parsed_link(f"gen{fact.generation}x{fact.lanes}")
        generation = fact.capable[0] if fact.idle else fact.generation
        if (generation, fact.lanes) == fact.capable or 0 in fact.capable:
            return []
        able = parsed_link(f"gen{fact.capable[0]}x{fact.capable[1]}")
        return [Reason("lesser_link", now.raw / able.raw)] if able.raw > now.raw else []

    def _trained(self, limit: Limit | None, verdict: Verdict) -> Verdict:
        return "below" if self._lesser(limit) else verdict

    def _missing(self) -> tuple[Missing, ...]:
        kind = self.group.kind
        if kind == "network":
            return ("gpu",) if self._between_devices() else ("network",)
        if kind in {"peer", "collective", "memory", "on_card"}:
            return ("gpu",) if self.log.tool in {"nvbandwidth", "nccl-tests"} else ("board",)
        return ("link",)

    # What is known

    _by_engine = False

    def _known(self, limit: Limit | None) -> Range | None:
        """Known runs of the board, else of an engine; None where nothing is known."""
        self._by_engine = False
        if self.board and (found := self._range(self.board, limit)):
            return found
        for one in self.engines:
            if found := self._range(one, limit):
                self._by_engine = True
                return found
        return None

    def _range(self, reference: Reference, limit: Limit | None) -> Range | None:
        group = self.group
        fitting = [
            one for one in reference.known
            if (one.quantity, one.direction) == (group.kind, group.direction) and not one.size
            and one.engine in {"", group.engine} and one.memory in {"", group.memory}
        ]  # fmt: skip
        own = [one for one in fitting if one.memory == group.memory and one.memory]
        fitting = own or fitting
        if group.beside or not fitting:
            return None
        scaled = False
        rates = []
        for one in fitting:
            factor = 1.0
            said = one.link or reference.link.pcie
            if group.kind in {"copy", "host_memory"} and said:
                if limit is None:
                    if reference.kind == "engine":
                        continue  # which of its links is not known
                elif limit.name.startswith("PCIe"):
                    factor = limit.raw / limits.ways_of(group) / parsed_link(said).raw
            if factor > 1.01:
                continue
            if reference.kind == "engine" and abs(factor - 1) > 0.01:
                scaled = True
            scaled = scaled or abs(factor - 1) > 0.01
            rates.append((one.least * factor, one.most * factor, one, scaled))
        exact = [one for one in rates if not one[3]]
        rates = exact or rates
        if not rates:
            return None
        least = min(rates, key=lambda one: one[0])
        return Range(
            least[0], max(one[1] for one in rates), len(rates), reference.title, least[2].source,
            least[3],
        )  # fmt: skip

    # Small transfers

    def _small(self) -> Judgement:
        rows = [row for row in self.group.rows if row.seconds() and row.size]
        if not rows:
            return self._unjudged("too_small" if self.group.rows[0].size else "no_limit", ())
        largest = max(row.size or 0 for row in rows)
        same = [row for row in rows if row.size == largest]
        each = [_each(row) for row in same]
        seconds = statistics.median(each)
        row = min(same, key=lambda one: abs(_each(one) - seconds))
        known = self._known_call(largest)
        judgement = self._unjudged("latency_unknown", ())
        limit = self._limit(_rate(row))
        fast = max(map(_rate, same))
        if limit and fast > _ROUNDED * limit.raw and self.group.kind == "copy":
            return replace(
                judgement, row=row, rate=fast, limit=limit, verdict="impossible",
                reasons=[Reason("above_limit", fast / limit.raw)],
            )  # fmt: skip
        judgement = replace(
            judgement, row=row, rate=_rate(row), fastest=fast, seconds=seconds, limit=None,
            known=known,
        )  # fmt: skip
        if known is None:
            what: tuple[Missing, ...] = ("large",) if self.group.kind == "copy" else ()
            reason = Reason("latency_unknown", seconds=seconds, size=largest)
            return replace(judgement, reasons=[reason], missing=what)
        normal = seconds <= SLOW_CALL * known.most
        reason = Reason("latency_as_known" if normal else "latency_slow",
                        seconds / known.most, size=largest, seconds=seconds)  # fmt: skip
        return replace(judgement, verdict="normal" if normal else "below", reasons=[reason])

    def _known_call(self, size: int) -> Range | None:
        """Known times of one transfer of about this size, or of less."""
        if self.group.kind != "copy":
            return None
        found = []
        for reference in filter(None, (self.board, *reversed(self.engines))):
            for one in reference.known:
                if not one.size:
                    continue
                known_size = parse_size(one.size)
                ratio = max(size, known_size) / min(size, known_size)
                tiny = max(size, known_size) <= 4096
                if one.quantity == "call":
                    least, most = one.least, one.most
                elif (one.quantity, one.direction) == ("copy", self.group.direction):
                    least, most = known_size / one.most, known_size / one.least
                else:
                    continue
                if tiny or ratio <= LIKE_SIZE:
                    found.append((ratio, least, most, one.source, reference.title))
            if found:
                break
        if not found:
            return None
        near = min(found)[0]
        of_size = [one for one in found if one[0] == near]
        least, most = min(one[1] for one in of_size), max(one[2] for one in of_size)
        return Range(least, most, len(of_size), of_size[0][4], of_size[0][3])

    # Shapes within the log

    def _shape(
        self, objects: Sequence[Row], verdict: Verdict, fastest: float
    ) -> tuple[Verdict, list[Reason]]:
        """What the log's own rates say: a fall with the size, or an object unlike the others."""
        if verdict == "impossible":
            return verdict, []
        reasons = list(_falls(self.group))
        if len(objects) > 2 and self.group.kind != "on_card":
            usual = statistics.median(map(_rate, objects))
            slow = [row for row in objects if _rate(row) < DIFFERS * usual]
            if len(slow) < len(objects) / 2:
                reasons += [
                    Reason("differs", _rate(row) / usual, part=row.part or row.device,
                           rate=_rate(row)) for row in sorted(slow, key=_rate)
                ]  # fmt: skip
        return ("below", reasons) if reasons else (verdict, [])


def _falls(group: Group) -> Iterator[Reason]:
    """A rate that is much lower at the largest size than at its best size."""
    for part in dict.fromkeys(row.part for row in group.rows):
        curve: dict[int, float] = {}
        for row in group.rows:
            if row.part == part and row.size and row.rates():
                curve[row.size] = max(curve.get(row.size, 0.0), _rate(row))
        if len(curve) < 3 or (group.kind == "network" and "D" not in part.split(" ")):
            continue  # within a processor's caches, rates fall by themselves
        largest, best = max(curve), max(curve, key=lambda size: curve[size])
        if curve[largest] < FALLS * curve[best] and largest > best:
            yield Reason("falls", curve[largest] / curve[best], part=part, size=best, at=largest,
                         rate=curve[best])  # fmt: skip


def _other_way(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Copies that are much slower than those of the other direction in the same log."""
    result = []
    for one in judgements:
        others = [
            other for other in judgements
            if {one.group.direction, other.group.direction} == {"h2d", "d2h"}
            and _alike(one.group) == _alike(other.group) and other.rate > 0
        ]  # fmt: skip
        slow = one.rate > 0 and one.verdict in {"unknown", "normal"} and one.seconds == 0
        known = one.known is not None and one.verdict == "normal"
        worst = max(others, key=lambda other: other.rate, default=None)
        if slow and not known and worst and one.rate < OTHER_WAY * worst.rate:
            reason = Reason("slower_way", one.rate / worst.rate, part=worst.group.direction,
                            rate=worst.rate)  # fmt: skip
            one = replace(one, verdict="below", reasons=[reason, *one.reasons])  # noqa: PLW2901
        result.append(one)
    return result


def _alike(group: Group) -> tuple[str, ...]:
    return group.kind, group.engine, group.beside, group.rows[0].device.partition(":")[0]


def _board_of(log: Log, group: Group, boards: Sequence[Reference]) -> Reference | None:
    """The board of a group's device; None where several may be meant."""
    if len(boards) <= 1:
        return next(iter(boards), None)
    named = {one.address: one.name for one in log.devices}
    found = {b.name: b for row in group.rows for b in boards if b.fits(named.get(row.device, ""))}
    return next(iter(found.values())) if len(found) == 1 else None


def _rate(row: Row) -> float:
    """Bytes a second; of several repetitions the median."""
    rates = row.rates()
    return statistics.median(rates) if rates else 0.0


def _each(row: Row) -> float:
    """Seconds of one transfer."""
    return statistics.median(row.seconds()) / (row.times if row.timed else max(row.times, 1))


def _best_of_each(rows: Sequence[Row]) -> list[Row]:
    """For each object its fastest large row; repetitions of one size count as their median."""
    objects: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        objects.setdefault((row.device, row.part), []).append(row)
    return [max(of_one, key=_rate) for of_one in objects.values()]
