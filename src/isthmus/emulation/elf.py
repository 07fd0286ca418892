"""As much of ELF as it takes to let a library call another function than it asks for."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_MAGIC = b"\x7fELF\x02\x01"  # 64 bit, least significant byte first
_DYNAMIC_SYMBOLS, _VERSIONS = 11, 0x6FFF_FFFF


class _Section(NamedTuple):
    kind: int
    offset: int
    size: int
    link: int


class _Imported(NamedTuple):
    place: int
    """Where its symbol is in the file."""
    name: int
    """Where its name is in the file."""
    version: int


def redirect(library: bytes, function: str, instead: str) -> bytes | None:
    """The library with one imported function replaced by another that it imports, too.

    None where it is no library that this can be done to: both must be imported in the same version.
    """
    try:
        names, imported = _imported(library)
    except (struct.error, IndexError, ValueError):
        return None
    old, new = imported.get(function), imported.get(instead)
    if old is None or new is None or old.version != new.version:
        return None
    name = struct.pack("<I", new.name - names)
    return library[: old.place] + name + library[old.place + len(name) :]


def _imported(library: bytes) -> tuple[int, dict[str, _Imported]]:
    """Where names begin, and the functions that come from elsewhere."""
    if not library.startswith(_MAGIC):
        raise ValueError("no library for this machine")
    sections = list(_sections(library))
    symbols = next(s for s in sections if s.kind == _DYNAMIC_SYMBOLS)
    versions = next(s for s in sections if s.kind == _VERSIONS)
    names = sections[symbols.link].offset
    found: dict[str, _Imported] = {}
    for index in range(symbols.size // _SYMBOL.size):
        place = symbols.offset + index * _SYMBOL.size
        name, _, _, section, _, _ = _SYMBOL.unpack_from(library, place)
        if section == 0 and name != 0:
            (version,) = struct.unpack_from("<H", library, versions.offset + 2 * index)
            start = names + name
            text = library[start : library.index(b"\0", start)].decode("ascii")
            found[text] = _Imported(place, start, version)
    return names, found


def _sections(library: bytes) -> Iterator[_Section]:
    header = _HEADER.unpack_from(library)
    table, size, count = header[6], header[11], header[12]
    for index in range(count):
        fields = _SECTION.unpack_from(library, table + index * size)
        yield _Section(fields[1], fields[4], fields[5], fields[6])
