"""Reads expressions of a kernel's code from libclang's cursors."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import msgspec

from isthmus_emulation.estimate import libclang
from isthmus_emulation.estimate.arrays import Arrays, NotReadError
from isthmus_emulation.estimate.cursors import WRAPPING, bits_of, dimensions, inner, number_of
from isthmus_emulation.estimate.structure import (
    Array,
    Call,
    Constant,
    Element,
    Expression,
    Function,
    Operation,
    Variable,
)

_MATH = {
    "sqrt": "sqrt", "sqrtf": "sqrt", "rsqrt": "sqrt", "hypot": "sqrt", "fabs": "logic",
    "fabsf": "logic", "abs": "logic", "min": "compare", "max": "compare", "fmin": "compare",
    "fmax": "compare", "fminf": "compare", "fmaxf": "compare", "floor": "compare",
    "ceil": "compare", "round": "compare", "divide": "divide", "recip": "divide",
}  # fmt: skip
_SLOW_MATH = re.compile(
    r"(exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|powr|sin|cos|tan|sinh|cosh|tanh|asin|acos|atan|"
    r"atan2|sincos|fmod)f?"
)
OVERLOADED = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder", "<<": "shift",
    ">>": "shift", "<": "compare", ">": "compare", "<=": "compare", ">=": "compare",
    "==": "compare", "!=": "compare", "&": "mask", "|": "logic", "^": "logic", "~": "logic",
    "!": "logic", "&&": "logic", "||": "logic",
}  # fmt: skip
_COMPARISONS = {"<": 11, ">": 12, "<=": 13, ">=": 14, "==": 15, "!=": 16}
"""Numbers of comparisons in CXBinaryOperatorKind."""
_AS_WIDE_AS_OPERANDS = {"multiply", "divide", "remainder", "compare", "shift"}
_DEREFERENCE, _ADDRESS = 6, 5
"""Numbers of ``*`` and ``&`` in CXUnaryOperatorKind."""


class Expressions(Arrays):
    """Reads expressions of a kernel, with the arrays that they use."""

    _functions: dict[str, Function]

    @abstractmethod
    def _function(self, cursor: Any, *, is_top: bool = False) -> str:
        """Reads a function and returns its name in the code."""

    def _expression(self, cursor: Any) -> Expression:
        kind = cursor.kind.name
        known = libclang.constant(self._clang, cursor) if kind != "CALL_EXPR" else None
        if known is not None:
            return Constant(known)
        if kind.endswith("LITERAL"):
            return Constant(is_power=_is_power(cursor))
        parts = list(cursor.get_children())
        if kind in WRAPPING:
            return self._converted(cursor, parts)
        if kind in {"DECL_REF_EXPR", "MEMBER_REF_EXPR"}:
            return self._reference(cursor, parts)
        if kind == "ARRAY_SUBSCRIPT_EXPR":
            return self._element(cursor)
        if kind in {"BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"} and len(parts) == 2:
            operator = libclang.binary_operator(self._clang, cursor)
            kind = libclang.BINARY[operator] if operator < len(libclang.BINARY) else "logic"
            return self._operation(kind, cursor, parts)
        if kind == "UNARY_OPERATOR" and parts:
            return self._unary(cursor, parts[0])
        if kind == "CALL_EXPR":
            return self._call(cursor, parts)
        operands = tuple(self._expression(p) for p in parts if p.kind.is_expression())
        if kind == "CONDITIONAL_OPERATOR":
            return Operation("select", bits=number_of(cursor.type)[1], operands=operands)
        return operands[0] if len(operands) == 1 else Operation("free", operands=operands)

    def _converted(self, cursor: Any, parts: list[Any]) -> Expression:
        """The value, converted if it changes between integer and floating point."""
        inside = [part for part in parts if part.kind.is_expression()]
        if not inside:
            return Constant()
        value = self._expression(inside[-1])
        to, of = number_of(cursor.type)[0], number_of(inside[-1].type)[0]
        if to != of and not isinstance(value, Constant | Array):
            number = of if to == "integer" else to
            return Operation("convert", number, operands=(value,))
        return value

    def _reference(self, cursor: Any, parts: list[Any]) -> Expression:
        member = self._member(cursor)
        if member is not None:
            return Array(member)
        if cursor.kind.name == "MEMBER_REF_EXPR" and parts:
            base = self._expression(parts[0])
            if isinstance(base, Variable):
                return Variable(f"{base.name}.{cursor.spelling}")
            return base
        declared = cursor.referenced
        if declared is None:
            return Constant()
        name = self._name(declared)
        if declared.kind.name in {"VAR_DECL"} and name not in self._storage:
            sizes = dimensions(declared.type.get_canonical())
            if sizes:  # initial values of the whole source
                self._declare(declared)
                self._sizes.setdefault(name, sizes)
        kind = declared.type.get_canonical().kind.name
        if name in self._storage or kind in {"POINTER", "CONSTANTARRAY", "INCOMPLETEARRAY"}:
            return Array(name)
        return Variable(name)

    def _member(self, cursor: Any) -> str | None:
        """Name of a structure's member that is an array or stream; None for other members."""
        declared = cursor.referenced if cursor.kind.name == "MEMBER_REF_EXPR" else None
        if declared is None or declared.kind.name != "FIELD_DECL":
            return None
        canonical = declared.type.get_canonical()
        sizes = dimensions(canonical)
        if not sizes and "hls::stream<" not in canonical.spelling:
            return None
        field = self._name(declared)
        whole = self._structure(cursor)
        name = f"{whole}.{field}" if whole else field
        if name not in self._storage:
            of_all = self._storage.get(field)
            self._declare(declared)
            storage = self._storage.pop(field)
            if of_all is not None:
                self._storage[field] = of_all
            self._storage[name] = msgspec.structs.replace(storage, is_member=whole is None)
            self._sizes[name] = sizes
        return name

    def _structure(self, member: Any) -> str | None:
        """Name of the variable whose member an expression is; None if it is no plain variable."""
        of = next((inner(part) for part in member.get_children()), None)
        if of is None or of.kind.name != "DECL_REF_EXPR" or of.referenced is None:
            return None
        is_variable = of.referenced.kind.name in {"VAR_DECL", "PARM_DECL"}
        return self._name(of.referenced) if is_variable else None

    def _element(self, cursor: Any) -> Expression:
        indices: list[Expression] = []
        while cursor.kind.name == "ARRAY_SUBSCRIPT_EXPR":
            base, index = list(cursor.get_children())[:2]
            indices.insert(0, self._expression(index))
            cursor = inner(base)
        name = self._base(cursor)
        if name is None:
            return Operation("free", operands=tuple(indices))
        return Element(name, tuple(indices))

    def _base(self, cursor: Any) -> str | None:
        """Name of the array or stream that an expression refers to."""
        for part in cursor.walk_preorder():
            member = self._member(part)
            if member is not None:
                return member
            if part.kind.name == "DECL_REF_EXPR" and part.referenced is not None:
                reference = self._reference(part, [])
                if isinstance(reference, Array | Variable):
                    return reference.name
        return None

    def _stream(self, cursor: Any) -> str | None:
        is_stream = "hls::stream" in cursor.type.get_canonical().spelling
        return self._base(cursor) if is_stream else None

    def _unary(self, cursor: Any, part: Any) -> Expression:
        operator = libclang.unary_operator(self._clang, cursor)
        if operator == _DEREFERENCE:
            name = self._base(part)
            return Element(name, (Constant(0),)) if name else self._expression(part)
        if operator == _ADDRESS:
            name = self._base(part)
            return Array(name) if name and name in self._storage else self._expression(part)
        return Operation("logic", operands=(self._expression(part),))

    def _operation(self, kind: str, cursor: Any, parts: Sequence[Any]) -> Expression:
        operands = tuple(map(self._expression, parts))
        if kind == "mask":
            kind, operands = _of_mask(operands) if len(operands) == 2 else ("logic", operands)
        number, bits = number_of(cursor.type)
        others = [number_of(inner(part).type) for part in parts]
        if kind == "compare":
            number = next((n for n, _ in others if n != "integer"), "integer")
        if number == "integer" and kind in _AS_WIDE_AS_OPERANDS:
            bits = max(bits_of(o, width) for o, (_, width) in zip(operands, others, strict=True))
        operator = 0
        if kind in {"compare", "logic"} and cursor.kind.name == "BINARY_OPERATOR":
            operator = libclang.binary_operator(self._clang, cursor)
        return Operation(kind, number, bits, operands, operator)

    def _call(self, cursor: Any, parts: list[Any]) -> Expression:
        name = cursor.spelling
        if name in {"read", "read_nb"} and parts:
            stream = self._base(parts[0])
            if stream is not None and self._is_stream(stream):
                return Element(stream)
        declared = cursor.referenced
        arguments = [p for p in cursor.get_arguments() if p is not None]
        if declared is not None and declared.kind.name in {"FUNCTION_DECL", "CXX_METHOD"}:
            called = declared.get_definition() or declared
            if self._source.is_users(called.extent.start.offset):
                return self._users_call(called, arguments)
        if name.startswith("operator") and len(parts) >= 2:
            return self._overloaded(name.removeprefix("operator"), cursor, parts)
        operands = tuple(map(self._expression, arguments))
        number, bits = number_of(cursor.type)
        if name in _MATH:
            return Operation(_MATH[name], number, bits, operands)
        if _SLOW_MATH.fullmatch(name):
            return Operation("exp", number, bits, operands)
        if not operands:
            operands = tuple(self._expression(p) for p in parts if p.kind.is_expression())
        return operands[0] if len(operands) == 1 else Operation("free", operands=operands)

    def _users_call(self, called: Any, arguments: list[Any]) -> Expression:
        has_body = any(c.kind.name == "COMPOUND_STMT" for c in called.get_children())
        if not has_body:
            raise NotReadError(f"it calls {called.spelling} of another source")
        name = self._function(called)
        given = tuple(map(self._argument, arguments))
        function = self._functions[name]
        for parameter, argument in zip(function.parameters, given, strict=False):
            if isinstance(argument, Array):
                self._pass_on(parameter, argument.name, function.pragmas)
        return Call(name, given)

    def _argument(self, cursor: Any) -> Expression:
        """Reads an argument of a call: the array that the argument refers to, else its value."""
        argument = self._expression(cursor)
        kind = cursor.type.get_canonical().kind.name
        if isinstance(argument, Element) and kind in {"POINTER", "CONSTANTARRAY"}:
            return Array(argument.array)
        if isinstance(argument, Operation) and kind == "POINTER":
            name = self._base(cursor)
            return Array(name) if name else argument
        return argument

    def _overloaded(self, word: str, cursor: Any, parts: list[Any]) -> Expression:
        operands = [p for n, p in enumerate(parts) if n != 1]
        if word in {"[]", "()"}:
            name = self._base(parts[0])
            if name is not None and name in self._storage:
                return Element(name, tuple(map(self._expression, operands[1:])))
            return self._expression(parts[0])
        if word == "=":
            return self._expression(operands[-1])
        kind = OVERLOADED.get(word, OVERLOADED.get(word.removesuffix("="), "free"))
        found = self._operation(kind, cursor, operands)
        if isinstance(found, Operation) and word in _COMPARISONS:
            return msgspec.structs.replace(found, operator=_COMPARISONS[word])
        return found


def _is_power(literal: Any) -> bool:
    """Whether a literal of floating point is 0 or a power of 2, such as 0.5."""
    text = next((token.spelling for token in literal.get_tokens()), "")
    try:
        value = float(text.rstrip("fFlL"))
    except ValueError:
        return False
    return math.isfinite(value) and math.frexp(abs(value))[0] in {0.0, 0.5}


def _of_mask(operands: tuple[Expression, ...]) -> tuple[str, tuple[Expression, ...]]:
    """Returns ``x & 7`` as a remainder of ``x`` by 8; any other mask as logic."""
    for value, mask in (operands, operands[::-1]):
        by = mask.value + 1 if isinstance(mask, Constant) and mask.value is not None else 0
        if by > 1 and by & (by - 1) == 0:
            return "remainder", (value, Constant(by))
    return "logic", operands
