"""Types of which models consist: options, figures and the model itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from isthmus.boards.board import Board

NO_BOARD = Board("none", "", "", MappingProxyType({}))
"""The board of a formula that has inputs only."""


class Figure(NamedTuple):
    """One predicted figure, in SI units and bytes."""

    quantity: str
    value: float
    unit: str
    """``s``, ``B/s``, ``B``, or empty for a ratio or a count."""
    at: float | None = None
    """Size in bytes, or count, for which the figure holds."""
    note: str = ""


@dataclass(frozen=True)
class Option:
    """One input of a model: a number that the user may give."""

    name: str
    unit: str
    meaning: str
    default: float | None = None
    """None: the board's parameter, or a default in the model."""
    parameter: str = ""
    """Parameter of the board that the option replaces; empty: a further input."""


@dataclass(frozen=True)
class Model:
    """A closed form: (board, inputs) -> figures. Pure."""

    name: str
    summary: str
    predict: Callable[[Board, Mapping[str, float]], list[Figure]]
    default_board: str = ""
    """Board if none is given. Empty: the formula uses no board, and gets ``NO_BOARD``."""
    options: tuple[Option, ...] = ()
    closed_forms: Mapping[str, Callable[..., float]] = field(default_factory=dict)
    """What rows of published sources may name as their ``model``: of a board and the row's
    ``inputs``, in seconds and bytes a second. Sizes come as text from the sources' files."""

    def __post_init__(self) -> None:
        """Raises ValueError for options that replace parameters if the model uses no board."""
        if not self.default_board and any(option.parameter for option in self.options):
            raise ValueError(f"{self.name}: options replace parameters of a board it does not take")
