"""Check whether switches redirect transfers between devices (PCIe Access Control Services)."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result, registers

_REDIRECTS = {"request redirect", "completion redirect"}


def judge(facts: Facts) -> Result | None:
    """Bad if a switch sends transfers between devices below it through the root complex.

    The check ignores root ports, because transfers between root ports always pass the root complex.
    """
    ports = facts.function.path[1:]
    if not ports:
        return facts.unseen()
    if len(ports) == 1:
        return Result(state="good", found="no switch on the way")
    hidden = next((port for port in ports if not port.readable), None)
    if hidden is not None:
        return facts.unread(hidden)
    for port in ports:
        if port.kind != "switch downstream":
            continue
        if port.acs is None:
            return facts.unread(port)
        if _REDIRECTS & set(port.acs):
            return Result(
                state="bad",
                found=f"switch port {port.address} sends transfers between devices to the root",
                cause="the kernel isolates devices from one another where an IOMMU is on",
                cure=f"kernel option pci=disable_acs_redir={port.address}; not beside guests",
                command=registers(port, "ACSCtl"),
            )
    return Result(state="good", found="no switch redirects")


CHECK = Check(
    "acs", "Do transfers between devices take the short way through a switch?", judge, place=11
)
