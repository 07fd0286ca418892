"""Sources whose loops the estimate reads as HLS does: branches, structures, parameters, indices."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from isthmus_emulation import compiler
from isthmus_emulation.estimate import libclang, operators, reader, rules
from isthmus_emulation.estimate.preprocessed import Preprocessed
from isthmus_emulation.estimate.structure import Code, Cost, Storage, plain

pytestmark = pytest.mark.skipif(libclang.cindex() is None, reason="no libclang")
MHZ = 100


def read(folder: Path, text: str, *, kernel_flow: bool = True) -> Code:
    source, made = folder / "k.cpp", folder / "k.ii"
    source.write_text(text)
    compiler.run(["-std=c++17", "-w", "-isystem", f"{compiler.PARTS}/include/hls", "-E", source,
                  "-o", made], source)  # fmt: skip
    found = reader.read(libclang.cindex(), made, Preprocessed(made.read_bytes(), compiler.PARTS),
                        "k", kernel_flow=kernel_flow)  # fmt: skip
    assert found is not None
    return found.code


def storage(code: Code) -> dict[str, Storage]:
    return {plain(name): place for name, place in code.storage.items()}


def cost(folder: Path, text: str, line: int, *, part: str = "") -> Cost:
    code = read(folder, text, kernel_flow=False)
    found = rules.estimate(code, MHZ, has_card=False, part=part).costs
    (one,) = (cost for cost in found if cost.line == line)
    return one


WRITES = """#include <hls_stream.h>
void k(hls::stream<int>& in, hls::stream<int>& out) {
  for (int i = 0; i < 99; ++i) {
#pragma HLS PIPELINE
    int x = in.read();
    BODY
  }
}
"""


@pytest.mark.parametrize(
    ("body", "writes"),
    [
        ("if (i < 2) { out.write(0); continue; } out.write(x);", 1),
        ("if (i < 2) out.write(0); out.write(x);", 2),
        ("if (i < 9) { if (i < 2) { out.write(0); continue; } } out.write(x);", 2),
        ("switch (x) { case 1: out.write(0); break; case 2: out.write(1); break;"
         " default: out.write(x); }", 1),
        ("switch (x) { case 1: out.write(0); case 2: out.write(1); break; }", 2),
        ("switch (x) { case 1: if (i) break; out.write(0); break; case 2: out.write(1); }", 1),
    ],
    ids=["continue", "none", "inner", "switch", "on", "break"],
)  # fmt: skip
def test_only_one_way_through_an_iteration_writes(tmp_path: Path, body: str, writes: int) -> None:
    found = cost(tmp_path, WRITES.replace("BODY", body), 3)
    assert (found.iteration.least, found.iteration.most) == (writes, writes)


MEMBERS = """struct line { int of[16]; };
void add(line& to, const line& a, const line& b) {
  for (int j = 0; j < 16; ++j) to.of[j] = a.of[j] + b.of[j];
}
void k(const int in[64], int out[64]) {
  line a, b, sum, first;
  for (int i = 0; i < 64; ++i) {
#pragma HLS PIPELINE
    for (int j = 0; j < 16; ++j) {
      a.of[j] = in[i];
      b.of[j] = i;
    }
    add(sum, a, b);
    first.of[0] = sum.of[15];
    out[i] = first.of[0];
  }
}
"""


def test_structures_have_their_own_members(tmp_path: Path) -> None:
    places = storage(read(tmp_path, MEMBERS))
    assert {"a.of", "b.of", "sum.of", "first.of", "to.of"} <= set(places)
    assert not places["sum.of"].is_member
    found = cost(tmp_path, MEMBERS, 7)
    assert (found.iteration.least, found.iteration.most, found.why) == (1, 1, "II 1")


PARAMETER = """void half(int part[64], int out[8]) {
#pragma HLS ARRAY_PARTITION variable=part cyclic factor=8
  for (int i = 0; i < 8; ++i) {
#pragma HLS PIPELINE
    int sum = 0;
    for (int j = 0; j < 8; ++j) sum += part[8 * i + j];
    out[i] = sum;
  }
}
void outer(int all[64], int out[8]) { half(all, out); }
void k(const int in[64], int out[8]) {
  int words[64];
  for (int i = 0; i < 64; ++i) words[i] = in[i];
  outer(words, out);
}
"""


def test_a_partition_of_a_parameter_is_one_of_the_array_that_a_call_gives(tmp_path: Path) -> None:
    places = storage(read(tmp_path, PARAMETER))
    assert (places["words"].banks, places["words"].partitioned) == (8, True)
    assert cost(tmp_path, PARAMETER, 3).iteration.most == 1


PARTITIONS = """void k(int in[64]) {
#pragma HLS INTERFACE m_axi port=in latency=20
#pragma HLS ARRAY_PARTITION variable=in cyclic factor=2
  int a[4][8][16];
#pragma HLS ARRAY_PARTITION variable=a complete dim=1
#pragma HLS ARRAY_PARTITION variable=a DIMENSION
  for (int i = 0; i < 64; ++i) a[i % 4][i % 8][i % 16] = in[i];
  in[0] = a[in[1]][in[2]][in[3]];
}
"""


@pytest.mark.parametrize(
    ("dimension", "kind", "banks"),
    [("complete dim=2", "ram", 32), ("cyclic factor=4 dim=3", "ram", 16),
     ("complete dim=0", "registers", 4)],
)  # fmt: skip
def test_partitions_multiply_and_keep_the_port(
    tmp_path: Path, dimension: str, kind: str, banks: int
) -> None:
    places = storage(read(tmp_path, PARTITIONS.replace("DIMENSION", dimension)))
    assert (places["a"].kind, places["a"].banks) == (kind, banks)
    port = places["in"]
    assert (port.latency, port.bits, port.widest) == (20, 32, 512)


INDEX = """void k(const int in[4096], int out[1]) {
  int sum[64][64];
  for (int n = 0; n < 4; ++n) {
    for (int s = 0; s < 4096; ++s) {
#pragma HLS PIPELINE
      sum[s / 64][s % REST] += in[s];
      if (n == 3) out[0] = sum[s / 64][s % REST];
    }
  }
}
"""


@pytest.mark.parametrize(("rest", "most"), [(64, 1), (16, 3)])
def test_a_quotient_and_a_remainder_count_up_together(tmp_path: Path, rest: int, most: int) -> None:
    # The value that an iteration writes needs no port when the iteration reads it.
    found = cost(tmp_path, INDEX.replace("REST", str(rest)), 4)
    assert found.iteration.most in range(1, most + 1)
    assert (found.iteration.most == 1) == (rest == 64)


ROTATE = """void k(int angle, int* x, int* y) {
#pragma HLS PIPELINE
  int a = 600, b = 0;
  for (int j = 0; j < 12; ++j) {
    int sign = angle < 0 ? -1 : FACTOR;
    int by = b * sign;
    b = b + (a * sign);
    a = a - by;
    angle = angle - sign * 100;
  }
  *x = a; *y = b;
}
"""


def test_a_product_by_1_or_minus_1_is_a_choice(tmp_path: Path) -> None:
    choice, product = (
        cost(tmp_path, ROTATE.replace("FACTOR", factor), 1, part="xc7z020") for factor in ("1", "3")
    )
    assert product.iteration.most > 2 * choice.iteration.most


def test_operators_have_the_delays_of_the_family() -> None:
    for kind in ("add", "compare", "logic", "select", "shift"):
        slow = operators.latency(kind, "integer", 32, 100, "xc7z020").ns
        fast = operators.latency(kind, "integer", 32, 100).ns
        assert slow > fast > 0, kind
    # A product of 32 bits fits into a cycle of 10 ns on UltraScale+, not into one of 3.3 ns.
    assert operators.latency("multiply", "integer", 32, 100) == (0, 3.42)
    assert operators.latency("multiply", "integer", 32, 300) == (2, 0)
    assert operators.latency("multiply", "integer", 32, 100, "xc7z020") == (2, 0)
    widths = [operators.latency("add", "integer", bits, 100).ns for bits in (1, 8, 24, 64, 512)]
    assert widths == sorted(widths)


SHARED = """
import sys, threading
from isthmus_emulation.estimate import libclang

sys.setswitchinterval(1e-6)
gate, names = threading.Barrier(8), []

def name_all():
    gate.wait()
    found = libclang.cindex()
    names.append([kind.name for kind in found.CursorKind.get_all_kinds()])

threads = [threading.Thread(target=name_all) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(names), len({tuple(each) for each in names}))
"""
"""Names the kinds of cursors in threads that use libclang's package for the first time."""


def test_threads_that_use_libclang_first_read_all_names() -> None:
    """Without the lock each run of ``SHARED`` ended with ``KeyError`` in some of the threads."""
    ran = subprocess.run([sys.executable, "-c", SHARED], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["8", "1"], ran.stderr
