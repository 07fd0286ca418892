"""What libclang knows and its Python package does not offer."""

from __future__ import annotations

import ctypes
from typing import Any

INSTALL = "pip install 'isthmus[estimate]'"
"""Command that brings it."""
_INTEGER = 1
"""``CXEval_Int``."""
BINARY = (
    "", "", "", "multiply", "divide", "divide", "add", "subtract", "shift", "shift", "compare",
    "compare", "compare", "compare", "compare", "compare", "compare", "logic", "logic", "logic",
    "logic", "logic", "assign", "multiply", "divide", "divide", "add", "subtract", "shift",
    "shift", "logic", "logic", "logic", "comma",
)  # fmt: skip
"""Operators by the number of ``CXBinaryOperatorKind``; those behind ``assign`` assign, too."""


def cindex() -> Any | None:
    """The package, with its library; None where it is not installed, or too old."""
    try:
        from clang import cindex as found  # noqa: PLC0415

        library = found.conf.lib
        library.clang_getCursorBinaryOperatorKind.argtypes = [found.Cursor]
        library.clang_getCursorUnaryOperatorKind.argtypes = [found.Cursor]
        library.clang_Cursor_Evaluate.argtypes = [found.Cursor]
        library.clang_Cursor_Evaluate.restype = ctypes.c_void_p
        library.clang_EvalResult_getKind.argtypes = [ctypes.c_void_p]
        library.clang_EvalResult_getAsLongLong.argtypes = [ctypes.c_void_p]
        library.clang_EvalResult_getAsLongLong.restype = ctypes.c_longlong
        library.clang_EvalResult_dispose.argtypes = [ctypes.c_void_p]
    except (ImportError, AttributeError, OSError):
        return None
    except Exception as error:
        if type(error).__name__ != "LibclangError":  # the package's own, for a missing library
            raise
        return None
    return found


def binary_operator(clang: Any, cursor: Any) -> int:
    """The number of a cursor's operator with two operands."""
    return int(clang.conf.lib.clang_getCursorBinaryOperatorKind(cursor))


def unary_operator(clang: Any, cursor: Any) -> int:
    """The number of a cursor's operator with one operand."""
    return int(clang.conf.lib.clang_getCursorUnaryOperatorKind(cursor))


def constant(clang: Any, cursor: Any) -> int | None:
    """The integer that an expression always is; else None."""
    library = clang.conf.lib
    result = library.clang_Cursor_Evaluate(cursor)
    if not result:
        return None
    try:
        if library.clang_EvalResult_getKind(result) != _INTEGER:
            return None
        return int(library.clang_EvalResult_getAsLongLong(result))
    finally:
        library.clang_EvalResult_dispose(result)
