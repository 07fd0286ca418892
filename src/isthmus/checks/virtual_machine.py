"""Whether a hypervisor is between, and what it hides."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result


def judge(facts: Facts) -> Result | None:
    """Never bad: says what cannot be seen."""
    if not facts.virtual:
        return Result(state="good", found="no")
    return Result(
        state="good",
        found="yes: ports above a device, IOMMU and clocks are the hypervisor's",
        command="grep -om1 hypervisor /proc/cpuinfo",
    )


CHECK = Check("virtual_machine", "Is a hypervisor between?", judge, of="machine", place=30)
