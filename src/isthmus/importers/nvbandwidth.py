"""Reads text and JSON of nvbandwidth (github.com/NVIDIA/nvbandwidth): copies, timed by GPU events.

nvbandwidth prints a matrix for each test, with a row for each source and a column for each GPU. In
tests between GPUs, the column is the peer of the row's GPU. In bidirectional tests, copies run in
both directions and the matrix has the rate of one direction.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from isthmus.errors import UsageError
from isthmus.importers import base
from isthmus.importers.cleaning import json_objects, without_objects
from isthmus.importers.commands import Commands
from isthmus.results.run_file import DeviceRecord

_DEVICE = re.compile(r"(\d+): (.+?)(?::? \((?P<pci>[\da-fA-F]+:[\da-fA-F:.]+)?|$)")
_PROGRAM = re.compile(r"nvbandwidth")
_RUNNING = re.compile(r"Running (\w+)\.")
_VERSION = re.compile(r"nvbandwidth Version: (\S+)")
_DRIVER = re.compile(r"Driver Version: (\S+)")
_HEADER = re.compile(r".*\((\w+/s|ns|us)\)\s*$")
_TITLE = re.compile(r"\s*memcpy (CE|SM) (CPU|GPU)\(row\) (->|<-) GPU\(column\)")
_SUM = re.compile(r"\s*SUM (\w+)")
_COLUMNS = re.compile(r"\s*\d+(?:\s+\d+)*\s*$")
_ROW = re.compile(r"\s*(\d+)\s+((?:N/A|-?[\d.]+(?:e[+-]?\d+)?|nan|-?inf)(?:\s+\S+)*)\s*$")
_UNREAD = re.compile(r"\s*\d+\s+\S")
_BAD = re.compile(r"\s*(?:(?:ERROR|Error|ASSERT|Invalid value|\[?CUDA_ERROR|CUDA error).*)")
_WAIVED = re.compile(r"\s*(?:Waived|WAIVED|ERROR: Testcase .* not found).*")


class _Test(NamedTuple):
    kind: base.Kind
    operation: str = ""
    direction: Literal["h2d", "d2h", "both", ""] = ""
    memory: str = ""
    opposite: bool = False
    engine: Literal["ce", "sm", ""] = ""


def _engine(name: str) -> Literal["ce", "sm", ""]:
    return "ce" if name.endswith("_ce") else "sm" if name.endswith("_sm") else ""


def _test(name: str) -> _Test:
    """Kind, direction and engine of the copies that a test measures, by the test's name."""
    opposite = "bidirectional" in name
    if "latency" in name:
        return _Test("other")
    if name.startswith("device_local"):
        return _Test("on_card", memory="device")
    if name.startswith("device_to_device"):
        operation = {
            "device_to_device_memcpy_read_ce": "peer_read",
            "device_to_device_memcpy_write_ce": "peer_write",
        }.get(name, "")
        return _Test("peer", operation, "", "device", opposite, _engine(name))
    way: Literal["h2d", "d2h", ""] = (
        "h2d" if name.startswith("host_to_device") else
        "d2h" if name.startswith("device_to_host") else ""
    )  # fmt: skip
    if not way:
        return _Test("other")
    operation = "write" if way == "h2d" else "read"
    operation = operation if name.endswith("_ce") else f"copy_sm_{operation}"
    return _Test("copy", "" if opposite else operation, way, "pinned", opposite, _engine(name))


class _TestCase(msgspec.Struct):
    name: str
    status: str = ""
    bandwidth_matrix: list[list[str]] = []
    description: str = msgspec.field(default="", name="bandwidth_description")
    message: str = msgspec.field(default="", name="error_message")


class _Body(msgspec.Struct, rename={"devices": "GPU Device list", "info": "GPU Device info"}):
    version: str = ""
    testcases: list[_TestCase] = []
    devices: list[str] | None = None
    info: Any = None
    error: str = ""
    driver: str = msgspec.field(default="", name="Driver Version")


class _File(msgspec.Struct):
    nvbandwidth: _Body


def _rows(
    name: str, cells: Sequence[str], row: int, columns: Sequence[int], unit: str, line: int,
    bytes_each: int | None, problems: base.Problems, run: int,
) -> Iterator[base.Row]:  # fmt: skip
    """Yields a row for each value in a line of a matrix; adds unreadable values to ``problems``."""
    test = _test(name)
    peers = test.kind == "peer"
    if len(cells) > len(columns):
        problems.add(line, f"{len(cells)} values below {len(columns)} columns of {name}")
        return
    for column, cell in zip(columns, cells, strict=False):
        if cell == "N/A" or (peers and row == column):
            continue
        with problems.of(line):
            gpu = row if peers else column
            axes: dict[str, int | str] = {"depth": 1, "bank": 0}
            axes |= ({"peer": column} if peers else {}) | ({"run": run} if run > 1 else {})
            yield base.Row(
                line=line,
                name=name,
                kind=test.kind,
                device=f"cuda:{gpu}",
                part=f"GPU {row} and {column}" if peers else f"GPU {column}",
                ends=(str(row), str(column)) if peers else (),
                engine=test.engine,
                called=name if peers else "",
                run=run,
                values=(base.number(cell, line),),
                unit=unit,
                statistic="median",
                size=bytes_each,
                study="transfer" if test.operation else "",
                operation=test.operation,
                clock="device",
                api="cuda",
                memory=test.memory,
                direction=test.direction,
                initiator="dma" if name.endswith("_ce") else "kernel",
                beside="opposite" if test.opposite else "",
                axes=axes,
            )


def _unit(description: str, line: int) -> str:
    match = _HEADER.match(description)
    return base.unit(match[1], line) if match else "GB/s"


def _of_json(text: str, at: int, log: _Parts) -> None:
    try:
        body = base.decoded(text, _File).nvbandwidth
    except UsageError as error:
        raise UsageError(f"line {at}: {error}") from error
    if body.error:
        raise UsageError(f"nvbandwidth failed: {' '.join(body.error.split())[:200]}")
    lines = base.Lines(text)
    log.version, log.driver = body.version, body.driver
    for name in body.devices or ():
        if match := _DEVICE.match(name):
            log.names[match[1]] = match[2]
            log.addresses[match[1]] = match["pci"] or ""
    for test in body.testcases:
        line = at - 1 + lines.of(f'"{test.name}"')
        if test.status not in {"Passed", ""}:
            status: Literal["skipped", "failed"] = (
                "skipped" if test.status in {"Waived", "Not Found"} else "failed"
            )
            log.outcomes.append(base.Outcome(line, test.name, status, test.message or test.status))
        with log.problems.of(line):
            unit = _unit(test.description, line)
            for row, cells in enumerate(test.bandwidth_matrix):
                log.rows += _rows(test.name, cells, row, range(len(cells)), unit, line, None,
                                  log.problems, 1)  # fmt: skip


class _Parts:
    """Collects devices, rows and facts while an output of nvbandwidth is read."""

    def __init__(self) -> None:
        self.rows: list[base.Row] = []
        self.names: dict[str, str] = {}
        self.addresses: dict[str, str] = {}
        self.outcomes: list[base.Outcome] = []
        self.problems = base.Problems()
        self.version = self.driver = self.command = ""

    def device(self, address: str) -> DeviceRecord:
        """The record of the GPU with an address such as ``cuda:0``."""
        number_ = address.partition(":")[2]
        name, pci = self.names.get(number_, "NVIDIA GPU"), self.addresses.get(number_, "")
        return base.device(address, name, api="cuda", kind="gpu", pci=pci)

    def noted(self, row: str) -> bool:
        """Stores what a line says about program, driver or a GPU; returns whether it says so."""
        if match := _VERSION.match(row.strip()):
            self.version = match[1].lstrip("v")
        elif match := _DRIVER.match(row.strip()):
            self.driver = match[1]
        elif row.startswith("Device ") and (match := _DEVICE.match(row[7:])):
            self.names[match[1]] = match[2].strip()
            self.addresses[match[1]] = match["pci"] or ""
        else:
            return False
        return True


def _of_text(text: str, log: _Parts) -> None:
    commands = Commands(_PROGRAM)
    name, unit, columns, seen = "", "", list[int](), {"": 0}
    bytes_each: int | None = None
    numbers, run = dict[int | None, list[int]](), 1  # by buffer size: numbers of its commands
    begun: tuple[int, str] | None = None
    lines = text.splitlines()
    for line, row in enumerate(lines, 1):
        if commands.met(row):
            log.command, columns, name = commands.current, [], ""
            mib = commands.value("-b", "--bufferSize")
            bytes_each = base.size(mib, line, "MB") if mib.isdecimal() and int(mib) else None
            run = _run_of(commands.number, numbers.setdefault(bytes_each, []))
        elif log.noted(row):
            continue
        elif match := _RUNNING.match(row.strip()):
            _unfinished(begun, log)
            name, columns, unit = match[1], [], ""
            begun = line, name
            seen[name] = max(seen.get(name, 0), commands.number)
        elif name and (_BAD.match(row) or _WAIVED.match(row)):
            kind: Literal["skipped", "failed"] = "skipped" if _WAIVED.match(row) else "failed"
            log.outcomes.append(base.Outcome(line, name, kind, " ".join(row.split())[:120]))
            name, begun = "", None
        elif (match := _HEADER.match(row)) and (name or _TITLE.match(row)):
            if not name or (columns and _TITLE.match(row)):  # text lacks the line "Running ..."
                name, columns = _named(row, lines[line:]), []
            unit = ""
            with log.problems.of(line):
                unit = base.unit(match[1], line)
        elif name and unit and not columns and _COLUMNS.fullmatch(row):
            columns = list(map(int, row.split()))
        elif name and unit and columns and (match := _ROW.match(row)):
            begun = None
            log.rows += _rows(name, match[2].split(), int(match[1]), columns, unit, line,
                              bytes_each, log.problems, run)  # fmt: skip
        elif name and unit and columns and _UNREAD.match(row):
            log.problems.add(line, f"'{row.strip()[:40]}' is no row of {name}")
        elif row.startswith("SUM ") or not row.strip():
            columns = [] if row.startswith("SUM ") else columns
    _unfinished(begun, log)


def _run_of(command: int, of_size: list[int]) -> int:
    """Number of a command among the commands with the same buffer size, from 1.

    Adds a new command to ``of_size``.
    """
    if command not in of_size:
        of_size.append(command)
    return of_size.index(command) + 1


def _named(title: str, after: Sequence[str]) -> str:
    """Name of the test of a matrix: from the line ``SUM`` below the matrix, else from its title."""
    below = itertools.takewhile(lambda row: not _TITLE.match(row), after)
    if match := next(filter(None, map(_SUM.match, below)), None):
        return match[1]
    match = _TITLE.match(title)
    if match is None:
        return ""
    engine, source, arrow = match[1].lower(), match[2], match[3]
    if source == "GPU":
        return f"device_to_device_memcpy_{'read' if arrow == '->' else 'write'}_{engine}"
    way = "host_to_device" if arrow == "->" else "device_to_host"
    return f"{way}_memcpy_{engine}"


def _unfinished(begun: tuple[int, str] | None, log: _Parts) -> None:
    if begun and not any(outcome.test == begun[1] for outcome in log.outcomes):
        log.outcomes.append(base.Outcome(begun[0], begun[1], "unfinished", "no figure follows"))


def read(text: str) -> base.Log:
    """Reads all tests; ``operation`` stays empty for tests that Isthmus does not measure."""
    log = _Parts()
    objects = [pair for pair in json_objects(text) if '"nvbandwidth"' in pair[1][:200]]
    for at, body in objects:
        _of_json(body, at, log)
    _of_text(without_objects(text, objects), log)
    numbers = dict.fromkeys(row.device for row in log.rows)
    facts = {"command": log.command, "driver": log.driver}
    return base.Log(
        tool="nvbandwidth",
        version=log.version,
        rows=log.rows,
        devices=[log.device(address) for address in numbers],
        names=list(dict.fromkeys(log.names.values())),
        outcomes=log.outcomes,
        problems=log.problems,
        facts={name: value for name, value in facts.items() if value},
        assumed=["medians of three samples, the default (--useMean, --testSamples)"],
    )


def _matches(text: str) -> bool:
    return (
        '"nvbandwidth"' in text or "nvbandwidth Version" in text
        or re.search(r"^\s*Running \w+_(?:ce|sm|copy)\.", text, re.MULTILINE) is not None
        or re.search(rf"^{_TITLE.pattern}", text, re.MULTILINE) is not None
    )  # fmt: skip


IMPORTER = base.Importer("nvbandwidth", "nvbandwidth, as text or with -j", _matches, read)
