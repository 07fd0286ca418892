"""The rules of the estimate of a kernel's computing, on code that has been read."""

from __future__ import annotations

import pytest

from isthmus_emulation.estimate import operators, rules, schedule, splits, table
from isthmus_emulation.estimate.structure import (
    Array,
    Assign,
    Call,
    Choice,
    Clear,
    Code,
    Constant,
    Cost,
    Element,
    Evaluate,
    Expression,
    Function,
    Leave,
    Loop,
    Operation,
    Pragma,
    Process,
    Return,
    Span,
    Statement,
    Storage,
    Variable,
)
from isthmus_emulation.xclbin.kinds import DATA_MHZ

AT = Variable("i")
ONE = Constant(1)


def costs(*body: Statement, **storage: Storage) -> dict[int, Cost]:
    """Costs of the loops of a kernel with that body, near 300 MHz."""
    code = Code("k", {"k": Function("k", 1, (), body)}, storage)
    return {cost.number: cost for cost in rules.estimate(code, 300).costs}


def loop(*body: Statement, pragmas: tuple[Pragma, ...] = (), trips: int | None = None) -> Loop:
    return Loop(1, 5, body, "i", trips, Constant(), pragmas)


def interval(cost: Cost) -> tuple[float, float]:
    return cost.iteration.least, cost.iteration.most


def added(target: Variable | Element, number: str, by: Expression = ONE) -> Assign:
    return Assign(target, Operation("add", number, 32, (target, by)))  # type: ignore[arg-type]


SUM = Variable("sum")


@pytest.mark.parametrize(
    ("body", "wanted", "why"),
    [
        ([added(SUM, "integer")], (1, 1), "II 1"),
        ([added(SUM, "float")], (7, 7), "II 7: floating-point sum"),
        ([added(SUM, "double")], (8, 8), "II 8: floating-point sum"),
        ([Assign(SUM, Operation("multiply", "float", 32, (SUM, Constant())))], (4, 4),
         "II 4: floating-point product"),
        ([Assign(SUM, Operation("divide", "integer", 32, (SUM, Variable("by"))))], (36, 36),
         "II 36: integer division"),
        # Another iteration may have written the element that this one reads.
        ([added(Element("ram", (Element("in", (AT,)),)), "integer")], (2, 2),
         "II 2: dependence through ram, integer sum"),
        ([added(Element("ram", (AT,)), "float")], (1, 1), "II 1"),
        ([Assign(Element("ram", (AT,)), Operation("add", "float", 32, (
            Element("ram", (Operation("subtract", operands=(AT, Constant(2))),)), Constant())))],
         (4, 4), "II 4: dependence through ram, floating-point sum"),
        ([Evaluate(Operation("add", operands=tuple(
            Element("ram", (Operation("add", operands=(AT, Constant(n))),)) for n in range(5))))],
         (3, 3), "II 3: ports of ram"),
    ],
    ids=["integer", "float", "double", "product", "division", "histogram", "elements", "distance",
         "ports"],
)  # fmt: skip
def test_an_innermost_loop_begins_iterations_as_often_as_it_can(
    body: list[Statement], wanted: tuple[float, float], why: str
) -> None:
    there = {"ram": Storage("ram"), "in": Storage("memory", port="in")}
    found = costs(loop(*body), **there)[1]
    assert (interval(found), found.why, found.is_pipelined) == (wanted, why, True)
    adds_up = why.endswith((": floating-point sum", ": floating-point product"))
    sums = max((cause.sums for cause in found.causes), default=0)
    assert sums == (wanted[1] if adds_up else 0)


def test_pragmas_decide() -> None:
    body = added(Element("ram", (Element("in", (AT,)),)), "integer")
    there = {"ram": Storage("ram"), "in": Storage("registers")}
    slow = costs(loop(body, pragmas=(Pragma("pipeline", {"ii": "5"}),)), **there)[1]
    assert (interval(slow), slow.why) == ((5, 5), "II 5: as its pragma says")
    free = Pragma("dependence", {"variable": "ram", "inter": "", "false": ""})
    assert interval(costs(loop(body, pragmas=(free,)), **there)[1]) == (1, 1)
    off = costs(loop(body, pragmas=(Pragma("pipeline", {"off": ""}),)), **there)[1]
    assert (off.is_pipelined, off.why, off.iteration.least) == (False, "not pipelined", 1)
    unrolled = loop(
        Assign(Element("ram", (AT,)), Constant(0)), pragmas=(Pragma("unroll", {"factor": "8"}),)
    )
    assert interval(costs(unrolled, ram=Storage("ram", 4, True))[1]) == (1 / 8, 1 / 8)
    assert interval(costs(unrolled, ram=Storage("ram", 1, True))[1]) == (4 / 8, 4 / 8)
    # Without a pragma HLS may partition the array itself.
    assert interval(costs(unrolled, ram=Storage("ram"))[1]) == (1 / 8, 4 / 8)


def test_a_port_is_widened_to_512_bits_at_most() -> None:
    write = Assign(Element("out", (Variable("j"),)), Constant(0))
    copies = Loop(2, 6, (write,), "j", 4, pragmas=(Pragma("unroll"),))
    body = loop(copies, trips=1000)
    for bits, wanted in ((128, (1, 4)), (256, (2, 4)), (512, (4, 4))):
        out = Storage("memory", port="out", bits=bits, widest=512)
        assert interval(costs(body, out=out)[1]) == wanted
    # The IP flow widens no port.
    assert interval(costs(body, out=Storage("memory", port="out", bits=128))[1]) == (4, 4)


def test_a_word_of_memory_that_decides_whether_a_loop_goes_on_takes_a_request() -> None:
    read = Operation("compare", operands=(Element("in", (Variable("at"),)), ONE))
    step = added(Variable("at"), "integer")
    left = Choice(read, ((Leave(),),))
    for latency in (0, 64):
        found = costs(
            Loop(1, 5, (left, step)), **{"in": Storage("memory", port="in", latency=latency)}
        )
        least = schedule.READ_CYCLES + latency
        assert least <= interval(found[1])[0] == interval(found[1])[1] <= least + 1
    assert interval(costs(Loop(1, 5, (left, step)), **{"in": Storage("stream")})[1]) == (1, 1)


def test_code_beside_a_loop_that_reaches_its_array_keeps_a_nest_apart() -> None:
    element = Element("sum", (Variable("i"),))
    inner = Loop(2, 6, (added(element, "integer"),), "j", 100)
    arrays = {"sum": Storage("registers"), "other": Storage("registers")}
    apart = costs(Loop(1, 5, (Assign(element, ONE), inner), "i", 50), **arrays)
    other = Assign(Element("other", (Variable("i"),)), ONE)
    flat = costs(Loop(1, 5, (other, inner), "i", 50), **arrays)
    assert apart[1].iteration.least >= 1
    assert apart[2].entry.least >= 1
    assert (flat[1].iteration, flat[2].entry) == (Span(0, 0), Span(0, 0))


def test_a_perfect_nest_of_few_iterations_is_one_loop() -> None:
    inner = Loop(2, 6, (Assign(Element("out", (Variable("j"),)), ONE),), "j", 10)
    row = Assign(Variable("row"), Operation("add", operands=(AT, ONE)), declares=True)
    nested = costs(Loop(1, 5, (row, inner), "i", 10), out=Storage("ram"))
    assert (nested[1].iteration, nested[2].iteration) == (Span(0, 0), Span(1, 1))
    # HLS pipelines the loop around a sum of few terms, and unrolls the sum.
    sum_of_ten = Loop(2, 6, (added(SUM, "integer", Element("in", (Variable("j"),))),), "j", 10)
    clear = Assign(SUM, Constant(0), declares=True)
    outer = costs(Loop(1, 5, (clear, sum_of_ten), "i", 10), **{"in": Storage("registers")})
    assert (outer[1].iteration, 2 in outer) == (Span(1, 1), False)


def test_sums_of_a_nest_that_is_unrolled_are_one_tree() -> None:
    unroll = (Pragma("unroll"),)
    term = Element("in", (AT, Variable("j")))
    for number, least, most in (("integer", 1, 8), ("float", 63 * 7 * 0.7, 64 * 7 * 1.3 + 2)):
        inner = Loop(2, 6, (added(SUM, number, term),), "j", 8, pragmas=unroll)
        found = costs(Loop(1, 5, (inner,), "i", 8, pragmas=unroll), **{"in": Storage("registers")})
        entry = found[1].entry
        assert (least <= entry.least, entry.most <= most) == (True, True)


def test_a_product_and_a_sum_in_one_dsp_block_take_three_cycles() -> None:
    operands = (Variable("a"), Variable("b"))
    for bits, wanted in ((16, operators.MULTIPLY_ADD_CYCLES), (64, 5)):
        product = Operation("multiply", "integer", bits, operands)
        block = (Assign(SUM, Operation("add", "integer", 32, (product, Variable("c")))),)
        code = Code("k", {"k": Function("k", 1, (), block)}, {})
        found = schedule.Scheduler(code, 300).run(block, (), {})
        assert wanted <= found.end < wanted + 1


def test_reads_wait_for_the_ports_that_a_pragma_says() -> None:
    reads = tuple(
        Evaluate(Element("ram", (Operation("add", operands=(AT, Constant(n))),))) for n in range(4)
    )
    for ports, wanted in ((2, 2), (1, 4)):
        found = costs(loop(*reads), ram=Storage("ram", ram_ports=ports))[1]
        assert interval(found) == (wanted, wanted)


def test_loops_of_calls_run_beside_each_other_before_their_results_are_stored() -> None:
    """As in ``st[1] = sum(k); st[2] = sum(n);``, where only the stores follow each other."""
    inner = Loop(3, 10, (added(SUM, "integer", Element("of", (AT,))),), "i", 100)
    function = Function("sum", 9, ("of",), (inner, Return(SUM)))
    arrays = {name: Storage("ram") for name in ("k", "n", "st")}

    def least(*of: str) -> float:
        body = tuple(
            Assign(Element("st", (Constant(place),)), Call("sum", (Array(name),)))
            for place, name in enumerate(of)
        )
        code = Code("top", {"top": Function("top", 1, (), body), "sum": function}, arrays)
        return next(c for c in rules.estimate(code, 300).costs if c.number == 3).iteration.least

    assert (least("k", "n"), least("k", "k"), least("k", "st")) == (0.5, 1, 1)


def test_loops_that_share_nothing_may_run_beside_each_other() -> None:
    def fills(number: int, array: str) -> Loop:
        return Loop(number, number, (Assign(Element(array, (AT,)), Variable("seed")),), "i", 100)

    arrays = {name: Storage("ram") for name in ("a", "b")}
    beside = costs(fills(1, "a"), fills(2, "b"), **arrays)
    assert [interval(beside[n]) for n in (1, 2)] == [(0.5, 1), (0.5, 1)]
    same = costs(fills(1, "a"), fills(2, "a"), **arrays)
    assert [interval(same[n]) for n in (1, 2)] == [(1, 1), (1, 1)]
    reads = Loop(2, 2, (added(SUM, "integer", Element("a", (AT,))),), "i", 100)
    needs = costs(fills(1, "a"), reads, **arrays)
    assert [interval(needs[n]) for n in (1, 2)] == [(1, 1), (1, 1)]
    # Registers have no ports, and a scalar has none either.
    registers = costs(fills(1, "a"), fills(2, "a"), a=Storage("registers"))
    assert [interval(registers[n]) for n in (1, 2)] == [(1, 1), (1, 1)]
    last = [
        Loop(n, n, (Assign(SUM, Element(of, (AT,))),), "i", 100) for n, of in ((1, "a"), (2, "b"))
    ]
    scalar = costs(*last, **arrays)
    assert [interval(scalar[n]) for n in (1, 2)] == [(1, 1), (1, 1)]


def test_copies_that_never_take_a_branch_do_not_write() -> None:
    """``if (j >= 6)`` in a loop that HLS unrolls eight times writes two words, not eight."""
    last = Operation("compare", operands=(Variable("j"), Constant(6)), operator=14)
    write = Choice(last, ((Assign(Element("out"), ONE),),))
    copies = Loop(2, 6, (write,), "j", 8, pragmas=(Pragma("unroll", {"factor": "8"}),), first=0)
    found = costs(loop(copies, trips=1000), out=Storage("stream"))
    assert interval(found[1]) == (2, 2)


def test_arrays_that_only_unrolled_loops_reach_are_variables() -> None:
    index = Operation("add", operands=(Variable("j"), ONE))
    write = Assign(Element("a", (index,)), Variable("x"))
    for pragmas, kind in (((Pragma("unroll"),), "registers"), ((), "ram")):
        body = (Loop(2, 6, (write,), "j", 8, pragmas=pragmas),)
        functions = {"k": Function("k", 1, (), body)}
        found = splits.split(functions, {"a": Storage("ram")}, {"a": (9,)})
        assert found.get("a", Storage("ram")).kind == kind


K, N = Variable("k"), Variable("n")
THREE, UNKNOWN = Assign(K, Constant(3)), Assign(K, N)


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        ([THREE], "registers"),
        ([UNKNOWN, Choice(N, ((THREE,),))], "ram"),
        ([THREE, Choice(N, ((UNKNOWN,),))], "ram"),
        ([Choice(N, ((UNKNOWN,), (THREE,)))], "ram"),
        ([Choice(N, ((THREE,), (UNKNOWN,)))], "ram"),
        ([Choice(N, ((THREE, Assign(Element("a", (K,)), N)), (UNKNOWN,))), THREE], "registers"),
        ([THREE, Loop(1, 5, (), "k", None)], "ram"),
        ([THREE, Loop(1, 5, (UNKNOWN,), "i", 4, pragmas=(Pragma("unroll"),))], "ram"),
    ],
    ids=["constant", "if", "unless", "else", "if_else", "within", "counted_loop", "loop"],
)
def test_an_index_is_constant_if_it_is_so_on_every_way(before: list[Statement], kind: str) -> None:
    body = (*before, Assign(Element("a", (K,)), Variable("x")))
    found = splits.split({"k": Function("k", 1, (), body)}, {"a": Storage("ram")}, {"a": (64,)})
    assert found.get("a", Storage("ram")).kind == kind


def test_first_values_of_an_array_that_nothing_writes_are_a_table() -> None:
    read = loop(added(SUM, "integer", Element("a", (AT,))), trips=500)
    write = Assign(Element("a", (Variable("x"),)), Variable("y"))
    table_only, written = (
        costs(Clear("a", 500), *more, read, a=Storage("ram")) for more in ((), (write,))
    )
    assert table_only[0].iteration.least < 500 <= written[0].iteration.least


def test_a_stream_beside_a_loop_keeps_a_nest_apart() -> None:
    inner = Loop(2, 6, (added(SUM, "integer"),), "j", 100)
    word = Assign(Variable("x"), Element("in"), declares=True)
    apart = costs(Loop(1, 5, (word, inner), "i", 50), **{"in": Storage("stream")})
    assert apart[1].iteration.least >= 1


def test_a_loop_that_fills_a_table_takes_no_time() -> None:
    table_of = Loop(1, 5, (Assign(Element("t", (AT,)), Operation("multiply", operands=(AT, AT))),),
                    "i", 100)  # fmt: skip
    use = Loop(2, 6, (added(SUM, "integer", Element("t", (AT,))),), "i", 100)
    again = Loop(3, 7, (Assign(Element("t", (AT,)), Element("in", (AT,))),), "i", 100)
    assert sorted(costs(table_of, use, t=Storage("ram"))) == [0, 2]
    assert sorted(costs(table_of, use, again, t=Storage("ram"))) == [0, 1, 2, 3]


def test_an_element_that_several_unrolled_loops_reach_counts_once() -> None:
    body = loop(*(
        Loop(n, 6, (Evaluate(Element("lines", (Variable(name), AT))),), name, 4)
        for n, name in enumerate("jkm", 2)
    ))  # fmt: skip
    lines = {"lines": Storage("ram", 4, True)}
    code = Code("k", {"k": Function("k", 1, (), (body,))}, lines)
    (cost,) = (one for one in rules.estimate(code, DATA_MHZ).costs if one.number == 1)
    assert interval(cost) == (2, 2)  # 12 reads by 8 ports, if nobody knows the array's size
    code = Code("k", {"k": Function("k", 1, (), (body,))}, lines, sizes={"lines": (4, 100)})
    (cost,) = (one for one in rules.estimate(code, DATA_MHZ).costs if one.number == 1)
    assert interval(cost) == (1, 1)


def test_allocation_lets_operators_and_functions_take_turns() -> None:
    product = Operation("multiply", "float", 32, (Element("in", (AT,)), Constant()))
    calls = (Evaluate(Call("f")), Evaluate(Call("f")))
    body = (Assign(Variable("a"), product), Assign(Variable("b"), product), *calls)

    def found(**options: str) -> tuple[tuple[float, float], str]:
        top = Function("k", 1, (), (loop(*body),), (Pragma("allocation", options),))
        code = Code("k", {"k": top, "f": Function("f", 9, (), ())}, {"in": Storage("registers")})
        cost = rules.estimate(code, DATA_MHZ).costs[-1]
        return interval(cost), cost.why

    assert found(instances="fmul", limit="1") == ((2, 2), "II 2: ALLOCATION of fmul")
    assert found(instances="f", limit="1", function="") == ((2, 2), "II 2: ALLOCATION of f")
    assert found(instances="fmul", limit="2")[0] == (1, 1)
    assert found(instances="mul", limit="1")[0] == (1, 1)  # of integers


def test_a_read_waits_for_what_was_written_before() -> None:
    """Time of a function that writes ``at[0]`` and reads that element, or another one."""

    def depth(index: int) -> float:
        root = Operation("sqrt", "float", 32, (Variable("x"),))
        write = Assign(Element("at", (Constant(0),)), root)
        read = Operation("sqrt", "float", 32, (Element("at", (Constant(index),)),))
        return costs(write, Assign(Variable("y"), read), at=Storage("registers"))[0].iteration.most

    stages = operators.latency("sqrt", "float", 32, DATA_MHZ).stages
    assert depth(0) >= depth(1) + stages


def test_a_nest_is_one_loop() -> None:
    inner = Loop(2, 6, (Assign(Element("ram", (Variable("j"),)), Constant(0)),), "j", 100)
    outer = Loop(1, 5, (inner,), "i", 50)
    found = costs(outer, ram=Storage("ram"))
    assert (interval(found[1]), interval(found[2])) == ((0, 0), (1, 1))
    assert (found[2].entry, found[1].entry.least > 0) == (Span(0, 0), True)


def test_a_loop_without_a_known_length_cannot_be_unrolled_into_a_pipeline() -> None:
    inner = Loop(2, 6, (added(SUM, "integer"),), "j", None)
    found = costs(loop(inner, pragmas=(Pragma("pipeline"),)))
    assert (found[1].is_pipelined, interval(found[2])) == (True, (0, 1))


def test_processes_and_functions_are_counted_apart() -> None:
    fill = Function("fill", 9, ("to",), (
        Loop(3, 10, (Assign(Element("to", (AT,)), Constant(0)),), "i", 100),))  # fmt: skip
    process = Process(1, 7, 5, (Evaluate(Call("fill", (Array("a"),))),), (9,))
    body = (process,)
    code = Code("k", {"k": Function("k", 1, (), body), "fill": fill}, {"a": Storage("ram")})
    found = rules.estimate(code, 300)
    assert found.processes == {1: process}
    assert [cost.number for cost in found.costs] == [0, 1, 3]
    assert "isthmus_after_1[] = {9, 0};" in table.of(found, is_time=True)


def test_reads_of_a_stream_by_unrolled_copies_follow_each_other() -> None:
    read = Loop(2, 6, (Evaluate(Element("s")),), "j", 28)
    found = costs(loop(read, pragmas=(Pragma("pipeline"),)), s=Storage("stream"))[1]
    assert (interval(found), found.why) == ((28, 28), "II 28: reads of s")


def test_an_unrolled_loop_keeps_the_loops_within_it() -> None:
    write = Assign(Element("ram", (Variable("j"),)), Constant(0))
    inner = Loop(2, 6, (write,), "j", 100, pragmas=(Pragma("pipeline"),))
    found = costs(loop(inner, pragmas=(Pragma("unroll"),), trips=4), ram=Storage("ram"))
    assert (interval(found[1]), found[1].entry, interval(found[2])) == ((0, 0), Span(0, 0), (1, 1))


@pytest.mark.parametrize(
    ("kind", "by"),
    [("divide", 64), ("multiply", 8)],
    ids=["divide", "times"],
)
def test_a_constant_that_a_function_is_given_is_known_within_it(kind: str, by: int) -> None:
    value = Operation(kind, "integer", 32, (Element("in", (AT,)), Variable("by")))
    called = Function("f", 9, ("by",), (Assign(Element("ram", (AT,)), value),))
    in_ram = {"in": Storage("registers"), "ram": Storage("ram")}

    def ahead(by: Expression) -> int:
        top = Function("k", 1, (), (loop(Evaluate(Call("f", (by,)))),))
        code = Code("k", {"k": top, "f": called}, in_ram)
        return next(c for c in rules.estimate(code, 300).costs if c.number == 1).ahead

    assert ahead(Constant(by)) == ahead(Constant(1)) < ahead(Variable("n"))


def test_copies_that_add_to_one_element_wait_for_one_another() -> None:
    add = added(Element("ram", (Constant(0),)), "float", Element("in", (Variable("j"),)))
    body = loop(Loop(2, 6, (add,), "j", 8), pragmas=(Pragma("pipeline"),))
    found = costs(body, ram=Storage("ram"), **{"in": Storage("registers")})[1]
    assert interval(found)[1] >= 8 * operators.latency("add", "float", 32, DATA_MHZ).stages


def test_arrays_that_are_cleared_beside_each_other_take_turns_with_nobody() -> None:
    arrays = {"a": Storage("ram"), "b": Storage("ram")}
    assert (
        costs(Clear("a", 100), **arrays)[0] == costs(Clear("a", 100), Clear("b", 90), **arrays)[0]
    )


def test_operators_take_longer_at_a_faster_clock() -> None:
    assert operators.latency("add", "float", 32, 100).stages == 4
    assert operators.latency("add", "float", 32, 300).stages == 7
    assert operators.latency("divide", "integer", 24, 300).stages == 28


# Sources
