"""``opencl_trace.csv`` and ``native_trace.csv`` of Vitis and XRT: transfers of buffers.

An event has a number, the number of the event that it ends (0: it begins), a time in the unit of
the header's ``Resolution``, a row and a kind. Traces of OpenCL give the bytes of a transfer, traces
of native XRT do not, and name no card.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from isthmus.errors import UsageError
from isthmus.importers import base

_KINDS = {"READ_BUFFER": "READ", "WRITE_BUFFER": "WRITE"}
_CALL = "API_CALL"
"""Kind of all events of native XRT; what it calls is a number of ``MAPPING``."""
_WAYS: Mapping[str, tuple[str, Literal["h2d", "d2h"]]] = {
    "READ": ("read", "d2h"), "WRITE": ("write", "h2d"),
}  # fmt: skip
_HEAD = re.compile(r"^(Resolution|XRT Version),(.*)$", re.MULTILINE)
_PLATFORM = re.compile(r"^Dynamic_Row_Summary,\d+,([\w.]+?)(?:_\d+)?:", re.MULTILINE)
_IS_TRACE = re.compile(r"^Group_Start,(?:OpenCL|Native API) Host Trace", re.MULTILINE)
_FEWEST_CELLS = 5
"""Of an event."""


@dataclass(frozen=True)
class _Begun:
    """A transfer whose end is not read yet."""

    line: int
    kind: str
    at: float
    bytes_each: int | None


@dataclass
class _Parts:
    """What was read so far."""

    resolution: str
    problems: base.Problems = field(default_factory=base.Problems)
    names: dict[str, str] = field(default_factory=dict)
    begun: dict[str, _Begun] = field(default_factory=dict)
    ended: dict[tuple[str, int | None], tuple[int, list[float]]] = field(default_factory=dict)
    """Line of the first transfer and times of all, by kind and size."""


def read(text: str) -> base.Log:
    """A row for each direction and size, with the time of each transfer."""
    head = {name: value.strip() for name, value in _HEAD.findall(text)}
    parts = _Parts(head.get("Resolution", ""))
    if parts.resolution not in base.TIMES:
        raise UsageError(f"unknown unit '{parts.resolution[:20]}' of the trace's times")
    for line, section, cells in _cells(text):
        with parts.problems.of(line):
            if section == "MAPPING" and len(cells) > 1:
                parts.names[cells[0]] = cells[1]
            elif section == "EVENTS":
                _event(line, cells, parts)
    for one in parts.begun.values():
        parts.problems.add(one.line, f"{one.kind} has no end")
    platform = _PLATFORM.search(text)
    name = platform[1] if platform else "unknown card"
    address = f"xrt:{base.slug(name)}"
    native = "Native API Host Trace" in text
    return base.Log(
        tool="Vitis trace",
        version=head.get("XRT Version", ""),
        rows=[
            _row(line, kind, bytes_each, times, parts.resolution, address, native)
            for (kind, bytes_each), (line, times) in parts.ended.items()
        ],
        devices=[base.device(address, name, api="xrt" if native else "opencl", kind="accelerator")],
        names=[name] if platform else [],
        problems=parts.problems,
        engines=("vitis",),
    )


def _cells(text: str) -> Iterator[tuple[int, str, list[str]]]:
    """Line, section and cells of each line."""
    section = ""
    for line, row in enumerate(text.splitlines(), 1):
        if row.strip() in {"HEADER", "STRUCTURE", "MAPPING", "EVENTS", "DEPENDENCIES"}:
            section = row.strip()
        elif row.strip():
            yield line, section, next(csv.reader([row.strip()]), [])


def _event(line: int, cells: list[str], parts: _Parts) -> None:
    """Notes the begin or the end of a transfer; other events are left out."""
    if len(cells) < _FEWEST_CELLS:
        raise UsageError(f"{len(cells)} cells of an event")
    event, begin, at, _, kind, *rest = cells
    if begun := parts.begun.pop(begin, None):
        first = parts.ended.setdefault((begun.kind, begun.bytes_each), (begun.line, []))
        first[1].append(base.number(base.number(at, line) - begun.at, line))
        return
    called = parts.names.get(rest[0], "") if kind == _CALL and rest else ""
    kind = called if called in _WAYS else _KINDS.get(kind, "")
    if begin == "0" and kind:
        bytes_each = base.count(rest[0], line) if rest and not called else None
        parts.begun[event] = _Begun(line, kind, base.number(at, line), bytes_each)


def _row(
    line: int, kind: str, bytes_each: int | None, times: list[float], unit: str, address: str,
    native: bool,
) -> base.Row:  # fmt: skip
    operation, direction = _WAYS[kind]
    return base.Row(
        line=line, name=kind, kind="copy" if bytes_each else "other",
        study="transfer" if bytes_each else "",
        operation=operation if bytes_each else "", device=address, size=bytes_each, values=times,
        unit=unit, statistic="each", api="xrt" if native else "opencl", memory="",
        direction=direction, initiator="dma", axes={"depth": 1, "bank": 0},
    )  # fmt: skip


def _matches(text: str) -> bool:
    return _IS_TRACE.search(text) is not None


IMPORTER = base.Importer(
    "vitis_trace", "opencl_trace.csv and native_trace.csv of Vitis", _matches, read
)
