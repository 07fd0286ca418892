"""Device sources for AMD's boards: simulated in C, and checked against the RTL and our xclbins.

Neither Vitis nor a board is here: that v++ and Vivado take them is not tested.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
VITIS = ROOT / "kernels" / "vitis"
RTL = ROOT / "card" / "rtl"
IN_RTL = ("read_bandwidth", "write_bandwidth", "bandwidth")
KERNELS = (*IN_RTL, "vadd")
SIZES = (0, 1, 7, 8, 63, 64, 65, 4096, 4100, 8192, 8193, 12_345, 65_536, 70_001)
BURST_BEATS, OUTSTANDING, WORD_BYTES = 64, 16, 64
GUARD = 4096

# Vitis sets XILINX_HLS; where it is, the kernels are simulated with AMD's own ap_int.h, too.
REAL_WORDS = Path(os.environ.get("XILINX_HLS", "/nowhere")) / "include"
WORDS = ("stand-in", "ap_int") if (REAL_WORDS / "ap_int.h").is_file() else ("stand-in",)


@pytest.fixture(scope="module", params=WORDS)
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HLS sources as a shared object; the pragmas are for HLS, so g++ need not know them."""
    built = tmp_path_factory.mktemp("hls") / "kernels.so"
    # AMD's header sets a word lane by lane, of which g++ says that it was not set before.
    real = ["-isystem", str(REAL_WORDS), "-Wno-uninitialized", "-Wno-maybe-uninitialized"]
    words = real if request.param == "ap_int" else []
    subprocess.run(
        ["g++", "-std=c++14", "-O3", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", *words,
         "-shared", "-fPIC", *map(str, sorted((VITIS / "hls").glob("*.cpp"))), "-o", str(built)],
        check=True,
    )  # fmt: skip
    return built


@pytest.fixture
def call(library: Path) -> Callable[..., None]:
    kernels = ctypes.CDLL(str(library))

    def call(name: str, *arguments: Any) -> None:
        getattr(kernels, name)(
            *(
                ctypes.c_int64(argument)
                if isinstance(argument, int)
                else ctypes.c_void_p(argument.ctypes.data)
                for argument in arguments
            )
        )

    return call


def buffer(size: int, seed: int) -> np.ndarray:
    """Random bytes, `GUARD` of them behind the buffer; it begins where a 512-bit word may."""
    space = np.empty(size + GUARD + WORD_BYTES, np.uint8)
    begin = -space.ctypes.data % WORD_BYTES
    data = space[begin : begin + size + GUARD]
    data[:] = np.random.default_rng(seed).integers(0, 256, data.size, np.uint8)
    return data


def pattern(size: int, sweep: int) -> bytes:
    places = np.arange(-(-size // 8), dtype=np.uint64)
    return (places | np.uint64(sweep << 48)).tobytes()[:size]


def checksum(data: bytes, iterations: int) -> int:
    """As `read_bandwidth.sv` defines it."""

    def rotated(value: int, bits: int) -> int:
        return ((value << bits) | (value >> (64 - bits))) & (2**64 - 1)

    words = np.frombuffer(data + bytes(-len(data) % WORD_BYTES), np.uint64).reshape(-1, 8)
    folded = []
    for word in words.tolist():
        fold = 0
        for place, lane in enumerate(word):
            fold ^= rotated(lane, place)
        folded.append(fold)
    total = 0
    for _ in range(iterations):
        for fold in folded:
            total = rotated(total, 1) ^ fold
    return total


@pytest.mark.parametrize("iterations", [0, 1, 3])
@pytest.mark.parametrize("size", SIZES)
def test_read_bandwidth_reads_all_and_nothing_else(
    call: Callable[..., None], library: Path, size: int, iterations: int
) -> None:
    data = buffer(size, 1)
    before = data.copy()
    call("read_bandwidth", data, size, iterations)
    kept = ctypes.c_uint64.in_dll(ctypes.CDLL(str(library)), "read_checksum").value
    assert kept == checksum(data[:size].tobytes(), iterations)
    assert np.array_equal(data, before)


@pytest.mark.parametrize("iterations", [0, 1, 3])
@pytest.mark.parametrize("size", SIZES)
def test_write_bandwidth_writes_its_pattern_and_nothing_behind(
    call: Callable[..., None], size: int, iterations: int
) -> None:
    data = buffer(size, 2)
    before = data.copy()
    call("write_bandwidth", data, size, iterations)
    expected = pattern(size, iterations - 1) if iterations else before[:size].tobytes()
    assert data[:size].tobytes() == expected
    assert np.array_equal(data[size:], before[size:])


@pytest.mark.parametrize("iterations", [0, 1, 3])
@pytest.mark.parametrize("size", SIZES)
def test_bandwidth_copies_and_writes_nothing_behind(
    call: Callable[..., None], size: int, iterations: int
) -> None:
    source, target = buffer(size, 3), buffer(size, 4)
    before = target.copy()
    call("bandwidth", source, target, size, iterations)
    assert np.array_equal(target[:size], (source if iterations else before)[:size])
    assert np.array_equal(target[size:], before[size:])


@pytest.mark.parametrize("elements", [0, 1, 15, 16, 17, 1000, 4096])
def test_vadd_adds_and_wraps_around(call: Callable[..., None], elements: int) -> None:
    size = 4 * elements
    a, b, c = (buffer(size, seed) for seed in (5, 6, 7))
    before = c.copy()
    call("vadd", a, b, c, elements)
    total = a[:size].view(np.uint32) + b[:size].view(np.uint32)
    assert np.array_equal(c[:size].view(np.uint32), total)
    assert np.array_equal(c[size:], before[size:])


def test_the_empty_kernel_can_be_called(call: Callable[..., None]) -> None:
    call("isthmus_empty")


READS_A_FORBIDDEN_PAGE = """
#include <sys/mman.h>
#include <cstdlib>
#include "read_bandwidth.cpp"
int main(int, char** arguments) {
  void* page = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  read_bandwidth(static_cast<const Word*>(page), 8192, std::atoi(arguments[1]));
}
"""


def test_an_optimiser_that_sees_the_whole_program_keeps_the_reads(tmp_path: Path) -> None:
    """A read of a page that may not be read ends the process; a read left out would not."""
    program = tmp_path / "program"
    subprocess.run(
        ["g++", "-std=c++14", "-O3", "-fwhole-program", "-Wno-unknown-pragmas", "-x", "c++", "-",
         "-I", str(VITIS / "hls"), "-o", str(program)],
        input=READS_A_FORBIDDEN_PAGE, text=True, check=True,
    )  # fmt: skip
    ends = [subprocess.run([program, str(n)], check=False).returncode for n in (0, 1)]
    assert ends == [0, -signal.SIGSEGV]


def parameters(kernel: str) -> list[tuple[str, bool]]:
    """Name of each parameter of the HLS function, and whether it is a pointer."""
    source = (VITIS / "hls" / f"{kernel}.cpp").read_text(encoding="utf-8")
    call = re.search(rf"^void {kernel}\((.*?)\) {{", source, re.M | re.S)
    assert call is not None
    parameters_ = []
    for parameter in call[1].split(","):
        kind, name = parameter.rsplit(maxsplit=1)
        assert kind.strip() in {"Word*", "const Word*", "std::int64_t"}
        parameters_.append((name, "*" in kind))
    return parameters_


@pytest.mark.parametrize("kernel", IN_RTL)
def test_hls_and_rtl_take_the_same_arguments(kernel: str) -> None:
    rtl = (RTL / f"{kernel}.sv").read_text(encoding="utf-8")
    packed = re.search(r"assign \{(.*?)\} = arguments;", rtl)
    assert packed is not None
    # The first argument is the lowest, so it comes last.
    called = {"bytes": "buf_size", "iterations": "iter"}
    names = [called.get(name, name) for name in reversed(packed[1].split(", "))]
    assert parameters(kernel) == [(name, f"m_axi_{name}_" in rtl) for name in names]


@pytest.mark.parametrize("kernel", KERNELS)
def test_hls_interfaces_burst_as_the_rtl_does(kernel: str) -> None:
    source = (VITIS / "hls" / f"{kernel}.cpp").read_text(encoding="utf-8").replace("\\\n", " ")
    pragmas = re.findall(r"#pragma HLS INTERFACE (\w+) port = (\w+)(.*)", source)
    registers = [port for kind, port, _ in pragmas if kind == "s_axilite"]
    assert registers == [*(name for name, _ in parameters(kernel)), "return"]
    masters = {port: options.split() for kind, port, options in pragmas if kind == "m_axi"}
    assert set(masters) == {name for name, pointer in parameters(kernel) if pointer}
    if kernel in IN_RTL:
        rtl = (RTL / f"{kernel}.sv").read_text(encoding="utf-8")
        assert f"BURST_BEATS = {BURST_BEATS}," in rtl
        assert f"OUTSTANDING = {OUTSTANDING}," in rtl
    for port, options in masters.items():
        text = " ".join(options)
        way = "read" if f"const Word* {port}" in source else "write"
        assert f"bundle = {port}" in text
        assert f"max_{way}_burst_length = {BURST_BEATS}" in text
        assert f"num_{way}_outstanding = {OUTSTANDING}" in text


@pytest.mark.parametrize(
    ("configuration", "memories"),
    [
        ("host_memory", ("HOST[0]", "HOST[0]")),
        ("card_memory", ("DDR[0]", "DDR[1]")),
        ("card_memory_hbm", ("HBM[0]", "HBM[1]")),
    ],
)
def test_link_configuration_connects_every_pointer(
    configuration: str, memories: tuple[str, str]
) -> None:
    lines = (VITIS / f"{configuration}.cfg").read_text(encoding="utf-8").splitlines()
    written = {"write_bandwidth.output0", "bandwidth.output0", "vadd.c"}
    connected = {
        f"sp={kernel}_1.{name}:{memories[f'{kernel}.{name}' in written]}"
        for kernel in KERNELS
        for name, pointer in parameters(kernel)
        if pointer
    }
    units = {f"nk={kernel}:1:{kernel}_1" for kernel in (*KERNELS, "isthmus_empty")}
    assert lines[1] == "[connectivity]"
    assert sorted(lines[2:]) == sorted(connected | units)


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What make would do."""
    return subprocess.run(
        ["make", "-n", "-C", str(VITIS), *arguments], check=False, capture_output=True, text=True
    )


@pytest.mark.parametrize("memory", ["host", "card", "card_hbm"])
def test_make_builds_and_links_every_kernel(memory: str) -> None:
    done = make("PLATFORM=/opt/xilinx_u250_gen3x16_xdma_4_1_202210_1.xpfm", "TARGET=hw_emu",
                f"MEMORY={memory}")  # fmt: skip
    assert done.returncode == 0, done.stderr
    (link,) = [line for line in done.stdout.splitlines() if " --link " in line]
    for kernel in (*KERNELS, "isthmus_empty"):
        assert f"/hls/{kernel}.xo" in link
        assert f"--kernel {kernel} " in done.stdout
    configuration = re.search(r"--config (\w+\.cfg)", link)
    assert configuration is not None
    assert (VITIS / configuration[1]).is_file()
    assert "emconfigutil" in done.stdout
    assert "xilinx_u250_gen3x16_xdma_4_1_202210_1.hw_emu/" in link


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "say PLATFORM="),
        (("PLATFORM=xilinx_u50lv_gen3x4_xdma_2_202010_1",), "no host memory; say MEMORY=card"),
        (("PLATFORM=xilinx_u200_xdma_201830_2",), "no host memory"),
        (("PLATFORM=xilinx_aws-vu47p-f2_202410_1_2",), "no host memory"),
        (("PLATFORM=any", "MEMORY=disk"), "MEMORY is host, card or card_hbm"),
        (("PLATFORM=any", "TARGET=sw_emu"), "TARGET is hw or hw_emu"),
    ],
)
def test_make_refuses_what_cannot_be_and_says_why(arguments: tuple[str, ...], reason: str) -> None:
    done = make(*arguments)
    assert done.returncode == 2
    assert reason in done.stderr
