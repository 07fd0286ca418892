"""Check whether the kernel copies data to a bounce buffer because a device cannot reach it."""

from __future__ import annotations

import re

from isthmus.checks.base import Check, Facts, Result, sysfs

_SETS_NO_MASK = {"", "vfio-pci", "pci-stub", "uio_pci_generic"}
"""Drivers that never set the width of a device's addresses: the check ignores the default width."""


def judge(facts: Facts) -> Result | None:
    """Bad if the kernel copies data of DMA to a bounce buffer.

    It copies all data with ``swiotlb=force``. Without an IOMMU that translates, it copies data in
    memory beyond the device's addresses.
    """
    function = facts.function
    if re.search(r"\bswiotlb=(\d+,)*force\b", str(facts.host.get("kernel_command_line", ""))):
        return Result(
            state="bad",
            found="swiotlb=force: the kernel copies all DMA through a buffer of its own",
            cause="an option of the kernel, usual where memory is encrypted",
            cure="start without swiotlb=force",
            command="cat /proc/cmdline",
        )
    if facts.device and facts.device.pci is None:
        return facts.unseen()
    memory, bits = int(facts.host.get("memory_bytes", 0)), function.dma_bits
    if bits is None or not memory or function.driver in _SETS_NO_MASK:
        return None
    if memory > 1 << bits and not function.iommu_type.startswith("DMA"):
        return Result(
            state="bad",
            found=f"{bits}-bit addresses; {memory / 2**30:.0f} GiB of memory lie partly beyond",
            cause="the device or its driver reaches no further: the kernel copies the rest",
            cure="a newer driver; or an IOMMU that translates",
            command=sysfs(function.device, "dma_mask_bits"),
        )
    return Result(state="good", found=f"{bits}-bit addresses reach all memory")


CHECK = Check(
    "bounce_buffer",
    "Does the device reach every buffer without a copy?",
    judge,
    place=7,
    fault="copies through a bounce buffer",
)
