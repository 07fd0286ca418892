"""Makes processes, which run beside each other, of the statements of a DATAFLOW region."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from isthmus_emulation.estimate.cursors import dimensions, inner, is_constant
from isthmus_emulation.estimate.preprocessed import Preprocessed
from isthmus_emulation.estimate.structure import Pragma

UNLIMITED: Final = 2**32 - 1
"""Depth of a stream for which only the compiler can compute the pragma's expression."""
_LEAVES: Final = {"RETURN_STMT", "GOTO_STMT"}


class Insertion(NamedTuple):
    """Text that is inserted into a source; ``order`` sorts texts at one place."""

    at: int
    order: int
    words: str


class Copy(NamedTuple):
    """A statement of an unrolled loop in a region: HLS makes a process of it in each iteration."""

    cursor: Any
    begin: int
    end: int
    variables: tuple[str, ...]
    """Names of the variables that count the iterations of the loops around it."""


class Part(NamedTuple):
    """A statement of a region; ``number``: its process' counter, None: it is no process."""

    cursor: Any
    begin: int
    end: int
    number: int | None
    copies: Sequence[Copy] = ()


def insertions(
    source: Preprocessed, block: Any, parts: Sequence[Part], pragma: Callable[[str], Pragma]
) -> list[Insertion]:
    """Returns the calls of ``isthmus_region`` (``isthmus/card/loop_counts.hpp``) for a block."""
    begin, end = block.extent.start.offset, block.extent.end.offset
    region = f"isthmus_r{begin}"
    inserted = [
        Insertion(begin + 1, 2, f" isthmus_region {region}; "),
        Insertion(end - 1, 3, f" {region}.finish(); "),
    ]
    said = [(source.line(at), pragma(text)) for at, text in source.pragmas_in(begin, end)]
    depths = [
        (n, depth_pragma)
        for n, depth_pragma in said
        if depth_pragma.name == "stream" and "depth" in depth_pragma.options
    ]
    made: list[set[str]] = []
    for part in parts:
        uses, writes = uses_of(part.cursor)
        is_process = part.number is not None and not _leaves(part.cursor)
        leaves = part.number is not None and not is_process
        after = [n for n, of_one in enumerate(made) if leaves or of_one & uses]
        listed = ", ".join(map(str, after))
        initial = initial_of(source, part.cursor)
        if is_process:
            name = f"{_called(part.cursor)} (line {source.line(part.begin)})"
            made.append(writes)
            words = f'{region}.process({part.number}, "{name}", {{{listed}}}, [&] {{ '
            if initial is not None:
                words = f"; {words}{initial.variable} "
            begins = part.begin if initial is None else initial.at
            inserted.append(Insertion(begins, -3, words))
            inserted += _of_copies(source, part)
            inserted.append(Insertion(part.end, 2, " }); "))
        elif part.cursor.kind.name == "RETURN_STMT":
            inserted.append(Insertion(part.begin, -3, f"{region}.finish(); "))
        elif after:
            inserted.append(Insertion(part.begin, -3, f"{region}.wait({{{listed}}}); "))
        if part.cursor.kind.name == "DECL_STMT":
            words = "".join(_limits(source, part.cursor, depths))
            inserted.append(Insertion(part.end, 0, words))
    return inserted


def _of_copies(source: Preprocessed, part: Part) -> Iterable[Insertion]:
    """Yields the calls that make a process of each iteration of a process' unrolled loops."""
    region = f"isthmus_c{part.begin}"
    if part.copies:
        yield Insertion(part.begin, -2, f"isthmus_region {region}; ")
    for one in part.copies:
        name = f"{_called(one.cursor)} (line {source.line(one.begin)})"
        # A lambda captures a variable with static storage only by a copy with a name.
        names = dict.fromkeys(one.variables)
        captured = ", ".join(("&", *(f"{name} = {name}" for name in names)))
        yield Insertion(one.begin, -2, f'{region}.copy("{name}", [{captured}] {{ ')
        yield Insertion(one.end, -2, " }); ")
    if part.copies:
        yield Insertion(part.end, 2, f" {region}.join(); ")


def may_be_copied(cursor: Any) -> bool:
    """Whether a statement is a call that shares no variable with other iterations of its loop.

    Only streams, constants and the kernel's memory may connect the iterations. HLS tells elements
    of a split array apart, this reader does not.
    """
    is_call = inner(cursor).kind.name == "CALL_EXPR"
    return is_call and not uses_of(cursor)[1] and not any(map(_may_write, cursor.walk_preorder()))


def _may_write(cursor: Any) -> bool:
    """Whether a cursor names an argument through which a function may write to an array."""
    declared = cursor.referenced if cursor.kind.name == "DECL_REF_EXPR" else None
    if declared is None or declared.kind.name != "PARM_DECL":
        return False
    of = declared.type.get_canonical()
    if "hls::stream" in of.spelling or of.kind.name not in {"POINTER", "LVALUEREFERENCE"}:
        return False
    is_argument = declared.semantic_parent.linkage.name == "EXTERNAL" and of.kind.name == "POINTER"
    return not is_argument and not is_constant(of.get_pointee())


def _limits(
    source: Preprocessed, statement: Any, depths: Sequence[tuple[int, Pragma]]
) -> Iterable[str]:
    """Yields calls that limit the depth of the streams that a statement declares.

    ``depths``: pragmas with the numbers of their lines.
    """
    for declared in statement.get_children():
        name = declared.spelling
        if declared.kind.name != "VAR_DECL" or not _is_stream(declared.type):
            continue
        line = source.line(declared.location.offset)
        yield _limit(name, *_depth(depths, name, line))
        for pragma in depths:
            element = pragma[1].options.get("variable", "")
            if element.startswith(f"{name}["):
                yield _limit(element, *_depth([pragma], element, line))


def _limit(stream: str, depth: int, line: int) -> str:
    return f' isthmus_limit({stream}, "{stream}", {depth}, {line}); '


def _depth(depths: Iterable[tuple[int, Pragma]], name: str, line: int) -> tuple[int, int]:
    """Returns depth and line of a stream's pragma; without one, 0 and the declaration's line."""
    for place, pragma in depths:
        if pragma.options.get("variable") == name:
            number = pragma.number("depth")
            return UNLIMITED if number is None else number, place
    return 0, line


def _is_stream(of: Any) -> bool:
    canonical = of.get_canonical()
    while dimensions(canonical):
        canonical = canonical.element_type.get_canonical()
    return bool(canonical.spelling.startswith("hls::stream<"))


class Initial(NamedTuple):
    """The initial value of a variable that a region declares."""

    variable: str
    at: int
    """Offset of the ``=`` in the source."""
    value: Any


def initial_of(source: Preprocessed, statement: Any) -> Initial | None:
    """Returns the initial value of a number that a process may assign: ``T x = f(...)``.

    Returns None for statements that declare anything else.
    """
    declared = list(statement.get_children()) if statement.kind.name == "DECL_STMT" else []
    if len(declared) != 1 or declared[0].kind.name != "VAR_DECL":
        return None
    variable = declared[0]
    of = variable.type.get_canonical()
    values = [c for c in variable.get_children() if c.kind.is_expression()]
    if not values or of.is_const_qualified() or variable.storage_class.name == "STATIC":
        return None
    if "REFERENCE" in of.kind.name or "auto" in variable.type.spelling or dimensions(of):
        return None
    at = source.text.find(b"=", variable.location.offset, values[-1].extent.end.offset)
    return Initial(variable.spelling, at, values[-1]) if at >= 0 else None


def _called(cursor: Any) -> str:
    """Returns the name of the function that a process calls, or ``loop`` for a loop."""
    if cursor.kind.name == "DECL_STMT":
        cursor = list(next(iter(cursor.get_children())).get_children())[-1]
    cursor = inner(cursor)
    return str(cursor.spelling) if cursor.kind.name == "CALL_EXPR" else "loop"


def _leaves(cursor: Any) -> bool:
    return any(node.kind.name in _LEAVES for node in cursor.walk_preorder())


def uses_of(cursor: Any) -> tuple[set[str], set[str]]:
    """Returns the variables that a statement uses and may change, without streams."""
    uses, writes = set(), set()
    waiting = [(cursor, cursor)]
    while waiting:
        node, parent = waiting.pop()
        waiting += [(child, node) for child in node.get_children()]
        if node.kind.name == "VAR_DECL" and cursor.kind.name == "DECL_STMT":
            writes.add(f"{node.spelling}@{node.extent.start.offset}")
        declared = node.referenced if node.kind.name == "DECL_REF_EXPR" else None
        if declared is None or declared.kind.name != "VAR_DECL":
            continue
        canonical = declared.type.get_canonical()
        if canonical.is_const_qualified() or "hls::stream" in canonical.spelling:
            continue
        name = f"{declared.spelling}@{declared.extent.start.offset}"
        uses.add(name)
        if dimensions(canonical) or _changes(parent, node):
            writes.add(name)
    return uses, writes


def _changes(parent: Any, cursor: Any) -> bool:
    """Whether an expression may change a variable that it names directly, without a conversion."""
    kind = parent.kind.name
    if kind == "UNARY_OPERATOR":
        return True
    is_first: bool = next(iter(parent.get_children()), None) == cursor
    if kind in {"BINARY_OPERATOR", "COMPOUND_ASSIGNMENT_OPERATOR"}:
        return is_first
    callee = parent.referenced if kind == "CALL_EXPR" else None
    if callee is None or callee.kind.name == "CONSTRUCTOR":
        return False
    for argument, wanted in zip(parent.get_arguments(), callee.get_arguments(), strict=False):
        if argument == cursor:
            by = wanted.type.get_canonical()
            return by.kind.name == "LVALUEREFERENCE" and not is_constant(by.get_pointee())
    return is_first and parent.spelling.startswith("operator")
