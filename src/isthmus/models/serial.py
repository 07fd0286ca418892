"""Effective bandwidth of a ring of cards over their serial channels (b_eff).

One loop sends L bytes to a neighbour and receives L bytes, one after the other:

    t(L) = 2 (ceil(L / (c w)) stretch / f + latency + hop)        seconds
    bandwidth(L) = 2 n L / t(L)                                   bytes a second, all n devices
    b_eff = mean over sizes of bandwidth(L)

with c channels of w bytes per cycle at f, and ``hop`` only where n > 1. The factor 2 n counts what
the two kernels of each device send. Links do not contend: the ring gives each its own.
Source of the formula and of c, w, f: HPCC FPGA benchmark suite, b_eff; stretch, latency and hop
are fitted (board ``520n``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from isthmus.boards.board import Board
from isthmus.models.base import Figure, Model, Option

_SMALL = tuple(1 << i for i in range(13))
SIZES: Mapping[str, tuple[int, ...]] = {
    "definition": (*_SMALL, *(4096 << i for i in range(1, 9))),
    "published": (*_SMALL, *(4096 << i for i in range(2, 10))),
}
"""The definition's 21 message sizes, and the published runs', which skip 8 KiB."""


def exchange_s(board: Board, size: int, devices: int) -> float:
    """One loop of one message size."""
    flit = board.whole("serial.channels") * board.whole("serial.width_bytes")
    cycles = -(-size // flit) * board.number("serial.stretch")
    hop = board.seconds("serial.hop_ns") if devices > 1 else 0.0
    once = cycles / board.hertz("serial.clock_MHz") + board.seconds("serial.latency_ns") + hop
    return 2 * once


def bandwidth(board: Board, size: int, devices: int) -> float:
    """Bytes a second that all devices send at one message size."""
    return 2 * devices * size / exchange_s(board, size, devices)


def b_eff(board: Board, devices: int, sizes: Sequence[int]) -> float:
    """Mean over the sizes, bytes a second."""
    return sum(bandwidth(board, size, devices) for size in sizes) / len(sizes)


def predict(board: Board, inputs: Mapping[str, float]) -> list[Figure]:
    """Bandwidth by message size, and b_eff on both sets of sizes."""
    devices = int(inputs["devices"])
    sizes = sorted(set(SIZES["definition"]) | set(SIZES["published"]))
    return [
        *(Figure("bandwidth", bandwidth(board, size, devices), "B/s", size) for size in sizes),
        *(
            Figure("b_eff", b_eff(board, devices, chosen), "B/s", note=f"the {name}'s sizes")
            for name, chosen in SIZES.items()
        ),
    ]


MODEL = Model(
    "beff",
    "effective bandwidth of cards in a ring",
    predict,
    default_board="520n",
    options=(Option("devices", "", "devices in the ring", 1),),
)
