"""Processes of DATAFLOW regions run beside each other, with streams as long as on a board.

The loops of all else follow each other, with what they read and write.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from on_cards import SOURCES, Run, card_exec, compiled, emulated

from conftest import Command
from isthmus_emulation import build_kernel, computing, estimate
from isthmus_emulation.estimate import libclang

__all__ = ["card_exec", "emulated"]  # fixtures
COUNT = 1024
KERNEL = """
#include <hls_stream.h>
typedef hls::stream<int> stream;
static void running(const int* in, stream& sums, stream& words, int n) {
  int last = 0;
  for (int i = 0; i < n; ++i) {
    words.write(in[i] + last);
    last = sums.read();
  }
}
static void back(stream& words, stream& sums, int* out, int n) {
  for (int i = 0; i < n; ++i) {
    const int word = words.read();
    out[i] = word;
    sums.write(word);
  }
}
static void feedback(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  stream words, sums;
  running(in, sums, words, n);
  back(words, sums, out, n);
}
static void split(const int* in, stream& a, stream& b, int n) {
  for (int i = 0; i < n; ++i) a.write(in[i]);
  for (int i = 0; i < n; ++i) b.write(in[i]);
}
static void pass(stream& from, stream& to, int n) {
  for (int i = 0; i < n; ++i) to.write(from.read());
}
static void join(stream& a, stream& b, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = a.read() + b.read();
}
static void shallow(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  stream a, b, c[2];
#pragma HLS STREAM variable=c depth=16
  split(in, a, b, n);
  pass(a, c[1], n);
  join(b, c[1], out, n);
}
static void deep(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  hls::stream<int, 1024> a;
  stream b;
  split(in, a, b, n);
  join(b, a, out, n);
}
static void fill(stream& from, int* block, int& sum) {
  sum = 0;
  for (int i = 0; i < 64; ++i) sum += block[i] = from.read();
}
static void flush(const int* block, int sum, stream& to) {
  to.write(sum);
  for (int i = 0; i < 64; ++i) to.write(block[i]);
}
static void blocks(stream& from, stream& to, int n) {  // a region within a process
  for (int i = 0; i < n; i += 64) {
#pragma HLS DATAFLOW
    int block[64], sum;
    fill(from, block, sum);
    flush(block, sum, to);
  }
}
static void polled(stream& from, int* out, int n) {
  for (int i = 0; i < n + n / 64;) {
    int word;
    if (from.read_nb(word)) out[i++ % n] = word;
  }
}
static void source(const int* in, stream& to, int n) {
  for (int i = 0; i < n; ++i) {
    while (to.full()) {
    }
    to.write(in[i]);
  }
}
static void nested(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  stream a, b;
  source(in, a, n);
  blocks(a, b, n);
  polled(b, out, n);
}
static void ring(int n) {
#pragma HLS DATAFLOW
  stream a, b;
  pass(a, b, n);
  pass(b, a, n);
}
static void both(const int* in, stream& a, stream& b, int n) {
  for (int i = 0; i < n; ++i) {
    a.write(in[i]);
    b.write(in[i]);
  }
}
static void second_first(stream& a, stream& b, int* out, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += b.read();
  for (int i = 0; i < n; ++i) out[i] = a.read() + sum;
}
static void two(const int* in, stream& y, stream& a, stream& b, int n) {
  for (int i = 0; i < n; ++i) a.write(in[i]);
  for (int i = 0; i < n; ++i) b.write(y.read());
}
static void three(stream& z, stream& a, stream& b, int* out, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += z.read();
  for (int i = 0; i < n; ++i) sum += a.read();
  for (int i = 0; i < n; ++i) out[i] = b.read() + sum;
}
static void slow(stream& from, stream& to, int n) {
  for (int i = 0; i < n; ++i) to.write((from.read() * 1.5f + 2.0f) * 3.0f / 3.5f);
}
static void burst(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  stream a, b;
  split(in, a, b, n);
  join(a, b, out, n);
}
static void order(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  stream a, b;
  both(in, a, b, n);
  second_first(a, b, out, n);
}
static void later(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  stream y, z, a, b;
#pragma HLS STREAM variable=y depth=4
  split(in, y, z, n);
  two(in, y, a, b, n);
  three(z, a, b, out, n);
}
static void held(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  stream a, b, c;
  split(in, a, b, n);
  slow(a, c, n);
  join(c, b, out, n);
}
static void one_short(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  stream a, b;
#pragma HLS STREAM variable=a depth=15
  split(in, a, b, n);
  join(a, b, out, n);
}
static void enough(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  stream a, b;
#pragma HLS STREAM variable=a depth=16
  split(in, a, b, n);
  join(a, b, out, n);
}
template <int N>
static void chain(stream steps[N + 1], int n) {
#pragma HLS INLINE
each:
  for (int k = 0; k < N; ++k) {
#pragma HLS UNROLL
    pass(steps[k], steps[k + 1], n);
  }
}
static void sink(stream& from, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = from.read();
}
static void unrolled(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  static stream a[4], b[3][3];
  source(in, a[0], n);
  chain<3>(a, n);
  pass(a[3], b[0][0], n);
  for (int i = 0; i < 2; ++i) {
#pragma HLS UNROLL
    for (int j = 0; j < 2; ++j)
#pragma HLS UNROLL
      pass(b[i][j], j == 1 ? b[i + 1][0] : b[i][1], n);
  }
  sink(b[2][0], out, n);
}
static void rolled(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  stream a[3];
  source(in, a[0], n);
  for (int k = 0; k < 2; ++k) pass(a[k], a[k + 1], n);
  sink(a[2], out, n);
}
static void beside(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  stream a[2], b[2];
  split(in, a[0], b[0], n);
  for (int k = 0; k < 2; ++k) {
#pragma HLS UNROLL
    pass(k == 0 ? a[0] : b[0], k == 0 ? a[1] : b[1], n);
  }
  join(b[1], a[1], out, n);
}
static int turn;
static void global_counter(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  static stream a[3];
  source(in, a[0], n);
  for (turn = 0; turn < 2; ++turn) {
#pragma HLS UNROLL
    pass(a[turn], a[turn + 1], n);
  }
  sink(a[2], out, n);
}
static void one_name(const int* in, int* out, int n) {
#pragma HLS DATAFLOW
  static stream a[3];
  source(in, a[0], n);
  for (int i = 0; i < 1; ++i) {
#pragma HLS UNROLL
    for (int i = 0; i < 2; ++i)
#pragma HLS UNROLL
      pass(a[i], a[i + 1], n);
  }
  sink(a[2], out, n);
}
extern "C" void probe(const int* in, int* out, int what, int n) {
  if (what == 0) feedback(in, out, n);
  if (what == 1) shallow(in, out, n);
  if (what == 2) deep(in, out, n);
  if (what == 3) nested(in, out, n);
  if (what == 4) ring(n);
  if (what == 5) burst(in, out, 16);
  if (what == 6) order(in, out, 16);
  if (what == 7) later(in, out, 16);
  if (what == 8) held(in, out, 16);
  if (what == 9) one_short(in, out, 16);
  if (what == 10) enough(in, out, 16);
  if (what == 11) unrolled(in, out, n);
  if (what == 12) rolled(in, out, n);
  if (what == 13) beside(in, out, n);
  if (what == 14) global_counter(in, out, n);
  if (what == 15) one_name(in, out, n);
}
"""
SUM = COUNT * (COUNT + 1) // 2
STOPS = (
    "kernel probe_1 stands still on a board: stream c[1] is full with 16 words, and pass (line 39) "
    "waits for room in it; split (line 38) waits for room in a, join (line 40) waits for a word of "
    "b. #pragma HLS STREAM variable=c depth=1021 (line 37) lets it go on"
)
RING = (
    "wait for one another: pass (line 88) waits for a word of a, pass (line 89) waits for a word "
    "of b"
)
"""It has no depth that would do."""


@pytest.mark.usefixtures("emulated")
@pytest.mark.skipif(libclang.cindex() is None, reason="no libclang")
@pytest.mark.parametrize("options", [(), ("--cycles", "n")], ids=["estimated", "given"])
def test_processes_of_a_region_run_beside_each_other(
    card_exec: Run, isthmus: Command, tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "probe.cpp").write_text(KERNEL)
    assert isthmus("card", "kernel", "build", "probe.cpp", *options).returncode == 0
    program = tmp_path / "program"
    compiled(SOURCES / "probe.cpp", program)

    def ran(what: int) -> tuple[float | None, str]:
        done = card_exec("--kernels", ".", "--", program, "apart", "probe.xclbin", what)
        text = " ".join(done.errors)
        return (done.figures["sum"] if done.code == 0 else None), text

    total, text = ran(0)
    assert (total, "warning" in text) == (COUNT * (COUNT + 1) * (COUNT + 2) / 6, False)
    total, text = ran(1)
    assert (total, STOPS in text) == (2 * SUM, True)
    # Words of a loop on memory do not count as room: neither for a later loop, nor for the words
    # that follow in the same loop. Words in the pipeline between two streams do.
    without_pragma = ran(5)[1]
    assert named_depths(without_pragma) == ["a depth=16"]
    declared = re.search(r"variable=a depth=16 \(line (\d+)\)", without_pragma)
    assert declared
    assert KERNEL.splitlines()[int(declared[1]) - 1] == "  stream a, b;"
    assert named_depths(ran(6)[1]) == ["a depth=16"]
    assert named_depths(ran(7)[1]) == ["a depth=15", "y depth=16"]
    assert named_depths(ran(8)[1]) == []
    # ``a.read() + b.read()`` takes no word of a before there is one of b.
    assert named_depths(ran(9)[1]) == ["a depth=16"]
    assert named_depths(ran(10)[1]) == []
    # HLS makes processes of an unrolled loop's calls, also within a function with INLINE.
    total, text = ran(11)
    assert (total, "warning" in text) == (SUM, False)
    total, text = ran(12)
    assert (total, "pass (line" in text) == (SUM, False)
    assert named_depths(text) == [f"a depth={COUNT}"]
    total, text = ran(13)
    assert (total, "pass (line" in text) == (2 * SUM, True)
    for what in (14, 15):
        total, text = ran(what)
        assert (what, total, "warning" in text) == (what, SUM, False)
    if options:
        return
    total, text = ran(2)
    assert (total, "warning" in text) == (2 * SUM, False)
    total, text = ran(3)
    assert ("warning" in text, total) == (False, nested_sum())
    _, text = ran(4)
    assert RING in text


TAKEN = (
    "Pair word(a.read(), b.read()); const int sum = word.first + word.second",
    "const Pair word{a.read(), b.read()}; const int sum = word.first + word.second",
    "Plain word = {a.read(), b.read()}; const int sum = word.first + word.second",
    "int word[2] = {a.read(), b.read()}; const int sum = word[0] + word[1]",
)
"""Declarations that take words of two streams."""


@pytest.mark.usefixtures("emulated")
@pytest.mark.skipif(libclang.cindex() is None, reason="no libclang")
def test_a_declaration_takes_the_words_of_all_its_streams_at_once(
    card_exec: Run, tmp_path: Path
) -> None:
    text = """
#include <hls_stream.h>
typedef hls::stream<int> stream;
struct Plain { int first, second; };
struct Pair { int first, second; Pair(int a, int b) : first(a), second(b) {} };
static void split(const int* in, stream& a, stream& b) {
  for (int i = 0; i < 16; ++i) a.write(in[i]);
  for (int i = 0; i < 16; ++i) b.write(in[i]);
}
"""
    for number, taken in enumerate(TAKEN):
        text += f"""
static void join{number}(stream& a, stream& b, int* out) {{
  for (int i = 0; i < 16; ++i) {{
    {taken};
    out[i] = sum;
  }}
}}
static void region{number}(const int* in, int* out) {{
#pragma HLS DATAFLOW
  stream a, b;
#pragma HLS STREAM variable=a depth=15
  split(in, a, b);
  join{number}(a, b, out);
}}
"""
    calls = "".join(f"  if (what == {n}) region{n}(in, out);\n" for n in range(len(TAKEN)))
    text += 'extern "C" void probe(const int* in, int* out, int what, int n) {\n' + calls + "}\n"
    (tmp_path / "probe.cpp").write_text(text)
    made = build_kernel.build(build_kernel.Order([tmp_path / "probe.cpp"], "hw_emu"))
    assert not any("cannot be counted" in note for note in made.notes), made.notes
    compiled(SOURCES / "probe.cpp", tmp_path / "program")
    for what in range(len(TAKEN)):
        ran = card_exec("--kernels", ".", "--", tmp_path / "program", "apart", made.xclbin, what)
        assert named_depths(" ".join(ran.errors)) == ["a depth=16"], TAKEN[what]


def test_a_kernel_whose_loops_cannot_be_counted_names_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = estimate.counted

    def broken(*given: Any, **named: Any) -> estimate.Counted:
        found = counted(*given, **named)
        text = (found.text or b"") + b'\n# 7 "kernel.cpp"\nint count = missing;\n'
        return found._replace(text=text, why="")

    monkeypatch.setattr(estimate, "counted", broken)
    source = tmp_path / "probe.cpp"
    source.write_text('extern "C" void probe(int* out, int n) { out[0] = n; }\n')
    (note,) = build_kernel.build(build_kernel.Order([source], "hw_emu")).notes
    assert "its loops cannot be counted: kernel.cpp:7:13: error: " in note


def named_depths(text: str) -> list[str]:
    """The depths that warnings name."""
    return sorted(re.findall(r"#pragma HLS STREAM variable=(\w+ depth=\d+)", text))


@pytest.mark.usefixtures("emulated")
def test_depths_that_nobody_checks_are_said(
    card_exec: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "probe.cpp"
    source.write_text(
        "#include <hls_stream.h>\n"
        'extern "C" void probe(const int* in, int* out, int what, int n) {\n'
        "#pragma HLS DATAFLOW\n"
        "  hls::stream<int> a;\n"
        "  for (int i = 0; i < n; ++i) a.write(in[i]);\n"
        "  for (int i = 0; i < n; ++i) out[i] = a.read();\n"
        "}\n"
    )
    monkeypatch.setattr(libclang, "cindex", lambda: None)
    made = build_kernel.build(build_kernel.Order([source], "hw_emu"))
    assert made.notes == [
        "kernel probe: computing not modelled, stream depths of its DATAFLOW regions not checked: "
        f"no libclang 18 or later is here: {libclang.INSTALL}"
    ]
    compiled(SOURCES / "probe.cpp", tmp_path / "program")
    ran = card_exec(
        "--watch", "--kernels", ".", "--", tmp_path / "program", "apart", made.xclbin, 0
    )
    assert "stream depths not checked: probe" in ran.errors
    assert "; stream depths not checked for probe" in ran.errors[-1]
    told = computing.sentences([computing.Computing("k", "given", "n", has_depths=False)], "build")
    assert told == [
        "computing of k: n",
        "stream depths not checked for k",
        f"libclang is missing: {libclang.INSTALL}, then build again",
    ]


def nested_sum() -> int:
    """The sum of what ``nested`` leaves: its output is a block's sum before each block's words."""
    words: list[int] = []
    for block in range(1, COUNT, 64):
        words += [sum(range(block, block + 64)), *range(block, block + 64)]
    out = [0] * COUNT
    for at, word in enumerate(words):
        out[at % COUNT] = word
    return sum(out)


BLOCKS = """
#include <ap_int.h>
typedef ap_uint<512> word;
extern "C" void probe(const word* in, word* out, int what, int n) {
  word all = 0;
  if (what == 0) {
    for (int i = 0; i < 64 * 64; ++i) all |= in[i % 64];
  } else {
    for (int sweep = 0; sweep < what; ++sweep) {
      for (int i = 0; i < 64 * 64 / what; ++i) all |= in[i % 64];
    }
  }
  out[0] = all;
}
"""
"""Reads 256 KiB of host memory in one loop, or in ``what`` loops one after the other."""


@pytest.mark.usefixtures("emulated")
@pytest.mark.skipif(libclang.cindex() is None, reason="no libclang")
def test_loops_that_follow_each_other_do_not_overlap(
    card_exec: Run, isthmus: Command, tmp_path: Path
) -> None:
    (tmp_path / "probe.cpp").write_text(BLOCKS)
    (tmp_path / "probe.toml").write_text(
        "memories = [{ name = 'bank0' }]\n"
        "[connect]\n'probe_1.in' = ['bank0', 'HOST[0]']\n'probe_1.out' = ['bank0', 'HOST[0]']\n"
    )
    made = isthmus("card", "kernel", "build", "probe.cpp")
    assert made.returncode == 0, made.stderr
    program = tmp_path / "program"
    compiled(SOURCES / "probe.cpp", program)

    def took_us(loops: int) -> float:
        options = ("--kernels", ".", "--clock", "card", "--", program, "host_only", "probe.xclbin")
        ran = card_exec(*options, loops)
        assert ran.code == 0, ran.errors
        (found,) = re.findall(r"1 kernel run of ([\d.]+) us", ran.errors[-1])
        return float(found)

    one, few, many = took_us(0), took_us(4), took_us(64)
    assert one < few < 1.4 * one
    assert many > 1.8 * one
