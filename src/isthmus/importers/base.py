"""What an importer is, and the log that it makes of another program's output.

A log has rows. A row keeps what the program printed: the value with its unit, which statistic it
is, the size, the object (bank, GPU, pair) and the line. What the output does not say stays None.
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
"""What a printed value is, over the program's repetitions; ``each``: all of them are printed."""
Kind = Literal[
    "copy", "peer", "on_card", "memory", "host_memory", "network", "collective", "call", "other"
]
"""What moves: ``copy`` host and device by DMA or a copy call; ``peer`` between devices; ``on_card``
between memories of one card; ``memory`` kernels on the device's own memory; ``host_memory`` kernels
on the host's memory; ``network`` between ranks or hosts; ``collective`` many ranks at once;
``call`` a launch or a call that moves nothing; ``other`` no transfer that is judged."""
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
"""Times and odd rates as programs print them. ``gbps`` is clpeak's, which means gigabytes."""
_RATE = re.compile(
    r"(?P<prefix>[kKMGT]i?)?(?:(?P<bytes>B|[Bb]ytes?)|b|[Bb]its?)(?:/s|/S|/sec|/second|ps)"
)
"""A rate as programs print it: ``MB/s``, ``GiB/sec``, ``Gbit/s``, ``Mbps``."""
_LEAST, _MOST = 1e-9, 1e15
"""Numbers outside are no value of a crossing, in any unit of ``UNITS``."""
_SIZES = ("B", "KB", "MB", "GB")
SIZE = r"[-+]?\d+(?:\.\d*)?\w*"
"""Pattern of the first column of a table of sizes, wide enough that ``size`` names ``-4``."""
_Decoded = TypeVar("_Decoded")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One value of the output: a time or a rate of one repetition of a transfer."""

    line: int
    """Of the output, counted from 1."""
    device: str
    """Address: one of ``Log.devices``."""
    values: Sequence[float]
    """Above 0. One, or with the statistic ``each`` one for each repetition."""
    unit: str
    """One of ``UNITS``: the unit that is meant."""
    statistic: Statistic
    kind: Kind = "copy"
    name: str = ""
    """Of the test or column, as the program prints it."""
    printed_unit: str = ""
    """As the program prints it, where it means another: ``MB/s`` of XRT is MiB/s."""
    part: str = ""
    """Bank, GPU or pair: rows of different parts are never repetitions of each other."""
    ends: tuple[str, ...] = ()
    """The two devices, banks or kinds of buffers of a pair; empty for another part."""
    engine: Literal["ce", "sm", ""] = ""
    """Copy engine or processors of a GPU, where a test is of one of them."""
    called: str = ""
    """What tells the test from others of its kind and direction, for a sentence."""
    size: int | None = None
    """Bytes of one transfer; None: the output does not say it."""
    times: int = 1
    """Transfers of this size that one repetition moves."""
    batch: int = 1
    """Repetitions that a value is the mean of."""
    beside: Literal["", "opposite", "all"] = ""
    """What runs at the same time: copies of the opposite direction, or of all devices."""
    cold: bool | None = None
    """Whether it is a first use; None: the output does not say it."""
    study: str = ""
    operation: str = ""
    """Of Isthmus, that measures the same; empty: none does."""
    clock: ClockName = "host"
    api: str = ""
    memory: str = ""
    direction: Literal["h2d", "d2h", "both", ""] = ""
    initiator: Literal["cpu", "dma", "kernel"] = "cpu"
    axes: Mapping[str, int | str] = field(default_factory=dict)
    """Of the operation."""
    remarks: Sequence[str] = ()
    """Become flags."""
    fault: str = ""
    """What the program says of wrong data."""
    nothing: bool = False
    """Whether the value shows that nothing was moved, as of mapping a buffer that is there."""
    run: int = 1
    """Which of the different commands with this figure printed it, where the output has them."""

    @property
    def moved(self) -> int:
        """Bytes that one repetition moves; 0 where the size is unknown."""
        return (self.size or 0) * self.times

    @property
    def timed(self) -> bool:
        """Whether the value is a time rather than a rate."""
        return self.unit in TIMES

    def of_size(self, size: int) -> Row:
        """The row with this size, where the output does not say one."""
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
    """What the output says of a link."""

    line: int
    generation: int
    lanes: int
    said_by: str
    """``platform name``, ``LnkSta``, ``nvidia-smi``."""
    device: str = ""
    """PCI address or name; empty: of the only device."""
    capable: tuple[int, int] | None = None
    """Generation and lanes that the device is capable of, where they are said beside it."""
    max_payload: int = 0
    """Bytes; 0: not said."""
    idle: bool = False
    """Whether the generation may be lower only because the device is idle."""
    file: str = ""
    """Name of the text that says it; empty for the only text."""
    accelerator: bool = True
    """Whether the device may be an accelerator; false for a network card, a disk and the like."""

    @property
    def place(self) -> str:
        """``line 3``, or ``line 3 of lspci.txt``."""
        return f"line {self.line}{f' of {self.file}' if self.file else ''}"


@dataclass(frozen=True, kw_only=True)
class Log:
    """What the output of another program says."""

    tool: str
    rows: Sequence[Row] = ()
    devices: Sequence[DeviceRecord] = ()
    version: str = ""
    host: str = ""
    names: Sequence[str] = ()
    """Boards, platforms and processors that are named, as printed."""
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
    """Figures that are no transfers, with the reason."""
    assumed: Sequence[str] = ()
    """What the file does not say."""
    details: Sequence[Row] = ()
    """Single values that the output lists beside their mean, which is a row."""
    file: str = ""
    """Name of the text that was read; empty for the only text."""


@dataclass(frozen=True)
class Importer:
    """One format of another program's output."""

    name: str
    reads: str
    """The output in words: ``nvbandwidth -j``."""
    matches: Callable[[str], bool]
    """Whether a text, cleaned, has a part of this format."""
    read: Callable[[str], Log]
    """Raises UsageError where nothing of it can be read; a row that cannot be read is a problem."""
    has_rates: bool = True
    """Whether the format has rates or times; false where it only describes links."""

    def log(self, text: str) -> Log:
        """What it reads; Python refuses a whole number of more than 4300 digits."""
        try:
            return self.read(text)
        except ValueError as error:
            raise UsageError(f"not a number: {shortened(str(error))}") from error


class Problems(list[Problem]):
    """Collects what could not be read."""

    def add(self, line: int, what: str) -> None:
        """Notes a line."""
        self.append(Problem(line, what))

    @contextlib.contextmanager
    def of(self, line: int) -> Iterator[None]:
        """A context in which a UsageError costs this line, not the file."""
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
    """The number that a text is; NaN where it is none."""
    try:
        return float(text)
    except (ValueError, OverflowError):  # no number, or an integer of hundreds of digits
        return math.nan


def unit(text: str, line: int) -> str:
    """One of ``UNITS`` for a unit as printed; raises UsageError for an unknown one."""
    word = text.strip().strip("()[]")
    if known := _SPELLINGS.get(word):
        return known
    if rate := _RATE.fullmatch(word):
        prefix = (rate["prefix"] or "").replace("k", "K")
        return f"{prefix}{'B' if rate['bytes'] else 'b'}/s"
    raise UsageError(f"line {line}: unknown unit '{word[:20]}'")


def unit_of(text: str, line: int, *, time: bool) -> str:
    """``unit`` of a time, or of a rate; raises UsageError where the unit is of the other."""
    found = unit(text, line)
    if (found in TIMES) != time:
        wanted, other = ("time", "rate") if time else ("bandwidth", "time")
        raise UsageError(f"line {line}: a {wanted} in '{text.strip()[:20]}', which is a {other}")
    return found


def size(text: str | float, line: int, suffix: str = "B") -> int:
    """Bytes, at least 1; B, KB, MB and GB (also KiB, K, ...) are powers of 1024."""
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
    """JSON as a type; raises UsageError for other content, or a file that is cut short."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"{error}") from error


def device(
    address: str, name: str, *, api: str = "", kind: str = "unknown", real: bool = True,
    pci: str = "",
) -> DeviceRecord:  # fmt: skip
    """The record of a device that another program measured; ``kind``: cpu, gpu or accelerator.

    ``pci``: its bus address, where the output has it.
    ``real``: False for an emulated one, whose figures are never shown as hardware's.
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
    """Finds in which line of a text a word is, one word after the other."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line = text, 0, 1

    def of(self, word: str) -> int:
        """Line of the next occurrence; that of the last word found where there is none."""
        found = self._text.find(word, self._at)
        if found >= 0:
            self._line += self._text.count("\n", self._at, found)
            self._at = found
        return self._line
