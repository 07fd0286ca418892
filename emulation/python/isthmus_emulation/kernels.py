"""Describes the emulated card's built-in kernels and memories for an xclbin.

Names and order of arguments are those of AMD's public host-memory example, whose programs thus
find them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from isthmus.boards import Board
from isthmus.errors import UsageError
from isthmus_emulation import naming
from isthmus_emulation.xclbin import Argument, Bank, Design, Kernel
from isthmus_emulation.xclbin.design import EMPTY, HBM_BANKS, VADD, ModeName

HOST = "HOST[0]"
_HOST_BYTES = 16 << 30
_LARGEST_BANK = 16 << 30
_INPUT, _OUTPUT = Argument("input0", "void*"), Argument("output0", "void*")
_SWEEPS = (Argument("buf_size", "int64_t"), Argument("iter", "int64_t"))

KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {
        kernel.name: kernel
        for kernel in (
            EMPTY,
            Kernel("read_bandwidth", (_INPUT, *_SWEEPS)),
            Kernel("write_bandwidth", (_OUTPUT, *_SWEEPS)),
            Kernel("bandwidth", (_INPUT, _OUTPUT, *_SWEEPS)),
            VADD,
        )
    }
)


def banks(board: Board | None) -> tuple[Bank, ...]:
    """Returns the memories of the board's card; without a board two banks.

    Memories of a board with HBM are HBM[0] to HBM[31], then DDR[0] and so on.
    """
    if board is None or not board.has("memory"):
        return (Bank("bank0"), Bank("bank1"))
    size = min(board.whole("memory.bank_bytes"), _LARGEST_BANK)
    count = board.whole("memory.banks")
    if not board.value("memory.hbm"):
        return tuple(Bank(f"bank{n}", size=size) for n in range(count))
    hbm = min(count, HBM_BANKS)
    ddr = min(board.whole("memory.ddr_bank_bytes"), _LARGEST_BANK) or size
    return (
        *(Bank(f"HBM[{n}]", "hbm", size) for n in range(hbm)),
        *(Bank(f"DDR[{n}]", size=ddr) for n in range(count - hbm)),
    )


def design(
    names: Iterable[str],
    board: Board | None = None,
    mode: ModeName = "hw",
    device_name: str | None = None,
) -> Design:
    """Returns the xclbin's design with these kernels; raises UsageError for an unknown kernel.

    Each buffer may lie in the first bank or in host memory. For bandwidth kernels, XRT's
    ``group_id`` is host memory; OpenCL puts buffers without a memory into the bank. If the board's
    kernels cannot access host memory, all buffers lie in the bank. ``device_name``: platform that
    the file names.
    """
    reaches = board is None or not board.has("kernel") or board.value("kernel.reaches_host")
    chosen = []
    for name in names:
        if name not in KERNELS:
            raise UsageError(f"no kernel '{name}'; the emulated card has {', '.join(KERNELS)}")
        chosen.append(KERNELS[name])
    memories = banks(board)
    first = memories[0].name
    connect: dict[str, tuple[str, ...]] = {
        f"{kernel.name}_1.{argument.name}": (first, HOST) if reaches else (first,)
        for kernel in chosen
        for argument in kernel.arguments
        if argument in {_INPUT, _OUTPUT}
    }
    host = Bank(HOST, type="host", size=_HOST_BYTES)
    return Design(
        name="card",
        platform=naming.checked(device_name or naming.default(board).replace("-", "")),
        memories=(*memories, host),
        kernels=tuple(chosen),
        connect=connect,
        mode=mode,
    )


def default(board: Board, mode: ModeName) -> Design:
    """Returns the xclbin's design with all kernels of a card."""
    return design(KERNELS, board, mode)
