"""Check whether a device's largest read request (MRRS) is large enough to fill its link."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result, registers

_SMALL = 128
"""Bytes of the smallest MRRS setting; after a reset a device has 512."""


def judge(facts: Facts) -> Result | None:
    """Bad at 128 B: all read requests in flight then ask for too few bytes to fill the link."""
    size = facts.port.read_request
    if size is None:
        return facts.unread()
    command = registers(facts.port, "MaxReadReq")
    if size > _SMALL:
        return Result(state="good", found=f"{size} B", command=command)
    return Result(
        state="bad",
        found=f"{size} B a read; 512 B after a reset",
        cause="the firmware's choice, or the kernel's for packets of 128 B (pcie_bus_perf)",
        cure="Max Read Request in the firmware, or in the driver's options",
        command=command,
    )


CHECK = Check(
    "max_read_request",
    "Does the device ask for enough data with each read?",
    judge,
    place=16,
    fault="small read requests",
)
