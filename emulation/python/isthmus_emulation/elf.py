"""Reads the symbols of a shared object (ELF, x86-64), and only the parts of the file with them.

Reading a library of XRT takes 16 ms at each start of a program; pyelftools takes 500 ms.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_MAGIC = b"\x7fELF\x02\x01"  # 64 bits, least significant byte first
_X86_64 = 62
_DYNAMIC_SYMBOLS = 11


class Symbol(NamedTuple):
    """A name that a library defines or uses."""

    section: int
    """Section that defines the name; 0: another library defines it."""
    size: int


def symbols(data: bytes) -> dict[str, Symbol]:
    """Returns the dynamic symbols of a library; raises ValueError for any other file or machine."""
    try:
        return _read(data)
    except (struct.error, IndexError, StopIteration) as error:
        raise ValueError("no library that can be read") from error


def _read(data: bytes) -> dict[str, Symbol]:
    header = _HEADER.unpack_from(data)
    if not data.startswith(_MAGIC) or header[2] != _X86_64:
        raise ValueError("no library for this machine")
    table, size, count = header[6], header[11], header[12]
    sections = [_SECTION.unpack_from(data, table + index * size) for index in range(count)]
    dynamic = next(section for section in sections if section[1] == _DYNAMIC_SYMBOLS)
    names = sections[dynamic[6]][4]
    symbols = {}
    for place in range(dynamic[4], dynamic[4] + dynamic[5], _SYMBOL.size):
        name, _, _, section, _, length = _SYMBOL.unpack_from(data, place)
        start = names + name
        symbols[data[start : data.index(b"\0", start)].decode("ascii")] = Symbol(section, length)
    return symbols
