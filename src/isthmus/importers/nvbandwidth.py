"""Output of ``nvbandwidth -j`` (github.com/NVIDIA/nvbandwidth): copies of GPUs, timed by events."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

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
)

_BUFFER_BYTES = 512 << 20
"""Default of ``--bufferSize``, which the output does not have."""
_DEVICE = re.compile(r"(\d+): (.+?)(?: \(|: \(|$)")


class _Test(NamedTuple):
    operation: str
    direction: Literal["h2d", "d2h", "both", ""]
    memory: str
    initiator: Literal["cpu", "dma", "kernel"]


_TESTS = {
    "host_to_device_memcpy_ce": _Test("write", "h2d", "pinned", "dma"),
    "device_to_host_memcpy_ce": _Test("read", "d2h", "pinned", "dma"),
    "host_to_device_memcpy_sm": _Test("copy_sm_write", "h2d", "pinned", "kernel"),
    "device_to_host_memcpy_sm": _Test("copy_sm_read", "d2h", "pinned", "kernel"),
    "device_to_device_memcpy_read_ce": _Test("peer_read", "", "device", "dma"),
    "device_to_device_memcpy_write_ce": _Test("peer_write", "", "device", "dma"),
}
"""Tests that measure what an operation of study ``transfer`` measures."""


class _TestCase(msgspec.Struct):
    name: str
    status: str
    bandwidth_matrix: list[list[str]] = []


class _Body(msgspec.Struct, rename={"devices": "GPU Device list", "info": "GPU Device info"}):
    version: str = ""
    testcases: list[_TestCase] = []
    devices: list[str] | None = None
    info: Any = None
    error: str = ""


class _File(msgspec.Struct):
    nvbandwidth: _Body


def _figures(test: _TestCase, line: int) -> Iterator[Figure]:
    """One for each number: a column is a GPU, in tests between GPUs the peer of the row's GPU."""
    known = _TESTS[test.name]
    peers = known.operation.startswith("peer_")
    for row, cells in enumerate(test.bandwidth_matrix):
        for column, cell in enumerate(cells):
            if cell == "N/A" or (peers and row == column):
                continue
            yield Figure(
                line=line,
                study="transfer",
                operation=known.operation,
                device=f"cuda:{row if peers else column}",
                bytes=_BUFFER_BYTES,
                values=(number(cell, line),),
                unit="GB/s",
                statistic="median",
                clock="device",
                api="cuda",
                memory=known.memory,
                direction=known.direction,
                initiator=known.initiator,
                axes={"depth": 1, "bank": 0, **({"peer": column} if peers else {})},
                remarks=(SIZE_ASSUMED,),
            )


def read(text: str) -> Output:
    """Figures of the tests that have a counterpart here."""
    body = decoded(text, _File).nvbandwidth
    if body.error:
        raise UsageError(f"nvbandwidth failed: {' '.join(body.error.split())[:200]}")
    lines = Lines(text)
    figures: list[Figure] = []
    left_out: list[str] = []
    for test in body.testcases:
        line = lines.of(f'"{test.name}"')
        if test.status != "Passed":
            left_out.append(f"{test.name} ({test.status.lower()})")
        elif test.name in _TESTS:
            figures += _figures(test, line)
        else:
            left_out.append(f"{test.name} (no operation of Isthmus is the same)")
    names = {found[1]: found[2] for found in map(_DEVICE.match, body.devices or ()) if found}
    numbers = dict.fromkeys(figure.device for figure in figures)
    return Output(
        tool="nvbandwidth",
        version=body.version,
        figures=figures,
        devices=[
            device(one, names.get(one.partition(":")[2], "NVIDIA GPU"), api="cuda", kind="gpu")
            for one in numbers
        ],
        left_out=left_out,
        assumed=[
            "buffers of 512 MiB, the default of --bufferSize",
            "medians of three samples, the default (--useMean, --testSamples)",
        ],
    )


IMPORTER = Importer(
    "nvbandwidth", "nvbandwidth -j", lambda text: '"nvbandwidth"' in text[:200], read
)
