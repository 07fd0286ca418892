"""Processor time that a hypervisor gave to others."""

from __future__ import annotations

from isthmus.checks.base import NOT_RECORDED, Check, Facts, Result

_NOTICEABLE = 0.05
"""Share of the processor time; less widens intervals, but lowers no rate that a table shows."""


def judge(facts: Facts) -> Result | None:
    """Bad where others took 5 % of a run; a share since start tells nothing of now."""
    if not facts.virtual:
        return None
    command = "vmstat 1 5"
    before, after = (facts.host.get(f"steal_{when}_s") for when in ("before", "after"))
    processors = int(facts.host.get("logical_cpus", 1))
    if facts.measured_s and before is not None and after is not None:
        share = (after - before) / (facts.measured_s * processors)
        if share < _NOTICEABLE:
            return Result(state="good", found=f"{100 * share:.1f} % of the run")
        return Result(
            state="bad",
            found=f"others took {100 * share:.0f} % of processor time during the run",
            cause="other virtual machines on the same processors",
            cure="measure when they rest, or on processors of your own",
            command=command,
            changed=True,
        )
    share = facts.host.get("steal_share_since_boot")
    if share is None:
        return Result(state="unknown", found=NOT_RECORDED)
    if share < _NOTICEABLE:
        return Result(state="good", found=f"{100 * share:.1f} % since start", command=command)
    return Result(
        state="unknown",
        found=f"others took {100 * share:.0f} % of processor time since start; now is not known",
        command=command,
    )


CHECK = Check(
    "steal",
    "Has the machine its processors to itself?",
    judge,
    of="machine",
    place=22,
    fault="processors shared with other tenants",
)
