"""Files of clpeak (github.com/krrishnarraj/clpeak): XML of all versions, JSON since 2.0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.etree import ElementTree

import msgspec

from isthmus.errors import UsageError
from isthmus.importers.base import (
    SIZE_ASSUMED,
    Figure,
    Importer,
    Lines,
    Output,
    decoded,
    device,
    number,
    slug,
)

_BYTES = 512 << 20
"""The most that clpeak transfers in one call to a GPU; with less device memory it is less."""
_FORMAT = "format_version"


class _Entry(msgspec.Struct):
    """One result, as the JSON file has it."""

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
    operation: str
    memory: str
    direction: str = ""
    initiator: str = "cpu"


_METRICS = {
    ("transfer_bandwidth", "enqueuewritebuffer"): _Metric("write", "pageable", "h2d"),
    ("transfer_bandwidth", "enqueuereadbuffer"): _Metric("read", "pageable", "d2h"),
    ("transfer_bandwidth", "enqueuemapbuffer"): _Metric("map", "alloc_host", "d2h"),
    ("transfer_bandwidth", "enqueueunmap"): _Metric("unmap", "alloc_host", "h2d"),
    ("transfer_bandwidth", "h2d_pinned"): _Metric("write", "pinned", "h2d", "dma"),
    ("transfer_bandwidth", "d2h_pinned"): _Metric("read", "pinned", "d2h", "dma"),
    ("kernel_launch_latency", "roundtrip"): _Metric("launch", "", "", "kernel"),
}
"""Results that are what an operation of study ``transfer`` measures, by test and metric."""
_MEMORY_TEST = "global_memory_bandwidth"
_UNITS = {"gbps": "GB/s", "us": "us"}
_APIS = {"OpenCL": "opencl", "CUDA": "cuda"}


def _metric(entry: _Entry) -> _Metric | None:
    if entry.backend not in _APIS:
        return None
    if entry.test == _MEMORY_TEST:
        return _Metric("kernel_read", "device", "", "kernel")
    return _METRICS.get((entry.test, entry.metric))


def read(text: str) -> Output:
    """Transfers, launches and reads of device memory; what is computed is left out."""
    if text.lstrip().startswith("{"):
        file = decoded(text, _File)
        return _output(text, file.entries, file.clpeak_version, '"metric":"{}"')
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise UsageError("an XML document type, which clpeak does not write")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise UsageError(f"{error}") from error
    new = _FORMAT in root.attrib
    entries = list(_entries_2(root) if new else _entries_1(root))
    word = 'name="{}"' if new else "<{}"
    return _output(text, entries, root.get("clpeak_version", ""), word)


def _entries_1(root: ElementTree.Element) -> Iterator[_Entry]:
    """Results of versions before 2: platform, device, test, and metrics by the tag's name."""
    for platform in root.iter("platform"):
        for of in platform.iter("device"):
            for test in of:
                for one in list(test) or [test]:
                    yield _Entry(
                        test.tag, one.tag, test.get("unit", ""), one.text or "",
                        of.get("name", ""), platform.get("name", ""),
                    )  # fmt: skip


def _entries_2(root: ElementTree.Element) -> Iterator[_Entry]:
    """Results of version 2: run, category, test, metric."""
    for run in root.iter("run"):
        for test in run.iter("test"):
            for one in test.iter("metric"):
                yield _Entry(
                    test.get("name", ""), one.get("name", ""), test.get("unit", ""), one.text or "",
                    run.get("device", ""), run.get("platform", ""), run.get("backend", ""),
                    one.get("status", "ok"),
                )  # fmt: skip


def _output(text: str, entries: Sequence[_Entry], version: str, word: str) -> Output:
    lines, figures, left_out = Lines(text), [], dict[str, None]()
    devices = {}
    for entry in entries:
        line, metric = lines.of(word.format(entry.metric)), _metric(entry)
        named = entry.test if entry.metric == entry.test else f"{entry.test} {entry.metric}"
        if entry.status != "ok" or metric is None:
            why = entry.status if entry.status != "ok" else "no operation of Isthmus is the same"
            left_out[f"{named if metric else entry.test} ({why})"] = None
        elif entry.value is not None and str(entry.value).strip("0.") == "":
            left_out[f"{named} (0: nothing was moved)"] = None
        else:
            api = _APIS[entry.backend]
            address = f"{api}:{slug(entry.device)}"
            devices[address] = device(address, entry.device, api=api)
            figures.append(_figure(entry, metric, line, address, api))
    return Output(
        tool="clpeak",
        version=version,
        figures=figures,
        devices=list(devices.values()),
        left_out=list(left_out),
        assumed=["512 MiB in one transfer, the most that clpeak takes by default"],
    )


def _figure(entry: _Entry, metric: _Metric, line: int, address: str, api: str) -> Figure:
    if entry.unit not in _UNITS:
        raise UsageError(f"line {line}: unit '{entry.unit[:20]}' of {entry.test[:40]}")
    launch = metric.operation == "launch"
    axes: dict[str, int | str] = {"depth": 1, "bank": 0}
    axes |= {"vector": entry.metric} if entry.test == _MEMORY_TEST else {}
    return Figure(
        line=line,
        study="transfer",
        operation=metric.operation,
        device=address,
        bytes=0 if launch else _BYTES,
        values=(number(entry.value if entry.value is not None else "", line),),
        unit=_UNITS[entry.unit],
        statistic="mean",
        clock="host",
        api=api,
        memory=metric.memory,
        direction=metric.direction,  # type: ignore[arg-type]
        initiator=metric.initiator,  # type: ignore[arg-type]
        axes=axes,
        remarks=() if launch else (SIZE_ASSUMED,),
    )


def _matches(text: str) -> bool:
    return "<clpeak" in text[:400] or '"clpeak_version"' in text[:400]


IMPORTER = Importer("clpeak", "clpeak --xml-file, or --json-file", _matches, read)
