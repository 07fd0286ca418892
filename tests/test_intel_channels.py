"""Channel ``intel``: kernels of emulated FPGA cards that exchange messages."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import LIMIT_S, Command
from isthmus.backends import by_scheme
from isthmus.candidates import Candidate
from isthmus.descriptions import DeviceDescription
from isthmus.errors import IsthmusError
from isthmus.measure import discovery

KERNELS = Path(__file__).resolve().parent.parent / "kernels" / "intel"
SIZES = (1, 65, 4096, 70_001)


@pytest.fixture(scope="module")
def card() -> str:
    """Address of Intel's emulated card; without it the test is skipped."""
    try:
        return discovery.resolve("opencl:fpga-emulator").address
    except IsthmusError as error:
        pytest.skip(f"no emulator of Intel's FPGAs, see make fpga-emulator: {error}")


def arguments(card: str, *more: str) -> tuple[str, ...]:
    sizes = ",".join(map(str, SIZES))
    return ("beff", "--device", card, "--channel", "intel", "--bytes", sizes, "--precision", "0.9",
            "--budget", "120", "--out", "run.json", *more)  # fmt: skip


def verified_sizes(isthmus: Command) -> list[int]:
    shown = isthmus("show", "run.json", "--format", "csv")
    assert shown.returncode == 0, shown.stderr
    rows = [
        row for row in csv.DictReader(io.StringIO(shown.stdout)) if row["operation"] == "exchange"
    ]
    for row in rows:
        assert (row["channel"], row["topology"]) == ("intel", "internal")
        assert (row["memory"], row["initiator"], row["ranks"]) == ("device", "kernel", "1")
        assert float(row["looplength"]) >= 1
    return sorted(int(row["bytes"]) for row in rows if row["verified"] == "true")


@pytest.mark.slow
def test_a_card_alone_talks_to_itself(isthmus: Command, card: str) -> None:
    done = isthmus("run", *arguments(card, "--reruns", "1"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert verified_sizes(isthmus) == list(SIZES)


PROGRAM = """
import json, sys
import numpy as np
import pyopencl as cl

source, expects = open(sys.argv[1]).read(), json.loads(sys.argv[2])
devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
context = cl.Context([one for one in devices if "cl_intel_channels" in one.extensions][:1])
source = "#define CHANNEL_DEPTH 64\\n#define WITHOUT_PORTS\\n" + source
program, size, steps = cl.Program(context, source).build(), 640, 20
buffers, queues = [], []
for name, sent, expected in (("isthmus_send", 7, expects[0]), ("isthmus_receive", 11, expects[1])):
    queue, kernel = cl.CommandQueue(context), cl.Kernel(program, name)
    received, wrong = (cl.Buffer(context, cl.mem_flags.READ_WRITE, n) for n in (4096, 8))
    numbers = [np.uint32(n) for n in (size, 4096, 1, steps)]
    seeds = [np.uint64(n) for n in (sent, expected, 1000)]
    kernel(queue, (1,), (1,), received, wrong, *numbers, *seeds)
    queue.flush()
    buffers.append(wrong)
    queues.append(queue)
counts = []
for queue, wrong in zip(queues, buffers):
    count = np.zeros(1, np.uint64)
    queue.finish()
    cl.enqueue_copy(queue, count, wrong).wait()
    counts.append(int(count[0]))
print(json.dumps(counts))
"""
"""Starts both kernels, which send from seeds 7 and 11, and prints the pairs of words that each of
them found to be others than expected."""


@pytest.mark.slow
@pytest.mark.parametrize(("expected", "wrong"), [((11, 7), (0, 0)), ((11, 8), (0, 200))])
def test_the_kernels_find_words_that_were_not_sent(
    card: str, expected: tuple[int, int], wrong: tuple[int, int]
) -> None:
    """Of 20 messages of 640 B each pair of words of 32 B is compared."""
    environment = discovery.resolve(card).candidate.environment
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(KERNELS / "exchange.cl"), json.dumps(expected)],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
        timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert tuple(json.loads(done.stdout)) == wrong


def make(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "-n", "-C", str(KERNELS), *words], check=False, capture_output=True, text=True
    )


def test_make_names_the_board_and_the_width_of_its_channels() -> None:
    done = make("BOARD=p520_max_sg280l", "CHANNEL_BYTES=64")
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("aoc ")]
    assert "-board=p520_max_sg280l exchange.cl" in line
    assert "-DCHANNEL_BYTES=64" in line
    assert "-fpc -fp-relaxed -no-interleaving=default" in line  # as the published build
    assert "-march=emulator exchange.cl" in make("emulator").stdout
    refused = make()
    assert refused.returncode != 0
    assert "say BOARD=" in refused.stderr


@pytest.mark.parametrize(("compiler", "taken"), [("no", {"xclbin": "b.aocx"}), ("yes", {})])
def test_a_binary_goes_to_devices_that_compile_no_source(
    compiler: str, taken: dict[str, str]
) -> None:
    described = DeviceDescription(
        id="0:0", name="p520_max_sg280l", platform="Intel(R) FPGA SDK for OpenCL(TM)", api="opencl",
        max_buffer_bytes=1 << 30, memory_bytes=1 << 35, memory_kinds=["aligned"], operations=[],
        properties={"compiler": compiler},
    )  # fmt: skip
    candidate = Candidate("icd")
    device = discovery.FoundDevice("opencl:p520", by_scheme("opencl"), candidate, described)
    assert device.with_run_options({"xclbin": "b.aocx", "registers": "0:0"}).options == taken
