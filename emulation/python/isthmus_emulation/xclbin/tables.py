"""Reads and writes sections of equal rows behind a count: memories, IPs, connections, clocks.

Layouts follow the structures of ``xclbin.h`` (XRT 2.13), little-endian, with the padding that its
compiler puts before members of 8 bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import ClassVar, TypeVar

import msgspec

from isthmus.errors import UsageError
from isthmus_emulation.xclbin.fields import get_text, pack, put_text
from isthmus_emulation.xclbin.kinds import DATA_MHZ, ClockType, Control, IpType, MemoryType

_MOST_ROWS = 1 << 16


class Row(msgspec.Struct, frozen=True):
    """A row of a section that is a table; subclasses have its fields and layout."""

    COUNT: ClassVar[struct.Struct]
    """Layout of the number of rows, with the padding behind it."""
    LAYOUT: ClassVar[struct.Struct]

    def pack(self) -> bytes:
        """Returns the row's bytes; raises UsageError for a value that does not fit its field."""
        raise NotImplementedError

    @classmethod
    def unpack(cls: type[AnyRow], data: bytes) -> AnyRow:
        """Reads a row of ``LAYOUT.size`` bytes; raises UsageError if a name is not text."""
        raise NotImplementedError


AnyRow = TypeVar("AnyRow", bound=Row)


class Memory(Row, frozen=True):
    """``mem_data``: a bank, host memory (HOST[0]), or a stream."""

    COUNT: ClassVar[struct.Struct] = struct.Struct("<i4x")
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<BB6xQQ16s")

    name: str
    type: int
    """Number of ``MemoryType``."""
    size_kib: int
    """Size in KiB; a stream has its route here."""
    address: int
    """Address of the first byte; a stream has its flow here."""
    used: bool = True
    """``m_used``: false if the table lists a memory that the card does not have."""

    @property
    def size(self) -> int:
        """Returns the size in bytes; 0 for a stream."""
        streams = (MemoryType.STREAMING, MemoryType.STREAMING_CONNECTION)
        return 0 if self.type in streams else self.size_kib * 1024

    def pack(self) -> bytes:  # noqa: D102
        name = put_text(self.name, 16, "memory name")
        what = f"memory {self.name!r}"
        return pack(self.LAYOUT, what, self.type, self.used, self.size_kib, self.address, name)

    @classmethod
    def unpack(cls, data: bytes) -> Memory:  # noqa: D102
        kind, used, size_kib, address, name = cls.LAYOUT.unpack(data)
        return cls(get_text(name, "a memory's name"), kind, size_kib, address, bool(used))


class Connection(Row, frozen=True):
    """``connection``: an argument of a kernel's instance accesses a memory."""

    COUNT: ClassVar[struct.Struct] = struct.Struct("<i")
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<iii")

    argument: int
    """Number of the argument in the kernel."""
    ip: int
    """Number of the instance's row in the table of IPs."""
    memory: int
    """Number of the memory's row in the table of memories."""

    def pack(self) -> bytes:  # noqa: D102
        return pack(self.LAYOUT, "connection", self.argument, self.ip, self.memory)

    @classmethod
    def unpack(cls, data: bytes) -> Connection:  # noqa: D102
        return cls(*cls.LAYOUT.unpack(data))


class Ip(Row, frozen=True):
    """``ip_data``: a block on the card, mostly an instance of a kernel."""

    COUNT: ClassVar[struct.Struct] = struct.Struct("<i4x")
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<IIQ64s")

    name: str
    """Name; for a kernel ``KERNEL:INSTANCE``."""
    type: int
    """Number of ``IpType``."""
    address: int
    """Address of the block's registers; all bits are ones for a block without registers."""
    properties: int = 0
    """For a kernel: interrupt enable (bit 0), interrupt (bits 1-7) and control (bits 8-15)."""

    @property
    def control(self) -> int | None:
        """Returns the control protocol of a kernel; None for another block."""
        return self.properties >> 8 & 0xFF if self.type == IpType.KERNEL else None

    @staticmethod
    def kernel(name: str, address: int, control: Control, *, interrupt: bool) -> Ip:
        """Returns the row for an instance of a kernel."""
        return Ip(name, IpType.KERNEL, address, control << 8 | interrupt)

    def pack(self) -> bytes:  # noqa: D102
        name = put_text(self.name, 64, "IP name")
        return pack(
            self.LAYOUT, f"IP {self.name!r}", self.type, self.properties, self.address, name
        )

    @classmethod
    def unpack(cls, data: bytes) -> Ip:  # noqa: D102
        kind, properties, address, name = cls.LAYOUT.unpack(data)
        return cls(get_text(name, "an IP's name"), kind, address, properties)


class Clock(Row, frozen=True):
    """``clock_freq``: a clock and its frequency."""

    COUNT: ClassVar[struct.Struct] = struct.Struct("<h")
    LAYOUT: ClassVar[struct.Struct] = struct.Struct("<HB5x128s")

    name: str
    type: int = ClockType.KERNEL
    """Number of ``ClockType``."""
    mhz: int = DATA_MHZ

    def pack(self) -> bytes:  # noqa: D102
        name = put_text(self.name, 128, "clock name")
        return pack(self.LAYOUT, f"clock {self.name!r}", self.mhz, self.type, name)

    @classmethod
    def unpack(cls, data: bytes) -> Clock:  # noqa: D102
        mhz, kind, name = cls.LAYOUT.unpack(data)
        return cls(get_text(name, "a clock's name"), kind, mhz)


def encode(row: type[AnyRow], rows: Sequence[AnyRow]) -> bytes:
    """Packs rows into a section."""
    count = pack(row.COUNT, f"count of {row.__name__} rows", len(rows))
    return count + b"".join(r.pack() for r in rows)


def decode(row: type[AnyRow], data: bytes, section: str) -> tuple[AnyRow, ...]:
    """Reads a section's rows; raises UsageError, with ``section``, for an impossible count."""
    if len(data) < row.COUNT.size:
        raise UsageError(f"section {section} has {len(data)} bytes: too few for a count")
    (count,) = row.COUNT.unpack_from(data)
    end = row.COUNT.size + count * row.LAYOUT.size
    if not 0 <= count <= _MOST_ROWS or end > len(data):
        raise UsageError(f"section {section} says {count} rows; its {len(data)} bytes deny it")
    starts = range(row.COUNT.size, end, row.LAYOUT.size)
    return tuple(row.unpack(data[start : start + row.LAYOUT.size]) for start in starts)
