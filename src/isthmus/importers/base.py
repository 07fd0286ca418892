"""What an importer is, and the figures that it reads from another program's output."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import msgspec

from isthmus.errors import UsageError
from isthmus.published.source import UNITS as _PUBLISHED_UNITS
from isthmus.results.run_file import ClockName, DeviceRecord

Statistic = Literal["mean", "median", "best", "each"]
"""What a printed figure is, over the program's repetitions; ``each``: all of them are printed."""
SIZE_ASSUMED = "size_assumed"
"""Remark on a figure whose file does not say the size."""
UNITS = {**_PUBLISHED_UNITS, "Gb/s": 1e9 / 8}
"""Units of figures in seconds and bytes a second."""
_TIMES = ("s", "ms", "us", "ns")
_LEAST, _MOST = 1e-9, 1e15
"""Numbers outside are no figure of a crossing, in any unit of ``UNITS``."""
_Decoded = TypeVar("_Decoded")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of the output: a time or a rate of one repetition of an operation."""

    line: int
    """Of the output, counted from 1."""
    study: str
    operation: str
    device: str
    """Address: one of ``Output.devices``."""
    bytes: int
    values: Sequence[float]
    """Above 0. One, or with the statistic ``each`` one for each repetition."""
    unit: str
    """One of ``UNITS``."""
    statistic: Statistic
    moved_bytes: int | None = None
    """Of one repetition; None: as many as ``bytes``."""
    batch: int = 1
    """Repetitions that a value is the mean of."""
    clock: ClockName = "host"
    api: str = ""
    memory: str = ""
    direction: Literal["h2d", "d2h", "both", ""] = ""
    initiator: Literal["cpu", "dma", "kernel"] = "cpu"
    axes: Mapping[str, int | str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    """Become flags."""
    fault: str = ""
    """What the program says of wrong data."""

    @property
    def moved(self) -> int:
        """Bytes that one repetition moves."""
        return self.bytes if self.moved_bytes is None else self.moved_bytes

    def of_size(self, bytes_each: int) -> Figure:
        """The figure with this size, where the file does not say one."""
        if SIZE_ASSUMED not in self.remarks:
            return self
        rest = tuple(remark for remark in self.remarks if remark != SIZE_ASSUMED)
        moved = self.moved * bytes_each // self.bytes
        return replace(self, bytes=bytes_each, moved_bytes=moved, remarks=rest)

    def seconds(self) -> list[float]:
        """Seconds of one repetition, for each value."""
        scale = UNITS[self.unit]
        if self.unit in _TIMES:
            return [value * scale for value in self.values]
        return [self.moved / (value * scale) for value in self.values]


@dataclass(frozen=True, kw_only=True)
class Output:
    """What one file of another program says."""

    tool: str
    figures: Sequence[Figure]
    devices: Sequence[DeviceRecord]
    version: str = ""
    host: str = ""
    left_out: Sequence[str] = ()
    """Figures that no operation of Isthmus corresponds to, with the reason."""
    assumed: Sequence[str] = ()
    """What the file does not say."""


@dataclass(frozen=True)
class Importer:
    """One format of another program's output."""

    name: str
    reads: str
    """The output in words: ``nvbandwidth -j``."""
    matches: Callable[[str], bool]
    """Whether a text is of this format; looks at its beginning, or for a word."""
    read: Callable[[str], Output]
    """Raises UsageError with a line for what it cannot read."""


def number(text: str | float, line: int) -> float:
    """A figure of the output; raises UsageError unless it is finite and above 0."""
    try:
        value = float(text)
    except (ValueError, OverflowError):  # no number, or an integer of hundreds of digits
        value = math.nan
    if not _LEAST <= value <= _MOST:  # NaN is outside, too
        raise UsageError(f"line {line}: '{str(text)[:40]}' is no time or rate")
    return value


def size(text: str | float, line: int, unit: str = "B") -> int:
    """Bytes, at least 1; ``unit`` as programs print it: B, KB, MB and GB are powers of 1024."""
    value = number(text, line) * float(1 << 10 * ("B", "KB", "MB", "GB").index(unit))
    if not 1 <= value <= 1 << 50:
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
    address: str, name: str, *, api: str = "", kind: str = "unknown", real: bool = True
) -> DeviceRecord:
    """The record of a device that another program measured; ``kind``: cpu, gpu or accelerator.

    ``real``: False for an emulated one, whose figures are never shown as hardware's.
    """
    return DeviceRecord(
        address=address,
        backend=address.partition(":")[0],
        real=real,
        name=name,
        api=api,
        properties={"type": kind},
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
