"""A kernel's code as ``rules`` needs it, and the costs of its loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

import msgspec

Number = Literal["integer", "half", "float", "double"]
"""Kinds of arithmetic, which differ in latency. ``ap_int`` and ``ap_fixed`` are integers."""


class Constant(msgspec.Struct, frozen=True):
    """A number; None where only the type is known."""

    value: int | None = None


class Variable(msgspec.Struct, frozen=True):
    """A scalar variable."""

    name: str


class Element(msgspec.Struct, frozen=True):
    """An element of an array, or a word of a stream (without indices)."""

    array: str
    indices: tuple[Expression, ...] = ()


class Operation(msgspec.Struct, frozen=True):
    """Arithmetic on one or more values."""

    kind: str
    """``add``, ``multiply``, ``divide``, ``remainder``, ``compare``, ``logic``, ``shift``,
    ``sqrt``, ``exp``, ``convert``, ``free``."""
    number: Number = "integer"
    bits: int = 32
    operands: tuple[Expression, ...] = ()
    operator: int = 0
    """Of comparisons and ``&&``, ``||``: number in ``CXBinaryOperatorKind``; 0: another."""


class Call(msgspec.Struct, frozen=True):
    """A call of a function of the kernel's source."""

    function: str
    arguments: tuple[Expression, ...] = ()


class Array(msgspec.Struct, frozen=True):
    """A name of an array or stream, as an argument of a call."""

    name: str


Expression: TypeAlias = Constant | Variable | Element | Operation | Call | Array


class Assign(msgspec.Struct, frozen=True):
    """A value is stored."""

    target: Variable | Element
    value: Expression
    declares: bool = False
    """Whether the variable begins here: no value of an earlier iteration reaches it."""


class Evaluate(msgspec.Struct, frozen=True):
    """An expression without a target."""

    value: Expression


class Return(msgspec.Struct, frozen=True):
    """The function's value."""

    value: Expression


class Leave(msgspec.Struct, frozen=True):
    """``break``, and ``return`` without a value."""


class Clear(msgspec.Struct, frozen=True):
    """An array gets its first values, which HLS writes one a cycle."""

    array: str
    elements: int


class Choice(msgspec.Struct, frozen=True):
    """``if``, ``switch`` and ``?``."""

    condition: Expression
    branches: tuple[tuple[Statement, ...], ...]


class Pragma(msgspec.Struct, frozen=True):
    """``#pragma HLS NAME options``, names in lower case."""

    name: str
    options: dict[str, str] = {}

    def number(self, option: str) -> int | None:
        """The option's value where that is a number."""
        text = self.options.get(option, "")
        return int(text) if text.isdigit() else None


def _pragma(pragmas: tuple[Pragma, ...], name: str) -> Pragma | None:
    """The first pragma of this name; None if there is none."""
    return next((one for one in pragmas if one.name == name), None)


class Loop(msgspec.Struct, frozen=True):
    """A loop; ``number`` is that of its counter."""

    number: int
    line: int
    body: tuple[Statement, ...]
    variable: str | None = None
    """Name of the variable that the loop counts by; None where no variable does."""
    trips: int | None = None
    """Iterations, where the code says a constant."""
    test: Expression = Constant()
    pragmas: tuple[Pragma, ...] = ()
    step: int = 1
    """What an iteration adds to the variable; 0: not a constant."""
    first: int | None = None
    """The variable's first value; None: not a constant."""

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
    """A statement of a DATAFLOW region, which runs beside the others of its region.

    ``number`` is that of its counter.
    """

    number: int
    region: int
    line: int
    body: tuple[Statement, ...]
    after: tuple[int, ...] = ()
    """Processes whose arrays or variables this process needs whole."""


Statement: TypeAlias = Assign | Clear | Evaluate | Return | Leave | Choice | Loop | Process


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
    return (one for one in statements_in(body) if isinstance(one, Loop))


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
    found: list[Expression] = []
    while waiting:  # without recursion: a sum of many terms is a deep expression
        expression = waiting.pop()
        found.append(expression)
        if isinstance(expression, Operation):
            waiting += expression.operands
        elif isinstance(expression, Call):
            waiting += expression.arguments
        elif isinstance(expression, Element):
            waiting += expression.indices
    return found[::-1]


def calls_in(statement: Statement) -> list[Call]:
    """Returns the calls within a statement's expressions, in the order of ``expressions_in``."""
    return [one for one in expressions_in(statement) if isinstance(one, Call)]


class Function(msgspec.Struct, frozen=True):
    """A function of the kernel's source; a template is one for each of its instantiations."""

    name: str
    line: int
    parameters: tuple[str, ...]
    body: tuple[Statement, ...]
    pragmas: tuple[Pragma, ...] = ()
    references: frozenset[str] = frozenset()
    """Parameters that stand for the caller's variables."""

    def pragma(self, name: str) -> Pragma | None:
        """The function's first pragma of this name; None if it has none."""
        return _pragma(self.pragmas, name)


class Storage(msgspec.Struct, frozen=True):
    """Where an array lies."""

    kind: Literal["ram", "registers", "memory", "stream"]
    """``memory`` is reached by a port of the kernel, ``ram`` within it."""
    banks: int = 1
    """Parts of ``ram`` that work at once."""
    partitioned: bool = False
    """Whether a pragma says the banks."""
    port: str = ""
    """What several arguments in ``memory`` share."""
    bits: int = 0
    """Of an element in ``memory``; 0: not known."""
    widest: int = 0
    """Bits up to which HLS widens the port of ``memory`` for several elements at once."""
    latency: int = 0
    """Cycles that HLS assumes from a request of ``memory`` to its word."""
    is_member: bool = False
    """Whether it belongs to a structure; all objects of its type have the same name."""
    ram_ports: int = 2
    """Reads and writes a cycle of each bank of ``ram`` (UG1399, BIND_STORAGE)."""


class Code(msgspec.Struct, frozen=True):
    """A kernel."""

    top: str
    functions: dict[str, Function]
    storage: dict[str, Storage]
    work_items: Literal["none", "sequential", "pipelined"] = "none"
    """How the calls of a kernel in OpenCL C, one a work-item, follow each other."""
    sizes: dict[str, tuple[int, ...]] = {}
    """Of arrays, in each dimension."""


class Span(msgspec.Struct, frozen=True):
    """From least to most cycles."""

    least: float
    most: float

    def __add__(self, other: Span) -> Span:
        return Span(self.least + other.least, self.most + other.most)

    def times(self, count: float) -> Span:
        """The cycles of so many."""
        return Span(self.least * count, self.most * count)

    def both(self, other: Span) -> Span:
        """The cycles of both, which run beside each other."""
        return Span(max(self.least, other.least), max(self.most, other.most))

    def or_else(self, other: Span) -> Span:
        """Both are possible."""
        return Span(min(self.least, other.least), max(self.most, other.most))


class Cost(msgspec.Struct, frozen=True):
    """Cycles of a loop, without those of loops within it."""

    number: int
    line: int
    iteration: Span
    """Of each iteration."""
    entry: Span
    """Each time that the loop begins."""
    why: str
    """``II 7: floating-point sum``; empty where nothing bounds it."""
    is_pipelined: bool = False
    partial_sums: int = 0
    """So many partial sums give the loop a shorter II; 0: they do not."""
    spared: float = 0.0
    """Share of an iteration's cycles that they spare."""
    ahead: int = 0
    """Words on the way to a stream that its pipeline, or its process, holds at most."""


class Estimate(msgspec.Struct, frozen=True):
    """What the plug-in multiplies with the counters of loops."""

    costs: tuple[Cost, ...]
    processes: dict[int, Process]
    """By their numbers."""
