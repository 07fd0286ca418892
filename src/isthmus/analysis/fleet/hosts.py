"""Estimates how much of a machine's times the speed of its own processor and memory explains."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from isthmus.analysis import host_changes
from isthmus.analysis.fleet.reading import Key, Machine
from isthmus.analysis.host_changes import Explained, Process
from isthmus.analysis.host_state import REFERENCES, rows_of
from isthmus.statistics.outliers import above

_CONFIDENCE = 0.95
"""Confidence of the interval of the time that the speed of a host explains."""
_MOST_LIKE = 16
"""Most other machines with which a machine's host is compared.

More machines show no more of how times follow the speed of the host."""
FEWEST = 4
"""Fewest machines of a kind among which a slow one can be found.

Source: of 400 healthy fleets of four machines 2 have a false alarm, as of six; of 40 machines that
are 31 % slower than three others 35 are found (``benchmarks/fleet.py --healthy 400``)."""


class HostSpeed(NamedTuple):
    """A reference of the host's speed on one machine, compared with machines of its kind."""

    reference: str
    """Field of a reading that has the reference: ``system_call_s``."""
    ratio: float
    """The reference's time on this machine over the usual time of its kind."""


def apart(
    machines: Sequence[Machine], least: float, false_alarms: float
) -> tuple[dict[str, list[HostSpeed]], set[str]]:
    """Finds machines of one kind whose host is slower, and those whose host is faster, than usual.

    A difference counts if it exceeds ``least`` and if the share of healthy fleets that show it by
    chance is at most ``false_alarms``.
    """
    means = {m.name: _means(m) for m in machines if m.hosts}
    means = {name: logs for name, logs in means.items() if logs}
    slow: dict[str, list[HostSpeed]] = {}
    fast: set[str] = set()
    names = list(means)
    for i, reference in enumerate(REFERENCES) if len(means) >= FEWEST else ():
        logs = [means[name][i] for name in names]
        outlying = above(logs, false_alarms / len(REFERENCES))
        for place in outlying.places:
            if logs[place] - outlying.usual > math.log1p(least):
                ratio = math.exp(logs[place] - outlying.usual)
                slow.setdefault(names[place], []).append(HostSpeed(reference, ratio))
        low = above([-log for log in logs], false_alarms / len(REFERENCES))
        fast |= {names[p] for p in low.places if -logs[p] - low.usual > math.log1p(least)}
    for speeds in slow.values():
        speeds.sort(key=lambda speed: -speed.ratio)
    return slow, fast


def usual(machines: Sequence[Machine]) -> list[float]:
    """Median over machines of each reference's logarithm; empty if no machine has references."""
    means = [logs for machine in machines if (logs := _means(machine))]
    return np.median(means, axis=0).tolist() if means else []


def ratios(machine: Machine, of_kind: Sequence[float]) -> list[HostSpeed]:
    """Ratio of each reference of a machine to the ``usual`` value of its kind; empty if unknown."""
    own = _means(machine)
    known = zip(REFERENCES, own, of_kind, strict=True) if own and of_kind else ()
    return [HostSpeed(name, math.exp(log - middle)) for name, log, middle in known]


def _means(machine: Machine) -> list[float]:
    """Mean logarithm of each reference over the processes of all runs; empty without readings."""
    logs_of_runs = [logs for run in machine.hosts for logs in rows_of(run).readings.values()]
    return np.mean(logs_of_runs, axis=0).tolist() if logs_of_runs else []


def explained(
    machine: Machine, like: Sequence[Machine], keys: Sequence[Key]
) -> Mapping[Key, Explained]:
    """Differences from other machines' times that the host's speed may explain, by quantity.

    Empty for a machine without references. Quantities that lack host times are left out.

    Args:
        machine: The machine whose times are judged.
        like: Other machines of its kind, or the earlier runs of the same machine.
        keys: Quantities whose differences are explained.

    """
    sides = [[node for node in like if node.hosts][:_MOST_LIKE], [machine]]
    read = [[rows_of(run) for node in side for run in node.hosts] for side in sides]
    known = host_changes.hosts(read, _CONFIDENCE) if all(read) else None
    if known is None:
        return {}
    parts: dict[Key, dict[Process, float]] = {}
    for side, of_side in enumerate(sides):
        each = [logs for node in of_side for logs in node.logs]
        for number, logs in enumerate(each):
            for key in keys:
                for process, log in logs.get(key, {}).items():
                    parts.setdefault(key, {})[side, number, process] = log
    whole = {key: part for key, part in parts.items() if {side for side, *_ in part} == {0, 1}}
    return dict(zip(whole, known.explained(list(whole.values()), _CONFIDENCE), strict=True))


def taken_off(log: float, host: Explained | None) -> float:
    """Takes from a difference of logarithms the part that the host may explain."""
    return log if host is None else log - min(max(log, host.low), host.high)
