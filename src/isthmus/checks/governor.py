"""Check whether the frequency governor keeps the processor's clock low."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result

_SHOW = "cat /sys/devices/system/cpu/*/cpufreq/*_governor"
_PREFERENCE = "cat /sys/devices/system/cpu/*/cpufreq/*_preference"
_DYNAMIC = {"intel_pstate", "amd-pstate-epp", "amd_pstate_epp"}
"""Frequency drivers whose governor ``powersave`` raises the clock under load."""


def judge(facts: Facts) -> Result | None:
    """Bad if the governor keeps the clock low; unknown if the clock follows the load."""
    chosen = set(facts.host.get("governors") or [facts.host.get("governor", "unknown")])
    chosen -= {"", "unknown"}
    if not chosen:
        return facts.unseen()
    names = ", ".join(sorted(chosen))
    if chosen == {"performance"}:
        return Result(state="good", found=names, command=_SHOW)
    if facts.host.get("energy_preference") == "performance":
        return Result(state="good", found=f"{names}, prefers performance", command=_PREFERENCE)
    cure = "sudo cpupower frequency-set -g performance"
    driver, preference = facts.host.get("frequency_driver"), facts.host.get("energy_preference")
    low = preference == "power" if preference or driver in _DYNAMIC else bool(driver)
    if "powersave" in chosen and low:
        return Result(
            state="bad",
            found=f"{names}: the clock is kept low",
            cause="a setting that saves energy",
            cure=cure,
            command=_PREFERENCE if preference else _SHOW,
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
