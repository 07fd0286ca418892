"""What a model is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from isthmus.boards.board import Board

NO_BOARD = Board("none", "", "", MappingProxyType({}))
"""Of a formula of inputs alone."""


class Figure(NamedTuple):
    """One predicted figure, in SI units and bytes."""

    quantity: str
    value: float
    unit: str
    """``s``, ``B/s``, ``B``, or empty for a ratio or a count."""
    at: float | None = None
    """The size in bytes (or the count) that it holds for."""
    note: str = ""


@dataclass(frozen=True)
class Option:
    """One input of a model: a number that the user may give."""

    name: str
    unit: str
    meaning: str
    default: float | None = None
    """None: the board's parameter, or what the model says of itself."""
    parameter: str = ""
    """Parameter of the board that it replaces; empty: an input beside the board."""


@dataclass(frozen=True)
class Model:
    """A closed form: (board, inputs) -> figures. Pure."""

    name: str
    summary: str
    predict: Callable[[Board, Mapping[str, float]], list[Figure]]
    default_board: str = ""
    """Of a question that names none. Empty: the formula has nothing of a board in it, and the one
    that it gets is ``NO_BOARD``."""
    options: tuple[Option, ...] = ()
    closed_forms: Mapping[str, Callable[..., float]] = field(default_factory=dict)
    """What rows of published sources may name as their ``model``: of a board and the row's
    ``inputs``, in seconds and bytes a second. Sizes come as text from the sources' files."""

    def __post_init__(self) -> None:
        """Refuses an option that would replace nothing."""
        if not self.default_board and any(option.parameter for option in self.options):
            raise ValueError(f"{self.name}: options replace parameters of a board it does not take")
