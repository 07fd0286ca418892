"""Data classes for a kernel's code as ``rules`` reads it, and for the costs of its loops."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

from isthmus_emulation.region import LoopKind

Number = Literal["integer", "half", "float", "double"]
"""Kinds of arithmetic, which differ in latency. ``ap_int`` and ``ap_fixed`` are integers."""


class Constant(msgspec.Struct, frozen=True):
    """A constant number; its value is None if only the type is known."""

    value: int | None = None
    is_power: bool = False
    """Whether a constant of unknown value is a power of 2, such as 0.5."""


class Variable(msgspec.Struct, frozen=True):
    """A scalar variable."""

    name: str


class Element(msgspec.Struct, frozen=True):
    """An element of an array, or, without indices, a word of a stream."""

    array: str
    indices: tuple[Expression, ...] = ()


class Operation(msgspec.Struct, frozen=True):
    """Arithmetic on one value or more."""

    kind: str
    """``add``, ``multiply``, ``divide``, ``remainder``, ``compare``, ``logic``, ``shift``,
    ``sqrt``, ``exp``, ``convert``, ``free``."""
    number: Number = "integer"
    bits: int = 32
    operands: tuple[Expression, ...] = ()
    operator: int = 0
    """Number in ``CXBinaryOperatorKind`` of a comparison, ``&&`` or ``||``; 0: another operator."""


class Call(msgspec.Struct, frozen=True):
    """A call of a function of the kernel's source."""

    function: str
    arguments: tuple[Expression, ...] = ()


class Array(msgspec.Struct, frozen=True):
    """Name of an array or stream that a call has as an argument."""

    name: str


Expression: TypeAlias = Constant | Variable | Element | Operation | Call | Array


class Assign(msgspec.Struct, frozen=True):
    """Stores a value in a variable or an element."""

    target: Variable | Element
    value: Expression
    declares: bool = False
    """Whether the variable is new here, so that no value of an earlier iteration reaches it."""


class Evaluate(msgspec.Struct, frozen=True):
    """Evaluates an expression without storing the value."""

    value: Expression


class Return(msgspec.Struct, frozen=True):
    """Returns the value of the function."""

    value: Expression


class Leave(msgspec.Struct, frozen=True):
    """Leaves a loop or function: ``break``, or ``return`` without a value."""


class Skip(msgspec.Struct, frozen=True):
    """Goes on with the loop's next iteration: ``continue``. ``without_skips`` removes it."""


class Clear(msgspec.Struct, frozen=True):
    """Gives an array its first values, which HLS writes one by one, each in a cycle."""

    array: str
    elements: int


class Choice(msgspec.Struct, frozen=True):
    """Branches of ``if``, ``switch`` and ``?``."""

    condition: Expression
    branches: tuple[tuple[Statement, ...], ...]


class Pragma(msgspec.Struct, frozen=True):
    """``#pragma HLS NAME options``, names in lower case."""

    name: str
    options: dict[str, str] = {}

    def number(self, option: str) -> int | None:
        """The option's value; None if it is no number."""
        text = self.options.get(option, "")
        return int(text) if text.isdigit() else None


def _pragma(pragmas: tuple[Pragma, ...], name: str) -> Pragma | None:
    """The first pragma of this name; None if there is none."""
    return next((pragma for pragma in pragmas if pragma.name == name), None)


class Loop(msgspec.Struct, frozen=True):
    """A loop; ``number``: number of the loop's counter."""

    number: int
    line: int
    body: tuple[Statement, ...]
    variable: str | None = None
    """Name of the variable that counts the loop's iterations; None if no variable does."""
    trips: int | None = None
    """Number of iterations; None if it is no constant."""
    test: Expression = Constant()
    pragmas: tuple[Pragma, ...] = ()
    step: int = 1
    """Value that an iteration adds to the variable; 0: not constant."""
    first: int | None = None
    """First value of the variable; None: not constant."""
    bounds: frozenset[str] | None = None
    """Variables that decide first value, end and step; None if anything else does."""

    def pragma(self, name: str) -> Pragma | None:
        """The loop's first pragma of this name; None if it has none."""
        return _pragma(self.pragmas, name)

    @property
    def is_unrolled(self) -> bool:
        """Whether its pragma unrolls it whole; HLS can do that where it knows ``trips``."""
        pragma = self.pragma("unroll")
        if pragma is None or "off" in pragma.options:
            return False
        factor = pragma.number("factor")
        return factor is None or (self.trips is not None and factor >= self.trips)


class Process(msgspec.Struct, frozen=True):
    """A statement of a DATAFLOW region, which runs beside the region's other statements.

    ``number``: number of the process' counter.
    """

    number: int
    region: int
    line: int
    body: tuple[Statement, ...]
    after: tuple[int, ...] = ()
    """Numbers of the processes that write arrays or variables which this process needs whole."""
    is_copied: bool = False
    """Whether HLS makes a process of each call in the unrolled loop that is the body."""


Statement: TypeAlias = Assign | Clear | Evaluate | Return | Leave | Skip | Choice | Loop | Process


def without_skips(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Returns a loop's body in which code behind a ``continue`` is the alternative to its branch.

    ``if (a) {b; continue;} c;`` becomes ``if (a) {b;} else {c;}``.
    """
    for place, one in enumerate(body):
        if isinstance(one, Skip):
            return body[:place]
        if not isinstance(one, Choice):
            continue
        branches = tuple(map(without_skips, one.branches))
        skips = [bool(branch) and _skips(branch) for branch in one.branches]
        if True not in skips:
            if branches != one.branches:
                changed = (Choice(one.condition, branches),)
                return (*body[:place], *changed, *without_skips(body[place + 1 :]))
            continue
        rest = without_skips(body[place + 1 :])
        branches = tuple(
            branch if skip else branch + rest for branch, skip in zip(branches, skips, strict=True)
        )
        if len(branches) == 1:
            branches = (*branches, rest)
        return (*body[:place], Choice(one.condition, branches))
    return body


def _skips(body: tuple[Statement, ...]) -> bool:
    """Whether code always reaches a ``continue``."""
    last = body[-1]
    if isinstance(last, Choice) and len(last.branches) > 1:
        return all(bool(branch) and _skips(branch) for branch in last.branches)
    return isinstance(last, Skip)


def statements_in(body: Iterable[Statement]) -> Iterator[Statement]:
    """Yields the statements of a body in order, each before the statements within it."""
    for statement in body:
        yield statement
        if isinstance(statement, Loop | Process):
            yield from statements_in(statement.body)
        elif isinstance(statement, Choice):
            for branch in statement.branches:
                yield from statements_in(branch)


def loops_in(body: Iterable[Statement]) -> Iterator[Loop]:
    """Yields the loops of a body, also those within other loops."""
    return (statement for statement in statements_in(body) if isinstance(statement, Loop))


def expressions_in(statement: Statement) -> list[Expression]:
    """Returns the expressions that a statement evaluates, each after the expressions within it.

    Neither the target of an assignment nor statements within the statement are among them.
    """
    waiting: list[Expression] = []
    if isinstance(statement, Assign | Evaluate | Return):
        waiting.append(statement.value)
    if isinstance(statement, Assign) and isinstance(statement.target, Element):
        waiting += statement.target.indices
    if isinstance(statement, Choice):
        waiting.append(statement.condition)
    expressions: list[Expression] = []
    while waiting:  # no recursion: sums of many terms are deep
        expression = waiting.pop()
        expressions.append(expression)
        if isinstance(expression, Operation):
            waiting += expression.operands
        elif isinstance(expression, Call):
            waiting += expression.arguments
        elif isinstance(expression, Element):
            waiting += expression.indices
    return expressions[::-1]


def calls_in(statement: Statement) -> list[Call]:
    """Returns the calls within a statement's expressions, in the order of ``expressions_in``."""
    return [expression for expression in expressions_in(statement) if isinstance(expression, Call)]


def assigned_in(body: Iterable[Statement]) -> set[str]:
    """Returns the variables that statements assign, also those within other statements."""
    targets = (
        statement.target for statement in statements_in(body) if isinstance(statement, Assign)
    )
    return {target.name for target in targets if isinstance(target, Variable)}


class Function(msgspec.Struct, frozen=True):
    """A function of the kernel's source; each instantiation of a template is a function."""

    name: str
    line: int
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]
    pragmas: tuple[Pragma, ...] = ()
    references: frozenset[str] = frozenset()
    """Parameters that refer to the caller's variables."""

    def pragma(self, name: str) -> Pragma | None:
        """The function's first pragma of this name; None if it has none."""
        return _pragma(self.pragmas, name)


class Storage(msgspec.Struct, frozen=True):
    """Place of an array: kind, banks, ports and widths."""

    kind: Literal["ram", "registers", "memory", "stream"]
    """``memory`` lies behind a port of the kernel, ``ram`` lies in the kernel."""
    banks: int = 1
    """Number of parts of ``ram`` that work at once."""
    partitioned: bool = False
    """Whether a pragma states the number of banks."""
    port: str = ""
    """Name of the port of ``memory``, which several arguments may share."""
    bits: int = 0
    """Bits of an element in ``memory``; 0: unknown."""
    widest: int = 0
    """Most bits to which HLS widens the port of ``memory`` for several elements at once."""
    latency: int = 0
    """Cycles that HLS assumes from a request to ``memory`` until its word."""
    is_member: bool = False
    """Whether it is a member of a structure; objects of one type share the member's name."""
    ram_ports: int = 2
    """Number of reads and writes in a cycle in each bank of ``ram`` (UG1399, BIND_STORAGE)."""
    is_constant: bool = False
    """Whether it is a table of constants, which HLS copies for further reads in a cycle."""


def plain(name: str) -> str:
    """Name of an array or variable in the source, without the places of its declarations."""
    return re.sub(r"@\d+", "", name)


class Code(msgspec.Struct, frozen=True):
    """The code of a kernel."""

    top: str
    functions: dict[str, Function]
    storage: dict[str, Storage]
    work_items: Literal["none", "sequential", "pipelined"] = "none"
    """How the calls of a kernel in OpenCL C, one a work-item, follow each other."""
    sizes: dict[str, tuple[int, ...]] = {}
    """Sizes of each array, by dimension."""


class Span(msgspec.Struct, frozen=True):
    """A range of cycles from least to most."""

    least: float
    most: float

    def __add__(self, other: Span) -> Span:
        return Span(self.least + other.least, self.most + other.most)

    def times(self, count: float) -> Span:
        """The cycles of ``count`` repetitions."""
        return Span(self.least * count, self.most * count)

    def both(self, other: Span) -> Span:
        """The cycles of two parts that run one beside the other: the longer one counts."""
        return Span(max(self.least, other.least), max(self.most, other.most))

    def or_else(self, other: Span) -> Span:
        """The range that contains both, because either is possible."""
        return Span(min(self.least, other.least), max(self.most, other.most))


class Cost(msgspec.Struct, frozen=True):
    """Cycles of a loop, without those of the loops within it."""

    number: int
    line: int
    iteration: Span
    """Cycles of each iteration."""
    entry: Span
    """Cycles each time that the loop begins."""
    why: str
    """Reason for the interval, ``II 7: floating-point sum``; empty if it is not bounded."""
    is_pipelined: bool = False
    ahead: int = 0
    """Most words on the way to a stream that the loop's pipeline or process holds."""
    causes: tuple[Cause, ...] = ()
    """What gives the loop its II, if that is more than 1; several causes may need the same II."""


class Cause(msgspec.Struct, frozen=True):
    """A bound of a loop's II, for which a change of the source may be known."""

    kind: Literal["ports", "chain", "dependence"]
    """``chain``: a variable's old value; ``dependence``: a word that an earlier iteration wrote."""
    cycles: float
    arrays: tuple[str, ...]
    """Arrays that share the busiest port, or the array or variable that iterations depend on."""
    sums: int = 0
    """Number of partial sums that remove the bound; 0: partial sums do not help."""
    is_sum: bool = False
    """Whether iterations only add integers to the word, so that several tables may share them."""
    copies: int = 1
    """Most reads of one of ``arrays`` in an iteration."""


class Change(msgspec.Struct, frozen=True):
    """A change of the source, and the costs of the kernel's loops with it."""

    kind: LoopKind
    name: str
    """Variable, arguments or array that changes."""
    count: int
    """Number that the change needs, such as that of partial sums; 0: none."""
    costs: tuple[Cost, ...]
    arguments: tuple[str, ...] = ()
    """Arguments of which each word then moves once."""
    moves: Literal["as before", "once", "before and after", "in one loop"] = "as before"
    """When the words of ``arguments`` then move. ``in one loop``: the kernel is one pipeline."""
    unrolled: int = 0
    """Number of the loop that the change unrolls, which must be short; 0: none."""


class Estimate(msgspec.Struct, frozen=True):
    """Costs that the plug-in multiplies with the counts of loops."""

    costs: tuple[Cost, ...]
    processes: dict[int, Process]
    """Processes of DATAFLOW regions by number."""
    changes: tuple[Change, ...] = ()
    """Changes of the source that may shorten the loops."""
