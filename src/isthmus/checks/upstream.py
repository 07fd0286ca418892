"""Check whether each PCIe link between a device's slot and the root is as fast as the device's."""

from __future__ import annotations

from msgspec.structs import replace

from isthmus.checks.base import Check, Facts, Result, sysfs
from isthmus.models.pcie import Link
from isthmus.system.pci import Function


def judge(facts: Facts) -> Result | None:
    """Bad if a link between slot and root carries less than the device's own link.

    Judges the links before and after the run by their current speed and lanes. If an idle GPU has
    slowed links, judges them by the speed that they support.
    """
    before = _judged(facts, facts.function)
    if facts.after is None or before.state == "bad":
        return before
    after = _judged(facts, facts.after)
    if after.state != "bad":
        return before
    return replace(after, found=f"after the run {after.found}", changed=True)


def _judged(facts: Facts, function: Function) -> Result:
    if len(function.path) == 1:
        return facts.unseen()
    links = list(function.links())
    if not links:
        return facts.unseen()
    own, *further = links
    if not further:
        return Result(state="good", found="the slot is at the root")
    idle = facts.is_gpu and any((link.speed or 0) < (link.most_speed or 0) for link in links)
    speed, lanes = own.most_speed if idle else own.speed, own.lanes
    rated = [
        (Link(gigatransfers, up.lanes), up)
        for up in further
        if (gigatransfers := up.most_speed if idle else up.speed) and up.lanes
    ]
    if not rated or not speed or not lanes:
        return facts.unseen()
    has = "can" if idle else "has"
    narrowest, up = min(rated, key=lambda pair: pair[0].raw)
    link = f"{up.below.address} {has} {narrowest.gigatransfers:g} GT/s x{narrowest.lanes}"
    if narrowest.raw < Link(speed, lanes).raw:
        return Result(
            state="bad",
            found=f"{link}; the device's own link {has} {speed:g} GT/s x{lanes}",
            cause="a switch whose way to the root is narrower than its slots",
            cure="move the card to a slot at the root, or retrain that link",
            command=sysfs(up.below, "*_link_*"),
        )
    return Result(state="good", found=link)


CHECK = Check(
    "upstream",
    "Does every link up to the root carry what the device's own does?",
    judge,
    place=3,
    fault="a narrow link above the slot",
    lowers_limit=True,
)
