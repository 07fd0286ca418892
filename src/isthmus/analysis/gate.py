"""A gate's decision on a comparison, with what makes the comparison itself doubtful."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from isthmus.analysis.changes import Comparison, Missing, Side
from isthmus.analysis.quantities import Outcome
from isthmus.analysis.summary import measured_points
from isthmus.results.run_file import Run

_MACHINE = ("host", "cpu")
"""Facts of the environment that name a machine."""
_SETTINGS = (
    "precision", "confidence", "reruns", "budget_s", "quick", "axes", "options", "cpus",
    "numa_node", "repetitions",
)  # fmt: skip
"""Settings that change which times a run has; the seed does not."""


_ENOUGH_PROCESSES = 6
"""Processes on each side from which the ranks of a sample bound a change at 95 %."""


class Doubt(NamedTuple):
    """Why two sides may not be like with like."""

    kind: str
    """``same run``, ``newer``, ``incomplete``, ``machine`` or ``settings``."""
    side: str
    """``base`` or ``new`` where it is of one side."""
    names: tuple[str, ...]
    """Settings, or the two machines."""


class Gate(NamedTuple):
    """The decision, with what the first line says."""

    outcome: Outcome
    doubts: list[Doubt]
    dead: list[str]
    """Devices that were asked for, of which no time is compared and no point is missing."""


def decide(result: Comparison) -> Gate:
    """The decision on a comparison: it passes only if every device and quantity is decided."""
    dead, doubts = _dead(result), list(_doubts(result.base, result.new))
    unsure = dead or any(doubt.kind == "same run" for doubt in doubts)
    outcome: Outcome = "undecided" if result.passes and unsure else result.outcome
    return Gate(outcome, doubts, dead)


def _dead(result: Comparison) -> list[str]:
    """Devices of either side, by the base's names, which nothing in the comparison speaks for."""
    measured = {one.device for one in (*result.series, *result.missing)}
    asked = [
        result.devices.get(device.address, device.address)
        for run in (*result.base.runs, *result.new.runs)
        for device in run.devices
        if device.error or device.address in {point.device for point in run.points}
    ]
    below = _below_resolution(result)
    return [one for one in dict.fromkeys(asked) if one not in measured | below]


def _below_resolution(result: Comparison) -> set[str]:
    """Devices without an error whose points all have samples: their times are too short."""
    return {
        result.devices.get(device.address, device.address)
        for device in (d for run in result.new.runs for d in run.devices)
        if not device.error
        and all(
            point.reruns and not point.error
            for run in result.new.runs
            for point in run.points
            if point.device == device.address
        )
    }


def _doubts(base: Side, new: Side) -> Iterator[Doubt]:
    if any(_is_same(one, other) for one in base.runs for other in new.runs):
        yield Doubt("same run", "", ())
    if min(run.started for run in base.runs) > max(run.started for run in new.runs):
        yield Doubt("newer", "base", ())
    for name, side in (("base", base), ("new", new)):
        if any(not _has_all(run) for run in side.runs):
            yield Doubt("incomplete", name, ())
    machines = [sorted({_machine(run) for run in side.runs}) for side in (base, new)]
    if machines[0] != machines[1]:
        yield Doubt("machine", "", tuple(", ".join(of) for of in machines))
    differ = tuple(name for name in _SETTINGS if _values(base, name) != _values(new, name))
    if differ:
        yield Doubt("settings", "", differ)


def _has_all(run: Run) -> bool:
    """Whether a run measured all its points; time may have ended before their precision."""
    if run.status == "budget":
        return measured_points(run) == len(run.points)
    return run.status == "complete"


def _is_same(run: Run, other: Run) -> bool:
    """Whether two files hold the same run; names of machines differ in an anonymised copy."""
    return run.started == other.started and run.points == other.points


def few_processes(result: Comparison) -> bool:
    """Whether what is undecided has fewer processes than the rank-sum interval needs."""
    undecided = [change for change in result.undecided if not change.per_run]
    return any(min(change.samples) < _ENOUGH_PROCESSES for change in undecided)


def _machine(run: Run) -> str:
    """The host's name, or its processor where the name is not known."""
    return next((str(run.environment[n]) for n in _MACHINE if run.environment.get(n)), "unknown")


def _values(side: Side, name: str) -> set[str]:
    return {str(getattr(run.settings, name)) for run in side.runs}


def unknown_quantities(result: Comparison) -> list[tuple[Missing, int]]:
    """Quantities that cannot be compared, each by its first point.

    The number is that of its points for which one side has a time.
    """
    counts: dict[tuple[str, ...], int] = {}
    first: dict[tuple[str, ...], Missing] = {}
    for quantity in result.unknown:
        first.setdefault(quantity.key, quantity)
        counts[quantity.key] = counts.get(quantity.key, 0) + quantity.measured
    return [(first[key], count) for key, count in counts.items()]
