"""Check whether a device may use 8-bit tags: 256 read requests in flight instead of 32."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result, registers


def judge(facts: Facts) -> Result | None:
    """Bad if the device supports 256 read requests in flight, but its setting allows only 32."""
    port = facts.port
    if port.extended_tags is None or port.can_extended_tags is None:
        return facts.unread()
    if port.extended_tags:
        return Result(state="good", found="on")
    if not port.can_extended_tags:
        return Result(state="good", found="the device does not support them")
    return Result(
        state="bad",
        found="off: 32 reads in flight, the device can have 256",
        cause="the firmware left them off, or the kernel for this root's errata",
        cure="enable extended tags in the firmware; update it",
        command=registers(port, "ExtTag"),
    )


CHECK = Check(
    "extended_tags",
    "May the device have as many reads in flight as it can?",
    judge,
    place=9,
    fault="extended tags off",
)
