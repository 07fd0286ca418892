"""Posted writes to host memory: how much may be on its way, and when credits come back.

    window = min(data credits x 16 B, header credits x MPS)             bytes
    return = write on the wire + 2 link latencies + retirement + credit return    seconds

Source: PCI Express Base Specification, section 2.6 (flow control).
"""

from __future__ import annotations

from isthmus.boards.board import Board
from isthmus.models.pcie import path_of


def window_bytes(board: Board) -> float:
    """Bytes of full packets that the host's credits allow in flight."""
    data = 16 * board.number("link.posted_data_credits")
    return min(data, path_of(board).max_payload * board.number("link.posted_header_credits"))


def return_s(board: Board) -> float:
    """A write of MPS until its credits can be used again, the line in the cache; seconds."""
    path = path_of(board)
    return (
        path.write_s(path.max_payload)
        + 2 * board.seconds("link.latency_ns")
        + board.seconds("host.write_retire_ns")
        + board.seconds("link.credit_return_ns")
    )
