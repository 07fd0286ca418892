"""What HLS copies: processes of unrolled loops, functions of constants, short rows and tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from isthmus_emulation import compiler
from isthmus_emulation.estimate import libclang, reader, rules
from isthmus_emulation.estimate.preprocessed import Preprocessed
from isthmus_emulation.estimate.structure import Cost, Estimate, Span

pytestmark = pytest.mark.skipif(libclang.cindex() is None, reason="no libclang")


def estimated(tmp_path: Path, text: str) -> Estimate:
    source, made = tmp_path / "k.cpp", tmp_path / "k.ii"
    source.write_text(text)
    compiler.run(["-std=c++17", "-w", f"-I{compiler.PARTS}/include", "-isystem",
                  f"{compiler.PARTS}/include/hls", "-E", source, "-o", made], source)  # fmt: skip
    read = reader.read(libclang.cindex(), made, Preprocessed(made.read_bytes(), compiler.PARTS),
                       "k")  # fmt: skip
    assert read is not None
    return rules.estimate(read.code, 300)


def cost_at(tmp_path: Path, text: str, line: int) -> Cost:
    return next(one for one in estimated(tmp_path, text).costs if one.line == line)


REGION = """#include <hls_stream.h>
using stream = hls::stream<int>;
void stage(stream& from, stream& to, int n) {
  for (int i = 0; i < LENGTH; ++i) to.write(from.read());
}
void k(const int* in, int* out, int n) {
  stream s[5];
#pragma HLS DATAFLOW
  for (int i = 0; i < 100; ++i) s[0].write(in[i]);
  for (int t = 0; t < 4; ++t) {
PRAGMA
    stage(s[t], s[t + 1], n);
  }
  for (int i = 0; i < 100; ++i) out[i] = s[4].read();
}
"""


@pytest.mark.parametrize(
    ("length", "pragma", "wanted"),
    [
        ("100", "#pragma HLS UNROLL", Span(0.25, 0.25)),
        # Any of the four copies may have most of the iterations.
        ("n", "#pragma HLS UNROLL", Span(0.25, 1)),
        ("100", "", Span(1, 1)),
    ],
    ids=["constant", "variable", "no pragma"],
)
def test_processes_of_an_unrolled_loop_run_at_once(
    tmp_path: Path, length: str, pragma: str, wanted: Span
) -> None:
    text = REGION.replace("LENGTH", length).replace("PRAGMA", pragma)
    assert cost_at(tmp_path, text, 4).iteration == wanted


@pytest.mark.parametrize(("words", "interval"), [(4, 1), (12, 2)], ids=["short", "long"])
def test_short_rows_of_a_split_array_are_registers(
    tmp_path: Path, words: int, interval: int
) -> None:
    """A shift in each row reads 3 words and writes 3: two ports of a RAM need several cycles."""
    text = f"""void k(const int* in, int* out) {{
  int w[3][{words}];
#pragma HLS ARRAY_PARTITION variable=w complete
  for (int i = 0; i < 100; ++i) {{
    for (int r = 0; r < 3; ++r) {{
      w[r][i % 3] = w[r][(i + 1) % 3] + w[r][(i + 2) % 3];
    }}
    w[0][3] = in[i];
    out[i] = w[1][in[i]];
  }}
}}
"""
    assert cost_at(tmp_path, text, 4).iteration.most >= interval
    assert ("ports of w" in cost_at(tmp_path, text, 4).why) == (interval > 1)


NEST = """void f(int* out, int stage) {
  int points = 1 << stage;
  for (int i = 0; i < 1024; i += points) {
    int at = 0;
    for (int j = 0; j < points / 2; ++j) {
      out[i + j] = at;
      at += 3;
    }
  }
}
void k(int* out, int n) {
#pragma HLS INTERFACE ap_memory port = out
  f(out, 2);
  f(out, GIVEN);
}
"""


def test_a_function_is_copied_for_constants_that_bound_its_loops(tmp_path: Path) -> None:
    """With constant bounds both loops are one; else each begin of the inner loop may take time."""
    constant = cost_at(tmp_path, NEST.replace("GIVEN", "3"), 5)
    variable = cost_at(tmp_path, NEST.replace("GIVEN", "n"), 5)
    assert (constant.entry.most, constant.iteration) == (0, Span(1, 1))
    assert variable.entry.most > 0


TABLE = """TYPE int table[512] = {1, 2, 3};
void k(int* out) {
#pragma HLS INTERFACE ap_memory port = out
  for (int i = 0; i < 128; ++i) {
    out[i] = table[3 * i % 512] + table[5 * i % 512] + table[7 * i % 512] + table[9 * i % 512];
  }
}
"""


def test_a_table_of_constants_has_copies_for_all_readers(tmp_path: Path) -> None:
    assert cost_at(tmp_path, TABLE.replace("TYPE", "const"), 4).iteration == Span(1, 1)
    assert cost_at(tmp_path, TABLE.replace("TYPE", ""), 4).iteration.most == 2


@pytest.mark.parametrize(("factor", "is_nest"), [(1, True), (2, False)], ids=["one", "two"])
def test_a_loop_that_is_unrolled_in_part_has_several_loops_within(
    tmp_path: Path, factor: int, is_nest: bool
) -> None:
    """Such a nest may stay apart, so that each begin of the inner loop may take time."""
    text = f"""void k(int* out) {{
#pragma HLS INTERFACE ap_memory port = out
  for (int i = 0; i < 128; ++i) {{
#pragma HLS UNROLL factor = {factor}
    for (int j = 0; j < 128; ++j) out[128 * i + j] = i * j;
  }}
}}
"""
    assert (cost_at(tmp_path, text, 5).entry.most == 0) == is_nest


@pytest.mark.parametrize(
    ("row", "least"), [("t", 0.25), ("0", 1.0)], ids=["rows apart", "the same row"]
)
def test_copies_of_a_loop_that_share_nothing_may_run_beside_each_other(
    tmp_path: Path, row: str, least: float
) -> None:
    text = f"""void k(int seed, int* out) {{
#pragma HLS INTERFACE ap_memory port = out
  int rows[4][512];
#pragma HLS ARRAY_PARTITION variable=rows complete dim=1
  for (int t = 0; t < 4; ++t) {{
#pragma HLS UNROLL
    for (int i = 0; i < 512; ++i) {{
#pragma HLS PIPELINE
      rows[{row}][i] = seed;
    }}
  }}
  out[0] = rows[seed][seed];
}}
"""
    assert cost_at(tmp_path, text, 7).iteration == Span(least, 1)
