"""Output of ``xbutil validate`` of XRT (``xrt-smi validate``): DMA and memory bandwidths.

Both the text that it prints, of 2018 and later, and its file (``--format JSON --output FILE``). Its
"MB/s" are MiB/s. Bandwidths of memory are the best over sizes, which are not printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

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
    size,
)

_DMA_BYTES, _MEMORY_BYTES, _HOST_BYTES = 16 << 20, 16 << 20, 1 << 20
"""Block size of the DMA test where it is not printed; largest sizes of the memory tests."""
_BUFFER = re.compile(r"Buffer size - '(\S+) (KB|MB|GB)'(?: Memory Tag - '(.+)')?")
_DMA = re.compile(r"Host (->|<-) PCIe (?:->|<-) FPGA (?:write|read) bandwidth = (\S+) MB/s")
_MEMORY = re.compile(r"Throughput \(Type: (\w+)\) \(Bank count: \d+\)\s*: (\S+) MB/s")
_ONLY = re.compile(r"Maximum throughput: ([^\sM]+)\s*MB/s")
_DEVICE = re.compile(r"Validate [Dd]evice\s*:?\s*\[(\S+)\]")
_PLATFORM = re.compile(r"Platform\s+: (\S+)")
_TEST = re.compile(r"Test \d+ \[\S+\]\s*: (.+)")
_STATUS = re.compile(r"Test Status\s*: \[(.+)\]")
_OLD_DEVICE = re.compile(r"INFO: Validating card\[(\d+)\]: (\S+)")
_OLD_TEST = re.compile(r"INFO: (?:== )?Starting ([^:.]+)")
_OLD_STATUS = re.compile(r"INFO: (?:== )?.+ (PASSED|SKIPPED|FAILED)$")
"""Lines of versions before 2021."""


class _FileTest(msgspec.Struct):
    name: str
    status: str = ""
    log: list[dict[str, str]] | str = ""


class _FileDevice(msgspec.Struct):
    device_id: str = ""
    platform: str = ""
    tests: list[_FileTest] | str = ""


class _File(msgspec.Struct):
    logical_devices: list[_FileDevice]


@dataclass
class _Test:
    name: str
    status: str = ""
    details: list[tuple[int, str]] = field(default_factory=list)
    """Number and text of the lines that the test printed."""


@dataclass
class _Device:
    name: str
    platform: str = ""
    tests: list[_Test] = field(default_factory=list)


def _in_file(text: str) -> Iterator[_Device]:
    """Devices of a JSON file; one entry of a log can have several lines."""
    lines = Lines(text)
    for one in decoded(text, _File).logical_devices:
        found = _Device(one.device_id, one.platform)
        for test in one.tests if isinstance(one.tests, list) else ():
            log = test.log if isinstance(test.log, list) else []
            details = [row.strip() for entry in log for row in entry.get("Details", "").split("\n")]
            numbered = [(lines.of(row[:40]), row) for row in details]
            found.tests.append(_Test(test.name, test.status, numbered))
        yield found


def _printed(text: str) -> list[_Device]:
    """Devices of the text on the terminal. Raises UsageError for a test before any device."""
    found: list[_Device] = []
    test: _Test | None = None
    for line, row in enumerate(text.splitlines(), 1):
        row = row.strip().removeprefix("Details").lstrip(" :")  # noqa: PLW2901
        if one := _DEVICE.match(row) or _OLD_DEVICE.match(row):
            found.append(_Device(one[1], one[2] if one.re is _OLD_DEVICE else ""))
            test = None
        elif one := _TEST.match(row) or _OLD_TEST.match(row):
            if not found:
                raise UsageError(f"line {line}: a test before any device: the beginning is missing")
            test = _Test(one[1].strip())
            found[-1].tests.append(test)
        elif test and (one := _STATUS.match(row) or _OLD_STATUS.match(row)):
            test.status = one[1]
        elif test:
            test.details.append((line, row))
        elif found and (one := _PLATFORM.match(row)):
            found[-1].platform = one[1]
    return found


def _figures(test: _Test, address: str) -> Iterator[Figure]:
    """Bandwidths of a test."""
    bytes_each, assumed, tag, bank = _DMA_BYTES, True, "", -1
    for line, text in test.details:
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
            kind, rate = (memory[1], memory[2]) if memory.re is _MEMORY else ("", memory[1])
            host = kind == "HOST" or test.name.lower().startswith("host")
            bytes_each = _HOST_BYTES if host else _MEMORY_BYTES
            yield Figure(
                line=line, study="hostmem", operation="bandwidth", device=address,
                bytes=bytes_each, moved_bytes=2 * bytes_each,
                values=(number(rate, line),), unit="MiB/s", statistic="best", api="xrt",
                memory="host_only" if host else "device", direction="both" if host else "",
                initiator="kernel",
                axes={"target": "host" if host else "device", "implementation": "board",
                      "iterations": 1} | ({"kind": kind} if kind else {}),
                remarks=(SIZE_ASSUMED,),
            )  # fmt: skip


def read(text: str) -> Output:
    """Figures of all tests that passed."""
    figures, left_out, devices = [], [], []
    for one in _in_file(text) if text.lstrip().startswith("{") else _printed(text):
        address = f"xrt:{one.name or 'unknown'}"
        devices.append(device(address, one.platform, api="xrt", kind="accelerator"))
        for test in one.tests:
            passed = test.status.lower().startswith("passed")  # also "passed with warnings"
            found = list(_figures(test, address)) if passed else []
            figures += found
            if not found:
                status = test.status.lower() or "no status"
                left_out.append(f"{test.name} ({'no rate' if passed else status})")
    return Output(
        tool="xbutil validate",
        figures=figures,
        devices=devices,
        left_out=left_out,
        assumed=["for rates of memory the largest size that was tried: 16 MiB, on the host 1 MiB"],
    )


def _matches(text: str) -> bool:
    if text.lstrip().startswith("{"):
        return '"logical_devices"' in text and '"log"' in text
    return bool(re.search(f"^(?:{_DEVICE.pattern}|{_OLD_DEVICE.pattern})", text, re.MULTILINE))


IMPORTER = Importer("xbutil", "xbutil validate (text or JSON)", _matches, read)
