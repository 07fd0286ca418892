"""Kernels in Verilog: what is refused, and the card's own as one of somebody else's."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from on_cards import (
    IN_VERILOG,
    Made,
    Ran,
    Run,
    card_exec,
    compiled,
    emulated,
    moved_by_kernel,
    programs,
)

from conftest import Command, made_once
from isthmus_emulation import xclbin
from isthmus_emulation.prototype import defined_in
from isthmus_emulation.xclbin.description import load

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")
ROOT = Path(__file__).resolve().parents[2]
RTL = ROOT / "card" / "rtl"
COUNT = 5000
"""Words that the program ``streams`` sends."""
CLOCKS_US = 300
"""In a microsecond, of the kernels of the board u250."""
PACKETS = ROOT / "kernels" / "gallery" / "packets"
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
STREAM = """
  input logic s_axis_in_tvalid, output logic s_axis_in_tready, input logic [31:0] s_axis_in_tdata,
"""
WIRES = """module wires(
  input logic ap_clk, input logic ap_rst_n,
  input logic in_r_TVALID, output logic in_r_TREADY, input logic [31:0] in_r_TDATA,
  input logic [0:0] in_r_TLAST, input logic [3:0] in_r_TKEEP, input logic [3:0] in_r_TSTRB,
  output logic out_r_TVALID, input logic out_r_TREADY, output logic [31:0] out_r_TDATA,
  output logic [0:0] out_r_TLAST, output logic [3:0] out_r_TKEEP, output logic [3:0] out_r_TSTRB
);
  assign {out_r_TVALID, in_r_TREADY} = {in_r_TVALID, out_r_TREADY};
  assign out_r_TDATA = in_r_TDATA + 1;
  assign {out_r_TLAST, out_r_TKEEP, out_r_TSTRB} = {in_r_TLAST, in_r_TKEEP, in_r_TSTRB};
endmodule
"""
"""A kernel without control; each output follows inputs within the clock."""
CHAIN = """
stream_connect = [
  "source_1.out:twice_1.in:2", "twice_1.out:wires_1.in:2", "wires_1.out:wires_2.in:2",
  "wires_2.out:sink_1.in:2",
]
[[kernels]]
name = "twice"
arguments = [
  { name = "in", type = "hls::stream<int>" }, { name = "out", type = "hls::stream<int>" },
  { name = "n", type = "int" },
]
[[kernels]]
name = "wires"
control = "ap_ctrl_none"
instances = [{ name = "wires_1" }, { name = "wires_2" }]
arguments = [
  { name = "in", type = "hls::stream<int>" }, { name = "out", type = "hls::stream<int>" }
]
"""
ONE_STREAM = """stream_connect = ['other_1.out:k_1.in']
[[kernels]]
name = 'other'
arguments = [{ name = 'out', type = 'hls::stream<words>' }]
[[kernels]]
name = 'k'
arguments = [{ name = 'in', type = 'hls::stream<int>' }]
"""
MOODY = """
stream_connect = ["feed_1.out:moody_1.in:2", "moody_1.out:sink_1.in:2"]
[[kernels]]
name = "moody"
control = "ap_ctrl_chain"
arguments = [
  { name = "in", type = "hls::stream<int>" }, { name = "out", type = "hls::stream<int>" },
  { name = "what", type = "int", offset = 0x10 }, { name = "n", type = "int", offset = 0x18 },
  { name = "mem", type = "int*", offset = 0x20 },
]
"""
ENDS = {
    "feed": "hls::stream<int>& out, int n) { for (int i = 0; i < n; ++i) out << i; }",
    "sink": "hls::stream<int>& in, int* out, int n) { for (int i = 0; i < n; ++i) in >> out[i]; }",
}
ONE_VALUE = "[[kernels]]\nname = 'k'\narguments = [{ name = 'n', type = 'int' }]"


def with_stream(ports: str) -> str:
    return PORTS.replace("input logic ap_clk,", f"input logic ap_clk, {ports}")


@IN_VERILOG
@pytest.mark.parametrize(
    ("module", "description", "code", "what"),
    [
        (PORTS, None, 2, "k.toml: no such file"),
        (PORTS.replace("ap_rst_n", "reset"), ONE_VALUE, 2, "k.sv has no port ap_rst_n"),
        (PORTS.replace("ap_clk,", "ap_clk, led,"), ONE_VALUE, 2, "no kernel has the port led;"),
        (
            PORTS.replace("ap_clk,", f"ap_clk, ap_clk_3, {STREAM} s_axis_in_twakeup,"),
            ONE_STREAM,
            2,
            "no kernel has the ports ap_clk_3, s_axis_in_twakeup; known are",
        ),
        (
            with_stream(STREAM.replace("output logic s_axis_in_tready,", "")),
            ONE_STREAM,
            2,
            "lacks the port s_axis_in_tready",
        ),
        (
            with_stream(STREAM.replace("output logic s_axis_in_tr", "input logic s_axis_in_tr")),
            ONE_STREAM,
            2,
            "s_axis_in_tready is an input; all other ports of s_axis_in say that the kernel reads",
        ),
        (
            with_stream(STREAM.replace("input logic s_axis_in_tv", "output logic s_axis_in_tv")),
            ONE_STREAM,
            2,
            "s_axis_in_tvalid is an output; all other ports of s_axis_in say that the kernel reads",
        ),
        (
            with_stream(STREAM),
            ONE_STREAM.replace("<int>", "<short>"),
            2,
            "s_axis_in_tdata has 32 bits, but in the description argument in has words of 2 bytes",
        ),
        (
            with_stream(STREAM),
            ONE_STREAM.replace("other_1.out:k_1.in", "k_1.in:other_1.out"),
            2,
            "'k_1.in:other_1.out': k_1.in is an input, it cannot be the producer",
        ),
        (
            with_stream(STREAM),
            ONE_STREAM.replace("<int>", "<any>").replace("<words>", "<double>"),
            2,
            "other_1.out has words of 8 bytes, k_1.in of 4",
        ),
        (PORTS, ONE_STREAM.partition("\n")[2], 2, "k_1.in are streams connected to nothing"),
        (with_stream(STREAM.replace("31", "11")), ONE_STREAM, 2, "s_axis_in_tdata has 12 bits"),
        (
            with_stream(f"{STREAM} input logic [2:0] s_axis_in_tkeep,"),
            ONE_STREAM,
            2,
            "s_axis_in_tkeep has 3 bits, not 4",
        ),
        (with_stream(STREAM), ONE_VALUE, 2, "stream s_axis_in, which is no argument"),
        (PORTS, ONE_STREAM, 2, "which stream is argument in? Say port = '...'"),
        (
            with_stream(STREAM + STREAM.replace("s_axis_in", "in_r")),
            ONE_STREAM,
            2,
            "which stream is argument in? Say port = '...' in the description; there are s_axis_in,"
            " in_r",
        ),
        (
            PORTS,
            ONE_STREAM.replace("'k'", "'k'\ncontrol = 'ap_ctrl_none'"),
            2,
            "with control = 'ap_ctrl_none' has streams alone",
        ),
        (
            f"module k(input logic ap_clk, {STREAM} input logic ap_rst_n); endmodule",
            ONE_STREAM,
            2,
            "k.sv has no ports s_axi_control_*; a kernel without them has streams alone, and",
        ),
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


def test_a_macro_has_no_effect_on_verilog(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "k.sv").write_text(PORTS)
    (tmp_path / "k.toml").write_text(ONE_VALUE)
    ended = isthmus("card", "kernel", "build", "k.sv", "-D", "WIDTH=8")
    assert ended.returncode == 2
    assert "--define has no effect on Verilog" in ended.stderr


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
    isthmus: Command, card_exec: Run, programs: Made, tmp_path: Path
) -> None:
    """Three masters of 512 bits; the modules of ``card/rtl`` lie in further files."""
    (tmp_path / "vadd.toml").write_text(VADD)
    shutil.copy(Path(__file__).parent / "modules" / "vadd.sv", tmp_path)
    built = isthmus("card", "kernel", "build", "vadd.sv", "-I", str(RTL))
    assert built.returncode == 0, built.stderr
    program = (programs("native"), "adding", tmp_path / "vadd.xclbin")
    ran = card_exec("--kernels", tmp_path, "--", *program)
    assert ran.figures["sum"] == 1000 * 1001
    assert moved_by_kernel(ran.errors) == "12 kB"
    assert "computing" not in ran.errors[-1]  # a module takes its clocks


@pytest.mark.slow
@IN_VERILOG
def test_a_word_that_is_offered_when_the_kernel_is_done_is_not_lost(
    isthmus: Command, card_exec: Run, tmp_path: Path
) -> None:
    """It is the third in a stream that holds two; whoever reads them is started last."""
    folder = shutil.copytree(PACKETS, tmp_path / "packets")
    shutil.copy(PACKETS.parent / "on_card.hpp", tmp_path)
    for name, before, after in (
        ("twice.sv", "if (ends)", "if (s_axis_in_tvalid && s_axis_in_tready && s_axis_in_tlast)"),
        ("host.cpp", "elements = 4096", "elements = 3"),
        ("host.cpp", "{&receiving, &doubling, &sending}", "{&sending, &doubling, &receiving}"),
    ):
        text = (folder / name).read_text()
        assert before in text
        (folder / name).write_text(text.replace(before, after, 1))
    sources = [str(folder / name) for name in ("source.cpp", "twice.sv", "sink.cpp")]
    description = folder / "packets.toml"
    built = isthmus("card", "kernel", "build", *sources, "--from", str(description))
    assert built.returncode == 0, built.stderr
    program = compiled(folder / "host.cpp", folder / "host")
    ran = card_exec("--fail-on-warning", "--kernels", folder, "--", program,
                    folder / "packets.xclbin")  # fmt: skip
    assert ran.code == 0, ran.errors
    assert "PASS" in ran.output


@pytest.mark.slow
@IN_VERILOG
def test_streams_lead_from_cpp_to_verilog_and_back(
    isthmus: Command, card_exec: Run, programs: Made, tmp_path: Path
) -> None:
    """A kernel with control, two of one without, and C++ at both ends; a word a clock."""
    for source in ("source.cpp", "twice.sv", "sink.cpp"):
        shutil.copy(PACKETS / source, tmp_path)
    sources = {path.stem: path for path in tmp_path.glob("*")}
    (tmp_path / "wires.sv").write_text(WIRES)
    # The program gives each stage a count; the end is what TLAST says.
    sink = sources["sink"].read_text().replace("int* out)", "int* out, int n)")
    sources["sink"].write_text(sink)
    (tmp_path / "all.toml").write_text(CHAIN)
    names = [*map(str, sources.values()), "wires.sv"]
    built = isthmus("card", "kernel", "build", *names, "--from", "all.toml")
    assert built.returncode == 0, built.stderr

    def ran(file: str, *order: str) -> Ran:
        program = (programs("streams"), "rounds", tmp_path / file, 2, *order)
        return card_exec("--clock", "card", "--kernels", tmp_path, "--", *program)

    for order in ("sink twice source", "source twice sink"):
        chain = ran("all.xclbin", *order.split())
        assert chain.code == 0, chain.errors
        assert chain.figures["sum"] == COUNT * (COUNT + 1) + 2 * COUNT
        # Beside the words three launches of some 10 us.
        assert COUNT / CLOCKS_US < chain.figures["round 1"] < 2.5 * COUNT / CLOCKS_US + 30
    again = ran("all.xclbin", *order.split())
    assert {k: round(v, 3) for k, v in again.figures.items()} == {
        k: round(v, 3) for k, v in chain.figures.items()
    }
    design = load(tmp_path / "all.toml")
    found = [defined_in(sources[name].read_text(), name) for name in ("source", "sink")]
    kernels = (*design.kernels, *(one.kernel for one in found if one))
    apart = msgspec.structs.replace(
        design, kernels=kernels, stream_connect=design.stream_connect[:1], mode="hw_emu"
    )
    xclbin.save(apart.build(unconnected=True), tmp_path / "apart.xclbin")
    refused = ran("apart.xclbin", "twice", "source")
    assert refused.code != 0
    said = "argument 1 of twice_1, which it writes, is connected to nothing: see stream_connect"
    assert any(said in line for line in refused.errors), refused.errors


@pytest.fixture(scope="module")
def moody(run_isthmus: Command) -> Path:
    """A folder with the module ``moody``, whose argument says what it does, between two others."""

    def make(folder: Path) -> None:
        shutil.copy(Path(__file__).parent / "modules" / "moody.sv", folder)
        (folder / "moody.toml").write_text(MOODY)
        for name, rest in ENDS.items():
            (folder / f"{name}.cpp").write_text(
                f'#include <hls_stream.h>\nextern "C" void {name}({rest}\n'
            )
        names = ["moody.sv", "feed.cpp", "sink.cpp", "--from", "moody.toml"]
        built = run_isthmus("card", "kernel", "build", *names, cwd=folder)
        assert built.returncode == 0, built.stderr

    return made_once("moody", make)


@pytest.fixture
def act(card_exec: Run, programs: Made, moody: Path) -> Run:
    def run(what: int, n: int, steps: str, *options: str) -> Ran:
        program = (programs("verilog"), "act", moody / "moody.xclbin", what, n, steps)
        return card_exec("--clock", "card", "--kernels", moody, *options, "--", *program)

    return run


@pytest.mark.slow
@IN_VERILOG
def test_words_that_come_after_the_end_leave_to_whoever_reads(act: Run) -> None:
    """Fifty, and then words without end, which go on where they are; the program ends, too."""
    for steps in ("mMsS", "smSM"):
        ran = act(1, 50, steps, "--fail-on-warning")
        assert (ran.code, ran.figures["sum 0"]) == (0, 1275), ran.errors
        assert ran.figures["lasts"] < 200
    ran = act(1, 0, "mMsSsSmMsS", "--fail-on-warning")
    assert ran.code == 0, ran.errors
    assert [ran.figures[f"sum {n}"] for n in range(3)] == [1275, 1275 + 2500, 1275 + 5000]


@pytest.mark.slow
@IN_VERILOG
def test_a_module_that_computes_for_long_does_not_wait(act: Run) -> None:
    """Three million clocks of 300 MHz, all the time ready for a word that nobody sends."""
    ran = act(2, 3000, "mM", "--fail-on-warning")
    assert ran.code == 0, ran.errors
    assert 10_000 < ran.figures["lasts"] < 10_200
    never = act(5, 0, "mM")
    assert never.code != 0
    assert any("it is not done (bit 1 of its register at 0)" in line for line in never.errors)


@pytest.mark.slow
@IN_VERILOG
def test_words_cross_to_the_second_clock_and_back_and_runs_are_acknowledged(act: Run) -> None:
    """Through stand-ins for AMD's FIFOs; with ap_ctrl_chain each run takes its time."""
    ran = act(8, 50, "smfFMSsmfFMS", "--fail-on-warning")
    assert ran.code == 0, ran.errors
    assert ran.figures["sum 0"] == ran.figures["sum 1"] == 50 * 49 / 2
    assert act(2, 300, "mMmMmM").figures["lasts"] > 3 * 1000


@pytest.mark.slow
@IN_VERILOG
@pytest.mark.parametrize(
    ("what", "n", "said"),
    [
        (3, 0, "lowers out_tvalid before it was answered by out_tready, which breaks AXI4-Stream"),
        (4, 0, "changes out_tdata while out_tvalid waits for out_tready, which breaks AXI4-Stream"),
        (6, 4088, "writes by m_axi_gmem in a burst that crosses a boundary of 4 KiB, which breaks "
                  "AXI4: 16 bytes at 0x"),
        (7, 0, "sets m_axi_gmem's wlast in another beat than the last of a burst, which breaks "
               "AXI4: beat 2 of 4 has it"),
        (6, 0, None),
    ],
)  # fmt: skip
def test_what_breaks_rules_of_axi_is_said_once(
    act: Run, what: int, n: int, said: str | None
) -> None:
    """And the program goes on, unless the first warning is to end it."""
    ran = act(what, n, "mMmM")
    assert ran.code == 0, ran.errors
    warnings = [line for line in ran.errors if "warning: kernel moody_1" in line]
    assert len(warnings) == (said is not None), ran.errors
    assert said is None or said in warnings[0]
    assert act(what, n, "mM", "--fail-on-warning").code == (0 if said is None else 3)
