"""Kernels of one's own: begun, built and run on the emulated card."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from on_cards import SOURCES, Ran, Run, card_exec, emulated, programs

from conftest import Command, made_once
from isthmus.emulation.prototype import defined_in, parse
from isthmus.errors import UsageError

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")
ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "kernels" / "gallery"
XRT = ["-I/usr/include/xrt", "-lxrt_coreutil", "-luuid", "-pthread"]
IN_VERILOG = pytest.mark.skipif(shutil.which("verilator") is None, reason="no verilator here")
PROBE = """
#include <cstring>
extern "C" void probe(const int* in, int* out, int what, int n) {
  int own[4] = {1, 2, 3, 4};
  for (int sweep = 0; sweep < (what == 1 ? 3 : what == 0 ? 1 : 0); ++sweep) {
    for (int i = 0; i < n; ++i) out[i] = in[i] + own[(i + n) % 4];
  }
  if (what == 2) std::memcpy(out, in, sizeof(int) * n);
  if (what == 3) out[n] = 1;
  if (what == 4) out[0] = in[-1];
}
"""
BYTES = 1024 * 4
SUM_OF_FIRST = 1024 * 1025 / 2


def compiled(source: Path, program: Path, *options: str) -> Path:
    compiler = os.environ.get("CXX", "c++")
    command = [compiler, "-std=c++20", "-w", *options, str(source), "-o", str(program), *XRT]
    subprocess.run(command, check=True)
    return program


@pytest.fixture(scope="session")
def probe(run_isthmus: Command) -> Path:
    """A folder with a kernel that does what it is told, and a program that tells it."""

    def make(folder: Path) -> None:
        (folder / "probe.cpp").write_text(PROBE)
        (folder / "probe.toml").write_text(
            "memories = [{ name = 'bank0' }]\n"
            "[connect]\n'probe_1.in' = ['bank0', 'HOST[0]']\n'probe_1.out' = ['bank0', 'HOST[0]']\n"
        )
        made = run_isthmus("card", "kernel", "build", "probe.cpp", cwd=folder)
        assert made.returncode == 0, made.stderr
        compiled(SOURCES / "probe.cpp", folder / "program")

    return made_once("probe", make)


@pytest.fixture
def probed(card_exec: Run, probe: Path) -> Callable[..., Ran]:
    def run(buffers: str, what: int, *options: str) -> Ran:
        program = [probe / "program", buffers, probe / "probe.xclbin", what]
        return card_exec("--kernels", probe, *options, "--", *program)

    return run


def of_kernel(ran: Ran) -> str:
    """How many bytes the kernel moved, as the last line says it."""
    found = re.search(r"1 kernel run of \S+ \S+ over ([\d.]+ \w+),", ran.errors[-1])
    assert found, ran.errors
    return found[1]


# Prototypes


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("void k()", []),
        ("void k(void);", []),
        ("void k(const int* in, int *out, int n)", ["int* in", "int* out", "int n"]),
        ("void k(float x[], float const * y)", ["float* x", "float* y"]),
        ("void k(unsigned  long long n, size_t m)", ["unsigned long long n", "size_t m"]),
        ("void k(const ap_uint<512>* a, ap_uint<24> b)", ["ap_uint<512>* a", "ap_uint<24> b"]),
        ("void k(std::pair<int, int>* a /* , int b */)", ["std::pair<int, int>* a"]),
    ],
)
def test_prototypes_are_read(text: str, arguments: list[str]) -> None:
    prototype = parse(text)
    assert prototype.name == "k"
    assert [f"{p.type} {p.name}" for p in prototype.parameters] == arguments
    assert parse(str(prototype)) == prototype


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("scale", "write it as 'void scale("),
        ("int k(int a)", "returns nothing"),
        ("void k(int)", "argument 'int' has no type and name"),
        ("void k(int a,)", "argument '' has no type and name"),
        ("void k(int a, float* a)", "two arguments are named 'a'"),
        ("void k(int** a)", "pointer to pointers"),
        ("void k(hls::stream<int>& s)", "no streams between kernels"),
        ("void k(ap_uint<99> c)", "wider than 64 bits"),
        ("void k(void a)", "no type that can be read: 'void'"),
        ("void k(thing a)", "say its size, for that of 'thing' is not known"),
    ],
)
def test_what_is_no_prototype_is_said_to_be_none(isthmus: Command, text: str, what: str) -> None:
    ended = isthmus("card", "kernel", "new", text)
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert what in line


@given(st.text("void k(int*&<>,;)[] \n/", max_size=40))
def test_no_text_is_read_as_two_things(text: str) -> None:
    try:
        prototype = parse(text)
    except UsageError:
        return
    assert parse(str(prototype)) == prototype


def test_a_definition_is_found_among_others() -> None:
    source = (
        "// void k(int wrong) {\n#define K void k(int wrong) {\n"
        "void k(int n);\nstatic int kk(int k) { return k; }\nvoid k(int n, int* out) { }\n"
    )
    assert str(defined_in(source, "k")) == "void k(int n, int* out)"
    assert defined_in(source, "other") is None


# From an empty folder


@pytest.mark.parametrize(
    "text",
    [
        "void scale(const int* in, int* out, int n)",
        "void mix(const float* a, const double* b, float* c, unsigned char by, uint64_t count)",
        pytest.param(
            "--verilog void wide(const double* a, double* b)", marks=[IN_VERILOG, pytest.mark.slow]
        ),
    ],
)
def test_what_new_says_leads_from_a_prototype_to_a_pass(
    isthmus: Command, tmp_path: Path, text: str
) -> None:
    option, prototype = (
        ["--verilog"] * text.startswith("--verilog"),
        text.removeprefix("--verilog "),
    )
    new = ("card", "kernel", "new", *option, prototype)
    made = isthmus(*new)
    assert made.returncode == 0, made.stderr
    lines = made.stdout.splitlines()
    assert len(lines) <= 6
    build, compile_host, execute = (line.split() for line in lines[-3:])
    built = isthmus(*build[1:])
    assert built.returncode == 0, built.stderr
    subprocess.run(compile_host, cwd=tmp_path, check=True)
    ended = isthmus(*execute[1:])
    assert ended.returncode == 0, ended.stderr
    assert "PASS" in ended.stdout
    again = isthmus(*new)
    assert again.returncode == 2
    assert "nothing is overwritten" in again.stderr


def test_the_host_program_finds_a_kernel_that_differs(isthmus: Command, tmp_path: Path) -> None:
    made = isthmus("card", "kernel", "new", "void scale(const int* in, int* out, int n)")
    _, compile_host, execute = (line.split() for line in made.stdout.splitlines()[-3:])
    subprocess.run(compile_host, cwd=tmp_path, check=True)
    kernel = tmp_path / "scale" / "scale.cpp"
    kernel.write_text(kernel.read_text().replace("in[i]", "in[i] + (i == 1000)"))
    assert isthmus("card", "kernel", "build", "scale/scale.cpp").returncode == 0
    ended = isthmus(*execute[1:])
    assert ended.returncode == 1
    assert "FAIL" in ended.stdout


# Building


@pytest.mark.parametrize(
    ("files", "code", "what"),
    [
        ({}, 2, "k.cpp: no such file"),
        ({"k.cpp": "void other() {}"}, 2, "k.cpp defines no function k(...)"),
        (
            {"k.cpp": "void k(int* a) {}", "k.toml": "[[kernels]]\nname = 'm'"},
            2,
            "k.toml describes no kernel k",
        ),
        (
            {
                "k.cpp": "void k(int* a, int n) {}",
                "k.toml": "[[kernels]]\nname = 'k'\narguments = [{ name = 'a', type = 'int*' }]",
            },
            2,
            "k.toml has k(int* a), k.cpp has k(int* a, int n): change one of them",
        ),
        ({"k.cpp": "void k(int* a) { b = 1; }"}, 1, "'b' was not declared"),
        ({"k.cpp": "using S = int&;\nvoid k(S a) {}"}, 2, "say its size"),
    ],
)
def test_what_cannot_be_built_is_said(
    isthmus: Command, tmp_path: Path, files: dict[str, str], code: int, what: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    ended = isthmus("card", "kernel", "build", "k.cpp")
    assert ended.returncode == code
    assert what in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "k.so").exists()
    assert not (tmp_path / "k.xclbin").exists()


@pytest.mark.parametrize("buffers", ["apart", "parts"])
def test_each_access_counts_wherever_the_buffers_lie(
    probed: Callable[..., Ran], buffers: str
) -> None:
    once, thrice = probed(buffers, 0), probed(buffers, 1)
    assert once.figures["sum"] == thrice.figures["sum"] == SUM_OF_FIRST + 1024 * 2.5
    assert of_kernel(once) == "8.19 kB"
    assert of_kernel(thrice) == "24.6 kB"
    copied = probed(buffers, 2)
    assert copied.figures["sum"] == SUM_OF_FIRST
    assert of_kernel(copied) == "8.19 kB"


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (3, f"it writes 4 bytes at byte {BYTES} of argument out, whose buffer has {BYTES}"),
        (4, f"it reads 4 bytes at byte -4 of argument in, whose buffer has {BYTES}"),
    ],
)
def test_an_access_outside_a_buffer_is_named(
    probed: Callable[..., Ran], what: int, said: str
) -> None:
    ran = probed("apart", what)
    assert ran.code != 0
    assert any(said in line for line in ran.errors), ran.errors


def test_host_memory_is_refused(probed: Callable[..., Ran]) -> None:
    ran = probed("host_only", 0)
    assert ran.code != 0
    assert any("has no buffer in the card's memory" in line for line in ran.errors), ran.errors


# The gallery


def gallery() -> list[object]:
    """Kernels by name; Verilator's compilation takes long."""
    folders = sorted(path for path in GALLERY.iterdir() if path.is_dir())
    return [
        pytest.param(
            path.name, marks=[IN_VERILOG, pytest.mark.slow] if list(path.glob("*.sv")) else []
        )
        for path in folders
    ]


@pytest.mark.parametrize("kernel", gallery())
def test_the_gallery_passes(kernel: str, isthmus: Command, card_exec: Run, tmp_path: Path) -> None:
    shutil.copytree(GALLERY, tmp_path / "gallery")
    folder = tmp_path / "gallery" / kernel
    (source,) = (
        folder / name for name in (f"{kernel}.cpp", f"{kernel}.sv") if (folder / name).exists()
    )
    built = isthmus("card", "kernel", "build", str(source))
    assert built.returncode == 0, built.stderr
    program = compiled(folder / "host.cpp", folder / "host")
    ran = card_exec("--kernels", folder, "--", program, folder / f"{kernel}.xclbin")
    assert ran.code == 0, ran.errors
    assert "PASS" in ran.output


# Verilog

VADD = """
[[kernels]]
name = "vadd"
arguments = [
  { name = "in1", type = "int*", port = "m_axi_a", offset = 0x10 },
  { name = "in2", type = "int*", port = "m_axi_b", offset = 0x1c },
  { name = "out", type = "int*", port = "m_axi_c", offset = 0x28 },
  { name = "size", type = "unsigned int", offset = 0x34 },
]
"""
PORTS = """module k(
  input logic ap_clk, input logic ap_rst_n,
  input logic s_axi_control_awvalid, output logic s_axi_control_awready,
  input logic [5:0] s_axi_control_awaddr, input logic s_axi_control_wvalid,
  output logic s_axi_control_wready, input logic [31:0] s_axi_control_wdata,
  output logic s_axi_control_bvalid, input logic s_axi_control_bready,
  input logic s_axi_control_arvalid, output logic s_axi_control_arready,
  input logic [5:0] s_axi_control_araddr, output logic s_axi_control_rvalid,
  input logic s_axi_control_rready, output logic [31:0] s_axi_control_rdata
);
  assign {s_axi_control_awready, s_axi_control_wready, s_axi_control_bvalid} = '1;
  assign {s_axi_control_arready, s_axi_control_rvalid, s_axi_control_rdata} = '0;
endmodule
"""
ONE_VALUE = "[[kernels]]\nname = 'k'\narguments = [{ name = 'n', type = 'int' }]"


@IN_VERILOG
@pytest.mark.parametrize(
    ("module", "description", "code", "what"),
    [
        (PORTS, None, 2, "k.toml: no such file"),
        (PORTS.replace("ap_rst_n", "reset"), ONE_VALUE, 2, "k.sv has no port ap_rst_n"),
        (PORTS.replace("ap_clk,", "ap_clk, led,"), ONE_VALUE, 2, "no kernel has the port led"),
        (
            PORTS.replace("output logic s_axi_control_arready,", "").replace(
                "s_axi_control_arready, s_axi", "s_axi"
            ),
            ONE_VALUE,
            2,
            "k.sv lacks the port s_axi_control_arready",
        ),
        (
            PORTS,
            ONE_VALUE.replace("'int'", "'int*', port = 'm_axi_in'"),
            2,
            "has no port m_axi_in, which the description gives argument n; it has no masters",
        ),
        (PORTS, ONE_VALUE.replace("'int'", "'int', offset = 62"), 2, "beyond the 6 bits"),
        (PORTS.replace("endmodule", ""), ONE_VALUE, 1, "Verilator refuses it"),
    ],
)
def test_a_module_that_is_no_kernel_is_refused(
    isthmus: Command, tmp_path: Path, module: str, description: str | None, code: int, what: str
) -> None:
    (tmp_path / "k.sv").write_text(module)
    if description is not None:
        (tmp_path / "k.toml").write_text(description)
    ended = isthmus("card", "kernel", "build", "k.sv")
    assert ended.returncode == code, ended.stderr
    assert what in ended.stderr
    assert "Traceback" not in ended.stderr


def test_without_verilator_it_is_named(
    isthmus: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.sv").write_text(PORTS)
    (tmp_path / "k.toml").write_text(ONE_VALUE)
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = isthmus("card", "kernel", "build", "k.sv")
    assert ended.returncode == 1
    assert "need Verilator 5.002 or later: install verilator" in ended.stderr


@pytest.mark.slow
@IN_VERILOG
def test_a_module_of_ones_own_needs_a_description_alone(
    isthmus: Command, card_exec: Run, programs: Path, tmp_path: Path
) -> None:
    """The card's own vadd: three masters of 512 bits, modules in files of their own."""
    (tmp_path / "vadd.toml").write_text(VADD)
    shutil.copy(ROOT / "card" / "rtl" / "vadd.sv", tmp_path)
    built = isthmus("card", "kernel", "build", "vadd.sv", "-I", str(ROOT / "card" / "rtl"))
    assert built.returncode == 0, built.stderr
    program = (programs / "native", "adding", tmp_path / "vadd.xclbin")
    ran = card_exec("--kernels", tmp_path, "--", *program)
    assert ran.figures["sum"] == 1000 * 1001
    assert of_kernel(ran) == "12 kB"


# Limits, and results for continuous integration


def result(file: Path) -> ElementTree.Element:
    suite = ElementTree.parse(file).getroot()
    assert suite.get("tests") == "1"
    return suite


def test_a_program_within_its_limits_passes(probed: Callable[..., Ran], tmp_path: Path) -> None:
    options = ("--max-simulated", "1s", "--fail-on-warning", "--junit", "result.xml")
    ran = probed("apart", 0, *options)
    assert ran.code == 0
    suite = result(tmp_path / "result.xml")
    assert suite.get("failures") == "0"
    assert float(suite.get("time", "0")) > 0
    case = suite.find("testcase")
    assert case is not None
    assert "apart" in case.get("name", "")
    assert "simulated, not hardware" in case.findtext("system-out", "")
    assert probed("apart", 0, *options).code == 2  # nothing is overwritten


def test_a_program_that_waits_too_long_for_the_card_ends_with_3(
    probed: Callable[..., Ran], tmp_path: Path
) -> None:
    ran = probed("apart", 0, "--max-simulated", "10us", "--junit", "result.xml")
    assert ran.code == 3
    assert ran.figures["sum"] > 0
    assert "more than --max-simulated 10us: the program had ended by itself" in ran.errors[-1]
    failure = result(tmp_path / "result.xml").find("testcase/failure")
    assert failure is not None
    assert "more than --max-simulated 10us" in failure.get("message", "")


def test_a_program_that_does_not_end_is_ended_at_its_limit(card_exec: Run, programs: Path) -> None:
    program = [programs / "native", "going_on", programs / "hw_emu.xclbin"]
    ran = card_exec("--max-simulated", "1ms", "--", *program)
    assert ran.code == 3
    assert "more than --max-simulated 1ms: the program was ended" in ran.errors[-1]


def test_what_a_program_fails_with_is_in_the_result(card_exec: Run, tmp_path: Path) -> None:
    ran = card_exec("--junit", "result.xml", "--", "sh", "-c", "exit 5")
    assert ran.code == 5
    failure = result(tmp_path / "result.xml").find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "exit code 5"
    ran = card_exec("--max-simulated", "soon", "--", "true")
    assert ran.code == 2
    assert "'soon' is no time" in ran.errors[-1]
