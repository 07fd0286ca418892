"""Finds changes of a kernel's source that shorten loops, and the costs of all loops with a change.

Each change is made in the code as ``rules`` reads it. The rules then give the costs, so that they
contain what the change adds, such as the loop that joins partial sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

import msgspec

from isthmus_emulation.estimate import rewriting
from isthmus_emulation.estimate.distances import linear
from isthmus_emulation.estimate.structure import (
    Array,
    Assign,
    Cause,
    Change,
    Clear,
    Code,
    Constant,
    Cost,
    Element,
    Expression,
    Loop,
    Number,
    Operation,
    Pragma,
    Process,
    Span,
    Statement,
    Storage,
    Variable,
    assigned_in,
    expressions_in,
    loops_in,
    plain,
    statements_in,
)
from isthmus_emulation.region import LoopKind

MOST_REGISTERS: Final = 1024
"""Most elements of an array that HLS partitions completely (UG1399, ARRAY_PARTITION)."""
_MOST_CHANGES: Final = 8
"""Most changes of a kernel: each needs another estimate of all loops."""
_ASSUMED_TRIPS: Final = 32
"""Iterations of a loop of unknown length that a change unrolls. They only set the depth of the
pipeline, which counts once."""
_SUMS, _TURN, _JOIN, _JOINED = "partial sums", "turn", "join", "joined"
"""Names of what a change adds; none is a name in C++."""


class _Idea(NamedTuple):
    """A change of the source, before its costs are known."""

    kind: LoopKind
    name: str
    number: int
    code: Code
    """The code with the change."""
    loop: int = 0
    """Number of the loop whose entry contains what the change adds."""
    added: Span = Span(0, 0)
    """Cycles that the change adds each time that the loop begins."""
    arguments: tuple[str, ...] = ()
    moves: Literal["as before", "once", "before and after", "in one loop"] = "as before"
    unrolled: int = 0


def changes(
    code: Code, before: Mapping[int, Cost], estimate: Callable[[Code], Mapping[int, Cost]]
) -> tuple[Change, ...]:  # fmt: skip
    """Returns the changes that alter costs of a kernel's loops.

    Args:
        code: The code of the kernel.
        before: Costs of its loops by number.
        estimate: Returns the costs of a code's loops by the rules of HLS.

    """
    by_kind: dict[tuple[LoopKind, str], Change] = {}
    for idea in _ideas(code, before):
        if (idea.kind, idea.name) in by_kind or len(by_kind) == _MOST_CHANGES:
            continue
        costs = dict(estimate(idea.code))
        added = idea.added
        for number in [number for number in costs if number > _last(code)]:
            joins = costs.pop(number)
            added += joins.entry + joins.iteration.times(idea.number)
        if idea.loop in costs:
            cost = costs[idea.loop]
            costs[idea.loop] = msgspec.structs.replace(cost, entry=cost.entry + added)
        if _times(costs) != _times(before):
            by_kind[idea.kind, idea.name] = Change(
                idea.kind, idea.name, idea.number, tuple(costs[n] for n in sorted(costs)),
                tuple(map(plain, idea.arguments)), idea.moves, idea.unrolled,
            )  # fmt: skip
    return tuple(by_kind.values())


def _times(costs: Mapping[int, Cost]) -> dict[int, tuple[Span, Span]]:
    return {number: (cost.iteration, cost.entry) for number, cost in costs.items()}


def _last(code: Code) -> int:
    """Returns the largest number of a counter in the source."""
    statements = (s for function in code.functions.values() for s in statements_in(function.body))
    return max((s.number for s in statements if isinstance(s, Loop | Process)), default=0)


def _ideas(code: Code, costs: Mapping[int, Cost]) -> Iterator[_Idea]:
    for number, cost in costs.items():
        for cause in cost.causes:
            if cause.sums:
                yield from _partial_sums(code, number, cause)
            elif cause.kind == "dependence":
                yield from _of_dependence(code, number, cause)
            elif cause.kind == "ports":
                yield from _of_ports(code, cause)
    yield from _shift_registers(code)


def _partial_sums(code: Code, number: int, cause: Cause) -> Iterator[_Idea]:
    """Yields partial sums in turn, which a loop behind the summing loop joins."""
    (name,) = cause.arrays
    targets: list[Variable | Element] = []
    kinds: list[tuple[str, Number]] = []

    def is_sum(value: Expression) -> bool:
        is_variable = isinstance(value, Variable) and value.name == name
        return is_variable or (isinstance(value, Element) and value.array == name)

    def with_sums(loop: Loop) -> tuple[Statement, ...]:
        turn = Variable(loop.variable or _TURN)
        place = Operation("remainder", operands=(turn, Constant(cause.sums)))

        def in_turn(value: Expression) -> Expression:
            return Element(_SUMS, (place,)) if is_sum(value) else value

        for statement in statements_in(loop.body):
            if isinstance(statement, Assign) and is_sum(statement.target):
                targets.append(statement.target)
                kinds.extend(
                    (part.kind, part.number)
                    for part in expressions_in(statement)
                    if isinstance(part, Operation) and any(map(is_sum, part.operands))
                )
        if not targets or not kinds:
            return (loop,)
        distance = {"variable": _SUMS, "inter": "", "distance": str(cause.sums), "true": ""}
        sums = msgspec.structs.replace(
            loop,
            body=rewriting.mapped(loop.body, in_turn),
            pragmas=(*loop.pragmas, Pragma("dependence", distance)),
        )
        target = targets[0]
        joined = target if isinstance(target, Variable) else Variable(_JOINED)
        kind, number_type = kinds[0]
        bits = 64 if number_type == "double" else 32
        add = Operation(kind, number_type, bits, (joined, Element(_SUMS, (Variable(_JOIN),))))
        joins = Loop(_last(code) + 1, loop.line, (Assign(joined, add),), _JOIN, cause.sums)
        stored = Assign(target, Operation(kind, number_type, bits, (target, joined)))
        behind = () if joined is target else (stored,)
        return (Clear(_SUMS, cause.sums), sums, joins, *behind)

    changed = rewriting.with_loop(code, number, with_sums)
    if targets and kinds:
        changed = _placed(changed, {_SUMS: Storage("registers")})
        changed = msgspec.structs.replace(changed, sizes={**code.sizes, _SUMS: (cause.sums,)})
        yield _Idea("partial sums", plain(name), cause.sums, changed, number)


def _of_dependence(code: Code, number: int, cause: Cause) -> Iterator[_Idea]:
    (name,) = cause.arrays
    storage = code.storage.get(name)
    if storage is None:
        return
    if storage.kind == "memory":
        yield _local_array(code, number, name)
    elif storage.kind == "ram" and not storage.port and cause.is_sum and name in code.sizes:
        yield from _tables(code, number, name, 2 ** math.ceil(math.log2(cause.cycles)))


def _local_array(code: Code, number: int, name: str) -> _Idea:
    """Returns the change that puts an array in memory into the kernel."""
    changed = _placed(code, {name: Storage("ram")})
    return _Idea("local array", plain(name), 0, changed, number, Span(0, 0), (name,),
                 "before and after")  # fmt: skip


def _tables(code: Code, number: int, name: str, count: int) -> Iterator[_Idea]:
    """Yields ``count`` tables, which a loop uses in turn, in place of one in a RAM."""

    def with_tables(loop: Loop) -> tuple[Statement, ...]:
        if not _only_adds(loop, name):
            return (loop,)
        turn = Operation("remainder", operands=(Variable(loop.variable or _TURN),
                                                Constant(count)))  # fmt: skip

        def in_turn(value: Expression) -> Expression:
            if isinstance(value, Element) and value.array == name:
                return Element(name, (turn, *value.indices))
            return value

        said = {"variable": plain(name), "inter": "", "distance": str(count), "true": ""}
        body = rewriting.mapped(loop.body, in_turn)
        pragmas = (*loop.pragmas, Pragma("dependence", said))
        return (msgspec.structs.replace(loop, body=body, pragmas=pragmas),)

    changed = rewriting.with_loop(code, number, with_tables)
    if changed != code:
        banks = count * code.storage[name].banks
        changed = _placed(changed, {name: Storage("ram", banks, True)})
        elements = math.prod(code.sizes[name])
        joins = Span(elements, elements + 8)  # all tables are read at once, and added
        yield _Idea("tables", plain(name), count, changed, number, joins)


def _only_adds(loop: Loop, array: str) -> bool:
    """Whether a loop uses an array only to add to its elements, so that tables give the same."""
    adds = False
    for statement in statements_in(loop.body):
        parts = expressions_in(statement)
        elements = [part for part in parts if isinstance(part, Element) and part.array == array]
        target = statement.target if isinstance(statement, Assign) else None
        if isinstance(target, Element) and target.array == array:
            if elements != [target] or not _adds_to(target, statement):
                return False
            adds = True
        elif elements or any(isinstance(p, Array) and p.name == array for p in parts):
            return False
    return adds


def _adds_to(target: Element, statement: Statement) -> bool:
    value = statement.value if isinstance(statement, Assign) else None
    return isinstance(value, Operation) and value.kind == "add" and target in value.operands


def _of_ports(code: Code, cause: Cause) -> Iterator[_Idea]:
    """Yields more ports of memory, or of an array, and words that are kept."""
    storages = {name: code.storage[name] for name in cause.arrays if name in code.storage}
    first = next(iter(storages.values()), Storage("registers"))
    if first.kind == "memory":
        if len(storages) > 1:
            apart = {
                name: msgspec.structs.replace(storage, port=name)
                for name, storage in storages.items()
            }
            names = ", ".join(map(plain, storages))
            yield _Idea("own ports", names, len(storages), _placed(code, apart))
        elif cause.copies > 1:
            (name,) = storages
            kept = _placed(code, {name: Storage("registers")})
            yield _Idea("line buffer", plain(name), cause.copies, kept, arguments=(name,),
                        moves="once")  # fmt: skip
    elif first.kind == "ram" and not first.port and len(storages) == 1:
        (name,) = storages
        sizes = code.sizes.get(name, ())
        if 0 < math.prod(sizes) <= MOST_REGISTERS:
            yield _Idea("partition", plain(name), 0, _placed(code, {name: Storage("registers")}))
            return
        for dimension, size in enumerate(sizes, start=1):
            banks = size * first.banks
            if size <= MOST_REGISTERS and cause.cycles <= size:
                split = Storage("ram", banks, True, ram_ports=first.ram_ports)
                yield _Idea("partition", plain(name), dimension, _placed(code, {name: split}))
                return


def _shift_registers(code: Code) -> Iterator[_Idea]:
    """Yields loops over a few taps that a change unrolls, with the latest words in registers.

    The outer loop moves the window of a tap loop on by one word: ``x[i + k]``. Coefficients
    ``h[k]`` stay in registers, too.
    """
    for outer in loops_in(code.functions[code.top].body):
        inner = [s for s in outer.body if isinstance(s, Loop) and not s.is_unrolled]
        if outer.variable is None or not inner or any(map(_holds_loop, inner)):
            continue
        windows, kept = _windows(code, outer, inner)
        if not windows:
            continue
        body = tuple(_unrolled(s) if s in inner else s for s in outer.body)
        pragmas = tuple(pragma for pragma in outer.pragmas if pragma.name != "pipeline")
        loop = msgspec.structs.replace(outer, body=body, pragmas=pragmas)
        changed = rewriting.with_loop(code, outer.number, lambda _, loop=loop: (loop,))  # type: ignore[misc]
        arguments = (*windows, *kept)
        changed = _placed(changed, {name: Storage("registers") for name in arguments})
        slowest = next((tap for tap in inner if tap.trips is None), inner[0])
        name = ", ".join(map(plain, windows))
        yield _Idea("shift register", name, 0, changed, outer.number, Span(0, 0), arguments,
                    "in one loop", slowest.number)  # fmt: skip


def _holds_loop(loop: Loop) -> bool:
    return any(not inner.is_unrolled for inner in loops_in(loop.body))


def _unrolled(loop: Loop) -> Loop:
    pragmas = tuple(p for p in loop.pragmas if p.name not in {"pipeline", "unroll"})
    return msgspec.structs.replace(
        loop,
        trips=loop.trips or _ASSUMED_TRIPS,
        pragmas=(*pragmas, Pragma("unroll")),
    )


def _windows(code: Code, outer: Loop, inner: list[Loop]) -> tuple[list[str], list[str]]:
    """Returns arguments that loops read in a window, and others that each outer iteration reads.

    Returns no window if a loop reads memory in any other way.
    """
    windows: list[str] = []
    kept: list[str] = []
    changed = assigned_in(inner) - {loop.variable for loop in inner}
    for loop in inner:
        for statement in statements_in(loop.body):
            if isinstance(statement, Assign) and isinstance(statement.target, Element):
                place = code.storage.get(statement.target.array)
                if place is not None and place.kind in {"memory", "stream"}:
                    return [], []
            for part in expressions_in(statement):
                if isinstance(part, Array):
                    return [], []
                if not isinstance(part, Element):
                    continue
                place = code.storage.get(part.array)
                if place is None or place.kind != "memory":
                    continue
                index = linear(part.indices[0]) if len(part.indices) == 1 else None
                if index is None or index.get(loop.variable or "", 0) != 1 or changed & set(index):
                    return [], []
                by = index.get(outer.variable or "", 0)
                if by not in {0, 1}:
                    return [], []
                (windows if by else kept).append(part.array)
    return list(dict.fromkeys(windows)), [n for n in dict.fromkeys(kept) if n not in windows]


def _placed(code: Code, places: Mapping[str, Storage]) -> Code:
    return msgspec.structs.replace(code, storage={**code.storage, **places})
