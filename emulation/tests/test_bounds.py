"""What bounds a program, and what a change of it gains: expected by the model, and then seen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from on_cards import NATIVE, Ran, Run, _compile, card_exec, emulated

from conftest import Command, made_once
from isthmus import boards
from isthmus_emulation import bounds, bounds_text

__all__ = ["card_exec", "emulated"]  # fixtures
TUNING = Path(__file__).parents[2] / "kernels" / "tuning"
WITHIN = 0.03
"""Error of an expected gain that is allowed: all times are simulated."""
MS = 10**12
"""In femtoseconds."""


class Program(NamedTuple):
    """Arguments of kernels/tuning/host.cpp."""

    design: str
    kernel: str
    way: str
    items: int
    bytes: int
    sweeps: int


@pytest.fixture(scope="session")
def tuning(run_isthmus: Command) -> Path:
    """A folder with the host program, and both kernels as they are and changed."""

    def make(folder: Path) -> None:
        for file in TUNING.iterdir():
            shutil.copy(file, folder)
        for name in ("plain", "changed"):
            options = ["--config", "changed.cfg"] * (name == "changed")
            made = run_isthmus(
                "card", "kernel", "build", "--no-estimate", "narrow.cpp", "wide.cpp", *options,
                "-o", f"{name}.xclbin", cwd=folder,
            )  # fmt: skip
            assert made.returncode == 0, made.stderr
        include = run_isthmus("card", "include", cwd=folder).stdout.strip()
        _compile("cannot find", f"-I{include}", folder / "host.cpp", "-o", folder / "host", *NATIVE)

    return made_once("tuning", make)


@pytest.fixture
def tuned(
    card_exec: Run, tuning: Path, tmp_path: Path
) -> Callable[[Program], tuple[Ran, dict[str, Any]]]:
    """Runs a program, computing takes no time; the region of its items."""

    def run(program: Program) -> tuple[Ran, dict[str, Any]]:
        trace = tmp_path / f"{'-'.join(map(str, program))}.json"
        ran = card_exec(
            "--clock", "card", "--watch", "--trace", trace, "--kernels", tuning,
            "--", tuning / "host", tuning / f"{program.design}.xclbin", *program[1:],
        )  # fmt: skip
        assert ran.code == 0, ran.errors
        found = json.loads(trace.read_text())["otherData"]["bounds"]
        (region,) = [one for one in found if one["name"] == "items"]
        return ran, region

    return run


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("before", "after", "kind", "said"),
    [
        pytest.param(
            Program("plain", "narrow", "serial", 8, 32768, 4),
            Program("plain", "wide", "serial", 8, 32768, 4),
            "wide ports",
            "one 4-byte element a clock at 300 MHz: widen its ports to 64 bytes",
            id="wide-ports",
        ),
        pytest.param(
            Program("plain", "wide", "serial", 8, 32768, 32),
            Program("changed", "wide", "serial", 8, 32768, 32),
            "two banks",
            "arguments in and out of wide_1 share bank0: connect out with another bank",
            id="two-banks",
        ),
        pytest.param(
            Program("plain", "wide", "serial", 16, 32768, 16),
            Program("plain", "wide", "double", 16, 32768, 16),
            "double buffering",
            "transfers and kernels never overlap: one thread waits for each: two buffer sets",
            id="double-buffering",
        ),
        pytest.param(
            Program("plain", "wide", "serial", 16, 131072, 1),
            Program("plain", "wide", "threads", 16, 131072, 1),
            "threads",
            "",
            id="two-threads",
        ),
        pytest.param(
            Program("plain", "narrow", "serial", 8, 4096, 1),
            Program("changed", "narrow", "host", 8, 4096, 1),
            "host memory",
            "is start-up: buffers in host memory (host_only)",
            id="host-memory",
        ),
        pytest.param(
            Program("plain", "wide", "double", 16, 32768, 16),
            Program("changed", "wide", "double", 16, 32768, 16),
            "two banks",
            "connect out with another bank",
            id="two-banks-of-two-sets",
        ),
        pytest.param(
            Program("plain", "wide", "threads", 16, 131072, 1),
            Program("changed", "wide", "threads", 16, 131072, 1),
            "two banks",
            "",
            id="two-banks-of-two-threads",
        ),
    ],
)
def test_the_expected_gain_is_what_the_change_gives(
    before: Program,
    after: Program,
    kind: str,
    said: str,
    tuned: Callable[[Program], tuple[Ran, dict[str, Any]]],
) -> None:
    ran, region = tuned(before)
    changed, _ = tuned(after)
    threads, now = {"double": (1, 2), "threads": (2, 2)}.get(before.way, (1, 1))
    assert region["way"] == {"threads": threads, "sets": now}
    assert region["buffer_sets"] == now
    assert ("double buffering" in {one["kind"] for one in region["changes"]}) is (now == 1)
    sets = 2 if kind in {"double buffering", "threads"} else now
    (change,) = [one for one in region["changes"] if (one["kind"], one["sets"]) == (kind, sets)]
    gain = ran.figures["item_s"] / changed.figures["item_s"]
    assert gain > 1.1
    assert change["gain"] == pytest.approx(gain, rel=WITHIN)
    assert change["item_s"] == pytest.approx(changed.figures["item_s"], rel=WITHIN)
    first = next(n for n, line in enumerate(ran.errors) if "what bounds region items" in line)
    told = [line for line in ran.errors[first:] if line.startswith("  ")]
    assert len(told) < 15
    assert said in " ".join(line.strip() for line in told)


EVENTS = """# card 0 board u250 program 7
pin\t\t0\t5\t0
write\t\t1000000000\t{ms}\t4096\tbank0\t1000000\t{ms}\t0\t0.9
launch\tk_1\t2000000000\t10\t0
facts\tk_1\t1\t{ms}\t{ms}\t0\tin\tbank0\tr\t4096\t64
kernel\tk_1\t2000000010\t{ms}\t4096\tunknown\t{ms}\t0\t0
read\t\t4000000000\t{ms}\t4096\tbank0\t1000000\t{ms}\t0\t0.9
"""


def test_regions_begin_and_end_at_marks(tmp_path: Path) -> None:
    """Copies of the host belong to the region, and a region without work is left out."""
    card, host = tmp_path / "0.tsv", tmp_path / "host-7.tsv"
    ms = 1_000_000_000
    card.write_text(EVENTS.format(ms=ms))
    host.write_text(
        f"# host program 7\nregion\tnothing\t1\t0\t0\nregion\tall\t{ms}\t0\t0\n"
        f"host copy\t\t{3 * ms}\t{ms}\t4096\nregion\tend\t{9 * ms}\t0\t0\n"
    )
    u250 = [boards.named("u250")]
    (region,) = bounds.regions([card, host], u250)
    assert (region.name, region.items) == ("all", 1)
    assert region.seconds == pytest.approx(8e-6)
    assert region.copied_s == pytest.approx(1e-6)
    assert region.shares["host"] == pytest.approx(5 / 8, rel=1e-3)
    (change,) = region.changes
    assert (change.kind, change.gain) == ("mapped buffers", pytest.approx(8 / 7))
    told = bounds_text.lines([region], u250)
    assert told[0] == "card 0, what bounds region all: 8.00 us"
    assert "bo.write and bo.read copy within the host, 12 % of the time" in told[3]
    (whole,) = bounds.regions([card], u250)
    assert (whole.name, whole.seconds) == ("", pytest.approx(4e-6))


def overlapping(*, items: int, every_ms: int, computed_ms: int) -> list[str]:
    """Returns events of a card and of its host: an input is written beside each kernel.

    A kernel moves a 4-byte element a clock for 2 ms; its memory would take 1 ms.
    """
    moved = 4 * 600_000
    card, host = ["# card 0 board u250 program 7"], ["# host program 7"]
    for item in range(items):
        begin = item * every_ms * MS
        ports = f"in\tbank0\tr\t{moved}\t{item % 2}"
        card += [
            f"write\t\t{begin}\t{MS}\t4096\tbank0\t0\t{MS}\t1\t1",
            f"facts\tk_1\t{2 * MS}\t{MS}\t{MS}\t0\t{ports}",
            f"kernel\tk_1\t{begin + MS // 2}\t{2 * MS}\t{moved}\tgiven\t{MS}\t{2 * MS}\t{2 * MS}",
        ]
        host.append(f"call\t7\t{begin}\t{MS}\t{computed_ms * MS}")
    return ["\n".join([*lines, ""]) for lines in (card, host)]


@pytest.mark.parametrize(
    ("computed_ms", "wanted"),
    [
        pytest.param(5, {"threads"}, id="the_host_computes"),
        pytest.param(0, {"wide ports"}, id="the_kernel_is_slow"),
    ],
)
def test_a_change_gains_what_remains_beside_it(
    tmp_path: Path, computed_ms: int, wanted: set[str]
) -> None:
    """One thread with two sets: what the host computes beside a kernel bounds the program."""
    every_ms = max(2, 1 + computed_ms)
    texts = overlapping(items=20, every_ms=every_ms, computed_ms=computed_ms)
    files = [tmp_path / "0.tsv", tmp_path / "host-7.tsv"]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    (found,) = bounds.regions(files, [boards.named("u250")])
    assert (found.way, found.buffer_sets) == ((1, 2), 2)
    assert found.computed_s == pytest.approx(computed_ms / 1e3, rel=0.06)
    assert found.modelled_s == pytest.approx(found.seconds, rel=0.05)
    assert {change.kind for change in found.changes} == wanted


@pytest.mark.parametrize(
    ("ports", "moves"),
    [
        pytest.param({"in": 4096, "table": 8, "out": 4096}, ("out",), id="a_small_one_stays"),
        pytest.param({"in": 640, "out": 4096}, ("in",), id="the_largest_stays"),
        pytest.param({"a": 10, "b": 10, "c": 10}, ("b", "c"), id="each_needs_a_bank"),
    ],
)
def test_the_argument_that_needs_another_bank_is_named(
    tmp_path: Path, ports: dict[str, int], moves: tuple[str, ...]
) -> None:
    file = tmp_path / "0.tsv"
    moved = "\t".join(f"{name}\tbank0\tr\t{count}\t1" for name, count in ports.items())
    file.write_text(
        "# card 0 board u250 program 7\n"
        f"facts\tk_1\t1\t{8 * MS}\t{MS}\t0\t{moved}\n"
        f"kernel\tk_1\t0\t{8 * MS}\t8\tunknown\t{8 * MS}\t0\t0\n"
    )
    (found,) = bounds.regions([file], [boards.named("u250")])
    assert found.kernels[0].moves == moves
    assert [change.kind for change in found.changes] == ["two banks"]


def test_a_loop_that_adds_up_gets_partial_sums(tmp_path: Path) -> None:
    file = tmp_path / "0.tsv"
    loop = f"its loop at line 5, II 7: floating-point sum\t7\t{6 * MS}"
    file.write_text(
        "# card 0 board u250 program 7\n"
        f"facts\tk_1\t1\t{MS // 2}\t{MS // 2}\t0\tin\tbank0\tr\t8\t1\n"
        f"kernel\tk_1\t0\t{7 * MS}\t8\testimate\t{MS // 2}\t{7 * MS}\t{7 * MS}\t{7 * MS}"
        f"\t{loop}\n"
    )
    u250 = [boards.named("u250")]
    found = bounds.regions([file], u250)
    (change,) = found[0].changes
    assert (change.kind, change.gain) == ("partial sums", pytest.approx(7))
    assert "keep 7 partial results" in " ".join(bounds_text.lines(found, u250))
