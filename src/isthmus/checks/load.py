"""Check whether other programs load the processors."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result
from isthmus.thresholds import BUSY


def judge(facts: Facts) -> Result | None:
    """Unknown if other programs load at least half of the processors; else good.

    Never bad, because the programs may end before a run.
    """
    loads = facts.host.get("load_average")
    if not loads:
        return None
    processors = len(facts.host.get("usable_cpus") or ()) or int(facts.host.get("logical_cpus", 1))
    load = f"load {float(loads[0]):.1f} on {processors} processors"
    when = " before the run" if facts.recorded else ""
    command = "" if facts.recorded else "cat /proc/loadavg"
    if loads[0] < BUSY * processors:
        return Result(state="good", found=load + when, command=command)
    return Result(
        state="unknown",
        found=f"{load}{when}: other programs slow copies that the processor makes",
        cure="measure when they have ended; see them: top",
        command=command,
    )


CHECK = Check(
    "load", "Do other programs leave the processors alone?", judge, of="machine", place=24
)
