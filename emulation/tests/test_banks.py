"""Buffers in memories that the board lacks, or that the design does not connect with a kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from on_cards import OPENCL, SOURCES, Run, card_exec, compiled, emulated

from conftest import Command, made_once
from isthmus_emulation import connectivity
from isthmus_emulation.xclbin import Argument, Design, Kernel

__all__ = ["card_exec", "emulated"]  # fixtures
TWICE = """
extern "C" void twice(const int* in, int* out, int n) {
  for (int i = 0; i < n; ++i) out[i] = 2 * in[i];
}
"""
WIDE = """
#include <hls_vector.h>
typedef hls::vector<int, 16> word;
extern "C" void twice(const word* in, word* out, int n) {
  for (int i = 0; i < n / 16; ++i) out[i] = in[i] + in[i];
}
"""
CONNECTED = {
    "one": {},
    "two": {"in": "DDR[0]", "out": "DDR[1]"},
    "host": {"in": "HOST[0]", "out": "HOST[0]"},
    "host_in": {"in": "HOST[0]"},
    "far": {"in": "DDR[0]", "out": "DDR[3]"},
    "hbm": {"in": "HBM[0]", "out": "HBM[31]"},
    "beyond": {"in": "HBM[0]", "out": "HBM[40]"},
    "first_hbm": {"in": "HBM[0]", "out": "HBM[1]"},
}
"""Memories by argument; the name is that of the xclbin."""
UNITS = """
[connectivity]
nk=twice:2:twice_1.twice_2
sp=twice_1.in:DDR[0]
sp=twice_1.out:DDR[1]
sp=twice_2.in:DDR[2]
sp=twice_2.out:DDR[3]
"""
WARNED = "isthmus: emulated card: warning: "
NOBODY = "neither the program nor a kernel ever wrote"


@pytest.fixture(scope="session")
def banks(run_isthmus: Command) -> Path:
    """A folder with a kernel, an xclbin for each of ``CONNECTED``, and a program."""

    def make(folder: Path) -> None:
        (folder / "twice.cpp").write_text(TWICE)
        for name, places in CONNECTED.items():
            lines = [f"sp=twice_1.{argument}:{memory}" for argument, memory in places.items()]
            (folder / f"{name}.cfg").write_text("\n".join(["[connectivity]", *lines, ""]))
            options = ("--no-estimate", "--config", f"{name}.cfg", "-o", f"{name}.xclbin")
            made = run_isthmus("card", "kernel", "build", "twice.cpp", *options, cwd=folder)
            assert made.returncode == 0, made.stderr
        (folder / "units.cfg").write_text(UNITS)
        options = ("--no-estimate", "--config", "units.cfg", "-o", "units.xclbin")
        made = run_isthmus("card", "kernel", "build", "twice.cpp", *options, cwd=folder)
        assert made.returncode == 0, made.stderr
        compiled(SOURCES / "banks.cpp", folder / "program", OPENCL)

    return made_once("banks", make)


def warnings(errors: list[str]) -> list[str]:
    return [line.removeprefix(WARNED) for line in errors if line.startswith(WARNED)]


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("design", "board", "lacks"),
    [
        ("far", "u55c", "design uses DDR[0], which the board u55c lacks: it has HBM[0] to HBM[31]"),
        (
            "far",
            "u280",
            "design uses DDR[3], which the board u280 lacks: it has HBM[0] to",
        ),
        ("far", "zcu104", "program uses bank 3 of the card, DDR[3]: the board zcu104 has 1 bank "),
        ("beyond", "u55c", "uses bank 40 of the card, HBM[40]: the board u55c has 32 banks"),
    ],
)
def test_a_memory_that_the_board_lacks_is_refused(
    card_exec: Run, banks: Path, design: str, board: str, lacks: str
) -> None:
    command = (banks / "program", "native", banks / f"{design}.xclbin", "right")
    ran = card_exec("--board", board, "--kernels", banks, "--", *command)
    assert ran.code != 0
    assert any(lacks in line for line in ran.errors), ran.errors


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("design", "board", "way"),
    [
        ("far", "u250", "right"),
        ("two", "u280", "right"),
        ("hbm", "u55c", "right"),
        ("host_in", "u55c", "right"),
        ("one", "kv260", "right"),
        ("one", "u50", "right"),
        ("host", "u250", "host_only"),
        ("one", "u250", "half"),
        ("one", "u250", "read_first"),
        ("one", "u250", "made_after"),
    ],
)
def test_a_right_program_is_not_warned(
    card_exec: Run, banks: Path, design: str, board: str, way: str
) -> None:
    command = (banks / "program", "native", banks / f"{design}.xclbin", way)
    ran = card_exec("--board", board, "--kernels", banks, "--fail-on-warning", "--", *command)
    assert ran.code == 0, ran.errors
    assert ran.figures["out"] == 42


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("design", "way", "said"),
    [
        (
            "one",
            "host_only",
            [
                ("HOST[0] for argument in (number 0)", "sp=twice_1.in:HOST[0]"),
                ("HOST[0] for argument out (number 1)", "sp=twice_1.out:HOST[0]"),
            ],
        ),
        (
            "two",
            "in_of_out",
            [("argument in (number 0) of kernel twice gets a buffer in DDR[1]", "group_id(0)")],
        ),
        (
            "two",
            "out_of_in",
            [("argument out (number 1) of kernel twice gets a buffer in DDR[0]", "group_id(1)")],
        ),
        (
            "two",
            "exchanged",
            [
                ("argument in (number 0)", "DDR[1] is the memory of argument out, exchange the"),
                ("argument out (number 1)", "DDR[0] is the memory of argument in, exchange the"),
                ("reads byte 0 of argument in (number 0)", "exchange the two in the calls"),
            ],
        ),
        (
            "one",
            "none",
            [("kernel twice_1 wrote nothing to argument out (number 1)", "look at the counts")],
        ),
    ],
    ids=["host_only", "in_of_out", "out_of_in", "exchanged", "none"],
)
def test_a_buffer_in_the_wrong_memory_is_named(
    card_exec: Run, banks: Path, design: str, way: str, said: list[tuple[str, str]]
) -> None:
    command = (banks / "program", "native", banks / f"{design}.xclbin", way)
    ran = card_exec("--kernels", banks, "--", *command)
    assert ran.code == 0, ran.errors
    found = warnings(ran.errors)
    assert len(found) == len(said), found
    for line, words in zip(found, said, strict=True):
        assert all(part in line for part in words), line
    ended = card_exec("--kernels", banks, "--fail-on-warning", "--", *command)
    assert ended.code == 3
    assert said[0][0] in ended.errors[-1]


@pytest.mark.usefixtures("emulated")
def test_a_copy_names_the_memories_of_the_unit_that_runs(card_exec: Run, banks: Path) -> None:
    command = (banks / "program", "native", banks / "units.xclbin", "exchanged", "twice:{twice_2}")
    ran = card_exec("--kernels", banks, "--", *command)
    assert ran.code == 0, ran.errors
    text = " ".join(warnings(ran.errors))
    assert "as DDR[3] is the memory of argument out, exchange the two" in text


@pytest.mark.usefixtures("emulated")
def test_ddr_of_a_board_with_hbm_has_the_rate_of_ddr(
    card_exec: Run, isthmus: Command, banks: Path, tmp_path: Path
) -> None:
    """A kernel with ports of 64 bytes takes less time in DDR of the u280 than in its HBM."""
    (tmp_path / "twice.cpp").write_text(WIDE)
    took = {}
    for design in ("two", "first_hbm"):
        file, trace = tmp_path / f"{design}.xclbin", tmp_path / f"{design}.json"
        options = ("--no-estimate", "--config", str(banks / f"{design}.cfg"), "-o", str(file))
        assert isthmus("card", "kernel", "build", "twice.cpp", *options).returncode == 0
        command = (banks / "program", "native", file, "right")
        options = ("--clock", "card", "--trace", trace, "--board", "u280", "--kernels", tmp_path)
        ran = card_exec(*options, "--", *command)
        assert ran.code == 0, ran.errors
        events = json.loads(trace.read_text())["traceEvents"]
        took[design] = min(one["dur"] for one in events if one["name"].startswith("twice"))
    assert took["two"] < took["first_hbm"]


@pytest.mark.usefixtures("emulated")
def test_a_buffer_that_nobody_wrote_is_named_when_it_is_read(card_exec: Run, banks: Path) -> None:
    """The kernel gets ``in`` for ``out``, too; the program reads ``out``."""
    command = (banks / "program", "native", banks / "one.xclbin", "in_for_out")
    assert any(NOBODY in line for line in card_exec("--kernels", banks, "--", *command).errors)
    unused = (banks / "program", "native", banks / "one.xclbin", "no_run")
    ran = card_exec("--kernels", banks, "--fail-on-warning", "--", *unused)
    assert ran.code == 0, ran.errors  # may be a test of transfers


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(("parts", "code"), [(1, 3), (4, 0)])
def test_an_opencl_program_that_reads_a_quarter_is_named(
    card_exec: Run, banks: Path, parts: int, code: int
) -> None:
    command = (banks / "program", "opencl", banks / "one.xclbin", parts)
    ran = card_exec("--kernels", banks, "--fail-on-warning", "--", *command)
    assert ran.code == code, ran.errors
    if code:
        assert "the program read only 1024 of them from the card" in ran.errors[-1]


def test_arguments_without_a_memory_lie_in_a_bank_of_any_board(tmp_path: Path) -> None:
    """DDR[0] was their bank, which boards with HBM alone lack."""
    file = tmp_path / "k.cfg"
    file.write_text("[connectivity]\nsp=k_1.a:HOST[0]\n")
    kernel = Kernel("k", (Argument("a", "int*"), Argument("b", "int*")))
    design = connectivity.load([file]).applied(Design(kernels=(kernel,)))
    assert [bank.name for bank in design.memories] == ["bank0", "HOST[0]"]
