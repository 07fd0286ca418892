"""Two ways to the same time: the emulated card's events, and the closed forms of the models.

Each study's operations that have a closed form, on every board that can do them, for buffers that
the host's cache holds: beyond, closed forms average what events see in turn (``docs/card.md``).
"""

from __future__ import annotations

import math

import pytest

from conftest import slow
from isthmus import _core, boards
from isthmus.backends import registry
from isthmus.boards import Board
from isthmus.errors import UsageError
from isthmus.models import dma, host_memory, mmio, offload, serial
from isthmus.models.pcie import path_of

BACKEND = _core.load_backend(str(registry()["card"].library))
OPERATIONS = {"read": "read_bandwidth", "write": "write_bandwidth", "copy": "bandwidth"}
SIZES = (1, 4096, 16384, 65536, 1 << 20, 2 << 20)
SAME_LINK = {"u50", "u55c"}
"""Boards that differ from the U280 in their memory's size alone."""
ALL = [
    pytest.param(board, id=name)
    for name in boards.names()
    if name not in SAME_LINK and (board := boards.load(name)).has("link")
]


@pytest.mark.parametrize("most", [1 << 28, *slow(1 << 30)])
def test_transfers_of_f1_stay_at_their_peak(most: int) -> None:
    """As the source says: past the peak the rate stays the same as sizes grow."""
    board = boards.load("f1-vu9p")
    for operation in ("read", "write"):
        sizes = [1 << i for i in range(20, most.bit_length(), 2)]
        rates = [size / simulated_s(board, operation, size) for size in sizes]
        assert rates == sorted(rates)
        assert rates[-1] / rates[3] == pytest.approx(1, abs=0.003)  # from 64 MiB on


@pytest.mark.parametrize("name", ["f1-vu9p", "520n"])
def test_kernels_reach_host_memory_only_where_the_board_lets_them(name: str) -> None:
    board = boards.load(name)
    for target, works in (("device", True), ("host", False)):
        memory = "device" if target == "device" else "host_only"
        seconds = simulated_s(board, "read_bandwidth", 4096, memory, target=target, iterations=1)
        assert math.isnan(seconds) != works
    with pytest.raises(UsageError, match="do not reach host memory"):
        host_memory.predict(board, {"iterations": 1024})


def simulated_s(
    board: Board, operation: str, size: int, memory: str = "pinned", **axes: object
) -> float:
    """Seconds of one repetition on the card; nan where the board cannot do that."""
    device = BACKEND.open("", board.flat())
    options = {name: str(value) for name, value in axes.items()}
    try:
        block = _core.Series(device, operation, size, memory, options).measure(0.0)
    except _core.UsageError:
        return math.nan
    assert not block.fault
    (part,) = block.parts
    return part.simulated_fs[0] * 1e-15


def kept(board: Board) -> float:
    """Bytes of a buffer that the host's cache holds wholly, whichever way it is used."""
    return min(board.number(f"host.cache_{way}_bytes") for way in ("read", "write"))


@pytest.mark.parametrize("board", ALL)
@pytest.mark.parametrize("operation", ["read", "write"])
def test_transfer(board: Board, operation: str) -> None:
    """Within what the closed form leaves out, and one request of the window.

    That is the doorbell and the status on the link, the memory at the card's end, and that a window
    of requests is not full from the start to the end: together at most two crossings, the memory's
    latency, and one window. Within the window it counts in fractions of a request, events in whole.
    """
    path = path_of(board)
    if operation == "write":
        way, window = "h2d", dma.round_trip_s(board)
        request = board.whole("dma.engines") / board.whole("dma.tags")
    else:
        way, window = "d2h", host_memory.return_s(board)
        request = path.max_payload / host_memory.window_bytes(board)
    left_out = 2 * board.seconds("link.latency_ns") + board.seconds("memory.latency_ns")
    for size in (size for size in SIZES if size <= kept(board)):
        events = simulated_s(board, operation, size)
        moving = max(0.0, events - dma.fixed_s(board, way))
        allowed = left_out + window + request * moving
        assert abs(dma.transfer_s(board, way, size) - events) <= allowed, size


def reaches_host(board: Board) -> bool:
    return board.has("kernel") and bool(board.value("kernel.reaches_host"))


@pytest.mark.parametrize("board", [one for one in ALL if reaches_host(one.values[0])])
@pytest.mark.parametrize("kernel", host_memory.KERNELS)
def test_hostmem(board: Board, kernel: str) -> None:
    """Within one request, which the closed form counts on the link and in the round trip too.

    Beyond that 0.5 %, and for a copy, whose two directions share the link by turns, 2 %.
    """
    request = host_memory.kernel_path(board).max_read_request
    share = 2 if kernel == "copy" else 1
    sizes = [size for size in SIZES if 4096 <= size <= kept(board) / share]
    assert sizes
    for size in sizes:
        steps = 1024
        device = simulated_s(board, OPERATIONS[kernel], size, "host_only", target="host",
                             implementation="model", iterations=steps)  # fmt: skip
        closed = share * size * steps / host_memory.bandwidth(board, kernel, size, steps)
        allowed = steps * request / host_memory.reads(board, 0.0).path
        allowed += (0.02 if share > 1 else 0.005) * device
        assert abs(closed - device) <= allowed, size


@pytest.mark.parametrize(
    "what", ["kernel.clock_MHz=100", "kernel.outstanding=1", "kernel.width_bytes=16"]
)
def test_a_kernels_own_limits_are_in_both(what: str) -> None:
    """Its port, and the bursts that it has outstanding, each as the narrowest place."""
    name, _, value = what.partition("=")
    usual, board = boards.load("generic-gen5x16"), boards.load("generic-gen5x16", {name: value})
    for kernel in ("read", "write"):
        closed = host_memory.bandwidth(board, kernel, 1 << 20)
        assert closed < 0.6 * host_memory.bandwidth(usual, kernel, 1 << 20)
        device = simulated_s(board, OPERATIONS[kernel], 1 << 20, "host_only", target="host",
                             implementation="model", iterations=1024)  # fmt: skip
        assert closed == pytest.approx((1 << 30) / device, rel=0.01), kernel


@pytest.mark.parametrize("board", [one for one in ALL if one.values[0].has("registers")])
def test_mmio(board: Board) -> None:
    """Loads to the femtosecond's rounding, streams of loads and stores within 0.5 %."""
    dependent = {"instruction": "mov", "fence": "none", "pipelined": "no"}
    load = simulated_s(board, "register_load", 8, "bar_uc", width=8, **dependent)
    assert mmio.load_s(board) == pytest.approx(load, rel=1e-6)
    lines = 1 << 20
    stores = simulated_s(board, "store", lines, "bar_wc", width=64, instruction="movntdq",
                         fence="none", pipelined="yes")  # fmt: skip
    if board.has("sram"):
        assert mmio.store_rate(board) == pytest.approx(lines / stores, rel=0.005)
        sram = simulated_s(board, "bar_memory_load", 8, "bar_uc", width=8, **dependent)
        assert mmio.load_s(board, sram=True) == pytest.approx(sram, rel=1e-6)
        for memory, most in (
            ("bar_uc", 8),
            ("bar_wc", 16),
        ):  # bytes of a load that is not streaming
            wide = simulated_s(board, "bar_memory_load", 4096, memory, width=64,
                               instruction="movdqa", fence="none", pipelined="yes")  # fmt: skip
            assert wide == pytest.approx(4096 / most * mmio.load_s(board, most, sram=True))
        streamed = simulated_s(board, "bar_memory_load", lines, "bar_wc", width=64,
                               instruction="movntdqa", fence="none", pipelined="yes")  # fmt: skip
        assert mmio.streaming_s(board, lines) == pytest.approx(streamed, rel=0.005)


@pytest.mark.parametrize("board", [one for one in ALL if one.values[0].has("serial")])
@pytest.mark.parametrize("in_turn", [True, False])
@pytest.mark.parametrize("cards", [1, 2, 8])
def test_beff(board: Board, cards: int, in_turn: bool) -> None:
    """Exactly: where links do not share a wire, nothing waits for anything but its message."""
    board = board.with_values({"serial.in_turn": in_turn})
    for size in serial.SIZES["published"]:
        step = simulated_s(board, "exchange", size, "device", ranks=cards, looplength=64)
        assert serial.exchange_s(board, size, cards, 64) == pytest.approx(step, rel=1e-6)


@pytest.mark.parametrize("board", [one for one in ALL if one.values[0].has("offload")])
@pytest.mark.parametrize("memory", ["aligned", "pageable"])
def test_allocation(board: Board, memory: str) -> None:
    """The two phases that are transfers as those are; the rest is software, and the same."""
    elements = 1 << 18
    options, placement = board.flat(), (memory, {"relative_offset": "0"})
    record = _core.measure_offload(BACKEND, "", options, 4 * elements, placement, 0)
    events = {phase.name: phase.simulated_fs * 1e-15 for phase in record.first}
    closed = offload.phases(board, elements, aligned=memory == "aligned")
    assert closed.keys() <= events.keys()
    for phase, seconds in closed.items():
        moves = phase in {"migrate_to_device", "read_back"}
        assert seconds == pytest.approx(events[phase], rel=0.05 if moves else 1e-6), phase
