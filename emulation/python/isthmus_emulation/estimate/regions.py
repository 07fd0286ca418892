"""Makes processes of the statements of a DATAFLOW region, which then run beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from isthmus_emulation.estimate.cursors import dimensions, inner, is_constant
from isthmus_emulation.estimate.preprocessed import Preprocessed
from isthmus_emulation.estimate.structure import Pragma

UNLIMITED: Final = 2**32 - 1
"""Depth of a stream whose pragma has an expression that only the compiler can compute."""
_LEAVES: Final = {"RETURN_STMT", "GOTO_STMT"}


class Insertion(NamedTuple):
    """Text to insert into a source; ``order`` sorts texts at the same place."""

    at: int
    order: int
    words: str


class Part(NamedTuple):
    """A statement of a region; ``number`` is its process's counter; None: no process."""

    cursor: Any
    begin: int
    end: int
    number: int | None


def insertions(
    source: Preprocessed, block: Any, parts: Sequence[Part], pragma: Callable[[str], Pragma]
) -> list[Insertion]:
    """Returns the calls of ``isthmus_region`` (``isthmus/card/loop_counts.hpp``) for a block."""
    begin, end = block.extent.start.offset, block.extent.end.offset
    region = f"isthmus_r{begin}"
    found = [
        Insertion(begin + 1, 1, f" isthmus_region {region}; "),
        Insertion(end - 1, 3, f" {region}.finish(); "),
    ]
    said = [pragma(text) for _, text in source.pragmas_in(begin, end)]
    depths = [one for one in said if one.name == "stream" and "depth" in one.options]
    made: list[set[str]] = []
    for part in parts:
        uses, writes = uses_of(part.cursor)
        is_process = part.number is not None and not _leaves(part.cursor)
        leaves = part.number is not None and not is_process
        after = [n for n, of_one in enumerate(made) if leaves or of_one & uses]
        listed = ", ".join(map(str, after))
        if is_process:
            name = f"{_called(part.cursor)} (line {source.line(part.begin)})"
            made.append(writes)
            words = f'{region}.process({part.number}, "{name}", {{{listed}}}, [&] {{ '
            found += [Insertion(part.begin, -3, words), Insertion(part.end, 2, " }); ")]
        elif part.cursor.kind.name == "RETURN_STMT":
            found.append(Insertion(part.begin, -3, f"{region}.finish(); "))
        elif after:
            found.append(Insertion(part.begin, -3, f"{region}.wait({{{listed}}}); "))
        if part.cursor.kind.name == "DECL_STMT":
            words = "".join(_limits(part.cursor, depths))
            found.append(Insertion(part.end, 0, words))
    return found


def _limits(statement: Any, depths: Iterable[Pragma]) -> Iterable[str]:
    """Yields calls that limit the streams that a statement declares."""
    for declared in statement.get_children():
        name = declared.spelling
        if declared.kind.name != "VAR_DECL" or not _is_stream(declared.type):
            continue
        yield f' isthmus_limit({name}, "{name}", {_depth(depths, name)}); '
        for one in depths:
            element = one.options.get("variable", "")
            if element.startswith(f"{name}["):
                yield f' isthmus_limit({element}, "{element}", {_depth([one], element)}); '


def _depth(depths: Iterable[Pragma], name: str) -> int:
    """Returns the depth of a stream by its pragma; 0 without a pragma."""
    for one in depths:
        if one.options.get("variable") == name:
            number = one.number("depth")
            return UNLIMITED if number is None else number
    return 0


def _is_stream(of: Any) -> bool:
    canonical = of.get_canonical()
    while dimensions(canonical):
        canonical = canonical.element_type.get_canonical()
    return bool(canonical.spelling.startswith("hls::stream<"))


def _called(cursor: Any) -> str:
    """Returns the name of the function that a process calls; for a loop the word ``loop``."""
    cursor = inner(cursor)
    return str(cursor.spelling) if cursor.kind.name == "CALL_EXPR" else "loop"


def _leaves(cursor: Any) -> bool:
    return any(one.kind.name in _LEAVES for one in cursor.walk_preorder())


def uses_of(cursor: Any) -> tuple[set[str], set[str]]:
    """Returns the variables that a statement uses and may change, without streams."""
    uses, writes = set(), set()
    waiting = [(cursor, cursor)]
    while waiting:
        one, parent = waiting.pop()
        waiting += [(child, one) for child in one.get_children()]
        declared = one.referenced if one.kind.name == "DECL_REF_EXPR" else None
        if declared is None or declared.kind.name != "VAR_DECL":
            continue
        canonical = declared.type.get_canonical()
        if canonical.is_const_qualified() or "hls::stream" in canonical.spelling:
            continue
        name = f"{declared.spelling}@{declared.extent.start.offset}"
        uses.add(name)
        if dimensions(canonical) or _changes(parent, one):
            writes.add(name)
    return uses, writes


def _changes(parent: Any, cursor: Any) -> bool:
    """Whether an expression may change a variable that it names without a conversion."""
    kind = parent.kind.name
    if kind == "UNARY_OPERATOR":
        return True
    is_first: bool = next(iter(parent.get_children()), None) == cursor
    if kind in {"BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"}:
        return is_first
    callee = parent.referenced if kind == "CALL_EXPR" else None
    if callee is None or callee.kind.name == "CONSTRUCTOR":
        return False
    for given, wanted in zip(parent.get_arguments(), callee.get_arguments(), strict=False):
        if given == cursor:
            by = wanted.type.get_canonical()
            return by.kind.name == "LVALUEREFERENCE" and not is_constant(by.get_pointee())
    return is_first and parent.spelling.startswith("operator")
