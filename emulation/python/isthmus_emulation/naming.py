"""Names emulated cards: programs see the names of devices, an xclbin names a platform."""

from __future__ import annotations

import re
from collections.abc import Sequence

from isthmus.boards import Board
from isthmus.errors import UsageError

_MOST_BYTES = 63
"""Most bytes of a name: an xclbin has 64 (``m_platformVBNV`` of ``xclbin.h``) with the final 0."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")


def default(board: Board | None) -> str:
    """Returns the card's name if the user gives no name; no hardware has such a name."""
    return f"isthmus_{board.name if board else 'any'}_1"


def checked(name: str) -> str:
    """Returns the name unchanged; raises UsageError for a name that XRT cannot have."""
    if len(name) > _MOST_BYTES or not _NAME.fullmatch(name):
        raise UsageError(
            f"device name '{name}': up to {_MOST_BYTES} letters, digits and _ . : - are possible"
        )
    return name


def of_cards(boards: Sequence[Board], names: Sequence[str]) -> list[str]:
    """Returns a name for each board's card: the user's names, or else default names.

    Raises UsageError unless the user gives no name, or one for each card.
    """
    if not names:
        return [default(board) for board in boards]
    if len(names) != len(boards):
        raise UsageError(
            f"device names: {len(names)} for {len(boards)} cards; give one for each --board"
        )
    return [checked(name) for name in names]
