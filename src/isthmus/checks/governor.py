"""What sets the processor's clock."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result

_SHOW = "cat /sys/devices/system/cpu/*/cpufreq/*_governor"


def judge(facts: Facts) -> Result | None:
    """Bad where the clock is kept low; unknown where it follows the load."""
    chosen = set(facts.host.get("governors") or [facts.host.get("governor", "unknown")])
    chosen -= {"", "unknown"}
    if not chosen:
        return facts.unseen()
    names = ", ".join(sorted(chosen))
    if chosen == {"performance"} or facts.host.get("energy_preference") == "performance":
        return Result(state="good", found=names, command=_SHOW)
    cure = "sudo cpupower frequency-set -g performance"
    if "powersave" in chosen:
        return Result(
            state="bad",
            found=f"{names}: the clock stays low until a load has lasted",
            cause="the distribution's default",
            cure=cure,
            command=_SHOW,
        )
    return Result(
        state="unknown",
        found=f"{names}: the clock follows the load, small transfers may find it low",
        cure=cure,
        command=_SHOW,
    )


CHECK = Check(
    "governor",
    "Does the processor keep its clock high?",
    judge,
    of="machine",
    place=20,
    fault="a processor clocked low",
)
