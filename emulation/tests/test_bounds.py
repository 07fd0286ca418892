"""What bounds a program, and what a change of it gains: expected by the model, and then seen."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from on_cards import NATIVE, SOURCES, Ran, Run, card_exec, compile_host, compiled, emulated

from conftest import Command, made_once
from isthmus import boards
from isthmus_emulation import bounds, bounds_text, event_files

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
        host = folder / "host"
        compile_host("cannot find", f"-I{include}", f"{host}.cpp", "-o", host, *NATIVE)

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


@pytest.mark.usefixtures("emulated")
@pytest.mark.parametrize(
    ("way", "order", "said"),
    [
        pytest.param(
            "late",
            "in beside",
            "each kernel is started after the wait for the one before",
            id="the-next-kernel-starts-late",
        ),
        pytest.param(
            "batches",
            "batches",
            "kernels wait for the inputs of all sets, and outputs for all kernels",
            id="batches",
        ),
    ],
)
def test_short_kernels_that_start_late_are_told_apart(
    way: str, order: str, said: str, tuned: Callable[[Program], tuple[Ran, dict[str, Any]]]
) -> None:
    """A launch takes 33 us, a kernel 14 us: a run in the queue early hides its launch."""
    late = Program("plain", "narrow", way, 40, 16384, 1)
    ran, region = tuned(late)
    doubled, _ = tuned(late._replace(way="double"))
    assert (region["way"], region["order"]) == ({"threads": 1, "sets": 2}, order)
    assert region["modelled_s"] == pytest.approx(region["seconds"], rel=0.08)
    kinds = {(one["kind"], one["sets"]): one for one in region["changes"]}
    gain = ran.figures["item_s"] / doubled.figures["item_s"]
    assert gain > 1.3
    assert kinds["double buffering", 2]["gain"] == pytest.approx(gain, rel=0.08)
    assert said in " ".join(line.strip() for line in ran.errors)


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
    (region,) = bounds.regions(event_files.read([card, host]), u250)
    assert (region.name, region.items) == ("all", 1)
    assert region.seconds == pytest.approx(8e-6)
    assert region.copied_s == pytest.approx(1e-6)
    assert region.shares["host"] == pytest.approx(5 / 8, rel=1e-3)
    (change,) = region.changes
    assert (change.kind, change.gain) == ("mapped buffers", pytest.approx(8 / 7))
    told = bounds_text.lines([region], u250)
    assert told[0] == "card 0, what bounds region all: 8.00 us"
    assert "bo.write and bo.read copy within the host, 12 % of the time" in told[3]
    (whole,) = bounds.regions(event_files.read([card]), u250)
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
    (found,) = bounds.regions(event_files.read(files), [boards.named("u250")])
    assert (found.way, found.buffer_sets) == ((1, 2), 2)
    assert found.computed_s == pytest.approx(computed_ms / 1e3, rel=0.06)
    assert found.modelled_s == pytest.approx(found.seconds, rel=0.05)
    assert {change.kind for change in found.changes} == wanted


def test_a_thread_that_only_prepares_buffers_does_not_count(tmp_path: Path) -> None:
    card, host = overlapping(items=20, every_ms=6, computed_ms=5)
    heading, *calls = host.splitlines()
    prepares = [f"call\t8\t{n}\t1\t0" for n in range(30)]
    files = [tmp_path / "0.tsv", tmp_path / "host-7.tsv"]
    files[0].write_text(card)
    files[1].write_text("\n".join([heading, *prepares, *calls, ""]))
    (found,) = bounds.regions(event_files.read(files), [boards.named("u250")])
    assert found.way == (1, 2)
    told = bounds_text.lines([found], [boards.named("u250")])
    assert any("runs: 1 thread, 2 buffer sets" in line for line in told)


def test_setup_of_a_whole_program_counts_once(tmp_path: Path) -> None:
    """The first launch takes 90 ms more than each other: a second thread does not hide that."""
    items, every, first = 10, 10, 90
    lines = ["# card 0 board u250 program 7", f"pin\t\t0\t{5 * MS}\t0"]
    at = 0
    for item in range(items):
        launch = 2 + first * (item == 0)
        run = at + 2 + launch
        lines += [
            f"write\t\t{at * MS}\t{2 * MS}\t4096\tbank0\t0\t{2 * MS}\t1\t1",
            f"launch\tk_1\t{(at + 2) * MS}\t{launch * MS}\t0",
            f"facts\tk_1\t1\t{MS}\t{MS}\t0\tin\tbank0\tr\t4096\t1",
            f"kernel\tk_1\t{run * MS}\t{6 * MS}\t4096\tgiven\t{MS}\t{6 * MS}\t{6 * MS}",
        ]
        at = run + 6
    (tmp_path / "0.tsv").write_text("\n".join([*lines, ""]))
    (found,) = bounds.regions(event_files.read([tmp_path / "0.tsv"]), [boards.named("u250")])
    assert found.seconds == pytest.approx((items * every + first) / 1e3)
    assert found.modelled_s == pytest.approx(found.seconds, rel=0.05)
    changes = [one for one in found.changes if one.kind == "threads"]
    assert all(one.item_s * items >= first / 1e3 + items * 6 / 1e3 for one in changes)
    assert changes


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
    (found,) = bounds.regions(event_files.read([file]), [boards.named("u250")])
    assert found.kernels[0].moves == moves
    assert [change.kind for change in found.changes] == ["two banks"]


def test_a_loop_that_adds_up_gets_partial_sums(tmp_path: Path) -> None:
    file = tmp_path / "0.tsv"
    loop = f"its loop at line 5, II 7: floating-point sum\t0\tpartial sums\ts\t7\t{6 * MS}\t8"
    file.write_text(
        "# card 0 board u250 program 7\n"
        f"facts\tk_1\t1\t{MS // 2}\t{MS // 2}\t0\tin\tbank0\tr\t8\t1\n"
        f"kernel\tk_1\t0\t{7 * MS}\t8\testimate\t{MS // 2}\t{7 * MS}\t{7 * MS}\t{7 * MS}"
        f"\t{loop}\n"
    )
    u250 = [boards.named("u250")]
    found = bounds.regions(event_files.read([file]), u250)
    (change,) = found[0].changes
    assert (change.kind, change.gain) == ("partial sums", pytest.approx(7))
    assert "keep 7 partial results" in " ".join(bounds_text.lines(found, u250))


@pytest.mark.parametrize(("syncs", "is_named"), [(64, True), (1, False)], ids=["many", "one"])
def test_many_syncs_of_a_buffer_become_one(syncs: int, is_named: bool, tmp_path: Path) -> None:
    """Each sync has 0.01 ms of start-up, and all data of an item take 0.1 ms."""
    startup, data, kernel = MS // 100, MS // 10, MS // 10
    text, now = "# card 0 board u250 program 7\n", 0
    for _ in range(4):
        for _ in range(syncs):
            alone = startup + data // syncs
            facts = f"bank0\t{startup}\t{alone}\t1\t1"
            text += f"write\th2d\t{now}\t{alone}\t{4096 // syncs}\t{facts}\n"
            now += alone
        text += f"facts\tk_1\t1\t{kernel}\t{kernel}\t0\tin\tbank0\tr\t4096\t1\n"
        text += f"kernel\tk_1\t{now}\t{kernel}\t4096\tunknown\t{kernel}\t0\t0\n"
        now += kernel
    file = tmp_path / "0.tsv"
    file.write_text(text)
    u250 = [boards.named("u250")]
    found = bounds.regions(event_files.read([file]), u250)
    kinds = [change.kind for change in found[0].changes]
    assert ("one sync" in kinds) is is_named
    if is_named:
        first = found[0].changes[0]
        assert first.kind == "one sync"
        expected = (startup + data + kernel) / MS / 1000
        assert first.item_s == pytest.approx(expected, rel=WITHIN)
        shown = " ".join(line.strip() for line in bounds_text.lines(found, u250))
        assert "one sync for each buffer in place of many for its parts: 210 us" in shown


def of_one_loop(file: Path, loop: str, sums: int) -> tuple[Any, str]:
    """Returns the region of a kernel that a loop bounds, and the text that names its bound."""
    change = f"\tpartial sums\ts\t{sums}\t{6 * MS}\t8" if sums else ""
    file.write_text(
        "# card 0 board u250 program 7\n"
        f"facts\tk_1\t1\t{MS // 2}\t{MS // 2}\t0\tin\tbank0\tr\t8\t1\n"
        f"kernel\tk_1\t0\t{7 * MS}\t8\testimate\t{MS // 2}\t{7 * MS}\t{7 * MS}\t{7 * MS}"
        f"\t{loop}\t0{change}\n"
    )
    u250 = [boards.named("u250")]
    (found,) = bounds.regions(event_files.read([file]), u250)
    text = " ".join(line.strip() for line in bounds_text.lines([found], u250))
    return found, text


def test_a_port_that_moves_more_than_an_element_a_clock_is_not_said_to_move_one(
    tmp_path: Path,
) -> None:
    """The estimate leaves open whether HLS widens the port; its middle counts."""
    file = tmp_path / "0.tsv"
    clocks = 300_000  # of 1 ms
    file.write_text(
        "# card 0 board u250 program 7\n"
        f"facts\tk_1\t{MS}\t{MS // 100}\t{MS // 100}\t0\tin\tbank0\tr\t{clocks}\t1\n"
        f"kernel\tk_1\t0\t{MS // 2}\t8\testimate\t{MS // 100}\t{MS // 2}\t{MS // 100}\t{MS}"
        "\tits loop at line 5\t0\n"
    )
    u250 = [boards.named("u250")]
    lines = bounds_text.lines(bounds.regions(event_files.read([file]), u250), u250)
    text = " ".join(line.strip() for line in lines)
    assert "0.6 GB/s: 1-byte elements, 2 a clock at 300 MHz in the middle of the" in text
    assert "estimate: a run of k_1 takes 10.0 us to 1.00 ms; times here use the middle" in text


def test_a_bottleneck_without_a_known_change_is_named(tmp_path: Path) -> None:
    loop = "its loop at line 5, II 16: ports of p"
    found, text = of_one_loop(tmp_path / "0.tsv", loop, 0)
    assert not found.changes
    assert f"bottleneck: kernel k_1, {loop}; no change of that loop is known" in text
    assert "estimate: a run" not in text  # its ends are equal
    _, text = of_one_loop(tmp_path / "1.tsv", "its loop at line 5, II 7: floating-point sum", 7)
    assert "bottleneck" not in text


def test_partial_sums_are_told_with_what_they_need(tmp_path: Path) -> None:
    _, text = of_one_loop(tmp_path / "0.tsv", "its loop at line 5, II 7: floating-point sum", 7)
    assert "keep 7 partial results in turn, p[i % 7]," in text
    assert "DEPENDENCE distance=7 true, which HLS may not see" in text


@pytest.mark.usefixtures("emulated")
def test_no_change_is_expected_to_exceed_the_rate_of_a_bank(
    tuned: Callable[[Program], tuple[Ran, dict[str, Any]]],
) -> None:
    """On the card kernel and transfers do not slow each other in a bank; on a board they do."""
    ran, region = tuned(Program("plain", "wide", "double", 16, 1 << 20, 1))
    moved = 4 * (1 << 20)  # in and out, by transfers and by the kernel
    bank_s = moved / boards.named("u250").bank_rate()
    assert region["bank_s"] == pytest.approx(bank_s, rel=WITHIN)
    assert region["bank_s"] > ran.figures["item_s"]
    assert region["shares"]["bank"] == 1
    assert region["limit"]["resource"] == "bank"
    changes = {one["kind"]: one for one in region["changes"]}
    assert not {"double buffering", "threads"} & set(changes)
    two_banks = changes["two banks"]
    assert two_banks["item_s"] >= bank_s / 2
    assert two_banks["gain"] == pytest.approx(bank_s / two_banks["item_s"], rel=WITHIN)
    said = " ".join(line.strip() for line in ran.errors)
    assert "an item: kernel and transfers share bank0's rate" in said
    assert "connect out with another bank" in said


@pytest.mark.usefixtures("emulated")
def test_a_second_buffer_set_gains_what_the_bank_gives(
    tuned: Callable[[Program], tuple[Ran, dict[str, Any]]],
) -> None:
    _, region = tuned(Program("plain", "wide", "serial", 16, 1 << 20, 1))
    gained = [one for one in region["changes"] if one["kind"] in {"double buffering", "threads"}]
    assert gained
    assert all(one["item_s"] >= region["bank_s"] for one in gained)


def launched(items: int) -> list[str]:
    """Returns events of a card and of its host: short kernels with two buffers in turn."""
    every, launch = 40 * 10**9, 33 * 10**9
    card, host = ["# card 0 board u250 program 7"], ["# host program 7"]
    host.append("region\tframes\t0\t0\t0")
    for item in range(items):
        begin = item * every
        card += [
            f"launch\tk_1\t{begin}\t{launch}\t0",
            f"facts\tk_1\t1\t{10**9}\t{10**9}\t0\tin\tbank0\tr\t4096\t{item % 2}",
            f"kernel\tk_1\t{begin + launch}\t{5 * 10**9}\t4096\tgiven\t{10**9}\t{5 * 10**9}"
            f"\t{5 * 10**9}",
        ]
        host.append(f"call\t7\t{begin}\t{launch}\t{10**9}")
    host.append(f"region\tend\t{items * every}\t0\t0")
    return ["\n".join([*lines, ""]) for lines in (card, host)]


def test_of_many_events_evenly_spread_stretches_are_read(tmp_path: Path) -> None:
    items = 20_000
    files = [tmp_path / "0.tsv", tmp_path / "host-7.tsv"]
    for file, text in zip(files, launched(items), strict=True):
        file.write_text(text)
    whole = event_files.read(files)
    some = event_files.read(files, most_bytes=200_000)
    assert (whole.share, len(whole.stretches)) == (1, 1)
    assert 0.03 < some.share < 0.1
    read = sum(len(events) for _, events in some.cards)
    assert 0 < read < 0.15 * sum(len(events) for _, events in whole.cards)
    assert (some.cards[0][1][0], some.cards[0][1][-1]) == (
        whole.cards[0][1][0],
        whole.cards[0][1][-1],
    )
    u250 = [boards.named("u250")]
    (exact,), (found,) = (bounds.regions(one, u250) for one in (whole, some))
    assert (exact.name, exact.items, exact.share_read) == ("frames", items, 1)
    assert found.name == "frames"
    assert found.seconds == pytest.approx(exact.seconds)
    assert found.items == pytest.approx(items, rel=0.02)
    assert found.shares == pytest.approx(exact.shares, rel=0.02, abs=0.001)
    assert (found.way, found.order, found.buffer_sets) == (exact.way, exact.order, 2)
    assert [one.kind for one in found.changes] == [one.kind for one in exact.changes]
    assert f"about {found.items} items" in bounds_text.lines([found], u250)[0]
    assert "about" not in bounds_text.lines([exact], u250)[0]


@pytest.mark.usefixtures("emulated")
def test_starts_bound_an_empty_kernel(card_exec: Run, isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "probe.cpp").write_text(
        'extern "C" void probe(const int* in, int* out, int what, int n) {}\n'
    )
    assert isthmus("card", "kernel", "build", "probe.cpp").returncode == 0
    compiled(SOURCES / "probe.cpp", tmp_path / "program")
    trace = tmp_path / "trace.json"
    program = [tmp_path / "program", "apart", "probe.xclbin", 0]
    ran = card_exec("--watch", "--trace", trace, "--kernels", ".", "--", *program)
    (region,) = json.loads(trace.read_text())["otherData"]["bounds"]
    assert (region["kernel_s"], region["kernels"][0]["runs"]) == (0, 1)
    launch_interval_s = boards.named("u250").number("driver.launch_interval_ns") * 1e-9
    assert region["limit"]["seconds"] >= launch_interval_s
    assert region["shares"]["launch"] > 0
    assert any("what bounds the program" in line for line in ran.errors)
