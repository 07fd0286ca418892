"""Shows the state of many machines: a line each, or for schedulers, monitoring and tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from xml.etree import ElementTree

import msgspec

from isthmus.analysis import wording
from isthmus.analysis.fleet import Fleet, Node, Outlier
from isthmus.analysis.sentences import shortened
from isthmus.columns import wrapped
from isthmus.units import format_seconds, printable

_MOST_NODES = 12
_WIDTH = 80
_NUMBERED = re.compile(r"(.*?)(\d+)$")


def _summary(fleet: Fleet) -> str:
    return "\n".join(_lines(fleet)) + "\n"


def _lines(fleet: Fleet) -> Iterator[str]:
    slow, unknown = fleet.of("slow"), fleet.of("unknown")
    kinds = f" of {fleet.kinds} kinds" if fleet.kinds > 1 else ""
    verdict = (
        f"{len(slow)} of {len(fleet.nodes)} machines{kinds} are slower than their like"
        if len(slow) != 1
        else f"1 of {len(fleet.nodes)} machines{kinds} is slower than its like"
    )
    if not slow:
        verdict = f"None of {len(fleet.nodes)} machines{kinds} is slower than its like"
    yield from wrapped(printable(f"{verdict} ({fleet.quantities} quantities each)."))
    if unknown:
        yield from wrapped(
            f"{len(unknown)} cannot be judged: fewer than six of their kind: {nodeset(unknown)}"
        )
    for shift in fleet.shifts:
        text = f"All of {shift.node} are slower than the baseline: {_what(shift)}"
        yield shortened(printable(text), _WIDTH)
    for node in slow[:_MOST_NODES]:
        worst = node.outliers[0]
        more = f"; {len(node.outliers) - 1} more" if len(node.outliers) > 1 else ""
        yield shortened(printable(f"{node.name}: {_what(worst)}{more}"), _WIDTH)
    if len(slow) > _MOST_NODES:
        yield from wrapped(f"and {nodeset(slow[_MOST_NODES:])}")
    gaps = [node for node in fleet.nodes if node.missing]
    if gaps:
        yield from wrapped(f"{len(gaps)} lack measurements that others have: {nodeset(gaps)}")


def _what(one: Outlier) -> str:
    named = " ".join(filter(None, (one.device, one.operation, one.memory, one.sizes)))
    longer = wording.percent(one.ratio - 1)
    times = f"{format_seconds(one.seconds)}, usually {format_seconds(one.usual_s)}"
    return f"{named} takes {longer} longer ({times})"


def nodeset(nodes: Sequence[Node]) -> str:
    """Names as Slurm and ClusterShell fold them: ``node[001-003,007],login1``."""
    plain, numbered = [], []
    for node in nodes:
        match = _NUMBERED.fullmatch(node.name)
        if match:
            numbered.append((match[1], len(match[2]), int(match[2])))
        else:
            plain.append(node.name)
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


def _nodes(fleet: Fleet) -> str:
    slow = fleet.of("slow")
    return f"{nodeset(slow)}\n" if slow else ""


def _list(fleet: Fleet) -> str:
    lines = []
    for node in fleet.nodes:
        worst = f" {_what(node.outliers[0])}" if node.outliers else ""
        lines.append(printable(f"{node.name} {node.state}{worst}"))
    return "\n".join(lines) + "\n"


def _json(fleet: Fleet) -> str:
    data = {
        "relevant": fleet.least,
        "nodes": [
            {**node._asdict(), "outliers": [one._asdict() for one in node.outliers]}
            for node in fleet.nodes
        ],
        "slower_than_baseline": [one._asdict() for one in fleet.shifts],
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=1).decode() + "\n"


def _junit(fleet: Fleet) -> str:
    """A test case for each machine."""
    suite = ElementTree.Element(
        "testsuite",
        name="isthmus fleet",
        tests=str(len(fleet.nodes)),
        failures=str(len(fleet.of("slow"))),
        skipped=str(len(fleet.of("unknown"))),
    )
    for node in fleet.nodes:
        name = printable(node.name)
        case = ElementTree.SubElement(suite, "testcase", classname="isthmus.fleet", name=name)
        if node.state == "slow":
            text = printable("; ".join(map(_what, node.outliers)))
            ElementTree.SubElement(case, "failure", message=text)
        elif node.state == "unknown":
            ElementTree.SubElement(case, "skipped", message="fewer than six of its kind")
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _prometheus(fleet: Fleet) -> str:
    """Metrics in the text format of node_exporter's folder of text files."""
    lines = [
        "# HELP isthmus_node_slow Whether a time is far above the median of its kind.",
        "# TYPE isthmus_node_slow gauge",
    ]
    lines += [
        f'isthmus_node_slow{{node="{_label(node.name)}"}} {int(node.state == "slow")}'
        for node in fleet.nodes
        if node.state != "unknown"
    ]
    lines += [
        "# HELP isthmus_time_ratio Time over the median of its kind, of what is far above it.",
        "# TYPE isthmus_time_ratio gauge",
    ]
    for node in fleet.nodes:
        for one in node.outliers:
            named = {
                "node": one.node, "study": one.study, "device": one.device,
                "operation": one.operation, "memory": one.memory, "axes": one.axes,
                "sizes": one.sizes,
            }  # fmt: skip
            labels = ",".join(f'{name}="{_label(value)}"' for name, value in named.items())
            lines.append(f"isthmus_time_ratio{{{labels}}} {one.ratio:.6g}")
    return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


FORMATS: Mapping[str, Callable[[Fleet], str]] = MappingProxyType(
    {"summary": _summary, "list": _list, "nodes": _nodes, "json": _json, "junit": _junit,
     "prometheus": _prometheus}
)  # fmt: skip
"""Functions that give the whole text, by name."""
