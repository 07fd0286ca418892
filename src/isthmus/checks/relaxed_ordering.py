"""Check whether a device may use relaxed ordering of its PCIe requests."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result, registers


def judge(facts: Facts) -> Result | None:
    """Bad if the setting forces a GPU's requests to keep their order.

    Unknown for other devices with this setting: they may not support relaxed ordering.
    """
    if facts.port.relaxed_ordering is None:
        return facts.unread()
    if facts.port.relaxed_ordering:
        return Result(state="good", found="on")
    if not facts.is_gpu:
        return Result(
            state="unknown",
            found="off, and not every device can use it",
            command=registers(facts.port, "RlxdOrd"),
        )
    return Result(
        state="bad",
        found="off: each write waits for those before it",
        cause="firmware or driver turned it off, or the kernel for this processor's errata",
        cure="enable relaxed ordering in the firmware, or in the driver's options",
        command=registers(facts.port, "RlxdOrd"),
    )


CHECK = Check(
    "relaxed_ordering",
    "May requests of the device pass one another?",
    judge,
    place=10,
    fault="relaxed ordering off",
)
