"""Predicts the effective bandwidth (b_eff) of a ring of cards over their serial channels.

One step sends L bytes to a neighbour and receives L bytes, one after the other:

    t(L) = 2 (ceil(L / (c w)) stretch / f + latency + hop)        seconds
    bandwidth(L) = 2 n L / t(L)                                   bytes a second, all n devices
    b_eff = mean over sizes of bandwidth(L)

with c channels of w bytes per cycle at f, and ``hop`` only where n > 1. The factor 2 n counts what
the two kernels of each device send. The board may change this:

- If kernels send and receive at once (``in_turn`` false), t(L) has no factor 2. This is the
  source's own formula. It is a lower bound if a channel holds fewer flits than a round trip has on
  the wire.
- A channel that holds ``depth`` flits sends ``depth`` flits without waiting. It sends the next flit
  when it learns that the peer took the first: a cycle and two latencies after that flit left.
- ``sharing`` links on one wire take at least the time of all their messages on the wire.
- A loop of N steps adds ``start`` for the kernels once, and ``barrier`` for each of ceil(log2 n)
  stages that a card begins late: t(L) + (start + barrier ceil(log2 n)) / N.

Source of the formula and of c, w, f: HPCC FPGA benchmark suite, b_eff; stretch, latency and hop
are fitted (board ``520n``). The published runs do not determine the other parameters; their
defaults change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from isthmus.boards.board import Board
from isthmus.models.base import Figure, Model, Option

_SMALL = tuple(1 << i for i in range(13))
SIZES: Mapping[str, tuple[int, ...]] = {
    "definition": (*_SMALL, *(4096 << i for i in range(1, 9))),
    "published": (*_SMALL, *(4096 << i for i in range(2, 10))),
}
"""Message sizes in bytes: the 21 of b_eff's definition, and those of the published runs, which lack
8 KiB."""


LOOPLENGTH = 16384
"""Steps of a loop in the published runs; a step is one exchange of messages."""
PUBLISHED_CONSTANTS = {"serial.latency_ns": 520.0, "serial.stretch": 1.0, "serial.hop_ns": 0.0}
"""Values that the source published for the formula, in place of those fitted to its runs."""


def flits(board: Board, size: int) -> int:
    """Cycles in which all channels of one direction accept a message of ``size`` bytes."""
    flit = board.whole("serial.channels") * board.whole("serial.width_bytes")
    return -(-size // flit)


def channel_rate(board: Board) -> float:
    """Bytes per second that all channels of one direction accept."""
    cycle = board.whole("serial.channels") * board.whole("serial.width_bytes")
    return cycle * board.hertz("serial.clock_MHz")


def one_way_s(board: Board, size: int, devices: int) -> float:
    """Seconds of a message from its first byte sent until the peer can use its last byte."""
    cycle = board.number("serial.stretch") / board.hertz("serial.clock_MHz")
    hop = board.seconds("serial.hop_ns") if devices > 1 else 0.0
    way = board.seconds("serial.latency_ns") + hop
    count, depth = flits(board, size), board.whole("serial.depth")
    full_rounds = (count - 1) // depth
    return (
        full_rounds * max(depth * cycle, cycle + 2 * way)
        + (count - full_rounds * depth) * cycle
        + way
    )


def exchange_s(board: Board, size: int, devices: int, looplength: int = LOOPLENGTH) -> float:
    """Seconds of one step with messages of ``size`` bytes, with its share of the loop's start."""
    cycle = board.number("serial.stretch") / board.hertz("serial.clock_MHz")
    sharing = min(board.whole("serial.sharing"), devices)
    busy = sharing * flits(board, size) * cycle
    stages = math.ceil(math.log2(devices))
    once = board.seconds("serial.start_ns") + stages * board.seconds("serial.barrier_ns")
    ways = 2 if board.value("serial.in_turn") else 1
    return max(ways * one_way_s(board, size, devices), busy) + once / looplength


def bandwidth(board: Board, size: int, devices: int, looplength: int = LOOPLENGTH) -> float:
    """Bytes per second that all devices together send in messages of ``size`` bytes."""
    return 2 * devices * size / exchange_s(board, size, devices, looplength)


def b_eff(board: Board, devices: int, sizes: Sequence[int], looplength: int = LOOPLENGTH) -> float:
    """Mean of ``bandwidth`` over the message sizes, in bytes per second."""
    return sum(bandwidth(board, size, devices, looplength) for size in sizes) / len(sizes)


def predict(board: Board, inputs: Mapping[str, float]) -> list[Figure]:
    """Predicts the bandwidth of each message size, and b_eff over both sets of ``SIZES``.

    Predicts both also with the published constants.
    """
    devices, steps = int(inputs["devices"]), int(inputs["looplength"])
    limit = 2 * devices * channel_rate(board)
    sizes = sorted(set(SIZES["definition"]) | set(SIZES["published"]))
    published = board.with_values(PUBLISHED_CONSTANTS)
    figures = [
        Figure(
            "bandwidth", bandwidth(board, size, devices, steps), "B/s", size,
            note=f"{_off(board, published, size, devices, steps):+.2f} % off published constants",
        )
        for size in sizes
    ]  # fmt: skip
    for name, chosen in SIZES.items():
        own = b_eff(board, devices, chosen, steps)
        of_single = devices * b_eff(board, 1, chosen, steps)
        stated = b_eff(published, devices, chosen, steps)
        parallel = b_eff(published.with_values({"serial.in_turn": False}), devices, chosen, steps)
        figures += [
            Figure("b_eff", own, "B/s", note=f"the {name}'s sizes"),
            Figure("b_eff by published constants", stated, "B/s", note=f"the {name}'s sizes"),
            Figure(
                "b_eff, both directions at once",
                parallel,
                "B/s",
                note=f"the {name}'s sizes",
            ),
            Figure("ratio to single devices", own / of_single, "", note=f"the {name}'s sizes"),
        ]
    return [*figures, Figure("limit", limit, "B/s", note="both directions always busy")]


def _off(board: Board, published: Board, size: int, devices: int, steps: int) -> float:
    """Bandwidth by the board's constants over that by published constants, less 1, in per cent."""
    own, stated = (bandwidth(b, size, devices, steps) for b in (board, published))
    return 100 * (own / stated - 1)


def _stated(board: Board, devices: int, in_turn: bool, over: float = 1.0) -> float:
    """b_eff with the published constants, over ``over``; without ``in_turn`` a step takes half.

    ``over``: measured rate in B/s for a published ratio; 1 for a rate.
    """
    stated = board.with_values(PUBLISHED_CONSTANTS)
    return (1 if in_turn else 2) * b_eff(stated, devices, SIZES["published"]) / over


MODEL = Model(
    "beff",
    "effective bandwidth of cards in a ring",
    predict,
    default_board="520n",
    options=(
        Option("devices", "", "devices in the ring", 1),
        Option("looplength", "", "steps of a timed loop", LOOPLENGTH),
        Option("latency-ns", "ns", "until usable by the peer", parameter="serial.latency_ns"),
        Option("barrier-ns", "ns", "late by a barrier's stage", parameter="serial.barrier_ns"),
        Option("start-ns", "ns", "kernels started, their end seen", parameter="serial.start_ns"),
        Option("sharing", "", "links on one wire", parameter="serial.sharing"),
        Option("depth", "", "flits that a channel holds", parameter="serial.depth"),
    ),
    closed_forms={
        "ring": lambda b, devices, size: bandwidth(b, int(size), devices),
        "ring, mean": lambda b, devices: b_eff(b, devices, SIZES["published"]),
        "stated ring, mean": _stated,
    },
)
