"""Types of models: ``Option`` (an input), ``Figure`` (a prediction) and ``Model``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from isthmus.boards.board import Board

NO_BOARD = Board("none", "", "", MappingProxyType({}))
"""Board that a model gets if its formula uses only inputs."""


class Figure(NamedTuple):
    """A predicted figure, in SI units and bytes."""

    quantity: str
    value: float
    unit: str
    """Unit: ``s``, ``B/s``, ``B``, or empty for a ratio or a count."""
    at: float | None = None
    """Size in bytes, or count, to which the figure applies."""
    note: str = ""


@dataclass(frozen=True)
class Option:
    """An input of a model: a number that the user may set."""

    name: str
    unit: str
    meaning: str
    default: float | None = None
    """Value if the user sets none; None: the board's parameter, or a default that ``predict`` has.
    """
    parameter: str = ""
    """Flat name of the board's parameter that the option replaces; empty: it replaces none."""


@dataclass(frozen=True)
class Model:
    """A model: a pure function that predicts figures from a board and inputs."""

    name: str
    summary: str
    predict: Callable[[Board, Mapping[str, float]], list[Figure]]
    default_board: str = ""
    """Name of the board that the model uses by default; empty: it uses none, gets ``NO_BOARD``."""
    options: tuple[Option, ...] = ()
    closed_forms: Mapping[str, Callable[..., float]] = field(default_factory=dict)
    """Functions that rows of published sources may name as their ``model``. Arguments: a board and
    the row's ``inputs``, with sizes as text; results are seconds or bytes per second."""

    def __post_init__(self) -> None:
        """Raises ValueError if the model uses no board, but an option replaces a parameter."""
        if not self.default_board and any(option.parameter for option in self.options):
            raise ValueError(f"{self.name}: options replace parameters of a board it does not take")
