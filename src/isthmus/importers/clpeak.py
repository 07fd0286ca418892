"""Text, XML and JSON of clpeak (github.com/krrishnarraj/clpeak), versions 1 and 2."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple
from xml.etree import ElementTree

import msgspec

from isthmus.errors import UsageError
from isthmus.importers import base
from isthmus.importers.cleaning import json_objects, without_objects
from isthmus.thresholds import NOTHING_BPS

_FORMAT = "format_version"
_TRANSFER, _MEMORY_TEST, _LAUNCH = (
    "transfer_bandwidth", "global_memory_bandwidth", "kernel_launch_latency",
)  # fmt: skip


class _Entry(msgspec.Struct):
    """One result of clpeak; fields have the names of clpeak's JSON file."""

    test: str
    metric: str
    unit: str
    value: float | str | None = None
    device: str = ""
    platform: str = ""
    backend: str = "OpenCL"
    status: str = "ok"


class _File(msgspec.Struct):
    entries: list[_Entry]
    clpeak_version: str = ""


class _Metric(NamedTuple):
    kind: base.Kind
    operation: str = ""
    memory: str = ""
    direction: Literal["h2d", "d2h", "both", ""] = ""
    initiator: Literal["cpu", "dma", "kernel"] = "cpu"


_METRICS = {
    (_TRANSFER, "enqueuewritebuffer"): _Metric("copy", "write", "pageable", "h2d"),
    (_TRANSFER, "enqueuereadbuffer"): _Metric("copy", "read", "pageable", "d2h"),
    (_TRANSFER, "enqueuewritebuffer_nonblocking"): _Metric("copy", "", "pageable", "h2d"),
    (_TRANSFER, "enqueuereadbuffer_nonblocking"): _Metric("copy", "", "pageable", "d2h"),
    (_TRANSFER, "enqueuemapbuffer"): _Metric("copy", "map", "alloc_host", "d2h"),
    (_TRANSFER, "enqueueunmap"): _Metric("copy", "unmap", "alloc_host", "h2d"),
    (_TRANSFER, "h2d_pinned"): _Metric("copy", "write", "pinned", "h2d", "dma"),
    (_TRANSFER, "d2h_pinned"): _Metric("copy", "read", "pinned", "d2h", "dma"),
    (_TRANSFER, "h2d"): _Metric("copy", "", "", "h2d", "dma"),
    (_TRANSFER, "d2h"): _Metric("copy", "", "", "d2h", "dma"),
    (_LAUNCH, "roundtrip"): _Metric("call", "launch", "", "", "kernel"),
    (_LAUNCH, _LAUNCH): _Metric("call", "", "", "", "kernel"),
}
"""What each metric of clpeak measures, by test and name of the metric. ``operation`` is the
operation of study ``transfer`` that measures the same."""
_APIS = {"OpenCL": "opencl", "CUDA": "cuda"}
_TITLES = {
    "global memory bandwidth": _MEMORY_TEST, "transfer bandwidth": _TRANSFER,
    "kernel launch latency": _LAUNCH,
}  # fmt: skip
_PLATFORM = re.compile(r"\s*Platform(?: \d+)?: (.+)")
_DEVICE = re.compile(r"\s*Device(?: \d+)?: (.+)")
_SECTION = re.compile(r"\s*([A-Z][\w -]+(?: 24bit)?)\s*(?:\(([\w/]+)\))?\s*(?::\s*(.*))?$")
_VALUE = re.compile(r"\s*([A-Za-z][\w ()-]*?)\s*:\s*(\S.*?)\s*$")
_FAILED = re.compile(r"\s*(?:\w+ +: )?(cl\w+ \(-\d+\)).*")
_XML = re.compile(r"<clpeak.*?(?:</clpeak>|\Z)", re.DOTALL)
_KNOWN_VALUE = re.compile(r"memcpy_(?:from|to)_mapped_ptr|(?:float|double|half|int|short|char)\d*")
_ABOUT = ("Driver version", "Compute units", "Clock frequency", "API version", "VRAM")


def _metric(entry: _Entry) -> _Metric:
    if entry.test == _MEMORY_TEST:
        return _Metric("memory", "kernel_read", "device", "", "kernel")
    metric = _METRICS.get((entry.test, entry.metric), _Metric("other"))
    return metric if entry.backend in _APIS else metric._replace(operation="")


def read(text: str) -> base.Log:
    """Reads transfers, launches and reads of device memory; leaves out tests of computing."""
    log = _Parts()
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise UsageError("an XML document type, which clpeak does not write")
    objects = [pair for pair in json_objects(text) if '"clpeak_version"' in pair[1][:400]]
    for at, body in objects:
        file = base.decoded(body, _File)
        log.version = file.clpeak_version
        log.take(body, file.entries, '"metric":"{}"', at)
    text = without_objects(text, objects)
    files = [(1 + text.count("\n", 0, match.start()), match[0]) for match in _XML.finditer(text)]
    for at, body in files:
        _of_xml(body, at, log)
    _of_text(without_objects(text, files), log)
    return log.log()


def _of_xml(text: str, at: int, log: _Parts) -> None:
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise UsageError(f"line {at}: {error}") from error
    new = _FORMAT in root.attrib
    log.version = root.get("clpeak_version", "")
    entries = list(_entries_2(root) if new else _entries_1(root))
    log.take(text, entries, 'name="{}"' if new else "<{}", at)


def _entries_1(root: ElementTree.Element) -> Iterator[_Entry]:
    """Yields the results in XML of versions before 2, whose tags are the names of the metrics."""
    for platform in root.iter("platform"):
        for device in platform.iter("device"):
            for test in device:
                for metric in list(test) or [test]:
                    yield _Entry(
                        test.tag, metric.tag, test.get("unit", ""), metric.text or "",
                        device.get("name", ""), platform.get("name", ""),
                    )  # fmt: skip


def _entries_2(root: ElementTree.Element) -> Iterator[_Entry]:
    """Yields the results in XML of version 2, where runs hold tests and tests hold metrics."""
    for run in root.iter("run"):
        for test in run.iter("test"):
            for metric in test.iter("metric"):
                yield _Entry(
                    test.get("name", ""), metric.get("name", ""),
                    test.get("unit", ""), metric.text or "",
                    run.get("device", ""), run.get("platform", ""), run.get("backend", ""),
                    metric.get("status", "ok"),
                )  # fmt: skip


def _of_text(text: str, log: _Parts) -> None:
    """Reads printed text: a section for each test, with its unit in the title."""
    platform = name = test = printed = ""
    indent = 0
    for line, row in enumerate(text.splitlines(), 1):
        if match := _PLATFORM.match(row):
            platform, test = match[1].strip(), ""
        elif match := _DEVICE.match(row):
            name, test = match[1].strip(), ""
        elif row.strip().startswith(_ABOUT):
            continue
        elif match := _FAILED.match(row):
            log.outcomes.append(base.Outcome(line, test or "clpeak", "failed", match[1]))
        elif (match := _SECTION.match(row)) and match[1].strip().lower() in _TITLES:
            test, printed = _TITLES[match[1].strip().lower()], match[2] or ""
            indent = _indent(row)
            if match[3] and len(words := match[3].split()) == 2:
                log.take_one(_Entry(test, test, words[1], words[0], name, platform), line)
        elif (match := _SECTION.match(row)) and match[2] and not match[3]:
            test = ""  # this section's test moves no data: skip its results
            log.left_out[f"{match[1].strip()} (nothing is moved)"] = None
        elif test and (match := _VALUE.match(row)):
            metric = _of_words(match[1])
            if _indent(row) <= indent and not _is_known(test, metric):
                test = ""  # another program printed this line: the section has ended
                continue
            backend = "OpenCL" if platform else "Vulkan"
            log.take_one(
                _Entry(test, metric, printed, match[2].split()[0], name, platform, backend), line
            )


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())


def _is_known(test: str, metric: str) -> bool:
    return (test, metric) in _METRICS or _KNOWN_VALUE.fullmatch(metric) is not None


def _of_words(words: str) -> str:
    """A metric's name in clpeak's files, from the printed name: ``enqueueMapBuffer(for read)``."""
    plain = re.sub(r"\([^)]*\)", "", words.strip().lower())
    return re.sub(r"[\s_]+", "_", plain.replace("non-blocking", "nonblocking")).strip("_")


def _usable(value: float | str | None) -> bool:
    """Whether to keep a printed value: a number above 0, or a text that ``_row`` then reports."""
    try:
        return 0 < float(value or 0) < math.inf
    except ValueError:
        return True  # kept, so that ``_row`` reports the text as a problem


class _Parts:
    """Collects devices, rows and problems while a text of clpeak is read."""

    def __init__(self) -> None:
        self.rows: list[base.Row] = []
        self.devices: dict[str, str] = {}
        self.apis: dict[str, str] = {}
        self.left_out: dict[str, None] = {}
        self.names: dict[str, None] = {}
        self.outcomes: list[base.Outcome] = []
        self.problems = base.Problems()
        self.version = ""

    def take(self, text: str, entries: Sequence[_Entry], word: str, at: int) -> None:
        """Adds the entries of a file that begins in line ``at``; ``word`` leads to each line."""
        lines = base.Lines(text)
        for entry in entries:
            self.take_one(entry, at - 1 + lines.of(word.format(entry.metric)))

    def take_one(self, entry: _Entry, line: int) -> None:
        """Adds one entry of clpeak, found in this line, as a row or as a problem."""
        metric = _metric(entry)
        if entry.device:
            self.names[entry.device] = None
        named = entry.test if entry.metric == entry.test else f"{entry.test} {entry.metric}"
        if entry.status != "ok":
            self.left_out[f"{named} ({entry.status})"] = None
        elif entry.test not in {_TRANSFER, _MEMORY_TEST, _LAUNCH}:
            self.left_out[f"{entry.test} (no operation of Isthmus is the same)"] = None
        elif not _usable(entry.value):
            shown = f"{entry.value} {entry.unit}" if entry.value not in {None, ""} else "no value"
            self.problems.add(line, f"{named}: {shown.strip()} is unusable")
        else:
            with self.problems.of(line):
                self.rows.append(self._row(entry, metric, line))

    def _row(self, entry: _Entry, metric: _Metric, line: int) -> base.Row:
        meant = base.unit(entry.unit, line)
        api = _APIS.get(entry.backend, entry.backend.lower())
        address = f"{api}:{base.slug(entry.device)}"
        self.devices[address], self.apis[address] = entry.device, api
        call = metric.kind == "call"
        axes: dict[str, int | str] = {"depth": 1, "bank": 0}
        axes |= {"vector": entry.metric} if entry.test == _MEMORY_TEST else {}
        value = base.number(entry.value if entry.value is not None else "", line)
        moved_nothing = metric.kind == "copy" and meant == "GB/s" and value * 1e9 > NOTHING_BPS
        return base.Row(
            line=line,
            name=f"{entry.test} {entry.metric}" if entry.metric != entry.test else entry.test,
            kind=metric.kind if metric.memory or call or metric.direction else "other",
            device=address,
            part=entry.device,
            called=entry.metric.removeprefix("enqueue") if entry.test == _TRANSFER else "",
            size=0 if call else None,
            values=(value,),
            unit=meant,
            printed_unit=entry.unit,
            statistic="mean",
            clock="host",
            study="transfer" if metric.operation else "",
            operation=metric.operation,
            api=api if api in _APIS.values() else "",
            memory=metric.memory,
            direction=metric.direction,
            initiator=metric.initiator,
            axes=axes,
            nothing=moved_nothing,
        )

    def log(self) -> base.Log:
        """Returns the log of all entries that were added."""
        return base.Log(
            tool="clpeak",
            version=self.version,
            rows=self.rows,
            devices=[base.device(a, name, api=self.apis[a]) for a, name in self.devices.items()],
            names=list(self.names),
            outcomes=self.outcomes,
            problems=self.problems,
            left_out=list(self.left_out),
        )


def _matches(text: str) -> bool:
    return (
        "<clpeak" in text or '"clpeak_version"' in text
        or re.search(r"^\s*Transfer bandwidth \(GBPS\)", text, re.MULTILINE | re.IGNORECASE)
        is not None
        or re.search(r"^\s*Global memory bandwidth \(GBPS\)", text, re.MULTILINE) is not None
    )  # fmt: skip


IMPORTER = base.Importer("clpeak", "clpeak's text, --xml-file or --json-file", _matches, read)
