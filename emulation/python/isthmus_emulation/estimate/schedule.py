"""Schedules a block: computes in which cycle each value is ready, if operators chain as in HLS."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from isthmus_emulation.estimate import algebra, conditions, operators
from isthmus_emulation.estimate.algebra import Access, Path, Value, whole
from isthmus_emulation.estimate.structure import (
    Array,
    Assign,
    Call,
    Choice,
    Code,
    Constant,
    Element,
    Evaluate,
    Expression,
    Function,
    Leave,
    Loop,
    Operation,
    Process,
    Return,
    Statement,
    Storage,
    Variable,
    assigned_in,
    loops_in,
    statements_in,
)

RAM_CYCLES = 1
"""Cycles from a block RAM's address to its word, or of a write (UG1399, BIND_STORAGE: latency)."""
READ_CYCLES = 9
"""Cycles of a memory read outside of bursts, without the latency that HLS assumes: 8 states of the
request and 1 of the word (schedules of WYI1223/ECE8893MyLab, 2025.1; Vivado HLS has 7 + 1)."""
WRITE_CYCLES = 7
"""Cycles of a write outside of bursts: 1 state of the request, 1 of the word, 5 of the response."""
_LONGEST_UNROLLED = 4096
"""Most copies of a loop's body that are scheduled; HLS warns of more copies."""


@dataclass
class Result:
    """Cycles and accesses of a scheduled block."""

    end: float = 0.0
    accesses: list[Access] = field(default_factory=list)
    carried: dict[str, Path] = field(default_factory=dict)
    """Chains of operators, by the variable whose old value they need."""
    unknown: list[Loop] = field(default_factory=list)
    """Inner loops whose number of iterations is not constant."""
    leaves: float = 0.0
    """Cycle in which an iteration knows whether another iteration follows."""
    uses: Counter[str] = field(default_factory=Counter)
    """Number of uses of each operator, by HLS's name (``fmul``), and of each function."""


class Scheduler:
    """Schedules blocks of a kernel at one clock."""

    def __init__(self, code: Code, clock_mhz: float, part: str = "") -> None:
        self._code = code
        self._clock_mhz = clock_mhz
        self._part = part
        self._usable_ns = 1000 / clock_mhz * (1 - operators.UNCERTAINTY)
        self._has_rams = True
        self._members = {name.partition(".")[2]: place for name, place in code.storage.items()}
        """Storage of structures' members that are arrays, for each variable of the structure."""

    def run(
        self, body: Iterable[Statement], loops: Iterable[str], names: Mapping[str, str], *,
        has_rams: bool = True,
    ) -> Result:  # fmt: skip
        """Schedules one iteration of a body.

        Args:
            body: Statements of an iteration.
            loops: Variables that count iterations.
            names: Arrays and variables that parameters of the function stand for.
            has_rams: Whether arrays lie in a RAM. In a pipelined function HLS unrolls all loops
                (UG1399, PIPELINE), so that indices are constants and arrays are variables.

        """
        self._has_rams = has_rams
        scope = _Scope(self, dict(names), list(loops))
        scope.block(tuple(body))
        result = scope.result
        result.end = max(result.end, *(v.ready for v in scope.values.values()), 0.0)
        for name, value in scope.values.items():
            if name in value.paths and name not in scope.loops | scope.declared:
                result.carried[name] = value.paths[name]
        return result

    def storage(self, array: str) -> Storage:
        """Returns where and how an array is stored."""
        known = self._code.storage.get(array)
        if known is None and "." in array:
            known = self._members.get(array.partition(".")[2])
        return known or Storage("registers")

    def function(self, name: str) -> Function | None:
        """Returns the function if the source has its code."""
        return self._code.functions.get(name)

    def after(self, begin: float, operation: Operation) -> float:
        """Returns the time at which the operation's result is ready."""
        stages, delay = operators.latency(
            operation.kind, operation.number, operation.bits, self._clock_mhz, self._part
        )
        return whole(begin) + stages if stages else self.delayed(begin, delay)

    def delayed(self, begin: float, delay_ns: float) -> float:
        """Returns the end of a delay: within the cycle if it fits, else from the next cycle on."""
        share = min(delay_ns / self._usable_ns, 1.0)
        within = begin - math.floor(begin)
        return begin + share if within + share <= 1 else math.floor(begin) + 1 + share

    def loaded(self, begin: float, array: str, *, is_single: bool = False) -> float:
        """Returns the time at which a word of the array is read."""
        kind = self.storage(array).kind
        if is_single:
            return math.floor(begin) + READ_CYCLES + self.storage(array).latency
        if self.is_variable(array):
            return self.delayed(begin, operators.registers_ns(self._part))
        delay = operators.ram_ns(self._part) if kind == "ram" else 0.0
        return self.delayed(math.floor(begin) + RAM_CYCLES, delay)

    def stored(self, begin: float, array: str, *, is_single: bool = False) -> float:
        """Returns the time at which a word is written to the array."""
        if is_single:
            return math.floor(begin) + WRITE_CYCLES + self.storage(array).latency
        return begin if self.is_variable(array) else math.floor(begin) + RAM_CYCLES

    def is_ram(self, array: str) -> bool:
        """Whether an array has ports for which its accesses wait."""
        return self.storage(array).kind == "ram" and not self.is_variable(array)

    def is_variable(self, array: str) -> bool:
        """Whether an array is made of registers; RAM of an argument lies outside the kernel."""
        storage = self.storage(array)
        is_free = storage.kind == "ram" and not storage.port and not self._has_rams
        return storage.kind == "registers" or is_free


class _Scope:
    def __init__(self, scheduler: Scheduler, names: dict[str, str], loops: list[str]) -> None:
        self.scheduler = scheduler
        self.names = names
        self.loops = set(loops)
        self._running = set(loops[-1:])
        """Variables by which a burst may continue: of the innermost and of unrolled loops."""
        self._conditions: list[Value] = []
        """Conditions of the branches around the code that is being read."""
        self.values: dict[str, Value] = {}
        self.declared: set[str] = set()
        """Variables that are new in each iteration."""
        self.result = Result()
        self._calls: list[str] = []
        self._counted: tuple[str, range] | None = None
        """Variable of the innermost unrolled loop around the code, with its values."""
        self._chained_copies: dict[str, int] = {}
        """Most copies of the unrolled loop that assign a variable in a branch, by the variable."""
        self._copies = 1
        """Number of copies of the code that is being read, from unrolled loops around it."""
        self._stores: dict[str, list[Access]] = {}
        self._written: dict[int, Value] = {}
        """Values of writes as they are before the write, by the write's identity."""
        self._numbers: list[int] = []
        """Numbers of the branches around the code that is being read."""
        self._branches = 0
        """Number of branches that have been read."""

    # Functions for statements

    def block(self, body: tuple[Statement, ...]) -> Value:
        """Schedules a block, and returns the value of its ``return``."""
        returned = Value()
        for statement in body:
            if isinstance(statement, Return):
                self._leave()
                returned = algebra.joined([returned, self.value(statement.value)])
            else:
                self._statement(statement)
        return returned

    def _statement(self, statement: Statement) -> None:
        if isinstance(statement, Assign):
            self._assign(statement)
        elif isinstance(statement, Evaluate):
            self._finish(self.value(statement.value))
        elif isinstance(statement, Choice):
            self._choice(statement)
        elif isinstance(statement, Loop):
            self._unrolled(statement)
        elif isinstance(statement, Process):
            self.block(statement.body)
        elif isinstance(statement, Leave):
            self._leave()

    def _leave(self) -> None:
        known = [] if self._calls else [condition.ready for condition in self._conditions]
        self.result.leaves = max([self.result.leaves, *known])

    def _finish(self, value: Value) -> None:
        self.result.end = max(self.result.end, value.ready)

    def _assign(self, statement: Assign) -> None:
        value = self.value(statement.value)
        target = statement.target
        if isinstance(target, Variable):
            name = self._name(target.name)
            self.values[name] = value
            self._chained_copies[name] = _LONGEST_UNROLLED
            if statement.declares:
                self.declared.add(name)
            self._finish(value)
            return
        array = self._name(target.array)
        indices = tuple(map(self.value, target.indices))
        begin = max([value.ready, *(index.ready for index in indices)])
        is_single = self._is_single(array, indices)
        begin = max([begin, *(c.ready for c in self._conditions if is_single)])
        end = self.scheduler.stored(begin, array, is_single=is_single)
        store = Access(
            array, True, indices, replace(value, ready=end), is_single=is_single,
            conditions=tuple(self._numbers),
        )  # fmt: skip
        self._written[id(store)] = replace(value, ready=begin)
        self.result.accesses.append(store)
        self._stores.setdefault(array, []).append(store)
        self.result.end = max(self.result.end, end)

    def _choice(self, choice: Choice) -> None:
        condition = self.value(choice.condition)
        before, outer = dict(self.values), set(self.declared)
        made: dict[str, list[Value]] = {}
        accesses = self.result.accesses
        alternatives = []
        for branch in choice.branches:
            taken = self._copies_taking(choice, branch)
            chained, self._chained_copies = self._chained_copies, {}
            self.values, self.result.accesses = dict(before), []
            self._conditions.append(condition)
            self._branches += 1
            self._numbers.append(self._branches)
            self.block(branch)
            self._numbers.pop()
            self._conditions.pop()
            self._chained_copies = chained
            alternatives.append(self._limited(taken, self.result.accesses))
            for name, value in self.values.items():
                is_new = value is not before.get(name) and name not in self.declared - outer
                if is_new and taken != 0:
                    made.setdefault(name, []).append(value)
                    copies = max(chained.get(name, 0), taken or _LONGEST_UNROLLED)
                    self._chained_copies[name] = copies
        self.result.accesses = accesses + algebra.alternatives(alternatives)
        self.values = before
        for name, values in made.items():
            whole = len(values) == len(choice.branches) > 1
            olds = [] if whole else [before.get(name) or self._old(name)]
            joined = algebra.joined([*values, *olds, condition])
            if name in condition.paths:
                path = replace(joined.paths[name], decides=True)
                joined = replace(joined, paths={**joined.paths, name: path})
            chosen = self._operated(Operation("select"), [joined])
            powers = all(value.is_power for value in [*values, *olds])
            self.values[name] = replace(chosen, is_power=powers)

    def _copies_taking(self, choice: Choice, branch: tuple[Statement, ...]) -> int | None:
        """Number of copies of the unrolled loop that take a branch; None if all may take it."""
        if self._counted is None:
            return None
        variable, values = self._counted
        is_first = branch is choice.branches[0]
        taken = [conditions.holds(choice.condition, {variable: value}) for value in values]
        copies = sum(one is None or one == is_first for one in taken)
        return None if copies == len(values) else copies

    def _limited(self, copies: int | None, accesses: list[Access]) -> list[Access]:
        """Limits accesses of a branch to the copies of the unrolled loop that take the branch."""
        if copies is None or self._counted is None:
            return accesses
        if copies == 0:
            return []
        limit = (self._counted[0], copies)
        return [replace(access, limits=(*access.limits, limit)) for access in accesses]

    def _unrolled(self, loop: Loop) -> None:
        """Schedules all copies of a loop's body at once; chains of values go through all copies."""
        trips = min(loop.trips or 1, _LONGEST_UNROLLED)
        if loop.trips is None:
            self.result.unknown.append(loop)
        if trips == 0:
            return
        accesses = self.result.accesses
        self.result.accesses = []
        variable = loop.variable
        before = dict(self.values)
        if variable is not None:
            self.values[variable] = Value(
                of=frozenset([variable]), linear={variable: 1, "": 0}, is_fixed=True
            )
        self._unfix(loop, before)
        marked = {n: replace(v, paths={**v.paths, f"{n}'": Path(0.0)}) for n, v in before.items()}
        self.values |= {n: value for n, value in marked.items() if n != variable}
        self._copies *= trips
        self._running.add(variable or "")
        outer, chained = self._counted, self._chained_copies
        self._chained_copies = {}
        if variable is not None and loop.first is not None and loop.step:
            self._counted = variable, range(loop.first, loop.first + trips * loop.step, loop.step)
        self.block(loop.body)
        self._counted = outer
        self._running.discard(variable or "")
        self._copies //= trips
        for name, value in list(self.values.items()):
            if value is marked.get(name):
                self.values[name] = before[name]
            elif name != variable:
                origin = f"{name}'" if name in before else name
                copies = min(trips, self._chained_copies.get(name, trips))
                self.values[name] = algebra.repeated(value, origin, copies)
                self._finish(self.values[name])
        self._chained_copies = chained
        self.result.accesses = accesses + [
            self._copied(self._chained(access, variable, trips), variable, trips)
            for access in self.result.accesses
        ]

    def _unfix(self, loop: Loop, before: dict[str, Value]) -> None:
        """Notes in ``before`` which variables have another value in each copy of a loop's body.

        HLS knows these values where it computes them from constants.
        """
        changed = {self._name(name) for name in assigned_in(loop.body)} & set(before)
        kept = {name for name in changed if before[name].is_fixed}
        counters = {one.variable for one in (loop, *loops_in(loop.body))}
        assigns = [one for one in statements_in(loop.body) if isinstance(one, Assign)]
        sure = {id(one) for one in algebra.unconditional(loop.body)}
        size = -1
        while len(kept) != size:
            size = len(kept)
            for one in assigns:
                if isinstance(one.target, Variable) and self._name(one.target.name) in kept:
                    needs = algebra.variables(one.value)
                    known = needs is not None and all(
                        name in counters
                        or self._name(name) in kept
                        or (self._is_fixed(self._name(name)) and self._name(name) not in changed)
                        for name in needs
                    )
                    if not known or id(one) not in sure:
                        kept.discard(self._name(one.target.name))
        of = frozenset([loop.variable or ""])
        for name in changed:
            value = before[name]
            stays = name in kept
            before[name] = replace(
                value, linear=None, of=value.of | of, is_fixed=stays,
                is_power=value.is_power and stays,
            )  # fmt: skip

    def _is_fixed(self, name: str) -> bool:
        value = self.values.get(name)
        return value is not None and value.is_fixed

    def _chained(self, access: Access, variable: str | None, trips: int) -> Access:
        """Chains writes of all copies to one element, as in ``sum[0] += ...``."""
        if not access.writes or any(index.is_data for index in access.indices):
            return access
        if any(variable in index.of or index.linear is None for index in access.indices):
            return access
        value = algebra.repeated(access.value, f"{access.array}[]", trips)
        self._finish(value)
        return replace(access, value=value)

    @staticmethod
    def _copied(access: Access, variable: str | None, trips: int) -> Access:
        of = frozenset[str]().union(*(index.of for index in access.indices))
        differs = variable is None or variable in of or not access.indices
        differs = differs or any(index.is_data for index in access.indices)
        limit = min((most for name, most in access.limits if name == variable), default=trips)
        copies = access.copies * (min(trips, limit) if differs else 1)
        return replace(access, copies=copies)

    # Functions for expressions

    def _name(self, name: str) -> str:
        if name in self.names:
            return self.names[name]
        whole, dot, member = name.partition(".")
        return f"{self.names[whole]}.{member}" if dot and whole in self.names else name

    def _old(self, name: str) -> Value:
        linear = {name: 1, "": 0} if name in self.loops else None
        of = frozenset([name]) if name in self.loops else frozenset[str]()
        if name not in self.loops and name not in self.values:
            linear = {name: 1, "": 0}
        return Value(paths={name: Path(0.0)}, of=of, linear=linear)

    def value(self, expression: Expression) -> Value:
        """Schedules an expression, and returns its value."""
        if isinstance(expression, Constant):
            known = expression.value
            is_power = expression.is_power or (known is not None and algebra.is_power(known))
            linear = None if known is None else {"": known}
            return Value(linear=linear, is_fixed=True, is_power=is_power)
        if isinstance(expression, Variable):
            return self._variable(self._name(expression.name))
        if isinstance(expression, Element):
            return self._loaded(expression)
        if isinstance(expression, Operation):
            return self._operated(expression, list(map(self.value, expression.operands)))
        if isinstance(expression, Call):
            return self._called(expression)
        return Value()

    def _variable(self, name: str) -> Value:
        """A variable's value; a member has that of its structure, if that was assigned whole."""
        whole = name
        while whole not in self.values and "." in whole:
            whole = whole.rpartition(".")[0]
        return self.values.get(whole) or self._old(name)

    def _loaded(self, element: Element) -> Value:
        array = self._name(element.array)
        indices = tuple(map(self.value, element.indices))
        joined = algebra.joined(indices)
        is_single = self._is_single(array, indices)
        kept = self._kept(array, indices)
        if kept is not None and not is_single:
            return replace(kept, is_data=True, linear=None)
        stored = self._stored(array, indices)
        begin = max(joined.ready, stored.ready)
        begin = max([begin, *(c.ready for c in self._conditions if is_single)])
        if self.scheduler.is_variable(array) and all(index.is_fixed for index in indices):
            ready = begin  # each copy has its own register
        else:
            ready = self.scheduler.loaded(begin, array, is_single=is_single)
        origin = {f"{array}[]": Path(0.0)}
        by = max(RAM_CYCLES, ready - begin) if is_single else RAM_CYCLES
        paths = {**stored.paths, **algebra.through(joined.paths, by), **origin}
        value = Value(ready, paths, joined.of, None, True)
        self.result.accesses.append(Access(array, False, indices, value, is_single=is_single))
        return value

    def _is_single(self, array: str, indices: tuple[Value, ...]) -> bool:
        """Whether HLS accesses a word of memory with a request of its own, outside of bursts.

        Bursts need consecutive words and no condition (UG1399, preconditions of bursts).
        """
        if self.scheduler.storage(array).kind != "memory":
            return False
        of = frozenset[str]().union(*(index.of for index in indices))
        is_data = any(index.is_data for index in indices)
        return bool(self._conditions) or is_data or not self._running or not (of or self.loops)

    def _kept(self, array: str, indices: tuple[Value, ...]) -> Value | None:
        """The value that this iteration has just written to the element, which HLS need not read.

        None if the last write may be to another element, or is not made on each way here.
        """
        storage = self.scheduler.storage(array)
        if storage.kind == "stream" or storage.is_member or not self._stores.get(array):
            return None
        last = self._stores[array][-1]
        around = self._numbers[: len(last.conditions)]
        places = [algebra.index_key(one) for one in last.indices]
        if tuple(around) != last.conditions or None in places:
            return None
        return (
            self._written[id(last)]
            if places == [algebra.index_key(one) for one in indices]
            else None
        )

    def _stored(self, array: str, indices: tuple[Value, ...]) -> Value:
        """Value of this iteration's last write that may be to the element; a read waits for it."""
        is_stream = self.scheduler.storage(array).kind == "stream"
        for store in () if is_stream else reversed(self._stores.get(array, ())):
            if not algebra.apart(store.indices, indices):
                return store.value
        return Value()

    def _operated(self, operation: Operation, operands: list[Value]) -> Value:
        joined = algebra.joined(operands)
        if operands and all(operand.is_fixed for operand in operands):
            return self._folded(operation, operands, joined)
        if operation.kind == "free":
            linear = operands[0].linear if len(operands) == 1 else None
            modulo = operands[0].modulo if len(operands) == 1 else None
            is_product = len(operands) == 1 and operands[0].is_product
            is_power = len(operands) == 1 and operands[0].is_power
            return replace(
                joined, linear=linear, modulo=modulo, is_product=is_product, is_power=is_power
            )
        if operation.kind in algebra.WIRED - {"multiply"} and algebra.is_shifted_one(
            operation.operands[-1]
        ):
            operation = msgspec.structs.replace(operation, kind="shift")
        linear = algebra.linear(operation, operands)
        varies = joined.ready > 0 or joined.is_data or not joined.of
        is_known = linear is not None and not set(linear) - {""}
        is_address = linear is not None and not varies  # HLS keeps such an address in a counter
        is_free = is_known or is_address or algebra.is_wiring(operation, operands)
        modulo, quotient = (
            algebra.modulo(operation, operands),
            algebra.quotient(operation, operands),
        )
        operation = algebra.reduced(operation, operands)
        if operation.number == "integer" and (is_free or operation.kind == "free"):
            return Value(
                joined.ready, joined.paths, joined.of, linear, joined.is_data, modulo,
                quotient=quotient,
            )  # fmt: skip
        self.result.uses[operators.instance(operation.kind, operation.number)] += self._copies
        takes = operators.text(operation.kind, operation.number)
        paths = {}
        for name, path in joined.paths.items():
            after = self.scheduler.after(path.cycles, operation)
            slowest = (takes, after - path.cycles)
            if path.stages >= slowest[1]:
                slowest = (path.slowest, path.stages)
            decides = operation.kind == "select" and len(operands) > 1 and name in operands[0].paths
            paths[name] = Path(
                after, *slowest, decides=path.decides or decides,
                kinds=path.kinds | {operation.kind},
            )  # fmt: skip
        ready = self.scheduler.after(joined.ready, operation)
        if operation.kind in {"add", "subtract"} and any(
            operand.is_product for operand in operands
        ):
            ready = max(ready, math.floor(joined.ready) + operators.MULTIPLY_ADD_CYCLES)
        is_product = operators.is_of_dsp(operation.kind, operation.number, operation.bits)
        is_power = operation.kind == "select" and all(operand.is_power for operand in operands[1:])
        return Value(
            ready, paths, joined.of, linear, joined.is_data, modulo, is_product,
            is_power=is_power and len(operands) > 1, quotient=quotient,
        )  # fmt: skip

    @staticmethod
    def _folded(operation: Operation, operands: list[Value], joined: Value) -> Value:
        """The value of an operation on constants, which HLS computes."""
        closed = operation.kind in {"multiply", "divide", "shift", "free", "convert", "select"}
        return replace(
            joined,
            ready=0.0,
            paths={},
            linear=operands[0].linear if operation.kind == "free" and len(operands) == 1
            else algebra.linear(operation, operands),
            modulo=algebra.modulo(operation, operands),
            is_fixed=True,
            is_power=closed and all(one.is_power for one in operands),
        )  # fmt: skip

    def _called(self, call: Call) -> Value:
        arguments = [self.value(a) for a in call.arguments if not isinstance(a, Array)]
        function = self.scheduler.function(call.function)
        if function is None or call.function in self._calls:  # HLS refuses recursion
            return algebra.joined(arguments)
        self.result.uses[function.name] += self._copies
        outer = self.names
        inner = dict(outer)
        for parameter, argument in zip(function.parameters, call.arguments, strict=False):
            is_name = isinstance(argument, Variable) and parameter in function.references
            if isinstance(argument, Array) or is_name:
                name = argument.name  # type: ignore[union-attr]
                inner[parameter] = outer.get(name, name)
            else:
                self.values[parameter] = self.value(argument)
                self.declared.add(parameter)
                inner.pop(parameter, None)
        self.names = inner
        self._calls.append(call.function)
        returned = self.block(function.body)
        self._calls.pop()
        self.names = outer
        return returned
