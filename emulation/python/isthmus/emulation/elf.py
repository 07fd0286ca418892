"""Changes calls in a private copy of a library: the parts of ELF that this needs (x86-64)."""

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
_INDIRECT_JUMP = b"\xff\x25"


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

    def guarded(self, caller: str, function: str, before: bytes, after: bytes) -> bytes | None:
        """The library whose function ``caller`` comes through new code to an imported one.

        ``before``, a jump there, and ``after`` go into the unused end of the code's last page. None
        where there is no room, or not exactly one such call.
        """
        code = next((s for s in self._segments if s[0] == _LOADED and s[1] & _EXECUTABLE), None)
        where, stub = self.symbols.get(caller), self._stub(function)
        if code is None or where is None or stub is None:
            return None
        _, _, offset, address, _, size, _, _ = code
        start = where.address - address + offset
        calls = [
            at
            for at in range(start, start + where.size - 4)
            if self.data[at : at + 1] == _CALL and self._target(at, address - offset) == stub
        ]
        room = offset + size + -(offset + size) % 16
        jump_from = room + len(before) + 5
        patch = before + b"\xe9" + struct.pack("<i", stub - (jump_from + address - offset)) + after
        end = room + len(patch)
        unused = not any(self.data[room:end]) and end <= offset + size + -(offset + size) % _PAGE
        if len(calls) != 1 or not unused:
            return None
        called = Library(self._with(room, patch))
        # The loader maps whole pages, so that what lies behind the segment's end is there, too.
        return called._with(calls[0] + 1, struct.pack("<i", room - (calls[0] + 5)))

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
