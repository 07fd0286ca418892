"""Returns code with other expressions, or with other statements in place of a loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from isthmus_emulation.estimate.structure import (
    Assign,
    Call,
    Choice,
    Code,
    Element,
    Evaluate,
    Expression,
    Loop,
    Operation,
    Process,
    Return,
    Statement,
    expressions_in,
)

_MOST_PARTS = 200
"""Most parts of an expression that is changed: longer sums nest too deep for a recursion."""


def with_loop(code: Code, number: int, by: Callable[[Loop], tuple[Statement, ...]]) -> Code:
    """Returns code in which ``by`` gives the statements in place of a loop."""

    def within(body: Iterable[Statement]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for one in body:
            if isinstance(one, Loop) and one.number == number:
                found += by(one)
            elif isinstance(one, Loop | Process):
                found.append(msgspec.structs.replace(one, body=within(one.body)))
            elif isinstance(one, Choice):
                found.append(Choice(one.condition, tuple(map(within, one.branches))))
            else:
                found.append(one)
        return tuple(found)

    functions = {
        name: msgspec.structs.replace(function, body=within(function.body))
        for name, function in code.functions.items()
    }
    return msgspec.structs.replace(code, functions=functions)


def mapped(
    body: Iterable[Statement], change: Callable[[Expression], Expression]
) -> tuple[Statement, ...]:
    """Returns statements in which ``change`` gives each variable, element and operation."""
    return tuple(_statement(one, change) for one in body)


def _statement(one: Statement, change: Callable[[Expression], Expression]) -> Statement:
    if len(expressions_in(one)) > _MOST_PARTS:
        return one
    if isinstance(one, Assign):
        target = _expression(one.target, change)
        assert isinstance(target, type(one.target) | Element)
        return Assign(target, _expression(one.value, change), one.declares)
    if isinstance(one, Evaluate | Return):
        return msgspec.structs.replace(one, value=_expression(one.value, change))
    if isinstance(one, Choice):
        branches = tuple(mapped(branch, change) for branch in one.branches)
        return Choice(_expression(one.condition, change), branches)
    if isinstance(one, Loop | Process):
        return msgspec.structs.replace(one, body=mapped(one.body, change))
    return one


def _expression(value: Expression, change: Callable[[Expression], Expression]) -> Expression:
    if isinstance(value, Operation):
        operands = tuple(_expression(one, change) for one in value.operands)
        value = msgspec.structs.replace(value, operands=operands)
    elif isinstance(value, Call):
        arguments = tuple(_expression(one, change) for one in value.arguments)
        value = Call(value.function, arguments)
    elif isinstance(value, Element):
        value = Element(value.array, tuple(_expression(one, change) for one in value.indices))
    return change(value)
