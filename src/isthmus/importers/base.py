"""Types of importers and their logs, and functions that read numbers, units and sizes.

A log holds what another program printed, as rows. A row keeps a printed value with unit, statistic,
size, object (bank, GPU, pair) and line number. Facts that the output lacks are None.
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
"""What a printed value is over the program's repetitions; ``each``: one value per repetition."""
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
"""Factors from each unit to seconds or to bytes per second; ``b`` is a bit."""
TIMES = ("s", "ms", "us", "ns")
_SPELLINGS = {
    "GBPS": "GB/s", "gbps": "GB/s",
    "us": "us", "usec": "us", "\u00b5s": "us", "\u03bcs": "us", "ms": "ms", "msec": "ms",
    "ns": "ns", "nsec": "ns", "s": "s", "sec": "s",
}  # fmt: skip
"""Printed units of time and of unusual rates, each with its name in ``UNITS``: clpeak's ``gbps``
are gigabytes per second."""
_RATE = re.compile(
    r"(?P<prefix>[kKMGT]i?)?(?:(?P<bytes>B|[Bb]ytes?)|b|[Bb]its?)(?:/s|/S|/sec|/second|ps)"
)
"""Matches units of rates as programs print them: ``MB/s``, ``GiB/sec``, ``Gbit/s``, ``Mbps``."""
_LEAST, _MOST = 1e-9, 1e15
"""Least and largest number that can be a time or rate, in any unit of ``UNITS``."""
_SIZES = ("B", "KB", "MB", "GB")
SIZE = r"[-+]?\d+(?:\.\d*)?\w*"
"""Pattern of the first column in a table of sizes. It also matches wrong sizes such as ``-4``, so
that ``size`` reports them."""
_Decoded = TypeVar("_Decoded")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One value of the output: a time or a rate of one repetition of a transfer."""

    line: int
    """Line of the output, counted from 1."""
    device: str
    """Address: one of ``Log.devices``."""
    values: Sequence[float]
    """Printed values above 0 in ``unit``: one value, or with statistic ``each`` one per repetition.
    """
    unit: str
    """The unit that the program means, a name in ``UNITS``; the printed unit may differ."""
    statistic: Statistic
    kind: Kind = "copy"
    name: str = ""
    """Name of the test or column, as the program prints it."""
    printed_unit: str = ""
    """The printed unit, if the program means another unit: XRT prints ``MB/s`` for MiB/s."""
    part: str = ""
    """Bank, GPU or pair that was measured. Rows of different parts are never repetitions of one
    measurement."""
    ends: tuple[str, ...] = ()
    """Both devices, banks or kinds of buffers, if ``part`` is a pair; else empty."""
    engine: Literal["ce", "sm", ""] = ""
    """Copy engine or SMs of a GPU, if the test uses one of them; else empty."""
    called: str = ""
    """Words in messages that distinguish the test from other tests of its kind and direction."""
    size: int | None = None
    """Bytes of one transfer; None if the output lacks it."""
    times: int = 1
    """Transfers of this size that one repetition moves."""
    batch: int = 1
    """Number of repetitions whose mean a value is; 1 for single repetitions."""
    beside: Literal["", "opposite", "all"] = ""
    """Copies that ran at the same time: in the opposite direction, or on all devices; else empty.
    """
    cold: bool | None = None
    """Whether the program used the buffer for the first time; None if the output lacks it."""
    study: str = ""
    operation: str = ""
    """Operation of Isthmus that measures the same; empty if there is none."""
    clock: ClockName = "host"
    api: str = ""
    memory: str = ""
    direction: Literal["h2d", "d2h", "both", ""] = ""
    initiator: Literal["cpu", "dma", "kernel"] = "cpu"
    axes: Mapping[str, int | str] = field(default_factory=dict)
    """Values of the axes of ``operation``, by name of the axis."""
    remarks: Sequence[str] = ()
    """Flags that the row gets in the run file."""
    fault: str = ""
    """The program's message on wrong data; empty if it has none."""
    nothing: bool = False
    """Whether the value shows that no data moved, as for mapping a buffer in host memory."""
    run: int = 1
    """Number of the command that printed the row, from 1, if different commands printed the same
    measurement."""

    @property
    def moved(self) -> int:
        """Bytes that one repetition moves; 0 if the size is unknown."""
        return (self.size or 0) * self.times

    @property
    def timed(self) -> bool:
        """Whether the value is a time rather than a rate."""
        return self.unit in TIMES

    def of_size(self, size: int) -> Row:
        """A copy of the row with this size if the row has none; else the row itself."""
        return self if self.size is not None else replace(self, size=size)

    def seconds(self) -> list[float]:
        """Seconds of one repetition, for each of ``values``; empty for rates without a size."""
        scale = UNITS[self.unit]
        if self.timed:
            return [value * scale for value in self.values]
        return [self.moved / (value * scale) for value in self.values] if self.moved else []

    def rates(self) -> list[float]:
        """Bytes per second, for each of ``values``; empty for times without a size."""
        scale = UNITS[self.unit]
        if not self.timed:
            return [value * scale for value in self.values]
        return [self.moved / (value * scale) for value in self.values] if self.moved else []


@dataclass(frozen=True)
class Problem:
    """A line that the importer could not read, or a test without a figure, with the reason."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.what}" if self.line else self.what


@dataclass(frozen=True)
class Outcome:
    """A test that did not pass, with its status."""

    line: int
    test: str
    status: Literal["failed", "skipped", "warning", "unfinished"]
    message: str = ""


@dataclass(frozen=True)
class LinkFact:
    """A device's PCIe link as the output of another program describes it."""

    line: int
    generation: int
    lanes: int
    said_by: str
    """What stated the link: ``platform name``, ``LnkSta``, ``nvidia-smi``."""
    device: str = ""
    """PCI address or name of the device; empty if the output has one device."""
    capable: tuple[int, int] | None = None
    """Generation and lanes that the device supports; None if the output lacks them."""
    max_payload: int = 0
    """Most bytes of data in a packet (MPS); 0 if the output lacks it."""
    idle: bool = False
    """Whether the generation may be lower only because the device is idle."""
    file: str = ""
    """Name of the file that describes the link; empty if only one text was read."""
    accelerator: bool = True
    """Whether the device may be an accelerator; false for network cards and disks, for example."""

    @property
    def place(self) -> str:
        """Where the output describes the link: ``line 3``, or ``line 3 of lspci.txt``."""
        return f"line {self.line}{f' of {self.file}' if self.file else ''}"


@dataclass(frozen=True, kw_only=True)
class Log:
    """What an importer read from another program's output."""

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
    """Further facts of the output by name: ``command``, ``driver``, ``threads``."""
    engines: Sequence[str] = ()
    """Engines that move the data: names of ``isthmus.references``."""
    emulated: bool = False
    """Whether a vendor's emulation of hardware was timed."""
    left_out: Sequence[str] = ()
    """Figures that the importer left out because they measure no transfer, with the reason."""
    assumed: Sequence[str] = ()
    """Assumptions that the importer made about facts that the output lacks."""
    details: Sequence[Row] = ()
    """Single values that the output lists beside a row, which is their mean."""
    file: str = ""
    """Name of the file that was read; empty if only one text was read."""


@dataclass(frozen=True)
class Importer:
    """Reads one format of another program's output."""

    name: str
    reads: str
    """The format in words for messages: ``nvbandwidth -j``."""
    matches: Callable[[str], bool]
    """Whether a cleaned text has a part of this format."""
    read: Callable[[str], Log]
    """Reads a cleaned text; raises UsageError only if no row is readable."""
    has_rates: bool = True
    """Whether the format has rates or times; false if it only describes links."""

    def log(self, text: str) -> Log:
        """Reads the log of a text.

        Raises UsageError if no row is readable, or for an integer of more than 4300 digits.
        """
        try:
            return self.read(text)
        except ValueError as error:
            raise UsageError(f"not a number: {shortened(str(error))}") from error


class Problems(list[Problem]):
    """List of the lines that an importer could not read, each with the reason."""

    def add(self, line: int, what: str) -> None:
        """Adds the number of a line, with the reason why it could not be read."""
        self.append(Problem(line, what))

    @contextlib.contextmanager
    def of(self, line: int) -> Iterator[None]:
        """Context manager that catches a UsageError and adds it as the problem of a line."""
        try:
            yield
        except UsageError as error:
            self.add(line, str(error).removeprefix(f"line {line}: "))


def number(text: str | float, line: int) -> float:
    """The number of a printed value; raises UsageError outside of ``_LEAST`` to ``_MOST``."""
    value = _value(text)
    if not _LEAST <= value <= _MOST:  # refuses NaN, too
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
    """Returns the name in ``UNITS`` of a printed unit of time, or of a rate if ``time`` is false.

    Raises UsageError for other units.
    """
    unit_ = unit(text, line)
    if (unit_ in TIMES) != time:
        wanted, other = ("time", "rate") if time else ("bandwidth", "time")
        raise UsageError(f"line {line}: a {wanted} in '{text.strip()[:20]}', which is a {other}")
    return unit_


def size(text: str | float, line: int, suffix: str = "B") -> int:
    """Bytes of a printed size with the unit ``suffix``: B, KB, MB, GB, also written KiB or K.

    Units are powers of 1024. Raises UsageError for other units and sizes below 1 byte.
    """
    word = suffix.strip().upper().replace("IB", "B").replace("BYTES", "B").replace("BYTE", "B")
    word = word if word.endswith("B") else f"{word}B"
    if word not in _SIZES:
        raise UsageError(f"line {line}: unknown unit of a size '{suffix[:20]}'")
    value = _value(text) * float(1 << 10 * _SIZES.index(word))
    if not 1 <= value <= 1 << 50:  # refuses NaN, too
        raise UsageError(f"line {line}: '{str(text)[:40]}' is no size")
    return round(value)


def count(text: str | float, line: int) -> int:
    """Reads a number of repetitions, ranks or messages; raises UsageError below 1."""
    value = number(text, line)
    if not 1 <= value <= 1 << 40:
        raise UsageError(f"line {line}: '{str(text)[:40]}' is no number of repetitions")
    return round(value)


def decoded(text: str, kind: type[_Decoded]) -> _Decoded:
    """Decodes JSON as type ``kind``; raises UsageError for other content or incomplete JSON."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{error}") from error


def device(
    address: str, name: str, *, api: str = "", kind: str = "unknown", real: bool = True,
    pci: str = "",
) -> DeviceRecord:  # fmt: skip
    """The record of a device that another program measured; ``kind``: cpu, gpu or accelerator.

    ``pci``: the device's PCI address, if the output has it. ``real``: false for an emulated device,
    whose figures are never shown as hardware's.
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
    """Makes a part of an address from a device's name: ``NVIDIA H100`` becomes ``NVIDIA-H100``."""
    return re.sub(r"[^\w.:-]+", "-", name).strip("-") or "unknown"


class Lines:
    """Finds line numbers of words in a text; each search begins where the last word was found."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line = text, 0, 1

    def of(self, word: str) -> int:
        """Line number of the word's next occurrence; without one, line number of the last word."""
        at = self._text.find(word, self._at)
        if at >= 0:
            self._line += self._text.count("\n", self._at, at)
            self._at = at
        return self._line
