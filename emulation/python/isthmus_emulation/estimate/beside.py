"""Finds loops that HLS runs beside each other without DATAFLOW, because they share no data.

Vitis HLS makes a function of each pipelined loop, and schedules functions without a dependence
beside each other (UG1399). ``load_test_h`` of teo3300/PII-2022-Grazzani-Rogora-Zaffiretti, 2021.2,
has four loops of 10 cycles that take 24: loops run two by two, but not on the same RAM.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from isthmus_emulation.estimate.schedule import Scheduler
from isthmus_emulation.estimate.structure import (
    Assign,
    Call,
    Choice,
    Code,
    Evaluate,
    Expression,
    Loop,
    Statement,
    Variable,
    calls_in,
    expressions_in,
    statements_in,
)


class _Footprint(NamedTuple):
    """Arrays, memory and variables that a statement reads or writes."""

    ports: frozenset[str]
    """Arrays with ports, and memory ports, each of which serves one loop at a time."""
    reads: frozenset[str]
    """Variables, and arrays without ports, that the statement reads."""
    writes: frozenset[str]
    stores: frozenset[str] = frozenset()
    """Variable or array that the statement assigns after its loops."""

    def follows(self, before: _Footprint) -> bool:
        """Whether a statement has to wait for an earlier statement."""
        made = before.writes | before.stores
        return bool(
            self.ports & before.ports or self.writes & (before.reads | made) or self.reads & made
        )


class Beside:
    """Computes which share of its loops' cycles a body takes, if loops run beside each other."""

    def __init__(self, code: Code, scheduler: Scheduler) -> None:
        self._code = code
        self._scheduler = scheduler

    def share(
        self, body: Sequence[Statement], holds_loops: Callable[[Statement], bool],
        names: Mapping[str, str],
    ) -> float:  # fmt: skip
        """Returns the longest chain of loops that wait for each other, over all loops' cycles.

        It is 1 for one loop. Loops weigh as much as their iterations, or alike if one is unknown.
        """
        weights = [self.weight((statement,)) if holds_loops(statement) else 0 for statement in body]
        if sum(weight != 0 for weight in weights) < 2:
            return 1.0
        if None in weights:
            weights = [int(weight != 0) for weight in weights]
        made = [self._footprint(statement, names) for statement in body]
        ends: list[int] = []
        for place, weight in enumerate(weights):
            before = [end for n, end in enumerate(ends) if made[place].follows(made[n])]
            ends.append(max(before, default=0) + (weight or 0))
        return max(ends) / sum(weight or 0 for weight in weights)

    def are_apart(self, loop: Loop, names: Mapping[str, str]) -> bool:
        """Whether copies of an unrolled loop share neither variables nor ports of arrays."""
        inside = tuple(statements_in(loop.body))
        assigns = [one for one in inside if isinstance(one, Assign) and not one.declares]
        own = {one.variable for one in inside if isinstance(one, Loop)}
        variables = {one.target.name for one in assigns if isinstance(one.target, Variable)}
        if loop.variable is None or variables - own:
            return False
        for access in self._scheduler.run(loop.body, (loop.variable,), names).accesses:
            storage = self._scheduler.storage(access.array)
            is_split = any(loop.variable in index.of for index in access.indices)
            if storage.kind == "registers":
                if access.writes and not is_split:
                    return False
            elif storage.kind != "ram" or storage.banks < (loop.trips or 1) or not is_split:
                return False
        return True

    def weight(self, body: Sequence[Statement], called: tuple[str, ...] = ()) -> int | None:
        """Returns how many iterations a body's loops have; None if a number is no constant."""
        whole = 0
        for one in body:
            if isinstance(one, Loop):
                inner = self.weight(one.body, called)
                if one.trips is None or inner is None:
                    return None
                whole += one.trips * max(1, inner)
            elif isinstance(one, Choice):
                branches = [self.weight(branch, called) for branch in one.branches]
                if None in branches:
                    return None
                whole += max((branch or 0 for branch in branches), default=0)
            for call in calls_in(one):
                function = self._code.functions.get(call.function)
                if function is None or call.function in called:
                    continue
                inner = self.weight(function.body, (*called, call.function))
                if inner is None:
                    return None
                whole += inner
        return whole

    def _footprint(self, statement: Statement, names: Mapping[str, str]) -> _Footprint:
        if isinstance(statement, Assign):  # it writes after the loops that it calls
            calls = tuple(Evaluate(call) for call in calls_in(statement))
            reached = self._scheduler.run(calls or (statement,), (), names).accesses
        else:
            reached = self._scheduler.run((statement,), (), names).accesses
        ports, reads, writes, stores = set[str](), set[str](), set[str](), set[str]()
        for access in reached:
            storage = self._scheduler.storage(access.array)
            if storage.kind != "registers":
                way = access.writes if storage.kind == "memory" else ""
                ports.add(f"{storage.port or access.array} {way}")
            (writes if access.writes else reads).add(access.array)
        for inner in statements_in((statement,)):
            if isinstance(inner, Assign):
                target = inner.target
                if inner is statement:
                    name = target.name if isinstance(target, Variable) else target.array
                    stores.add(names.get(name, name))
                elif isinstance(target, Variable):
                    writes.add(names.get(target.name, target.name))
            for part in expressions_in(inner):
                reads |= _named(part, names)
                if isinstance(part, Call):
                    writes |= self._given(part, names)
        return _Footprint(*map(frozenset, (ports, reads, writes, stores)))

    def _given(self, call: Call, names: Mapping[str, str]) -> frozenset[str]:
        """Variables of the caller that a function may change."""
        function = self._code.functions.get(call.function)
        if function is None:
            return frozenset()
        return frozenset(
            names.get(argument.name, argument.name)
            for parameter, argument in zip(function.parameters, call.arguments, strict=False)
            if isinstance(argument, Variable) and parameter in function.references
        )


def _named(expression: Expression, names: Mapping[str, str]) -> set[str]:
    """Name of the variable that an expression is; accesses to arrays are found elsewhere."""
    if not isinstance(expression, Variable):
        return set()
    return {names.get(expression.name, expression.name)}
