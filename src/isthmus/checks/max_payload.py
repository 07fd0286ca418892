"""Check whether the largest payload of a packet (MPS) is as large as all ports support."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result, registers


def judge(facts: Facts) -> Result | None:
    """Bad if the MPS setting is below the largest payload that all ports up to the root support."""
    path = facts.function.path
    payloads = [port.payload for port in path if port.payload is not None]
    most = [port.most_payload for port in path if port.most_payload is not None]
    if facts.port.payload is None or not most:
        return facts.unread()
    used, can = min(payloads), min(most)
    if used >= can:
        return Result(state="good", found=f"{used} B, the most that the way allows")
    if len(path) == 1:
        return Result(state="unknown", found=f"{used} of {can} B; the other end is hidden")
    return Result(
        state="bad",
        found=f"{used} B; all ports on the way can {can} B",
        cause="the firmware's choice, or a card that was plugged in later",
        cure="kernel option pci=pcie_bus_perf, or Max Payload Size in the firmware",
        command=registers(facts.port, "MaxPayload"),
    )


CHECK = Check(
    "max_payload",
    "Are packets as large as every port on the way allows?",
    judge,
    place=4,
    fault="small packets",
    lowers_limit=True,
)
