"""Loads libclang, and calls its functions that its Python package does not offer."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

INSTALL = "pip install 'isthmus[estimate]'"
"""Command that installs libclang's package."""
_INTEGER = 1
"""Number of ``CXEval_Int``, a result that is an integer."""
BINARY = (
    "", "", "", "multiply", "divide", "remainder", "add", "subtract", "shift", "shift", "compare",
    "compare", "compare", "compare", "compare", "compare", "compare", "mask", "logic", "logic",
    "logic", "logic", "assign", "multiply", "divide", "remainder", "add", "subtract", "shift",
    "shift", "mask", "logic", "logic", "comma",
)  # fmt: skip
"""Kinds of operators by number of ``CXBinaryOperatorKind``; those after ``assign`` assign, too."""


_loading = threading.Lock()


def cindex() -> Any | None:
    """Returns the package with its library; None if it is not installed, or too old.

    Threads may share the package. It loads its library and fills its tables of names at the first
    use, without a lock. A second thread then sees half a table, or a second copy of the library.
    """
    with _loading:
        found = _loaded()
        if found is not None:
            for kinds in vars(found).values():
                if isinstance(kinds, type) and vars(kinds).get("_name_map", {}) is None:
                    _fill_names(kinds)
        return found


def _fill_names(kinds: Any) -> None:
    """Gives a class the table of names that each of its kinds would fill at its first use."""
    kinds._name_map = {kind: name for name, kind in vars(kinds).items() if type(kind) is kinds}


def _loaded() -> Any | None:
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
        if type(error).__name__ != "LibclangError":  # the package's error for a missing library
            raise
        return None
    return found


def binary_operator(clang: Any, cursor: Any) -> int:
    """Number of the operator of a cursor with two operands."""
    return int(clang.conf.lib.clang_getCursorBinaryOperatorKind(cursor))


def unary_operator(clang: Any, cursor: Any) -> int:
    """Number of the operator of a cursor with one operand."""
    return int(clang.conf.lib.clang_getCursorUnaryOperatorKind(cursor))


def constant(clang: Any, cursor: Any) -> int | None:
    """Integer value of a constant expression; None for any other expression."""
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
