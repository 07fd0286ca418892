"""Check for idle states (C-states) of the processor that delay the end of a wait."""

from __future__ import annotations

from isthmus.checks.base import NOT_RECORDED, Check, Facts, Result

LONG_US = 100
"""Exit latency in microseconds above which a state is long: most transfers up to 1 MiB are
shorter."""


def judge(facts: Facts) -> Result | None:
    """Unknown if a wait may put the processor into a state with a long exit latency.

    Never bad: Linux allows these states by default, and a wait that polls does not enter them.
    """
    states = facts.host.get("idle_exit_us")
    if states is None:
        return Result(state="unknown", found=NOT_RECORDED)
    if not states:
        return facts.unseen()
    deepest = max(states, key=lambda name: states[name])
    command = "grep -r . /sys/devices/system/cpu/cpu0/cpuidle"
    if states[deepest] < LONG_US:
        return Result(
            state="good", found=f"{deepest} takes {states[deepest]} us to leave", command=command
        )
    return Result(
        state="unknown",
        found=f"{deepest} takes {states[deepest]} us to leave: waits that sleep end late",
        cure=f"sudo cpupower idle-set -D {LONG_US - 1}",
        command=command,
    )


CHECK = Check("idle_states", "Does the processor wake fast?", judge, of="machine", place=21)
