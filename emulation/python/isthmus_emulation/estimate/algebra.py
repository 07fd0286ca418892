"""Values of a schedule: when they are ready, what they depend on, and what HLS knows of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import msgspec

from isthmus_emulation.estimate import operators
from isthmus_emulation.estimate.structure import (
    Constant,
    Expression,
    Loop,
    Operation,
    Process,
    Statement,
    Variable,
)

_ROUNDING = 1e-9
"""Cycles by which sums of delays within a cycle may be wrong (shares are multiples of 1e-3)."""
_BALANCED = ({"add"}, {"subtract"}, {"add", "subtract"}, {"logic"})
"""Kinds of integer operators that HLS may reorder in one chain."""
WIRED = {"multiply", "divide", "remainder"}
"""Kinds of integer operators that need only wires by a power of 2."""
_OF_SIGN = {11, 14}
"""Numbers of ``<`` and ``>=`` in CXBinaryOperatorKind."""


def whole(cycles: float) -> int:
    """Rounds cycles up, but ignores errors of rounding."""
    return math.ceil(cycles - _ROUNDING)


@dataclass(frozen=True)
class Path:
    """A chain of operators from a variable's old value to a result."""

    cycles: float
    slowest: str = ""
    """Name of the slowest operator in the chain."""
    stages: float = 0.0
    decides: bool = False
    """Whether a branch depends on the old value."""
    kinds: frozenset[str] = frozenset()
    """Kinds of the chain's operators."""

    @property
    def is_tree(self) -> bool:
        """Whether HLS may turn copies of the chain into a tree (UG1399, EXPRESSION_BALANCE)."""
        is_sum = self.kinds - {"select"} in _BALANCED
        return not self.decides and self.stages < 1 and is_sum

    @property
    def adds_up(self) -> bool:
        """Whether the chain is one floating-point sum or product: partial sums shorten it.

        A choice between the old and the new value takes less than a cycle: ``if (x > 0) sum += x``.
        """
        alone = not self.decides and whole(self.cycles) <= self.stages + 1
        return alone and self.slowest in operators.REDUCTIONS


class Modulo(NamedTuple):
    """The remainder, or the quotient, of a linear value by a constant."""

    linear: Mapping[str, int]
    """Coefficients of the divided value, as in ``Value.linear``."""
    by: int


@dataclass(frozen=True)
class Value:
    """When a value is ready, and what it depends on."""

    ready: float = 0.0
    """Cycles from the iteration's begin until the value is ready."""
    paths: Mapping[str, Path] = field(default_factory=dict)
    """Chains of operators, by the variable whose old value begins the chain."""
    of: frozenset[str] = frozenset()
    """Variables of loops that the value depends on."""
    linear: Mapping[str, int] | None = None
    """Coefficients of variables, with the constant under an empty name; None: not linear."""
    is_data: bool = False
    """Whether the value was read from memory, so that it is unknown as an index."""
    modulo: Modulo | None = None
    """The value as a remainder; None if it is no remainder by a constant."""
    is_product: bool = False
    """Whether the value is a product, to which the same DSP block may add in one operation."""
    is_fixed: bool = False
    """Whether HLS knows the value: a constant, or one in each copy of an unrolled loop."""
    is_power: bool = False
    """Whether the value is one of a few constants, each 0 or a power of 2 with either sign."""
    quotient: Modulo | None = None
    """The value as a quotient by a constant; None if it is no such quotient."""


@dataclass(frozen=True)
class Access:
    """A read or write of an array's element, in one or several copies."""

    array: str
    writes: bool
    indices: tuple[Value, ...]
    value: Value
    copies: int = 1
    limits: tuple[tuple[str, int], ...] = ()
    """Pairs: variable of an unrolled loop, and most copies of the loop that make the access."""
    is_single: bool = False
    """Whether the access is to a word of memory outside of bursts, with its own request."""
    conditions: tuple[int, ...] = ()
    """Numbers of the branches around the access, outermost first."""


def repeated(value: Value, origin: str, trips: int) -> Value:
    """The value of the last copy, if each copy needs ``origin``, the previous copy's value."""
    path = value.paths.get(origin)
    if path is None:
        return value
    if path.is_tree:  # one tree covers all loops of a nest
        return _later(value, path.stages * math.log2(trips))
    chain = max(path.cycles, 0.0)
    return _later(value, chain * (math.log2(trips) if chain < 1 else trips - 1))


def _later(value: Value, cycles: float) -> Value:
    paths = {n: replace(p, cycles=p.cycles + cycles) for n, p in value.paths.items()}
    return Value(value.ready + cycles, paths, value.of, None, value.is_data)


def through(paths: Mapping[str, Path], cycles: float) -> dict[str, Path]:
    """Extends the chains of an index by the read of the word at the index."""
    return {
        name: Path(path.cycles + cycles, path.slowest, kinds=path.kinds | {"read"})
        for name, path in paths.items()
    }


def joined(values: Iterable[Value]) -> Value:
    """Returns a result that needs all of these values."""
    there = list(values)
    paths: dict[str, Path] = {}
    for value in there:
        for name, path in value.paths.items():
            if name not in paths or path.cycles > paths[name].cycles:
                paths[name] = path
    return Value(
        max((value.ready for value in there), default=0.0),
        paths,
        frozenset[str]().union(*(value.of for value in there)),
        None,
        any(value.is_data for value in there),
    )


def apart(left: tuple[Value, ...], right: tuple[Value, ...]) -> bool:
    """Whether two elements of an array are certainly different elements."""
    for one, other in zip(left, right, strict=False):
        if one.linear is None or other.linear is None:
            continue
        names = {*one.linear, *other.linear} - {""}
        same = all(one.linear.get(n, 0) == other.linear.get(n, 0) for n in names)
        if same and one.linear.get("", 0) != other.linear.get("", 0):
            return True
    return False


def linear(operation: Operation, operands: list[Value]) -> dict[str, int] | None:
    """Returns a sum or product as coefficients of variables; None if it is not linear."""
    if len(operands) != 2 or any(o.linear is None for o in operands):
        return None
    left, right = (dict(o.linear or {}) for o in operands)
    if operation.kind == "add":
        return {n: left.get(n, 0) + right.get(n, 0) for n in {*left, *right}}
    if operation.kind == "subtract":
        return {n: left.get(n, 0) - right.get(n, 0) for n in {*left, *right}}
    if operation.kind == "multiply":
        for factor, other in ((left, right), (right, left)):
            if set(factor) <= {""}:
                return {n: c * factor.get("", 0) for n, c in other.items()}
    return None


def modulo(operation: Operation, operands: list[Value]) -> Modulo | None:
    """Returns a remainder by a constant; None for any other operation."""
    if operation.kind != "remainder" or len(operands) != 2:
        return None
    of, by = (operand.linear for operand in operands)
    if of is None or by is None or set(by) - {""} or by.get("", 0) <= 0:
        return None
    return Modulo(of, by[""])


def index_key(value: Value) -> tuple[object, ...] | None:
    """Returns what an index is, to compare it with other indices; None if that is unknown."""
    if value.linear is not None:
        return tuple(sorted((n, times) for n, times in value.linear.items() if times))
    for kind, part in (("remainder", value.modulo), ("quotient", value.quotient)):
        if part is not None:
            return kind, part.by, tuple(sorted((n, t) for n, t in part.linear.items() if t))
    return None


def quotient(operation: Operation, operands: list[Value]) -> Modulo | None:
    """Returns a quotient by a constant; None for any other operation."""
    found = modulo(msgspec.structs.replace(operation, kind="remainder"), operands)
    return found if operation.kind == "divide" else None


def is_power(value: int) -> bool:
    """Whether a product by the value is a shift, perhaps with another sign, or 0."""
    return abs(value) & (abs(value) - 1) == 0


def unconditional(body: Iterable[Statement]) -> Iterator[Statement]:
    """Yields the statements of a body that each of its runs reaches."""
    for one in body:
        yield one
        if isinstance(one, Loop | Process):
            yield from unconditional(one.body)


def variables(value: Expression) -> set[str] | None:
    """Returns the variables that an expression needs; None if it needs more than variables."""
    if isinstance(value, Constant):
        return set()
    if isinstance(value, Variable):
        return {value.name}
    if not isinstance(value, Operation):
        return None
    found: set[str] = set()
    for one in value.operands:
        inner = variables(one)
        if inner is None:
            return None
        found |= inner
    return found


def is_shifted_one(expression: Expression) -> bool:
    """Whether a divisor is ``1 << n``, for which HLS uses a shift."""
    return (
        isinstance(expression, Operation)
        and expression.kind == "shift"
        and expression.operands[0] == Constant(1)
    )


def reduced(operation: Operation, operands: list[Value]) -> Operation:
    """Returns the simpler operation that HLS makes of one with constants among its operands.

    A product by 1 or -1, or by another choice of powers of 2, is a choice with another sign. The
    sign bit alone tells whether a number is negative.
    """
    if operation.number != "integer" or len(operands) != 2:
        return operation
    left, right = operands
    if operation.kind == "multiply" and (left.is_power or right.is_power):
        is_fixed = (left.is_power and left.is_fixed) or (right.is_power and right.is_fixed)
        return msgspec.structs.replace(operation, kind="free" if is_fixed else "subtract")
    if operation.kind == "divide" and right.is_power and right.is_fixed:
        return msgspec.structs.replace(operation, kind="free")
    if operation.kind == "shift" and right.is_fixed:
        return msgspec.structs.replace(operation, kind="free")
    is_zero = right.linear in ({}, {"": 0})
    if operation.kind == "compare" and operation.operator in _OF_SIGN and is_zero:
        return msgspec.structs.replace(operation, kind="free")
    return operation


def is_wiring(operation: Operation, operands: list[Value]) -> bool:
    """Whether HLS needs only wires: for a constant shift, or a power of 2 as factor or divisor."""
    last = operands[-1].linear
    if len(operands) != 2 or last is None or set(last) - {""}:
        return False
    by = last.get("", 0)
    return operation.kind == "shift" or (operation.kind in WIRED and by > 0 and is_power(by))


def alternatives(branches: list[list[Access]]) -> list[Access]:
    """Joins branches' accesses: for each array those of the branch that needs the most ports."""
    if len(branches) < 2:
        return branches[0] if branches else []
    counts = [Counter[tuple[str, bool]]() for _ in branches]
    for count, branch in zip(counts, branches, strict=True):
        for access in branch:
            count[access.array, access.writes] += access.copies
    kept = []
    for branch, count in zip(branches, counts, strict=True):
        for access in branch:
            key = (access.array, access.writes)
            most = max(range(len(branches)), key=lambda n, key=key: counts[n][key])  # type: ignore[misc]
            if counts[most] is count:
                kept.append(access)
    return kept
