"""Shows the state of many machines: as a summary, or for schedulers, monitoring and tests."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any

from isthmus.analysis import wording
from isthmus.analysis.fleet import BAD, FEWEST, Fact, Fleet, Node, Outlier, State
from isthmus.analysis.quantities import Coverage
from isthmus.errors import UsageError
from isthmus.junit import Case, junit
from isthmus.reporters.fleet_metrics import prometheus
from isthmus.text import counted
from isthmus.units import format_seconds, percent, printable
from isthmus.written import json_text

_LISTED: tuple[State, ...] = (*BAD, "unknown")
_MOST_NODES = 8
_MOST_SHIFTS = 3
_MOST_OPEN = 4
_MOST_REFERENCES = 2
_MOST_FURTHER = 2
"""Most series of a slow machine that are named after its worst quantity."""
_TOLD = 3
"""Least multiple of the smallest relevant change at which a hidden change is named. A choice: with
a lower value each fleet would get such a sentence."""
_WIDTH = 80
_MOST_LINES = 3
"""Most lines for one fact: an error of another program may have any length."""
_MOST_EXPECTED = 1_000_000
_PARTS = re.compile(r"[^\s,\[\]]+(?:\[\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*\][^\s,\[\]]*)?")
_FOLDED = re.compile(r"([^\[]*)\[(.*)\]([^\[]*)")
_NUMBERED = re.compile(r"(.*?)(\d{1,18})")


def _summary(fleet: Fleet) -> str:
    return "".join(f"{line}\n" for text in _lines(fleet) for line in _wrapped(printable(text)))


def _wrapped(text: str) -> list[str]:
    """Breaks a line of the summary at 80 columns; only an error of many lines is cut."""
    indent = " " * (len(text) - len(text.lstrip()))
    return textwrap.wrap(
        text, _WIDTH, subsequent_indent=f"{indent}  ", max_lines=_MOST_LINES, placeholder=" ...",
        break_on_hyphens=False,
    )  # fmt: skip


def _lines(fleet: Fleet) -> Iterator[str]:
    slow, degraded, slow_host, failed, missing, old, unknown = map(fleet.of, _LISTED)
    yield _first(fleet, len(fleet.nodes) - len(missing))
    yield from _against_baseline(fleet)
    for nodes, what in (
        (slow, ""), (degraded, " with a lesser link"), (slow_host, " whose host is slow"),
        (failed, " that failed"), (old, " without a young run file"),
    ):  # fmt: skip
        for node in nodes[:_MOST_NODES]:
            yield _line(node)
            yield from (f"  {text}" for text in _beside(node))
        if len(nodes) > _MOST_NODES:
            yield f"and {len(nodes) - _MOST_NODES} more{what} (--format nodes)"
    if missing:
        what = counted(len(missing), "machine has", "machines have")
        yield f"{what} no run file: {nodeset(missing)}"
    if unknown:
        names = nodeset(unknown)
        yield f"{counted(len(unknown), 'machine', 'machines')} cannot be judged: {names}"
        yield from (
            f"  {why}" for why in dict.fromkeys(r for node in unknown for r in node.reasons)
        )
    yield from _not_found(fleet)


def _not_found(fleet: Fleet) -> Iterator[str]:
    """Yields from which change on slow machines are found, if that is far above ``least``."""
    large = [quantity for quantity in fleet.hidden if quantity.share >= _TOLD * fleet.least]
    if large:
        widest = large[0]
        which = f"{_name(widest.quantity)} ({counted(widest.machines, 'machine', 'machines')})"
        text = f"The smallest slowdown that this fleet shows is {percent(widest.share)} in {which}"
        if rest := len(large) - 1:
            least, count = percent(large[-1].share), len(fleet.hidden)
            text += f", and {least} or more in {rest} more of {count} quantities"
        yield f"{text}."


def _first(fleet: Fleet, count: int) -> str:
    """The answer in one line, with the number of machines in each other bad state."""
    states: tuple[tuple[State, str, str], ...] = (
        ("degraded", "has a lesser link", "have a lesser link"),
        ("slow_host", "has a slow host", "have slow hosts"),
        ("failed", "failed", "failed"),
        ("missing", "is missing", "are missing"),
        ("old", "is old", "are old"),
        ("unknown", "cannot be judged", "cannot be judged"),
    )
    parts = [
        f"{len(nodes)} {singular if len(nodes) == 1 else several}"
        for state, singular, several in states
        if (nodes := fleet.of(state))
    ]
    if fleet.outcome == "undecided" and (fleet.baseline or fleet.open):
        parts.append("not all is decided against the baseline")
    return "; ".join(filter(None, (_answer(fleet, count), ", ".join(parts)))) + "."


def _answer(fleet: Fleet, count: int) -> str:
    """Says which machines are slower, or what is slower on most machines."""
    machines = counted(count, "machine", "machines")
    kinds = f" of {fleet.kinds} kinds" if fleet.kinds > 1 else ""
    slow = fleet.of("slow")
    if not fleet.quantities and not slow:
        old = len(fleet.of("old"))
        if old == count:
            return f"None of {machines} has a run file that is young enough (--max-age)"
        return f"None of {machines} could be judged: it takes {FEWEST} of a kind"
    if fleet.group:
        of_group, others = fleet.group
        more = f"; {len(slow) - of_group} more are slow" if len(slow) > of_group else ""
        return f"{of_group} of {machines}{kinds} are slower than {others} others: two groups{more}"
    if slow:
        own = all(outlier.against == "base" for node in slow for outlier in node.outliers)
        like = ("it was before", "they were before") if own else ("its like", "their like")
        what = f"is slower than {like[0]}" if len(slow) == 1 else f"are slower than {like[1]}"
        return f"{len(slow)} of {machines}{kinds} {what}"
    return _shifted(fleet) or f"None of {machines}{kinds} is slower than its like"


def _shifted(fleet: Fleet) -> str:
    """Says by how much quantities are slower than in the baseline, and on how many machines."""
    if not fleet.shifts:
        return ""
    longer = [round(100 * ((shift.ratio or 1.0) - 1)) for shift in fleet.shifts]
    upto = "up to " if min(longer) < max(longer) else ""
    slower, of = max(shift.machines for shift in fleet.shifts)
    takes = counted(len(fleet.shifts), "quantity takes", "quantities take")
    return f"{takes} {upto}{max(longer)} % longer than in the baseline on {slower} of {of} machines"


def _against_baseline(fleet: Fleet) -> Iterator[str]:
    if fleet.baseline:
        yield f"No comparison with the baseline: {fleet.baseline}."
    if fleet.shifts:
        if fleet.of("slow"):  # else the first line says so
            what = counted(len(fleet.shifts), "quantity is", "quantities are")
            yield f"Against the baseline, {what} slower on most machines of a kind:"
        yield from (f"  {_what(shift)}" for shift in fleet.shifts[:_MOST_SHIFTS])
    if fleet.open and not fleet.baseline:
        names = list(dict.fromkeys(map(_kind, fleet.open)))
        what = "; ".join(names) if len(names) < _MOST_OPEN else f"{len(names)} operations"
        yield f"Against the baseline, nothing is decided of {what}"
    if fleet.same_runs and not fleet.baseline:
        runs = counted(fleet.same_runs, "run", "runs")
        yield f"The baseline has {runs} of those that are judged: left out."
    for node in fleet.nodes:
        for card in node.swapped:
            cards = f"{card.now}, before {card.before}"
            yield f"{node.name} {card.device} is another card than in the baseline ({cards})."
    if fleet.own_base and fleet.own_base[0] < fleet.own_base[1] and not fleet.baseline:
        known, count = fleet.own_base
        yield f"{count - known} of {count} machines have no run of their own in the baseline."


def _kind(coverage: Coverage) -> str:
    return " ".join(filter(None, (coverage.device, coverage.operation, coverage.sizes)))


def _line(node: Node) -> str:
    state = f"{node.state}: " if node.state in {"failed", "old"} else ""
    line = f"{node.name}: {state}{_why(node)}"
    return line if len(line) <= _WIDTH else f"{node.name}: {state}{_why(node, times=False)}"


def _why(node: Node, *, times: bool = True) -> str:
    """Says why a machine is in a bad state."""
    if node.outliers:
        first = node.outliers[0]
        own = [further for further in node.outliers[1:] if further.against == first.against]
        other = [further for further in node.outliers[1:] if further.against != first.against]
        texts = [_what(first, times=times), *_further(own)]
        if other:
            than = "than before" if other[0].against == "base" else "than its like"
            what = counted(len(other), "quantity", "quantities")
            texts.append(f"{than}: {what}, up to {percent((other[0].ratio or 1.0) - 1)}")
        return "; ".join(texts)
    if node.state == "degraded":
        has_ratio = any(outlier.ratio is not None for outlier in node.figures)
        links = "; ".join(_fact(fact) for fact in node.facts if fact.less)
        return f"{links}; nothing is slower" if has_ratio else links
    if node.state == "slow_host":
        return f"its host is slow: {_host(node)}"
    if node.state == "old":
        when = f"{node.started:%Y-%m-%d %H:%M} UTC" if node.started else "at an unknown time"
        return f"its newest run began {when}"
    return "; ".join(node.reasons)


def _further(outliers: Sequence[Outlier]) -> Iterator[str]:
    """Yields a machine's further slow quantities, one text for each operation and memory."""
    series: dict[tuple[str, str, str], list[Outlier]] = {}
    for outlier in outliers:
        series.setdefault((outlier.device, outlier.operation, outlier.memory), []).append(outlier)
    for (_, operation, memory), alike in list(series.items())[:_MOST_FURTHER]:
        sizes = ", ".join(filter(None, (outlier.sizes for outlier in alike)))
        longer = f"{100 * ((alike[0].ratio or 1.0) - 1):.0f} %"
        yield " ".join(filter(None, (longer, operation, memory, sizes)))
    if rest := sum(map(len, list(series.values())[_MOST_FURTHER:])):
        yield f"{rest} more"


def _beside(node: Node) -> list[str]:
    """Remarks on a machine: its host's speed, and findings of the checks."""
    texts = []
    if node.host and node.state != "slow_host":
        texts.append(f"its host is slow, too: {_host(node)}")
    if count := len(node.by_host):
        what = counted(count, "slower operation", "slower operations")
        texts.append(
            f"that explains {what} beside it" if node.outliers else f"that explains {what}"
        )
    degraded = node.state == "degraded"
    return [*texts, *(_fact(fact) for fact in node.facts if not (degraded and fact.less))]


def _host(node: Node) -> str:
    """Says how much slower a machine's own host is."""
    return ", ".join(
        f"{wording.HOST_REFERENCES[reference.reference]} {percent(reference.ratio - 1)} longer"
        for reference in node.host[:_MOST_REFERENCES]
    )


def _fact(fact: Fact) -> str:
    """Says what a check found, which may be the cause."""
    device = f"{fact.device} " if fact.device else ""
    return f"{device}{fact.check}: {fact.found}"


def _what(outlier: Outlier, *, times: bool = True) -> str:
    ratio = outlier.ratio or 1.0
    longer = f"{100 * (ratio - 1):.0f} % longer"
    if outlier.against == "base" and not outlier.node:
        longer += f" on {outlier.machines[0]} of {outlier.machines[1]}"
    named = _name(outlier)
    before = "before" if outlier.against == "base" else "usually"
    if not times:
        return f"{longer}{' than before' if outlier.against == 'base' else ''}: {named}"
    both = f"{format_seconds(outlier.seconds)}, {before} {format_seconds(outlier.seconds / ratio)}"
    return f"{longer}: {named} ({both})"


def _name(outlier: Outlier) -> str:
    parts = (outlier.device, outlier.operation, outlier.memory, outlier.sizes)
    return " ".join(filter(None, parts))


def nodeset(nodes: Sequence[Node]) -> str:
    """Folds names as Slurm and ClusterShell do: ``node[001-003,007],login1``."""
    plain, numbered = [], []
    for name in (printable(node.name) for node in nodes):
        match = _NUMBERED.fullmatch(name)
        if match:
            numbered.append((match[1], len(match[2]), int(match[2])))
        else:
            plain.append(name)
    folded = []
    for (name, digits), group in groupby(sorted(set(numbered)), key=lambda item: item[:2]):
        ranges: list[list[int]] = []
        for _, _, number in group:
            if ranges and number == ranges[-1][1] + 1:
                ranges[-1][1] = number
            else:
                ranges.append([number, number])
        texts = ["-".join(f"{n:0{digits}}" for n in dict.fromkeys(ends)) for ends in ranges]
        single = len(texts) == 1 and "-" not in texts[0]
        folded.append(f"{name}{texts[0]}" if single else f"{name}[{','.join(texts)}]")
    return ",".join([*folded, *sorted(set(plain))])


def node_names(text: str) -> list[str]:
    """Unfolds a list of names as ``nodeset`` writes it; raises UsageError for another text."""
    names: list[str] = []
    for part in _PARTS.findall(text):
        match = _FOLDED.fullmatch(part)
        if match is None:
            names.append(part)
            continue
        for ends in match[2].split(","):
            first, _, last = ends.partition("-")
            low, high = int(first), int(last or first)
            if not 0 <= high - low < _MOST_EXPECTED:
                raise UsageError(f"'{part}' is no list of machines; write node[001-016]")
            names += [f"{match[1]}{n:0{len(first)}}{match[3]}" for n in range(low, high + 1)]
    if not names or _PARTS.sub("", text).strip(", "):
        raise UsageError(f"'{text}' is no list of machines; write node[001-016],login1")
    return names


def _nodes(fleet: Fleet) -> str:
    bad = [node for state in BAD for node in fleet.of(state)]
    return f"{nodeset(bad)}\n" if bad else ""


def _list(fleet: Fleet) -> str:
    lines = []
    for node in fleet.nodes:
        why = "; ".join(filter(None, (_why(node), *_beside(node))))
        lines.append(printable(f"{node.name} {node.state} {why}".rstrip()))
    lines += [printable(f"baseline slow {_what(shift)}") for shift in fleet.shifts]
    return "\n".join(lines) + "\n"


def _json(fleet: Fleet) -> str:
    data = {
        "relevant": fleet.least,
        "passes": fleet.passes,
        "outcome": fleet.outcome,
        "nodes": list(map(_data, fleet.nodes)),
        "slower_than_baseline": [vars(quantity) for quantity in fleet.shifts],
        "no_baseline": fleet.baseline,
        "coverage": [quantity._asdict() for quantity in fleet.coverage],
        "not_found_below": [
            {**vars(quantity.quantity), "share": quantity.share, "compared": quantity.machines}
            for quantity in fleet.hidden
        ],
    }
    return json_text(data)


def _data(node: Node) -> dict[str, Any]:
    """A machine as plain data, without its figures, which the metrics have."""
    data = node._asdict()
    for name in ("figures", "base"):
        del data[name]
    for name in ("outliers", "by_host"):
        data[name] = [vars(record) for record in data[name]]
    for name in ("host", "facts", "speeds", "swapped"):
        data[name] = [record._asdict() for record in data[name]]
    return data


def _junit(fleet: Fleet) -> str:
    """A test case for each machine, and one for quantities slower than in the baseline."""
    kinds = {**dict.fromkeys(BAD, "failure"), "unknown": "skipped"}
    cases = [
        Case("fleet", node.name, kinds.get(node.state, ""),
             "; ".join([*map(_what, node.outliers), *([] if node.outliers else [_why(node)]),
                        *_beside(node)]))
        for node in fleet.nodes
    ]  # fmt: skip
    if fleet.shifts:
        cases.append(Case("fleet", "baseline", "failure", "; ".join(map(_what, fleet.shifts))))
    elif fleet.baseline or fleet.open:
        why = fleet.baseline or f"nothing is decided of {'; '.join(map(_kind, fleet.open))}"
        cases.append(Case("fleet", "baseline", "error", why))
    return junit("isthmus fleet", cases)


FORMATS: Mapping[str, Callable[[Fleet], str]] = MappingProxyType(
    {"summary": _summary, "list": _list, "nodes": _nodes, "json": _json, "junit": _junit,
     "prometheus": prometheus}
)  # fmt: skip
"""Functions that make the whole text on a fleet, by name of the format."""
