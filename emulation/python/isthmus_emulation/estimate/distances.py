"""Finds distances of dependences through an array, for forms of partial sums in HLS code.

- An index modulo a constant: ``p[i % 7] += x``.
- A shift register: each iteration moves each element by one place, and sets one end.
- A pragma's distance: ``DEPENDENCE variable=p inter distance=7 true``, or ``false``.

For all other dependences ``Distances.of`` returns None.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from isthmus_emulation.estimate.algebra import Access, Modulo
from isthmus_emulation.estimate.structure import (
    Array,
    Assign,
    Call,
    Choice,
    Clear,
    Code,
    Constant,
    Element,
    Expression,
    Leave,
    Loop,
    Operation,
    Pragma,
    Process,
    Skip,
    Statement,
    Variable,
    loops_in,
    plain,
)

NEVER: Final = 0
"""Distance that means: there is no dependence."""


class Distances:
    """Finds how many iterations after a write to an array the written element is read."""

    def __init__(self, code: Code) -> None:
        self._said: dict[str, int] = {}
        self._steps: dict[str, int] = {}
        self._shifted: dict[str, int] = {}
        for function in code.functions.values():
            for pragma in function.pragmas:
                self._note(pragma)
            for loop in loops_in(function.body):
                self._steps.setdefault(loop.variable or "", loop.step)
                for pragma in loop.pragmas:
                    self._note(pragma)
                self._shifted |= _shift_registers(loop, code.sizes)

    def said(self, array: str) -> int | None:
        """Returns the distance that a pragma states for an array; None without such a pragma."""
        return self._said.get(plain(array))

    def step(self, variable: str) -> int:
        """Returns what an iteration adds to a loop's variable; 0 if that is not constant."""
        return self._steps.get(variable, 0)

    def of(self, read: Access, write: Access, variables: Sequence[str]) -> int | None:
        """Returns the distance in iterations by the index, for a loop or for loops as one.

        ``variables`` count the iterations, the innermost loop's variable last. Returns NEVER if no
        iteration reads what another has written, and None if the index has none of the known
        forms.
        """
        name = write.array
        if write.copies > 1 and name not in self._shifted:
            # an unrolled loop: a pipelined iteration is several iterations of the source
            return None
        if name in self._shifted:
            return self._shifted[name]
        if len(variables) != 1:
            return None  # a new start of the inner loop may break the order of remainders
        return self._by_modulo(read, write, variables[0])

    def _note(self, pragma: Pragma) -> None:
        """Keeps a DEPENDENCE pragma on an array between iterations (UG1399, DEPENDENCE)."""
        words = {*pragma.options, *pragma.options.values()}
        if pragma.name != "dependence" or "intra" in words or "pointer" in words:
            return
        name = pragma.options.get("variable", "")
        if "false" in words:
            self._said[name] = NEVER
        elif distance := pragma.number("distance"):
            self._said[name] = distance

    def _by_modulo(self, read: Access, write: Access, variable: str) -> int | None:
        distance = None
        for left, right in zip(write.indices, read.indices, strict=False):
            if left.modulo is None or right.modulo is None:
                if left.linear is None or left.linear != right.linear:
                    return None
                continue
            distance = _apart(left.modulo, right.modulo, variable, self._steps.get(variable, 1))
            if distance is None:
                return None
        return distance


def _apart(write: Modulo, read: Modulo, variable: str, step: int) -> int | None:
    """Returns after how many iterations a read has a write's index; None if that is unknown."""
    names = {*write.linear, *read.linear} - {""}
    if write.by != read.by or not step:
        return None
    if any(write.linear.get(n, 0) != read.linear.get(n, 0) for n in names):
        return None
    by = write.by
    per_iteration = write.linear.get(variable, 0) * step % by
    offset = (write.linear.get("", 0) - read.linear.get("", 0)) % by
    round_trip = by // math.gcd(per_iteration, by)
    return next((n for n in range(1, round_trip + 1) if n * per_iteration % by == offset), NEVER)


class _Step(NamedTuple):
    """A use of an array by a loop that may shift it."""

    kind: Literal["read", "move", "enter"]
    """``move``: an element gets the value of its neighbour. ``enter``: any other write."""
    number: int
    """Index that is read or entered; for a move 1 towards higher indices, else -1."""


def _shift_registers(loop: Loop, sizes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Returns distances through the arrays that a loop shifts by one place in each iteration."""
    distances = {}
    for name, size in sizes.items():
        steps = list(_steps(loop.body, name)) if len(size) == 1 else []
        distance = _through_shifts([step for step in steps if step is not None], size)
        if distance is not None and None not in steps:
            distances[name] = distance
    return distances


def _through_shifts(steps: Sequence[_Step], size: tuple[int, ...]) -> int | None:
    """Returns the least distance from entry to a read; None if the array is no shift register."""
    moves = [n for n, step in enumerate(steps) if step.kind == "move"]
    entries = [n for n, step in enumerate(steps) if step.kind == "enter"]
    ways = {steps[n].number for n in moves}
    if len(entries) != 1 or len(ways) != 1:
        return None
    (entry,) = entries
    begin = 0 if 1 in ways else size[0] - 1
    if steps[entry].number != begin or moves[0] < entry < moves[-1]:
        return None
    # An element that enters after the moves stays in place for this iteration. A read after the
    # moves sees one more move.
    late = int(moves[-1] < entry)
    distances = [
        abs(step.number - begin) + late - int(moves[-1] < n)
        for n, step in enumerate(steps)
        if step.kind == "read"
    ]
    return min((distance for distance in distances if distance > 0), default=NEVER)


def _steps(body: Iterable[Statement], name: str) -> Iterator[_Step | None]:
    """Yields uses of an array by statements, in order; None if the array is no shift register."""
    for statement in body:
        if isinstance(statement, Loop | Process):
            yield from _steps(statement.body, name)
        elif isinstance(statement, Choice):
            yield from _reads(statement.condition, name)
            if any(True for branch in statement.branches for _ in _steps(branch, name)):
                yield None
        elif isinstance(statement, Assign):
            yield from _assigned(statement, name)
        elif not isinstance(statement, Clear | Leave | Skip):
            yield from _reads(statement.value, name)


def _assigned(assignment: Assign, name: str) -> Iterator[_Step | None]:
    target, value = assignment.target, assignment.value
    if not isinstance(target, Element) or target.array != name:
        yield from _reads(value, name)
        return
    index = linear(target.indices[0]) if len(target.indices) == 1 else None
    is_move = isinstance(value, Element) and value.array == name and len(value.indices) == 1
    of = linear(value.indices[0]) if is_move else None  # type: ignore[union-attr]
    if index is None or (is_move and of is None):
        yield None
    elif of is not None:
        by = _difference(index, of)
        yield _Step("move", by) if by in {1, -1} else None
    else:
        yield from _reads(value, name)
        yield _Step("enter", index.get("", 0)) if set(index) <= {""} else None


def _reads(value: Expression, name: str) -> Iterator[_Step | None]:
    if isinstance(value, Element) and value.array == name:
        index = linear(value.indices[0]) if len(value.indices) == 1 else None
        is_constant = index is not None and set(index) <= {""}
        yield _Step("read", index.get("", 0)) if index is not None and is_constant else None
    elif isinstance(value, Array) and value.name == name:
        yield None
    elif isinstance(value, Operation):
        for operand in value.operands:
            yield from _reads(operand, name)
    elif isinstance(value, Element | Call):
        inside = value.indices if isinstance(value, Element) else value.arguments
        for part in inside:
            yield from _reads(part, name)


def linear(value: Expression) -> dict[str, int] | None:
    """Returns coefficients of variables, the constant under an empty name; None: not linear."""
    if isinstance(value, Constant):
        return None if value.value is None else {"": value.value}
    if isinstance(value, Variable):
        return {value.name: 1}
    if isinstance(value, Operation) and value.kind in {"add", "subtract"}:
        if len(value.operands) != 2:
            return None
        left, right = map(linear, value.operands)
        if left is None or right is None:
            return None
        sign = 1 if value.kind == "add" else -1
        return {n: left.get(n, 0) + sign * right.get(n, 0) for n in {*left, *right}}
    return None


def _difference(left: Mapping[str, int], right: Mapping[str, int]) -> int | None:
    """Returns the constant by which two sums differ; None if the difference is no constant."""
    names = {*left, *right} - {""}
    if any(left.get(n, 0) != right.get(n, 0) for n in names):
        return None
    return left.get("", 0) - right.get("", 0)
