"""Share of a stream that the host's last-level cache holds; the rest comes from memory.

    missing = 1 - min(1, kept / footprint)

A fixed part of the cache keeps a fixed part of the footprint, however often it is swept: writes of
devices update lines where they lie and take few ways for new ones (Intel's Data Direct I/O), so
that no sweep throws out all of the one before. A hypothesis: see ``docs/models.md``.
"""

from __future__ import annotations

from isthmus.boards.board import Board


def missing(board: Board, direction: str, footprint: float, *, shared: bool = False) -> float:
    """Share of the lines that are not in the cache; ``direction`` is ``read`` or ``write``.

    Where both directions go at once (``shared``), each keeps half.
    """
    kept = board.number(f"host.cache_{direction}_bytes") / (2 if shared else 1)
    return 1.0 - min(1.0, kept / footprint)


def miss_s(board: Board, missed: float) -> float:
    """Seconds that cache misses add to a round trip, or to the return of credits."""
    return missed * board.seconds("host.memory_miss_ns")
