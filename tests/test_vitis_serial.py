"""Kernels for AMD's boards with serial ports: a ring of them in C simulation, and their build.

Neither Vitis, nor an Aurora core, nor a board is here: that v++ takes them is not tested.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import LIMIT_S

ROOT = Path(__file__).resolve().parent.parent
SERIAL = ROOT / "kernels" / "vitis" / "serial"
STAND_INS = Path(__file__).resolve().parent / "vitis_serial"
KERNELS = ("isthmus_send", "isthmus_receive")
WORD_BYTES = 64
PAGE = 4096
LANE_STEP = 0x9E3779B97F4A7C15
UNTOUCHED = 0xA5
DEADLOCK = 3

# As for the other kernels: where Vitis is, words are AMD's own.
REAL_WORDS = Path(os.environ.get("XILINX_HLS", "/nowhere")) / "include"
WORDS = ("stand-in", "ap_int") if (REAL_WORDS / "ap_int.h").is_file() else ("stand-in",)


@dataclass(frozen=True)
class Ring:
    ranks: int
    size: int
    depth: int = 2
    kept: int = 4
    steps: int = 5
    seed: int = 1000

    @property
    def slot_bytes(self) -> int:
        return -(-self.size // PAGE) * PAGE

    @property
    def words(self) -> int:
        return -(-self.size // WORD_BYTES)

    def message(self, first: int) -> bytes:
        places = np.arange(self.words * WORD_BYTES // 8, dtype=np.uint64)
        return (np.uint64(first % 2**64) + places * np.uint64(LANE_STEP)).tobytes()

    def slots(self, seed: int) -> bytes:
        """All that a kernel stores of a partner whose messages begin at `seed`."""
        stored = np.full((self.kept, self.slot_bytes), UNTOUCHED, np.uint8)
        for step in range(max(0, self.steps - self.kept), self.steps):
            message = self.message(seed + step * 2 * self.ranks)
            stored[step % self.kept, : len(message)] = np.frombuffer(message, np.uint8)
        return stored.tobytes()

    def partners(self) -> list[int]:
        """Seed of each kernel's partner: of each card first the sending kernel's."""
        sides = ((((r + 1) % self.ranks, 1), ((r - 1) % self.ranks, 0)) for r in range(self.ranks))
        return [self.seed + 2 * rank + side for pair in sides for rank, side in pair]


@dataclass(frozen=True)
class Outcome:
    code: int
    wrong: list[int]
    stored: list[bytes]


Run = Callable[..., Outcome]


@pytest.fixture(scope="module", params=WORDS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs a ring; the pragmas are for HLS, so g++ need not know them."""
    program = tmp_path_factory.mktemp("serial") / "ring"
    real = ["-isystem", str(REAL_WORDS), "-Wno-uninitialized", "-Wno-maybe-uninitialized"]
    sources = [*(SERIAL / f"{kernel}.cpp" for kernel in KERNELS), STAND_INS / "ring.cpp"]
    subprocess.run(
        ["g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas",
         "-I", str(STAND_INS), *(real if request.param == "ap_int" else []),
         *map(str, sources), "-o", str(program)],
        check=True,
    )  # fmt: skip

    def run(ring: Ring, wiring: str = "ring", spoiled: int = -1) -> Outcome:
        numbers = (ring.ranks, ring.depth, ring.size, ring.slot_bytes, ring.kept, ring.steps,
                   ring.seed, spoiled)  # fmt: skip
        done = subprocess.run(
            [program, wiring, *map(str, numbers)],
            check=False, stdout=subprocess.PIPE, timeout=LIMIT_S,
        )  # fmt: skip
        length = 8 + ring.kept * ring.slot_bytes
        parts = [done.stdout[at : at + length] for at in range(0, len(done.stdout), length)]
        wrong = [int.from_bytes(part[:8], "little") for part in parts]
        return Outcome(done.returncode, wrong, [part[8:] for part in parts])

    return run


def check_that_all_arrived(run: Run, ring: Ring) -> None:
    outcome = run(ring)
    assert outcome.code == 0
    assert outcome.wrong == [0] * (2 * ring.ranks)
    assert outcome.stored == [ring.slots(seed) for seed in ring.partners()]


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [1, 63, 64, 65, 4096, 70_001])
def test_every_message_arrives_and_nothing_is_written_behind(
    run: Run, ranks: int, size: int
) -> None:
    check_that_all_arrived(run, Ring(ranks, size, depth=1))


@settings(max_examples=60)
@given(
    ring=st.builds(
        Ring,
        ranks=st.integers(1, 4),
        size=st.integers(1, 20_000),
        depth=st.integers(1, 400),
        kept=st.integers(1, 4),
        steps=st.integers(1, 9),
        seed=st.integers(0, 2**64 - 1),
    )
)
def test_no_ring_blocks_whatever_its_sizes_and_depths(run: Run, ring: Ring) -> None:
    check_that_all_arrived(run, ring)


@pytest.mark.parametrize("step", [0, 3, 8])
@pytest.mark.parametrize("word", [0, 1, 2])
def test_a_flipped_bit_is_found_by_the_kernel_that_gets_it(run: Run, step: int, word: int) -> None:
    ring = Ring(ranks=3, size=130, steps=9)
    outcome = run(ring, spoiled=step * ring.words + word)
    assert outcome.code == 0
    assert outcome.wrong == [0, 0, 0, 1, 0, 0]  # card 1's receiving kernel
    expected = [ring.slots(seed) for seed in ring.partners()]
    differing = [at for at in range(6) if outcome.stored[at] != expected[at]]
    assert differing == ([3] if step >= ring.steps - ring.kept else [])


@pytest.mark.parametrize(("depth", "blocks"), [(1, True), (9, True), (10, False)])
def test_partners_that_both_send_first_are_seen_to_block(
    run: Run, depth: int, blocks: bool
) -> None:
    """Else it would mean nothing that rings do not."""
    outcome = run(Ring(ranks=2, size=640, depth=depth), wiring="facing")
    assert outcome.code == (DEADLOCK if blocks else 0)


def test_sources_are_of_the_standard_that_hls_takes_unless_told() -> None:
    subprocess.run(
        ["g++", "-std=c++14", "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
         "-Wno-unknown-pragmas", "-I", str(STAND_INS),
         *(str(SERIAL / f"{kernel}.cpp") for kernel in KERNELS)],
        check=True,
    )  # fmt: skip


def arguments_of_the_source() -> list[tuple[str, str]]:
    """Type and name of each argument."""
    source = (SERIAL / "exchange.hpp").read_text(encoding="utf-8")
    declared = re.search(r"^void KERNEL\((.*?)\) {", source, re.M | re.S)
    assert declared is not None
    return [
        (kind.strip(), name)
        for kind, name in (one.rsplit(maxsplit=1) for one in declared[1].split(","))
    ]


def test_arguments_are_those_of_the_other_boards_and_then_the_ports() -> None:
    source = (ROOT / "kernels" / "intel" / "exchange.cl").read_text(encoding="utf-8")
    defined = re.search(r"#define ARGUMENTS\s(.*?[^\\])\n", source, re.S)
    assert defined is not None
    theirs = [
        ("ulong" if "ulong" in one else "uint", "*" in one, re.findall(r"\w+", one)[-1])
        for one in defined[1].replace("\\\n", " ").split(",")
    ]
    called = {"std::uint32_t": "uint", "std::uint64_t": "ulong", "std::uint64_t*": "ulong"}
    ours = arguments_of_the_source()
    assert [name for _, name in ours] == [*(name for *_, name in theirs), "output", "input"]
    assert ours[0][0] == "Word*"
    assert [(called[kind], "*" in kind) for kind, _ in ours[1:-2]] == [
        (kind, pointer) for kind, pointer, _ in theirs[1:]
    ]


def test_every_argument_has_its_interface() -> None:
    source = (SERIAL / "exchange.hpp").read_text(encoding="utf-8").replace("\\\n", " ")
    interfaces = re.findall(r"#pragma HLS INTERFACE (\w+) port = (\w+)", source)
    arguments = arguments_of_the_source()
    by_kind = {kind: [port for of, port in interfaces if of == kind] for kind, _ in interfaces}
    assert by_kind == {
        "axis": [name for kind, name in arguments if kind == "Port&"],
        "m_axi": [name for kind, name in arguments if "*" in kind],
        "s_axilite": [*(name for kind, name in arguments if kind != "Port&"), "return"],
    }


def connections(configuration: str) -> list[tuple[str, str]]:
    lines = (SERIAL / configuration).read_text(encoding="utf-8").splitlines()
    assert lines[1] == "[connectivity]"
    return [(key, value) for key, value in (line.split("=") for line in lines[2:])]


def test_link_configuration_connects_every_stream_once() -> None:
    lines = connections("ring.cfg")
    wires = [tuple(value.split(":")) for key, value in lines if key == "stream_connect"]
    for port, kernel in enumerate(KERNELS):
        assert (f"{kernel}_1.output", f"aurora_flow_{port}.tx_axis") in wires
        assert (f"aurora_flow_{port}.rx_axis", f"{kernel}_1.input") in wires
    assert len(wires) == 4
    units = {value.rsplit(":", 1)[1] for key, value in lines if key == "nk"}
    named = {end.split(".")[0] for wire in wires for end in wire}
    assert units == named
    clocked = {part for _, line in connections("u280.cfg") for part in re.findall(r"(\w+)/", line)}
    assert units - {f"{kernel}_1" for kernel in KERNELS} <= clocked


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What make would do."""
    return subprocess.run(
        ["make", "-n", "-C", str(SERIAL), *arguments], check=False, capture_output=True, text=True
    )


def test_make_builds_both_kernels_and_links_them_with_aurora(tmp_path: Path) -> None:
    aurora = [tmp_path / "first.xo", tmp_path / "second.xo"]
    for kernel in aurora:
        kernel.touch()
    done = make("PLATFORM=/opt/u280.xpfm", f"AURORA={aurora[0]} {aurora[1]}", "MEMORY=DDR[1]")
    assert done.returncode == 0, done.stderr
    (link,) = re.findall(r"v\+\+ .* --link (?:.*\\\n)*.*", done.stdout)
    for kernel in KERNELS:
        assert f"--compile --kernel {kernel} " in done.stdout
        assert f"build/u280/{kernel}.xo" in link
        for pointer in ("received", "wrong_pairs"):
            assert f"--connectivity.sp '{kernel}_1.{pointer}:DDR[1]'" in link
    assert f"{aurora[0]} {aurora[1]}" in link
    configurations = re.findall(r"--config (\w+\.cfg)", link)
    assert configurations == ["ring.cfg", "u280.cfg"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("AURORA=a.xo b.xo",), "say PLATFORM="),
        (("PLATFORM=any",), "say AURORA="),
        (("PLATFORM=any", "AURORA=a.xo"), "a kernel for each port"),
    ],
)
def test_make_refuses_what_cannot_be_and_says_why(arguments: tuple[str, ...], reason: str) -> None:
    done = make(*arguments)
    assert done.returncode == 2
    assert reason in done.stderr
