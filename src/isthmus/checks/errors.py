"""Errors on the link, corrected by sending again."""

from __future__ import annotations

from collections.abc import Iterator

from isthmus.checks.base import Check, Facts, Result, sysfs
from isthmus.system.pci import Function, Port


def judge(facts: Facts) -> Result | None:
    """Bad where errors were counted during a run; unknown where only a sum is known."""
    before, after = facts.function, facts.after
    if after is not None:
        grown = dict(_grown(before, after))
        if grown:
            errors = ", ".join(
                f"{name} +{count}" if count else name for name, count in grown.items()
            )
            return Result(
                state="bad",
                found=f"during the run: {errors}",
                cause="contacts, riser or cable: what arrives broken is sent again",
                cure="seat the card anew, try another slot or riser; lower the link's speed",
                command=sysfs(facts.port, "aer_dev_c*"),
            )
    counted = [port for port in before.path if port.correctable is not None]
    if after is not None and counted:
        return Result(state="good", found="none during the run")
    total = _totals(before.path)
    if total:
        errors = ", ".join(f"{name} {count}" for name, count in total.items())
        return Result(
            state="unknown",
            found=f"{errors} since the device appeared; how many now is not known",
            cure="measure; then isthmus doctor --run RUN.json",
            command=sysfs(facts.port, "aer_dev_c*"),
        )
    seen = sorted({name for port in before.path for name in port.seen or ()})
    if seen:
        return Result(
            state="unknown",
            found=f"{', '.join(seen)} at least once since reset; not counted",
            cure="measure; then isthmus doctor --run RUN.json",
            command=f"sudo lspci -vvs {facts.port.address} | grep CESta",
        )
    if counted or any(port.seen is not None for port in before.path):
        return Result(state="good", found="none")
    return facts.unread()


def _totals(ports: list[Port]) -> dict[str, int]:
    found: dict[str, int] = {}
    for port in ports:
        for name, count in {**(port.correctable or {}), **(port.uncorrectable or {})}.items():
            if count:
                found[name] = found.get(name, 0) + count
    return found


def _grown(before: Function, after: Function) -> Iterator[tuple[str, int]]:
    """Errors that came between two readings; a count of 0: happened, and is not counted."""
    first, second = _totals(before.path), _totals(after.path)
    for name, count in second.items():
        if count > first.get(name, 0):
            yield name, count - first.get(name, 0)
    known = {name for port in before.path for name in port.seen or ()}
    if all(port.readable for port in before.path):
        for port in after.path:
            for name in set(port.seen or ()) - known - second.keys():
                yield name, 0


CHECK = Check(
    "errors", "Does all arrive at the first attempt?", judge, place=8, fault="errors on the link"
)
