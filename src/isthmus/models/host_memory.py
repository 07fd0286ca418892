"""Predicts the bandwidth of kernels that read, write or copy host memory, by buffer size.

``iterations`` sweeps over a buffer of ``size`` bytes, in one launch:

    time  = launch + iterations x sweep
    sweep = window / path + (size - window) / rate + drain      above 8 KiB
    sweep = (size / 4 KiB) x block interval                     up to 8 KiB: single blocks

``drain``: the next sweep starts when the last data have arrived (read: one round trip), when the
last write is answered (write), or after both, one after the other (copy). The first ``window``
bytes of a sweep (or the whole sweep) wait for no data, tag or credit.

``rate`` (bytes a second, each direction) is the least of
 - ``path``: the wire, the card's interface to it (``isthmus.models.pcie``), and the kernel's own
   port, width x clock,
 - reads: requests in flight x MRRS / round trip (Little's law); tags or the kernel's outstanding
   bursts limit the requests,
 - writes: credits / time until they return (Little's law over posted data); and outstanding bursts
   / (time of one burst + its response),
 - memory: ``memory_bandwidth_Bps``, for the lines of both directions that miss the last-level
   cache.

A line that is not in the last-level cache (``missing``) adds ``memory_miss_ns`` to the
round trip and to the return of credits. A copy shares the cache: each direction keeps half.
The parameters' sources are in the boards; their uncertainty in ``docs/models.md``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from isthmus.boards.board import Board
from isthmus.errors import UsageError
from isthmus.models.base import Figure, Model, Option
from isthmus.models.pcie import Path, path_of

KERNELS = ("read", "write", "copy")
_BLOCK = 4096
_SINGLE_BLOCKS_TO = 8192
_SIZES = tuple(4096 << i for i in range(17))


def missing(board: Board, direction: str, footprint: float, *, shared: bool = False) -> float:
    """Share of a buffer's lines that are not in the host's last-level cache.

    It is 1 - min(1, kept / footprint), where ``footprint`` are the bytes of the buffer.

    A fixed part of the cache keeps a fixed part of the footprint, however often it is swept: writes
    of devices update cached lines and use few ways for new lines (Intel's Data Direct I/O). This is
    a hypothesis: see ``docs/models.md``. ``direction`` is ``read`` or ``write``. If both directions
    run at once (``shared``), each keeps half of the cached bytes.
    """
    kept = board.number(f"host.cache_{direction}_bytes") / (2 if shared else 1)
    return 1.0 - min(1.0, kept / footprint)


def miss_s(board: Board, missed: float) -> float:
    """Mean seconds that cache misses add to a round trip or to the return of credits.

    ``missed``: share of lines that are not cached.
    """
    return missed * board.seconds("host.memory_miss_ns")


def window_bytes(board: Board) -> float:
    """Bytes of posted writes in full packets that the host's credits allow in flight.

    Source: PCI Express Base Specification, section 2.6 (flow control).
    """
    data = 16 * board.number("link.posted_data_credits")
    return min(data, path_of(board).max_payload * board.number("link.posted_header_credits"))


def return_s(board: Board) -> float:
    """Seconds until the host returns the credits of a write of MPS bytes to a cached line."""
    path = path_of(board)
    return (
        path.write_s(path.max_payload)
        + 2 * board.seconds("link.latency_ns")
        + board.seconds("host.write_retire_ns")
        + board.seconds("link.credit_return_ns")
    )


def round_trip_s(board: Board) -> float:
    """Seconds of a kernel's read request to host memory whose data are in the host's cache."""
    path = kernel_path(board)
    return (
        path.request_s()
        + 2 * board.seconds("link.latency_ns")
        + board.seconds("host.memory_latency_ns")
        + path.answer_s(path.max_read_request)
        + board.seconds("kernel.host_latency_ns")
    )


def port_rate(board: Board) -> float:
    """Bytes per second of a kernel's port in each direction: width x clock."""
    return board.number("kernel.width_bytes") * board.hertz("kernel.clock_MHz")


def burst_bytes(board: Board) -> int:
    """Bytes of the longest burst that a kernel's port issues."""
    return board.whole("kernel.width_bytes") * board.whole("kernel.burst_beats")


class Flow(NamedTuple):
    """How one direction of a sweep over host memory flows."""

    path: float
    """Bytes per second while nothing waits for data, tags or credits."""
    window: float
    """Most bytes in flight: the first bytes of a sweep, which wait for nothing."""
    rate: float
    """Bytes per second with the window always full; at most ``path``."""

    def seconds(self, size: float, limit: float = math.inf) -> float:
        """Seconds of ``size`` bytes: a window at ``path``, the rest at ``rate``.

        ``limit``: further limit of both rates in bytes per second.
        """
        head = min(size, self.window)
        return head / min(self.path, limit) + (size - head) / min(self.rate, limit)


def kernel_path(board: Board) -> Path:
    """The board's link as kernels use it: packets are at most as long as a burst."""
    path, burst = path_of(board), burst_bytes(board)
    return replace(
        path,
        max_payload=min(path.max_payload, burst),
        max_read_request=min(path.max_read_request, burst),
    )


def reads(board: Board, missed: float) -> Flow:
    """Flow of a kernel's reads, if the share ``missed`` of the lines is not in the host's cache."""
    path = kernel_path(board)
    requests = min(
        board.whole("kernel.tags"),
        board.whole("link.nonposted_header_credits"),
        board.whole("kernel.outstanding") * (burst_bytes(board) // path.max_read_request),
    )
    window = requests * path.max_read_request
    most = min(path.reads(), path.bus_rate(), port_rate(board))
    trip = round_trip_s(board) + miss_s(board, missed)
    return Flow(most, window, min(most, window / trip))


def writes(board: Board, missed: float) -> Flow:
    """Flow of a kernel's posted writes, if the share ``missed`` of the lines is not cached."""
    path = kernel_path(board)
    most = min(path.writes(), path.bus_rate(), port_rate(board))
    granted = window_bytes(board)
    back = return_s(board) + miss_s(board, missed)
    burst = burst_bytes(board)
    bursts = board.number("kernel.outstanding") * burst
    answered = (burst - path.max_payload) / most + board.seconds("kernel.write_response_ns")
    return Flow(most, min(granted, bursts), min(most, granted / back, bursts / answered))


def sweep_s(board: Board, kernel: str, size: int) -> float:
    """Seconds of one sweep of a kernel (read, write or copy) over a buffer of ``size`` bytes."""
    copies = kernel == "copy"
    if size <= _SINGLE_BLOCKS_TO:
        name = "kernel.copy_block_interval_ns" if copies else "kernel.block_interval_ns"
        return max(1.0, size / _BLOCK) * board.seconds(name)
    reading = 0.0 if kernel == "write" else missing(board, "read", size, shared=copies)
    writing = 0.0 if kernel == "read" else missing(board, "write", size, shared=copies)
    missed = reading + writing
    memory = board.number("host.memory_bandwidth_Bps") / missed if missed else math.inf
    limit = min(memory, path_of(board).both() if copies else math.inf)
    moving, drain = [], 0.0
    if kernel != "write":
        moving.append(reads(board, reading).seconds(size, limit))
        drain += round_trip_s(board)
    if kernel != "read":
        moving.append(writes(board, writing).seconds(size, limit))
        drain += board.seconds("kernel.write_response_ns")
    return max(moving) + drain


def item_s(board: Board, into: float, out: float) -> float:
    """Least seconds of a kernel that reads ``into`` and writes ``out`` bytes of host memory.

    Both directions move the smaller number of bytes at once; then one moves the rest alone.
    """
    more, less = round(max(into, out)), round(min(into, out))
    alone = "read" if into > out else "write"
    if not less:
        return sweep_s(board, alone, more)
    rest_s = sweep_s(board, alone, more) - sweep_s(board, alone, less)
    return sweep_s(board, "copy", less) + max(0.0, rest_s)


def bandwidth(board: Board, kernel: str, size: int, iterations: int = 1024) -> float:
    """Bytes per second of a launch with ``iterations`` sweeps, including the launch's time.

    A copy counts bytes read and bytes written.
    """
    seconds = board.seconds("kernel.launch_ns") + iterations * sweep_s(board, kernel, size)
    return (2 if kernel == "copy" else 1) * size * iterations / seconds


def predict(board: Board, inputs: Mapping[str, float]) -> list[Figure]:
    """Predicts the bandwidth of kernels that read, write and copy, by buffer size.

    Raises UsageError for a board whose kernels do not access host memory.
    """
    if not board.value("kernel.reaches_host"):
        raise UsageError(f"kernels of board '{board.name}' do not reach host memory")
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
    closed_forms={"host memory": lambda b, kernel, size: bandwidth(b, kernel, int(size))},
)
