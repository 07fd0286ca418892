"""Published figures through the emulated card's event model, beside the closed forms.

What was published really runs on ``card:BOARD`` in this process, verified: kernels that sweep 1024
times over host memory, rings of cards that exchange messages, transfers to 2 GiB. Sweeps and large
transfers take a few seconds each, so that what was found for a board is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from isthmus import _core
from isthmus.backends import registry
from isthmus.boards import Board
from isthmus.boards.table import TABLE
from isthmus.errors import IsthmusError
from isthmus.models.host_memory import KERNELS
from isthmus.models.serial import LOOPLENGTH

OPERATIONS = dict(zip(KERNELS, ("read_bandwidth", "write_bandwidth", "bandwidth"), strict=True))


def host_memory(board: Board, kernel: str, size: int) -> float:
    """Bytes a second of a kernel's sweeps, launch included."""
    return _host_memory(_parameters(board), kernel, size)


def exchange(board: Board, devices: int, size: int) -> float:
    """Bytes a second that so many devices in a ring send, as in the published loop."""
    return _exchange(_parameters(board), devices, size)


def transfer(board: Board, direction: str, size: int) -> float:
    """Bytes a second of one transfer between host and card memory, software included."""
    return _transfer(_parameters(board), direction, size)


_Parameters = tuple[tuple[str, str], ...]


def _parameters(board: Board) -> _Parameters:
    """Where a fit tries fractions of a byte or a cycle, the card has whole ones."""
    fractions = {
        name: round(setting.value)
        for name, setting in board.settings.items()
        if TABLE[name].type is int and isinstance(setting.value, float)
    }
    return tuple(board.with_values(fractions).flat().items())


def _card(parameters: _Parameters) -> _core.Device:
    return _core.load_backend(str(registry()["card"].library)).open("", dict(parameters))


@lru_cache(maxsize=512)
def _host_memory(parameters: _Parameters, kernel: str, size: int) -> float:
    axes = {"target": "host", "implementation": "model"}
    return _bandwidth(_card(parameters), OPERATIONS[kernel], size, "host_only", axes)


@lru_cache(maxsize=512)
def _exchange(parameters: _Parameters, devices: int, size: int) -> float:
    axes = {"ranks": str(devices), "looplength": str(LOOPLENGTH)}
    return _bandwidth(_card(parameters), "exchange", size, "device", axes)


@lru_cache(maxsize=64)
def _transfer(parameters: _Parameters, direction: str, size: int) -> float:
    operation = {"h2d": "write", "d2h": "read"}[direction]
    return _bandwidth(_card(parameters), operation, size, "pinned", {})


def _bandwidth(
    device: _core.Device, operation: str, size: int, memory: str, axes: Mapping[str, str]
) -> float:
    block = _core.Series(device, operation, size, memory, dict(axes)).measure(0.0)
    if block.fault:
        raise IsthmusError(f"{operation} of {size} B on the emulated card: {block.fault}")
    (part,) = block.parts
    return float(part.moved_bytes / (part.simulated_fs[0] * 1e-15))
