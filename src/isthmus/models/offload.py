"""Predicts the phases of an offload. The host pins vectors that begin at a page, and copies others.

With n elements in each of three vectors of p pages and B bytes:

    populate           2 p fault + n populate            operands touched for the first time
    map                3 p pin                            vectors that begin at a page
                       3 p (pin + fault) + 3 B / copy     other vectors: copied by the driver
    migrate_to_device  DMA of B, twice  (+ 2 B / copy)
    kernel_run         launch + n kernel
    allocate           all three vectors, and the cost of aligning them
    read_back          DMA of B    (+ B / copy + p fault)  first touch of the result's pages
    software_vadd      p fault + n add                    into memory that was not touched before

Times in seconds; DMA as in ``isthmus.models.dma``. Source of the mechanism: XRT documents that a
user's pointer costs a copy if it is not aligned to a page. The published example does not touch the
result before (AMD Vitis runtime tutorial, example 2).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from isthmus.boards.board import Board
from isthmus.models import dma
from isthmus.models.base import Figure, Model, Option

ELEMENTS = 6 << 20
_PAGE = 4096
_ELEMENT = 4


def phases(board: Board, elements: int, *, aligned: bool) -> dict[str, float]:
    """Seconds of each phase for vectors of ``elements``; ``aligned``: they begin at a page."""
    size = _ELEMENT * elements
    pages = math.ceil(size / _PAGE)
    fault, pin = board.seconds("offload.fault_ns"), board.seconds("offload.pin_ns")
    copy = 0.0 if aligned else size / board.number("offload.copy_Bps")
    touched = 0.0 if aligned else pages * fault
    aligning = board.seconds("offload.align_ns") if aligned else 0.0
    kernel = elements * board.seconds("offload.kernel_ns")
    return {
        "initialise": board.seconds("offload.initialise_ns"),
        "allocate": board.seconds("offload.allocate_ns") + aligning,
        "populate": 2 * pages * fault + elements * board.seconds("offload.populate_ns"),
        "software_vadd": pages * fault + elements * board.seconds("offload.add_ns"),
        "map": 3 * (pages * pin + touched + copy),
        "migrate_to_device": 2 * (dma.transfer_s(board, "h2d", size) + copy),
        "set_arguments": board.seconds("offload.arguments_ns"),
        "kernel_enqueue": board.seconds("offload.enqueue_ns"),
        "kernel_run": board.seconds("kernel.launch_ns") + kernel,
        "read_back": dma.transfer_s(board, "d2h", size) + copy + touched,
    }


def predict(board: Board, inputs: Mapping[str, float]) -> list[Figure]:
    """Predicts each phase's seconds, for vectors that begin at a page and for other vectors."""
    elements = int(inputs["elements"])
    return [
        Figure(f"{phase}, {'aligned' if aligned else 'unaligned'}", seconds, "s")
        for aligned in (True, False)
        for phase, seconds in phases(board, elements, aligned=aligned).items()
    ]


MODEL = Model(
    "offload",
    "phases of a vector add from aligned and unaligned host memory",
    predict,
    default_board="u200-tutorial",
    options=(Option("elements", "", "32-bit integers in each vector", ELEMENTS),),
    closed_forms={
        "offload phase": lambda b, phase, aligned: phases(b, ELEMENTS, aligned=aligned)[phase],
    },
)
