"""Finds arrays that HLS splits without a pragma, because unrolling makes their indices constant."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import msgspec

from isthmus_emulation.estimate.arrays import SMALL_TABLE
from isthmus_emulation.estimate.structure import (
    Array,
    Assign,
    Call,
    Choice,
    Constant,
    Element,
    Expression,
    Function,
    Loop,
    Operation,
    Process,
    Statement,
    Storage,
    Variable,
    assigned_in,
    expressions_in,
    statements_in,
)


def split(
    functions: Mapping[str, Function], storage: Mapping[str, Storage],
    sizes: Mapping[str, tuple[int, ...]],
) -> dict[str, Storage]:  # fmt: skip
    """Returns storage of the arrays that HLS splits in dimensions with only constant indices.

    A small array without writes is a table in logic, like a ``const`` array. An array with
    constant indices in all dimensions becomes variables. Source: the report of
    Nocbox/sobel-Zynq7000, where without a pragma a window of 3 by 3 has no RAM, and each of two
    lines has a RAM. In that of aahwu/AAHLS_labC_Harris, arrays that only unrolled loops access have
    no RAM. We infer that LLVM's scalar replacement of aggregates does this, which is unchecked.
    """
    statements = [
        statement for function in functions.values() for statement in statements_in(function.body)
    ]
    targets = [statement.target for statement in statements if isinstance(statement, Assign)]
    written = {_member(target.array) for target in targets if isinstance(target, Element)}
    constant = _Indices(functions).found
    replaced = {}
    for name, place in storage.items():
        known = constant.get(name, [])
        if place.kind != "ram" or place.port or place.partitioned or not known:
            continue
        extent = sizes.get(name, ())
        is_table = _member(name) not in written and 0 < math.prod(extent) <= SMALL_TABLE
        banks = math.prod(size for size, apart in zip(extent, known, strict=False) if apart)
        if all(known) or is_table:
            replaced[name] = msgspec.structs.replace(place, kind="registers")
        elif any(known):
            replaced[name] = msgspec.structs.replace(place, banks=banks, partitioned=True)
    return replaced


def _member(array: str) -> str:
    """Name of a structure's member without the structure, because calls give it other names."""
    return array.rpartition(".")[2]


class _Indices:
    """For each array, in which dimensions all indices are constants."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.found: dict[str, list[bool]] = {}
        self._functions = functions
        self._given: list[tuple[str, str]] = []
        """Pairs of an array and a parameter of a function that gets the array."""
        for function in functions.values():
            self._read(function.body, set(), _is_pipelined(function))
        for _ in functions:  # as often as calls may nest
            for argument, parameter in self._given:
                known = self.found.get(parameter)
                if known is not None:
                    self._note(argument, known)

    def _note(self, array: str, known: list[bool]) -> None:
        before = self.found.get(array, known)
        self.found[array] = [a and b for a, b in zip(before, known, strict=False)]

    def _read(
        self, body: Iterable[Statement], numbers: set[str], in_pipeline: bool = False
    ) -> None:  # fmt: skip
        """Notes indices in statements.

        ``numbers``: variables that are constant in each copy. ``in_pipeline``: whether a pragma
        pipelines the code around the statements, so that HLS unrolls all loops in the code.
        """
        for statement in body:
            self._use(statement, numbers)
            if isinstance(statement, Assign) and isinstance(statement.target, Variable):
                is_number = _is_number(statement.value, numbers)
                (numbers.add if is_number else numbers.discard)(statement.target.name)
            elif isinstance(statement, Choice):
                # Where no branch is taken, the values from before remain.
                after = [set(numbers) for _ in statement.branches]
                for branch, left in zip(statement.branches, after, strict=True):
                    self._read(branch, left, in_pipeline)
                for branch in statement.branches:
                    numbers -= assigned_in(branch)
                numbers.intersection_update(*after)
            elif isinstance(statement, Process):
                self._read(statement.body, numbers, in_pipeline)
            elif isinstance(statement, Loop):
                numbers -= {*assigned_in(statement.body), statement.variable}
                inside = set(numbers)
                is_unrolled = in_pipeline or statement.is_unrolled
                if statement.variable and is_unrolled and statement.trips is not None:
                    inside.add(statement.variable)
                self._read(statement.body, inside, in_pipeline or _is_pipelined(statement))

    def _use(self, statement: Statement, numbers: set[str]) -> None:
        used = expressions_in(statement)
        if isinstance(statement, Assign):
            used.append(statement.target)
        passed: set[str] = set()
        for expression in used:
            called = (
                self._functions.get(expression.function) if isinstance(expression, Call) else None
            )
            if called is None or not isinstance(expression, Call):
                continue
            for parameter, argument in zip(called.parameters, expression.arguments, strict=False):
                if isinstance(argument, Array):
                    self._given.append((argument.name, parameter))
                    passed.add(argument.name)
        for expression in used:
            if isinstance(expression, Element):
                self._note(
                    expression.array, [_is_number(index, numbers) for index in expression.indices]
                )
            elif isinstance(expression, Array) and expression.name not in passed:
                self.found[expression.name] = []


def _is_pipelined(of: Function | Loop) -> bool:
    pragma = of.pragma("pipeline")
    return pragma is not None and "off" not in pragma.options


def _is_number(expression: Expression, numbers: set[str]) -> bool:
    if isinstance(expression, Constant):
        return expression.value is not None
    if isinstance(expression, Variable):
        return expression.name in numbers
    if isinstance(expression, Operation):
        return all(_is_number(operand, numbers) for operand in expression.operands)
    return False
