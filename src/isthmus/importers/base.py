"""Types of importers, and of the logs that they read from outputs of other programs.

A log has rows. A row keeps a printed value: its unit, statistic, size, object (bank, GPU, pair) and
line. Facts that the output lacks are None.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import msgspec

from isthmus.errors import UsageError
from isthmus.published.source import UNITS as _PUBLISHED_UNITS
from isthmus.results.run_file import ClockName, DeviceRecord
from isthmus.text import shortened

Statistic = Literal["mean", "median", "best", "each"]
"""Statistic of a value over the program's repetitions; ``each``: a value for each repetition."""
Kind = Literal[
    "copy", "peer", "on_card", "memory", "host_memory", "network", "collective", "call", "other"
]
"""Kinds of transfers. ``copy``: between host and device by DMA or a copy call; ``peer``: between
devices; ``on_card``: between memories of a card; ``memory``: kernels on device memory;
``host_memory``: kernels on host memory; ``network``: between ranks or hosts; ``collective``: many
ranks at once; ``call``: a launch, or a call that moves no data; ``other``: not judged."""
_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
             **{f"{name}i": 1024.0 ** (i + 1) for i, name in enumerate("KMGT")}}  # fmt: skip
UNITS = {**_PUBLISHED_UNITS,
         **{f"{name}B/s": factor for name, factor in _PREFIXES.items()},
         **{f"{name}b/s": factor / 8 for name, factor in _PREFIXES.items()}}  # fmt: skip
"""Units of values in seconds and bytes a second; ``b`` is a bit."""
TIMES = ("s", "ms", "us", "ns")
_SPELLINGS = {
    "GBPS": "GB/s", "gbps": "GB/s",
    "us": "us", "usec": "us", "\u00b5s": "us", "\u03bcs": "us", "ms": "ms", "msec": "ms",
    "ns": "ns", "nsec": "ns", "s": "s", "sec": "s",
}  # fmt: skip
"""Units of time and unusual units of rates, as printed: ``gbps`` of clpeak are gigabytes."""
_RATE = re.compile(
    r"(?P<prefix>[kKMGT]i?)?(?:(?P<bytes>B|[Bb]ytes?)|b|[Bb]its?)(?:/s|/S|/sec|/second|ps)"
)
"""A rate as programs print it: ``MB/s``, ``GiB/sec``, ``Gbit/s``, ``Mbps``."""
_LEAST, _MOST = 1e-9, 1e15
"""Least and largest number that can be a time or rate, in any unit of ``UNITS``."""
_SIZES = ("B", "KB", "MB", "GB")
SIZE = r"[-+]?\d+(?:\.\d*)?\w*"
"""Pattern of the first column of a table of sizes, wide enough that ``size`` names ``-4``."""
_Decoded = TypeVar("_Decoded")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One value of the output: a time or a rate of one repetition of a transfer."""

    line: int
    """Line of the output, counted from 1."""
    device: str
    """Address: one of ``Log.devices``."""
    values: Sequence[float]
    """Values above 0: one, or with the statistic ``each`` one for each repetition."""
    unit: str
    """The unit that the program means: one of ``UNITS``."""
    statistic: Statistic
    kind: Kind = "copy"
    name: str = ""
    """Name of the test or column, as the program prints it."""
    printed_unit: str = ""
    """The unit as printed, if the program means another: ``MB/s`` of XRT is MiB/s."""
    part: str = ""
    """Bank, GPU or pair: rows of different parts are never repetitions of each other."""
    ends: tuple[str, ...] = ()
    """The two devices, banks or kinds of buffers of a pair; empty for another part."""
    engine: Literal["ce", "sm", ""] = ""
    """Copy engine or SMs of a GPU, if the test uses one of them; else empty."""
    called: str = ""
    """Words for a sentence that distinguish the test from others of its kind and direction."""
    size: int | None = None
    """Bytes of one transfer; None if the output lacks it."""
    times: int = 1
    """Transfers of this size that one repetition moves."""
    batch: int = 1
    """Repetitions that a value is the mean of."""
    beside: Literal["", "opposite", "all"] = ""
    """Copies that run at the same time: of the opposite direction, or of all devices."""
    cold: bool | None = None
    """Whether the transfer is a first use; None if the output lacks it."""
    study: str = ""
    operation: str = ""
    """Operation of Isthmus that measures the same; empty if there is none."""
    clock: ClockName = "host"
    api: str = ""
    memory: str = ""
    direction: Literal["h2d", "d2h", "both", ""] = ""
    initiator: Literal["cpu", "dma", "kernel"] = "cpu"
    axes: Mapping[str, int | str] = field(default_factory=dict)
    """Values of the operation's axes."""
    remarks: Sequence[str] = ()
    """Flags of the imported row."""
    fault: str = ""
    """The program's message on wrong data; empty if it has none."""
    nothing: bool = False
    """Whether the value shows that no data moved, as for mapping a buffer in host memory."""
    run: int = 1
    """Number of the command that printed the row, among different commands with this figure."""

    @property
    def moved(self) -> int:
        """Bytes that one repetition moves; 0 where the size is unknown."""
        return (self.size or 0) * self.times

    @property
    def timed(self) -> bool:
        """Whether the value is a time rather than a rate."""
        return self.unit in TIMES

    def of_size(self, size: int) -> Row:
        """The row with this size, if the output has none; else the row itself."""
        return self if self.size is not None else replace(self, size=size)

    def seconds(self) -> list[float]:
        """Seconds of one repetition, for each value; empty for a rate without a size."""
        scale = UNITS[self.unit]
        if self.timed:
            return [value * scale for value in self.values]
        return [self.moved / (value * scale) for value in self.values] if self.moved else []

    def rates(self) -> list[float]:
        """Bytes a second, for each value; empty for a time of a transfer without a size."""
        scale = UNITS[self.unit]
        if not self.timed:
            return [value * scale for value in self.values]
        return [self.moved / (value * scale) for value in self.values] if self.moved else []


@dataclass(frozen=True)
class Problem:
    """A line that could not be read, or a test that has no figure."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}" if self.line else self.what


@dataclass(frozen=True)
class Outcome:
    """A test that did not pass."""

    line: int
    test: str
    status: Literal["failed", "skipped", "warning", "unfinished"]
    message: str = ""


@dataclass(frozen=True)
class LinkFact:
    """A link as the output describes it."""

    line: int
    generation: int
    lanes: int
    said_by: str
    """``platform name``, ``LnkSta``, ``nvidia-smi``."""
    device: str = ""
    """PCI address or name of the device; empty for the only device."""
    capable: tuple[int, int] | None = None
    """Generation and lanes that the device supports; None if the output lacks them."""
    max_payload: int = 0
    """Bytes of data in a packet; 0 if the output lacks it."""
    idle: bool = False
    """Whether the generation may be lower only because the device is idle."""
    file: str = ""
    """Name of the text with the link; empty for the only text."""
    accelerator: bool = True
    """Whether the device may be an accelerator; false for network cards and disks, for example."""

    @property
    def place(self) -> str:
        """Line in words: ``line 3``, or ``line 3 of lspci.txt``."""
        return f"line {self.line}{f' of {self.file}' if self.file else ''}"


@dataclass(frozen=True, kw_only=True)
class Log:
    """The contents of another program's output."""

    tool: str
    rows: Sequence[Row] = ()
    devices: Sequence[DeviceRecord] = ()
    version: str = ""
    host: str = ""
    names: Sequence[str] = ()
    """Names of boards, platforms and processors, as printed."""
    links: Sequence[LinkFact] = ()
    outcomes: Sequence[Outcome] = ()
    problems: Sequence[Problem] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    """Further conditions: ``command``, ``driver``, ``threads``."""
    engines: Sequence[str] = ()
    """Engines that move the data: names of ``isthmus.references``."""
    emulated: bool = False
    """Whether a vendor's emulation of hardware was timed."""
    left_out: Sequence[str] = ()
    """Figures that are not transfers, with the reason."""
    assumed: Sequence[str] = ()
    """Assumptions about facts that the file lacks."""
    details: Sequence[Row] = ()
    """Single values whose mean is a row."""
    file: str = ""
    """Name of the text that was read; empty for the only text."""


@dataclass(frozen=True)
class Importer:
    """One format of another program's output."""

    name: str
    reads: str
    """The output in words: ``nvbandwidth -j``."""
    matches: Callable[[str], bool]
    """Whether a cleaned text has a part of this format."""
    read: Callable[[str], Log]
    """Reads a cleaned text; raises UsageError only if no row is readable."""
    has_rates: bool = True
    """Whether the format has rates or times; false if it only describes links."""

    def log(self, text: str) -> Log:
        """The log of a text; raises UsageError also for integers of more than 4300 digits."""
        try:
            return self.read(text)
        except ValueError as error:
            raise UsageError(f"not a number: {shortened(str(error))}") from error


class Problems(list[Problem]):
    """Collects lines that could not be read."""

    def add(self, line: int, what: str) -> None:
        """Adds a line with the reason."""
        self.append(Problem(line, what))

    @contextlib.contextmanager
    def of(self, line: int) -> Iterator[None]:
        """Context manager: a UsageError becomes a problem of this line."""
        try:
            yield
        except UsageError as error:
            self.add(line, str(error).removeprefix(f"line {line}: "))


def number(text: str | float, line: int) -> float:
    """A value of the output; raises UsageError unless it is finite and above 0."""
    value = _value(text)
    if not _LEAST <= value <= _MOST:  # NaN is outside, too
        raise UsageError(f"line {line}: '{str(text)[:40]}' is no time or rate")
    return value


def _value(text: str | float) -> float:
    """The number in a text; NaN if it is not a number."""
    try:
        return float(text)
    except (ValueError, OverflowError):  # not a number, or an integer of hundreds of digits
        return math.nan


def unit(text: str, line: int) -> str:
    """Returns the name in ``UNITS`` of a printed unit; raises UsageError for an unknown unit."""
    word = text.strip().strip("()[]")
    if spelling := _SPELLINGS.get(word):
        return spelling
    if rate := _RATE.fullmatch(word):
        prefix = (rate["prefix"] or "").replace("k", "K")
        return f"{prefix}{'B' if rate['bytes'] else 'b'}/s"
    raise UsageError(f"line {line}: unknown unit '{word[:20]}'")


def unit_of(text: str, line: int, *, time: bool) -> str:
    """As ``unit``; raises UsageError unless the unit is of a time, or of a rate, as wanted."""
    unit_ = unit(text, line)
    if (unit_ in TIMES) != time:
        wanted, other = ("time", "rate") if time else ("bandwidth", "time")
        raise UsageError(f"line {line}: a {wanted} in '{text.strip()[:20]}', which is a {other}")
    return unit_


def size(text: str | float, line: int, suffix: str = "B") -> int:
    """Size in bytes, at least 1; B, KB, MB and GB (also KiB, K, ...) are powers of 1024."""
    word = suffix.strip().upper().replace("IB", "B").replace("BYTES", "B").replace("BYTE", "B")
    word = word if word.endswith("B") else f"{word}B"
    if word not in _SIZES:
        raise UsageError(f"line {line}: unknown unit of a size '{suffix[:20]}'")
    value = _value(text) * float(1 << 10 * _SIZES.index(word))
    if not 1 <= value <= 1 << 50:  # NaN is outside, too
        raise UsageError(f"line {line}: '{str(text)[:40]}' is no size")
    return round(value)


def count(text: str | float, line: int) -> int:
    """A number of repetitions, ranks or messages, at least 1."""
    value = number(text, line)
    if not 1 <= value <= 1 << 40:
        raise UsageError(f"line {line}: '{str(text)[:40]}' is no number of repetitions")
    return round(value)


def decoded(text: str, kind: type[_Decoded]) -> _Decoded:
    """Decodes JSON as a type; raises UsageError for other content, or incomplete JSON."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{error}") from error


def device(
    address: str, name: str, *, api: str = "", kind: str = "unknown", real: bool = True,
    pci: str = "",
) -> DeviceRecord:  # fmt: skip
    """The record of a device that another program measured; ``kind``: cpu, gpu or accelerator.

    ``pci``: its bus address, if the output has it. ``real``: false for an emulated device, whose
    figures are never shown as hardware's.
    """
    return DeviceRecord(
        address=address,
        backend=address.partition(":")[0],
        real=real,
        name=name,
        api=api,
        properties={"type": kind} | ({"pci_address": pci} if pci else {}),
    )


def slug(name: str) -> str:
    """A device's name as part of an address: ``NVIDIA-H100``."""
    return re.sub(r"[^\w.:-]+", "-", name).strip("-") or "unknown"


class Lines:
    """Finds the lines of words in a text, in the order of the words."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line = text, 0, 1

    def of(self, word: str) -> int:
        """Line of the word's next occurrence; if there is none, line of the previous word."""
        found = self._text.find(word, self._at)
        if found >= 0:
            self._line += self._text.count("\n", self._at, found)
            self._at = found
        return self._line
