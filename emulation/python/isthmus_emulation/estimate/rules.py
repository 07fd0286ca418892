"""Computes the cycles of a kernel's loops by the rules that the vendor's HLS documents (UG1399).

An innermost loop is pipelined unless a pragma forbids it. It begins an iteration every II cycles.
II is the largest of three: the pragma's, that of chains of operators from an iteration to the next,
and that of the ports of memories. Where the rules do not decide, the result is a range.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from isthmus_emulation.estimate import operators, remedies, tables
from isthmus_emulation.estimate.algebra import whole
from isthmus_emulation.estimate.arrays import KERNEL_FLOW_LATENCY
from isthmus_emulation.estimate.beside import Beside
from isthmus_emulation.estimate.intervals import Intervals, Reason
from isthmus_emulation.estimate.schedule import (
    RAM_CYCLES,
    READ_CYCLES,
    WRITE_CYCLES,
    Result,
    Scheduler,
)
from isthmus_emulation.estimate.structure import (
    Array,
    Assign,
    Call,
    Cause,
    Choice,
    Clear,
    Code,
    Constant,
    Cost,
    Element,
    Estimate,
    Evaluate,
    Function,
    Leave,
    Loop,
    Pragma,
    Process,
    Return,
    Span,
    Statement,
    Variable,
    assigned_in,
    calls_in,
    expressions_in,
    loops_in,
    statements_in,
)

ENTRY_CYCLES: Final = 2
"""States before and after a loop: reports of Vitis HLS have II x (trips - 1) + depth + 1 or 2."""
LOOP_CALL_CYCLES: Final = 2
"""Most states around a pipelined loop beside other loops: HLS since 2021 makes a function of each.
``LoadWeights`` of ayumiohno/mnist_depthwise_hls, 2022.1, has 17 cycles for six loops."""
CALL_CYCLES: Final = 1
"""Cycles of the state in which a function starts that is not inlined."""
AUTO_PIPELINE_TRIPS: Final = 64
"""Loops of fewer iterations are unrolled into the loop around them, which is pipelined (UG1399
2020.2, config_compile -pipeline_loops). Loops of exactly 64 are not unrolled, by a published rate:
blocks of 4 KiB follow each other (Xilinx/Vitis_Accel_Examples, host_memory_bandwidth)."""
REQUEST_CYCLES: Final = 10
"""Most cycles from a loop's begin to a burst's first word, without the memory's latency, which the
card's model adds. Reports of HLS with latency=0 have 9 to 12."""
DEPTH_SHARE: Final = 0.3
"""Relative difference of the depth that HLS gives a chain of operators from ours. Most loops in
the reports of Marui-9/swiglu and ishanurg's FFT lie within it."""

_NONE: Final = Span(0, 0)


def estimate(
    code: Code, clock_mhz: float, *, has_card: bool = True, part: str = "",
    with_changes: bool = False,
) -> Estimate:  # fmt: skip
    """Computes costs of all loops of a kernel; loop 0 is the kernel's function, once for each call.

    Args:
        code: The code of the kernel.
        clock_mhz: Clock that operators are scheduled for.
        has_card: Whether a card adds the time of bursts; else bursts have the latency of HLS.
        part: Name of the device, as HLS has it; empty: an UltraScale+.
        with_changes: Whether to find changes of the source that may shorten loops.

    """

    def costs(changed: Code) -> dict[int, Cost]:
        found = _Rules(changed, clock_mhz, has_card, part).all()
        return {cost.number: cost for cost in found.costs}

    found = _Rules(code, clock_mhz, has_card, part).all()
    if not with_changes:
        return found
    before = {cost.number: cost for cost in found.costs}
    return Estimate(found.costs, found.processes, remedies.changes(code, before, costs))


class _Pipeline(NamedTuple):
    """Interval, depth and limits of a pipelined loop body."""

    interval: Span
    depth: Span
    why: str
    ahead: int
    """Most words that the pipeline holds on the way to a stream."""
    causes: tuple[Cause, ...] = ()
    """What gives the code its interval, if that is more than 1: see ``Cost.causes``."""


class _Rules:
    def __init__(self, code: Code, clock_mhz: float, has_card: bool, part: str) -> None:
        self._code = code
        self._has_card = has_card
        self._tables, self._roms = tables.of(code)
        self._scheduler = Scheduler(code, clock_mhz, part)
        self._costs: dict[int, Cost] = {}
        self._processes: dict[int, Process] = {}
        self._called: list[str] = []
        self._is_automatic = True
        """Whether loops without a pragma are pipelined in the function that is being read."""
        self._intervals = Intervals(code, self._scheduler)
        self._beside = Beside(code, self._scheduler)
        self._fills: dict[int, float] = {}
        """Most cycles until all processes of a region have written a first word, by region."""
        self._deepest = 0.0
        """Most cycles from a read to a write in the loops of the process that is being read."""
        self._share = 1.0
        """Least share of the loops' cycles that remains if loops run beside each other."""
        self._most_share = 1.0
        """Most share of the loops' cycles that remains, as all copies of a process run at once."""
        self._fixed = frozenset[str]()
        """Variables that are constants in the copy of the function that HLS makes for this call."""
        self._copies = 0
        """Number of copies of the process that is being read; 0: its loops are not copied."""

    def all(self) -> Estimate:
        top = self._code.functions[self._code.top]
        names: dict[str, str] = {}
        self._is_automatic = "off" not in _words(top, "pipeline")
        pipelined = top.pragma("pipeline") is not None and self._is_automatic
        if pipelined or self._code.work_items == "pipelined":
            wanted = _wanted(top.pragma("pipeline"))
            pipeline = self._pipeline(top.body, (), names, wanted)
            each = pipeline.interval if self._code.work_items == "pipelined" else pipeline.depth
            self._note(0, top.line, each, _NONE, pipeline.why)
        else:
            self._note(0, top.line, self._sequence(top.body, names), _NONE, "")
        costs = tuple(self._costs[number] for number in sorted(self._costs))
        return Estimate(costs, self._processes)

    def _note(
        self, number: int, line: int, iteration: Span, entry: Span, why: str, *,
        pipeline: _Pipeline | None = None, is_pipelined: bool = False, ahead: float = 0,
    ) -> None:  # fmt: skip
        """Keeps a loop's cost; a loop that is reached in several ways has a range of costs.

        The reason is that of the slowest way.
        """
        self._deepest = max(self._deepest, ahead)
        before = self._costs.get(number)
        causes = pipeline.causes if pipeline else ()
        iteration = Span(iteration.least * self._share, iteration.most * self._most_share)
        entry = Span(entry.least * self._share, entry.most * self._most_share)
        if before is not None:
            if not why or before.iteration.most > iteration.most:
                why, causes = before.why, before.causes
            iteration = iteration.or_else(before.iteration)
            entry = entry.or_else(before.entry)
            ahead = max(ahead, before.ahead)
        words = math.ceil(ahead)
        self._costs[number] = Cost(number, line, iteration, entry, why, is_pipelined, words, causes)

    # Functions for code that is not pipelined

    def _sequence(self, body: tuple[Statement, ...], names: Mapping[str, str]) -> Span:
        """Cycles of a body without its loops, whose costs are noted separately."""
        whole = _NONE
        simple: list[Statement] = []
        outer = self._share
        self._share *= self._beside.share(body, self._holds_loops, names)

        def finish() -> None:
            nonlocal whole
            if simple:
                whole += self._straight(simple, names)
                simple.clear()

        clears = _NONE
        several = sum(map(self._holds_loops, body)) > 1
        for statement in body:
            if not self._holds_loops(statement):
                simple.append(statement)
                continue
            finish()
            cycles = self._with_loops(statement, names)
            if several and isinstance(statement, Loop):
                cycles += Span(0, LOOP_CALL_CYCLES)
            if isinstance(statement, Clear):  # arrays that lie side by side are cleared together
                clears = clears.both(cycles)
                continue
            whole += clears + cycles
            clears = _NONE
        finish()
        self._share = outer
        return whole + clears

    def _straight(self, body: Iterable[Statement], names: Mapping[str, str]) -> Span:
        result = self._scheduler.run(tuple(body), (), names)
        ports = self._intervals.ports(result, frozenset())[0]
        turns = max((turns - 1 for turns, _ in self._turns(result)), default=0)
        cycles = _scheduled(result.end, self._intervals.waits(result)) + Span(turns, turns)
        return cycles.both(Span(ports.least - 1, ports.most - 1)) + self._requests(result)

    def _requests(self, result: Result) -> Span:
        """Cycles of the requests of bursts; with a card, without the memory's latency."""
        read, written, late = 0, 0, 0
        for access in result.accesses:
            storage = self._scheduler.storage(access.array)
            if storage.kind == "memory" and not access.is_single:
                latency = 0 if self._has_card else storage.latency
                if access.writes:
                    written = max(written, WRITE_CYCLES + latency)
                    late = max(late, latency)  # HLS before 2023 leaves out a response's latency
                else:
                    read = max(read, READ_CYCLES + latency)
        if self._has_card:
            return Span(0, min(read + written, REQUEST_CYCLES))
        return Span(read + written - late, read + written)

    def _with_loops(self, statement: Statement, names: Mapping[str, str]) -> Span:
        if isinstance(statement, Loop):
            if statement.number not in self._tables:
                self._loop(statement, names)
            return _NONE
        if isinstance(statement, Clear):
            if statement.array in self._roms:
                return _NONE
            is_ram = self._scheduler.storage(statement.array).kind == "ram"
            is_loop = is_ram or statement.elements >= AUTO_PIPELINE_TRIPS
            most = statement.elements + ENTRY_CYCLES
            return Span(statement.elements if is_loop else 0, most)
        if isinstance(statement, Process):
            self._processes[statement.number] = statement
            outer, self._deepest = self._deepest, 0.0
            self._copies = int(statement.is_copied)
            inside = self._sequence(statement.body, names)
            copies, self._copies = max(1, self._copies), 0
            # A process begins when the processes before it have written their first words.
            before = self._fills.get(statement.region, 0.0) + (copies - 1) * self._deepest
            self._fills[statement.region] = before + self._deepest
            self._deepest = max(outer, self._deepest)
            ahead = inside.most + 1
            inside += Span(0, before)
            self._note(statement.number, statement.line, inside, _NONE, "", ahead=ahead)
            return _NONE
        if isinstance(statement, Choice):
            cycles = [self._sequence(branch, names) for branch in statement.branches]
            alone = len(cycles) < 2
            return Span(
                0 if alone else min(interval.least for interval in cycles),
                max(interval.most for interval in cycles),
            )
        whole = _NONE
        for call in calls_in(statement):
            function = self._code.functions.get(call.function)
            if function is not None and call.function not in self._called:
                whole += self._function(function, call, names)
        return whole

    def _function(self, function: Function, call: Call, names: Mapping[str, str]) -> Span:
        inner = dict(names)
        for parameter, argument in zip(function.parameters, call.arguments, strict=False):
            if isinstance(argument, Array | Variable):
                inner[parameter] = names.get(argument.name, argument.name)
            else:
                inner.pop(parameter, None)
        self._called.append(call.function)
        fixed, self._fixed = self._fixed, _fixed(function, call, self._fixed)
        copies, self._copies = self._copies, 0
        outer, self._is_automatic = self._is_automatic, "off" not in _words(function, "pipeline")
        pragma = function.pragma("pipeline")
        if pragma is not None and "off" not in pragma.options:
            pipeline = self._pipeline(function.body, (), inner, _wanted(pragma))
            cycles = pipeline.depth
        else:
            cycles = self._sequence(function.body, inner)
        self._called.pop()
        self._copies, self._fixed = copies, fixed
        self._is_automatic = outer
        inlined = function.pragma("inline")
        return cycles if inlined and "off" not in inlined.options else cycles + Span(0, CALL_CYCLES)

    # Functions for loops

    def _loop(self, loop: Loop, names: Mapping[str, str]) -> None:
        """Notes the costs of a loop, and of the loops within it."""
        if loop.is_unrolled and any(not inner.is_unrolled for inner in self._loops(loop.body)):
            self._copied(loop, names)
            return
        if loop.is_unrolled and loop.trips is not None:
            result = self._scheduler.run((loop,), (), names)
            ports = self._intervals.ports(result, frozenset())[0]
            cycles = _scheduled(result.end) + Span(ports.least - 1, ports.most - 1)
            self._note(loop.number, loop.line, _NONE, cycles, "")
            return
        if self._is_pipelined(loop):
            self._pipelined(loop, (loop,), names)
            return
        nest = self._nest(loop)
        if nest is not None and "off" not in _words(nest[-1], "loop_flatten"):
            beside = tuple(s for inner in nest[:-1] for s in inner.body if not isinstance(s, Loop))
            moved = self._scheduler.run(beside, (), names)
            if not self._conflict(moved, nest[-1], names):
                self._flattened(nest, names, moved)
                return
        iteration = self._sequence(loop.body, names)
        if len(loop.body) == 1 and isinstance(loop.body[0], Loop) and loop.body[0].trips:
            # A perfect nest of two loops that are not pipelined: HLS makes one loop of both.
            self._note(loop.number, loop.line, Span(0, 1), Span(0, ENTRY_CYCLES), "")
            return
        factor = _factor(loop)
        least, most = max(1.0, iteration.least), max(1.0, iteration.most) + 1
        copies = Span(least / factor, most)
        self._note(loop.number, loop.line, copies, Span(1, ENTRY_CYCLES), "not pipelined")

    def _copied(self, loop: Loop, names: Mapping[str, str]) -> None:
        """Notes an unrolled loop around loops, of whose copies no counter has the iterations.

        Copies run one after the other, or beside each other if they share nothing. Copies that
        are processes of a region run at once, as do the calls in one copy. The longest copy counts:
        it has the mean of all copies' cycles if each loop has a constant number of iterations, else
        up to all of them.
        """
        outer = self._share, self._most_share
        if self._copies and loop.trips:
            self._copies *= loop.trips
            self._share /= loop.trips * sum(map(self._holds_loops, loop.body))
            if self._beside.weight(loop.body) is not None:
                self._most_share /= loop.trips
        elif loop.trips and self._beside.are_apart(loop, names):
            self._share /= loop.trips
        iteration = self._sequence(loop.body, names)
        self._note(loop.number, loop.line, Span(0, iteration.most), _NONE, "")
        self._share, self._most_share = outer

    def _is_pipelined(self, loop: Loop) -> bool:
        pragma = loop.pragma("pipeline")
        if pragma is not None:
            return "off" not in pragma.options
        if not self._is_automatic:
            return False
        inner = self._counted(loop)
        if not inner:
            return True
        return not self._is_perfect(loop) and all(map(self._is_short, inner))

    def _counted(self, loop: Loop) -> list[Loop]:
        """The loops within a loop that have no pragma to unroll them."""
        return [inner for inner in self._loops(loop.body) if not inner.is_unrolled]

    def _is_short(self, loop: Loop) -> bool:
        """Whether HLS unrolls a loop, or a perfect nest, to pipeline the loop around it.

        HLS makes one loop of a perfect nest before it compares iterations with the threshold:
        reports of devanshj1996/FPGA-Final-project-Federated-Learning have one loop of 10 x 10.
        """
        trips = 1
        while True:
            if loop.trips is None or loop.pragma("pipeline") is not None:
                return False
            trips *= loop.trips
            inner = self._counted(loop)
            if not inner:
                return trips < AUTO_PIPELINE_TRIPS
            if len(inner) > 1 or not self._is_perfect(loop):
                return False
            loop = inner[0]

    def _is_perfect(self, loop: Loop) -> bool:
        """Whether a loop's body has only an inner loop, and code that computes indices."""
        inner = [statement for statement in loop.body if self._holds_loops(statement)]
        if len(inner) != 1 or not isinstance(inner[0], Loop):
            return False
        changed = assigned_in(inner[0].body)
        return all(
            isinstance(statement, Assign)
            and statement.declares
            and isinstance(statement.target, Variable)
            and statement.target.name not in changed
            and not any(isinstance(part, Element | Call) for part in expressions_in(statement))
            for statement in loop.body
            if statement is not inner[0]
        )

    def _nest(self, loop: Loop) -> tuple[Loop, ...] | None:
        """Loops from this one to a pipelined loop, each of which only runs the next; None: no nest.

        HLS moves simple code beside the next loop into that loop.
        """
        nest = [loop]
        while not self._is_pipelined(nest[-1]):
            inner = [statement for statement in nest[-1].body if self._holds_loops(statement)]
            if len(inner) != 1 or not isinstance(inner[0], Loop) or inner[0].is_unrolled:
                return None
            if inner[0].pragma("dataflow") or nest[-1].pragma("dataflow"):
                return None
            nest.append(inner[0])
        return tuple(nest)

    def _conflict(self, beside: Result, inner: Loop, names: Mapping[str, str]) -> bool:
        """Whether a loop and code beside it use the same array, and one of them writes it.

        HLS does not move such code into the loop: ``c[i][j] = 0`` before a loop that adds to
        ``c[i][j]`` leaves the nest imperfect (UG1399). Reports of larm60/ECE8893 and
        ndstung/Design-Synthesize-and-Test-Array-Multiplier show this. With different arrays, nests
        of WYI1223/ECE8893MyLab are one loop.
        """
        if not beside.accesses:
            return False
        if any(
            self._scheduler.storage(access.array).kind == "stream" for access in beside.accesses
        ):
            # as in blockmatmul of andy39866821/AAHLS-LabB-Matrix-Multiplication, 2021.2
            return True
        variables = (inner.variable,) if inner.variable else ()
        inside = self._scheduler.run(inner.body, variables, names).accesses
        return any(
            access.array == other.array and (access.writes or other.writes)
            for access in beside.accesses
            for other in inside
        )

    def _flattened(
        self, nest: tuple[Loop, ...], names: Mapping[str, str], moved: Result
    ) -> None:  # fmt: skip
        """Notes a nest as one loop. HLS moves simple code, ``moved``, into the inner loop.

        The result is a range if HLS may not do so: if the code accesses memory, if it takes more
        cycles than a RAM read, if the inner loop's length varies, or if an outer loop is unrolled
        in part.
        """
        inner = nest[-1]
        simple = moved.end <= RAM_CYCLES + 1 and all(
            self._scheduler.storage(a.array).kind != "memory" for a in moved.accesses
        )
        constant = all(loop.trips is not None or self._is_fixed(loop) for loop in nest[1:])
        pipeline = self._pipelined(inner, nest, names)
        # A loop that is unrolled in part has several loops within, which may stay loops: dft of
        # srpae/WWES237C_team2 restarts its inner loop. The report of lenet_predict of
        # xz-bruh-bwe/EE_278 lies between both.
        whole_body = all(_factor(loop) == 1 for loop in nest[:-1])
        sure = simple and constant and whole_body
        spread = _spread(pipeline)
        alone = self._costs[inner.number]
        entry = _NONE if sure else Span(0, alone.entry.most)
        self._costs[inner.number] = msgspec.structs.replace(alone, entry=entry)
        outer = nest[0]
        around = Span(alone.entry.least, spread.most)
        self._note(outer.number, outer.line, _NONE, around, "", is_pipelined=sure)
        for loop in nest[:-1]:
            straight = [statement for statement in loop.body if not isinstance(statement, Loop)]
            cycles = self._straight(straight, names) if straight else _NONE
            iteration = _NONE if sure else Span(0, cycles.most + 1)
            if loop is outer:
                noted = self._costs[outer.number]
                self._costs[outer.number] = msgspec.structs.replace(noted, iteration=iteration)
            else:
                self._note(loop.number, loop.line, iteration, _NONE, "")

    def _is_fixed(self, loop: Loop) -> bool:
        """Whether a loop's bounds are constants in the copy of the function for this call."""
        return loop.bounds is not None and loop.bounds <= self._fixed

    def _pipelined(self, loop: Loop, nest: tuple[Loop, ...], names: Mapping[str, str]) -> _Pipeline:
        """Notes a pipelined loop; ``nest`` are the loops that HLS merges with it."""
        variables = [level.variable for level in nest if level.variable]
        factor = _factor(loop)
        body = loop.body
        if factor > 1:
            copy = Loop(loop.number, loop.line, loop.body, loop.variable, factor)
            body = (copy,)
        left: list[tuple[Statement, ...]] = []
        body = _without_leaving(body, left)
        is_left = loop.variable is None and loop.test != Constant()
        test = Choice(loop.test, ((Leave(),),)) if is_left else Evaluate(loop.test)
        pipeline = self._pipeline(
            (test, *body), tuple(variables), names, _wanted(loop.pragma("pipeline"))
        )
        behind = _NONE  # HLS runs a branch that leaves the loop after the pipeline
        for branch in left:
            behind += Span(0, self._sequence(branch, names).most)
        rewinds = any("rewind" in _words(level, "pipeline") for level in nest)
        entry = behind if rewinds else _spread(pipeline) + behind
        each = Span(pipeline.interval.least / factor, pipeline.interval.most / factor)
        self._note(
            loop.number,
            loop.line,
            each,
            entry,
            pipeline.why,
            pipeline=pipeline,
            is_pipelined=True,
            ahead=pipeline.ahead,
        )
        return pipeline

    def _pipeline(
        self,
        body: tuple[Statement, ...],
        variables: tuple[str, ...],
        names: Mapping[str, str],
        wanted: int,
    ) -> _Pipeline:
        has_rams = bool(variables) or self._code.work_items != "none"
        result = self._scheduler.run(body, variables, names, has_rams=has_rams)
        fast = frozenset(variables[-1:])
        reasons = [Reason(Span(wanted, wanted), "as its pragma says")]
        for name, path in result.carried.items():
            needs = max(1, whole(path.cycles))
            cause = Cause("chain", needs, (name,), needs if path.adds_up else 0)
            reasons.append(Reason(Span(needs, needs), path.slowest, cause))
        reasons.append(Reason(*self._intervals.until_left(result)))
        reasons.append(self._intervals.ports(result, fast))
        reasons += self._intervals.through_memory(result, variables)
        reasons += [Reason(Span(turns, turns), why) for turns, why in self._turns(result)]
        interval = Span(
            max(1, *(reason.interval.least for reason in reasons)),
            max(1, *(reason.interval.most for reason in reasons)),
        )
        most, why, _ = max(reasons, key=lambda reason: reason.interval.most)
        causes = tuple(
            reason.cause
            for reason in reasons
            if reason.cause is not None and reason.interval.most == most.most > 1
        )
        text = f"II {_shown(interval)}" + (f": {why}" if most.most > 1 and why else "")
        depth = max(1, whole(result.end))
        requests = self._requests(result)
        behind = REQUEST_CYCLES + KERNEL_FLOW_LATENCY if requests.most else 0
        for loop in result.unknown:  # HLS cannot unroll these, and may pipeline them
            self._loop(loop, names)
            cost = self._costs[loop.number]
            self._costs[loop.number] = msgspec.structs.replace(
                cost, iteration=Span(0, cost.iteration.most), entry=Span(0, cost.entry.most)
            )
        deep = _scheduled(depth, self._intervals.waits(result)) + requests
        ahead = depth + 1 + behind
        return _Pipeline(interval, deep, text, ahead, causes)

    def _turns(self, result: Result) -> list[tuple[int, str]]:
        """Cycles in which ALLOCATION's instances serve all uses, and the pragma as the reason."""
        of = self._code.functions[self._called[-1] if self._called else self._code.top]
        turns = []
        for pragma in _pragmas(of.body, of.pragmas):
            name, limit = pragma.options.get("instances", ""), pragma.number("limit")
            uses = result.uses[name] or result.uses[operators.plain(name)]
            if pragma.name == "allocation" and limit and uses > limit:
                turns.append((-(-uses // limit), f"ALLOCATION of {name}"))
        return turns

    # Functions that look for loops and calls

    def _holds_loops(self, statement: Statement) -> bool:
        """Whether a statement has a loop, or calls a function that has one."""
        if isinstance(statement, Loop | Clear | Process):
            return True
        if isinstance(statement, Choice):
            return any(
                self._holds_loops(inner) for branch in statement.branches for inner in branch
            )
        return any(self._called_loops(call) for call in calls_in(statement))

    def _called_loops(self, call: Call) -> bool:
        function = self._code.functions.get(call.function)
        if function is None or call.function in self._called:
            return False
        self._called.append(call.function)
        holds = any(map(self._holds_loops, function.body))
        self._called.pop()
        return holds

    def _loops(self, body: tuple[Statement, ...]) -> list[Loop]:
        """Outermost loops of a body, and those of the functions that the body calls."""
        loops: list[Loop] = []
        for statement in body:
            if isinstance(statement, Loop):
                loops.append(statement)
            elif isinstance(statement, Choice):
                for branch in statement.branches:
                    loops += self._loops(branch)
            elif isinstance(statement, Process):
                loops += self._loops(statement.body)
            else:
                for call in calls_in(statement):
                    function = self._code.functions.get(call.function)
                    if function is not None and call.function not in self._called:
                        self._called.append(call.function)
                        loops += self._loops(function.body)
                        self._called.pop()
        return loops


def _without_leaving(
    body: tuple[Statement, ...], left: list[tuple[Statement, ...]]
) -> tuple[Statement, ...]:  # fmt: skip
    """Returns a loop's body without branches that end the loop, which it appends to ``left``."""
    kept: list[Statement] = []
    for statement in body:
        if not isinstance(statement, Choice):
            kept.append(statement)
            continue
        branches = []
        for branch in statement.branches:
            if branch and isinstance(branch[-1], Leave | Return):
                left.append(branch[:-1])
                branches.append(branch[-1:])
            else:
                branches.append(_without_leaving(branch, left))
        kept.append(Choice(statement.condition, tuple(branches)))
    return tuple(kept)


def _fixed(function: Function, call: Call, outer: frozenset[str]) -> frozenset[str]:
    """Variables of a function that are constants if HLS copies it for the constants of a call.

    HLS makes such copies: the report of ``fft`` of MasterYI814/WES237C, 2022.2, has functions
    ``fft_stages`` with a loop of 512 each, whose bounds depend on the argument ``stage``.
    """
    times = Counter(
        one.target.name
        for one in statements_in(function.body)
        if isinstance(one, Assign) and isinstance(one.target, Variable)
    )
    known = {
        parameter
        for parameter, argument in zip(function.parameters, call.arguments, strict=False)
        if not times[parameter] and (
            (isinstance(argument, Constant) and argument.value is not None)
            or (isinstance(argument, Variable) and argument.name in outer)
        )
    }  # fmt: skip
    for one in function.body:
        if isinstance(one, Assign) and isinstance(one.target, Variable):
            parts = expressions_in(one)
            needs = {part.name for part in parts if isinstance(part, Variable)}
            reads = any(isinstance(part, Element | Call | Array) for part in parts)
            if times[one.target.name] == 1 and needs and needs <= known and not reads:
                known.add(one.target.name)
    return frozenset(known)


def _spread(pipeline: _Pipeline) -> Span:
    """Cycles of a pipelined loop beyond one interval for each iteration: its begin and end."""
    return Span(
        max(0, pipeline.depth.least - pipeline.interval.most) + 1,
        max(0, pipeline.depth.most - pipeline.interval.least) + ENTRY_CYCLES,
    )


def _scheduled(cycles: float, waits: int = 0) -> Span:
    """Depth of a chain of operators, as a range; ``waits``: most cycles of waiting for ports."""
    most = whole(cycles) + waits
    return Span(math.floor(cycles * (1 - DEPTH_SHARE)), math.ceil(most * (1 + DEPTH_SHARE)))


def _shown(span: Span) -> str:
    return f"{span.least:g}" if span.least == span.most else f"{span.least:g} to {span.most:g}"


def _wanted(pragma: Pragma | None) -> int:
    return (pragma.number("ii") if pragma else None) or 1


def _factor(loop: Loop) -> int:
    pragma = loop.pragma("unroll")
    if pragma is None:
        return 1
    return pragma.number("factor") or (loop.trips or 1)


def _words(of: Loop | Function, name: str) -> Mapping[str, str]:
    pragma = of.pragma(name)
    return pragma.options if pragma is not None else {}


def _pragmas(body: tuple[Statement, ...], own: tuple[Pragma, ...]) -> list[Pragma]:
    return [*own, *(pragma for loop in loops_in(body) for pragma in loop.pragmas)]
