"""Channel ``intel``: kernels of emulated FPGA cards that exchange messages, over real ranks too."""

from __future__ import annotations

import csv
import io
import subprocess
import tempfile
from pathlib import Path

import pytest

import launchers
from conftest import Command
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


def verified_sizes(isthmus: Command, topology: str, ranks: int) -> list[int]:
    shown = isthmus("show", "run.json", "--format", "csv")
    assert shown.returncode == 0, shown.stderr
    rows = [
        row for row in csv.DictReader(io.StringIO(shown.stdout)) if row["operation"] == "exchange"
    ]
    for row in rows:
        assert (row["channel"], row["topology"]) == ("intel", topology)
        assert (row["memory"], row["initiator"], row["ranks"]) == ("device", "kernel", str(ranks))
        assert float(row["looplength"]) >= 1
    return sorted(int(row["bytes"]) for row in rows if row["verified"] == "true")


def cables() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("isthmus-cables-*"))


@pytest.mark.slow
@pytest.mark.parametrize("topology", ["ring", "internal"])
def test_a_card_alone_talks_to_itself(isthmus: Command, card: str, topology: str) -> None:
    more = ("--topology", topology, "--reruns", "1")
    done = isthmus("run", *arguments(card, *more))
    assert done.returncode == 0, done.stdout + done.stderr
    assert verified_sizes(isthmus, topology, 1) == list(SIZES)


@pytest.mark.slow
@pytest.mark.parametrize(("ranks", "topology"), [(2, "ring"), (4, "ring"), (4, "random")])
def test_every_message_between_ranks_is_verified(
    isthmus: Command, tmp_path: Path, card: str, ranks: int, topology: str
) -> None:
    launcher = launchers.any_launcher()
    before = cables()
    done = launcher.run(ranks, tmp_path, *arguments(card, "--topology", topology))
    assert done.returncode == 0, done.stdout + done.stderr
    assert verified_sizes(isthmus, topology, ranks) == list(SIZES)
    assert cables() <= before


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
