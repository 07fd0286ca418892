"""The RTL kernels and the packet rules against somebody else's models: cocotb with Icarus."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "card" / "rtl").glob("*.sv"))


def simulate(kernel: str, module: str, folder: Path) -> None:
    """Runs a cocotb module on a kernel; fails where one of its tests does."""
    if shutil.which("iverilog") is None:
        pytest.skip("no iverilog (apt-get install iverilog)")
    for package in ("cocotb_tools.runner", "cocotbext.axi", "cocotbext.pcie.core"):
        pytest.importorskip(package, reason="no cocotb (pip install 'isthmus[rtl]')")
    from cocotb_tools.runner import get_results, get_runner

    runner = get_runner("icarus")
    runner.build(
        sources=SOURCES, hdl_toplevel=kernel, build_args=["-g2012"], build_dir=folder,
        timescale=("1ns", "1ps"), log_file=folder / "build.log",
    )  # fmt: skip
    log = folder / "test.log"
    try:
        results = runner.test(
            hdl_toplevel=kernel, test_module=module, test_dir=Path(__file__).parent / "rtl",
            build_dir=folder, results_xml=str(folder / "results.xml"), log_file=log,
            extra_env={"KERNEL": kernel, "COCOTB_LOG_LEVEL": "WARNING"},
        )  # fmt: skip
    except SystemExit:
        pytest.fail(log.read_text(encoding="utf-8")[-4000:])
    assert get_results(results) == (1, 0)


@pytest.mark.parametrize("kernel", ["read_bandwidth", "write_bandwidth", "bandwidth"])
def test_kernel_works_on_another_ones_axi(kernel: str, tmp_path: Path) -> None:
    simulate(kernel, "kernels_on_axi", tmp_path)


def test_packets_are_cut_as_another_one_cuts_them(tmp_path: Path) -> None:
    simulate("read_bandwidth", "packets_on_pcie", tmp_path)
