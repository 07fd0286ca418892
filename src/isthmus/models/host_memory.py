"""Kernels that read, write or copy host memory: bandwidth by buffer size.

``iterations`` sweeps over a buffer of ``size`` bytes, one launch around them:

    time  = launch + iterations x sweep
    sweep = size / rate + drain                    above 8 KiB
    sweep = (size / 4 KiB) x block interval        up to 8 KiB: single blocks

``drain``: the next sweep starts when the last data have arrived (read: one round trip), when the
last write is answered (write), or after one and then the other (copy).

``rate`` (bytes a second, each direction) is the least of
 - the wire and the card's interface (``isthmus.models.pcie``),
 - reads: tags x MRRS / round trip, Little's law over the requests in flight,
 - writes: credits / time until they return, Little's law over the posted data in flight,
 - what misses the last-level cache, of both directions together, at ``memory_bandwidth_Bps``.

A line that is not in the last-level cache (``isthmus.models.cache``) adds ``memory_miss_ns`` to the
round trip and to the return of credits. A copy shares the cache: each direction keeps half.
The parameters' sources are in the boards; how sure this is, in ``docs/models.md``.
"""

from __future__ import annotations

from collections.abc import Mapping

from isthmus.boards.board import Board
from isthmus.models import posted
from isthmus.models.base import Figure, Model, Option
from isthmus.models.cache import miss_s, missing
from isthmus.models.pcie import path_of

KERNELS = ("read", "write", "copy")
_BLOCK = 4096
_SINGLE_BLOCKS_TO = 8192
_SIZES = tuple(4096 << i for i in range(17))


def round_trip_s(board: Board) -> float:
    """A kernel's read of one MRRS of host memory, data in the cache; seconds."""
    path = path_of(board)
    return (
        path.request_s()
        + 2 * board.seconds("link.latency_ns")
        + board.seconds("host.memory_latency_ns")
        + path.completions_s(path.max_read_request)
        + board.seconds("kernel.host_latency_ns")
    )


def read_rate(board: Board, missed: float) -> float:
    """Bytes a second of a kernel's reads when this share of the lines misses."""
    path = path_of(board)
    tags = min(
        board.number("kernel.tags"),
        board.number("link.nonposted_header_credits"),
    )
    trip = round_trip_s(board) + miss_s(board, missed)
    return min(path.reads(), path.bus_rate(), tags * path.max_read_request / trip)


def write_rate(board: Board, missed: float) -> float:
    """Bytes a second of a kernel's posted writes when this share of the lines misses."""
    path = path_of(board)
    back = posted.return_s(board) + miss_s(board, missed)
    return min(path.writes(), path.bus_rate(), posted.window_bytes(board) / back)


def sweep_rate(board: Board, kernel: str, size: float) -> float:
    """Bytes a second of each direction within a sweep."""
    shared = kernel == "copy"
    reading = 0.0 if kernel == "write" else missing(board, "read", size, shared=shared)
    writing = 0.0 if kernel == "read" else missing(board, "write", size, shared=shared)
    limits = []
    if kernel != "write":
        limits.append(read_rate(board, reading))
    if kernel != "read":
        limits.append(write_rate(board, writing))
    if shared:
        limits.append(path_of(board).both())
    if reading + writing > 0:
        limits.append(board.number("host.memory_bandwidth_Bps") / (reading + writing))
    return min(limits)


def sweep_s(board: Board, kernel: str, size: int) -> float:
    """One sweep over the buffer, seconds."""
    if size <= _SINGLE_BLOCKS_TO:
        name = "kernel.copy_block_interval_ns" if kernel == "copy" else "kernel.block_interval_ns"
        return max(1.0, size / _BLOCK) * board.seconds(name)
    drain = 0.0 if kernel == "write" else round_trip_s(board)
    drain += 0.0 if kernel == "read" else board.seconds("kernel.write_response_ns")
    return size / sweep_rate(board, kernel, size) + drain


def bandwidth(board: Board, kernel: str, size: int, iterations: int = 1024) -> float:
    """Bytes a second, launch included; a copy counts what it reads and what it writes."""
    seconds = board.seconds("kernel.launch_ns") + iterations * sweep_s(board, kernel, size)
    return (2 if kernel == "copy" else 1) * size * iterations / seconds


def predict(board: Board, inputs: Mapping[str, float]) -> list[Figure]:
    """Bandwidth of the three kernels by buffer size."""
    sizes = [int(inputs["bytes"])] if inputs.get("bytes") else _SIZES
    return [
        Figure(kernel, bandwidth(board, kernel, size, int(inputs["iterations"])), "B/s", size)
        for kernel in KERNELS
        for size in sizes
    ]


MODEL = Model(
    "host_memory",
    "kernels that read, write or copy host memory",
    predict,
    default_board="u250",
    options=(
        Option("bytes", "B", "buffer size; without it 4 KiB to 256 MiB"),
        Option("iterations", "", "sweeps of one launch", 1024),
    ),
)
