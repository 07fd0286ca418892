"""Published figures through the emulated card's event model, beside the closed forms.

The kernels really run on ``card:BOARD`` in this process: 1024 sweeps over host memory, verified. A
few seconds for all 51 points, so that what was found for a board is kept.
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

OPERATIONS = dict(zip(KERNELS, ("read_bandwidth", "write_bandwidth", "bandwidth"), strict=True))
SIZES = tuple(4096 << i for i in range(17))


def host_memory(board: Board) -> Mapping[tuple[str, int], float]:
    """Bytes a second of each kernel and buffer size, launch included.

    Where a fit tries fractions of a byte or a cycle, the card has whole ones.
    """
    fractions = {
        name: round(setting.value)
        for name, setting in board.settings.items()
        if TABLE[name].type is int and isinstance(setting.value, float)
    }
    return _host_memory(tuple(board.with_values(fractions).flat().items()))


@lru_cache(maxsize=8)
def _host_memory(parameters: tuple[tuple[str, str], ...]) -> Mapping[tuple[str, int], float]:
    backend = _core.load_backend(str(registry()["card"].library))
    device = backend.open("", dict(parameters))
    return {
        (kernel, size): _bandwidth(device, operation, size)
        for kernel, operation in OPERATIONS.items()
        for size in SIZES
    }


def _bandwidth(device: _core.Device, operation: str, size: int) -> float:
    axes = {"target": "host", "implementation": "model"}
    block = _core.Series(device, operation, size, "host_only", axes).measure(0.0)
    if block.fault:
        raise IsthmusError(f"{operation} of {size} B on the emulated card: {block.fault}")
    (part,) = block.parts
    return float(part.moved_bytes / (part.simulated_fs[0] * 1e-15))
