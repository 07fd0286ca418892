"""Computes costs of a job on an emulated card: copies, launches and an API's software.

Study ``transfer`` on ``card:BOARD`` simulates the card. A second card, whose bank is twice as fast,
stands for two banks: equal streams to two banks take as long as to one bank of twice the rate, but
at least as long as each stream alone (``isthmus.analysis.job.apart``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from isthmus.analysis.job import HOST_ONLY, Cost, Job, Measured, Place, apart
from isthmus.backends import CardSoftware
from isthmus.boards.board import Board
from isthmus.models import host_memory
from isthmus.statistics import Interval, combined, exact

MEMORY = "pinned"
"""Kind of host memory of the simulated copies: the card reaches such memory directly."""
BANK_RATE = "memory.bandwidth_Bps"


class Api(NamedTuple):
    """An API that drives an emulated card, with the costs of its software."""

    address: str
    backend: str
    software: CardSoftware


def with_two_banks(address: str, board: Board) -> str:
    """Address of the same card with a bank that is twice as fast; empty if it has one bank."""
    if not board.has("memory") or board.whole("memory.banks") < 2:
        return ""
    others = ",".join(part for part in address.split(",") if not part.startswith(f"{BANK_RATE}="))
    return f"{others},{BANK_RATE}={2 * board.number(BANK_RATE):.0f}"


def costs(
    job: Job,
    copies: Measured,
    card: str,
    board: Board,
    apis: Sequence[Api],
    host_copy: Callable[[int], Interval],
) -> dict[Place, Cost]:
    """Costs of a job at each place, the simplest first: one bank, then two, host memory last.

    Mapped memory comes before copies.

    Args:
        job: The job to run.
        copies: Simulated copies of ``card`` and of ``with_two_banks``.
        card: Address of the emulated card.
        board: Board of the card.
        apis: APIs that drive the card.
        host_copy: Returns the seconds in which the host copies so many bytes.

    """
    costs_: dict[Place, Cost] = {}
    for banks in (1, 2):
        base = _simulated(job, copies, card, board, banks)
        if base is None:
            continue
        for copied in (False, True):
            for api in apis:
                of = api.software
                call, memory = ("copy", of.copied) if copied else (of.mapped_call, of.mapped)
                place = Place(api.address, api.backend, call, memory, banks)
                costs_[place] = _with_software(job, base, of, host_copy if copied else None)
    if board.value("kernel.reaches_host"):
        for api in (api for api in apis if api.software.has_host_only):
            place = Place(api.address, api.backend, "copy", HOST_ONLY, 0)
            costs_[place] = _in_host_memory(job, board, api.software)
    return costs_


def _in_host_memory(job: Job, board: Board, of: CardSoftware) -> Cost:
    """Costs of buffers that stay on the host: the kernel accesses them over the link."""
    least = host_memory.item_s(board, job.into, job.out)
    base = replace(_without_data(board), kernel_least=least)
    return _with_software(job, base, of, None)


def _simulated(job: Job, copies: Measured, card: str, board: Board, banks: int) -> Cost | None:
    """Costs of link, card and driver; None if the second bank is absent or changes nothing."""
    into = copies.copy(card, "copy", MEMORY, "h2d", job.into)
    out = copies.copy(card, "copy", MEMORY, "d2h", job.out)
    if banks == 2:
        other = with_two_banks(card, board)
        if not (other and into and out):
            return None
        beside = copies.copy(other, "copy", MEMORY, "h2d", job.into)
        behind = copies.copy(other, "copy", MEMORY, "d2h", job.out)
        into = apart(into, beside and beside.both)
        out = apart(out, behind and behind.both)
    return replace(_without_data(board), into=into, out=out)


def _without_data(board: Board) -> Cost:
    """Costs of launches alone, without copies."""
    nothing = exact(0.0)
    own = board.seconds("driver.launch_ns")
    return Cost(
        into=None,
        out=None,
        launch=exact(own or board.seconds("kernel.launch_ns")),
        relaunch=exact(min(own, board.seconds("driver.launch_interval_ns"))),
        host_before=nothing,
        host_after=nothing,
        channels=board.whole("dma.engines"),
    )


def _with_software(
    job: Job, base: Cost, of: CardSoftware, host_copy: Callable[[int], Interval] | None
) -> Cost:
    """Adds the costs of an API's software, and of the host's copies, to simulated costs."""
    transfer, kernel = Interval(*of.transfer_s), Interval(*of.kernel_s)

    def host(size: int) -> Interval:
        parts = [transfer] if size else []
        parts += [host_copy(size)] if size and host_copy else []
        return combined([1.0] * len(parts), parts) if parts else exact(0.0)

    launch = base.launch.plus(kernel)
    return replace(base, launch=launch, host_before=host(job.into), host_after=host(job.out))
