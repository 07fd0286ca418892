"""Predicts transfers between host and card memory by the card's DMA engine.

    time = submit + start + first + bytes / rate + completion + finish
    rate = least of  wire,  interface,  one bank of card memory,
                     read rate of all channels together           (host to card)
                     tags of all channels x MRRS / round trip     (host to card; Little's law)
                     posted credits / time until they return      (card to host; Little's law)
                     channels x descriptor / (descriptor / interface + gap)

A transfer uses one channel. Transfers that begin together use different channels while the card has
free ones, share the rate, and end together.

``first`` is the time until the first data arrive: a read's round trip (host to card), or the
latencies of card memory and link (card to host). ``gap`` is the time per descriptor in which the
interface moves no data. ``completion`` is polling or an interrupt, after the link's latency. Lines
of the buffer that miss the host's cache (``host_memory.missing``) add ``memory_miss_ns`` to the
round trip and to the return of credits, and are limited by the memory's bandwidth. Times in
seconds, rates in bytes a second.
Source of the mechanism: AMD PG195 (descriptors, tags, channels); parameters: the boards.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from isthmus.boards.board import Board
from isthmus.models.base import Figure, Model, Option
from isthmus.models.host_memory import miss_s, missing, return_s, window_bytes
from isthmus.models.pcie import path_of

DIRECTIONS = ("h2d", "d2h")
_SIZES = tuple(1 << i for i in range(0, 32, 2))


def round_trip_s(board: Board) -> float:
    """Seconds from the engine's read request of MRRS bytes to the arrival of its last data."""
    path = path_of(board)
    return (
        path.request_s()
        + 2 * board.seconds("link.latency_ns")
        + board.seconds("host.memory_latency_ns")
        + path.answer_s(path.max_read_request)
    )


def rate(board: Board, direction: str, size: float = math.inf, channels: int = 1) -> float:
    """Bytes per second of ``channels`` simultaneous transfers of ``size`` bytes, all together."""
    return min(_limits(board, direction, size, channels).values())


def _limits(board: Board, direction: str, size: float, channels: int = 1) -> dict[str, float]:
    """The limits of ``rate`` in bytes a second, by what sets them."""
    path = path_of(board)
    missed = missing(board, "read" if direction == "h2d" else "write", size)
    piece = board.number("dma.descriptor_bytes")
    gap = board.seconds(f"dma.{direction}_descriptor_ns")
    limits = {
        "user bus": path.bus_rate(),
        "descriptors": channels * piece / (piece / path.bus_rate() + gap),
        "bank": board.bank_rate(),
    }
    if direction == "h2d":
        of_channels = channels * (board.whole("dma.tags") // board.whole("dma.engines"))
        tags = min(of_channels, board.whole("link.nonposted_header_credits"))
        trip = round_trip_s(board) + miss_s(board, missed)
        limits |= {"link": path.reads(), "tags": tags * path.max_read_request / trip}
        limits["engine"] = board.number("dma.h2d_bandwidth_Bps") or math.inf
    else:
        back = return_s(board) + miss_s(board, missed)
        limits |= {"link": path.writes(), "posted credits": window_bytes(board) / back}
    if missed > 0:
        limits["host memory"] = board.number("host.memory_bandwidth_Bps") / missed
    return limits


def fixed_s(board: Board, direction: str) -> float:
    """Seconds of a transfer without the time that its bytes take at ``rate``."""
    if direction == "h2d":
        first = round_trip_s(board)
    else:
        first = board.seconds("memory.latency_ns") + board.seconds("link.latency_ns")
    notification = "polling_ns" if board.value("dma.completion") == "poll" else "interrupt_ns"
    return (
        board.seconds("dma.submit_ns")
        + board.seconds("dma.start_ns")
        + first
        + board.seconds("link.latency_ns")
        + board.seconds(f"host.{notification}")
        + board.seconds("dma.finish_ns")
    )


def transfer_s(board: Board, direction: str, size: float) -> float:
    """Seconds of one transfer, from the driver's entry to its return."""
    return fixed_s(board, direction) + size / rate(board, direction, size)


def together_s(board: Board, direction: str, size: float, count: int) -> float:
    """Seconds of ``count`` simultaneous transfers of ``size`` bytes, until all return."""
    if not 1 <= count <= (channels := board.whole("dma.engines")):
        raise ValueError(f"{count} transfers together: the card has {channels} channels")
    return fixed_s(board, direction) + count * size / rate(board, direction, size, count)


def predict(board: Board, inputs: Mapping[str, float]) -> list[Figure]:
    """Predicts for each direction: fixed cost, rate, and time and bandwidth of each size."""
    size_given = inputs.get("bytes")
    sizes = [int(size_given)] if size_given else _SIZES
    figures = []
    for direction in DIRECTIONS:
        figures.append(Figure(f"{direction} fixed cost", fixed_s(board, direction), "s"))
        # Rate without the fixed cost, at the requested size; by default the limit for long ones.
        limits = _limits(board, direction, size_given or math.inf)
        by = min(limits, key=limits.__getitem__)
        of_rate = Figure(f"{direction} rate", limits[by], "B/s", size_given, f"limit: {by}")
        figures.append(of_rate)
        for size in sizes:
            seconds = transfer_s(board, direction, size)
            figures.append(Figure(f"{direction} time", seconds, "s", size))
            figures.append(Figure(f"{direction} bandwidth", size / seconds, "B/s", size))
    return figures


MODEL = Model(
    "dma",
    "transfers between host and card memory",
    predict,
    default_board="u250",
    options=(Option("bytes", "B", "size of the transfer; without it 1 B to 1 GiB"),),
    closed_forms={
        "transfer": lambda b, direction, size: int(size) / transfer_s(b, direction, int(size)),
        "transfers together": lambda b, direction, size, count: (
            int(count) * int(size) / together_s(b, direction, int(size), int(count))
        ),
    },
)
