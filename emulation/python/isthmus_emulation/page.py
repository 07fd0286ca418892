"""Makes and reads the page on which a program's cards count their use (``card_page.hpp``)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "ISTHMUS_CARD_PAGE"
_MAGIC, _VERSION, _CARDS = 0x48545349, 2, 64
_HEADER = struct.Struct("<III")
CLOCKS = {"wall": 0, "virtual": 1, "card": 2}
_FIRST_SLOT, _SLOT_BYTES = 64, 192
_SLOT = struct.Struct("<IIII12Q")


@dataclass(frozen=True)
class Slot:
    """Use of one card by one process. Times are femtoseconds modulo 2^64, which is 5.1 hours."""

    card: int
    program: int
    busy: int
    """Number of kernel runs whose end the program has not seen."""
    elapsed_fs: int
    simulated_fs: int
    driver_fs: int
    kernel_fs: int
    done_fs: int
    bytes_to_card: int
    bytes_from_card: int
    kernel_bytes: int
    transfers: int
    kernels: int
    registers: int
    calls: int


def create(path: Path, *, clock: int) -> Path:
    """Makes an empty page, and returns it; ``clock``: number of the clock in ``CLOCKS``."""
    header = _HEADER.pack(_MAGIC, _VERSION, clock)
    path.write_bytes(header.ljust(_FIRST_SLOT + _CARDS * _SLOT_BYTES, b"\0"))
    return path


def read(path: Path) -> list[Slot]:
    """Returns the slots that were used."""
    data = path.read_bytes()
    magic, version, _ = _HEADER.unpack_from(data)
    if (magic, version) != (_MAGIC, _VERSION):
        raise ValueError(f"{path} is no page of a card, version {_VERSION}")
    slots = []
    for index in range(_CARDS):
        state, card, program, busy, *rest = _SLOT.unpack_from(
            data, _FIRST_SLOT + index * _SLOT_BYTES
        )
        if state:
            slots.append(Slot(card, program, busy, *rest))
    return slots
