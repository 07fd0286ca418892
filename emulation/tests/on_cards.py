"""Programs that use emulated cards, compiled and run: what the tests of them share."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import isthmus_emulation
from conftest import Command, made_once
from isthmus.errors import NoDeviceError

SOURCES = Path(__file__).parent / "programs"
NATIVE = ["-lxrt_coreutil", "-luuid", "-pthread"]
OPENCL = ["-lxilinxopencl", *NATIVE]
LIBRARIES = {
    "native": NATIVE,
    "lifecycle": ["-Wl,--no-as-needed", "-lxrt_core", *NATIVE],
    "waits": NATIVE,
    "crossing": NATIVE,
    "streams": NATIVE,
    "verilog": NATIVE,
    "entry_points": NATIVE,
    "graphs": NATIVE,
    "device": ["-Wl,--no-as-needed", "-lxrt_core", *OPENCL],
    "queues": OPENCL,
    "opencl_c": OPENCL,
    "opencl": ["-lxilinxopencl", "-pthread"],
    "opencl_loader": ["-l:libOpenCL.so.1", "-pthread"],
}
XRT = """
#include <xrt/xrt_bo.h>
#include <xrt/xrt_device.h>
#include <xrt/xrt_kernel.h>
"""

if CHOSEN_XRT := os.environ.get("ISTHMUS_TEST_XRT", ""):
    os.environ["XILINX_XRT"] = CHOSEN_XRT
"""Installation of XRT that programs are built against and run with; empty: the usual one."""
IN_VERILOG = pytest.mark.skipif(shutil.which("verilator") is None, reason="no verilator here")
PROBE = """
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
struct Big { long values[8]; };
__attribute__((noinline)) static Big big(long value) {
  return {{value, value, value, value, value, value, value, value}};  // an unreported write
}
static int endless(volatile int* from, int n) {
  volatile int frame[1000];
  frame[n % 1000] = n;
  return endless(frame, n + 1) + frame[0] + from[0];
}
extern "C" void probe(const int* in, int* out, int what, int n) {
  int own[4] = {1, 2, 3, 4};
  if (what == 2) std::printf("copies %d words\\n", n);
  for (int sweep = 0; sweep < (what == 1 ? 3 : what == 0 ? 1 : 0); ++sweep) {
    for (int i = 0; i < n; ++i) out[i] = in[i] + own[(i + n) % 4];
  }
  if (what == 2) std::memcpy(out, in, sizeof(int) * n);
  if (what == 3) out[n] = 1;
  if (what == 4) out[0] = in[-1];
  if (what == 5) out[0] = in[n + 1] + 7;
  if (what == 6) out[1 << 28] = 1;
  if (what == 7) out[n + 5000] = 1;
  if (what == 8) reinterpret_cast<Big*>(out)[n / 16] = big(n);
  if (what == 9) *reinterpret_cast<volatile int*>(std::uintptr_t(what - 9)) = 1;
  if (what == 10) {
    const std::string ends(100, char(n));
    out[1 << 28] = ends[n % 10];
  }
  if (what == 11) {
    for (int i = 0; i < n; i += 256) out[1000 * i] = in[1000 * i] + 1;
    std::snprintf(reinterpret_cast<char*>(out + 900000), 16, "%d", n);  // unreported writes
  }
  if (what == 12) out[(1 << 20) + n] = 1;
  if (what == 13) {
    for (volatile int ever = 1; ever == 1;) continue;
  }
  if (what == 14) out[0] = endless(out, n);
}
"""
"""A kernel that does what its argument ``what`` says."""


@dataclass(frozen=True)
class Ran:
    code: int
    output: str
    errors: list[str]

    @property
    def figures(self) -> dict[str, float]:
        """What the program measured; XRT prints in front of it, also without a new line."""
        data: dict[str, float] = json.loads(self.output[self.output.index('{"') :])
        return data


Run = Callable[..., Ran]
Made = Callable[[str], Path]
"""Where what has this name lies; it is made when it is first asked for."""


@pytest.fixture(scope="session")
def emulated() -> None:
    """Skips where there is no XRT."""
    try:
        isthmus_emulation.prepare(["u250"]).close()
    except NoDeviceError as error:
        pytest.skip(f"no XRT behind which a card is emulated: {error}")


def compile_host(absent: str, *arguments: object) -> None:
    """Skips where the compiler says that something is absent."""
    options = ["-std=c++17", "-w", "-pthread", "-I/usr/include/xrt"]
    if CHOSEN_XRT:
        options[3:] = [f"-I{CHOSEN_XRT}/include", f"-L{CHOSEN_XRT}/lib"]
    command = [os.environ.get("CXX", "c++"), *options, *map(str, arguments)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if absent in made.stderr or (CHOSEN_XRT and "No such file" in made.stderr):
        pytest.skip(f"cannot build a program for XRT: {made.stderr.splitlines()[0]}")
    assert made.returncode == 0, made.stderr


def _headers() -> Path:
    """XRT's headers, half of what a program is made of: compiled once for all."""

    def make(folder: Path) -> None:
        header = folder / "xrt.hpp"
        header.write_text(XRT)
        compile_host("No such file", "-x", "c++-header", header, "-o", f"{header}.gch")

    return made_once("xrt", make) / "xrt.hpp"


def compiled(source: Path, program: Path, libraries: Sequence[str] = NATIVE) -> Path:
    linking = [f"-Wl,-rpath-link,{CHOSEN_XRT}/lib"] if CHOSEN_XRT else []
    compile_host("cannot find", "-include", _headers(), source, "-o", program, *libraries, *linking)
    return program


@pytest.fixture(scope="session")
def programs(run_isthmus: Command) -> Made:
    """Gives a program, a library to preload or an xclbin, each made when first asked for."""

    def made(name: str) -> Path:
        def make(folder: Path) -> None:
            stem, _, kind = name.partition(".")
            source = SOURCES / f"{stem.removesuffix('_loader')}.cpp"
            if kind == "xclbin":
                ended = run_isthmus("card", "xclbin", "--mode", stem, "-o", name, cwd=folder)
                assert ended.returncode == 0, ended.stderr
            elif kind == "so":
                compile_host("cannot find", "-O1", "-shared", "-fPIC", source, "-o", folder / name)
            else:
                compiled(source, folder / name, LIBRARIES[name])

        return made_once(f"program-{name}", make) / name

    return made


def preloading(library: Path, *command: object) -> tuple[object, ...]:
    """The command with one more library before those that it is linked with."""
    return ("sh", "-c", f'LD_PRELOAD="$LD_PRELOAD {library}" exec "$@"', "sh", *command)


@pytest.fixture
def card_exec(isthmus: Command) -> Run:
    def run(*arguments: object) -> Ran:
        ended = isthmus("card", "exec", *map(str, arguments))
        assert "Traceback" not in ended.stderr
        return Ran(ended.returncode, ended.stdout, ended.stderr.splitlines())

    return run


@pytest.fixture(scope="session")
def probe(run_isthmus: Command) -> Path:
    """A folder with a kernel that does what it is told, and a program that tells it."""

    def make(folder: Path) -> None:
        (folder / "probe.cpp").write_text(PROBE)
        (folder / "probe.toml").write_text(
            "memories = [{ name = 'bank0' }]\n"
            "[connect]\n'probe_1.in' = ['bank0', 'HOST[0]']\n'probe_1.out' = ['bank0', 'HOST[0]']\n"
        )
        made = run_isthmus("card", "kernel", "build", "--no-estimate", "probe.cpp", cwd=folder)
        assert made.returncode == 0, made.stderr
        compiled(SOURCES / "probe.cpp", folder / "program")

    return made_once("probe", make)


@pytest.fixture
def probed(card_exec: Run, probe: Path) -> Callable[..., Ran]:
    def run(buffers: str, what: int, *options: str) -> Ran:
        program = [probe / "program", buffers, probe / "probe.xclbin", what]
        return card_exec("--kernels", probe, *options, "--", *program)

    return run


def moved_by_kernel(errors: list[str]) -> str:
    """How many bytes one run of a kernel moved, as the last line says it."""
    found = re.search(r"1 kernel run of \S+ \S+ over ([\d.]+ \w+),", errors[-1])
    assert found, errors
    return found[1]


def trace_of(file: Path) -> list[dict[str, object]]:
    """The events of a timeline."""
    data: dict[str, list[dict[str, object]]] = json.loads(file.read_text("utf-8"))
    return data["traceEvents"]
