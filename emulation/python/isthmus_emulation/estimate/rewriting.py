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
"""Most parts of a statement whose expressions change; a longer sum nests too deep for Python."""


def with_loop(code: Code, number: int, by: Callable[[Loop], tuple[Statement, ...]]) -> Code:
    """Returns code in which ``by`` gives the statements in place of a loop."""

    def within(body: Iterable[Statement]) -> tuple[Statement, ...]:
        changed: list[Statement] = []
        for statement in body:
            if isinstance(statement, Loop) and statement.number == number:
                changed += by(statement)
            elif isinstance(statement, Loop | Process):
                changed.append(msgspec.structs.replace(statement, body=within(statement.body)))
            elif isinstance(statement, Choice):
                branches = tuple(map(within, statement.branches))
                changed.append(Choice(statement.condition, branches))
            else:
                changed.append(statement)
        return tuple(changed)

    functions = {
        name: msgspec.structs.replace(function, body=within(function.body))
        for name, function in code.functions.items()
    }
    return msgspec.structs.replace(code, functions=functions)


def mapped(
    body: Iterable[Statement], change: Callable[[Expression], Expression]
) -> tuple[Statement, ...]:
    """Returns the statements; ``change`` replaces each variable, element and operation in them."""
    return tuple(_statement(statement, change) for statement in body)


def _statement(statement: Statement, change: Callable[[Expression], Expression]) -> Statement:
    if len(expressions_in(statement)) > _MOST_PARTS:
        return statement
    if isinstance(statement, Assign):
        target = _expression(statement.target, change)
        assert isinstance(target, type(statement.target) | Element)
        return Assign(target, _expression(statement.value, change), statement.declares)
    if isinstance(statement, Evaluate | Return):
        return msgspec.structs.replace(statement, value=_expression(statement.value, change))
    if isinstance(statement, Choice):
        branches = tuple(mapped(branch, change) for branch in statement.branches)
        return Choice(_expression(statement.condition, change), branches)
    if isinstance(statement, Loop | Process):
        return msgspec.structs.replace(statement, body=mapped(statement.body, change))
    return statement


def _expression(value: Expression, change: Callable[[Expression], Expression]) -> Expression:
    if isinstance(value, Operation):
        operands = tuple(_expression(part, change) for part in value.operands)
        value = msgspec.structs.replace(value, operands=operands)
    elif isinstance(value, Call):
        arguments = tuple(_expression(part, change) for part in value.arguments)
        value = Call(value.function, arguments)
    elif isinstance(value, Element):
        value = Element(value.array, tuple(_expression(part, change) for part in value.indices))
    return change(value)
