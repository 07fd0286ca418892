"""Check whether the machine is virtual, and which facts its hypervisor hides."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result


def judge(facts: Facts) -> Result | None:
    """Names the facts that a hypervisor hides; never bad, because a virtual machine is no fault."""
    if not facts.virtual:
        return Result(state="good", found="no")
    return Result(
        state="good",
        found="yes: ports above a device, IOMMU and clocks are the hypervisor's",
        command="grep -om1 hypervisor /proc/cpuinfo",
    )


CHECK = Check(
    "virtual_machine", "Does a hypervisor run this machine?", judge, of="machine", place=30
)
