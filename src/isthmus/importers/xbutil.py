"""JSON of ``xbutil validate --format JSON --output FILE`` (XRT): DMA and memory bandwidths.

Its "MB/s" are MiB/s. Bandwidths of memory are the best over sizes, which are not printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from isthmus.importers.base import (
    SIZE_ASSUMED,
    Figure,
    Importer,
    Lines,
    Output,
    decoded,
    device,
    number,
    size,
)

_DMA_BYTES, _MEMORY_BYTES, _HOST_BYTES = 16 << 20, 16 << 20, 1 << 20
"""Block size of the DMA test where it is not printed; largest sizes of the memory tests."""
_BUFFER = re.compile(r"Buffer size - '(\S+) (KB|MB|GB)'(?: Memory Tag - '(.+)')?")
_DMA = re.compile(r"Host (->|<-) PCIe (?:->|<-) FPGA (?:write|read) bandwidth = (\S+) MB/s")
_MEMORY = re.compile(r"Throughput \(Type: (\w+)\) \(Bank count: (\d+)\)\s*: (\S+) MB/s")
_ONLY = re.compile(r"Maximum throughput: (\S+) MB/s")


class _Test(msgspec.Struct):
    name: str
    status: str = ""
    log: list[dict[str, str]] | str = ""


class _Device(msgspec.Struct):
    device_id: str = ""
    platform: str = ""
    tests: list[_Test] | str = ""


class _File(msgspec.Struct):
    logical_devices: list[_Device]


def _details(test: _Test) -> Iterator[str]:
    """Lines of a test's log; one entry can have several."""
    for entry in test.log if isinstance(test.log, list) else ():
        yield from entry.get("Details", "").splitlines()


def _figures(test: _Test, address: str, lines: Lines, bank: int) -> Iterator[Figure]:
    """Bandwidths of a test; ``bank`` counts buffers of the DMA test."""
    bytes_each, assumed, tag = _DMA_BYTES, True, ""
    for text in _details(test):
        text = text.strip()  # noqa: PLW2901
        line = lines.of(text[:40])
        if buffer := _BUFFER.match(text):
            bytes_each, assumed, tag = size(buffer[1], line, buffer[2]), False, buffer[3] or ""
            bank += 1
        elif dma := _DMA.match(text):
            write = dma[1] == "->"
            axes: dict[str, int | str] = {"depth": 1, "bank": max(bank, 0)}
            yield Figure(
                line=line, study="transfer", operation="write" if write else "read",
                device=address, bytes=bytes_each, values=(number(dma[2], line),), unit="MiB/s",
                statistic="mean", api="xrt", memory="aligned",
                direction="h2d" if write else "d2h", initiator="dma",
                axes=axes | ({"tag": tag} if tag else {}),
                remarks=(SIZE_ASSUMED,) if assumed else (),
            )  # fmt: skip
        elif memory := _MEMORY.match(text) or _ONLY.match(text):
            kind, rate = (memory[1], memory[3]) if memory.re is _MEMORY else ("DDR", memory[1])
            host = kind == "HOST"
            yield Figure(
                line=line, study="hostmem", operation="bandwidth", device=address,
                bytes=_HOST_BYTES if host else _MEMORY_BYTES,
                moved_bytes=2 * (_HOST_BYTES if host else _MEMORY_BYTES),
                values=(number(rate, line),), unit="MiB/s", statistic="best", api="xrt",
                memory="host_only" if host else "device", direction="both" if host else "",
                initiator="kernel",
                axes={"target": "host" if host else "device", "implementation": "board",
                      "iterations": 1, "kind": kind},
                remarks=(SIZE_ASSUMED,),
            )  # fmt: skip


def read(text: str) -> Output:
    """Figures of all tests that passed."""
    lines, figures, left_out, devices = Lines(text), [], [], []
    for one in decoded(text, _File).logical_devices:
        address = f"xrt:{one.device_id or 'unknown'}"
        devices.append(device(address, one.platform, api="xrt", kind="accelerator"))
        for test in one.tests if isinstance(one.tests, list) else ():
            passed = test.status.lower() == "passed"
            found = list(_figures(test, address, lines, -1)) if passed else []
            figures += found
            if not found:
                left_out.append(f"{test.name} ({'no rate' if passed else test.status})")
    return Output(
        tool="xbutil validate",
        figures=figures,
        devices=devices,
        left_out=left_out,
        assumed=["for rates of memory the largest size that was tried: 16 MiB, on the host 1 MiB"],
    )


IMPORTER = Importer(
    "xbutil",
    "xbutil validate --format JSON",
    lambda text: text.lstrip().startswith("{") and '"logical_devices"' in text and '"log"' in text,
    read,
)
