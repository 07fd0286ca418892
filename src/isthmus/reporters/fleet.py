"""Shows the state of many machines: a line each, or for schedulers, monitoring and tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

from isthmus.analysis.fleet import BAD, Fleet, Node, Outlier, State
from isthmus.analysis.quantities import Coverage
from isthmus.analysis.sentences import shortened
from isthmus.errors import UsageError
from isthmus.junit import Case, junit
from isthmus.text import counted
from isthmus.units import format_seconds, printable
from isthmus.written import json_text

_LISTED: tuple[State, ...] = (*BAD, "unknown")
_MOST_NODES = 8
_MOST_SHIFTS = 3
_WIDTH = 80
_MOST_EXPECTED = 1_000_000
_PARTS = re.compile(r"[^\s,\[\]]+(?:\[\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*\][^\s,\[\]]*)?")
_FOLDED = re.compile(r"([^\[]*)\[(.*)\]([^\[]*)")
_NUMBERED = re.compile(r"(.*?)(\d{1,18})")


def _summary(fleet: Fleet) -> str:
    return "".join(f"{shortened(printable(line), _WIDTH)}\n" for line in _lines(fleet))


def _lines(fleet: Fleet) -> Iterator[str]:
    slow, failed, missing, unknown = map(fleet.of, _LISTED)
    count = len(fleet.nodes) - len(missing)
    machines = counted(count, "machine", "machines")
    kinds = f" of {fleet.kinds} kinds" if fleet.kinds > 1 else ""
    if not fleet.quantities:
        yield f"None of {machines} could be judged: it takes six of a kind."
    elif slow:
        what = "is slower than its like" if len(slow) == 1 else "are slower than their like"
        yield f"{len(slow)} of {machines}{kinds} {what}."
    else:
        yield f"None of {machines}{kinds} is slower than its like."
    if fleet.baseline:
        yield f"No comparison with the baseline: {fleet.baseline}."
    if fleet.shifts:
        what = counted(len(fleet.shifts), "quantity is", "quantities are")
        yield f"Against the baseline, {what} slower on all machines of a kind:"
        yield from (f"  {_what(one)}" for one in fleet.shifts[:_MOST_SHIFTS])
    if fleet.open and not fleet.baseline:
        names = "; ".join(dict.fromkeys(map(_kind, fleet.open)))
        yield f"Against the baseline, nothing is decided of {names}"
    yield from (_line(node) for node in slow[:_MOST_NODES])
    if len(slow) > _MOST_NODES:
        yield f"and {len(slow) - _MOST_NODES} more (--format nodes)"
    yield from (_line(node) for node in failed[:_MOST_NODES])
    if len(failed) > _MOST_NODES:
        yield f"and {len(failed) - _MOST_NODES} more that failed (--format nodes)"
    if missing:
        what = counted(len(missing), "machine has", "machines have")
        yield f"{what} no run file: {nodeset(missing)}"
    if unknown and fleet.quantities:
        names = nodeset(unknown)
        yield f"{counted(len(unknown), 'machine', 'machines')} cannot be judged: {names}"
        yield from (
            f"  {why}" for why in dict.fromkeys(r for node in unknown for r in node.reasons)
        )


def _kind(one: Coverage) -> str:
    return " ".join(filter(None, (one.device, one.operation, one.sizes)))


def _line(node: Node) -> str:
    """What is wrong with a machine."""
    if not node.outliers:
        return f"{node.name}: failed: {'; '.join(node.reasons)}"
    worst = node.outliers[0]
    more = f"; {len(node.outliers) - 1} more" if len(node.outliers) > 1 else ""
    return f"{node.name}: {_what(worst)}{more}"


def _what(one: Outlier) -> str:
    longer = f"{100 * (one.ratio - 1):.0f} % longer"
    named = " ".join(filter(None, (one.device, one.operation, one.memory, one.sizes)))
    times = f"{format_seconds(one.seconds)}, usually {format_seconds(one.seconds / one.ratio)}"
    return f"{longer}: {named} ({times})"


def nodeset(nodes: Sequence[Node]) -> str:
    """Names as Slurm and ClusterShell fold them: ``node[001-003,007],login1``."""
    plain, numbered = [], []
    for name in (printable(node.name) for node in nodes):
        match = _NUMBERED.fullmatch(name)
        if match:
            numbered.append((match[1], len(match[2]), int(match[2])))
        else:
            plain.append(name)
    folded = []
    for (name, digits), group in groupby(sorted(set(numbered)), key=lambda one: one[:2]):
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
    """Names of a folded list, as ``nodeset`` writes it; raises UsageError where it is none."""
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
        why = _what(node.outliers[0]) if node.outliers else "; ".join(node.reasons)
        lines.append(printable(f"{node.name} {node.state} {why}".rstrip()))
    lines += [printable(f"baseline slow {_what(one)}") for one in fleet.shifts]
    return "\n".join(lines) + "\n"


def _json(fleet: Fleet) -> str:
    data = {
        "relevant": fleet.least,
        "passes": fleet.passes,
        "outcome": fleet.outcome,
        "nodes": [
            {**node._asdict(), "outliers": [vars(one) for one in node.outliers]}
            for node in fleet.nodes
        ],
        "slower_than_baseline": [vars(one) for one in fleet.shifts],
        "no_baseline": fleet.baseline,
        "coverage": [one._asdict() for one in fleet.coverage],
    }
    return json_text(data)


def _junit(fleet: Fleet) -> str:
    """A test case for each machine, and one for what is slower than the baseline."""
    kinds = {**dict.fromkeys(BAD, "failure"), "unknown": "skipped"}
    cases = [
        Case("fleet", node.name, kinds.get(node.state, ""),
             "; ".join([*map(_what, node.outliers), *node.reasons]))
        for node in fleet.nodes
    ]  # fmt: skip
    if fleet.shifts:
        cases.append(Case("fleet", "baseline", "failure", "; ".join(map(_what, fleet.shifts))))
    elif fleet.baseline or fleet.open:
        why = fleet.baseline or f"nothing is decided of {'; '.join(map(_kind, fleet.open))}"
        cases.append(Case("fleet", "baseline", "error", why))
    return junit("isthmus fleet", cases)


def _prometheus(fleet: Fleet) -> str:
    """Metrics in the text format of node_exporter's folder of text files."""
    lines = [
        "# HELP isthmus_node_state 1 for the state that a machine with its devices is in.",
        "# TYPE isthmus_node_state gauge",
    ]
    lines += [
        _metric(
            "isthmus_node_state", {"node": node.name, "kind": node.kind, "state": node.state}, 1
        )
        for node in fleet.nodes
    ]
    lines += [
        "# HELP isthmus_time_ratio Time over the usual one of its kind, of what is far above it.",
        "# TYPE isthmus_time_ratio gauge",
    ]
    for node in fleet.nodes:
        for one in node.outliers:
            labels = {**vars(one), "kind": node.kind}
            del labels["seconds"], labels["ratio"]
            lines.append(_metric("isthmus_time_ratio", labels, one.ratio))
    lines += [
        "# HELP isthmus_baseline_slower Quantities that are slower than the baseline's.",
        "# TYPE isthmus_baseline_slower gauge",
        f"isthmus_baseline_slower {len(fleet.shifts)}",
    ]
    return "\n".join(lines) + "\n"


def _metric(name: str, labels: Mapping[str, str], value: float) -> str:
    text = ",".join(f'{key}="{_label(str(label))}"' for key, label in labels.items())
    return f"{name}{{{text}}} {value:.6g}"


def _label(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


FORMATS: Mapping[str, Callable[[Fleet], str]] = MappingProxyType(
    {"summary": _summary, "list": _list, "nodes": _nodes, "json": _json, "junit": _junit,
     "prometheus": _prometheus}
)  # fmt: skip
"""Functions that give the whole text, by name."""
