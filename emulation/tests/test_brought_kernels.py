"""Kernels as others bring them: in several files, with the configuration of AMD's linker."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from on_cards import OPENCL, SOURCES, Run, card_exec, compiled, emulated

from conftest import Command
from isthmus import boards
from isthmus.errors import UsageError
from isthmus_emulation import connectivity, kernels, xclbin
from isthmus_emulation.prototype import defined_in
from isthmus_emulation.xclbin import Argument, Bank, Design, Kernel

__all__ = ["card_exec", "emulated"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")
WORK = """
#include <hls_stream.h>
#include <hls_vector.h>
#include "helper.hpp"
#define BITS 512
typedef hls::vector<int, (BITS / (8 * 4))> Words;
struct Four { long values[4]; };
__attribute__((noinline)) static Four four(long first) {
  return {{first, first + 1, first + 2, first + 3}};  // the compiler does not say what it writes
}
extern "C" {
void work(const hls::vector<int, (BITS / (8 * 4))>* in, Words* out,
#ifdef DEBUGGED
          int* seen,
#endif
          int words) {
#pragma HLS INTERFACE m_axi port = in bundle = gmem0
#pragma HLS INTERFACE mode=m_axi bundle=gmem1 port=out
  static int asked = 0;
  if (words == 0) out[0] = Words(++asked);
  static hls::stream<Words> between("between");
  for (int i = 0; i < words; ++i) between << in[i];
  for (int i = 0; i < words; ++i) out[i] = helped(between.read());
}
void pairs(Four* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = four(i);
}
}
"""
HELPER = """
#include "helper.hpp"
hls::vector<int, 16> helped(const hls::vector<int, 16>& value) { return value + 3; }
"""
CONFIG = """
# placement and clocks are nothing to the emulated card
[clock]
freqHz=300000000:left
[connectivity]
nk=work:2:left.right
sp=left.m_axi_gmem0:DDR[0]
sp=left.m_axi_gmem0:HOST[0]
sp=left.out:HOST[0]
sp=right.m_axi_gmem0:PLRAM[1]
sp=right.m_axi_gmem1:DDR[1]
sp=pairs_1.out:bank2
slr=left:SLR1
"""


def test_kernels_of_several_files_run_where_the_linker_was_told(
    isthmus: Command, card_exec: Run, tmp_path: Path
) -> None:
    (tmp_path / "all.cpp").write_text(WORK)
    (tmp_path / "helper.cpp").write_text(HELPER)
    (tmp_path / "helper.hpp").write_text(
        "#pragma once\n#include <hls_vector.h>\n"
        "hls::vector<int, 16> helped(const hls::vector<int, 16>& value);\n"
    )
    (tmp_path / "link.cfg").write_text(CONFIG)
    built = isthmus(
        "card", "kernel", "build", "all.cpp", "helper.cpp", "--top", "work", "--top", "pairs",
        "--config", "link.cfg", "-o", "made.xclbin",
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    assert built.stdout.split() == ["work.so", "pairs.so", "made.xclbin"]
    memories = [memory.name for memory in xclbin.load(tmp_path / "made.xclbin").memories]
    assert memories == ["DDR[0]", "DDR[1]", "DDR[2]", "DDR[3]", "PLRAM[0]", "PLRAM[1]", "HOST[0]"]
    program = compiled(SOURCES / "brought.cpp", tmp_path / "program")
    ran = card_exec("--kernels", tmp_path, "--", program, "all", tmp_path / "made.xclbin")
    assert ran.code == 0, ran.errors
    values = sum(4 * i + 6 for i in range(256))
    expected = {
        "left": 0, "left_group": 6, "left_asked": 2,
        "right": 0, "right_group": 1, "right_asked": 2, "pairs": values,
    }  # fmt: skip
    assert ran.figures == expected
    assert "warning" not in "".join(ran.errors)


BESIDE = """
[connectivity]
sp=copy_1.in:HBM[3]
sp=copy_1.out:DDR[1]
"""
COPY = """
extern "C" void copy(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = in[i] + 3;
}
"""


def program_that_copies(isthmus: Command, folder: Path, config: str = "") -> Path:
    """Builds the kernel ``copy``, linked as ``config`` says; returns a program that runs it."""
    (folder / "copy.cpp").write_text(COPY)
    (folder / "link.cfg").write_text(config)
    options = ("--config", "link.cfg") if config else ()
    built = isthmus("card", "kernel", "build", "copy.cpp", *options)
    assert built.returncode == 0, built.stderr
    return compiled(SOURCES / "brought.cpp", folder / "program")


def test_a_buffer_spans_pseudo_channels(isthmus: Command, card_exec: Run, tmp_path: Path) -> None:
    """The group that AMD's linker makes of them has a number behind those of all memories."""
    config = "[connectivity]\nsp=copy_1.in:HBM[0:3]\nsp=copy_1.out:HBM[1]\n"
    program = program_that_copies(isthmus, tmp_path, config)
    command = ["--kernels", tmp_path, "--", program, "spanning", tmp_path / "link.xclbin"]
    ran = card_exec("--board", "u50", *command)
    assert ran.code == 0, ran.errors
    assert ran.figures == {"in_group": 33, "out_group": 1, "overlap": 0, "last": 10}


def test_a_board_without_a_link_runs_programs(
    isthmus: Command, card_exec: Run, tmp_path: Path
) -> None:
    """Host and kernels share the memory: a sync takes the time that ``[sync]`` says."""
    program = program_that_copies(isthmus, tmp_path)
    board = "kv260,sync.call_ns=0,sync.bandwidth_Bps=4.096e9"
    command = ["--kernels", tmp_path, "--", program, "beside", tmp_path / "copy.xclbin"]
    ran = card_exec("--board", board, "--watch", *command)
    assert ran.code == 0, ran.errors
    assert ran.figures == {"in_group": 0, "out_group": 0, "wrong": 0}
    assert any("1.00 us  host to card: 4.1 kB, 4.1 GB/s" in line for line in ran.errors), ran.errors
    (shares,) = [line for line in ran.errors if "shares:" in line]
    assert "syncs to the card" in shares
    assert "link" not in shares


def test_ddr_is_numbered_behind_hbm(isthmus: Command, card_exec: Run, tmp_path: Path) -> None:
    program = program_that_copies(isthmus, tmp_path, BESIDE)
    command = ["--kernels", tmp_path, "--", program, "beside", tmp_path / "link.xclbin"]
    ran = card_exec("--board", "u250,memory.hbm=true,memory.banks=34", *command)
    assert ran.code == 0, ran.errors
    assert ran.figures == {"in_group": 3, "out_group": 33, "wrong": 0}
    few = card_exec("--board", "u250,memory.hbm=true,memory.banks=33", *command)
    assert few.code != 0
    lacks = "the design uses DDR[1], which the board u250 lacks: it has HBM[0] to HBM[31] and DDR"
    assert any(lacks in line for line in few.errors), few.errors


FEATURES = """
#include <ap_fixed.h>
#include <hls_burst_maxi.h>
#include <hls_task.h>
#include <memory>
typedef struct { short times, more; } By;
typedef unsigned Count;
namespace {
void halved(hls::stream<int>& in, hls::stream<int>& out) {
  static int runs = 0;
  const ap_fixed<8, 7> half = ap_fixed<8, 7>(in.read()) / 2;
  out.write(half.range(7, 0).to_int() + 1000 * (runs++ / 16));
}
}
extern "C" void features(hls::burst_maxi<int> in, int out[COUNT / 4][4], By by, Count rows,
                        Count& largest) {
  hls_thread_local hls::stream<int> whole, halves;
  hls_thread_local hls::task halving(halved, whole, halves);
  const auto count = std::make_shared<Count>(rows * 4);
  in.read_request(0, *count);
  for (Count n = 0; n < *count; ++n) whole.write(in.read());
  for (Count n = 0; n < *count; ++n) {
    const Count value = halves.read() * by.times + by.more;
    if (value > largest) largest = value;
    out[n / 4][n % 4] = value;
  }
}
"""


@pytest.mark.slow
def test_kernels_with_bursts_tasks_and_typedefs_run(
    isthmus: Command, card_exec: Run, tmp_path: Path
) -> None:
    (tmp_path / "features.cpp").write_text(FEATURES)
    built = isthmus("card", "kernel", "build", "features.cpp", "-D", "COUNT=16")
    assert built.returncode == 0, built.stderr
    program = compiled(SOURCES / "features.cpp", tmp_path / "program")
    ran = card_exec("--kernels", tmp_path, "--", program, "alone", tmp_path / "features.xclbin")
    assert ran.code == 0, ran.errors
    halves = 2 * sum(range(16)) + 16 * 100  # in halves: as many as its bits say
    assert ran.figures == {
        "first": halves, "first_largest": 130,
        "second": halves + 16 * 2000, "second_largest": 2130,
    }  # fmt: skip
    assert "2 kernel runs of" in ran.errors[-1]
    assert "over 256 B" in ran.errors[-1]  # of the burst, and of the array, each once


@pytest.mark.slow
def test_the_compiler_says_what_types_of_other_names_are(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "named.cpp").write_text(
        "#include <hls_burst_maxi.h>\n#include <hls_stream.h>\n"
        "typedef int* Pointer;\nstruct StreamSettings { int depth; };\n"
        "using Words = hls::stream<int>;\n"
        "void named(Pointer a, hls::burst_maxi<int> b, StreamSettings& c, Words& d) {\n"
        "#pragma HLS INTERFACE m_axi port = a bundle = gmem0\n"
        "#pragma HLS INTERFACE m_axi port = b bundle = gmem1\n"
        "  c.depth = a[0];\n  d.write(1);\n}\n"
    )
    built = isthmus("card", "kernel", "build", "named.cpp")
    assert built.returncode == 0, built.stderr
    (kernel,) = xclbin.load(tmp_path / "named.xclbin").kernels
    a, b, c, d = kernel.arguments
    assert (a.port, b.port) == ("M_AXI_GMEM0", "M_AXI_GMEM1")
    assert [one.qualifier for one in (a, b, c, d)] == ["global", "global", "scalar", "stream"]
    assert c.size == 4


TASKS = """
#include <hls_task.h>
static void first(hls::stream<int>& in, hls::stream<int>& between) { between << 3 * in.read(); }
static void second(hls::stream<int>& between, hls::stream<int>& out) {
  for (int count = 0;; ++count) out << between.read() + count;
}
extern "C" void source(const int* in, hls::stream<int>& out, int n) {
  for (int i = 0; i < n; ++i) out << in[i];
}
extern "C" void sink(hls::stream<int>& in, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = in.read();
}
extern "C" void middle(hls::stream<int>& in, hls::stream<int>& out) {
#pragma HLS INTERFACE ap_ctrl_none port = return
  hls_thread_local hls::stream<int> between;
  hls_thread_local hls::task to(second, between, out);
  hls_thread_local hls::task from(first, in, between);
}
"""


@pytest.mark.slow
def test_tasks_of_a_kernel_without_control_pass_on_what_comes(
    isthmus: Command, card_exec: Run, tmp_path: Path
) -> None:
    (tmp_path / "tasks.cpp").write_text(TASKS)
    (tmp_path / "link.cfg").write_text(
        "[connectivity]\nstream_connect=source_1.out:middle_1.in:4\n"
        "stream_connect=middle_1.out:sink_1.in:4\n"
    )
    tops = [word for name in ("source", "middle", "sink") for word in ("--top", name)]
    built = isthmus("card", "kernel", "build", "tasks.cpp", *tops, "--config", "link.cfg")
    assert built.returncode == 0, built.stderr
    program = compiled(SOURCES / "features.cpp", tmp_path / "program")
    ran = card_exec("--kernels", tmp_path, "--", program, "streams", tmp_path / "link.xclbin")
    assert ran.code == 0, ran.errors
    of_one = 4 * sum(range(100))
    assert ran.figures == {"first": of_one, "second": of_one + 100 * 100}
    assert "warning" not in "".join(ran.errors)


WRAPPED = """
#include <hls_stream.h>
template <class T>
class Named : public hls::stream<T> {
 public:
  Named() : hls::stream<T>("named") {}
  T next() { return this->read(); }
};
struct Port {
  hls::stream<int> data;
};
template <class T>
class Own {
 public:
  explicit Own(const char* name) : inner_(name) { inner_.set_name("renamed"); }
  void push(T value) { inner_.write(value); }
  T pop() { return inner_.read(); }

 private:
  hls::stream<T> inner_;
};
extern "C" void source(const int* in, Port& out, int n) {
  for (int i = 0; i < n; ++i) out.data << in[i];
}
extern "C" void sink(Named<int>& in, int* out, int n) {
  static Own<int> own("own");
  hls::stream<int> two[2] = {"one", "two"};
  for (int i = 0; i < n; ++i) own.push(in.next());
  for (int i = 0; i < n; ++i) two[i % 2] << own.pop();
  for (int i = 0; i < n; ++i) out[i] = two[i % 2].read();
}
"""


@pytest.mark.slow
def test_streams_that_a_class_wraps_lead_to_other_kernels(
    isthmus: Command, card_exec: Run, tmp_path: Path
) -> None:
    (tmp_path / "wrapped.cpp").write_text(WRAPPED)
    (tmp_path / "link.cfg").write_text("[connectivity]\nstream_connect=source_1.out:sink_1.in:4\n")
    tops = ("--top", "source", "--top", "sink")
    built = isthmus("card", "kernel", "build", "wrapped.cpp", *tops, "--config", "link.cfg")
    assert built.returncode == 0, built.stderr
    program = compiled(SOURCES / "features.cpp", tmp_path / "program")
    ran = card_exec("--kernels", tmp_path, "--", program, "streams", tmp_path / "link.xclbin")
    assert ran.code == 0, ran.errors
    assert ran.figures == {"first": sum(range(100)), "second": sum(range(100))}


def test_a_structure_of_more_than_a_stream_is_refused(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "two.cpp").write_text(
        "#include <hls_stream.h>\nstruct Two { hls::stream<int> a; int b; };\n"
        "void two(Two& in, int* out) { *out = in.a.read() + in.b; }\n"
    )
    built = isthmus("card", "kernel", "build", "two.cpp")
    assert built.returncode == 1
    assert "two.cpp does not compile" in built.stderr


@pytest.mark.slow
def test_values_that_do_not_fill_their_registers_arrive_by_opencl(
    isthmus: Command, card_exec: Run, tmp_path: Path
) -> None:
    (tmp_path / "small.cpp").write_text(
        "struct Three { short value[3]; };\n"
        'extern "C" void small(int* out, bool yes, signed char letter, short number, Three three) {'
        "\n  out[0] = yes; out[1] = letter; out[2] = number; out[3] = three.value[2];\n}\n"
    )
    built = isthmus("card", "kernel", "build", "small.cpp")
    assert built.returncode == 0, built.stderr
    program = compiled(SOURCES / "small.cpp", tmp_path / "program", OPENCL)
    ran = card_exec("--kernels", tmp_path, "--", program, tmp_path / "small.xclbin")
    assert ran.code == 0, ran.errors
    assert ran.figures == {"yes": 1, "letter": -7, "number": -300, "third": 3}
    sizes = [a.size for k in xclbin.load(tmp_path / "small.xclbin").kernels for a in k.arguments]
    assert sizes == [8, 1, 1, 2, 6]


def applied(text: str, tmp_path: Path) -> Design:
    file = tmp_path / "link.cfg"
    file.write_text(text)
    arguments = (Argument("a", "int*", port="M_AXI_GMEM0"), Argument("b", "int*"))
    kernels = (Kernel("k", arguments), Kernel("other", arguments))
    return connectivity.load([file]).applied(Design(kernels=kernels))


def test_configurations_of_the_linker_are_read(tmp_path: Path) -> None:
    design = applied(
        "[connectivity]\nnk = k:3 # three\nsp=k_1.a:HBM[0:2].4.RAMA\nsp=k_2.m_axi_gmem:DDR[1]\n"
        "sp=other_1.b:bank0\nstream_connect=k_1.x:k_2.y:64\n",
        tmp_path,
    )
    assert [i.name for k in design.kernels for i in k.instances] == ["k_1", "k_2", "k_3", "other_1"]
    assert design.connect == {
        "k_1.a": ("HBM[0]", "HBM[1]", "HBM[2]"),
        "k_2.b": ("DDR[1]",),
        "other_1.b": ("DDR[0]",),
    }
    assert design.stream_connect == ("k_1.x:k_2.y:64",)
    names = [bank.name for bank in design.memories]
    assert names == [*(f"HBM[{n}]" for n in range(32)), "DDR[0]", "DDR[1]"]
    alone = msgspec.structs.replace(design, stream_connect=())
    rows = [memory.name for memory in alone.build().memories]
    assert [rows.index(name) for name in ("HBM[0]", "HBM[31]", "DDR[0]", "DDR[1]")] == [
        0,
        31,
        32,
        33,
    ]
    short = applied("[connectivity]\nsp=k_1.a:PLRAM3\nsp=k_1.b:DDR0\n", tmp_path)
    assert short.connect == {"k_1.a": ("PLRAM[3]",), "k_1.b": ("DDR[0]",)}
    assert (
        applied("connectivity.nk=other:1:mine\n", tmp_path).kernels[1].instances[0].name == "mine"
    )
    assert applied("[connectivity]\nslr=k_1:SLR0\n", tmp_path).memories == Design().memories


TWO = "void k(const int* a, int* b, const int* c, int* d, int n) {\n%s}\n"
BUNDLED = "#pragma HLS INTERFACE m_axi port=c bundle=mine\n"


@pytest.mark.parametrize(
    ("pragmas", "lines", "reached"),
    [
        # By AMD's document UG1399, chapter MAXI: the default bundle is gmem0.
        ("", "sp=k_1.m_axi_gmem0:DDR[1]", {"a": 1, "b": 1, "c": 1, "d": 1}),
        (BUNDLED, "sp=k_1.m_axi_gmem0:DDR[1]", {"a": 1, "b": 1, "d": 1}),
        # Ports of pointers without a bundle, where each has one.
        ("", "sp=k_1.m_axi_gmem0:DDR[1]\nsp=k_1.m_axi_gmem3:DDR[2]", {"a": 1, "d": 2}),
        (BUNDLED, "sp=k_1.m_axi_gmem2:DDR[2]\nsp=k_1.m_axi_mine:DDR[1]", {"d": 2, "c": 1}),
        *(
            ("", f"sp=k_1.m_axi_gmem0:DDR[1]\n{said}", {"a": 1})
            for said in (
                "[hls]\nsyn.interface.m_axi_auto_max_ports=1",
                "[hls]\nm_axi_auto_max_ports=true",
                "[hls]\nmax_memory_ports=all",
            )
        ),
        (
            "",
            "sp=k_1.m_axi_gmem0:DDR[1]\n[hls]\nsyn.interface.m_axi_auto_max_ports=0",
            {"a": 1, "b": 1, "c": 1, "d": 1},
        ),
    ],
)
def test_ports_to_memory_are_named_as_vitis_names_them(
    tmp_path: Path, pragmas: str, lines: str, reached: dict[str, int]
) -> None:
    found = defined_in(TWO % pragmas, "k")
    assert found is not None
    file = tmp_path / "link.cfg"
    file.write_text(f"[connectivity]\n{lines}\n")
    design = connectivity.load([file]).applied(Design(kernels=(found.kernel,)))
    expected = {f"k_1.{name}": (f"DDR[{bank}]",) for name, bank in reached.items()}
    assert design.connect == expected


def test_a_port_that_no_pointer_has_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "link.cfg"
    file.write_text("[connectivity]\nsp=k_1.m_axi_gmem4:DDR[0]\n")
    found = defined_in(TWO % "", "k")
    assert found is not None
    with pytest.raises(UsageError, match="no argument or port m_axi_gmem4 that reaches memory"):
        connectivity.load([file]).applied(Design(kernels=(found.kernel,)))


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("nk=gone:2", "nk=gone: no kernel of that name is built here; there are k, other"),
        ("nk=k:two", "line 2: cannot read 'nk=k:two'"),
        ("nk=k:2:one", "line 2: cannot read 'nk=k:2:one'"),
        ("nk=k:0", "line 2: cannot read"),
        ("spp=k_1.a:DDR[0]", "line 2: cannot read 'spp=k_1.a:DDR[0]'"),
        ("[conectivity]", "line 2: cannot read '[conectivity]'"),
        ("sp=k_1:DDR[0]", "line 2: cannot read"),
        ("sp=k_1.a:DDR[3:1]", "line 2: cannot read"),
        ("sp=k_1.a:DDR[9999999999]", "line 2: cannot read"),
        ("sp=k_9.a:DDR[0]", "no instance k_9"),
        (
            "sp=k_1.m_axi_gmem7:DDR[0]",
            "no argument or port m_axi_gmem7 that reaches memory; there are a, b, m_axi_gmem0, "
            "m_axi_gmem",
        ),
        ("sp=k_1.a:DDX[0]", "sp=k_1.a:DDX[0]: no such memory; there are HBM[N], DDR[N]"),
        ("sp=k_1.a:MC_NOC0", "sp=k_1.a:MC_NOC0: no such memory"),
    ],
)
def test_what_a_configuration_cannot_mean_is_said(tmp_path: Path, line: str, what: str) -> None:
    with pytest.raises(UsageError) as refused:
        applied(f"[connectivity]\n{line}\n", tmp_path)
    assert what in str(refused.value)
    with pytest.raises(UsageError):
        connectivity.load([tmp_path / "gone.cfg"])
    with pytest.raises(UsageError, match=r"stands in no section: write \[connectivity\] above it"):
        applied("platform=any\nnk=k:2\n", tmp_path)


def test_memories_and_connections_of_a_description_stay(tmp_path: Path) -> None:
    described = Design(
        kernels=(Kernel("k", (Argument("a", "int*"), Argument("b", "int*"))),),
        memories=(Bank("slow"), Bank("DDR[1]", size=1 << 20)),
        connect={"k_1.b": ("slow",), "k_1.a": ("slow",)},
    )
    file = tmp_path / "link.cfg"
    file.write_text("[connectivity]\nsp=k_1.a:DDR[1]\n")
    design = connectivity.load([file]).applied(described)
    names = [bank.name for bank in design.memories]
    assert names == ["slow", "DDR[1]", "DDR[0]", "DDR[2]", "DDR[3]"]
    assert design.memories[1].size == 1 << 20
    assert design.connect == {"k_1.b": ("slow",), "k_1.a": ("DDR[1]",)}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("((512) / (8 * 4))", "16"),
        ("8 - 16 + 32", "24"),
        ("4*8", "32"),
        ("N * 2 + 3", "N * 2 + 3"),
        ("10 / 0", "10 / 0"),
    ],
)
def test_arithmetic_of_a_type_is_done(written: str, read: str) -> None:
    found = defined_in(f"void k(V<int, {written}>* a, int n) {{}}", "k")
    assert found is not None
    assert found.parameters[0].type == f"V<int, {read}>*"


def test_pragmas_of_a_function_say_how_it_is_connected() -> None:
    source = (
        "void k(int* a, int* b, hls::vector<int, ((512) / (8 * 4))>* c) {\n"
        "  // #pragma HLS INTERFACE m_axi port=b bundle=wrong\n"
        "#pragma HLS interface M_AXI bundle = one port=a offset = slave\n"
        "  { }\n}\n"
        "void other(int* a) {\n#pragma HLS INTERFACE ap_ctrl_none port=return\n}\n"
    )
    found = defined_in(source, "k")
    assert found is not None
    assert [a.port for a in found.kernel.arguments] == ["M_AXI_ONE", None, None]
    assert found.parameters[2].type == "hls::vector<int, 16>*"
    assert found.kernel.control == "ap_ctrl_hs"
    in_a_header = "template <class T> T\ncopies<T>:: k(T* a) { return *a; }\n"
    assert defined_in(in_a_header + source + "int k(int) { }\n", "k") == found
    other = defined_in(source, "other")
    assert other is not None
    assert other.kernel.control == "ap_ctrl_none"
    with pytest.raises(UsageError, match=r"names port=z, which is none of its arguments \(a\)"):
        defined_in("void k(int* a) {\n#pragma HLS INTERFACE m_axi port=z bundle=g\n}\n", "k")


@pytest.mark.parametrize(
    ("sources", "arguments", "what"),
    [
        ({"a.cpp": "void a(int* x) { y(); }\n"}, ["a.cpp"], "'y' was not declared"),
        ({"a.cpp": "int y(); void a(int* x) { *x = y(); }\n"}, ["a.cpp"], "undefined reference"),
        (
            {"a.cpp": "void a(int* x) {}\n", "b.cpp": "void b(int* x) {}\n"},
            ["a.cpp", "b.cpp", "--top", "c"],
            "none of the sources defines the kernel c",
        ),
        (
            {"a.cpp": "void c(int* x) {}\n", "b.cpp": "void c(int* x) {}\n"},
            ["a.cpp", "b.cpp", "--top", "c"],
            "several sources define the kernel c",
        ),
    ],
)
def test_what_is_missing_is_said_when_a_kernel_is_built(
    isthmus: Command, tmp_path: Path, sources: dict[str, str], arguments: list[str], what: str
) -> None:
    for name, text in sources.items():
        (tmp_path / name).write_text(text)
    ended = isthmus("card", "kernel", "build", *arguments)
    assert ended.returncode in {1, 2}
    assert what in ended.stderr
    assert not list(tmp_path.glob("*.so"))
    assert not list(tmp_path.glob("*.xclbin"))


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (34, [*(f"HBM[{n}]" for n in range(32)), "DDR[0]", "DDR[1]", "HOST[0]"]),
        (4, ["HBM[0]", "HBM[1]", "HBM[2]", "HBM[3]", "HOST[0]"]),
    ],
)
def test_the_cards_own_xclbin_has_ddr_behind_the_boards_hbm(
    count: int, expected: list[str]
) -> None:
    board = boards.named(f"u250,memory.hbm=true,memory.banks={count}")
    design = kernels.design(["read_bandwidth"], board)
    assert [memory.name for memory in design.build().memories] == expected
    assert design.connect == {"read_bandwidth_1.input0": ("HBM[0]", "HOST[0]")}


def test_each_instance_runs_its_kernels_code(
    card_exec: Run, isthmus: Command, tmp_path: Path
) -> None:
    """The loader took a copy of one kernel's library for that of another kernel."""
    for number, name in enumerate(("a", "b"), start=1):
        code = f'extern "C" void {name}(int* out) {{ out[0] = {number}; }}\n'
        (tmp_path / f"{name}.cpp").write_text(code)
    (tmp_path / "two.cfg").write_text("[connectivity]\nnk=a:2:a_1.a_2\nnk=b:2:b_1.b_2\n")
    build = ("card", "kernel", "build", "a.cpp", "b.cpp", "--config", "two.cfg", "-o", "two.xclbin")
    made = isthmus(*build)
    assert made.returncode == 0, made.stderr
    program = compiled(SOURCES / "instances.cpp", tmp_path / "program")
    instances = ["a:{a_1}", "a:{a_2}", "b:{b_1}", "b:{b_2}"]
    ran = card_exec("--clock", "wall", "--kernels", ".", "--", program, "two.xclbin", *instances)
    assert ran.code == 0, ran.errors
    assert ran.output.endswith("1 1 2 2 ")
