"""Changes calls in a private copy of a library: the parts of ELF that this needs (x86-64).

Reads a library of XRT in 16 ms, at each start of a program; pyelftools takes 500 ms for the same.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_MAGIC = b"\x7fELF\x02\x01"  # 64 bit, least significant byte first
_X86_64 = 62
_RELOCATIONS, _DYNAMIC_SYMBOLS, _VERSIONS = 4, 11, 0x6FFF_FFFF
_LOADED, _EXECUTABLE = 1, 1
_PAGE = 4096
_CALL = b"\xe8"
_JUMP, _JUMP_BYTES = b"\xe9", 5
_RELATIVE = 8
"""Kind of relocation: an address in the library itself."""
_INDIRECT_JUMP = b"\xff\x25"


class _Code(NamedTuple):
    end: int
    """Where the executable segment ends in the file."""
    shift: int
    """Address of a byte in it, less its place in the file."""


class _Section(NamedTuple):
    kind: int
    offset: int
    size: int
    link: int


class _Symbol(NamedTuple):
    place: int
    """Offset of the entry in the file."""
    name: int
    """Offset of its name in the file."""
    version: int
    section: int
    address: int
    size: int


class Library:
    """The bytes of a shared object; raises ValueError for any other file or machine."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        try:
            self._read()
        except (struct.error, IndexError, StopIteration) as error:
            raise ValueError("no library that can be read") from error

    def _read(self) -> None:
        header = _HEADER.unpack_from(self.data)
        if not self.data.startswith(_MAGIC) or header[2] != _X86_64:
            raise ValueError("no library for this machine")
        self._sections = list(self._read_sections(header))
        self._segments = [
            _SEGMENT.unpack_from(self.data, header[5] + index * header[9])
            for index in range(header[10])
        ]
        table = next(s for s in self._sections if s.kind == _DYNAMIC_SYMBOLS)
        self._names = self._sections[table.link].offset
        versions = next(s for s in self._sections if s.kind == _VERSIONS)
        self._order: list[str] = []
        self.symbols: dict[str, _Symbol] = {}
        for index in range(table.size // _SYMBOL.size):
            place = table.offset + index * _SYMBOL.size
            name, _, _, section, address, size = _SYMBOL.unpack_from(self.data, place)
            (version,) = struct.unpack_from("<H", self.data, versions.offset + 2 * index)
            start = self._names + name
            text = self.data[start : self.data.index(b"\0", start)].decode("ascii")
            self._order.append(text)
            self.symbols[text] = _Symbol(place, start, version, section, address, size)

    def _read_sections(self, header: tuple[int, ...]) -> Iterator[_Section]:
        table, size, count = header[6], header[11], header[12]
        for index in range(count):
            fields = _SECTION.unpack_from(self.data, table + index * size)
            yield _Section(fields[1], fields[4], fields[5], fields[6])

    def redirected(self, function: str, instead: str) -> bytes | None:
        """The library with one imported function replaced by another that it imports, too.

        None where that cannot be: both must be imported in the same version.
        """
        old, new = self.symbols.get(function), self.symbols.get(instead)
        if old is None or new is None or old.section or new.section or old.version != new.version:
            return None
        return self._with(old.place, struct.pack("<I", new.name - self._names))

    def extended(self, method: str, before: bytes) -> bytes | None:
        """The library whose virtual method comes through new code, ``before``, to itself.

        None where there is no room, or not exactly one table of a class that has it.
        """
        where, code = self.symbols.get(method), self._code()
        if where is None or not where.section or code is None:
            return None
        entries = [
            at
            for section in self._sections
            if section.kind == _RELOCATIONS
            for at in range(section.offset, section.offset + section.size, _RELOCATION.size)
            if _RELOCATION.unpack_from(self.data, at)[1:] == (_RELATIVE, where.address)
        ]
        room = self._room(code, len(before) + _JUMP_BYTES)
        if len(entries) != 1 or room is None:
            return None
        address = room + code.shift
        jump = where.address - (address + len(before) + _JUMP_BYTES)
        place, info, _ = _RELOCATION.unpack_from(self.data, entries[0])
        made = self._with(room, before + _JUMP + struct.pack("<i", jump))
        return Library(made)._with(entries[0], _RELOCATION.pack(place, info, address))

    def guarded(self, caller: str, function: str, before: bytes, after: bytes) -> bytes | None:
        """The library whose function ``caller`` comes through new code to an imported one.

        ``before``, a jump there, and ``after`` go into the unused end of the code's last page. None
        where there is no room, or not exactly one such call.
        """
        code, where, stub = self._code(), self.symbols.get(caller), self._stub(function)
        if code is None or where is None or stub is None:
            return None
        start = where.address - code.shift
        calls = [
            at
            for at in range(start, start + where.size - 4)
            if self.data[at : at + 1] == _CALL and self._target(at, code.shift) == stub
        ]
        room = self._room(code, len(before) + _JUMP_BYTES + len(after))
        if len(calls) != 1 or room is None:
            return None
        jump = stub - (room + len(before) + _JUMP_BYTES + code.shift)
        patch = before + _JUMP + struct.pack("<i", jump) + after
        called = Library(self._with(room, patch))
        # The loader maps whole pages, so that what lies behind the segment's end is there, too.
        return called._with(calls[0] + 1, struct.pack("<i", room - (calls[0] + 5)))

    def _code(self) -> _Code | None:
        for kind, flags, offset, address, _, size, _, _ in self._segments:
            if kind == _LOADED and flags & _EXECUTABLE:
                return _Code(offset + size, address - offset)
        return None

    def _room(self, code: _Code, size: int) -> int | None:
        """Place of so many unused bytes behind the code, in its last page."""
        page_end = code.end + -code.end % _PAGE
        for room in range(code.end + -code.end % 16, page_end - size + 1, 16):
            if not any(self.data[room:page_end]):
                return room
        return None

    def _with(self, place: int, patch: bytes) -> bytes:
        return self.data[:place] + patch + self.data[place + len(patch) :]

    def _target(self, at: int, shift: int) -> int:
        (distance,) = struct.unpack_from("<i", self.data, at + 1)
        return at + 5 + shift + int(distance)

    def _stub(self, function: str) -> int | None:
        """Address of the code that jumps to an imported function."""
        entries = {
            place
            for section in self._sections
            if section.kind == _RELOCATIONS
            for at in range(section.offset, section.offset + section.size, _RELOCATION.size)
            for place, info, _ in [_RELOCATION.unpack_from(self.data, at)]
            if info >> 32 < len(self._order) and self._order[info >> 32] == function
        }
        for kind, flags, offset, address, _, size, _, _ in self._segments:
            if kind != _LOADED or not flags & _EXECUTABLE:
                continue
            at = self.data.find(_INDIRECT_JUMP, offset, offset + size)
            while at >= 0:
                (distance,) = struct.unpack_from("<i", self.data, at + 2)
                if at + 6 + distance + address - offset in entries:
                    return int(at + address - offset)
                at = self.data.find(_INDIRECT_JUMP, at + 1, offset + size)
        return None
