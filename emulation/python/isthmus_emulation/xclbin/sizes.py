"""Finds sizes of C++ types by the names of the types."""

from __future__ import annotations

import re

_SIZES = {
    1: ("bool", "char", "signed char", "unsigned char", "uchar", "int8_t", "uint8_t"),
    2: ("short", "unsigned short", "ushort", "int16_t", "uint16_t"),
    4: ("int", "signed", "unsigned int", "unsigned", "uint", "float", "int32_t", "uint32_t"),
    8: (
        "long",
        "long long",
        "unsigned long",
        "ulong",
        "unsigned long long",
        "double",
        "int64_t",
        "uint64_t",
        "size_t",
    ),
}
_INT_UNSAID = re.compile(r"(?<=long|hort) int$|(?<=signed) int$")
_SIZE_OF = {name: size for size, names in _SIZES.items() for name in names}
_VECTOR = re.compile(r"(u?(?:char|short|int|long)|float|double)(2|3|4|8|16)")
_STREAM = re.compile(r"hls::stream<\s*(.+?)\s*(?:,\s*\d+\s*)?>\s*&?")
_INTEGER = re.compile(r"(?:\w+::)*ap_(u)?int<\s*\d+\s*>")
_BITS = re.compile(r"(?:\w+::)*(?:ap_u?int<\s*(\d+)\s*>|(?:ap_axi[su]|qdma_axis)<\s*(\d+)\s*,.*>)")


def size_of(type_name: str, *, opencl: bool = False) -> int | None:
    """Returns the bytes of a type in C or OpenCL C; None if its name does not show the size."""
    if opencl and (vector := _VECTOR.fullmatch(type_name)):
        return _SIZE_OF[vector[1]] * (4 if vector[2] == "3" else int(vector[2]))
    return _SIZE_OF.get(_INT_UNSAID.sub("", type_name))


def is_signed(type_name: str) -> bool | None:
    """Whether an integer of that type may be negative; None for any other type."""
    words = [word for word in type_name.split() if word not in {"const", "volatile"}]
    name = _INT_UNSAID.sub("", " ".join(words))
    if bits := _INTEGER.fullmatch(name):
        return bits[1] is None
    if name not in _SIZE_OF or name in {"float", "double"}:
        return None
    return not (name.startswith("u") or name in {"bool", "size_t"})


def word_bytes(stream: str) -> int | None:
    """Returns data bytes in a word of ``hls::stream<...>``; None if the name does not show them.

    ``ap_uint<24>`` and ``ap_axiu<24, 0, 0, 0>`` have 3.
    """
    match = _STREAM.fullmatch(stream)
    if match is None:
        return None
    bits = _BITS.fullmatch(match[1])
    return (int(bits[1] or bits[2]) + 7) // 8 if bits else size_of(match[1])
