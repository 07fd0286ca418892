"""Kernels in Verilog: what is refused, and the card's own as one of somebody else's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from on_cards import IN_VERILOG, Run, card_exec, emulated, moved_by_kernel, programs

from conftest import Command

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")
RTL = Path(__file__).resolve().parents[2] / "card" / "rtl"
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
    shutil.copy(RTL / "vadd.sv", tmp_path)
    built = isthmus("card", "kernel", "build", "vadd.sv", "-I", str(RTL))
    assert built.returncode == 0, built.stderr
    program = (programs / "native", "adding", tmp_path / "vadd.xclbin")
    ran = card_exec("--kernels", tmp_path, "--", *program)
    assert ran.figures["sum"] == 1000 * 1001
    assert moved_by_kernel(ran.errors) == "12 kB"
