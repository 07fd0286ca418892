"""Writes metrics of many machines in Prometheus' text format, for node_exporter to read as a file.

Names follow "Metric and label naming" of Prometheus' documentation: base units, and the unit last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, get_args

from isthmus.analysis.fleet import Fleet, Node, Outlier, State
from isthmus.units import printable


class _Sample(NamedTuple):
    """One value of a metric, with its labels."""

    labels: Mapping[str, object]
    value: float


def prometheus(fleet: Fleet) -> str:
    """Makes the text: each metric with its help and type, then its values."""
    return "".join(f"{line}\n" for name, help_, samples in _metrics(fleet)
                   for line in _metric(name, help_, samples))  # fmt: skip


def _metrics(fleet: Fleet) -> Iterator[tuple[str, str, Iterable[_Sample]]]:
    nodes = list(_unique(fleet.nodes))
    named = [({"node": node.name}, node) for node in nodes]
    yield (
        "isthmus_node_info", "Processor and devices of a machine.",
        [_Sample({**name, "kind": node.kind}, 1) for name, node in named if node.kind],
    )  # fmt: skip
    yield (
        "isthmus_node_state", "1 for the state that a machine with its devices is in.",
        [
            _Sample({**name, "state": state}, state == node.state)
            for name, node in named
            for state in get_args(State)
        ],
    )  # fmt: skip
    yield (
        "isthmus_unreadable_files", "Files in the folder that cannot be read.",
        [_Sample({}, fleet.unreadable)],
    )  # fmt: skip
    yield (
        "isthmus_run_start_timestamp_seconds", "When a machine's newest run began.",
        [_Sample(name, n.started.timestamp()) for name, n in named if n.started],
    )  # fmt: skip
    figures = [(_labels(node, outlier), outlier) for node in nodes for outlier in node.figures]
    yield (
        "isthmus_operation_duration_seconds", "Time of one operation, a mean over sizes.",
        [_Sample(labels, outlier.seconds) for labels, outlier in figures],
    )  # fmt: skip
    yield (
        "isthmus_operation_bytes_per_second", "Bytes that an operation moves over its time.",
        [_Sample(labels, outlier.bytes_per_second) for labels, outlier in figures
         if outlier.bytes_per_second is not None],
    )  # fmt: skip
    yield (
        "isthmus_operation_duration_ratio", "Time over the usual one of the machine's kind.",
        [_Sample(labels, outlier.ratio) for labels, outlier in figures
         if outlier.ratio is not None],
    )  # fmt: skip
    yield (
        "isthmus_operation_base_duration_ratio", "Time over the machine's own in the baseline.",
        [_Sample(_labels(node, outlier), outlier.ratio)
         for node in nodes for outlier in node.base if outlier.ratio is not None],
    )  # fmt: skip
    yield (
        "isthmus_host_duration_ratio", "Time of the host's own work over the usual one.",
        [_Sample({**name, "reference": outlier.reference.removesuffix("_s")}, outlier.ratio)
         for name, node in named for outlier in node.speeds],
    )  # fmt: skip
    yield (
        "isthmus_baseline_slower_quantities", "Quantities slower than in the baseline.",
        [_Sample({}, len(fleet.shifts))],
    )  # fmt: skip


def _unique(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yields one node for each name: of a name with several kinds, the node in the worst state."""
    order = get_args(State)
    worst: dict[str, Node] = {}
    for node in nodes:
        name = printable(node.name)
        if name not in worst or order.index(node.state) < order.index(worst[name].state):
            worst[name] = node
    return iter(worst.values())


def _labels(node: Node, outlier: Outlier) -> dict[str, object]:
    return {
        "node": node.name,
        "study": outlier.study,
        "device": outlier.device,
        "operation": outlier.operation,
        "memory": outlier.memory,
        "axes": outlier.axes,
        "clock": outlier.clock,
        "sizes": outlier.sizes,
    }


def _metric(name: str, help_: str, samples: Iterable[_Sample]) -> Iterator[str]:
    """Yields the lines of one metric, or no line if the metric has no value."""
    lines: dict[str, str] = {}
    for labels, value in samples:
        if math.isfinite(value):
            text = ",".join(f'{key}="{_label(label)}"' for key, label in labels.items() if label)
            series = f"{name}{{{text}}}" if text else name
            lines.setdefault(series, f"{series} {float(value):.10g}")
    if lines:
        yield f"# HELP {name} {help_}"
        yield f"# TYPE {name} gauge"
        yield from lines.values()


def _label(value: object) -> str:
    return printable(value).replace("\\", "\\\\").replace('"', '\\"')
