"""The first line of a gate: PASS, FAIL or UNDECIDED, with the reason and the next command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import MappingProxyType

from isthmus.analysis import wording
from isthmus.analysis.change import Change
from isthmus.analysis.changes import Comparison, Missing
from isthmus.analysis.gate import Doubt, Gate, decide, few_processes, unknown_quantities
from isthmus.program import Invocation, invocation, option_words, shorter
from isthmus.results.run_file import Run
from isthmus.text import counted
from isthmus.units import percent, printable

_MOST_NAMED = 2
_AGAIN = "-again"
"""End of the name of a run that is measured again."""
_PROCESSES = 12
"""Processes of a run that is measured again because it had few."""
_LONGER = 10
"""How many times as long such a run may take."""
_OPTIONS = MappingProxyType(
    {
        "budget_s": "--budget", "axes": "sizes or other axes", "reruns": "--reruns",
        "repetitions": "--reruns", "quick": "--quick", "precision": "--precision",
        "cpus": "--cpus", "numa_node": "--numa-node", "options": "options of the device",
    }
)  # fmt: skip
"""Settings in the words of the command line."""
_WIDEST = 2
"""Kinds of memory whose limits are named."""


def line(
    result: Comparison, more: Invocation, files: Sequence[Path] = (), limit: Sequence[str] = ()
) -> str:
    """The decision, its reason, and the next command, in one line.

    Args:
        result: The comparison.
        more: The command that shows all points.
        files: Base and new run file, if each side is one file that says how it was measured.
        limit: Words of the gate's option.

    """
    gate = decide(result)
    reasons = [*_REASONS[gate.outcome](result, gate), *_counts(result), *map(_doubt, gate.doubts)]
    names = f"{result.new.name} against {result.base.name}"
    undecided = gate.outcome == "undecided" and files
    then = _remedy(result, gate, files, limit) if undecided else f"Next: {more}"
    return printable(f"{gate.outcome.upper()}: {names}: {'; '.join(reasons)}. {then}")


def _remedy(result: Comparison, gate: Gate, files: Sequence[Path], limit: Sequence[str]) -> str:
    """Commands whose result can decide what this comparison does not."""
    doubts = {doubt.kind: doubt for doubt in gate.doubts}
    base, new = files
    if "same run" in doubts:
        return f"Next, for a second run: {invocation('repeat', shorter(base), *limit)}"
    machine = doubts.get("machine")
    where = f", on the base's machine ({machine.names[0]})" if machine else ""
    more = few_processes(result)
    if not (more or machine):
        again = invocation("repeat", shorter(new))
        own = "" if result.own else "; --fail-above auto judges each series by its own spread"
        return f"Next: {again} (runs of each side in a folder of their own decide more{own})"
    sides = zip((base, new), (result.base, result.new), strict=True)
    steps, measured = [], []
    for file, side in sides:
        if not more and file == base:
            measured.append(file)
            continue
        measured.append(Path(f"{file.name.partition('.json')[0]}{_AGAIN}.json"))
        words = _more_processes(side.runs[0]) if more else []
        steps.append(
            invocation("repeat", shorter(file), *words, *option_words("--out", measured[-1]))
        )
    steps.append(invocation("compare", *map(shorter, measured), *limit))
    return f"Next{where}: {' && '.join(map(str, steps))}"


def _more_processes(run: Run) -> list[str]:
    """Options by which a run has more processes than it had."""
    words = option_words("--reruns", _PROCESSES) if run.settings.repetitions else []
    limited = run.status == "budget" or run.settings.repetitions
    return [*words, "--budget", f"{_LONGER * run.settings.budget_s:.0f}"] if limited else [
        "--reruns", str(_PROCESSES)
    ]  # fmt: skip


def _passes(result: Comparison, _: Gate) -> Iterator[str]:
    devices = len({change.device for change in result.series})
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
        of_one = [one for one, count in quantities if count]
        points = sum(count for _, count in quantities)
        if of_one:
            cannot = f"{counted(points, 'point', 'points')} cannot be compared"
            yield f"{cannot} ({_words(of_one)})"
        if neither := [one for one, count in quantities if not count]:
            have = counted(len(neither), "quantity has", "quantities have")
            yield f"{have} no time on either side ({_words(neither)})"
    if gate.dead:
        yield f"no time of {', '.join(gate.dead)}"


def _words(quantities: Sequence[Missing]) -> str:
    """The first of some quantities, and how many more there are."""
    named = ", ".join(
        f"{quantity.device} {quantity.words}" for quantity in quantities[:_MOST_NAMED]
    )
    more = len(quantities) - _MOST_NAMED
    return named + (f" and {more} more" if more > 0 else "")


_REASONS = {"pass": _passes, "fail": _fails, "undecided": _undecided}


def _counts(result: Comparison) -> Iterator[str]:
    """Points that are missing on either side."""
    new, base = len(result.missing), result.added
    if new or base:
        yield f"missing points: {new} in {result.new.name}, {base} in {result.base.name}"


def _doubt(doubt: Doubt) -> str:
    if doubt.kind == "same run":
        return "both are the same run"
    if doubt.kind == "newer":
        return "the base is newer"
    if doubt.kind == "incomplete":
        side = "the base" if doubt.side == "base" else "the new side"
        return f"{side} is incomplete"
    if doubt.kind == "machine":
        return f"the base is of another machine ({doubt.names[0]}, not {doubt.names[1]})"
    names = dict.fromkeys(_OPTIONS.get(name, name) for name in doubt.names)
    return f"the base has other settings ({', '.join(names)})"


def _named(changes: list[Change]) -> str:
    """The worst of some series, with the ratio that is known or possible."""
    texts = []
    for change in changes[:_MOST_NAMED]:
        sizes = "" if change.sizes == "0" else f" {change.sizes}"
        if change.verdict == "slower":
            share = f"+{percent(change.ratio.value - 1)}"
        elif 1 < change.most < wording.MOST_TOLD:
            share = f"up to +{percent(change.most - 1)}"
        else:
            share = "unknown"
        texts.append(f"{change.device} {change.words}{sizes} {share}")
    more = len(changes) - _MOST_NAMED
    return "; ".join(texts) + (f" and {more} more" if more > 0 else "")


def _limit(result: Comparison) -> str:
    """The limit in words; of times that are judged by their own spread, the widest."""
    if not result.own:
        return percent(result.least)
    widest: dict[str, float] = {}
    for change in result.series:
        memory = change.memory or change.operation
        widest[memory] = max(widest.get(memory, 0.0), change.limit)
    ordered = sorted(widest.items(), key=lambda pair: -pair[1])[:_WIDEST]
    shown = [
        f"{memory} {percent(limit)}" if limit < wording.MOST_TOLD else f"{memory} unknown"
        for memory, limit in ordered
    ]
    return f"their own spread (at most {', '.join(shown)})"
