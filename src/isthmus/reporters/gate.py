"""Writes a gate's texts: a first line with decision, reason and next command, and further lines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from isthmus.analysis import wording
from isthmus.analysis.change import Change
from isthmus.analysis.changes import Comparison, Missing
from isthmus.analysis.gate import (
    ALLOWABLE,
    Doubt,
    Gate,
    LesserLink,
    few_processes,
    unknown_quantities,
)
from isthmus.analysis.matched import INTERRUPTED, RAN_OUT
from isthmus.analysis.quantities import Standing
from isthmus.junit import Case
from isthmus.program import Invocation, invocation, option_words, shorter
from isthmus.reporters.change_words import percent_longer, subject, values
from isthmus.results.run_file import Run
from isthmus.text import counted
from isthmus.units import format_age, format_size, percent, printable

_MOST_NAMED = 2
_AGAIN = "-again"
"""Ending for the file name of a run that is measured again."""
_PROCESSES = 12
"""Processes for a repeated run, if the first run had too few."""
_LONGER = 10
"""Factor by which a repeated run with more processes may take longer."""
_OPTIONS = MappingProxyType(
    {
        "budget_s": "--budget", "axes": "sizes or other axes", "reruns": "--reruns",
        "repetitions": "--reruns", "quick": "--quick", "precision": "--precision",
        "cpus": "--cpus", "numa_node": "--numa-node", "options": "options of the device",
    }
)  # fmt: skip
"""Words of the command line for settings."""
_FAULTS = MappingProxyType(
    {
        "wrong data": "whose data did not arrive",
        "failed": "that failed",
        "no time": "without a time",
    }
)
"""Faults by which a point of the new side has no time, in words by ``Missing.why``."""
_NOTHING = "no point has a time on both sides"
_OF_SIDE = MappingProxyType(
    {
        "same run": "both are the same run",
        "newer": "{} is newer",
        "future": "{} is dated in the future",
        "incomplete": "{} is incomplete",
    }
)
"""Words for doubts that depend only on the side, by ``Doubt.kind``."""
_WIDTH = 80
_NEAREST = 5
"""Most series within their limits that are shown: those whose bounds are nearest to the limit."""
_STANDING = 9
"""Number of characters of the longest ``Standing``."""


class Call(NamedTuple):
    """The command that the user called, from which the next command is made."""

    sides: Sequence[Path]
    """Base and new side as the user gave them."""
    fail_above: Sequence[str]
    """The option ``--fail-above`` with its value, as words."""
    options: Sequence[str] = ()
    """Words of all other options."""
    files: Sequence[Path] = ()
    """Base and new run file; empty unless each side is one file that can be measured again."""

    def compare(self, *further: object) -> Invocation:
        """Returns the same comparison with further options."""
        return self.of(self.sides, *further)

    def of(self, sides: Sequence[Path], *further: object) -> Invocation:
        """Returns the comparison of other sides with the same options, and with further ones."""
        words = (*map(shorter, sides), *self.fail_above, *self.options, *further)
        return invocation("compare", *words)


def line(result: Comparison, gate: Gate, call: Call) -> str:
    """The decision, its reason, and the next command, in one line."""
    same_run = any(doubt.kind == "same run" for doubt in gate.doubts)
    if gate.outcome == "undecided" and result.passes:
        main = [*map(doubt_text, gate.blocks), *_dead(gate)]
        main += [] if same_run else _passes(result)
        rest = [doubt for doubt in gate.doubts if not doubt.blocks]
    else:
        why = _passes if result.passes else _REASONS[gate.outcome]
        main = [*map(_link, gate.lost_links), *why(result), *_dead(gate)]
        rest = gate.doubts
    links = [link for link in gate.links if not link.is_lost]
    reasons = [*main, *_counts(result), *map(_link, links), *map(doubt_text, rest)]
    names = f"{result.new.name} against {result.base.name}"
    then = f"Next: {call.compare('--points')}"
    if gate.outcome == "undecided":
        then = _remedy(result, gate, call) or then
    return printable(f"{gate.outcome.upper()}: {names}: {'; '.join(reasons)}. {then}")


def _remedy(result: Comparison, gate: Gate, call: Call) -> str:
    """Says which commands can decide what this comparison does not; empty if none is known."""
    doubts = {doubt.kind: doubt for doubt in gate.blocks}
    if result.passes and "same run" not in doubts:
        if "future" in doubts:
            return "Next: set that machine's clock, and measure again"
        age = option_words("--max-age", "none") if "age" in doubts else []
        if allowed := [kind for kind in ALLOWABLE if kind in doubts]:
            meant = call.compare("--allow-other", ",".join(allowed), *age)
            return f"Next, if that is meant: {meant}"
        if age:
            return f"Next: measure a new base; else {call.compare(*age)}"
    return _again(result, gate, call) if call.files else ""


def _again(result: Comparison, gate: Gate, call: Call) -> str:
    """Commands that measure each side again which leaves something open, and compare then."""
    doubts = {doubt.kind: doubt for doubt in gate.blocks}
    base, new = call.files
    if "same run" in doubts:
        return f"Next, for a second run: {invocation('repeat', shorter(base), *call.fail_above)}"
    if not (result.series or result.unknown or gate.dead):
        return f"Next: {invocation('show', shorter(new))}"
    machine = doubts.get("machine")
    where = f", on the base's machine ({machine.names[0]})" if machine else ""
    more = few_processes(result)
    lacking = {*(point.side for point in result.unknown), *(["both"] if gate.dead else [])}
    needs_base = more or bool(lacking & {"base", "both"})
    needs_new = more or bool(result.undecided or lacking - {"base"}) or not needs_base
    names = [file.name.partition(".json")[0] for file in call.files]
    if names[0] == names[1]:
        names = [f"base-{names[0]}", f"new-{names[1]}"]
    runs = (result.base.runs[0], result.new.runs[0])
    steps, measured = [], []
    for file, name, run, again in zip(
        call.files, names, runs, (needs_base, needs_new), strict=True
    ):
        measured.append(Path(f"{name}{_AGAIN}.json") if again else file)
        if again:
            words = [*_longer(result, run, more=more), *option_words("--out", measured[-1])]
            steps.append(invocation("repeat", shorter(file), *words))
    steps.append(call.of(measured))
    further = "" if more or machine else " (several runs of a side, in a folder, decide more"
    further += "" if not further or result.own else "; so does --fail-above auto"
    return f"Next{where}: {' && '.join(map(str, steps))}{further and f'{further})'}"


def _longer(result: Comparison, run: Run, *, more: bool) -> list[str]:
    """Options by which a repeated run is long enough to decide what is open.

    ``more``: the comparison is open because there are too few processes.
    """
    if more:
        return _more_processes(run, _PROCESSES, _LONGER)
    if result.undecided:
        times = max(map(_times_longer, result.undecided))
        most = max(max(change.samples) for change in result.undecided)
        return _more_processes(run, times * most, times)
    if run.status == "budget" and any(point.why == RAN_OUT for point in result.unknown):
        return option_words("--budget", f"{_LONGER * run.settings.budget_s:.0f}")
    return []


def _more_processes(run: Run, count: int, times: int) -> list[str]:
    """Options by which a repeated run has ``count`` processes in ``times`` times its time."""
    ended = run.status == "budget"
    words = option_words("--reruns", count) if run.settings.repetitions or not ended else []
    all_of_it = ended or bool(run.settings.repetitions)
    took_s = run.settings.budget_s if all_of_it else run.took_s
    if times * took_s > run.settings.budget_s:
        words += option_words("--budget", f"{times * took_s:.0f}")
    return words


def _times_longer(change: Change) -> int:
    """Factor of processes, at least 2, that decides a series if its ratio stays the same.

    The width of an interval is proportional to one over the square root of their number.
    """
    limit_ = math.log1p(change.limit)
    if not (0 < change.most < math.inf and limit_ < math.inf):
        return _LONGER
    estimate = math.log(change.ratio.value)
    reach, room = math.log(change.most) - estimate, abs(limit_ - estimate)
    return max(2, math.ceil(min((reach / room) ** 2, _LONGER))) if room else _LONGER


def _passes(result: Comparison) -> Iterator[str]:
    if not result.series:
        return
    devices = len({change.device for change in result.series})
    yield (
        f"none of {counted(len(result.series), 'series', 'series')} of "
        f"{counted(devices, 'device', 'devices')} is slower by more than {_limits(result)}"
    )
    if unjudged := result.unjudged:
        which = _first(list(map(_quantity, unjudged)), ", ")
        count = f"{len(unjudged)} of them ({which})"
        yield f"the base scatters: {count} {may_pass(unjudged[0])}"


def may_pass(change: Change) -> str:
    """The slowdown that passes in a series whose base scatters: the largest limit holds for it."""
    return f"may be slower by up to {limit(change.limit)} and pass"


def _fails(result: Comparison) -> Iterator[str]:
    for why, text in _FAULTS.items():
        if points := [point for point in result.missing if point.why == why]:
            yield f"{counted(len(points), 'point', 'points')} {text} ({point_names(points)})"
    slower = result.of("slower")
    beyond = _one_limit(result) or "their limits"
    if slower:
        count = f"{len(slower)} of {counted(len(result.series), 'series', 'series')}"
        yield f"{count} slower by more than {beyond} ({_named(result, slower)})"
    elif result.slower_points:
        points_ = counted(len(result.slower_points), "single point", "single points")
        yield f"{points_} slower by more than {beyond} ({_named(result, result.slower_points)})"
    if result.undecided:
        yield f"{len(result.undecided)} undecided"


def _undecided(result: Comparison) -> Iterator[str]:
    if not result.series and not result.unknown:
        yield _NOTHING
    if result.undecided:
        count = f"{len(result.undecided)} of {counted(len(result.series), 'series', 'series')}"
        beyond = _one_limit(result) or "their limits"
        yield f"{count} may be slower by more than {beyond} ({_named(result, result.undecided)})"
    quantities = unknown_quantities(result)
    if of_one := [quantity for quantity, count in quantities if count]:
        points = counted(sum(count for _, count in quantities), "point", "points")
        ended = {RAN_OUT: "time ran out", INTERRUPTED: "interrupted"}
        names = {"base": f" in {result.base.name}"}
        reasons = dict.fromkeys((p.why, p.side) for p in result.unknown if p.measured)
        why = ", ".join(ended[key] + names.get(of, "") for key, of in reasons if key in ended)
        yield f"{points} cannot be compared ({_words(of_one)}{why and f'; {why}'})"
    if neither := [quantity for quantity, count in quantities if not count]:
        have = counted(len(neither), "quantity has", "quantities have")
        yield f"{have} no time on either side ({_words(neither)})"


def _dead(gate: Gate) -> list[str]:
    return [f"no time of {', '.join(gate.dead)}"] if gate.dead else []


def _words(quantities: Sequence[Missing]) -> str:
    """Names the first quantities, and says how many more there are."""
    return _first([f"{quantity.device} {quantity.words}" for quantity in quantities], ", ")


def point_names(points: Sequence[Missing]) -> str:
    """Names the first points, and says how many more there are."""
    return _first([f"{p.device} {p.words} {format_size(p.bytes)}" for p in points], ", ")


def _first(names: Sequence[str], between: str) -> str:
    more = len(names) - _MOST_NAMED
    return between.join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


_REASONS = {"pass": _passes, "fail": _fails, "undecided": _undecided}


def _counts(result: Comparison) -> Iterator[str]:
    """Counts points that only one side has, and that no other reason names."""
    absent = [point for point in result.missing if point.why not in _FAULTS]
    new, base = len(absent), len(result.only_new)
    if new or base:
        which = f" ({point_names(absent)})" if absent else ""
        yield f"missing points: {new} in {result.new.name}, {base} in {result.base.name}{which}"


def _link(link: LesserLink) -> str:
    """Returns a finding on a link of the new side as text."""
    also = ", also in the base" if link.in_base else ""
    return f"{link.fact.device} {link.fact.check}: {link.fact.found.replace(';', ',')}{also}"


def doubt_text(doubt: Doubt) -> str:
    """Returns a doubt as text: why the two sides may not be comparable."""
    if text := _OF_SIDE.get(doubt.kind):
        return text.format("the base" if doubt.side == "base" else "the new side")
    if doubt.kind == "age":
        beyond = ", more than --max-age" if doubt.blocks else ""
        return f"the base is {format_age(doubt.seconds)} older{beyond}"
    if doubt.kind in {"machine", "device"}:
        return f"the base is of another {doubt.kind} ({doubt.names[0]}, not {doubt.names[1]})"
    if doubt.kind == "link":
        return f"the base does not record {doubt.names[1]} of {doubt.names[0]}"
    names = dict.fromkeys(_OPTIONS.get(name, name) for name in doubt.names)
    return f"the base has other settings ({', '.join(names)})"


def _named(result: Comparison, changes: Sequence[Change]) -> str:
    """Names the worst series, each with its ratio, or its upper bound, and its limit."""
    texts = []
    for change in changes:
        if change.verdict == "slower":
            share = f"+{percent(change.ratio.value - 1)}"
        elif 1 < change.most < wording.MOST_TOLD:
            share = f"up to +{percent(change.most - 1)}"
        else:
            share = "without an upper bound"
        own = f", limit {limit(change.limit)}" if _differ((*result.series, *changes)) else ""
        texts.append(f"{_quantity(change)} {share}{own}")
    return _first(texts, "; ")


def _quantity(change: Change) -> str:
    sizes = "" if change.sizes == "0" else f" {change.sizes}"
    return f"{change.device} {change.words}{sizes}"


def limit(share: float) -> str:
    """A limit in percent; "unknown" above ``MOST_TOLD``."""
    return percent(share) if share < wording.MOST_TOLD else "unknown"


def _differ(changes: Iterable[Change]) -> bool:
    """Whether the limits of changes differ in the form in which they are shown."""
    return len({limit(change.limit) for change in changes}) > 1


def _one_limit(result: Comparison) -> str:
    """The limit that all series share, in words; empty if limits differ or are unknown."""
    first = next(iter(result.series), None)
    known = first is not None and first.limit < wording.MOST_TOLD
    return limit(first.limit) if first and known and not _differ(result.series) else ""


def _limits(result: Comparison) -> str:
    """The limit in words; if limits differ, the least with its count of series, and the largest."""
    if shared_limit := _one_limit(result):
        return shared_limit
    widest = max(result.series, key=lambda change: change.limit)
    least = limit(min(change.limit for change in result.series))
    count = sum(limit(change.limit) == least for change in result.series)
    return f"its limit ({least} for {count}; up to {limit(widest.limit)}: {_quantity(widest)})"


def sentence(result: Comparison) -> str:
    """Says how many series are slower, undecided or within their limits, as the gate judges."""
    names = f"{result.new.name} against {result.base.name}"
    if not result.series:
        return f"{names}: no point has a time on both sides."
    level = percent(min(run.settings.confidence for run in (*result.base.runs, *result.new.runs)))
    texts: dict[Standing, str] = {
        "slower": "slower by more than the limit",
        "undecided": "undecided",
        "within": f"within the limit by an upper bound at {level}",
    }
    counts = Counter(change.standing for change in result.series)
    parts = [f"{counts[standing]} {text}" for standing, text in texts.items() if counts[standing]]
    of = f"of {counted(len(result.series), 'series', 'series')}, "
    faster = len(result.of("faster"))
    parts += [f"of these {faster} certainly faster"] if faster else []
    return f"{names}: {of}{', '.join(parts)}."


def rows(result: Comparison, room: int) -> list[str]:
    """Makes a line for each slower series, or else slower point, and for each undecided series.

    Without such series: lines for the series within their limits that are nearest to the limit.
    """
    shown = [*(result.of("slower") or result.slower_points), *result.undecided]
    room = room if shown else min(room, _NEAREST)
    shown = shown or result.within
    room = max(room, 1)
    fit = shown[: room if len(shown) <= room else room - 1]
    rest = Counter(change.standing for change in shown[len(fit) :])
    more = ", ".join(f"{count} more {standing}" for standing, count in rest.items())
    return [*map(_row, fit), *([f"and {more}"] if more else [])]


def _row(change: Change) -> str:
    rest = f"{bound(change)}, limit {limit(change.limit)}"
    if change.standing == "slower":
        longer = percent_longer(change.ratio.value)
        rest = f"{values(change)} {longer} %, limit {limit(change.limit)}"
    if math.isinf(change.limit):
        rest = "too few processes for a limit"
    room = _WIDTH - _STANDING - 2 - len(rest)
    return f"{change.standing:{_STANDING}} {subject(change, room):{room}} {rest}"


def bound(change: Change) -> str:
    """The upper bound of the time in words: ``at most +4.1 %``."""
    known = 0 < change.most < wording.MOST_TOLD
    return f"at most {percent_longer(change.most)} %" if known else "no upper bound"


def cases(result: Comparison, gate: Gate) -> Iterator[Case]:
    """Yields test cases for what a gate judges beside times: doubts, dead devices and links."""
    yield from (Case("gate", "sides", "error", doubt_text(doubt)) for doubt in gate.blocks)
    yield from (Case("gate", device, "error", "no time on either side") for device in gate.dead)
    if not result.series and gate.outcome == "undecided":
        yield Case("gate", "times", "error", _NOTHING)
    for link in gate.links:
        kind = "failure" if link.is_lost else ""
        yield Case("gate", f"{link.fact.device} {link.fact.check}", kind, link.fact.found)


def by_reason(points: Sequence[Missing]) -> Iterator[tuple[str, list[Missing]]]:
    """Yields groups of points with the reason why the points of the group have no time."""
    for why, of_why in groupby(
        sorted(points, key=lambda point: point.why), lambda unmeasured: unmeasured.why
    ):
        yield why, list(of_why)
