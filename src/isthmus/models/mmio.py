"""Predicts programmed IO: times of loads and stores to a card, and the size where DMA is faster.

    load(n)   = CPU and root complex + request on the wire + 2 link latencies
                + cycles / clock of the register block (+ SRAM)
                + completion of n bytes on the wire or through the card's interface
                + (n / width - 1) cycles if n is wider than a register
    stores    : 64 B write-combined posted writes fill the link: 64 / ((64 + 24) byte time)
    uncached  : loads of at most 8 B, one at a time; a wider instruction takes several
    streaming : MOVNTDQA loads of 64 B, k in flight: k 64 / load(64), at most the wire
    sync      : round trips x load(8): half to push, 1.5 to poll, one to fetch the answer
    crossover : the size at which DMA (``isthmus.models.dma``, card to host) takes as long as
                streaming loads
    caching   : ratio of uncached to cached loads: 64 B / 8 B, lines in flight, prefetching, and
                the longer way to the device's memory

Seconds, bytes, bytes a second. Source: McCalpin, TACC TR-14-10, for the decomposition and the
measurements; PCI Express Base Specification, section 2.2, for packets.
"""

from __future__ import annotations

from collections.abc import Mapping

from isthmus.boards.board import Board
from isthmus.models import dma
from isthmus.models.base import Figure, Model, Option
from isthmus.models.pcie import path_of

LINE = 64
PLAIN = 16
"""Bytes of a load by SSE (MOVDQA)."""
PUSH, POLL, FETCH = 0.5, 1.5, 1.0
"""Steps of one synchronisation, each in latencies of an 8 B load (McCalpin, TACC TR-14-10, section
5.2)."""
LOCAL_MEMORY_S, OTHER_CACHE_S = 67e-9, 71e-9
"""Seconds of a load from memory, and from another processor's cache, on a host with two Xeon
E5-2680 (McCalpin, TACC TR-14-10, section 5.2)."""
_WIDTHS = (1, 2, 4, 8, 16, 32, 64)


def load_s(board: Board, width: int = 8, *, sram: bool = False) -> float:
    """Seconds of one uncached load of a register, or of the SRAM behind its controller."""
    path = path_of(board)
    cycles = board.number("registers.cycles")
    cycles += board.number("sram.extra_cycles") if sram else 0
    cycles += -(-width // board.whole("registers.width_bytes")) - 1
    return (
        board.seconds("host.load_ns")
        + path.request_s()
        + 2 * board.seconds("link.latency_ns")
        + cycles / board.hertz("registers.clock_MHz")
        + path.answer_s(width)
    )


def store_rate(board: Board) -> float:
    """Bytes per second of write-combined stores, which fill the link with 64 B writes."""
    size = board.number("host.write_combining_bytes")
    return size / path_of(board).write_s(size)


def store_s(board: Board, size: float) -> float:
    """Seconds to store ``size`` bytes, until the card can use the last byte."""
    path = path_of(board)
    pieces = max(1.0, size / board.number("host.write_combining_bytes"))
    wire = (size + pieces * path.request) * path.byte_s
    return board.seconds("host.store_ns") + wire + board.seconds("link.latency_ns")


def streaming_rate(board: Board, *, in_flight: int | None = None) -> float:
    """Bytes per second of streaming loads by Little's law, at most what the wire carries.

    ``in_flight``: number of loads in flight; None: the board's.
    """
    sram = board.has("sram")
    count = in_flight or board.whole("host.streaming_loads_in_flight")
    wire = LINE / path_of(board).answer_s(LINE)
    return min(wire, count * LINE / load_s(board, LINE, sram=sram))


def streaming_speedup(board: Board) -> float:
    """Rate of streaming loads over the rate of 16 B loads (MOVDQA) of the same memory."""
    return streaming_rate(board) * load_s(board, PLAIN, sram=board.has("sram")) / PLAIN


def streaming_s(board: Board, size: float, *, in_flight: int | None = None) -> float:
    """Seconds to read ``size`` bytes by streaming loads: those in flight first, then the rest."""
    window = LINE * (in_flight or board.whole("host.streaming_loads_in_flight"))
    overlapped = (min(max(size, LINE), window) - LINE) / LINE * path_of(board).answer_s(LINE)
    rest = max(0.0, size - window) / streaming_rate(board, in_flight=in_flight)
    return load_s(board, LINE, sram=board.has("sram")) + overlapped + rest


def caching_factor(board: Board) -> float:
    """Rate of cached loads of host memory over uncached 8 B loads of device memory.

    Factors by McCalpin, TACC TR-14-10, section 3.2: 64 B instead of 8 B, at least eight loads in
    flight instead of one, twice by prefetching, and the device's latency over the host's.
    """
    farther = load_s(board, sram=board.has("sram")) / LOCAL_MEMORY_S
    return LINE / 8 * 8 * 2 * farther


def share_of_dma(board: Board, size: float) -> float:
    """Ratio of times to get a result of ``size`` bytes: by streaming loads over by DMA.

    Both include the synchronisation: the host pushes the work (half a load's latency) and polls a
    flag (1.5 latencies on average).
    """
    before = (PUSH + POLL) * load_s(board)
    return (before + streaming_s(board, size)) / (before + dma.transfer_s(board, "d2h", size))


def block_speedup(board: Board) -> float:
    """Ratio of times to read eight registers: by 8 B loads over by one 64 B load.

    Eight requests become one: 8 load(8) / load(64). Device and driver must allow that one load
    reads all eight registers, with the side effects of each.
    """
    return LINE / 8 * load_s(board) / load_s(board, LINE)


def crossover_bytes(board: Board) -> float:
    """Size above which DMA to the host beats streaming loads; infinite if it never does."""
    window = LINE * board.whole("host.streaming_loads_in_flight")
    slope = 1 / streaming_rate(board) - 1 / dma.rate(board, "d2h")
    ahead = dma.transfer_s(board, "d2h", window) - streaming_s(board, window)
    return max(0.0, window + ahead / slope) if slope > 0 else float("inf")


def predict(board: Board, inputs: Mapping[str, float]) -> list[Figure]:
    """Predicts loads by width, stores, streaming loads, a synchronisation, and DMA's crossover."""
    figures = [Figure("register load", load_s(board, width), "s", width) for width in _WIDTHS]
    if board.has("sram"):
        figures += [
            Figure("SRAM load", load_s(board, width, sram=True), "s", width) for width in _WIDTHS
        ]
    load = load_s(board)
    trips = inputs["round-trips"]
    cycles = trips * load * inputs["cpu-ghz"] * 1e9
    farthest = load_s(board, sram=board.has("sram"))
    figures += [
        Figure("uncached load bandwidth", 8 / load, "B/s", 8, "one load in flight"),
        Figure("write-combined stores", store_rate(board), "B/s", LINE),
        Figure("one store", store_s(board, 8), "s", 8, "until the card can use it"),
        Figure("streaming loads", streaming_rate(board), "B/s", LINE),
        Figure("streaming over plain", streaming_speedup(board), "", note="16 B loads (MOVDQA)"),
        Figure("block reads over uncached", block_speedup(board), "", note="what if: 64 B"),
        Figure("one synchronisation", trips * load, "s", note=f"{trips:g} loads"),
        Figure("its cycles", cycles, "", note="of the CPU"),
        Figure("its instructions", cycles * inputs["instructions"], "", note="of the CPU"),
        Figure("its CPU operations", cycles * inputs["cpu-flops"], "", note="floating point"),
        Figure(
            "its operations", trips * load * inputs["accelerator-gflops"] * 1e9, "",
            note="lost while the accelerator waits",
        ),
        Figure("cached over uncached", caching_factor(board), "", 8, "the host's memory"),
        Figure("load over another cache's", farthest / OTHER_CACHE_S, "", 8, "71 ns elsewhere"),
    ]  # fmt: skip
    if board.has("dma"):
        figures += [
            Figure("loads' share of DMA's time", share_of_dma(board, size), "", size, "in all")
            for size in (64, 128, 256, 512, 1024)
        ]
        figures.append(Figure("crossover with DMA", crossover_bytes(board), "B", note="d2h"))
    return figures


MODEL = Model(
    "mmio",
    "loads and stores to a card, and when DMA is better",
    predict,
    default_board="stratix4-gen2x8",
    options=(
        Option("round-trips", "", "loads that one synchronisation takes", PUSH + POLL + FETCH),
        Option("cpu-ghz", "GHz", "clock of the CPU", 3.4),
        Option("instructions", "", "of the CPU in a cycle", 4),
        Option("cpu-flops", "", "floating point operations of the CPU in a cycle", 8),
        Option("accelerator-gflops", "Gflop/s", "what the accelerator does meanwhile", 1000),
    ),
    closed_forms={
        "load": load_s,
        "stores": store_rate,
        "streaming speedup": streaming_speedup,
        "crossover": crossover_bytes,
        "share of DMA": lambda b: share_of_dma(b, LINE),
    },
)
