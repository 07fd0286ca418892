"""Reads and writes the xclbin container (``axlf``): a header, a table of sections, the sections.

Layouts follow ``struct axlf``, ``axlf_header`` and ``axlf_section_header`` of ``xclbin.h`` (XRT
2.13): little-endian, each section at a multiple of 8 bytes.
"""

from __future__ import annotations

import hashlib
import stat
import struct
from pathlib import Path
from uuid import UUID

import msgspec

from isthmus import saving
from isthmus.errors import UsageError
from isthmus_emulation.xclbin import metadata, tables
from isthmus_emulation.xclbin.fields import get_text, name_of, pack, put_text
from isthmus_emulation.xclbin.kinds import Mode, SectionKind
from isthmus_emulation.xclbin.metadata import Kernel
from isthmus_emulation.xclbin.tables import Clock, Connection, Ip, Memory

MAGIC = b"xclbin2\0"
_HEADER = struct.Struct("<8si28s256sQ" + "QQQHBBHH16s64s16s16sI4x")
_SECTION = struct.Struct("<I16s4xQQ")
_KEY_BLOCK = 256
_MOST_SECTIONS = 0x10000
_LARGEST_FILE = 1 << 30
_NO_UUID = UUID(int=0)


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of the header; length and number of sections are computed from the contents."""

    platform: str = ""
    """Vendor, board, name and version of the platform (VBNV)."""
    mode: int = Mode.HW
    version: tuple[int, int, int] = (2, 1, 0)
    """Version of the file: major, minor and patch."""
    uuid: UUID = _NO_UUID
    timestamp: int = 0
    """Seconds since 1970 at which the file was made."""
    action_mask: int = 0
    feature_rom: UUID = _NO_UUID
    feature_rom_timestamp: int = 0
    """Seconds since 1970 at which the platform's feature ROM was made."""
    debug_file: str = ""
    unique_id: int = 0
    signature_length: int = -1
    """Bytes of the signature; -1: not signed."""
    key_block: bytes = bytes(_KEY_BLOCK)


class Section(msgspec.Struct, frozen=True):
    """A section of the file."""

    kind: int
    """Number of ``SectionKind``, or a number that is newer than XRT 2.13."""
    data: bytes
    name: str = ""


class Xclbin(msgspec.Struct, frozen=True):
    """A whole file, with views of its sections: ``memories``, ``kernels`` and more.

    A view is empty if its section is missing. It raises UsageError with the section's name if the
    section is damaged.
    """

    header: Header
    sections: tuple[Section, ...]
    trailer: bytes = b""
    """Bytes after the last section: a signature, or notes of the program that wrote the file."""

    def data(self, kind: SectionKind) -> bytes | None:
        """Returns the contents of the first section of a kind; None without one."""
        return next((s.data for s in self.sections if s.kind == kind and s.data), None)

    @property
    def memories(self) -> tuple[Memory, ...]:
        """Returns banks, host memory and streams."""
        return self._rows(Memory, SectionKind.MEM_TOPOLOGY)

    @property
    def groups(self) -> tuple[Memory, ...]:
        """Returns memories, then groups of them; a buffer's bank is an index in this list."""
        return self._rows(Memory, SectionKind.GROUP_TOPOLOGY)

    @property
    def connections(self) -> tuple[Connection, ...]:
        """Returns the connections between arguments of IPs and ``memories``."""
        return self._rows(Connection, SectionKind.CONNECTIVITY)

    @property
    def group_connections(self) -> tuple[Connection, ...]:
        """Returns the connections between arguments of IPs and ``groups``."""
        return self._rows(Connection, SectionKind.GROUP_CONNECTIVITY)

    @property
    def ips(self) -> tuple[Ip, ...]:
        """Returns instances of kernels and other blocks, with the addresses of their registers."""
        return self._rows(Ip, SectionKind.IP_LAYOUT)

    @property
    def clocks(self) -> tuple[Clock, ...]:
        """Returns clocks and their frequencies."""
        return self._rows(Clock, SectionKind.CLOCK_FREQ_TOPOLOGY)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Returns kernels, their arguments and instances."""
        xml = self.data(SectionKind.EMBEDDED_METADATA)
        return () if xml is None else metadata.kernels_of(xml)

    @property
    def build(self) -> object:
        """Returns facts on the build as JSON of the program that wrote the file."""
        text = self.data(SectionKind.BUILD_METADATA)
        return None if text is None else metadata.json_of(text, "build_metadata")

    @property
    def key_values(self) -> dict[str, str]:
        """Returns texts by key (KEYVALUE_METADATA)."""
        text = self.data(SectionKind.KEYVALUE_METADATA)
        return {} if text is None else metadata.key_values_of(text)

    def encode(self) -> bytes:
        """Returns the file's bytes; raises UsageError for a value that does not fit its field."""
        header = self.header
        if len(self.sections) > _MOST_SECTIONS:
            raise UsageError(f"{len(self.sections)} sections; {_MOST_SECTIONS} are the most")
        if len(header.key_block) != _KEY_BLOCK:
            raise UsageError(f"the key block has {len(header.key_block)} bytes, not {_KEY_BLOCK}")
        offset = _HEADER.size + _SECTION.size * len(self.sections)
        offset += -offset % 8
        table, bodies = [], []
        for section in self.sections:
            name = put_text(section.name, 16, "section name")
            # A section without data has offset 0 and size 0.
            start = offset if section.data else 0
            table.append(pack(_SECTION, "section", section.kind, name, start, len(section.data)))
            bodies.append(section.data + bytes(-len(section.data) % 8))
            offset += len(bodies[-1])
        major, minor, patch = header.version
        head = pack(
            _HEADER, "header", MAGIC, header.signature_length, b"\xff" * 28, header.key_block,
            header.unique_id, offset + len(self.trailer), header.timestamp,
            header.feature_rom_timestamp, patch, major, minor, header.mode, header.action_mask,
            header.feature_rom.bytes, put_text(header.platform, 64, "platform"), header.uuid.bytes,
            put_text(header.debug_file, 16, "debug file"), len(self.sections),
        )  # fmt: skip
        front = head + b"".join(table)
        return b"".join([front, bytes(-len(front) % 8), *bodies, self.trailer])

    def with_own_uuid(self) -> Xclbin:
        """Returns the file with a UUID computed from its other contents."""
        replace = msgspec.structs.replace
        bare = replace(self, header=replace(self.header, uuid=_NO_UUID))
        digest = hashlib.sha256(bare.encode()).digest()
        return replace(self, header=replace(self.header, uuid=UUID(bytes=digest[:16], version=5)))

    def _rows(self, row: type[tables.AnyRow], kind: SectionKind) -> tuple[tables.AnyRow, ...]:
        data = self.data(kind)
        return () if data is None else tables.decode(row, data, kind.name.lower())


def read(data: bytes) -> Xclbin:
    """Returns the xclbin of these bytes; raises UsageError with the damage and its place.

    Sections are kept unchanged, also unknown ones; views read their contents.
    """
    if data[: len(MAGIC)] != MAGIC:
        raise UsageError("not an xclbin: it does not begin with 'xclbin2'")
    if len(data) < _HEADER.size:
        raise UsageError(f"cut short: {len(data)} bytes, and the header alone has {_HEADER.size}")
    (
        _, signature_length, _, key_block, unique_id, length, timestamp, rom_timestamp,
        patch, major, minor, mode, action_mask, rom, platform, uuid, debug_file, count,
    ) = _HEADER.unpack_from(data)  # fmt: skip
    if length > len(data):
        raise UsageError(f"cut short: its header says {length} bytes, and {len(data)} are here")
    table_end = _HEADER.size + count * _SECTION.size
    if count > _MOST_SECTIONS or table_end > length:
        raise UsageError(f"its header says {count} sections; its {length} bytes deny it")
    header = Header(
        platform=get_text(platform, "the platform's name"),
        mode=mode,
        version=(major, minor, patch),
        uuid=UUID(bytes=uuid),
        timestamp=timestamp,
        action_mask=action_mask,
        feature_rom=UUID(bytes=rom),
        feature_rom_timestamp=rom_timestamp,
        debug_file=get_text(debug_file, "the debug file's name"),
        unique_id=unique_id,
        signature_length=signature_length,
        key_block=key_block,
    )
    rows = [_SECTION.unpack_from(data, _HEADER.size + i * _SECTION.size) for i in range(count)]
    end = _end_of_sections([(k, start, size) for k, _, start, size in rows], table_end, length)
    sections = tuple(
        Section(kind, data[start : start + size] if size else b"", get_text(name, _where(i, kind)))
        for i, (kind, name, start, size) in enumerate(rows)
    )
    # The padding of the last section to a multiple of 8 is no trailer.
    aligned = min(end + -end % 8, len(data))
    return Xclbin(header, sections, data[end if any(data[end:aligned]) else aligned :])


def _end_of_sections(rows: list[tuple[int, int, int]], table_end: int, length: int) -> int:
    """Returns the end of the last section; raises UsageError if sections overlap or end late."""
    spans = sorted((start, size, _where(i, k)) for i, (k, start, size) in enumerate(rows) if size)
    end, before = table_end, "the table of sections"
    for start, size, where in spans:
        if start + size > length:
            raise UsageError(f"{where} lies at {start} with {size} bytes; the file has {length}")
        if start < end:
            raise UsageError(f"{where} begins at byte {start}, inside {before}")
        end, before = start + size, where
    return end


def _where(index: int, kind: int) -> str:
    return f"section {index} ({name_of(SectionKind, kind)})"


def load(path: Path) -> Xclbin:
    """Reads a file; raises UsageError with one line on the file and its damage."""
    try:
        status = path.stat()
        # Opening a pipe would wait, and reading a device would not end.
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{path} is not a file")
        if status.st_size > _LARGEST_FILE:
            raise UsageError(f"{path}: {status.st_size} bytes are too many for an xclbin")
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    try:
        return read(data)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def save(xclbin: Xclbin, path: Path, *, replace: bool = False) -> None:
    """Writes a file. Raises UsageError if the file exists, unless ``replace`` is set."""
    saving.save(xclbin.encode(), path, replace=replace)
