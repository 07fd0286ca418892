"""Writes one line on a program's use of emulated cards: times, bytes and runs of kernels."""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.program import invocation
from isthmus.text import counted
from isthmus.units import format_seconds
from isthmus_emulation.computing import Computing, sentences
from isthmus_emulation.page import Slot

_FS = 1e-15
_UNITS = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def waited_s(slots: Sequence[Slot]) -> float:
    """Returns the simulated seconds that a program waited for cards and their drivers."""
    return _FS * sum(slot.simulated_fs + slot.driver_fs for slot in slots)


def line(
    slots: Sequence[Slot],
    boards: Sequence[str],
    wall_s: float,
    *,
    computing: Sequence[Computing] = (),
) -> str:
    """Returns a line with simulated time, drivers' costs, wall time, bytes and runs of kernels.

    The line says that this is no hardware, and names the source of each kernel's computing time.
    """
    name = ", ".join(boards)
    if not slots:
        return f"{name}: no card was opened; wall time {format_seconds(wall_s)}"
    simulated = _FS * sum(slot.simulated_fs for slot in slots)
    kernels = _FS * sum(slot.kernel_fs for slot in slots)
    driver = _FS * sum(slot.driver_fs for slot in slots)
    crossed = sum(slot.bytes_to_card + slot.bytes_from_card for slot in slots)
    by_kernels = sum(slot.kernel_bytes for slot in slots)
    transfers = sum(slot.transfers for slot in slots)
    registers = sum(slot.registers for slot in slots)
    runs = counted(sum(slot.kernels for slot in slots), "kernel run", "kernel runs")
    took = (
        f"{format_seconds(simulated)} waited for link, card and kernels + "
        f"{format_seconds(driver)} assumed for drivers, in {format_seconds(wall_s)} wall time"
    )
    said = (
        f"{name}: simulated, not hardware: {took}; "
        f"{counted(transfers, 'transfer', 'transfers')} of {bytes_text(crossed)}, "
        f"{runs} of {format_seconds(kernels)} over {bytes_text(by_kernels)}, "
        f"{counted(registers, 'register access', 'register accesses')}"
    )
    command = str(invocation("card", "kernel", "build"))
    return "; ".join([said, *sentences(computing, command)])


def bytes_text(number: int) -> str:
    """Returns a count of bytes in the largest unit that is not larger than the count."""
    for scale, unit in _UNITS:
        if number >= scale:
            return f"{number / scale:.3g} {unit}"
    return f"{number} B"
