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
    """The card's name where the user gives none: one that no hardware has."""
    return f"isthmus_{board.name if board else 'any'}_1"


def checked(name: str) -> str:
    """The name itself; raises UsageError for a name that XRT cannot have."""
    if len(name) > _MOST_BYTES or not _NAME.fullmatch(name):
        raise UsageError(
            f"device name '{name}': up to {_MOST_BYTES} letters, digits and _ . : - are possible"
        )
    return name


def of_cards(boards: Sequence[Board], given: Sequence[str]) -> list[str]:
    """The name of each card: those given, in the order of the boards, else the default ones.

    Raises UsageError where there are names, but not one for each card.
    """
    if not given:
        return [default(board) for board in boards]
    if len(given) != len(boards):
        raise UsageError(
            f"device names: {len(given)} for {len(boards)} cards; give one for each --board"
        )
    return [checked(name) for name in given]
