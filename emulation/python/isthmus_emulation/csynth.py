"""Reads the report of Vitis HLS on a kernel's schedule: ``csynth.xml`` of its synthesis.

Vitis HLS writes ``SOLUTION/syn/report/csynth.xml``, and ``v++ -c`` keeps a copy in its reports
(UG1399). This module reads name and clock of the kernel in ``UserAssignments``, its latency in
``SummaryOfOverallLatency``, and loops in ``SummaryOfLoopLatency``, also those of
``ModuleInformation``. A latency or a trip count that HLS cannot know is ``undef``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from isthmus.errors import UsageError
from isthmus_emulation.xclbin.metadata import tree_of

_MOST_BYTES = 64 << 20
"""Largest report that is read: reports with thousands of ports have 2.5 MB."""
_MOST_DIGITS = len(str(1 << 63))
"""Most digits of a count of cycles: the card's integers hold no more."""
_DEEPEST_LOOPS = 100
"""Most nested loops that are read; kernels have fewer than 10."""
_MOST_SHOWN = 60
"""Most letters of a text from the report in messages."""
_PERIOD = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
"""The clock's period in nanoseconds, as HLS writes it: ``4.00``."""
_UNKNOWN = ("undef", "?", "-", "")
_LATENCY = "PerformanceEstimates/SummaryOfOverallLatency/"
_LOOPS = "PerformanceEstimates/SummaryOfLoopLatency"


@dataclass(frozen=True)
class Loop:
    """A loop whose trip count HLS does not know. A value is None if the report lacks it."""

    name: str
    interval: str | None
    """Initiation interval in cycles, if the loop is a pipeline."""
    depth: str | None
    """Cycles of one iteration of the loop."""

    def __str__(self) -> str:
        facts = [f"II {self.interval}"] if self.interval else []
        facts += [f"{self.depth} cycles an iteration"] if self.depth else []
        return f"{self.name} ({', '.join(facts)})" if facts else self.name


@dataclass(frozen=True)
class LongLoop:
    """The loop that takes the most cycles of a kernel."""

    name: str
    cycles: int
    interval: str | None
    """Initiation interval in cycles, if the loop is a pipeline."""

    def __str__(self) -> str:
        interval = f", II {self.interval}" if self.interval else ""
        return f"loop {self.name} {self.cycles}{interval}"


@dataclass(frozen=True)
class Report:
    """The latency of a kernel, in cycles from its start to its end."""

    kernel: str
    version: str
    """Version of Vitis HLS; empty if the report has none."""
    clock_mhz: float | None
    """Clock in MHz that the schedule is for."""
    least: int | None
    """Least latency in cycles. ``least`` and ``most`` are None if HLS does not know them."""
    most: int | None
    unknown_loops: tuple[Loop, ...]
    longest: LongLoop | None
    """Loop with the most cycles; None if the report has no loops, or no latency."""


def read(path: Path) -> Report:
    """Reads a report; raises UsageError with one line for a file that is no such report."""
    try:
        with path.open("rb") as file:
            xml = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    if len(xml) > _MOST_BYTES:
        raise UsageError(f"{path}: larger than {_MOST_BYTES >> 20} MiB, which no csynth.xml is")
    root = tree_of(xml, str(path))
    kernel = root.findtext("UserAssignments/TopModelName", "").strip()
    texts = [root.findtext(f"{_LATENCY}{case}-caseLatency") for case in ("Best", "Worst")]
    if not kernel or None in texts:
        raise UsageError(
            f"{path}: no report of Vitis HLS's synthesis: its csynth.xml has a TopModelName and a "
            "Worst-caseLatency"
        )
    least, most = (_count(text or "", path) for text in texts)
    if least is None or most is None:
        least = most = None
    elif least > most:
        raise UsageError(
            f"{path}: its Best-caseLatency, {least}, is more than its Worst-caseLatency, {most}"
        )
    return Report(
        kernel=kernel,
        version=shown(root.findtext("ReportVersion/Version", "")),
        clock_mhz=_clock_mhz(root, path),
        least=least,
        most=most,
        unknown_loops=tuple(_unknown_loops(root)) if most is None else (),
        longest=None if most is None else _longest(root),
    )


def _count(text: str, path: Path) -> int | None:
    """Returns a count of cycles; None if HLS does not know it."""
    text = text.strip()
    if text in _UNKNOWN:
        return None
    if not _is_count(text):
        raise UsageError(f"{path}: a latency of '{shown(text)}' is no count of cycles")
    return int(text)


def _is_count(text: str) -> bool:
    """Returns whether the text is a count of cycles that the card's integers can hold."""
    return text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS


def _clock_mhz(root: ElementTree.Element, path: Path) -> float | None:
    text = root.findtext("UserAssignments/TargetClockPeriod", "").strip()
    if text in _UNKNOWN:
        return None
    if not _PERIOD.fullmatch(text) or float(text) == 0:
        raise UsageError(f"{path}: a TargetClockPeriod of '{shown(text)}' is no time in ns")
    return 1e3 / float(text)


def _parts(root: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Yields the elements of the kernel's loops and of its modules' loops."""
    for part in (root, *root.iterfind("ModuleInformation/Module")):
        loops = part.find(_LOOPS)
        if loops is not None:
            yield loops


def _longest(root: ElementTree.Element) -> LongLoop | None:
    counted = [
        LongLoop(_name(loop), int(latency), _known(loop, "PipelineII"))
        for loops in _parts(root)
        for loop in loops
        if (latency := _known(loop, "Latency/range/max") or _known(loop, "Latency"))
        and _is_count(latency)
    ]
    return max(counted, key=lambda loop: loop.cycles, default=None)


def _name(loop: ElementTree.Element) -> str:
    return shown(loop.findtext("Name", loop.tag))


def shown(text: str) -> str:
    """Returns the beginning of a text without characters that a terminal cannot print."""
    return "".join(letter for letter in text.strip()[:_MOST_SHOWN] if letter.isprintable())


def _unknown_loops(root: ElementTree.Element) -> Iterator[Loop]:
    """Yields the innermost loops without a known trip count."""
    names = set()
    for part in _parts(root):
        for loop in _innermost(part):
            unknown = Loop(
                _name(loop),
                _known(loop, "PipelineII"),
                _known(loop, "PipelineDepth") or _known(loop, "IterationLatency"),
            )
            if unknown.name not in names:
                names.add(unknown.name)
                yield unknown


def _innermost(
    loops: ElementTree.Element, depth: int = _DEEPEST_LOOPS
) -> Iterator[ElementTree.Element]:
    for loop in loops:
        trips = loop.find("TripCount")
        if trips is None:
            continue
        within = list(_innermost(loop, depth - 1)) if depth > 1 else []
        if within:
            yield from within
        elif len(trips) == 0 and (trips.text or "").strip() in _UNKNOWN:
            yield loop


def _known(loop: ElementTree.Element, what: str) -> str | None:
    text = loop.findtext(what, "").strip()
    return None if text in _UNKNOWN else shown(text)
