"""What programs learn of emulated cards: how many, their names, addresses and memories."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from on_cards import Made, Run, card_exec, emulated, programs

from conftest import Command
from isthmus import boards

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")

U250 = "xilinx_u250_gen3x16_xdma_4_1_202210_1"
F1 = "xilinx_aws-vu9p-f1_shell-v04261818_201920_3"
GIB, MIB = 1 << 30, 1 << 20
HBM = f"f1-vu9p,memory.hbm=true,memory.banks=34,memory.bank_bytes={384 * MIB}"
CARDS = ["--board", "u250", "--device-name", U250, "--board", HBM, "--device-name", F1]


@pytest.mark.parametrize("mode", [[], ["--as-hardware"]], ids=["emulation", "hardware"])
def test_a_program_finds_its_cards_by_name_and_by_address(
    mode: list[str], card_exec: Run, programs: Made, tmp_path: Path, isthmus: Command
) -> None:
    file = tmp_path / "card.xclbin"
    options = ["--kernels", "vadd", "--board", "u250", "--device-name", U250, "-o", str(file)]
    made = isthmus("card", "xclbin", *options, "--mode", "hw" if mode else "hw_emu")
    assert made.returncode == 0, made.stderr
    ran = card_exec(*CARDS, *mode, "--", programs("device"), file)
    assert ran.code == 0, ran.errors
    seen = json.loads(ran.output[ran.output.index('{"native') :])
    lacks = "not modelled: query no. "
    assert [
        (card["name"], card["bdf"], card["by_bdf"], card["thermal"][: len(lacks)])
        for card in seen["native"]
    ] == [(U250, "0000:00:00.0", U250, lacks), (F1, "0000:00:01.0", F1, lacks)]
    assert seen["native"][0]["offline"].startswith(lacks)
    assert seen["absent"] == "Could not open device with index '2'"
    assert any(
        "there is no device 2; the number of cards is 2, the first is device 0" in line
        for line in ran.errors
    )
    assert seen["platform"] == U250
    assert seen["memories"] == {f"bank{n}": 16 * GIB for n in range(4)} | {"HOST[0]": 16 * GIB}
    assert [(card["name"], card["bdf"], card["bytes"]) for card in seen["opencl"]] == [
        (U250, "0000:00:00.0", 64 * GIB),
        (F1, "0000:00:01.0", 34 * 384 * MIB),
    ]


@pytest.mark.parametrize("mode", [[], ["--as-hardware"]], ids=["emulation", "hardware"])
def test_a_host_in_python_opens_the_shim_by_its_name_without_a_version(
    mode: list[str], card_exec: Run
) -> None:
    host = """
import ctypes, os
ctypes.CDLL("libxilinxopencl.so")
by_name = ctypes.CDLL("libxrt_core.so", mode=ctypes.RTLD_GLOBAL)
by_path = ctypes.CDLL(os.path.join(os.environ["XILINX_XRT"], "lib", "libxrt_core.so"))
shim = ctypes.CDLL("libxrt_hwemu.so" if "XCL_EMULATION_MODE" in os.environ else "libxrt_core.so.2")
print(by_name.xclProbe(), by_name._handle == by_path._handle == shim._handle)
"""
    ran = card_exec("--board", "u250", "--board", "u250", *mode, "--", sys.executable, "-c", host)
    assert (ran.code, ran.output) == (0, "2 True\n"), ran.errors


def test_a_host_in_python_finds_a_kernel_as_pynq_does(
    isthmus: Command, card_exec: Run, tmp_path: Path
) -> None:
    """PYNQ (3.0.1, ``pynq/_3rdparty/xrt.py``) asks the shim for the index of each kernel."""
    made = isthmus("card", "xclbin", "--kernels", "vadd,isthmus_empty", "-o", "card.xclbin")
    assert made.returncode == 0, made.stderr
    host = """
import ctypes, os, sys
shim = ctypes.CDLL(os.path.join(os.environ["XILINX_XRT"], "lib", "libxrt_hwemu.so"))
shim.xclOpen.restype = ctypes.c_void_p
card = ctypes.c_void_p(shim.xclOpen(0, None, 0))
loaded = shim.xclLoadXclBin(card, open(sys.argv[1], "rb").read())
names = (b"vadd:vadd_1", b"isthmus_empty:isthmus_empty_1", b"none:none_1")
print(loaded, sorted(shim.xclIPName2Index(card, name) for name in names))
"""
    ran = card_exec("--", sys.executable, "-c", host, tmp_path / "card.xclbin")
    assert ran.code == 0, ran.errors
    assert ran.output.endswith("0 [-22, 0, 1]\n"), ran.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--device-name", "a", "--device-name", "b"], "2 for 1 cards; give one for each --board"),
        (["--board", "u250", "--board", "u200", "--device-name", "a"], "1 for 2 cards"),
        (["--device-name", "a b"], "up to 63 letters, digits"),
        (["--device-name", 64 * "x"], "up to 63 letters, digits"),
    ],
    ids=["more names than cards", "fewer names than cards", "a space", "too long"],
)
def test_names_that_cannot_be(options: list[str], message: str, card_exec: Run) -> None:
    ran = card_exec(*options, "--", "true")
    assert ran.code == 2
    assert message in ran.errors[-1]


def test_names_of_installed_boards_can_be_given() -> None:
    from isthmus_emulation import naming

    known = [shell.name for name in boards.names() for shell in boards.load(name).shells]
    assert U250 in known
    assert F1 in known
    assert [naming.checked(name) for name in known] == known
