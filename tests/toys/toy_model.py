"""Bytes that a copy over several buffers moves.

    moved = hops x size

Bytes. Source: none, a test.
"""

from __future__ import annotations

from collections.abc import Mapping

from isthmus.boards.board import Board
from isthmus.models.base import Figure, Model, Option


def moved(size: float, hops: float) -> float:
    """Bytes moved on all hops."""
    return size * hops


def predict(_: Board, inputs: Mapping[str, float]) -> list[Figure]:
    """The bytes of one copy."""
    return [Figure("moved", moved(inputs["bytes"], inputs["hops"]), "B", inputs["bytes"])]


MODEL = Model(
    "hops",
    "bytes of a copy over several buffers",
    predict,
    options=(
        Option("bytes", "B", "size of the copy", 4096),
        Option("hops", "", "copies one after the other", 1),
    ),
    closed_forms={"bytes moved": lambda _, size, hops: moved(int(size), int(hops))},
)
