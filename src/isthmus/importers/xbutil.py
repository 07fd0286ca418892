"""Reads outputs of XRT's ``xbutil`` and ``xrt-smi``: ``validate``, ``examine`` and ``dmatest``.

``validate`` prints text, since 2018 in several forms, or writes a JSON file (``--format JSON``).
Its "MB/s" are MiB/s. It prints no sizes for memory tests and older DMA tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from isthmus.importers import base
from isthmus.importers.cleaning import json_objects, without_objects

_BUFFER = re.compile(
    r"Buffer [Ss]ize\s*[-:]\s*'?\s*([\d.]+)\s*([KMG]?i?B|[Bb]ytes?)\b'?"
    r"(?:\s*Memory Tag\s*[-:]\s*'?([^']+)'?)?"
)
_BANK = re.compile(r"(?:INFO: )?Data Validity & DMA Test on (\S+)")
_DMA = re.compile(
    r"Host (->|<-) PCIe (?:->|<-) FPGA (?:write|read) bandwidth\s*[=:]\s*(\S+) ?([KMGT]i?B/s\S*)"
)
_NO_RATE = re.compile(r"Host (->|<-) PCIe (?:->|<-) FPGA")
_M2M = re.compile(r"(?<!\S)(\S+) -> (\S+) M2M bandwidth: (\S+) ?([KMGT]i?B/s)")
_MEMORY = re.compile(r"Throughput \(Type: (\w+)\) \(Bank count: (\d+)\)\s*: (\S+?) ?([KMGT]i?B/s)")
_ONLY = re.compile(r"Maximum throughput: ([^\sKMGT]+)\s*([KMGT]i?B/s)")
_IOPS = re.compile(r"(?:Maximum )?IOPS: (\S+)")
_DEVICE = re.compile(r"Validate [Dd]evice\s*:?\s*\[(\S+)\]")
_EXAMINED = re.compile(r"\d+/\d+ \[([\da-f:.]+)\] : (\S+)")
_PLATFORM = re.compile(r"Platform\s+: (\S+)")
_TEST = re.compile(r"(?:Test \d+ \[\S+\]|\d+/\d+ Test #\d+)\s*: (.+)")
_STATUS = re.compile(r"(?:Test Status\s*: )?\[((?:PASSED|FAILED|SKIPPED)[^\]]*)\]")
_ERROR = re.compile(r"(?:Error|Warning)(?:\(s\))?\s*: (.+)")
_OLD_DEVICE = re.compile(r"(?:INFO: )?Validating card\[(\d+)\]: (\S+)")
_OLD_TEST = re.compile(r"INFO: (?:== )?(?:Starting ([^:.]+)|Checking ([^:]+):)")
_OLD_STATUS = re.compile(
    r"(?:INFO|WARN|ERROR): (?:== )?(?:.+ |Checking .+: )(PASSED|SKIPPED|FAILED)"
)
_OLD_WARNING = re.compile(r"(?:WARNING|WARN|ERROR): (.+)|LINK ACTIVE, (.+)", re.IGNORECASE)
"""Matches warnings and errors as versions before 2021 print them."""
_PCIE = re.compile(r"PCIe\s*:\s*Gen\s*(\d)\s*x\s*(\d+)", re.IGNORECASE)
_THREADS = re.compile(r"DMA Thread Count\s*: (\d+)")
_NEEDED = re.compile(
    r"plugged in(?:to)? (?:a )?Gen ?(\d)x(\d+).{0,80}?instead of (?:Gen ?(\d)x(\d+))?",
    re.IGNORECASE | re.DOTALL,
)
_IN_NAME = re.compile(r"gen(\d)x(\d+)")


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
    line: int = 0
    status: str = ""
    details: list[tuple[int, str]] = field(default_factory=list)
    """Line number and text of each line that the test printed."""
    messages: list[str] = field(default_factory=list)


@dataclass
class _Device:
    name: str
    platform: str = ""
    line: int = 0
    tests: list[_Test] = field(default_factory=list)


def _in_file(text: str, at: int) -> Iterator[_Device]:
    """Yields the devices, with their tests, of a JSON file that begins in line ``at``."""
    lines = base.Lines(text)
    for file_device in base.decoded(text, _File).logical_devices:
        device = _Device(file_device.device_id, file_device.platform, at)
        for test in file_device.tests if isinstance(file_device.tests, list) else ():
            log = test.log if isinstance(test.log, list) else []
            of_test = _Test(test.name, at - 1 + lines.of(f'"{test.name}"'), test.status)
            for entry in log:
                for kind, words in entry.items():
                    rows = [row.strip() for row in words.split("\n")]
                    if kind.startswith(("Error", "Warning")):
                        of_test.messages += rows
                    of_test.details += [(at - 1 + lines.of(row[:40]), row) for row in rows]
            device.tests.append(of_test)
        yield device


class _Screen:
    """Reads printed text line by line; tests before any device's line get an unnamed device."""

    def __init__(self) -> None:
        self.devices: list[_Device] = []
        self._test: _Test | None = None

    def take(self, line: int, raw: str) -> None:
        """Reads one line of printed text."""
        row = raw.strip().removeprefix("Details").lstrip(" :")
        if not (self._of_device(line, row) or self._of_test(line, row)):
            self._of_figures(line, row, raw)

    def _of_device(self, line: int, row: str) -> bool:
        if match := _DEVICE.match(row) or _OLD_DEVICE.match(row):
            platform = match[2] if match.re is _OLD_DEVICE else ""
            self.devices.append(_Device(match[1], platform, line))
        elif match := _EXAMINED.match(row):
            if not any(each.name == match[1] for each in self.devices):
                self.devices.append(_Device(match[1], match[2], line))
        elif match := _PLATFORM.match(row):
            if (
                self.devices and self.devices[-1].platform
            ):  # a second line with a platform begins another card
                self.devices.append(_Device("", line=line))
                self._test = None
            self._last(line).platform = match[1]
            return True
        else:
            return False
        self._test = None
        return True

    def _last(self, line: int) -> _Device:
        self.devices = self.devices or [_Device("", line=line)]
        return self.devices[-1]

    def _of_test(self, line: int, row: str) -> bool:
        if match := _TEST.match(row) or _OLD_TEST.match(row):
            name = match[1] if match.re is _TEST else match[1] or match[2]
            self._begin(name.strip(), line)
            if match.re is _OLD_TEST and self._test and (status := _OLD_STATUS.match(row)):
                self._test.status = status[1]
            return True
        if self._test and (match := _STATUS.match(row) or _OLD_STATUS.match(row)):
            self._test.status = match[1]
            return True
        return False

    def _begin(self, name: str, line: int, status: str = "") -> _Test:
        self._test = _Test(name, line, status)
        self._last(line).tests.append(self._test)
        return self._test

    def _of_figures(self, line: int, row: str, raw: str) -> None:
        figure = any(pattern.search(row) for pattern in (_DMA, _M2M)) or _BANK.match(row)
        if not (figure or _BUFFER.match(row) or self._test):
            return
        test = self._test or self._begin("DMA", line, "not said")
        test.details.append((line, row))
        if match := _ERROR.match(row) or _OLD_WARNING.match(row):
            test.messages.append(next(filter(None, match.groups())))
        elif test.messages and raw.startswith(" " * 20) and not figure:
            test.messages.append(row)


def _printed(text: str) -> list[_Device]:
    """The devices, with their tests, in text that was printed to a terminal."""
    screen = _Screen()
    for line, raw in enumerate(text.splitlines(), 1):
        screen.take(line, raw)
    return screen.devices


def _rows(test: _Test, address: str, problems: base.Problems) -> Iterator[base.Row]:
    bytes_each: int | None = None
    tag, bank = "", -1
    for line, text in test.details:
        with problems.of(line):
            if buffer := _BUFFER.search(text):
                bytes_each, tag = base.size(buffer[1], line, buffer[2]), (buffer[3] or "").strip()
                bank += 0 if tag else 1
            elif named := _BANK.match(text):
                tag, bytes_each = named[1], None
            elif dma := _DMA.search(text):
                yield _dma(line, dma, address, bytes_each, tag, bank)
            elif between := _M2M.search(text):
                base.unit(between[4], line)
                yield base.Row(
                    line=line, name="M2M bandwidth", kind="on_card", device=address,
                    part=f"{between[1]} to {between[2]}", ends=(between[1], between[2]),
                    values=(base.number(between[3], line),),
                    unit=_meant(between[4]), printed_unit=between[4], statistic="mean", api="xrt",
                    memory="device", initiator="dma",
                )  # fmt: skip
            elif memory := _MEMORY.search(text) or _ONLY.search(text):
                yield _memory(line, memory, test.name, address)
            elif iops := _IOPS.search(text):
                yield base.Row(
                    line=line, name="iops", kind="call", device=address, part="",
                    values=(1e6 / base.number(iops[1], line),), unit="us", printed_unit="IOPS",
                    statistic="mean", api="xrt", size=0, initiator="kernel",
                )  # fmt: skip
            elif _NO_RATE.search(text):
                problems.add(line, f"no rate in '{text[:60]}'")


def _meant(printed: str) -> str:
    """The unit that XRT means by a printed unit: XRT divides by 1024 x 1024 and prints MB/s."""
    return {"MB/s": "MiB/s", "GB/s": "GiB/s", "KB/s": "KiB/s"}.get(printed, printed)


def _dma(
    line: int, dma: re.Match[str], address: str, bytes_each: int | None, tag: str, bank: int
) -> base.Row:
    write = dma[1] == "->"
    base.unit(dma[3], line)
    number_ = re.search(r"(\d+)$", tag)
    axes: dict[str, int | str] = {
        "depth": 1, "bank": int(number_[1]) if number_ and bank < 0 else max(bank, 0),
    }  # fmt: skip
    return base.Row(
        line=line, study="transfer", operation="write" if write else "read",
        name="write bandwidth" if write else "read bandwidth",
        part=tag or (f"bank {bank}" if bank > 0 else ""),
        device=address, size=bytes_each, values=(base.number(dma[2], line),), unit=_meant(dma[3]),
        printed_unit=dma[3], statistic="mean", api="xrt", memory="aligned",
        direction="h2d" if write else "d2h", initiator="dma",
        axes=axes | ({"tag": tag} if tag else {}),
    )  # fmt: skip


def _memory(line: int, memory: re.Match[str], test: str, address: str) -> base.Row:
    kind, rate = (memory[1], memory[3]) if memory.re is _MEMORY else ("", memory[1])
    printed = memory[4] if memory.re is _MEMORY else memory[2]
    base.unit(printed, line)
    host = kind == "HOST" or test.lower().startswith(("host", "hostmem"))
    return base.Row(
        line=line, study="hostmem", operation="bandwidth", device=address, times=2,
        name="throughput", kind="host_memory" if host else "memory", part=kind,
        values=(base.number(rate, line),), unit=_meant(printed), printed_unit=printed,
        statistic="best", api="xrt",
        memory="host_only" if host else "device", direction="both" if host else "",
        initiator="kernel",
        axes={"target": "host" if host else "device", "implementation": "board",
              "iterations": 1} | ({"kind": kind} if kind else {}),
    )  # fmt: skip


def _outcome(test: _Test) -> base.Outcome | None:
    status = test.status.lower()
    kinds: dict[str, Literal["failed", "skipped", "warning", "unfinished"]] = {
        "failed": "failed", "skipped": "skipped", "passed with warnings": "warning",
        "": "unfinished",
    }  # fmt: skip
    kind = kinds.get(status, "failed" if "fail" in status or "error" in status else "warning")
    messages = [message for message in test.messages if message]
    if (status.startswith("passed") and not messages) or status == "not said":
        return None
    if status == "passed":
        kind = "warning"
    if kind == "skipped" and not messages:
        messages = [row for _, row in test.details if row][:1]
    return base.Outcome(test.line, test.name, kind, " ".join(" ".join(messages).split())[:160])


def _links(text: str, devices: list[_Device]) -> Iterator[base.LinkFact]:
    for device in devices:
        if match := _IN_NAME.search(device.platform):
            link = int(match[1]), int(match[2])
            yield base.LinkFact(device.line, *link, "platform name", device.name)
    current = ""
    for line, row in enumerate(text.splitlines(), 1):
        if match := _EXAMINED.match(row.strip()) or _DEVICE.match(row.strip()):
            current = match[1]
        elif match := _PCIE.match(row.strip()):
            yield base.LinkFact(line, int(match[1]), int(match[2]), "xbutil examine", current)
    for match in _NEEDED.finditer(text):
        line = 1 + text.count("\n", 0, match.start())
        wanted = int(match[1]), int(match[2])
        if match[3]:
            yield base.LinkFact(
                line, int(match[3]), int(match[4]), "pcie-link test", capable=wanted
            )


def read(text: str) -> base.Log:
    """Reads the values of all tests that did not fail, and the outcomes of other tests."""
    rows, outcomes, records, problems = list[base.Row](), list[base.Outcome](), [], base.Problems()
    left_out: list[str] = []
    devices: list[_Device] = []
    objects = [pair for pair in json_objects(text) if '"logical_devices"' in pair[1]]
    for at, body in objects:
        devices += _in_file(body, at)
    devices += _printed(without_objects(text, objects))
    several = len({device.platform for device in devices}) > 1
    for device in devices:
        nameless = device.platform if several else "unknown"
        address = f"xrt:{device.name or nameless}"
        records.append(base.device(address, device.platform, api="xrt", kind="accelerator"))
        for test in device.tests:
            values = list(_rows(test, address, problems))
            if outcome := _outcome(test):
                outcomes.append(outcome)
            if outcome and outcome.status == "failed":
                left_out += [f"{test.name} (failed)"]
                continue
            rows += values
            if not values:
                status = test.status.lower() or "no status"
                left_out.append(f"{test.name} ({'no rate' if 'passed' in status else status})")
    threads = _THREADS.search(text)
    return base.Log(
        tool="xbutil validate" if rows or outcomes else "xbutil examine",
        rows=rows,
        devices=records,
        names=list(dict.fromkeys(device.platform for device in devices if device.platform)),
        links=list(_links(text, devices)),
        outcomes=outcomes,
        problems=problems,
        engines=("xdma", "xrt") if any("xdma" in d.platform for d in devices) else ("xrt",),
        facts={"threads": threads[1]} if threads else {},
        left_out=left_out,
    )


def _matches(text: str) -> bool:
    if '"logical_devices"' in text and '"log"' in text:
        return True
    patterns = (_DEVICE, _OLD_DEVICE, _EXAMINED, _TEST, _DMA, _M2M)
    return any(re.search(rf"^\s*(?:{pattern.pattern})", text, re.MULTILINE) for pattern in patterns)


IMPORTER = base.Importer(
    "xbutil", "xbutil validate (text or JSON), examine, dmatest", _matches, read
)
