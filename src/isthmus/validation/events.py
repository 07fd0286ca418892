"""Reproduces published figures by the emulated card's event model.

The emulated card of the source's run executes the published work in this process, with
verification: kernels that sweep 1024 times over host memory, rings of cards that exchange messages.
Results are cached by board, because computing them takes seconds.
"""

from __future__ import annotations

from functools import lru_cache

from isthmus import _core
from isthmus.backends import by_scheme
from isthmus.boards import Board
from isthmus.boards.table import TABLE
from isthmus.errors import IsthmusError, UsageError
from isthmus.models.offload import ELEMENTS
from isthmus.published.source import Row, Term
from isthmus.statistics import Interval, exact
from isthmus.studies import by_name
from isthmus.validation.combining import combined

_Parameters = tuple[tuple[str, str], ...]


def figure(row: Row, board: Board) -> float:
    """A row's figure on the emulated card, in the row's unit."""
    run = row.run
    if run is None:
        raise UsageError(f"{row.source}, {row.item}: no study runs it")
    parameters, offload = _parameters(board), by_name(run.study).offload
    library = str(by_scheme(run.device.partition(":")[0]).library)

    def point(term: Term) -> Interval:
        axes = {**run.axes, **term.where}
        memory = axes.pop("memory", run.memory)
        if offload:
            return exact(_phases(library, parameters, memory)[term.operation])
        sorted_axes = tuple(sorted(axes.items()))
        moved, seconds = _measured(
            library, parameters, term.operation, term.bytes or 1, memory, sorted_axes
        )
        return exact(moved / seconds if row.rate else seconds)

    return combined(row, point).value


def _parameters(board: Board) -> _Parameters:
    """A board's parameters for the card, rounded to the whole bytes and cycles that it needs."""
    fractions = {
        name: round(setting.value)
        for name, setting in board.settings.items()
        if TABLE[name].type is int and isinstance(setting.value, float)
    }
    return tuple(board.with_values(fractions).flat().items())


@lru_cache(maxsize=2)
def _card(library: str, parameters: _Parameters) -> _core.Device:
    return _core.load_backend(library).open("", dict(parameters))


@lru_cache(maxsize=1024)
def _measured(
    library: str,
    parameters: _Parameters,
    operation: str,
    size: int,
    memory: str,
    axes: tuple[tuple[str, str], ...],
) -> tuple[float, float]:
    """Runs one verified repetition of an operation; returns its bytes and its simulated seconds."""
    block = _core.Series(_card(library, parameters), operation, size, memory, dict(axes)).measure(
        0.0
    )
    if block.fault:
        raise IsthmusError(f"{operation} of {size} B on the emulated card: {block.fault}")
    (part,) = block.parts
    return float(part.moved_bytes), part.simulated_fs[0] * 1e-15


@lru_cache(maxsize=8)
def _phases(library: str, parameters: _Parameters, memory: str) -> dict[str, float]:
    """Runs one offload on the card; returns the simulated seconds of each phase."""
    placement = (memory, dict[str, str]())
    record = _core.measure_offload(
        _core.load_backend(library), "", dict(parameters), 4 * ELEMENTS, placement, 0
    )
    return {phase.name: phase.simulated_fs * 1e-15 for phase in record.first}
