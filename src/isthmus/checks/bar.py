"""Check whether the windows (BARs) onto a device's memory cover that memory."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result, registers
from isthmus.units import format_size

_NO_LIMIT = 1 << 50
"""Placeholder that ``pci:`` devices report as bytes of memory, because only windows are known. The
check ignores it. See ``no_limit`` in ``cpp/backends/mmio/mmio.cpp``."""


def judge(facts: Facts) -> Result | None:
    """Bad if a window is smaller than the device's memory, and the device offers a larger one."""
    function = facts.function
    memory = facts.device.memory_bytes if facts.device else 0
    if memory >= _NO_LIMIT:
        memory = 0
    if facts.device and facts.device.pci is None:
        return facts.unseen()
    if not function.bars:
        return None
    window = max(function.bars, key=lambda bar: bar.bytes)
    command = registers(function.device, "size", root=bool(window.most_bytes))
    size = format_size(window.bytes)
    if memory and window.bytes >= memory:
        return Result(state="good", found=f"{size} address all of its memory", command=command)
    if window.most_bytes and window.most_bytes > window.bytes:
        return Result(
            state="bad",
            found=f"{size}; the device offers {format_size(window.most_bytes)}",
            cause="Above 4G Decoding or Resizable BAR is off in the firmware",
            cure="turn both on in the firmware, and CSM off",
            command=command,
        )
    if memory:
        gib = f"{memory / 2**30:.0f}Gi"
        return Result(
            state="unknown", found=f"{size} of {gib}; only DMA reaches the rest", command=command
        )
    return Result(state="good", found=f"{size}, as large as the device offers", command=command)


CHECK = Check("bar_size", "Can all of the device's memory be addressed?", judge, place=12)
