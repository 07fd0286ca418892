"""Check whether a device's link uses all lanes that the card has."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result, sysfs


def judge(facts: Facts) -> Result | None:
    """Bad if the link uses fewer lanes than the card has, before or after the run.

    Unknown if a link with fewer lanes has a hidden slot, which may have no more lanes.
    """
    link = next(facts.function.links(), None)
    if link is None or link.lanes is None or link.most_lanes is None:
        return facts.unseen()
    command = sysfs(facts.port, "*_link_*")
    card = link.below.most_lanes or link.most_lanes
    least, other_reading = facts.least(lambda end: end.lanes)
    lanes = int(least or link.lanes)
    now = f"x{lanes}" + (f" (x{other_reading})" if other_reading else "")
    if lanes < card and link.above is None and not other_reading:
        return Result(
            state="unknown",
            found=f"{now}; the card has x{card}; its slot is hidden",
            lesser=f"x{lanes} of x{card}",
            command=command,
        )
    if lanes < link.most_lanes:
        both = "slot and card have" if link.above else "the card has"
        return Result(
            state="bad",
            found=f"{now}; {both} x{link.most_lanes}",
            lesser=f"x{lanes} of x{card}",
            cause="contacts of slot or riser, or lanes that the firmware gives to another slot",
            cure="reseat the card, try another slot or riser; see the firmware's bifurcation",
            command=command,
            changed=bool(other_reading),
        )
    if lanes < card:
        return Result(
            state="bad",
            found=f"x{lanes}, all that the slot has; the card has x{card}",
            lesser=f"x{lanes} of x{card}",
            cause="a narrow slot, or lanes that the firmware gives to another slot",
            cure=f"move the card to a slot with {card} lanes; see the firmware's bifurcation",
            command=command,
        )
    return Result(state="good", found=f"x{lanes}", command=command)


CHECK = Check(
    "link_width",
    "Does the link use every lane of the card?",
    judge,
    place=2,
    fault="fewer lanes than the card has",
    lowers_limit=True,
)
