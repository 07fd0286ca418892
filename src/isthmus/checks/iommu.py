"""Check whether an IOMMU translates a device's addresses."""

from __future__ import annotations

from isthmus.checks.base import NOT_RECORDED, Check, Facts, Result


def judge(facts: Facts) -> Result | None:
    """Bad if an IOMMU translates each address that the device uses."""
    function = facts.function
    command = f"cat /sys/kernel/iommu_groups/{function.iommu_group}/type"
    if function.iommu_type == "identity":
        return Result(state="good", found="addresses pass unchanged (identity)", command=command)
    if function.iommu_type.startswith("DMA"):
        return Result(
            state="bad",
            found=f"each address is translated ({function.iommu_type})",
            cause="the kernel's default; costs where buffers exceed the IOMMU's cache of pages",
            cure="kernel option iommu=pt; huge pages help where that is not possible",
            command=command,
        )
    if function.iommu_type:
        return Result(
            state="unknown",
            found=f"a program sets the translation ({function.iommu_type})",
            command=command,
        )
    if "iommus" not in facts.host:
        return Result(state="unknown", found=NOT_RECORDED)
    if function.iommu_group or facts.host["iommus"] or facts.virtual:
        return facts.unseen()
    return Result(state="good", found="no IOMMU is on")


CHECK = Check(
    "iommu",
    "Does the device reach memory without translation?",
    judge,
    place=6,
    fault="addresses translated by the IOMMU",
)
