"""Each cause that `isthmus judge` knows is found in a text that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from isthmus.importers.base import Row
from isthmus.judging import Cause, Pasted, judge
from isthmus.judging.causes import SOURCES
from isthmus.judging.judgement import CauseKind, Group
from isthmus.judging.shapes import shape
from isthmus.reporters.judged_causes import cause_blocks, cause_lines

DATA = Path(__file__).parent / "data"
VALIDATE = """Validate Device           : [0000:65:00.1]
    Platform              : xilinx_u280_gen3x16_xdma_201920_3
Test 1 [0000:65:00.1]     : DMA
{more}                            Host -> PCIe -> FPGA write bandwidth = {rate} MB/s
                            Host <- PCIe <- FPGA read bandwidth = {rate} MB/s
    Test Status           : [PASSED]
"""
LSPCI = """65:00.1 Processing accelerators: Xilinx Corporation Device 5000
    LnkCap: Port #0, Speed 8GT/s, Width x16, ASPM not supported
    LnkSta: Speed 8GT/s, Width x8 (downgraded)
"""
CLPEAK = """Platform: AMD
  Device: gfx906
    Transfer bandwidth (GBPS)
      enqueueWriteBuffer : 16.78
      enqueueMapBuffer(for read) : 17.05
"""
COPIED = "$ dd if=/dev/zero of=/dev/xdma0_h2c_0\n16777216 bytes (17 MB) copied, {} s, 1 MB/s\n"
TEXTS = {  # a stored file, or a text that is made up; with options
    "link_trained_low": (VALIDATE.format(more="", rate=5000.5) + LSPCI, {}),
    "link_fits_less": (VALIDATE.format(more="", rate=815.5), {}),
    "pageable": ("judge/clpeak-121.txt", {}),
    "unaligned": ("judge/clpeak-121.txt", {}),
    "sm_copies": ("judge/nvbandwidth-24.txt", {"board_name": "h100"}),
    "opposite_load": ("import/nvbandwidth.json", {}),
    "wrong_socket": ("import/nvbandwidth.json", {}),
    "iommu_acs": ("judge/nccl_tests-1453.txt", {}),
    "one_queue": (VALIDATE.format(more="", rate=5000.5) + "DMA Thread Count      : 1\n", {}),
    "interrupts": ("judge/xdma-375-fixed.txt", {}),
    "above_4gib": (
        VALIDATE.format(more="    Details    : Buffer size - '4 GB'\n", rate=5000.5), {},
    ),
    "cold": (COPIED.format(0.04) + COPIED.format(0.01) + COPIED.format(0.0101), {}),
    "resident": (CLPEAK, {"link": "gen3x4"}),
    "overflow": ("judge/xdma-375.txt", {}),
    "write_slower": ("judge/xbutil-6883.txt", {}),
    "large_sm": ("judge/nvbandwidth-42.txt", {}),
    "protocol": ("judge/osu-9287.txt", {}),
    "no_p2p": ("judge/nccl_tests-1453.txt", {}),
    "small_transfers": ("/dev/xdma0_h2c_0 ** Average BW = 1024, 0.512345\n", {}),
    "zero_pages": (CLPEAK, {"link": "gen3x4"}),
    "other_link": (VALIDATE.format(more="", rate=5000.5), {"link": "gen3x1"}),
}  # fmt: skip


def test_each_cause_has_a_text_and_a_source() -> None:
    assert set(TEXTS) == set(SOURCES)
    assert all(one.startswith("https://") for one in SOURCES.values())


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_that_shows_a_cause_gets_it(kind: str) -> None:
    given, options = TEXTS[kind]
    text = (DATA / given).read_text(encoding="utf-8") if "\n" not in given else given
    found = {
        cause.kind: cause
        for one in judge([Pasted(text)], **options).judgements
        for cause in one.causes
    }
    assert found[kind].command
    assert found[kind].source == SOURCES[kind]


def told(*commands: str, of_all: int) -> list[str]:
    kinds: list[CauseKind] = ["no_p2p", "cold", "interrupts"]
    causes = [Cause(kind, "", command, "") for kind, command in zip(kinds, commands, strict=False)]
    return list(cause_lines(cause_blocks(causes), of_all))


def test_causes_that_are_left_out_are_counted() -> None:
    assert told(of_all=0) == []
    assert told(of_all=1) == ["1 likely cause: --format json"]
    assert told(of_all=2) == ["2 likely causes: --format json"]
    one = told("a", of_all=1)
    assert one[0] == "Likely cause:"
    assert told("a", of_all=4) == [*one, "   and 3 more (--format json)"]
    assert told("a", "b", of_all=2)[0] == "Likely causes, and what checks them:"


def test_causes_with_one_command_stand_together() -> None:
    rows = told("a", "b", "a", of_all=3)
    assert [row[:2] for row in rows if row[0] != " "] == ["Li", "1.", "2.", "3."]
    assert [row.strip() for row in rows if row[0] == " "] == ["a", "b"]
    assert rows[2].startswith("2. interrupts")
    assert rows[3] == "   a"


@pytest.mark.parametrize(("ends", "found"), [(("0", "1"), ["differs"]), ((), [])])
def test_pairs_are_told_by_their_ends_not_by_their_words(
    ends: tuple[str, ...], found: list[str]
) -> None:
    """One way between two devices is slow beside the other way; two objects alone are no median."""
    rows = [
        Row(line=line, device="cuda:0", values=(rate,), unit="GB/s", statistic="mean", kind="peer",
            part=part, ends=of)
        for line, rate, part, of in ((1, 10.0, "there", ends), (2, 4.0, "back", ends[::-1]))
    ]  # fmt: skip
    group = Group("peer", "", "", "", "device", "copy", rows)
    assert [reason.kind for reason in shape(group, rows)] == found
