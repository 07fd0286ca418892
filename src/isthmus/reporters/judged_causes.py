"""Writes the likely causes of a verdict in lines, each cause with the command that checks it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from isthmus.columns import command_lines, line_width
from isthmus.judging import Cause
from isthmus.text import counted

COLUMNS = 80
_CAUSES = {
    "link_trained_low": "the link is trained below what the device can do",
    "link_fits_less": "a narrower or slower link somewhere on the way",
    "pageable": "ordinary memory: the driver copies it once more",
    "unaligned": "the host buffer is not aligned to 64 bytes",
    "sm_copies": "copies by SMs are slower than copy engines here",
    "opposite_load": "the opposite direction takes its share",
    "wrong_socket": "memory or process on the other socket",
    "iommu_acs": "IOMMU translation, or ACS that sends peers through the processor",
    "one_queue": "one DMA queue only",
    "interrupts": "interrupts in place of polling",
    "above_4gib": "a buffer above 4 GiB",
    "cold": "the first call is in the figure",
    "resident": "nothing moved: the buffer was in place",
    "overflow": "dma_ip_drivers' tool before February 2026 computes it wrongly",
    "write_slower": "XDMA shells write slower than they read: no fault",
    "large_sm": "copies by SMs slow down with very large buffers",
    "protocol": "MPI changes its protocol at that size",
    "no_p2p": "GPUs reach each other through the processor only",
    "small_transfers": "small transfers: each costs a call and an interrupt",
    "zero_pages": "the host buffer was never written: its pages are one page of zeros",
    "other_link": "measured on another link or board than this limit is of",
}  # fmt: skip


class Block(NamedTuple):
    """Causes of a verdict that one command checks, as lines."""

    lines: list[str]
    """The causes, numbered, and below them the command."""
    causes: int


def cause_blocks(causes: Sequence[Cause]) -> list[Block]:
    """Blocks of causes, in the order of the first cause of each command."""
    of_command: dict[str, list[Cause]] = {}
    for cause in causes:
        of_command.setdefault(cause.command, []).append(cause)
    blocks, number = list[Block](), 0
    for command, alike in of_command.items():
        lines: list[str] = []
        for cause in alike:
            number += 1
            lines += _cause(number, cause)
        lines += command_lines(command.split(" "), "  ") if command else ()
        blocks.append(Block(lines, len(alike)))
    return blocks


def cause_lines(blocks: Sequence[Block], of_all: int) -> Iterator[str]:
    """Yields the title, the blocks, and how many of all causes (``of_all``) are left out."""
    count = sum(block.causes for block in blocks)
    left = of_all - count
    if blocks:
        yield "Likely causes, and what checks them:" if count > 1 else "Likely cause:"
    for block in blocks:
        yield from block.lines
    if left and blocks:
        yield f"   and {left} more (--format json)"
    elif left:
        yield f"{counted(left, 'likely cause', 'likely causes')}: --format json"


def _cause(number: int, cause: Cause) -> list[str]:
    """Writes a cause in at most two lines of 80 columns, or in as many characters."""
    text = _CAUSES[cause.kind]
    text += f": {cause.evidence}" if cause.evidence else ""
    text += f" ({cause.source.removeprefix('https://github.com/')})" if cause.source else ""
    return textwrap.wrap(
        f"{number}. {text}", line_width(), subsequent_indent="   ",
        max_lines=-(-2 * COLUMNS // line_width()), placeholder=" ...",
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
