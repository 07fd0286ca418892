"""Relaxed ordering of a device's requests."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result, registers


def judge(facts: Facts) -> Result | None:
    """Bad if a GPU's requests must keep their order; other devices may not support the change."""
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
