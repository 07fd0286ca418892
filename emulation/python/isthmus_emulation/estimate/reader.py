"""Reads a kernel's code with libclang, and places counters of loops and processes in it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from isthmus_emulation import opencl_c
from isthmus_emulation.estimate import libclang, splits, templates, together
from isthmus_emulation.estimate.arrays import SMALL_ARRAY
from isthmus_emulation.estimate.cursors import dimensions, inner
from isthmus_emulation.estimate.expressions import OVERLOADED, Expressions
from isthmus_emulation.estimate.preprocessed import Preprocessed
from isthmus_emulation.estimate.regions import (
    Copy,
    Insertion,
    Part,
    initial_of,
    insertions,
    may_be_copied,
    uses_of,
)
from isthmus_emulation.estimate.structure import (
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
    Leave,
    Loop,
    Operation,
    Process,
    Return,
    Skip,
    Statement,
    Variable,
    expressions_in,
    statements_in,
    without_skips,
)

_LOOPS = ("FOR_STMT", "WHILE_STMT", "DO_STMT", "CXX_FOR_RANGE_STMT")
_FIRST_ASSIGNING = 23
"""Least number in CXBinaryOperatorKind of an operator that assigns; the comma follows them."""
_COMMA = 33
_UNKNOWN = {"CALL_EXPR", "ARRAY_SUBSCRIPT_EXPR", "MEMBER_REF_EXPR"}
"""Kinds of expressions whose values the reader does not follow."""
_ASSIGN = 22
_PARTS = {"range", "operator()"}
"""Methods that select a part of a number's bits: a write to the part keeps the other bits."""
_STEPS = {1: 1, 2: -1, 3: 1, 4: -1}
"""Values that increments and decrements add, by number of CXUnaryOperatorKind."""


class Counter(NamedTuple):
    """Where a loop's counter is inserted into the source."""

    number: int
    begin: int
    """Offset of the loop's statement."""
    body: int
    end: int
    body_is_block: bool = False


class Read(NamedTuple):
    """Results of reading a kernel."""

    code: Code
    counters: tuple[Counter, ...]
    """Counters of the kernel's loops."""
    regions: tuple[Insertion, ...]
    """Texts that make processes of DATAFLOW regions' statements."""


def read(
    clang: Any, path: Path, source: Preprocessed, top: str, *, kernel_flow: bool = True,
    constants: dict[str, int] | None = None, in_opencl: bool = False,
) -> Read | None:  # fmt: skip
    """Reads the function ``top`` and the functions that it calls; None if ``top`` is missing.

    Without ``kernel_flow``, an argument without INTERFACE lies in a RAM, as in the vendor's IP
    flow. Raises NotReadError for code that cannot be estimated.
    """
    options = ["-x", "c++", "-std=c++17", "-ferror-limit=0", "-w"]
    unit = clang.Index.create().parse(str(path), args=options)
    functions = _declared(unit.cursor, "FUNCTION_DECL")
    definitions = [
        function for function in functions if function.spelling == top and function.is_definition()
    ]
    users = [function for function in definitions if source.is_users(function.extent.start.offset)]
    if not users:
        return None
    return _Reader(clang, source, kernel_flow, constants or {}).all(
        unit.cursor, users[-1], in_opencl
    )


def _declared(cursor: Any, which: str) -> Iterable[Any]:
    """Yields the declarations of this kind in a source, also those in namespaces."""
    for child in cursor.get_children():
        kind = child.kind.name
        if kind in {"LINKAGE_SPEC", "NAMESPACE", "UNEXPOSED_DECL"}:
            yield from _declared(child, which)
        elif kind == which:
            yield child


class _Reader(Expressions):
    def __init__(
        self, clang: Any, source: Preprocessed, kernel_flow: bool, constants: dict[str, int]
    ) -> None:
        super().__init__(clang, source, kernel_flow, constants)
        self._functions: dict[str, Function] = {}
        self._numbers: dict[tuple[str, int], int] = {("top", 0): 0}
        self._counters: dict[int, Counter] = {}
        self._regions: dict[int, list[Insertion]] = {}
        self._together: dict[int, list[Insertion]] = {}
        """Insertions for expressions that read several streams, by place."""
        self._pragmas: list[tuple[int, str]] = []
        self._in_switch = False
        """Whether a ``break`` ends a ``switch``, not a loop."""

    def all(self, unit: Any, top: Any, in_opencl: bool) -> Read:
        for declared in _declared(unit, "VAR_DECL"):
            if self._source.is_users(declared.extent.start.offset):
                self._declare(declared)
                self._sizes[self._name(declared)] = dimensions(declared.type.get_canonical())
        name = self._function(top, is_top=True)
        begin, end = top.extent.start.offset, top.extent.end.offset
        block = self._body_of(top)
        self._counters[0] = Counter(0, begin, block.extent.start.offset + 1, end)
        work: Literal["none", "sequential", "pipelined"] = "none"
        if in_opencl:
            before = self._source.text.rfind(b"}", 0, begin)  # end of the previous function
            said = [text for _, text in self._source.pragmas_in(max(before, 0), end)]
            work = "pipelined" if opencl_c.WORK_ITEMS in said else "sequential"
        self._storage |= splits.split(self._functions, self._storage, self._sizes)
        code = Code(name, self._functions, self._storage, work, self._sizes)
        groups = [*self._regions.values(), *self._together.values()] if self._regions else []
        regions = tuple(region for group in groups for region in group)
        return Read(code, tuple(self._counters[n] for n in sorted(self._counters)), regions)

    def _number(self, kind: str, offset: int) -> int:
        return self._numbers.setdefault((kind, offset), len(self._numbers))

    @staticmethod
    def _body_of(function: Any) -> Any:
        return next(c for c in function.get_children() if c.kind.name == "COMPOUND_STMT")

    # Functions and their declarations

    def _function(self, cursor: Any, *, is_top: bool = False) -> str:
        name = cursor.get_usr() or cursor.spelling
        if name in self._functions:
            return str(name)
        self._functions[name] = Function(cursor.spelling, 0, (), ())  # so that it may call itself
        arguments = [c for c in cursor.get_children() if c.kind.name == "PARM_DECL"]
        block = self._body_of(cursor)
        known = self._constants
        self._constants = {**known, **templates.constants(self._clang, cursor)}
        for argument in arguments:
            self._declare(argument, is_argument=True, is_top=is_top)
            sizes = dimensions(argument.type.get_canonical())
            if is_top and sizes:
                self._sizes[self._name(argument)] = sizes
        begin, end = block.extent.start.offset, block.extent.end.offset
        outer, self._pragmas = self._pragmas, self._source.pragmas_in(begin, end)
        # The body is read first, because pragmas may name constants of the body.
        body = self._statements(block.get_children())
        pragmas = tuple(self._pragma(text) for _, text in self._pragmas)
        self._pragmas = outer
        self._place_arrays(arguments if is_top else [], pragmas)
        if any(item.name == "dataflow" for item in pragmas):
            body = self._processes(block)
        line = self._source.line(cursor.location.offset)
        parameters = tuple(map(self._name, arguments))
        references = frozenset(
            self._name(item) for item in arguments if "REFERENCE" in item.type.kind.name
        )
        self._functions[name] = Function(
            cursor.spelling, line, parameters, body, pragmas, references
        )
        self._constants = known
        return str(name)

    # Statements

    def _statements(self, cursors: Iterable[Any]) -> tuple[Statement, ...]:
        return tuple(statement for cursor in cursors for statement in self._statement(cursor))

    def _statement(self, cursor: Any) -> list[Statement]:
        kind = cursor.kind.name
        if kind in _LOOPS:
            return [self._loop(cursor)]
        if kind in {"COMPOUND_STMT", "LABEL_STMT"}:
            return list(self._statements(cursor.get_children()))
        if kind == "SWITCH_STMT":
            return self._switch(cursor)
        if kind == "IF_STMT":
            return self._choice(cursor)
        if kind == "DECL_STMT":
            begin = cursor.extent.start.offset
            return [part for c in cursor.get_children() for part in self._declaration(c, begin)]
        if kind == "RETURN_STMT":
            values = list(cursor.get_children())
            return [Return(self._expression(values[0]))] if values else [Leave()]
        if kind == "BREAK_STMT":
            return [Skip() if self._in_switch else Leave()]
        if kind == "CONTINUE_STMT":
            return [Skip()]
        if not cursor.kind.is_expression():
            return list(self._statements(cursor.get_children()))
        return self._effect(cursor)

    def _choice(self, cursor: Any) -> list[Statement]:
        parts = list(cursor.get_children())
        if len(parts) < 2:
            return []
        branches = tuple(self._statements([part]) for part in parts[1:])
        return [Choice(self._expression(parts[0]), branches)]

    def _switch(self, cursor: Any) -> list[Statement]:
        """Reads ``switch`` as a choice; a case without ``break`` goes on with the next case."""
        parts = list(cursor.get_children())
        outer, self._in_switch = self._in_switch, True
        cases: list[list[Statement]] = []
        has_default = False
        for one in parts[-1].get_children():
            inside = one
            while inside.kind.name in {"CASE_STMT", "DEFAULT_STMT"}:
                has_default = has_default or inside.kind.name == "DEFAULT_STMT"
                if inside is one:
                    cases.append([])
                inside = list(inside.get_children())[-1]
            if cases:
                cases[-1] += self._statement(inside)
        self._in_switch = outer
        branches: list[tuple[Statement, ...]] = [] if has_default else [()]
        following: tuple[Statement, ...] = ()
        for case in reversed(cases):
            following = (*case, *following)
            branches.append(without_skips(following))
        condition = self._expression(parts[-2]) if len(parts) > 1 else Constant()
        return [Choice(condition, tuple(branches[::-1]))]

    def _declaration(self, cursor: Any, statement: int) -> list[Statement]:
        if cursor.kind.name != "VAR_DECL":
            return []
        self._declare(cursor)
        name = self._name(cursor)
        is_static = cursor.storage_class.name == "STATIC"
        parts = [c for c in cursor.get_children() if c.kind.is_expression()]
        if parts and not is_static:
            self._note_reads(parts[-1], statement)
        sizes = dimensions(cursor.type.get_canonical())
        if sizes:
            self._sizes[name] = sizes
            begins = cursor.type.is_const_qualified() or is_static
            has_values = any(c.kind.name == "INIT_LIST_EXPR" for c in cursor.get_children())
            elements = math.prod(sizes)
            cleared = has_values and not begins and elements > SMALL_ARRAY
            return [Clear(name, elements)] if cleared else []
        if name in self._storage or is_static:
            return []
        value = self._expression(parts[-1]) if parts else Constant()
        return [Assign(Variable(name), value, declares=True)]

    def _note_reads(self, expression: Any, statement: int | None = None) -> None:
        """Makes an expression wait until all streams that it reads have a word."""
        insertions = together.insertions(self._source, expression, statement)
        if insertions:
            self._together[expression.extent.start.offset] = insertions

    def _effect(self, cursor: Any) -> list[Statement]:
        self._note_reads(cursor)
        cursor = inner(cursor)
        kind = cursor.kind.name
        parts = list(cursor.get_children())
        if kind in {"BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"} and len(parts) == 2:
            operator = libclang.binary_operator(self._clang, cursor)
            if operator == _COMMA:
                return [*self._effect(parts[0]), *self._effect(parts[1])]
            if operator == _ASSIGN:
                return self._assignment(parts[0], self._expression(parts[1]))
            if operator >= _FIRST_ASSIGNING:
                value = self._operation(libclang.BINARY[operator], cursor, parts)
                return self._assignment(parts[0], value)
        is_unary = kind == "UNARY_OPERATOR" and len(parts) == 1
        if is_unary and libclang.unary_operator(self._clang, cursor) in _STEPS:
            value = Operation("add", operands=(self._expression(parts[0]), Constant(1)))
            return self._assignment(parts[0], value)
        if kind == "CALL_EXPR":
            return self._call_statement(cursor, parts)
        return [Evaluate(self._expression(cursor))]

    def _assignment(self, target: Any, value: Expression) -> list[Statement]:
        place = self._place(target)
        if isinstance(place, Element) and inner(target).spelling in _PARTS:
            value = Operation("free", operands=(value, place))
        return [Assign(place, value)] if place is not None else [Evaluate(value)]

    def _place(self, cursor: Any) -> Variable | Element | None:
        expression = self._expression(cursor)
        while isinstance(expression, Operation) and expression.operands:
            expression = expression.operands[0]
        return expression if isinstance(expression, Variable | Element) else None

    def _call_statement(self, cursor: Any, parts: list[Any]) -> list[Statement]:
        """Reads a call as statements: a write to a stream, or an assignment of a class."""
        name = cursor.spelling
        if name in {"write", "write_nb"} and parts:
            stream = self._base(parts[0])
            values = [self._expression(part) for part in parts[1:]]
            if stream is not None and values:
                return [Assign(Element(stream), values[0])]
        if name == "read" and len(parts) == 2:
            stream = self._base(parts[0])
            if stream is not None:
                return self._assignment(parts[1], Element(stream))
        if name.startswith("operator") and len(parts) == 3:
            word = name.removeprefix("operator")
            left, right = parts[0], parts[2]
            stream = self._stream(left)
            if stream is not None and word == "<<":
                return [Assign(Element(stream), self._expression(right))]
            if stream is not None and word == ">>":
                return self._assignment(right, Element(stream))
            if word == "=":
                return self._assignment(left, self._expression(right))
            if word.endswith("=") and word[:-1] in OVERLOADED and word not in {"<=", ">="}:
                kind = OVERLOADED[word[:-1]]
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
        # pragmas may stand before a body without {}
        mine = [(at, t) for at, t in outer if begin <= at < end]
        self._pragmas = mine
        within, self._in_switch = self._in_switch, False
        body = without_skips(self._statements([block]))
        self._in_switch = within
        own = tuple(self._pragma(text) for _, text in self._pragmas)
        before = [(at, t) for at, t in outer if self._stands_before(at, t, begin)]
        own += tuple(self._pragma(text.split(None, 1)[1]) for _, text in before)
        taken = {at for at, _ in (*mine, *before)}
        self._pragmas = [(at, text) for at, text in outer if at not in taken]
        self._place_arrays([], own)
        if any(pragma.name == "dataflow" for pragma in own):
            body = self._processes(block)
        variable, first, trips, by = self._counting(start, test, step)
        test_value = Constant() if test is None or variable else self._expression(test)
        line = self._source.line(begin)
        bounds = self._bounds(start, test, step, variable) if variable else None
        return Loop(number, line, body, variable, trips, test_value, own, by or 0, first, bounds)

    def _stands_before(self, at: int, text: str, begin: int) -> bool:
        """Whether a pragma that stands for an attribute of OpenCL C belongs to the loop."""
        if not text.startswith(opencl_c.BEFORE_LOOP) or at >= begin:
            return False
        between = self._source.text[at:begin].split(b"\n")
        left = b" ".join(line for line in between if not line.strip().startswith(b"#"))
        return re.fullmatch(rb"\s*(?:\w+\s*:)?\s*", left) is not None

    def _parts(self, kind: str, cursor: Any, parts: list[Any]) -> tuple[Any, Any, Any, Any]:
        """First value, test, step and body of a loop; None for each part that is missing."""
        if kind == "DO_STMT":
            return None, parts[-1], None, parts[0]
        if kind != "FOR_STMT":
            return None, parts[0] if kind == "WHILE_STMT" else None, None, parts[-1]
        begin = cursor.extent.start.offset
        ends = self._semicolons(begin)
        by_place: list[Any] = [None, None, None]
        for part in parts[:-1]:
            by_place[sum(part.extent.start.offset > end for end in ends)] = part
        return by_place[0], by_place[1], by_place[2], parts[-1]

    def _semicolons(self, begin: int) -> list[int]:
        depth, places = 0, []
        for at in range(begin, len(self._source.text)):
            letter = self._source.text[at : at + 1]
            depth += (letter in {b"(", b"{"}) - (letter in {b")", b"}"})
            if letter == b";" and depth == 1:
                places.append(at)
            if letter == b")" and depth == 0:
                break
        return places

    def _counting(
        self, start: Any, test: Any, step: Any
    ) -> tuple[str | None, int | None, int | None, int | None]:
        """Variable that counts a loop's iterations, its first value, their number, and its step.

        The variable is None if no variable counts; a number is None if it is no constant.
        """
        if test is None or step is None:
            return None, None, None, None
        test, step = inner(test), self._stepping(step)
        sides = list(test.get_children())
        stepped = list(step.get_children())
        counter = self._counter(test, step)
        if counter is None:
            return None, None, None, None
        name = self._name(counter)
        first = self._first(start, counter)
        last = libclang.constant(self._clang, sides[1])
        by = self._step(step, stepped)
        if first is None or last is None or not by:
            return name, first, None, by
        operator = libclang.binary_operator(self._clang, test)
        inclusive = operator in {13, 14}  # <= and >=
        distance = (last - first) * (1 if by > 0 else -1) + (1 if inclusive else 0)
        return name, first, max(0, -(-distance // abs(by))), by

    @staticmethod
    def _stepping(step: Any) -> Any:
        step = inner(step)
        while step.kind.name == "BINARY_OPERATOR" and len(list(step.get_children())) == 2:
            step = inner(next(iter(step.get_children())))
        return step

    def _counter(self, test: Any, step: Any) -> Any:
        """The variable that counts a loop's iterations; None if no variable does."""
        if test is None or step is None:
            return None
        stepped = list(self._stepping(step).get_children())
        is_comparison = len(list(inner(test).get_children())) == 2
        return inner(stepped[0]).referenced if is_comparison and stepped else None

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

    def _bounds(self, start: Any, test: Any, step: Any, counter: str) -> frozenset[str] | None:
        """Variables that decide how often a loop runs; None if calls or elements decide."""
        parts = [one for top in (start, test, step) if top for one in top.walk_preorder()]
        named = [one.referenced for one in parts if one.kind.name == "DECL_REF_EXPR"]
        if start is None or not all(named) or any(one.kind.name in _UNKNOWN for one in parts):
            return None
        names = {self._name(one) for one in named if not one.type.is_const_qualified()}
        return frozenset(names - {counter})

    def _step(self, step: Any, parts: list[Any]) -> int | None:
        if step.kind.name == "UNARY_OPERATOR":
            return _STEPS.get(libclang.unary_operator(self._clang, step))
        if step.kind.name == "COMPOUND_ASSIGNMENT_OPERATOR":
            by = libclang.constant(self._clang, parts[1])
            kind = libclang.BINARY[libclang.binary_operator(self._clang, step)]
            if by is not None and kind in {"add", "subtract"}:
                return by if kind == "add" else -by
        return None

    def _processes(self, block: Any) -> tuple[Statement, ...]:
        """Reads loops and calls of a DATAFLOW region as processes of the region."""
        region = self._number("region", block.extent.start.offset)
        processes: list[Statement] = []
        parts: list[Part] = []
        made: dict[int, set[str]] = {}
        for cursor in block.get_children():
            begin, end = cursor.extent.start.offset, cursor.extent.end.offset
            closed = end if self._source.text[end - 1 : end] in {b"}", b";"} else (
                self._source.end_of_statement(end)
            )  # fmt: skip
            number, copies = None, []
            initial = initial_of(self._source, cursor)
            if cursor.kind.name != "DECL_STMT" or initial is not None:
                inside = list(self._again(cursor))
                if initial is not None and not any(map(_has_call, inside)):
                    processes += inside
                elif any(
                    isinstance(statement, Loop) or _has_call(statement) for statement in inside
                ):
                    number = self._number("process", begin)
                    line = self._source.line(begin)
                    uses, writes = uses_of(cursor)
                    after = tuple(n for n, words in made.items() if words & uses)
                    made[number] = writes
                    self._inline(cursor)
                    copies = self._copies(cursor, inside)
                    processes.append(
                        Process(number, region, line, tuple(inside), after, bool(copies))
                    )
                else:
                    processes += inside
            parts.append(Part(cursor, begin, closed, number, copies))
        if block.kind.name == "COMPOUND_STMT":
            self._regions[region] = insertions(self._source, block, parts, self._pragma)
        return tuple(processes)

    def _copies(
        self, cursor: Any, inside: Iterable[Statement], outer: tuple[str, ...] = ()
    ) -> list[Copy]:
        """Returns the calls that HLS makes processes of in each iteration of an unrolled loop.

        Args:
            cursor: A statement of a region, or of such a loop.
            inside: What the statement was read as.
            outer: Names of the variables that count iterations of the loops around it.

        """
        while cursor.kind.name == "LABEL_STMT":
            cursor = list(cursor.get_children())[-1]
        number = self._numbers.get(("loop", cursor.extent.start.offset))
        loop = next((s for s in inside if isinstance(s, Loop) and s.number == number), None)
        if cursor.kind.name != "FOR_STMT" or loop is None or not loop.is_unrolled:
            return []
        _, test, step, body = self._parts("FOR_STMT", cursor, list(cursor.get_children()))
        variable = self._counter(test, step)
        if variable is None:
            return []
        names = (*outer, variable.spelling)
        is_block = body.kind.name == "COMPOUND_STMT"
        found = []
        for one in body.get_children() if is_block else [body]:
            begin, end = one.extent.start.offset, one.extent.end.offset
            if may_be_copied(one):
                found.append(Copy(one, begin, self._source.end_of_statement(end), names))
                continue
            copies = self._copies(one, loop.body, names)
            if not copies:
                return []  # it runs in its turn, so the others do, too
            found += copies
        return found

    def _inline(self, statement: Any) -> None:
        """Makes processes of a called function's statements, if HLS puts them into the region."""
        declared = inner(statement).referenced if statement.kind.is_expression() else None
        function = declared.get_definition() if declared is not None else None
        name = function.get_usr() if function is not None else ""
        known = self._functions.get(name)
        said = known.pragma("inline") if known is not None else None
        if known is None or said is None or "off" in said.options or known.pragma("dataflow"):
            return
        outer = self._constants
        self._constants = {**outer, **templates.constants(self._clang, function)}
        body = self._processes(self._body_of(function))
        self._functions[name] = msgspec.structs.replace(known, body=body)
        self._constants = outer

    def _again(self, cursor: Any) -> tuple[Statement, ...]:
        outer = self._pragmas
        self._pragmas = self._source.pragmas_in(
            cursor.extent.start.offset, cursor.extent.end.offset
        )
        statements = self._statements([cursor])
        self._pragmas = outer
        return statements


def _has_call(statement: Statement) -> bool:
    return any(
        isinstance(part, Call) for s in statements_in([statement]) for part in expressions_in(s)
    )
