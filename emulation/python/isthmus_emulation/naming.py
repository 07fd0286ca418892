"""Names of emulated cards: a program sees them as device names, an xclbin as its platform."""

from __future__ import annotations

import re
from collections.abc import Sequence

from isthmus.boards import Board
from isthmus.errors import UsageError

_MOST_BYTES = 63
"""Longest name: an xclbin has 64 bytes (``m_platformVBNV`` of ``xclbin.h``), the last one is 0."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")


def default(board: Board | None) -> str:
    """Returns the card's name if the user gives none; no hardware has such a name."""
    return f"isthmus_{board.name if board else 'any'}_1"


def checked(name: str) -> str:
    """Returns the name; raises UsageError for a name that XRT cannot have."""
    if len(name) > _MOST_BYTES or not _NAME.fullmatch(name):
        raise UsageError(
            f"device name '{name}': up to {_MOST_BYTES} letters, digits and _ . : - are possible"
        )
    return name


def of_cards(boards: Sequence[Board], names: Sequence[str]) -> list[str]:
    """Returns the cards' names in the order of the boards: the user's, else default names.

    Raises UsageError unless there is a name for each card, or none.
    """
    if not names:
        return [default(board) for board in boards]
    if len(names) != len(boards):
        raise UsageError(
            f"device names: {len(names)} for {len(boards)} cards; give one for each --board"
        )
    return [checked(name) for name in names]
