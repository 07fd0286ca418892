"""Reads from libclang's cursors: operands, arithmetic types, and sizes of arrays."""

from __future__ import annotations

import re
from typing import Any

from isthmus_emulation.estimate.structure import Constant, Expression, Number

_BITS = {
    "BOOL": 1, "CHAR_U": 8, "UCHAR": 8, "CHAR_S": 8, "SCHAR": 8, "USHORT": 16, "SHORT": 16,
    "UINT": 32, "INT": 32, "ULONG": 64, "LONG": 64, "ULONGLONG": 64, "LONGLONG": 64,
}  # fmt: skip
_WIDTH = re.compile(r"ap_u?(?:int|fixed)(?:_base)?<\s*(\d+)")
WRAPPING = (
    "UNEXPOSED_EXPR", "PAREN_EXPR", "CSTYLE_CAST_EXPR", "CXX_STATIC_CAST_EXPR",
    "CXX_FUNCTIONAL_CAST_EXPR", "CXX_REINTERPRET_CAST_EXPR", "CXX_CONST_CAST_EXPR",
)  # fmt: skip


def inner(cursor: Any) -> Any:
    """The expression within brackets and implicit conversions."""
    while cursor.kind.name in WRAPPING:
        parts = [c for c in cursor.get_children() if c.kind.is_expression()]
        if not parts:
            return cursor
        cursor = parts[-1]
    return cursor


def number_of(of: Any) -> tuple[Number, int]:
    """Kind of arithmetic and number of bits of a type."""
    canonical = of.get_canonical()
    name = canonical.kind.name
    if name in {"FLOAT", "DOUBLE", "LONGDOUBLE"}:
        return ("float", 32) if name == "FLOAT" else ("double", 64)
    if name in _BITS:
        return "integer", _BITS[name]
    spelled = canonical.spelling
    if match := _WIDTH.search(spelled):
        return "integer", int(match[1])
    if re.search(r"\bhalf\b", spelled):
        return "half", 16
    if "vector<float" in spelled or re.search(r"Vector<float", spelled):
        return "float", 32
    if "vector<double" in spelled:
        return "double", 64
    return "integer", 32


def bits_of(operand: Expression, width: int) -> int:
    """Number of bits of an operand; for a constant, the bits that its value needs."""
    if isinstance(operand, Constant) and operand.value is not None:
        return max(1, operand.value.bit_length())
    return width


def dimensions(of: Any) -> tuple[int, ...]:
    """Sizes of an array type in each dimension; empty for any other type."""
    sizes = []
    while of.kind.name == "CONSTANTARRAY":
        sizes.append(of.element_count)
        of = of.element_type.get_canonical()
    return tuple(sizes)


def elements(of: Any) -> int | None:
    """Number of elements of an array type in all dimensions; None for any other type."""
    product = 1
    for size in dimensions(of):
        product *= size
    return product if of.kind.name == "CONSTANTARRAY" else None


def is_constant(of: Any) -> bool:
    """Whether the elements of an array can never change."""
    return bool(of.is_const_qualified() or of.get_canonical().is_const_qualified())
