"""Finds the streams that one expression reads: a board takes their words in the same cycle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from isthmus_emulation.estimate.preprocessed import Preprocessed
from isthmus_emulation.estimate.regions import Insertion

_SOMETIMES: Final = {"CONDITIONAL_OPERATOR", "LAMBDA_EXPR"}
"""Expressions that may leave some of their parts unevaluated."""


def insertions(
    source: Preprocessed, expression: Any, statement: int | None = None
) -> list[Insertion]:
    """Returns the call of ``isthmus_together`` for an expression that reads several streams.

    The call stands within the expression. Where ``statement`` is the offset of a statement, the
    call stands before it: what initializes a variable need not be an expression, as ``{1, 2}``.
    """
    streams = list(dict.fromkeys(_streams(source, expression)))
    if len(streams) < 2:
        return []
    call = f"isthmus_together({', '.join(streams)})"
    if statement is not None:
        return [Insertion(statement, 5, f"{call}; ")]
    begin, end = expression.extent.start.offset, expression.extent.end.offset
    return [Insertion(begin, 5, f"({call}, "), Insertion(end, -9, ")")]


def _streams(source: Preprocessed, expression: Any) -> Iterator[str]:
    """Yields the streams that an expression reads in all cases, by their names in the source."""
    kind = expression.kind.name
    children = list(expression.get_children())
    if kind in _SOMETIMES:
        return
    if kind == "BINARY_OPERATOR" and _is_short(source, children):
        children = children[:1]
    if kind == "CALL_EXPR" and expression.spelling == "read" and children:
        of = list(children[0].get_children())
        if len(of) == 1 and "hls::stream<" in of[0].type.get_canonical().spelling:
            parts = list(of[0].walk_preorder())
            if not any(part.kind.name in {"CALL_EXPR", "UNARY_OPERATOR"} for part in parts):
                text = source.text[of[0].extent.start.offset : of[0].extent.end.offset].decode()
                is_pointer = of[0].type.get_canonical().kind.name == "POINTER"
                yield f"*({text})" if is_pointer else text
            return
    for child in children:
        yield from _streams(source, child)


def _is_short(source: Preprocessed, operands: list[Any]) -> bool:
    """Whether an operator is ``&&`` or ``||``."""
    if len(operands) != 2:
        return False
    between = source.text[operands[0].extent.end.offset : operands[1].extent.start.offset]
    return b"&&" in between or b"||" in between
