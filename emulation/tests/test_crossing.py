"""What transfers and kernels of programs on an emulated card take, alone and beside each other."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from on_cards import Made, Run, card_exec, emulated, programs

from conftest import Command, made_once
from isthmus import boards

__all__ = ["card_exec", "emulated", "programs"]  # fixtures
pytestmark = pytest.mark.usefixtures("emulated")
LINK_BPS = 15.75e9
"""Of gen3 x16, before headers."""
"""Of one bank of the U250's, and of one port of a kernel."""

COPY = """
#include <cstring>
#include <isthmus/card/kernel_plugin.h>
#include <vector>
extern "C" int isthmus_kernel(isthmus_kernel_run* run) {  // each pair of buffers is copied
  const auto value = [run](int index) {
    uint64_t found = 0;
    std::memcpy(&found, run->registers + 0x10 + 12 * index, sizeof(found));
    return found;
  };
  const uint64_t bytes = value(PORTS);
  std::vector<char> piece(65536);
  for (uint64_t at = 0; at < bytes; at += piece.size()) {
    for (int port = 0; port < PORTS / 2; ++port) {
      if (run->read(run->card, value(port) + at, piece.data(), piece.size()) != 0 ||
          run->write(run->card, value(PORTS / 2 + port) + at, piece.data(), piece.size()) != 0) {
        return 1;
      }
    }
  }
  return 0;
}
"""


@pytest.fixture(scope="session")
def copiers(run_isthmus: Command) -> Path:
    """A folder with kernels that copy one buffer or two, each in a bank of its own, and an xclbin
    of them and of the card's own copy."""

    def make(folder: Path) -> None:
        include = run_isthmus("card", "include", cwd=folder).stdout.strip()
        source = folder / "copy.cpp"
        source.write_text(COPY)
        kernels = []
        connect = {"bandwidth_1.input0": ["bank0"], "bandwidth_1.output0": ["bank1"]}
        for ports in (2, 4):
            name = f"copy_of_{ports}"
            compiler = [os.environ.get("CXX", "c++"), "-shared", "-fPIC", f"-DPORTS={ports}"]
            subprocess.run(
                [*compiler, "-I", include, source, "-o", folder / f"{name}.so"], check=True
            )
            buffers = [{"name": f"port{port}", "type": "void*"} for port in range(ports)]
            kernels.append({"name": name, "arguments": buffers})
            for port in range(ports):
                connect[f"{name}_1.port{port}"] = [f"bank{port}"]
        own = [{"name": name, "type": "void*"} for name in ("input0", "output0")]
        kernels.append({"name": "bandwidth", "arguments": own})
        for kernel in kernels:
            kernel["arguments"] += [
                {"name": name, "type": "int64_t"} for name in ("bytes", "sweeps")
            ]
        design = {
            "mode": "hw_emu",
            "memories": [{"name": f"bank{bank}"} for bank in range(4)],
            "kernels": kernels,
            "connect": connect,
        }
        (folder / "copiers.json").write_text(json.dumps(design))
        made = run_isthmus(
            "xclbin", "write", "--from", "copiers.json", "-o", "copy.xclbin", cwd=folder
        )
        assert made.returncode == 0, made.stderr

    return made_once("copiers", make)


def test_a_kernel_takes_the_time_of_all_its_ports_at_once(
    card_exec: Run, programs: Made, copiers: Path
) -> None:
    def seconds(kernel: str, ports: int) -> float:
        options = ("--clock", "card", "--kernels", copiers, "--board", "u250")
        program = (programs("crossing"), "ports", copiers / "copy.xclbin", kernel, ports, 16)
        figures = card_exec(*options, "--", *program).figures
        assert figures["wrong"] == 0
        return figures["seconds"]

    one = seconds("bandwidth", 2)
    board = boards.load("u250")
    launch = board.seconds("driver.launch_ns") + board.seconds("driver.first_launch_ns")
    # A burst of 4 KiB, and the cycles after it.
    burst = 4096 / 19.2e9 + board.number("kernel.write_gap_cycles") / board.hertz(
        "kernel.clock_MHz"
    )
    assert one == pytest.approx(launch + (16 << 20) / 4096 * burst, rel=0.002)
    assert seconds("copy_of_2", 2) == one
    assert seconds("copy_of_4", 4) == one


def test_transfers_of_threads_share_link_and_channels(card_exec: Run, programs: Made) -> None:
    """Alike in all runs: cards get calls in the order of the program's time."""

    def seconds(*threads: tuple[str, int, int]) -> float:
        words = [word for thread in threads for word in thread]
        program = (programs("crossing"), "transfers", programs("hw_emu.xclbin"), *words)
        figures = card_exec("--clock", "card", "--board", "u250", "--", *program).figures
        return figures["seconds"]

    large, small = 4 << 20, 4096
    down, up = seconds(("h2d", large, 10)), seconds(("d2h", large, 10))
    both = seconds(("h2d", large, 10), ("d2h", large, 10))
    assert max(down, up) < both < 0.75 * (down + up)
    assert seconds(("h2d", large, 10), ("d2h", large, 10)) == both
    one = seconds(("h2d", small, 100))
    twice = seconds(("h2d", large, 10), ("h2d", large, 10))
    assert 2 * (down - one / 10) < twice < 2 * down
    assert seconds(("h2d", small, 100), ("h2d", small, 100)) == pytest.approx(one, rel=0.01)
    assert seconds(("h2d", small, 100), ("d2h", small, 100)) == pytest.approx(one, rel=0.01)


def test_a_buffer_costs_the_pinning_of_its_pages(card_exec: Run, programs: Made) -> None:
    def seconds(size: int, pin_ns: float) -> float:
        options = ("--clock", "card", "--board", f"u250,offload.pin_ns={pin_ns}")
        program = (programs("crossing"), "allocating", programs("hw_emu.xclbin"), size)
        return card_exec(*options, "--", *program).figures["seconds"]

    assert seconds(1 << 20, 500) == pytest.approx(256 * 500e-9, abs=1e-9)
    assert seconds(4097, 500) == pytest.approx(2 * 500e-9, abs=1e-9)
    assert seconds(1 << 20, 0) == 0


def test_queued_transfers_of_opencl_overlap_as_far_as_the_link_allows(
    card_exec: Run, programs: Made
) -> None:
    options = ("--as-hardware", "--board", "u200")
    program = (programs("queues"), "queued", programs("hw.xclbin"), 1 << 20, 32)
    rates = card_exec(*options, "--", *program).figures
    assert max(rates["h2d"], rates["d2h"]) < LINK_BPS
    assert rates["both"] < 2 * LINK_BPS
    assert rates["both"] > 1.2 * max(rates["h2d"], rates["d2h"])
