"""Evaluates conditions in copies of an unrolled loop: HLS drops branches that no copy takes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Final

from isthmus_emulation.estimate.structure import Constant, Expression, Operation, Variable

_AND, _OR = 20, 21
"""Numbers of ``&&`` and ``||`` in ``CXBinaryOperatorKind``."""
_COMPARISONS: Final[dict[int, Callable[[int, int], bool]]] = {
    11: operator.lt, 12: operator.gt, 13: operator.le, 14: operator.ge, 15: operator.eq,
    16: operator.ne,
}  # fmt: skip
"""Comparisons by their numbers in ``CXBinaryOperatorKind``."""
_ARITHMETIC: Final[dict[str, Callable[[int, int], int]]] = {
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul,
}  # fmt: skip


def holds(condition: Expression, known: Mapping[str, int]) -> bool | None:
    """Whether a condition holds for these values of variables; None if that is not certain."""
    if not isinstance(condition, Operation):
        return None
    if condition.operator in {_AND, _OR} and len(condition.operands) == 2:
        sides = {holds(operand, known) for operand in condition.operands}
        decides = condition.operator == _OR
        return decides if decides in sides else None if None in sides else not decides
    compares = _COMPARISONS.get(condition.operator)
    if compares is None or len(condition.operands) != 2:
        return None
    left, right = (_number(operand, known) for operand in condition.operands)
    return None if left is None or right is None else compares(left, right)


def _number(expression: Expression, known: Mapping[str, int]) -> int | None:
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Variable):
        return known.get(expression.name)
    if not isinstance(expression, Operation):
        return None
    values = [_number(operand, known) for operand in expression.operands]
    if expression.kind == "free" and len(values) == 1:
        return values[0]
    computes = _ARITHMETIC.get(expression.kind)
    if computes is None or len(values) != 2 or values[0] is None or values[1] is None:
        return None
    return computes(values[0], values[1])
