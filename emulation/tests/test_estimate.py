"""The estimate of a kernel's computing: the reader of sources, and kernels that are run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from on_cards import SOURCES, Run, card_exec, compiled, emulated

from conftest import Command
from isthmus_emulation import compiler, computing, estimate, event_files, watch
from isthmus_emulation.estimate import libclang, reader, rules, schedule
from isthmus_emulation.estimate.preprocessed import Preprocessed
from isthmus_emulation.estimate.structure import (
    Cost,
    Loop,
    Pragma,
    Storage,
)
from isthmus_emulation.trace import Event, KernelTime
from isthmus_emulation.xclbin.kinds import DATA_MHZ

__all__ = ["card_exec", "emulated"]  # fixtures
NEEDS_LIBCLANG = pytest.mark.skipif(libclang.cindex() is None, reason="no libclang")


def interval(cost: Cost) -> tuple[float, float]:
    return cost.iteration.least, cost.iteration.most


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
    sums = max((cause.sums for cause in cost.causes), default=0)
    assert (interval(cost)[1], sums) == interval_and_sums
    assert why in cost.why


TWICE_CALLED = """void count(const int* in, int* table, int n) {
  for (int i = 0; i < n; ++i) table[in[i] & 255] += 1;
}
void k(const int* in, int* out, int n) {
  int rare[256], often[256];
#pragma HLS ARRAY_PARTITION variable=often complete
  for (int i = 0; i < 256; ++i) rare[i] = often[i] = 0;
  count(in, rare, n);
  count(in, often, n);
  for (int i = 0; i < 256; ++i) out[i] = rare[i] + often[i];
}
"""


@NEEDS_LIBCLANG
def test_a_loop_that_is_reached_twice_keeps_the_causes_of_its_interval(tmp_path: Path) -> None:
    """Only in the first call the loop waits for a RAM, which several tables would avoid."""
    source = tmp_path / "k.cpp"
    source.write_text(TWICE_CALLED)
    text = Preprocessed(source.read_bytes(), compiler.PARTS)
    read = reader.read(libclang.cindex(), source, text, "k")
    assert read is not None
    (cost,) = (one for one in rules.estimate(read.code, DATA_MHZ).costs if one.line == 2)
    assert "dependence through rare" in cost.why
    assert [cause.kind for cause in cost.causes] == ["dependence"]


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
