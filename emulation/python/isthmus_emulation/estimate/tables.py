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
    found = _Found(code)
    for function in code.functions.values():
        found.read(function.body, function.parameters)
    loops = frozenset(
        loop for loop, arrays in found.loops.items()
        if arrays and arrays <= found.reads
        and not any(found.writers[one] - {loop} or one in found.given for one in arrays)
    )  # fmt: skip
    return Tables(loops, frozenset(found.cleared - found.stored - found.given))


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
        for one in body:
            self._note_given(one)
            if isinstance(one, Assign) and isinstance(one.target, Element):
                self.writers.setdefault(one.target.array, set()).add(loop)
                self.stored.add(one.target.array)
            elif isinstance(one, Clear):
                self.cleared.add(one.array)
                self.writers.setdefault(one.array, set()).add(loop)
            elif isinstance(one, Choice):
                for branch in one.branches:
                    self._read(branch, constants, loop)
            elif isinstance(one, Process):
                self._read(one.body, constants, loop)
            elif isinstance(one, Loop):
                arrays: set[str] = set()
                is_table = self._fills(one, constants, arrays)
                if is_table and loop == 0:
                    self.loops[one.number] = arrays
                self._read(one.body, constants, loop or (one.number if is_table else 0))

    def _fills(self, loop: Loop, constants: set[str], arrays: set[str]) -> bool:
        """Whether all statements of a loop need only constants; notes the arrays they write."""
        return loop.trips is not None and all(
            self._is_filling(one, constants, arrays) for one in loop.body
        )

    def _is_filling(self, one: Statement, constants: set[str], arrays: set[str]) -> bool:
        if isinstance(one, Assign):
            known = _is_constant(one.value, constants)
            if isinstance(one.target, Element):
                storage = self._code.storage.get(one.target.array)
                arrays.add(one.target.array)
                known = known and storage is not None and not storage.port
                known = known and "." not in one.target.array  # calls give members other names
                known = known and storage is not None and storage.kind in {"ram", "registers"}
                known = known and all(_is_constant(i, constants) for i in one.target.indices)
            return known
        if isinstance(one, Choice):
            return _is_constant(one.condition, constants) and all(
                self._is_filling(s, constants, arrays) for branch in one.branches for s in branch
            )
        if isinstance(one, Loop):
            return self._fills(one, constants, arrays)
        return isinstance(one, Evaluate) and _is_constant(one.value, constants)

    def _note_given(self, statement: Statement) -> None:
        for one in expressions_in(statement):
            if isinstance(one, Call):
                self.given |= {a.name for a in one.arguments if isinstance(a, Array)}
            elif isinstance(one, Element):
                self.reads.add(one.array)


def _values(body: tuple[Statement, ...]) -> Iterator[tuple[str, Expression | None]]:
    """Yields scalar variables with their values; None for a loop of unknown length."""
    for one in statements_in(body):
        if isinstance(one, Assign) and isinstance(one.target, Variable):
            yield one.target.name, one.value
        elif isinstance(one, Loop) and one.variable:
            yield one.variable, None if one.trips is None else Constant()


def _is_constant(value: Expression, constants: set[str]) -> bool:
    if isinstance(value, Constant):
        return True
    if isinstance(value, Variable):
        return value.name in constants
    return isinstance(value, Operation) and all(_is_constant(o, constants) for o in value.operands)
