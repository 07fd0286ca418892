"""The estimate of a kernel's computing: rules, the reader of sources, and kernels that are run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from on_cards import SOURCES, Run, card_exec, compiled, emulated

from conftest import Command
from isthmus_emulation import compiler, computing, estimate, event_files, watch
from isthmus_emulation.estimate import libclang, operators, reader, rules, schedule, splits, table
from isthmus_emulation.estimate.preprocessed import Preprocessed
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
    Span,
    Statement,
    Storage,
    Variable,
)
from isthmus_emulation.trace import Event, KernelTime
from isthmus_emulation.xclbin.kinds import DATA_MHZ

__all__ = ["card_exec", "emulated"]  # fixtures
NEEDS_LIBCLANG = pytest.mark.skipif(libclang.cindex() is None, reason="no libclang")
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
    assert found.partial_sums == (wanted[1] if adds_up else 0)


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

SOURCE = """
#define FACTOR 4
template <int N> float dot(const float* a, const float* b) {
  float sum = 0;
  for (int i = 0; i < N; i++) {
    sum += a[i] * b[i];
  }
  return sum;
}
static void load(const float* from, float to[64]) {
  for (int i = 0; i < 64; ++i) {
#pragma HLS PIPELINE II = 2
    to[i] = from[i];
  }
}
struct Sum {
  int value = 0;
  void add(int times) { for (int i = 0; i < times; ++i) value += i; }
};
extern "C" void k(const float* in, float* out, int n) {
#pragma HLS INTERFACE m_axi port = in bundle = gmem0
  float a[64], b[64];
#pragma HLS ARRAY_PARTITION variable = a cyclic factor = FACTOR
  load(in, a);
  Sum sum;
  sum.add(33);
  const auto fill = [&](int times) { for (int i = 0; i < times; ++i) b[i] = sum.value; };
  fill(5);
  int left = n;
  while (left > 0) left -= 3;
  do { left++; } while (left < 9);
  for (int i = 0; i < n; ++i)
    if (i % 2) for (int j = 0; j < 70; ++j) { b[j] = left; if (j > n) break; }
  out[0] = dot<64>(a, b);
}
"""


def counted(tmp_path: Path, text: str, name: str = "k") -> tuple[Path, estimate.Counted]:
    source = tmp_path / "k.cpp"
    source.write_text("#include <isthmus/card/loop_counts.hpp>\n" + text)
    made = tmp_path / "k.ii"
    options = ["-std=c++17", "-w", f"-I{compiler.PARTS}/include", "-isystem",
               f"{compiler.PARTS}/include/hls"]  # fmt: skip
    compiler.run([*options, "-E", source, "-o", made], source)
    macros = compiler.run([*options, "-E", "-dM", source], source)
    return made, estimate.counted(made, name, macros, compiler.PARTS, DATA_MHZ)


@NEEDS_LIBCLANG
def test_a_source_is_read_and_its_loops_count(tmp_path: Path) -> None:
    made, found = counted(tmp_path, SOURCE)
    assert (found.why, found.text is not None) == ("", True)
    clang = libclang.cindex()
    read = reader.read(clang, made, Preprocessed(made.read_bytes(), compiler.PARTS), "k",
                       constants={"FACTOR": 4})  # fmt: skip
    assert read is not None
    storage = {name.split("@")[0]: there for name, there in read.code.storage.items()}
    assert storage["a"] == Storage("ram", 4, True)
    assert storage["in"] == Storage("memory", port="gmem0", bits=32, widest=512, latency=64)
    made.write_bytes(found.text or b"")
    main = tmp_path / "main.cpp"
    main.write_text("""
#include <cstdio>
namespace isthmus::card::plugin {
void begin_loop(unsigned) {}
void end_loop(unsigned number, unsigned long times) { std::printf("%u:%lu ", number, times); }
void begin_process(unsigned) {}
void end_process() {}
}
extern "C" void k(const float*, float*, int);
int main() { float in[64] = {}, out[1]; k(in, out, 10); }
""")
    program = tmp_path / "program"
    compiler.run([made, main, "-w", "-o", program], main)
    times = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()
    lengths = sorted(int(one.split(":")[1]) for one in times)
    assert lengths == [1, 4, 5, 10, 11, 12, 12, 12, 12, 12, 33, 64, 64]
    lines = {cost.line: cost.why for cost in rules.estimate(read.code, 300).costs}
    assert lines[12] == "II 2: as its pragma says"
    assert lines[6] == "II 7: floating-point sum"


@NEEDS_LIBCLANG
def test_a_pragma_before_a_body_and_constant_indices_are_read(tmp_path: Path) -> None:
    """UNROLL without braces is of its own loop; an array of constant indices is no RAM."""
    made, _ = counted(
        tmp_path,
        """void k(const int* in, int* out) {
  int window[9], lines[2][100], sum = 0;
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < 7; ++j)
#pragma HLS UNROLL
      out[j] = window[0];
    window[0] = in[i];
    window[8] = lines[0][i];
    lines[0][i] = lines[1][i];
    int one = 0, two;
    if (in[i]) { int three = lines[0][i]; one += three; two = one / 7; sum += two; }
  }
}
""",
    )
    read = reader.read(libclang.cindex(), made, Preprocessed(made.read_bytes(), compiler.PARTS),
                       "k")  # fmt: skip
    assert read is not None
    code = read.code
    (outer,) = (one for one in code.functions[code.top].body if isinstance(one, Loop))
    (inner,) = (one for one in outer.body if isinstance(one, Loop))
    assert (outer.pragma("unroll"), inner.pragma("unroll")) == (None, Pragma("unroll"))
    there = {name.split("@")[0]: storage for name, storage in code.storage.items()}
    assert there["window"] == Storage("registers")
    assert there["lines"] == Storage("ram", 2, True)
    assert [name.split("@")[0] for name in code.storage].count("lines") == 1
    # Of the variables only sum lives from an iteration to the next.
    carried = schedule.Scheduler(code, 300).run(outer.body, ("i",), {}).carried
    assert [name.split("@")[0] for name in carried] == ["sum"]


PARTIAL_SUMS = """void k(const float* in, float* out, int n) {{
  float p[8], old;
#pragma HLS ARRAY_PARTITION variable=p complete
  int at = 0;
  for (int i = 0; i < n; {step}) {{
    {body}
  }}
}}
"""
SHIFT = """{before}
    for (int j = {loop}) {{
#pragma HLS UNROLL
      {moves}
    }}
    {after}"""
UP, DOWN = ("7; j > 0; --j", "p[j] = p[j - 1];"), ("0; j < 7; ++j", "p[j] = p[j + 1];")


def shifted(way: tuple[str, str], before: str, after: str) -> str:
    return SHIFT.format(before=before, loop=way[0], moves=way[1], after=after)


@NEEDS_LIBCLANG
@pytest.mark.parametrize(
    ("body", "step", "wanted"),
    [
        pytest.param("p[i % 7] += in[i];", "++i", (1, 1), id="modulo"),
        pytest.param("p[i % 4] += in[i];", "++i", (2, 2), id="modulo-of-too-few"),
        pytest.param("p[i & 7] += in[i];", "++i", (1, 1), id="mask"),
        pytest.param("p[i % 8] += in[i];", "i += 2", (2, 2), id="modulo-in-steps"),
        pytest.param("p[(i + 1) % 8] = p[i % 8] + in[i];", "++i", (7, 7), id="element-before"),
        pytest.param("p[i % 8] = p[(i + 1) % 8] + in[i];", "++i", (1, 1), id="element-behind"),
        pytest.param("p[i % n] += in[i];", "++i", (1, 7), id="modulo-of-a-variable"),
        pytest.param(
            shifted(UP, "old = p[7] + in[i];", "p[0] = old;"), "++i", (1, 1), id="shift-up"
        ),
        pytest.param(
            shifted(UP, "old = p[3] + in[i];", "p[0] = old;"), "++i", (2, 2), id="shift-of-four"
        ),
        pytest.param(
            shifted(DOWN, "old = p[0] + in[i];", "p[7] = old;"), "++i", (1, 1), id="shift-down"
        ),
        pytest.param(  # the new sum moves in its own iteration, too
            shifted(DOWN, "p[7] = p[5] + in[i];", ""), "++i", (4, 4), id="shift-behind-the-sum"
        ),
        pytest.param(
            "#pragma HLS DEPENDENCE variable=p inter RAW distance=7 true\np[at] += in[i];",
            "++i",
            (1, 1),
            id="pragma-distance",
        ),
        pytest.param(
            "#pragma HLS DEPENDENCE variable=p type=inter distance=3 dependent=true\n"
            "p[at] += in[i];",
            "++i",
            (3, 3),
            id="pragma-of-too-few",
        ),
        pytest.param(
            "#pragma HLS DEPENDENCE variable=p type=inter dependent=false\np[at] += in[i];",
            "++i",
            (1, 1),
            id="pragma-false",
        ),
        pytest.param(
            "#pragma HLS DEPENDENCE variable=p intra false\np[at] += in[i];",
            "++i",
            (7, 7),
            id="pragma-within-an-iteration",
        ),
    ],
)
def test_partial_sums_in_an_array_have_a_distance(
    tmp_path: Path, body: str, step: str, wanted: tuple[float, float]
) -> None:
    """A floating-point sum takes 7 clocks; a distance of D iterations needs an II of 7 / D."""
    made, _ = counted(tmp_path, PARTIAL_SUMS.format(body=body, step=step))
    read = reader.read(libclang.cindex(), made, Preprocessed(made.read_bytes(), compiler.PARTS),
                       "k")  # fmt: skip
    assert read is not None
    (cost,) = (one for one in rules.estimate(read.code, DATA_MHZ).costs if one.line == 6)
    assert interval(cost) == wanted


SUMS = """void k(const float* in, float* out, int n) {{
  float p[4], sum = 0;
#pragma HLS ARRAY_PARTITION variable=p complete
  for (int i = 0; i < n; ++i) {{
    {body}
  }}
  out[0] = sum + p[0] + p[1] + p[2] + p[3];
}}
"""
DENIED = "of distance 4 against DEPENDENCE (on a board wrong values)"


@NEEDS_LIBCLANG
@pytest.mark.parametrize(
    ("body", "interval_and_sums", "why"),
    [
        pytest.param("sum += in[i];", (7, 7), "floating-point sum", id="a-variable"),
        pytest.param("if (in[i] > 0) sum += in[i];", (8, 8), "floating-point sum", id="in-an-if"),
        pytest.param(
            "if (sum < 5) sum += in[i];", (8, 0), "floating-point sum", id="which-decides"
        ),
        pytest.param("sum = sum * in[i] + 1;", (11, 0), "floating-point sum", id="polynomial"),
        pytest.param("p[i % 4] += in[i];", (2, 7), "dependence through p", id="too-few"),
        pytest.param("out[0] += in[i];", (150, 7), "dependence through out", id="in-memory"),
        pytest.param(
            "out[i + 2] = out[i] + 1;", (75, 0), "dependence through out", id="recurrence"
        ),
        pytest.param(
            "#pragma HLS DEPENDENCE variable=p inter false\np[i % 4] += in[i];",
            (2, 7),
            DENIED,
            id="a-pragma-that-denies-the-distance",
        ),
        pytest.param(
            "#pragma HLS DEPENDENCE variable=p inter RAW distance=8 true\np[i % 4] += in[i];",
            (2, 7),
            DENIED,
            id="a-pragma-with-a-longer-distance",
        ),
    ],
)
def test_a_sum_that_waits_for_the_one_before_needs_partial_sums(
    tmp_path: Path, body: str, interval_and_sums: tuple[int, int], why: str
) -> None:
    made, _ = counted(tmp_path, SUMS.format(body=body))
    read = reader.read(libclang.cindex(), made, Preprocessed(made.read_bytes(), compiler.PARTS),
                       "k")  # fmt: skip
    assert read is not None
    (cost,) = (one for one in rules.estimate(read.code, DATA_MHZ).costs if one.line == 5)
    assert (interval(cost)[1], cost.partial_sums) == interval_and_sums
    assert why in cost.why


TEMPLATES = """
struct base { static const unsigned reuse = 6; };
struct config : base {};
struct Line {
  int words[64];
  void shift(int* to) {
    for (int i = 0; i < 63; ++i) {
#pragma HLS PIPELINE
      to[i] = words[i] + words[63 - i] + words[i / 2];
    }
  }
};
template <int N, class C> int sum(const int* a) {
  int sum = 0;
  for (int i = 0; i < 64; ++i) {
#pragma HLS PIPELINE II=C::reuse
    sum += a[i];
  }
  for (int i = 0; i < 64; ++i) {
#pragma HLS PIPELINE II=N
    sum += a[i];
  }
  return sum;
}
extern "C" void k(const int* a, const int* b, int* c) {
#pragma HLS INTERFACE m_axi port=a bundle=one
#pragma HLS INTERFACE m_axi port=b bundle=two
#pragma HLS DATAFLOW
  Line line;
  int left = sum<5, config>(a);
  int right = sum<5, config>(b);
  for (int i = 0; i < 64; ++i) line.words[i] = left + right;
  line.shift(c);
}
"""


@NEEDS_LIBCLANG
def test_templates_members_and_first_values_of_a_region_are_read(tmp_path: Path) -> None:
    source, found = counted(tmp_path, TEMPLATES)
    assert (found.why, found.text is not None) == ("", True)
    clang = libclang.cindex()
    read = reader.read(
        clang, source, Preprocessed(source.read_bytes(), compiler.PARTS), "k", in_opencl=False
    )
    assert read is not None
    estimated = rules.estimate(read.code, 300)
    why = {cost.line: cost.why for cost in estimated.costs}
    assert "II 6: as its pragma says" in why.values()
    assert "II 5: as its pragma says" in why.values()
    assert "II 1 to 2: ports of words" in why.values()
    afters = [len(process.after) for process in estimated.processes.values()]
    assert afters[:3] == [0, 0, 2]  # both sums at once, and then what needs them


@NEEDS_LIBCLANG
def test_what_cannot_be_estimated_is_said(tmp_path: Path) -> None:
    _, found = counted(tmp_path, "void other(int*);\nvoid k(int* out) { other(out); }")
    assert found == (None, "it calls other of another source")
    tasks = "#include <hls_task.h>\nvoid t(hls::stream<int>& a) { a.write(a.read()); }\n"
    tasks += "void k(hls::stream<int>& a) { hls_thread_local hls::task one(t, a); }"
    _, found = counted(tmp_path, tasks)
    assert found == (None, "it has tasks (hls::task)")
    _, found = counted(tmp_path, "void k(int* out) { *out = 1; }", "j")
    assert found == (None, "libclang finds no such function")


def test_without_libclang_a_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libclang, "cindex", lambda: None)
    found = estimate.counted(tmp_path / "k.ii", "k", "", tmp_path, DATA_MHZ)
    assert found == (None, f"no libclang 18 or later is here: {libclang.INSTALL}")


# What is said


def test_an_estimate_is_called_so(tmp_path: Path) -> None:
    file = tmp_path / "computing.tsv"
    file.write_text("fir\testimate\t\nfir\testimate\t70 to 90 cycles in its first run\n"
                    "ever\testimate\t\n")  # fmt: skip
    ever, fir = computing.read(file)
    assert computing.sentences([ever, fir], "build") == [
        "computing of ever: estimate of its source, not counted: its function has not returned",
        "computing of fir: estimate of its source, 70 to 90 cycles in its first run",
    ]
    memory_ms, computed_ms = 5, 2
    time = KernelTime(
        True, memory_ms * 10**12, computed_ms * 10**12, 10**12, 3 * 10**12, "its loop at line 4",
        is_estimate=True,
    )  # fmt: skip
    event = Event("kernel", "fir_1", 0, memory_ms * 10**12, 0, time)
    (tmp_path / "card.tsv").write_text(
        "# card 0 board u250 program 1\n"
        f"kernel\tfir_1\t0\t{5 * 10**12}\t0\testimate\t{5 * 10**12}\t{2 * 10**12}\t{10**12}"
        f"\t{3 * 10**12}\tits loop at line 4\t0\n"
    )
    session = event_files.read([tmp_path / "card.tsv"])
    ((_, events),) = session.cards
    assert events == [event]
    row = watch.lines(session)[1]
    assert row.endswith("bound by memory; memory 5.00 ms, waits 0 %; computes 1.00 ms to 3.00 ms "
                        "(estimate)")  # fmt: skip


# Kernels that run


@NEEDS_LIBCLANG
@pytest.mark.usefixtures("emulated")
def test_a_kernel_of_dependent_iterations_takes_their_time(
    card_exec: Run, isthmus: Command, tmp_path: Path
) -> None:
    """``probe`` of 300 million iterations, of which each needs the one before: 1 s at 300 MHz."""
    (tmp_path / "probe.cpp").write_text("""
extern "C" void probe(const int* in, int* out, int what, int n) {
  unsigned x = n;
  for (unsigned i = 0; i < 300000000; ++i) x = (x << 1) ^ (x >> 3) ^ i;
  out[0] = x;
}
""")
    assert isthmus("card", "kernel", "build", "probe.cpp").returncode == 0
    program = tmp_path / "program"
    compiled(SOURCES / "probe.cpp", program)
    ran = card_exec("--kernels", ".", "--watch", "--", program, "apart", "probe.xclbin", 0)
    (row,) = [line for line in ran.errors if "kernel probe_1:" in line]
    assert "+  1.00 s" in row
    assert "bound by its loop at line 4, II 1; memory" in row
    assert row.endswith("waits 100 %; computes 1.00 s (estimate)")
    assert "computing of probe: estimate of its source, 3000000" in ran.errors[-1]
