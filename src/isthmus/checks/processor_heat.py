"""Check whether heat lowered a processor's clock during a run."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result


def judge(facts: Facts) -> Result | None:
    """Bad if the kernel's throttling counters rose during a run.

    None without both readings: only Intel's processors have the counters.
    """
    before, after = (facts.host.get(f"throttled_{when}") for when in ("before", "after"))
    if before is None or after is None:
        return None
    command = "grep . /sys/devices/system/cpu/*/thermal*/*count"
    if after <= before:
        return Result(state="good", found="no processor was throttled", command=command)
    return Result(
        state="bad",
        found="heat lowered a processor's clock during the run",
        cause="a fan or heat sink, or more load than the cooling is made for",
        cure="cool it (sensors shows how hot it is); measure when the machine is at rest",
        command=command,
        changed=True,
    )


CHECK = Check(
    "processor_heat",
    "Does the processor stay cool enough for its clock?",
    judge,
    of="machine",
    place=23,
    fault="a processor throttled by heat",
)
