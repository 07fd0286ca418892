"""Check for PCIe errors: packets that the link sent again, and requests that failed."""

from __future__ import annotations

from collections.abc import Iterator

from isthmus.checks.base import FEW_REPLAYS, Check, Facts, Result, registers, sysfs
from isthmus.program import invocation
from isthmus.system.pci import Function, Port

_SENT_AGAIN = {"RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout"}
"""Correctable errors of the link, after which it sends the packet again."""
_REPORTED = {"NonFatalErr", "CorrIntErr", "HeaderOF"}
"""Correctable errors that the device reports without any packet sent again."""
_COUNTERS = "aer_dev_*"


def judge(facts: Facts) -> Result | None:
    """Bad if a request failed during a run, or if the link sent many packets again.

    Unknown if only the errors since the start are known, or if a device only reported errors.
    Unknown also if the link sent too few packets again to lower a rate.
    """
    before, after = facts.function, facts.after
    if after is not None:
        grown = list(_grown(before, after))
        if grown:
            return _judged(grown)
    counted = [port for port in before.path if port.correctable is not None]
    if after is not None and counted:
        return Result(state="good", found="none during the run")
    total = _totals(before.path)
    if total:
        errors = ", ".join(f"{name} {count}" for name, count in total.items())
        return Result(
            state="unknown",
            found=f"{errors} since the device appeared; the present rate is unknown",
            cure=f"measure; then {invocation('doctor', '--run', 'RUN.json')}",
            command=sysfs(next(p for p in before.path if _totals([p])), _COUNTERS),
        )
    seen = sorted({name for port in before.path for name in port.seen or ()})
    if seen:
        return Result(
            state="unknown",
            found=f"{', '.join(seen)} at least once since reset; not counted",
            cure=f"measure; then {invocation('doctor', '--run', 'RUN.json')}",
            command=registers(next(port for port in before.path if port.seen), "CESta"),
        )
    if counted or any(port.seen is not None for port in before.path):
        return Result(state="good", found="none")
    return facts.unread()


def _judged(grown: list[tuple[Port, str, int]]) -> Result:
    """Judges the errors of a run; packets that the link sent again come before failed requests."""
    again = [error for error in grown if error[1] in _SENT_AGAIN]
    failed = [error for error in grown if error[1] not in _SENT_AGAIN | _REPORTED]
    port, _, counted = (again or failed or grown)[0]
    errors = ", ".join(f"{name} +{count}" if count else name for _, name, count in grown)
    text = f"during the run: {errors}"
    command = sysfs(port, _COUNTERS) if counted else registers(port, "CESta")
    few = sum(count for _, _, count in again) <= FEW_REPLAYS
    if again and few and not failed:
        return Result(
            state="unknown",
            found=text + ("; too few to slow copies" if counted else "; not counted"),
            cause="if more come: contacts, riser or cable",
            cure="look again after a longer run"
            if counted
            else "count them: a kernel with AER has aer_dev_correctable",
            command=command,
        )
    if again and not few:
        return Result(
            state="bad",
            found=text,
            cause="contacts, riser or cable: damaged packets are sent again",
            cure="reseat the card, try another slot or riser; lower the link's speed",
            command=command,
        )
    if failed:
        return Result(
            state="bad",
            found=text,
            cause="requests that failed: the device, its firmware or its driver",
            cure="see the kernel's log (dmesg); a newer driver or firmware",
            command=command,
        )
    return Result(
        state="unknown", found=f"{text}; reported only, no packet was sent again", command=command
    )


def _totals(ports: list[Port]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for port in ports:
        for name, count in {**(port.correctable or {}), **(port.uncorrectable or {})}.items():
            if count:
                totals[name] = totals.get(name, 0) + count
    return totals


def _grown(before: Function, after: Function) -> Iterator[tuple[Port, str, int]]:
    """Yields port, name and number of each error that occurred between two readings.

    The number is 0 if the error occurred but the kernel does not count it.
    """
    earlier = {port.address: port for port in before.path}
    for port in after.path:
        first = earlier.get(port.address)
        if first is None:
            continue
        old, new = _totals([first]), _totals([port])
        for name, count in new.items():
            if count > old.get(name, 0):
                yield port, name, count - old.get(name, 0)
        if first.readable:
            for name in sorted(set(port.seen or ()) - set(first.seen or ()) - new.keys()):
                yield port, name, 0


CHECK = Check(
    "errors",
    "Do packets arrive without being sent again?",
    judge,
    place=8,
    fault="errors on the link",
    lowers_limit=True,
)
