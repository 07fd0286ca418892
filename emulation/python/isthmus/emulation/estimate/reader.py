"""A kernel's code, as libclang reads it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from isthmus.emulation import opencl_c
from isthmus.emulation.estimate import libclang
from isthmus.emulation.estimate.preprocessed import Preprocessed, pragma
from isthmus.emulation.estimate.structure import (
    Array,
    Assign,
    Call,
    Choice,
    Clear,
    Code,
    Constant,
    Element,
    Evaluate,
    Expression,
    Function,
    Loop,
    Number,
    Operation,
    Pragma,
    Process,
    Return,
    Statement,
    Storage,
    Variable,
)

_BITS = {
    "BOOL": 1, "CHAR_U": 8, "UCHAR": 8, "CHAR_S": 8, "SCHAR": 8, "USHORT": 16, "SHORT": 16,
    "UINT": 32, "INT": 32, "ULONG": 64, "LONG": 64, "ULONGLONG": 64, "LONGLONG": 64,
}  # fmt: skip
_WIDTH = re.compile(r"ap_u?(?:int|fixed)(?:_base)?<\s*(\d+)")
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
_OVERLOADED = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "divide", "<<": "shift",
    ">>": "shift", "<": "compare", ">": "compare", "<=": "compare", ">=": "compare",
    "==": "compare", "!=": "compare", "&": "logic", "|": "logic", "^": "logic", "~": "logic",
    "!": "logic", "&&": "logic", "||": "logic",
}  # fmt: skip
_LOOPS = ("FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT")
_WRAPPING = (
    "UNEXPOSED_EXPR", "PAREN_EXPR", "CSTYLE_CAST_EXPR", "CXX_STATIC_CAST_EXPR",
    "CXX_FUNCTIONAL_CAST_EXPR", "CXX_REINTERPRET_CAST_EXPR", "CXX_CONST_CAST_EXPR",
)  # fmt: skip
_SMALL_ARRAY = 4
"""Elements up to which HLS makes an array registers (UG1399, complete_threshold)."""
_SMALL_TABLE = 256
"""Elements up to which a constant array is taken for logic, not for a RAM with ports."""
_FIRST_ASSIGNING = 23
"""From there on operators of CXBinaryOperatorKind assign, up to the comma's."""
_COMMA = 33
_ASSIGN = 22
_DEREFERENCE, _ADDRESS = 6, 5
_STEPS = {1: 1, 2: -1, 3: 1, 4: -1}
"""What the increments of CXUnaryOperatorKind add."""


class UnknownFunctionError(Exception):
    """The kernel calls a function whose code is not in its source."""


class Counter(NamedTuple):
    """Where a counter is inserted."""

    number: int
    begin: int
    """Of the statement."""
    body: int | None
    """Of a loop's body; None for a process."""
    end: int
    body_is_block: bool = False


class Read(NamedTuple):
    """What the reader finds."""

    code: Code
    counters: tuple[Counter, ...]


def read(
    clang: Any, path: Path, source: Preprocessed, top: str, *, kernel_flow: bool = True,
    constants: dict[str, int] | None = None, in_opencl: bool = False,
) -> Read | None:  # fmt: skip
    """Reads the function ``top`` and those that it calls; None where libclang finds no such.

    Without ``kernel_flow`` an argument that no INTERFACE names lies in a RAM, as in the vendor's
    IP flow. Raises UnknownFunctionError.
    """
    options = ["-x", "c++", "-std=c++17", "-ferror-limit=0", "-w"]
    unit = clang.Index.create().parse(str(path), args=options)
    functions = _declared(unit.cursor, "FUNCTION_DECL")
    found = [one for one in functions if one.spelling == top and one.is_definition()]
    users = [one for one in found if source.is_users(one.extent.start.offset)]
    if not users:
        return None
    return _Reader(clang, source, kernel_flow, constants or {}).all(
        unit.cursor, users[-1], in_opencl
    )


def _declared(cursor: Any, which: str) -> Iterable[Any]:
    """Declarations of a source, also within namespaces."""
    for child in cursor.get_children():
        kind = child.kind.name
        if kind in {"LINKAGE_SPEC", "NAMESPACE", "UNEXPOSED_DECL"}:
            yield from _declared(child, which)
        elif kind == which:
            yield child


class _Reader:
    def __init__(
        self, clang: Any, source: Preprocessed, kernel_flow: bool, constants: dict[str, int]
    ) -> None:
        self._clang = clang
        self._source = source
        self._kernel_flow = kernel_flow
        self._constants = dict(constants)
        self._functions: dict[str, Function] = {}
        self._storage: dict[str, Storage] = {}
        self._numbers: dict[tuple[str, int], int] = {("top", 0): 0}
        self._counters: dict[int, Counter] = {}
        self._streamed: set[int] = set()
        self._pragmas: list[tuple[int, str]] = []

    def all(self, unit: Any, top: Any, in_opencl: bool) -> Read:
        for declared in _declared(unit, "VAR_DECL"):
            if self._source.is_users(declared.extent.start.offset):
                self._declare(declared)
                self._sizes[self._name(declared)] = _dimensions(declared.type.get_canonical())
        name = self._function(top, is_top=True)
        begin, end = top.extent.start.offset, top.extent.end.offset
        block = self._body_of(top)
        self._counters[0] = Counter(0, begin, block.extent.start.offset + 1, end)
        work: Literal["none", "sequential", "pipelined"] = "none"
        if in_opencl:
            before = self._source.text.rfind(b"}", 0, begin)  # of another function
            said = [text for _, text in self._source.pragmas_in(max(before, 0), end)]
            work = "pipelined" if opencl_c.WORK_ITEMS in said else "sequential"
        code = Code(name, self._functions, self._storage, frozenset(self._streamed), work)
        return Read(code, tuple(self._counters[n] for n in sorted(self._counters)))

    def _number(self, kind: str, offset: int) -> int:
        return self._numbers.setdefault((kind, offset), len(self._numbers))

    @staticmethod
    def _name(cursor: Any) -> str:
        return f"{cursor.spelling}@{cursor.extent.start.offset}"

    @staticmethod
    def _body_of(function: Any) -> Any:
        return next(c for c in function.get_children() if c.kind.name == "COMPOUND_STMT")

    # Functions and what they declare

    def _function(self, cursor: Any, *, is_top: bool = False) -> str:
        name = cursor.get_usr() or cursor.spelling
        if name in self._functions:
            return str(name)
        self._functions[name] = Function(cursor.spelling, 0, (), ())  # it may call itself
        arguments = [c for c in cursor.get_children() if c.kind.name == "PARM_DECL"]
        block = self._body_of(cursor)
        for argument in arguments:
            self._declare(argument, is_argument=True, is_top=is_top)
        begin, end = block.extent.start.offset, block.extent.end.offset
        outer, self._pragmas = self._pragmas, self._source.pragmas_in(begin, end)
        # Names of constants, which pragmas may have, are known when the body has been read.
        body = self._statements(block.get_children())
        pragmas = tuple(self._pragma(text) for _, text in self._pragmas)
        self._pragmas = outer
        self._place_arrays(arguments if is_top else [], pragmas)
        if any(one.name == "dataflow" for one in pragmas):
            body = self._processes(body, block)
        line = self._source.line(cursor.location.offset)
        parameters = tuple(map(self._name, arguments))
        references = frozenset(
            self._name(one) for one in arguments if "REFERENCE" in one.type.kind.name
        )
        self._functions[name] = Function(
            cursor.spelling, line, parameters, body, pragmas, references
        )
        return str(name)

    def _pragma(self, text: str) -> Pragma:
        return pragma(text, self._constants.get)

    def _declare(self, cursor: Any, *, is_argument: bool = False, is_top: bool = False) -> None:
        """Notes where an array or stream lies, and the value of a constant."""
        kind = cursor.type.get_canonical().get_pointee().kind.name
        spelled = cursor.type.get_canonical().spelling
        name = self._name(cursor)
        is_array = cursor.type.get_canonical().kind.name in {"CONSTANTARRAY", "INCOMPLETEARRAY"}
        if "hls::stream" in spelled or "ap_shift_reg" in spelled:
            self._storage[name] = Storage("stream" if "hls::stream" in spelled else "registers")
        elif "burst_maxi" in spelled:
            self._storage[name] = Storage("memory", port=name)
        elif is_argument and (kind != "INVALID" or is_array) and "&" not in spelled[-1:]:
            if is_top:
                place = "memory" if self._kernel_flow else "ram"
                self._storage[name] = Storage(place, port=name)  # type: ignore[arg-type]
        elif is_array and name not in self._storage:
            size = _elements(cursor.type.get_canonical())
            limit = _SMALL_TABLE if _is_constant(cursor.type) else _SMALL_ARRAY
            small = size is not None and size <= limit
            self._storage[name] = Storage("registers" if small else "ram")
        if not is_argument and cursor.type.is_const_qualified():
            known = libclang.constant(self._clang, cursor)
            if known is not None:
                self._constants.setdefault(cursor.spelling, known)

    def _place_arrays(self, arguments: Sequence[Any], pragmas: Sequence[Pragma]) -> None:
        """What INTERFACE and ARRAY_PARTITION say."""
        by_name = {argument.spelling: self._name(argument) for argument in arguments}
        for one in pragmas:
            words = {*one.options, one.options.get("mode", "")}
            port = by_name.get(one.options.get("port", ""))
            if one.name == "interface" and port is not None and port in self._storage:
                if "m_axi" in words:
                    self._storage[port] = Storage("memory", port=one.options.get("bundle", port))
                elif words & {"bram", "ap_memory"}:
                    self._storage[port] = Storage("ram")
                elif words & {"axis", "ap_fifo"}:
                    self._storage[port] = Storage("stream")
            if one.name in {"array_partition", "array_reshape"}:
                self._partition(one)

    def _partition(self, one: Pragma) -> None:
        variable = one.options.get("variable", "")
        for name, there in list(self._storage.items()):
            if name.split("@")[0] != variable or there.kind not in {"ram", "memory"}:
                continue
            words = {*one.options, one.options.get("type", "")}
            if "cyclic" in words or "block" in words:
                banks = there.banks * (one.number("factor") or 2)
                self._storage[name] = Storage(there.kind, banks, True, there.port)
            elif one.options.get("dim", "1") == "0" or there.partitioned:
                self._storage[name] = Storage("registers")
            else:
                self._storage[name] = self._complete(name, one.number("dim") or 1)

    def _complete(self, name: str, dimension: int) -> Storage:
        """An array of which one dimension is apart."""
        sizes = self._sizes.get(name, ())
        if len(sizes) <= 1:
            return Storage("registers")
        return Storage("ram", sizes[dimension - 1] if dimension <= len(sizes) else 1, True)

    @property
    def _sizes(self) -> dict[str, tuple[int, ...]]:
        return self.__dict__.setdefault("_sizes_by_name", {})  # type: ignore[no-any-return]

    # Statements

    def _statements(self, cursors: Iterable[Any]) -> tuple[Statement, ...]:
        return tuple(one for cursor in cursors for one in self._statement(cursor))

    def _statement(self, cursor: Any) -> list[Statement]:
        kind = cursor.kind.name
        if kind in _LOOPS:
            return [self._loop(cursor)]
        if kind in {"COMPOUND_STMT", "LABEL_STMT", "CASE_STMT", "DEFAULT_STMT", "SWITCH_STMT"}:
            children = list(cursor.get_children())
            if kind in {"CASE_STMT", "SWITCH_STMT"}:
                children = children[1:]
            return list(self._statements(children))
        if kind == "IF_STMT":
            return self._choice(cursor)
        if kind == "DECL_STMT":
            return [one for c in cursor.get_children() for one in self._declaration(c)]
        if kind == "RETURN_STMT":
            values = list(cursor.get_children())
            return [Return(self._expression(values[0]))] if values else []
        if not cursor.kind.is_expression():
            return list(self._statements(cursor.get_children()))
        return self._effect(cursor)

    def _choice(self, cursor: Any) -> list[Statement]:
        parts = list(cursor.get_children())
        if len(parts) < 2:  # noqa: PLR2004: condition and branch
            return []
        branches = tuple(self._statements([part]) for part in parts[1:])
        return [Choice(self._expression(parts[0]), branches)]

    def _declaration(self, cursor: Any) -> list[Statement]:
        if cursor.kind.name != "VAR_DECL":
            return []
        self._declare(cursor)
        name = self._name(cursor)
        sizes = _dimensions(cursor.type.get_canonical())
        if sizes:
            self._sizes[name] = sizes
            begins = cursor.type.is_const_qualified() or cursor.storage_class.name == "STATIC"
            has_values = any(c.kind.name == "INIT_LIST_EXPR" for c in cursor.get_children())
            elements = math.prod(sizes)
            cleared = has_values and not begins and elements > _SMALL_ARRAY
            return [Clear(name, elements)] if cleared else []
        parts = [c for c in cursor.get_children() if c.kind.is_expression()]
        if not parts or name in self._storage:
            return []
        return [Assign(Variable(name), self._expression(parts[-1]))]

    def _effect(self, cursor: Any) -> list[Statement]:
        cursor = _inner(cursor)
        kind = cursor.kind.name
        parts = list(cursor.get_children())
        if kind in {"BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"} and len(parts) == 2:  # noqa: PLR2004: operands
            operator = libclang.binary_operator(self._clang, cursor)
            if operator == _COMMA:
                return [*self._effect(parts[0]), *self._effect(parts[1])]
            if operator == _ASSIGN:
                return self._assignment(parts[0], self._expression(parts[1]))
            if operator >= _FIRST_ASSIGNING:
                value = self._operation(libclang.BINARY[operator], cursor, parts)
                return self._assignment(parts[0], value)
        if kind == "UNARY_OPERATOR" and parts:
            if libclang.unary_operator(self._clang, cursor) in _STEPS:
                old = self._expression(parts[0])
                value = Operation("add", operands=(old, Constant(1)))
                return self._assignment(parts[0], value)
        if kind == "CALL_EXPR":
            return self._call_statement(cursor, parts)
        if kind == "CONDITIONAL_OPERATOR":
            return [Evaluate(self._expression(cursor))]
        return [Evaluate(self._expression(cursor))]

    def _assignment(self, target: Any, value: Expression) -> list[Statement]:
        place = self._place(target)
        return [Assign(place, value)] if place is not None else [Evaluate(value)]

    def _place(self, cursor: Any) -> Variable | Element | None:
        found = self._expression(cursor)
        while isinstance(found, Operation) and found.operands:
            found = found.operands[0]
        return found if isinstance(found, Variable | Element) else None

    def _call_statement(self, cursor: Any, parts: list[Any]) -> list[Statement]:
        """Writes to streams, and assignments of classes."""
        name = cursor.spelling
        if name in {"write", "write_nb"} and parts:
            stream = self._base(parts[0])
            values = [self._expression(part) for part in parts[1:]]
            if stream is not None and values:
                return [Assign(Element(stream), values[0])]
        if name == "read" and len(parts) == 2:  # noqa: PLR2004: the stream, and where its word goes
            stream = self._base(parts[0])
            if stream is not None:
                return self._assignment(parts[1], Element(stream))
        if name.startswith("operator") and len(parts) == 3:  # noqa: PLR2004: two operands
            word = name.removeprefix("operator")
            left, right = parts[0], parts[2]
            stream = self._stream(left)
            if stream is not None and word == "<<":
                return [Assign(Element(stream), self._expression(right))]
            if stream is not None and word == ">>":
                return self._assignment(right, Element(stream))
            if word == "=":
                return self._assignment(left, self._expression(right))
            if word.endswith("=") and word[:-1] in _OVERLOADED and word not in {"<=", ">="}:
                kind = _OVERLOADED[word[:-1]]
                return self._assignment(left, self._operation(kind, cursor, [left, right]))
        if name in {"operator++", "operator--"} and parts:
            old = self._expression(parts[0])
            return self._assignment(parts[0], Operation("add", operands=(old, Constant(1))))
        return [Evaluate(self._expression(cursor))]

    # Loops and processes

    def _loop(self, cursor: Any) -> Loop:
        begin, end = cursor.extent.start.offset, cursor.extent.end.offset
        kind = cursor.kind.name
        parts = list(cursor.get_children())
        start, test, step, block = self._parts(kind, cursor, parts)
        number = self._number("loop", begin)
        inside = block.extent.start.offset
        closed = end if self._source.text[end - 1 : end] in {b"}", b";"} else (
            self._source.end_of_statement(end)
        )  # fmt: skip
        is_block = block.kind.name == "COMPOUND_STMT"
        self._counters.setdefault(number, Counter(number, begin, inside, closed, is_block))
        outer = self._pragmas
        mine = [(at, t) for at, t in outer if inside <= at < end]
        self._pragmas = mine
        body = self._statements([block])
        own = tuple(self._pragma(text) for _, text in self._pragmas)
        before = [(at, t) for at, t in outer if self._stands_before(at, t, begin)]
        own += tuple(self._pragma(text.split(None, 1)[1]) for _, text in before)
        taken = {at for at, _ in (*mine, *before)}
        self._pragmas = [(at, text) for at, text in outer if at not in taken]
        self._place_arrays([], own)
        if any(one.name == "dataflow" for one in own):
            body = self._processes(body, block)
        variable, trips = self._counting(start, test, step)
        test_value = Constant() if test is None or variable else self._expression(test)
        line = self._source.line(begin)
        return Loop(number, line, body, variable, trips, test_value, own)

    def _stands_before(self, at: int, text: str, begin: int) -> bool:
        """Whether an attribute of OpenCL C, as a pragma, stands before the loop."""
        if not text.startswith(opencl_c.BEFORE_LOOP) or at >= begin:
            return False
        between = self._source.text[at:begin].split(b"\n")
        left = b" ".join(line for line in between if not line.strip().startswith(b"#"))
        return re.fullmatch(rb"\s*(?:\w+\s*:)?\s*", left) is not None

    def _parts(self, kind: str, cursor: Any, parts: list[Any]) -> tuple[Any, Any, Any, Any]:
        """Beginning, test, step and body of a loop; None for those that it has not."""
        if kind == "DO_STMT":
            return None, parts[-1], None, parts[0]
        if kind != "FOR_STMT":
            return None, parts[0] if kind == "WHILE_STMT" else None, None, parts[-1]
        begin = cursor.extent.start.offset
        ends = self._semicolons(begin)
        found: list[Any] = [None, None, None]
        for part in parts[:-1]:
            found[sum(part.extent.start.offset > end for end in ends)] = part
        return found[0], found[1], found[2], parts[-1]

    def _semicolons(self, begin: int) -> list[int]:
        depth, found = 0, []
        for at in range(begin, len(self._source.text)):
            letter = self._source.text[at : at + 1]
            depth += (letter in {b"(", b"{"}) - (letter in {b")", b"}"})
            if letter == b";" and depth == 1:
                found.append(at)
            if letter == b")" and depth == 0:
                break
        return found

    def _counting(self, start: Any, test: Any, step: Any) -> tuple[str | None, int | None]:
        """The variable that counts a loop's iterations, and their number if that is a constant."""
        if test is None or step is None:
            return None, None
        test, step = _inner(test), _inner(step)
        while step.kind.name == "BINARY_OPERATOR" and len(list(step.get_children())) == 2:  # noqa: PLR2004: a comma
            step = _inner(next(iter(step.get_children())))
        sides = list(test.get_children())
        stepped = list(step.get_children())
        if len(sides) != 2 or not stepped:  # noqa: PLR2004: a comparison
            return None, None
        counter = _inner(stepped[0]).referenced
        if counter is None:
            return None, None
        name = self._name(counter)
        first = self._first(start, counter)
        last = libclang.constant(self._clang, sides[1])
        by = self._step(step, stepped)
        if first is None or last is None or not by:
            return name, None
        operator = libclang.binary_operator(self._clang, test)
        inclusive = operator in {13, 14}  # <= and >=
        distance = (last - first) * (1 if by > 0 else -1) + (1 if inclusive else 0)
        return name, max(0, -(-distance // abs(by)))

    def _first(self, start: Any, counter: Any) -> int | None:
        if start is None:
            return None
        for part in start.walk_preorder():
            if part.kind.name == "VAR_DECL" and part == counter:
                values = [c for c in part.get_children() if c.kind.is_expression()]
                return libclang.constant(self._clang, values[-1]) if values else None
            if part.kind.name == "BINARY_OPERATOR":
                return libclang.constant(self._clang, list(part.get_children())[1])
        return None

    def _step(self, step: Any, parts: list[Any]) -> int | None:
        if step.kind.name == "UNARY_OPERATOR":
            return _STEPS.get(libclang.unary_operator(self._clang, step))
        if step.kind.name == "COMPOUND_ASSIGNMENT_OPERATOR":
            by = libclang.constant(self._clang, parts[1])
            kind = libclang.BINARY[libclang.binary_operator(self._clang, step)]
            if by is not None and kind in {"add", "subtract"}:
                return by if kind == "add" else -by
        return None

    def _processes(self, body: tuple[Statement, ...], block: Any) -> tuple[Statement, ...]:
        """Loops and calls of a DATAFLOW region as its processes."""
        region = self._number("region", block.extent.start.offset)
        found: list[Statement] = []
        statements = [c for c in block.get_children() if c.kind.name != "DECL_STMT"]
        passed: list[str] = []
        for cursor in statements:
            inside = list(self._again(cursor))
            calls = any(isinstance(one, Loop) or _has_call(one) for one in inside)
            if not calls:
                found += inside
                continue
            begin = cursor.extent.start.offset
            end = cursor.extent.end.offset
            closed = end if self._source.text[end - 1 : end] == b"}" else (
                self._source.end_of_statement(end)
            )  # fmt: skip
            number = self._number("process", begin)
            self._counters.setdefault(number, Counter(number, begin, None, closed))
            line = self._source.line(begin)
            found.append(Process(number, region, line, tuple(inside)))
            passed += sorted({n for n in _arrays(inside) if self._is_stream(n)})
        if any(passed.count(name) > 1 for name in passed):
            self._streamed.add(region)
        del body
        return tuple(found)

    def _again(self, cursor: Any) -> tuple[Statement, ...]:
        outer = self._pragmas
        self._pragmas = self._source.pragmas_in(
            cursor.extent.start.offset, cursor.extent.end.offset
        )
        found = self._statements([cursor])
        self._pragmas = outer
        return found

    def _is_stream(self, name: str) -> bool:
        return name in self._storage and self._storage[name].kind == "stream"

    # Expressions

    def _expression(self, cursor: Any) -> Expression:
        kind = cursor.kind.name
        known = libclang.constant(self._clang, cursor) if kind != "CALL_EXPR" else None
        if known is not None:
            return Constant(known)
        if kind.endswith("LITERAL"):
            return Constant()
        parts = list(cursor.get_children())
        if kind in _WRAPPING:
            return self._converted(cursor, parts)
        if kind in {"DECL_REF_EXPR", "MEMBER_REF_EXPR"}:
            return self._reference(cursor, parts)
        if kind == "ARRAY_SUBSCRIPT_EXPR":
            return self._element(cursor)
        if kind in {"BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"} and len(parts) == 2:  # noqa: PLR2004: operands
            operator = libclang.binary_operator(self._clang, cursor)
            kind = libclang.BINARY[operator] if operator < len(libclang.BINARY) else "logic"
            return self._operation(kind, cursor, parts)
        if kind == "UNARY_OPERATOR" and parts:
            return self._unary(cursor, parts[0])
        if kind == "CALL_EXPR":
            return self._call(cursor, parts)
        operands = tuple(self._expression(p) for p in parts if p.kind.is_expression())
        if kind == "CONDITIONAL_OPERATOR":
            return Operation("logic", operands=operands)
        return operands[0] if len(operands) == 1 else Operation("free", operands=operands)

    def _converted(self, cursor: Any, parts: list[Any]) -> Expression:
        """The value; with a conversion where that is between integers and floating point."""
        inside = [part for part in parts if part.kind.is_expression()]
        if not inside:
            return Constant()
        value = self._expression(inside[-1])
        to, of = _number(cursor.type)[0], _number(inside[-1].type)[0]
        if to != of and not isinstance(value, Constant | Array):
            number = of if to == "integer" else to
            return Operation("convert", number, operands=(value,))
        return value

    def _reference(self, cursor: Any, parts: list[Any]) -> Expression:
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
            sizes = _dimensions(declared.type.get_canonical())
            if sizes:  # of the whole source
                self._declare(declared)
                self._sizes.setdefault(name, sizes)
        kind = declared.type.get_canonical().kind.name
        if name in self._storage or kind in {"POINTER", "CONSTANTARRAY", "INCOMPLETEARRAY"}:
            return Array(name)
        return Variable(name)

    def _element(self, cursor: Any) -> Expression:
        indices: list[Expression] = []
        while cursor.kind.name == "ARRAY_SUBSCRIPT_EXPR":
            base, index = list(cursor.get_children())[:2]
            indices.insert(0, self._expression(index))
            cursor = _inner(base)
        name = self._base(cursor)
        if name is None:
            return Operation("free", operands=tuple(indices))
        return Element(name, tuple(indices))

    def _base(self, cursor: Any) -> str | None:
        """The name of the array or stream that an expression leads to."""
        for part in cursor.walk_preorder():
            if part.kind.name == "DECL_REF_EXPR" and part.referenced is not None:
                found = self._reference(part, [])
                if isinstance(found, Array | Variable):
                    return found.name
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
        number, bits = _number(cursor.type)
        others = [_number(_inner(part).type) for part in parts]
        if kind == "compare":
            number = next((n for n, _ in others if n != "integer"), "integer")
        if number == "integer" and kind in {"multiply", "divide", "compare", "shift"}:
            bits = max(_bits(o, width) for o, (_, width) in zip(operands, others, strict=True))
        constants = [o.value for o in operands if isinstance(o, Constant) and o.value is not None]
        if number == "integer" and constants and kind in {"multiply", "divide", "shift"}:
            if kind == "shift" or (constants[-1] > 0 and constants[-1] & (constants[-1] - 1) == 0):
                if kind != "multiply":
                    kind = "free"
                    operands = operands[:1]
        return Operation(kind, number, bits, operands)

    def _call(self, cursor: Any, parts: list[Any]) -> Expression:
        name = cursor.spelling
        if name in {"read", "read_nb"} and parts:
            stream = self._base(parts[0])
            if stream is not None and self._is_stream(stream):
                return Element(stream)
        if name.startswith("operator") and len(parts) >= 2:  # noqa: PLR2004: operator and operand
            return self._overloaded(name.removeprefix("operator"), cursor, parts)
        declared = cursor.referenced
        arguments = [p for p in cursor.get_arguments() if p is not None]
        if declared is not None and declared.kind.name in {"FUNCTION_DECL", "CXX_METHOD"}:
            called = declared.get_definition() or declared
            if self._source.is_users(called.extent.start.offset):
                return self._users_call(called, arguments)
        operands = tuple(map(self._expression, arguments))
        number, bits = _number(cursor.type)
        if name in _MATH:
            return Operation(_MATH[name], number, bits, operands)
        if _SLOW_MATH.fullmatch(name):
            return Operation("exp", number, bits, operands)
        if not operands:
            operands = tuple(self._expression(p) for p in parts if p.kind.is_expression())
        return operands[0] if len(operands) == 1 else Operation("free", operands=operands)

    def _users_call(self, called: Any, arguments: list[Any]) -> Expression:
        has_body = any(c.kind.name == "COMPOUND_STMT" for c in called.get_children())
        if called.kind.name != "FUNCTION_DECL":
            return Operation("free", operands=tuple(map(self._expression, arguments)))
        if not has_body:
            raise UnknownFunctionError(called.spelling)
        name = self._function(called)
        return Call(name, tuple(map(self._argument, arguments)))

    def _argument(self, cursor: Any) -> Expression:
        """An argument: the array that it leads to, else its value."""
        found = self._expression(cursor)
        kind = cursor.type.get_canonical().kind.name
        if isinstance(found, Element) and kind in {"POINTER", "CONSTANTARRAY"}:
            return Array(found.array)
        if isinstance(found, Operation) and kind == "POINTER":
            name = self._base(cursor)
            return Array(name) if name else found
        return found

    def _overloaded(self, word: str, cursor: Any, parts: list[Any]) -> Expression:
        operands = [p for n, p in enumerate(parts) if n != 1]
        if word in {"[]", "()"}:
            name = self._base(parts[0])
            if name is not None and name in self._storage:
                return Element(name, tuple(map(self._expression, operands[1:])))
            return self._expression(parts[0])
        if word == "=":
            return self._expression(operands[-1])
        kind = _OVERLOADED.get(word, _OVERLOADED.get(word.removesuffix("="), "free"))
        return self._operation(kind, cursor, operands)


def _inner(cursor: Any) -> Any:
    """What stands within brackets and conversions."""
    while cursor.kind.name in _WRAPPING:
        parts = [c for c in cursor.get_children() if c.kind.is_expression()]
        if not parts:
            return cursor
        cursor = parts[-1]
    return cursor


def _number(of: Any) -> tuple[Number, int]:
    """Kind of arithmetic and bits of a type."""
    canonical = of.get_canonical()
    name = canonical.kind.name
    if name in {"FLOAT", "DOUBLE", "LONGDOUBLE"}:
        return ("float", 32) if name == "FLOAT" else ("double", 64)
    if name in _BITS:
        return "integer", _BITS[name]
    spelled = canonical.spelling
    if found := _WIDTH.search(spelled):
        return "integer", int(found[1])
    if re.search(r"\bhalf\b", spelled):
        return "half", 16
    if "vector<float" in spelled or re.search(r"Vector<float", spelled):
        return "float", 32
    if "vector<double" in spelled:
        return "double", 64
    return "integer", 32


def _bits(operand: Expression, width: int) -> int:
    if isinstance(operand, Constant) and operand.value is not None:
        return max(1, operand.value.bit_length())
    return width


def _dimensions(of: Any) -> tuple[int, ...]:
    sizes = []
    while of.kind.name == "CONSTANTARRAY":
        sizes.append(of.element_count)
        of = of.element_type.get_canonical()
    return tuple(sizes)


def _elements(of: Any) -> int | None:
    product = 1
    for size in _dimensions(of):
        product *= size
    return product if of.kind.name == "CONSTANTARRAY" else None


def _is_constant(of: Any) -> bool:
    """Whether the elements of an array never change."""
    return bool(of.is_const_qualified() or of.get_canonical().is_const_qualified())


def _has_call(statement: Statement) -> bool:
    return any(isinstance(one, Call) for one in _expressions([statement]))


def _arrays(statements: Iterable[Statement]) -> Iterable[str]:
    for one in _expressions(statements):
        if isinstance(one, Array):
            yield one.name
        elif isinstance(one, Element):
            yield one.array


def _expressions(statements: Iterable[Statement]) -> Iterable[Expression]:
    """All expressions within statements."""
    waiting: list[Any] = list(statements)
    while waiting:
        one = waiting.pop()
        if isinstance(one, Assign):
            waiting += [one.target, one.value]
        elif isinstance(one, Evaluate | Return):
            waiting.append(one.value)
        elif isinstance(one, Choice):
            waiting += [one.condition, *(s for branch in one.branches for s in branch)]
        elif isinstance(one, Loop | Process):
            waiting += one.body
        else:
            yield one
            waiting += getattr(one, "operands", ())
            waiting += getattr(one, "indices", ())
            waiting += getattr(one, "arguments", ())
