"""Buffers of a kernel that were never set: what touches them is an error that names them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from on_cards import (
    IN_VERILOG,
    OPENCL,
    SOURCES,
    Made,
    Run,
    card_exec,
    compiled,
    emulated,
    programs,
)

from conftest import Command, made_once
from isthmus.errors import UsageError
from isthmus_emulation import xclbin
from isthmus_emulation.xclbin import Bank, Design, MemoryType

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
PICK = """
extern "C" void pick(const int* left, const int* right, int* out, int n, int touched) {
  for (int i = 0; i < n; ++i) {
    const int value = (touched & 1 ? left[i] : 0) + (touched & 2 ? right[i] : 0);
    if (touched & 4) out[i] = value;
  }
}
"""
ASK = """
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void pick(__global const int* left, __global const int* right, __global int* out, int n,
          int touched) {
  for (int i = 0; i < n; ++i) out[i] = (left ? left[i] : 40) + (right ? right[i] : 50);
}
"""
EVERY = 7
"""The kernel touches all of its buffers."""


@pytest.fixture(scope="session")
def unset(run_isthmus: Command) -> Path:
    """A folder with a program, and a kernel that touches what it is told."""

    def make(folder: Path) -> None:
        (folder / "pick.cpp").write_text(PICK)
        made = run_isthmus("card", "kernel", "build", "pick.cpp", cwd=folder)
        assert made.returncode == 0, made.stderr
        compiled(SOURCES / "unset.cpp", folder / "program", OPENCL)

    return made_once("unset", make)


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            "yny",
            "it reads from 0x0, where nothing is: argument 1 (right) was never set, or is null",
        ),
        ("yyn", "it writes to 0x0, where nothing is: argument 2 (out) was never set, or is null"),
        ("nny", "arguments 0 (left) and 1 (right) were never set, or are null"),
    ],
)
def test_an_access_through_an_argument_that_was_never_set_names_it(
    card_exec: Run, unset: Path, given: str, said: str
) -> None:
    command = ["native", unset / "pick.xclbin", given, EVERY, "pick"]
    ran = card_exec("--kernels", unset, "--", unset / "program", *command)
    assert ran.code != 0
    assert any("kernel 'pick' failed: " in line and said in line for line in ran.errors), ran.errors


@pytest.mark.usefixtures("emulated")
def test_with_fail_on_warning_it_is_the_failure(card_exec: Run, unset: Path) -> None:
    command = ["native", unset / "pick.xclbin", "yny", EVERY, "pick"]
    ran = card_exec("--fail-on-warning", "--kernels", unset, "--", unset / "program", *command)
    gate_failed = 3
    assert ran.code == gate_failed
    assert ran.errors[-1].startswith("isthmus: --fail-on-warning: kernel 'pick' failed: ")
    assert ran.errors[-1].endswith("argument 1 (right) was never set, or is null")


@pytest.mark.usefixtures("emulated")
def test_the_cards_own_kernels_name_it(card_exec: Run, unset: Path, programs: Made) -> None:
    card = programs("hw_emu.xclbin")
    ran = card_exec("--", unset / "program", "native", card, "yny", EVERY, "vadd")
    assert ran.code != 0
    expected = "kernel vadd_1 reads 256 bytes at 0x0: argument 1 (in2) was never set, or is null"
    assert any(expected in line for line in ran.errors), ran.errors


@pytest.mark.usefixtures("emulated")
def test_opencl_says_it_before_the_kernel_runs(card_exec: Run, unset: Path) -> None:
    command = ["opencl", unset / "pick.xclbin", "yny", EVERY, "pick"]
    ran = card_exec("--kernels", unset, "--", unset / "program", *command)
    invalid_kernel_arguments = -52  # cl.h
    assert ran.figures == {"enqueued": invalid_kernel_arguments}
    assert any("Kernel arg 'right' is not set" in line for line in ran.errors), ran.errors


@pytest.mark.usefixtures("emulated")
def test_what_the_kernel_leaves_alone_may_be_unset(card_exec: Run, unset: Path) -> None:
    command = ["native", unset / "pick.xclbin", "yny", 5, "pick"]
    ran = card_exec("--kernels", unset, "--", unset / "program", *command)
    assert ran.code == 0, ran.errors
    assert ran.figures == {"out": 1}


@pytest.mark.slow
@pytest.mark.usefixtures("emulated")
def test_a_kernel_may_ask_whether_it_was_given_a_buffer(
    isthmus: Command, card_exec: Run, unset: Path, tmp_path: Path
) -> None:
    (tmp_path / "ask.cl").write_text(ASK)
    built = isthmus("card", "kernel", "build", "ask.cl")
    assert built.returncode == 0, built.stderr
    command = ["native", tmp_path / "ask.xclbin", "yny", EVERY, "pick"]
    ran = card_exec("--kernels", tmp_path, "--", unset / "program", *command)
    assert ran.code == 0, ran.errors
    assert ran.figures == {"out": 1 + 50}


@IN_VERILOG
@pytest.mark.slow
@pytest.mark.usefixtures("emulated")
def test_a_module_in_verilog_names_it(
    isthmus: Command, card_exec: Run, unset: Path, tmp_path: Path
) -> None:
    prototype = "void rtl(const int* left, const int* right, int* out, int n)"
    made = isthmus("card", "kernel", "new", "--verilog", prototype)
    assert made.returncode == 0, made.stderr
    built = isthmus("card", "kernel", "build", "rtl/rtl.sv")
    assert built.returncode == 0, built.stderr
    command = ["native", tmp_path / "rtl/rtl.xclbin", "nyy", EVERY, "rtl"]
    ran = card_exec("--kernels", tmp_path / "rtl", "--", unset / "program", *command)
    assert ran.code != 0
    expected = "kernel rtl_1 reads 4 bytes at 0x0: argument 0 (left) was never set, or is null"
    assert any(expected in line for line in ran.errors), ran.errors


def test_no_memory_of_a_card_holds_address_zero() -> None:
    host = (Bank("HOST[0]", "host"),)
    for memories in [
        Design().memories,
        (),
        host,
        (Bank("a"), Bank("b", "hbm")),
        (*host, Bank("c")),
    ]:
        found = Design(memories=memories).build().memories
        assert all(memory.address > 0 for memory in found)
        spans = sorted((m.address, m.address + m.size) for m in found)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
        on_card = [m.address for m in found if m.type != MemoryType.HOST]
        assert not on_card or min(on_card) == 0x40_0000_0000
    with pytest.raises(UsageError, match="memory 'low' lies at address 0, where an argument"):
        Design(memories=(Bank("low", address=0),)).build()
    at_zero = Design(memories=(Bank("low", address=0),)).build(b"of the vendor's simulation")
    assert at_zero.memories[0].address == 0
    behind = Bank("large", address=0x18_0000_0000, size=0x10_0000_0000)
    assert xclbin.Design(memories=(behind,)).build().memories[-1].address == 0x28_0000_0000
