"""Finds loops that only fill tables: HLS runs them, and makes ROMs of the arrays (UG1399)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from isthmus_emulation.estimate.structure import (
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
    Loop,
    Operation,
    Process,
    Statement,
    Variable,
    expressions_in,
    statements_in,
)


class Tables(NamedTuple):
    """What of a kernel HLS turns into ROMs, which take no time to fill."""

    loops: frozenset[int]
    """Loops that fill arrays from constants, if no other code writes these arrays.

    ``dense_large`` of mgrailoo/HLS4ML_CPP_HDL_MNIST_ has such a loop of 7840 iterations, which the
    report on it does not count.
    """
    arrays: frozenset[str]
    """Arrays with initial values that no code writes.

    ``data_generator`` of velicharlagokulkumar/vitis-hls has such an array of 8800 elements, whose
    initial values the report on it does not count.
    """


def of(code: Code) -> Tables:
    """Returns the loops and arrays of a kernel of which HLS makes ROMs."""
    uses = _Found(code)
    for function in code.functions.values():
        uses.read(function.body, function.parameters)
    loops = frozenset(
        loop for loop, arrays in uses.loops.items()
        if arrays and arrays <= uses.reads
        and not any(uses.writers[array] - {loop} or array in uses.given for array in arrays)
    )  # fmt: skip
    return Tables(loops, frozenset(uses.cleared - uses.stored - uses.given))


class _Found:
    def __init__(self, code: Code) -> None:
        self._code = code
        self.loops: dict[int, set[str]] = {}
        """For each loop of constants, the arrays that it writes."""
        self.writers: dict[str, set[int]] = {}
        """For each array, the loops that write it; 0 stands for code outside such loops."""
        self.reads: set[str] = set()
        """Arrays that the code reads."""
        self.cleared: set[str] = set()
        """Arrays with initial values."""
        self.stored: set[str] = set()
        """Arrays to whose elements the code assigns."""
        self.given: set[str] = set()
        """Arrays that are arguments of a function."""

    def read(self, body: tuple[Statement, ...], parameters: Iterable[str]) -> None:
        """Reads the statements of a function."""
        constants: set[str] = set()
        for name, _ in _values(body):
            constants.add(name)
        constants -= set(parameters)
        before = -1
        while len(constants) != before:
            before = len(constants)
            for name, value in _values(body):
                if value is None or not _is_constant(value, constants):
                    constants.discard(name)
        self._read(body, constants, 0)

    def _read(self, body: tuple[Statement, ...], constants: set[str], loop: int) -> None:
        for statement in body:
            self._note_given(statement)
            if isinstance(statement, Assign) and isinstance(statement.target, Element):
                self.writers.setdefault(statement.target.array, set()).add(loop)
                self.stored.add(statement.target.array)
            elif isinstance(statement, Clear):
                self.cleared.add(statement.array)
                self.writers.setdefault(statement.array, set()).add(loop)
            elif isinstance(statement, Choice):
                for branch in statement.branches:
                    self._read(branch, constants, loop)
            elif isinstance(statement, Process):
                self._read(statement.body, constants, loop)
            elif isinstance(statement, Loop):
                arrays: set[str] = set()
                is_table = self._fills(statement, constants, arrays)
                if is_table and loop == 0:
                    self.loops[statement.number] = arrays
                self._read(statement.body, constants, loop or (statement.number if is_table else 0))

    def _fills(self, loop: Loop, constants: set[str], arrays: set[str]) -> bool:
        """Whether all statements of a loop need only constants; notes the arrays they write."""
        return loop.trips is not None and all(
            self._is_filling(statement, constants, arrays) for statement in loop.body
        )

    def _is_filling(self, statement: Statement, constants: set[str], arrays: set[str]) -> bool:
        if isinstance(statement, Assign):
            known = _is_constant(statement.value, constants)
            if isinstance(statement.target, Element):
                storage = self._code.storage.get(statement.target.array)
                arrays.add(statement.target.array)
                known = known and storage is not None and not storage.port
                known = (
                    known and "." not in statement.target.array
                )  # calls give members other names
                known = known and storage is not None and storage.kind in {"ram", "registers"}
                known = known and all(_is_constant(i, constants) for i in statement.target.indices)
            return known
        if isinstance(statement, Choice):
            return _is_constant(statement.condition, constants) and all(
                self._is_filling(s, constants, arrays)
                for branch in statement.branches
                for s in branch
            )
        if isinstance(statement, Loop):
            return self._fills(statement, constants, arrays)
        return isinstance(statement, Evaluate) and _is_constant(statement.value, constants)

    def _note_given(self, statement: Statement) -> None:
        for expression in expressions_in(statement):
            if isinstance(expression, Call):
                self.given |= {a.name for a in expression.arguments if isinstance(a, Array)}
            elif isinstance(expression, Element):
                self.reads.add(expression.array)


def _values(body: tuple[Statement, ...]) -> Iterator[tuple[str, Expression | None]]:
    """Yields scalar variables with their values; None for a loop of unknown length."""
    for statement in statements_in(body):
        if isinstance(statement, Assign) and isinstance(statement.target, Variable):
            yield statement.target.name, statement.value
        elif isinstance(statement, Loop) and statement.variable:
            yield statement.variable, None if statement.trips is None else Constant()


def _is_constant(value: Expression, constants: set[str]) -> bool:
    if isinstance(value, Constant):
        return True
    if isinstance(value, Variable):
        return value.name in constants
    return isinstance(value, Operation) and all(_is_constant(o, constants) for o in value.operands)
