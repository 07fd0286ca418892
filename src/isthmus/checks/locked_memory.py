"""Check how much memory a program may lock (RLIMIT_MEMLOCK), as pinned buffers need it."""

from __future__ import annotations

from isthmus.checks.base import Check, Facts, Result
from isthmus.units import format_size

_LEAST = 1 << 20
_ENOUGH = 1 << 30


def judge(facts: Facts) -> Result | None:
    """Bad if the limit is below 1 MiB; unknown below 1 GiB: larger pinned buffers may fail."""
    limit = str(facts.host.get("locked_memory_limit", ""))
    command = "ulimit -l  # KiB"
    if facts.host.get("locks_without_limit"):
        text = "without limit (CAP_IPC_LOCK)"
        return Result(state="good", found=text, command="grep CapEff /proc/self/status  # bit 14")
    if limit == "unlimited":
        return Result(state="good", found=limit, command=command)
    if not limit.isdecimal():
        return facts.unseen()
    if int(limit) >= _ENOUGH:
        return Result(state="good", found=format_size(int(limit)), command=command)
    few = int(limit) < _LEAST
    return Result(
        state="bad" if few else "unknown",
        found=f"{format_size(int(limit))} may be locked: larger pinned buffers may be refused",
        cause="the limit of this login" if few else "",
        cure="for larger ones: memlock unlimited in /etc/security/limits.conf, and a new login",
        command=command,
    )


CHECK = Check("locked_memory", "May buffers be locked in memory?", judge, of="machine", place=31)
