"""`isthmus judge` of several texts, cards and runs, and of options that contradict a text."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from conftest import Command
from isthmus import importers, references
from isthmus.importers import device_names
from isthmus.importers.cleaning import cleaned
from isthmus.judging import Pasted, judge
from isthmus.judging.judgement import Judged
from isthmus.judging.pasted import logs_of
from other_outputs import text_of
from terminals import on_terminal

DATA = Path(__file__).parent / "data" / "judge"
VALIDATE = """Validate Device           : [0000:65:00.1]
    Platform              : xilinx_u280_xdma_201920_3
Test 1 [0000:65:00.1]     : DMA
    Details               : Host -> PCIe -> FPGA write bandwidth = {write} MB/s
                            Host <- PCIe <- FPGA read bandwidth = {read} MB/s
    Test Status           : [PASSED]
"""
FAST = VALIDATE.format(write=11200.5, read=11800.5)
SLOW = VALIDATE.format(write=815.5, read=900.5)
OSU = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n4194304 100.5\n"
OTHER = FAST.replace("u280", "u250").replace("65:00", "b3:00")


def of(*texts: str, board: str | None = None, link: str | None = None) -> Judged:
    names = [f"{letter}.txt" for letter in "abcdef"] if len(texts) > 1 else [""]
    return judge([Pasted(*one) for one in zip(texts, names, strict=False)], board, link)


def places(judged: Judged) -> list[tuple[str, int, str, str]]:
    """Text, run, direction and verdict of each figure."""
    return [
        (one.group.file, one.group.run, one.group.direction, one.verdict)
        for one in judged.judgements
    ]


# Texts, runs and cards


@pytest.mark.parametrize("turned", [False, True])
def test_a_slow_text_is_not_hidden_by_a_fast_one(turned: bool) -> None:
    judged = of(*((FAST, SLOW) if turned else (SLOW, FAST)))
    slow, fast = ("b.txt", "a.txt") if turned else ("a.txt", "b.txt")
    assert judged.verdict == "below"
    assert {one[3] for one in places(judged) if one[0] == slow} == {"below"}
    assert {one[3] for one in places(judged) if one[0] == fast} == {"normal"}
    assert {one.group.lines for one in judged.judgements} == {(4, 4), (5, 5)}  # of its own text


def test_runs_in_one_text_are_judged_one_by_one(isthmus: Command, tmp_path: Path) -> None:
    judged = of(FAST + SLOW + FAST)
    assert judged.verdict == "below"
    assert [one[1:] for one in places(judged) if one[2] == "h2d"] == [
        (1, "h2d", "normal"), (2, "h2d", "below"), (3, "h2d", "normal"),
    ]  # fmt: skip
    (tmp_path / "log").write_text(FAST + SLOW + FAST, encoding="utf-8")
    shown = isthmus("judge", str(tmp_path / "log"))
    assert shown.returncode == 3
    assert "BELOW: line 10, run 2 of 3: copy to device 855 MB/s" in shown.stdout


def test_the_screen_names_the_text_and_its_lines(isthmus: Command, tmp_path: Path) -> None:
    # A command with a long path takes a second line, and a row of the table gives way to it.
    on_path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for name, text in ("fast.txt", FAST), ("slow.txt", f"\n\n{SLOW}"):
        (tmp_path / name).write_text(text, encoding="utf-8")
    shown = isthmus("judge", "fast.txt", "slow.txt", cwd=tmp_path, env=on_path)
    assert shown.returncode == 3
    assert "BELOW: slow.txt, line 6: copy to device" in shown.stdout
    assert "copy to host, fast.txt" in shown.stdout
    data = json.loads(
        isthmus("judge", "fast.txt", "slow.txt", "--format", "json", cwd=tmp_path).stdout
    )
    assert [log["file"] for log in data["logs"]] == ["fast.txt", "slow.txt"]
    assert data["judgements"][2]["group"]["lines"] == [6]


def test_sizes_of_one_run_stay_one_curve() -> None:
    sizes = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n" + "".join(
        f"{1 << power} {power}00.5\n" for power in range(18, 23)
    )
    (one,) = of(sizes).judgements
    assert (len(one.group.rows), one.group.runs) == (5, 1)
    assert [len(each.group.rows) for each in of(sizes + sizes).judgements] == [5, 5]


@pytest.mark.parametrize("as_one", [False, True])
def test_two_cards_are_no_banks_of_one(as_one: bool) -> None:
    judged = of(FAST + OTHER) if as_one else of(FAST, OTHER)
    boards = [one.board.name for one in judged.judgements if one.board]
    assert sorted(boards) == ["u250", "u250", "u280", "u280"]
    assert {len({row.device for row in one.group.rows}) for one in judged.judgements} == {1}
    assert not any("both ends" in log.facts for log in judged.logs)


def test_cards_without_an_address_are_told_by_their_platforms() -> None:
    bare = ["\n".join(text.splitlines()[1:]) + "\n" for text in (FAST, OTHER)]
    judged = of("".join(bare))
    assert len({one.group.device for one in judged.judgements}) == 2
    assert sorted(one.board.name for one in judged.judgements if one.board)[::2] == ["u250", "u280"]


def test_the_figures_of_a_card_do_not_take_the_link_of_another() -> None:
    linked = FAST.replace("u280_xdma", "u280_gen3x4_xdma")
    judged = of(linked, OTHER)
    names = {one.group.file: one.limit.name for one in judged.judgements if one.limit}
    assert names == {"a.txt": "PCIe gen3 x4", "b.txt": "PCIe gen3 x16"}


def test_a_text_that_only_describes_serves_the_others() -> None:
    lspci = (DATA / "lspci-30.txt").read_text(encoding="utf-8")
    judged = of((DATA / "dd-nitefury.txt").read_text(encoding="utf-8"), lspci)
    assert {one.limit.source for one in judged.judgements if one.limit} == {
        "LnkSta, line 2 of b.txt"
    }


def lspci(address: str, what: str = "Processing accelerators: Xilinx", link: str = "8GT/s") -> str:
    return f"{address} {what} Device\n    LnkSta: Speed {link}, Width x4\n"


NIC = "Ethernet controller: Intel"
SMI = """GPU 00000000:{}:00.0
    PCIe Generation
        Max : 4
        Current : 4
    Link Width
        Max : 16x
        Current : 4x
"""


@pytest.mark.parametrize(
    ("address", "text", "used"),
    [
        ("0000:65:00.1", lspci("65:00.1"), True),
        ("0000:65:00.1", lspci("65:00.0"), True),
        ("0001:65:00.1", lspci("65:00.0"), True),
        ("0001:65:00.1", lspci("0000:65:00.1"), False),
        ("0000:a5:00.1", lspci("0000:A5:00.1"), True),
        ("0000:02:00.1", lspci("20:00.1"), False),
        ("0000:65:00.1", lspci("81:00.0", NIC), False),
        ("0000:65:00.1", lspci("81:00.0"), False),
        ("0000:65:00.1", SMI.format("3B"), False),
        ("0000:65:00.1", SMI.format("65"), True),
        ("", lspci("81:00.0"), True),
        ("", lspci("81:00.0", NIC) + lspci("65:00.0", link="16GT/s"), True),
        ("", lspci("81:00.0", NIC), False),
        ("", lspci("81:00.0", "Ethernet controller: Xilinx"), True),
        ("", lspci("81:00.0") + lspci("65:00.0", link="16GT/s"), False),
        ("", "$ lspci -vv -s 65:00.0\nLnkSta: Speed 8GT/s, Width x4\n", True),
        ("0000:02:00.1", "$ lspci -vv -s 65:00.0\nLnkSta: Speed 8GT/s, Width x4\n", False),
    ],
    ids=[
        "same", "function 0", "domain missing", "other domain", "case", "zeros", "network card",
        "other card", "other GPU", "same GPU", "only one", "one beside a network card",
        "network card alone", "FPGA as network card", "two", "command", "other command",
    ],
)  # fmt: skip
def test_a_link_with_an_address_counts_for_that_card(address: str, text: str, used: bool) -> None:
    log = FAST.replace("0000:65:00.1", address)
    log = log if address else "\n".join(FAST.splitlines()[1:])
    judged = of(log, text)
    by = {one.limit.by for one in judged.judgements if one.limit}
    assert by == {"log" if used else "board"}
    assert bool(judged.unused_links) != used
    assert judged.verdict == "impossible" or not used


def test_a_gpu_does_not_take_the_link_of_another(isthmus: Command, tmp_path: Path) -> None:
    text = (DATA / "nvbandwidth-42.txt").read_text(encoding="utf-8")  # of 99:00
    for address, by in (("3B", "board"), ("99", "log")):
        limit = of(text, SMI.format(address)).judgements[0].limit
        assert limit
        assert limit.by == by
    for name, content in (("log", FAST), ("nic", lspci("81:00.0", NIC))):
        (tmp_path / name).write_text(content, encoding="utf-8")
    shown = isthmus("judge", "log", "nic", cwd=tmp_path)
    assert shown.returncode == 0
    assert "lspci (nic) shows 81:00.0, not 65:00, whose link stays unknown" in shown.stdout


def test_gpus_do_not_take_the_link_of_one_of_them() -> None:
    rows = "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
    devices = "".join(
        f"Device {i}: NVIDIA A100 (00000000:{at}:00)\n" for i, at in ((0, 18), (1, 38))
    )
    log = f"nvbandwidth Version: v0.8\n{devices}{rows} 0 1\n0 25.5 25.6\n"
    for smi, by, missing in (
        (SMI.format(18), "board", [["38:00"]]),
        (SMI.format(18) + SMI.format(38), "log", []),
    ):
        judged = of(log, smi)
        assert {one.limit.by for one in judged.judgements if one.limit} == {by}
        assert [one.cards for one in judged.unused_links] == missing


def test_texts_that_describe_one_card_each_describe_all() -> None:
    judged = of(FAST, OTHER, lspci("65:00.1"), lspci("b3:00.0"))
    assert {one.limit.source for one in judged.judgements if one.limit} == {
        "LnkSta, line 2 of c.txt", "LnkSta, line 2 of d.txt",
    }  # fmt: skip
    assert not judged.unused_links
    (one,) = of(FAST, OTHER, lspci("65:00.1")).unused_links
    assert (one.shown, one.cards) == (["65:00.1"], ["b3:00"])


def test_cards_of_files_are_told_by_their_paths() -> None:
    line = "/dev/xdma{}_h2c_0 ** Average BW = 16777216, {}\n"
    judged = of(line.format(0, "1500.5") + line.format(1, "700.5"))
    assert sorted(one.rate for one in judged.judgements) == [700.5e6, 1500.5e6]


def test_a_run_that_is_much_slower_than_another_is_below() -> None:
    copied = "16777216 bytes (17 MB, 16 MiB) copied, {} s, 1 MB/s\n"
    call = "$ dd if=/dev/zero of=/dev/xdma0_h2c_0 bs=16M count=1\n"
    texts = [call + copied.format(seconds) for seconds in (0.04, 0.01, 0.0101)]
    judged = of("".join(texts))
    assert [one.verdict for one in judged.judgements] == ["below", "unknown", "unknown"]
    assert judged.judgements[0].reasons[0].kind == "slower_run"
    assert "cold" in {cause.kind for cause in judged.judgements[0].causes}


def test_both_ends_in_two_texts_are_one_run() -> None:
    once = text_of("ib_write_bw.txt")
    judged = of(once, f"> note\n{once}")
    assert len(judged.judgements) == 1
    logs, _ = logs_of([Pasted(once, "a"), Pasted(once, "b")])
    assert logs[1].facts["both ends"] == "b prints the same run as a: read once"


def test_a_text_without_a_known_output_is_told(isthmus: Command, tmp_path: Path) -> None:
    (tmp_path / "fast").write_text(FAST, encoding="utf-8")
    (tmp_path / "notes").write_text("nothing here\n", encoding="utf-8")
    shown = isthmus("judge", "fast", "notes", cwd=tmp_path)
    assert "notes: no output that Isthmus knows" in " ".join(shown.stdout.split())


# Pairs


def matrix(gpus: int, slow: dict[tuple[int, int], float], usual: float = 764.5) -> str:
    cells = [
        ["N/A" if row == column else str(slow.get((row, column), usual)) for column in range(gpus)]
        for row in range(gpus)
    ]
    return "\n".join([
        "Running device_to_device_memcpy_read_ce.",
        "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)", " ".join(map(str, range(gpus))),
        *(f"{row} {' '.join(values)}" for row, values in enumerate(cells)),
    ])  # fmt: skip


def between(low: float, gpus: int, *islands: range) -> dict[tuple[int, int], float]:
    """Slow pairs between islands of GPUs."""
    of = {gpu: number for number, island in enumerate(islands) for gpu in island}
    return {(a, b): low for a in range(gpus) for b in range(gpus) if of[a] != of[b]}


@pytest.mark.parametrize(
    ("gpus", "slow", "named"),
    [
        (7, {(1, 5): 45.5}, [("GPU 1 and 5", 5)]),
        (3, {(2, 0): 45.5}, [("GPU 2 and 0", 6)]),
        (2, {(1, 0): 45.5}, [("GPU 1 and 0", 5)]),
        (4, {(1, 2): 60.5, (2, 1): 45.5}, [("GPU 2 and 1", 6), ("GPU 1 and 2", 5)]),
        (2, {(1, 0): 700.5}, []),
        (8, between(45.5, 8, range(4), range(4, 8)), []),
        (8, between(45.5, 8, range(6), range(6, 8)), []),
        (8, {(gpu, gpu ^ 1): 45.5 for gpu in range(8)}, []),
    ],
    ids=[
        "of seven", "of three", "of two", "both ways", "little", "sockets", "islands", "regular",
    ],
)  # fmt: skip
def test_a_slow_pair_is_named(
    gpus: int, slow: dict[tuple[int, int], float], named: list[tuple[str, int]]
) -> None:
    (one,) = of(matrix(gpus, slow)).judgements
    reasons = [reason for reason in one.reasons if reason.kind == "differs"]
    assert [(reason.part, reason.line) for reason in reasons] == named
    assert one.verdict == ("below" if named else "unknown")


def test_the_screen_names_a_slow_pair(isthmus: Command, tmp_path: Path) -> None:
    for gpus, slow, usual, board, said in (
        (7, {(1, 5): 45.5}, 764.5, (), "GPU 1 and 5 (line 5) reaches 45.5 GB/s"),
        (7, {(1, 5): 2.5}, 24.5, ("--board", "a6000"), "GPU 1 and 5 (line 5) reaches 2.50 GB/s"),
        (2, {(1, 0): 14.5}, 24.5, ("--board", "a6000"), "GPU 1 and 0 (line 5) 14.5 GB/s"),
    ):
        (tmp_path / "log").write_text(matrix(gpus, slow, usual), encoding="utf-8")
        rows = isthmus("judge", "log", *board, cwd=tmp_path).stdout
        assert "BELOW: between devices" in rows
        assert said in " ".join(rows.split())


# Failed tests


def test_a_failed_test_is_named_with_its_own_text_and_line(
    isthmus: Command, tmp_path: Path
) -> None:
    failed = "\n" + SLOW.replace("PASSED", "FAILED").replace(": DMA", ": dma")
    for name, text in ("m1.txt", FAST), ("m2.txt", failed):
        (tmp_path / name).write_text(text, encoding="utf-8")
    shown = isthmus("judge", "m1.txt", "m2.txt", cwd=tmp_path)
    told = " ".join(shown.stdout.split())
    assert "FAILED: m2.txt, line 4: the test 'dma' failed. Else normal: m1.txt, line 4" in told


# References


def test_a_known_run_is_no_reference_of_itself_and_is_named(isthmus: Command) -> None:
    name = str(DATA.parent / "import" / "vitis_summary.csv")
    shown = isthmus("judge", name, "--format", "json")
    data = json.loads(shown.stdout)
    (same,) = data["same_data"]
    assert same["source"].startswith("profile of a BFS on a U280")
    assert not any(
        one["known"] and same["source"] in one["known"]["source"] for one in data["judgements"]
    )
    assert "these are the figures of profile of a BFS" in isthmus("judge", name).stdout


def test_without_another_reference_the_same_data_give_no_verdict(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(
        '[reference]\nname = "own"\ntitle = "Own"\nwords = ["own"]\n[[known]]\n'
        'quantity = "on_card"\nlow = 12323.45\nhigh = 12323.45\nunit = "MiB/s"\nsource = "a log"\n',
        encoding="utf-8",
    )
    text = "bank0 -> bank1 M2M bandwidth: {} MB/s\n"
    (one,) = of(text.format("12323.45"), board=str(path)).judgements
    assert (one.verdict, one.known, one.reasons[0].kind) == ("unknown", None, "same_data")
    assert of(text.format("12324.55") * 1, board=str(path)).judgements[0].verdict == "unknown"
    assert of(text.format("12424.55"), board=str(path)).judgements[0].verdict == "normal"


def test_the_start_up_of_a_single_call_is_no_fault() -> None:
    text = text_of("vitis_summary.csv")
    write = {one.group.direction: one for one in of(text).judgements}["h2d"]
    assert (write.verdict, write.reasons[0].kind) == ("unknown", "start_up")
    slow = text.replace("0.337222", "3.372220")
    assert of(slow).verdict == "below"


def test_normal_outside_the_known_range_is_explained(isthmus: Command, tmp_path: Path) -> None:
    for rate, words in (
        (13500.5, "here 14.2 GB/s, more than all of them, and below the limit"),
        (9500.5, "here 9.96 GB/s, less, but from 80 % of the slowest on is normal"),
    ):
        (tmp_path / "log").write_text(VALIDATE.format(write=rate, read=11800.5), encoding="utf-8")
        shown = isthmus("judge", str(tmp_path / "log"))
        assert shown.returncode == 0
        assert words in " ".join(shown.stdout.split())


def test_the_boards_are_listed_with_all_sources(isthmus: Command) -> None:
    shown = " ".join(isthmus("judge", "--boards").stdout.split())
    for one in references.boards().values():
        assert f"{one.name}: {one.title}" in shown
        sources = [known.source for known in one.known] + [one.link.source]
        sources += [one.memory.source] if one.memory else []
        for source in filter(None, sources):
            assert " ".join(source.split()) in shown


# Options


def test_a_small_message_above_the_link_is_impossible() -> None:
    buffer = "    Details               : Buffer size - '{}' Memory Tag - 'HBM[0]'\n"
    rate = "                            Host -> PCIe -> FPGA write bandwidth = {} MB/s\n"
    text = FAST[: FAST.index("    Details")] + buffer.format("4 KB") + rate.format("95000.5")
    for more in "", buffer.format("16 MB") + rate.format("11000.5"):
        (one,) = of(text + more).judgements
        assert one.verdict == "impossible"
        assert one.reasons[0].size == 4096


def test_a_link_that_contradicts_the_text_is_said_first(isthmus: Command, tmp_path: Path) -> None:
    linked = FAST.replace("u280_xdma", "u280_gen3x16_xdma")
    cases = {
        (linked, "gen3x1"): ("log", "gen3 x16", "impossible"),
        (linked, "gen3x8"): ("log", "gen3 x16", "impossible"),
        (FAST, "gen3x1"): ("usual", "gen3 x16", "impossible"),
        (FAST, "gen5x16"): ("at most", "gen3 x16", "below"),
    }
    for (text, link), (kind, said, verdict) in cases.items():
        judged = of(text, link=link)
        (one,) = judged.contradictions
        assert (one.option, one.value, one.kind, one.said) == ("--link", link, kind, said)
        assert judged.verdict == verdict
        assert judged.judgements[0].causes[0].kind == "other_link"
    assert not of(linked, link="gen3x16").contradictions
    (tmp_path / "log").write_text(linked, encoding="utf-8")
    rows = isthmus("judge", str(tmp_path / "log"), "--link", "gen3x1").stdout.splitlines()
    assert rows[1].startswith("Option:   --link gen3x1, but the log says gen3 x16")


def test_a_board_that_contradicts_the_text_is_said_first(isthmus: Command, tmp_path: Path) -> None:
    (one,) = of(FAST, board="u50").contradictions
    assert (one.option, one.value, one.said) == ("--board", "u50", "AMD Alveo U280")
    assert not of(FAST, board="u280").contradictions
    (tmp_path / "log").write_text(FAST, encoding="utf-8")
    rows = isthmus("judge", str(tmp_path / "log"), "--board", "u50").stdout.splitlines()
    assert rows[1].startswith("Option:   --board u50 contradicts the log, which names AMD Alveo")
    assert "Limits and known runs are the option's." in " ".join(row.strip() for row in rows[1:3])


@pytest.mark.parametrize(
    ("text", "board", "link", "evidence"),
    [
        (matrix(7, {}), "h100", None, "the log does not confirm --board h100"),
        (OSU.replace("100.5", "93100.5"), None, "100", "the log does not confirm --link 100Gb"),
        (FAST.replace("u280", "x"), None, "gen3x8", "the log does not confirm --link gen3x8"),
        (FAST.replace("u280", "x_gen3x8"), None, "gen3x8", ""),
        (FAST.replace("11200", "95000"), "u280", None, ""),
    ],
    ids=["GPUs", "port", "PCIe", "confirmed link", "confirmed board"],
)
def test_an_option_that_no_text_confirms_is_the_first_cause(
    text: str, board: str | None, link: str | None, evidence: str
) -> None:
    port = float(link) if link and link.isdecimal() else 0.0
    judged = judge([Pasted(text)], board, None if port else link, port)
    first = next((one.causes[0] for one in judged.judgements if one.verdict == "impossible"), None)
    assert first
    assert (first.kind, first.evidence) == ("other_link", evidence)
    assert first.command


def test_a_known_run_on_another_link_is_said_to_be_scaled(isthmus: Command, tmp_path: Path) -> None:
    log = VALIDATE.format(write=2990.5, read=3000.5)
    (tmp_path / "log").write_text(log, encoding="utf-8")
    told = " ".join(isthmus("judge", "log", "--link", "Gen3 x4", cwd=tmp_path).stdout.split())
    assert "1 known run of AMD Alveo U280, scaled to this link, reaches" in told
    assert "(as --link says)" in told
    assert "scaled" not in isthmus("judge", "log", cwd=tmp_path).stdout


def test_a_board_that_the_limit_is_compared_with_has_an_effect() -> None:
    assert [one.kind for one in of(FAST, board="u280", link="gen4x16").contradictions] == [
        "at most"
    ]
    assert not of(FAST, board="u280", link="gen4x16").without_effect
    assert not of(FAST, board="u280", link="gen3x1").without_effect
    bare = FAST.replace("xilinx_u280_xdma_201920_3", "some_platform")
    assert not of(bare, board="u280", link="gen4x16").without_effect


def test_an_option_without_effect_is_said() -> None:
    osu = text_of("osu_bw.txt")
    assert of(osu, board="u50", link="gen3x16").without_effect == [
        "--link gen3x16", "--board u50",
    ]  # fmt: skip
    assert judge([Pasted(FAST)], None, None, 100).without_effect == ["--link 100Gb"]
    assert not of(FAST, board="u280", link="gen3x16").without_effect


# Devices and values


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("pthread-AMD EPYC", "cpu"),
        ("cpu-haswell-Intel(R) Xeon(R) CPU E5-2697 v3 @ 2.60GHz", "cpu"),
        ("Intel(R) Core(TM) i7-6700 CPU @ 3.40GHz", "cpu"),
        ("Intel(R) HD Graphics 520", "integrated"),
        ("Intel(R) Iris(R) Xe Graphics", "integrated"),
        ("Apple M2", "integrated"),
        ("Intel(R) Arc(TM) A770 Graphics", "unknown"),
        ("AMD Radeon RX 550 / 550 Series", "unknown"),
        ("NVIDIA H100 80GB HBM3", "unknown"),
        ("xilinx_u280_xdma_201920_3", "unknown"),
    ],
)
def test_processors_are_told_by_their_names(name: str, kind: str) -> None:
    assert device_names.kind(name) == kind


def test_a_processor_has_no_share_of_a_link() -> None:
    judged = of(text_of("clpeak-1.1.2.xml"), link="gen3x16")
    assert {one.reasons[0].kind for one in judged.judgements} == {"no_link"}
    assert {(one.limit, one.verdict) for one in judged.judgements} == {(None, "unknown")}
    assert judged.without_effect == ["--link gen3x16"]


def test_values_that_are_none_are_told_with_their_lines() -> None:
    text = (
        "Platform: AMD\n  Device: gfx906\n    Transfer bandwidth (GBPS)\n"
        "      enqueueWriteBuffer : 0.00\n      enqueueReadBuffer : inf\n"
        "      enqueueMapBuffer(for read) : nan\n      enqueueUnmap(after write) : 12.5\n"
    )
    judged = of(text)
    assert [one.split(": transfer")[0] for one in judged.problems] == ["line 4", "line 5", "line 6"]
    rocm = (
        "RocmBandwidthTest Version: 2.6.0\nUnidirectional copy peak bandwidth GB/s\n"
        "  D/D  0  1\n  0  N/A  inf\n  1  12.5  nan\n"
    )
    log = importers.by_name("rocm_bandwidth").read(cleaned(rocm))
    assert ([row.line for row in log.rows], [one.line for one in log.problems]) == ([5], [4, 5])


def test_a_matrix_with_decimal_commas_is_told() -> None:
    text = (DATA / "nvbandwidth-15.txt").read_text(encoding="utf-8")
    judged = of(text.replace("25.50", "25,50"))
    assert judged.problems == [
        "line 9: '0     25,50     24.26     23.90     26.3' is no row of host_to_device_memcpy_ce"
    ]


def test_perftest_json_without_iterations_is_read() -> None:
    text = "".join(
        line for line in text_of("perftest.json").splitlines(keepends=True)
        if "n_iterations" not in line
    )  # fmt: skip
    log = importers.by_name("perftest").read(text)
    assert [(list(row.values), row.size, row.batch) for row in log.rows] == [([2229.27], 65536, 1)]
    assert "one iteration, where the output does not say their number" in log.assumed


@pytest.mark.parametrize(
    ("command", "buffers", "assumed"),
    [
        ("", "H to H", True),
        ("$ mpirun -np 2 ./osu_bw -m 8 D D\n", "D to D", False),
        ("$ mpirun -np 2 ./osu_bw -d cuda H D\n", "H to D", False),
        ("$ mpirun -np 2 ./osu_bw\n", "H to H", True),
    ],
    ids=["none", "DD", "HD", "no buffers"],
)
def test_the_command_says_where_buffers_are(command: str, buffers: str, assumed: bool) -> None:
    log = importers.by_name("osu").read(cleaned(command + OSU))
    assert [row.part for row in log.rows] == [buffers]
    assert any("host memory" in text for text in log.assumed) == assumed


def test_copies_within_a_gpu_have_half_the_rate_of_its_memory_as_limit() -> None:
    text = (DATA / "threads" / "nvbandwidth-48.txt").read_text(encoding="utf-8")
    (one,) = of(text).judgements
    assert one.limit
    assert one.limit.value == 2.4e12  # 4.8 TB/s, read and written
    assert of(text.replace("11", "19")).judgements[0].verdict == "normal"
    (bare,) = of(text.replace("H20-3e", "GPU")).judgements
    assert (bare.verdict, bare.limit, list(bare.missing)) == ("unknown", None, ["gpu"])


# The screen


@pytest.mark.parametrize("columns", [40, 60])
@pytest.mark.parametrize("name", ["xdma-375-fixed", "clpeak-121"])
def test_the_screen_is_no_wider_than_the_terminal(tmp_path: Path, name: str, columns: int) -> None:
    text = (DATA / f"{name}.txt").read_bytes()
    (tmp_path / "log").write_bytes(text)
    told = on_terminal(("judge", "log"), tmp_path, columns, codes=(0, 3)).replace("\r", "")
    rows = told.splitlines()
    assert all(len(row) <= columns for row in rows if "bin/isthmus" not in row)
    assert not any(row.strip() == "\\" for row in rows)
    assert any(row.startswith("1. ") for row in rows)


# Pasted texts


MARKS = {
    "list": "- {}", "pipe": "| {}", "container": "[pod/bench-1/main] {}", "compose": "app-1  | {}",
    "indent": "    {}", "tab": "\t{}", "time and task": "2026-11-26T10:00:00.123Z 0: {}",
    "numbers": "{number:6d}\t{}", "editor": "{number:3d}  {}",
}  # fmt: skip


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize(
    "name", ["nvbandwidth-42", "nccl_tests-1453", "xbutil-6883", "threads/nccl_tests-rccl-1490"]
)
def test_marks_in_front_of_all_lines_change_nothing(name: str, mark: str) -> None:
    rows = (DATA / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    pasted = [MARKS[mark].format(row, number=i) for i, row in enumerate(rows, 1)]
    plain, marked = of("\n".join(rows)), of("\n".join(pasted))
    assert [one.rate for one in marked.judgements] == [one.rate for one in plain.judgements]
    assert marked.verdict == plain.verdict


def test_a_single_quoted_line_and_tags_at_its_ends_are_read() -> None:
    (line,) = (DATA / "xdma-375.txt").read_text(encoding="utf-8").splitlines()
    for text in (f"> {line}", f"<pre><code>{line}</code></pre>", f"- {line}"):
        assert of(text).verdict == "impossible"


def test_a_long_number_in_a_matrix_takes_no_time() -> None:
    text = (DATA / "nvbandwidth-15.txt").read_text(encoding="utf-8")
    rows = text.splitlines()
    title = next(i for i, row in enumerate(rows) if row.startswith("memcpy"))
    rows.insert(title + 1, f"{'1' * 60}.5")
    assert of("\n".join(rows)).judgements


TOOLS = (
    "judge/clpeak-121.txt", "judge/nccl_tests-1453.txt", "judge/nvbandwidth-42.txt",
    "judge/osu-9287.txt", "judge/perftest-65.txt", "judge/rocm_bandwidth-2253.txt",
    "judge/rocm_bandwidth-93.txt", "judge/xbutil-6883.txt", "judge/xdma-375-fixed.txt",
    "import/b_eff.log", "import/nvbandwidth.json", "import/perftest.json",
    "import/clpeak-1.1.2.xml", "import/xbutil.json",
)  # fmt: skip


@pytest.mark.parametrize("first", TOOLS)
def test_no_reader_takes_the_rows_of_another_tool_in_one_paste(first: str) -> None:
    def figures(text: str) -> Counter[tuple[object, ...]]:
        logs, _ = logs_of([Pasted(text)])
        rows = [row for log in logs for row in log.rows]
        return Counter((row.name, row.size, row.direction, *row.values) for row in rows)

    texts = {one: (DATA.parent / one).read_text(encoding="utf-8") for one in TOOLS}
    own = figures(texts[first])
    for other in TOOLS:
        if other != first:
            both = figures(f"{texts[first]}\n{texts[other]}")
            assert both == own + figures(texts[other]), other
