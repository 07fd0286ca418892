"""Check whether a device's link has the highest speed that slot and card support."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result, sysfs

_FIRST = 2.5
"""GT/s of PCIe's first generation. A link at this speed is slow even if its slot is hidden: no
modern slot is limited to it."""


def judge(facts: Facts) -> Result | None:
    """Bad if the link is slower than both ends support, before or after the run.

    For a GPU, which slows its link when idle, the faster of both readings counts, and a slow link
    is unknown. Unknown also if the device sleeps, or if its slot is hidden.
    """
    link = next(facts.function.links(), None)
    if link is None or link.speed is None or link.most_speed is None:
        return facts.unseen()
    later = next(facts.after.links(), None) if facts.after else None
    trained, other_reading = max(link.speed, (later and later.speed) or 0.0), ""
    if not facts.is_gpu:
        least, other_reading = facts.least(lambda end: end.speed)
        trained = least or trained
    command = sysfs(facts.port, "*_link_*")
    if trained >= link.most_speed:
        return Result(state="good", found=f"{trained:g} GT/s", command=command)
    both = "slot and card" if link.above else "the card"
    now = f"{trained:g} GT/s" + (f" ({other_reading})" if other_reading else "")
    slow = f"{now}; {both} can {link.most_speed:g}"
    lesser = f"{trained:g} of {link.most_speed:g} GT/s"
    if facts.function.asleep or facts.is_gpu:
        return Result(
            state="unknown",
            found=f"{slow}; a GPU slows its link when idle",
            cure="look again while it copies",
            command=command,
        )
    if link.above is None and trained > _FIRST:
        return Result(
            state="unknown", found=f"{slow}; its slot is hidden", lesser=lesser, command=command
        )
    return Result(
        state="bad",
        found=slow,
        lesser=lesser,
        cause="errors at the higher speed (contacts, riser), or a limit set in the firmware",
        cure="reseat the card; set the slot's speed to automatic in the firmware",
        command=command,
        changed=bool(other_reading),
    )


CHECK = Check(
    "link_speed",
    "Does the link run at the speed that slot and card can?",
    judge,
    place=1,
    fault="a link slower than slot and card can",
    lowers_limit=True,
)
