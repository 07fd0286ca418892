"""The closed forms that rows of published figures name: (board, inputs) -> SI units.

Sizes come as text from the sources' files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from isthmus.boards import Board
from isthmus.errors import UsageError
from isthmus.models import dma, host_memory, littles_law, mmio, offload, serial
from isthmus.models.pcie import path_of
from isthmus.text import nearest


def _transfer(board: Board, direction: str, size: str) -> float:
    return int(size) / dma.transfer_s(board, direction, int(size))


def _offload_phase(board: Board, phase: str, aligned: bool) -> float:
    return offload.phases(board, offload.ELEMENTS, aligned=aligned)[phase]


def _stated_ring(board: Board, devices: int, in_turn: bool, over: float = 1.0) -> float:
    """b_eff by the published constants; if kernels send and receive at once, in half the time.

    ``over`` is a measured rate in B/s, where the row asks for the ratio.
    """
    stated = board.with_values(serial.PUBLISHED_CONSTANTS)
    return (1 if in_turn else 2) * serial.b_eff(stated, devices, serial.SIZES["published"]) / over


def _product(_board: Board, factors: Sequence[float]) -> float:
    return math.prod(factors)


CLOSED_FORMS: Mapping[str, Callable[..., float]] = {
    "ring": lambda b, devices, size: serial.bandwidth(b, int(size), devices),
    "ring, mean": lambda b, devices: serial.b_eff(b, devices, serial.SIZES["published"]),
    "stated ring, mean": _stated_ring,
    "host memory": lambda b, kernel, size: host_memory.bandwidth(b, kernel, int(size)),
    "transfer": _transfer,
    "offload phase": _offload_phase,
    "load": mmio.load_s,
    "stores": mmio.store_rate,
    "streaming speedup": mmio.streaming_speedup,
    "crossover": mmio.crossover_bytes,
    "share of DMA": lambda b: mmio.share_of_dma(b, 64),
    "raw link": lambda b: path_of(b).link.raw,
    "lines in flight": lambda _, rate, latency: littles_law.in_flight(rate, latency) / mmio.LINE,
    "parameter": lambda b, name: b.seconds(name),
    "product": _product,
}


def closed_form(name: str, inputs: Mapping[str, Any]) -> Callable[[Board], float]:
    """The closed form of this name with its inputs; raises UsageError for an unknown name."""
    if name not in CLOSED_FORMS:
        known = ", ".join(CLOSED_FORMS)
        raise UsageError(f"no closed form '{name}'; {nearest(name, CLOSED_FORMS)}known: {known}")
    form = CLOSED_FORMS[name]
    return lambda board: form(board, **inputs)
