"""Check whether the hypervisor gave this machine's processors to other virtual machines (steal)."""

from __future__ import annotations

from isthmus.checks.base import NOT_RECORDED, Check, Facts, Result
from isthmus.thresholds import STEAL_SLOWS

_VMSTAT = "vmstat 1 5"
_NOW = f"{_VMSTAT}  # column st: now"
_SINCE_START = "head -1 /proc/stat  # 8th number: ticks of steal"


def judge(facts: Facts) -> Result | None:
    """A warning if other virtual machines took at least ``STEAL_SLOWS`` of a run's busy time.

    Without a run, a large share since the start of the system gives an unknown result, because the
    present share may differ. Busy time is the base, since nothing is taken from idle processors.
    """
    if not facts.virtual:
        return None
    share_during = during(facts)
    if share_during is not None:
        taken, of = share_during
        if taken < STEAL_SLOWS:
            return Result(state="good", found=f"{100 * taken:.1f} % of {of}")
        return Result(
            state="warning",
            found=f"others took {100 * taken:.0f} % of {of} during the run",
            cause="other virtual machines on the same processors",
            cure="measure when they rest, or on processors of your own",
            command=_NOW,
            changed=True,
        )
    share, of_time = facts.host.get("steal_share_of_busy"), "busy time"
    if share is None:  # run files of older versions have the share of all processor time instead
        share, of_time = facts.host.get("steal_share_since_boot"), "processor time"
    if share is None:
        return Result(state="unknown", found=NOT_RECORDED)
    command = "" if facts.recorded else _SINCE_START
    if share < STEAL_SLOWS:
        text = f"{100 * share:.1f} % of {of_time} since start"
        return Result(state="good", found=text, command=command)
    return Result(
        state="unknown",
        found=f"others took {100 * share:.0f} % of {of_time} since start, unknown now",
        cure=f"see what they take now: {_VMSTAT}",
        command=command,
    )


def during(facts: Facts) -> tuple[float, str] | None:
    """Share of time that other virtual machines took during a run; None if unknown.

    The second value names the time that the share is of: "busy time", or "processor time" for run
    files of older versions.
    """
    before, after = (facts.host.get(f"steal_{when}_s") for when in ("before", "after"))
    if not facts.measured_s or before is None or after is None:
        return None
    busy = [facts.host.get(f"busy_{when}_s") for when in ("before", "after")]
    if busy[0] is not None and busy[1] is not None:
        return (after - before) / max(busy[1] - busy[0], after - before, 1e-9), "busy time"
    processors = int(facts.host.get("logical_cpus", 1))
    return (after - before) / (facts.measured_s * processors), "processor time"


CHECK = Check(
    "steal",
    "Does the machine have its processors to itself?",
    judge,
    of="machine",
    place=22,
    fault="processors shared with other tenants",
)
