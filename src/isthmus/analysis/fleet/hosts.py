"""Machines at equal host speed: what a machine's own processor and memory explain of its times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from isthmus.analysis import host_changes
from isthmus.analysis.fleet.reading import Key, Machine
from isthmus.analysis.host_changes import Explained, Process
from isthmus.analysis.host_state import REFERENCES, readings
from isthmus.statistics.outliers import above

_CONFIDENCE = 0.95
"""Of what a host's speed explains."""
_MOST_LIKE = 16
"""Machines with which a machine's host is compared: more tell nothing new of how times follow it.
"""
_FEWEST = 6
"""Machines of one kind of which one can be told from the others."""


class HostSpeed(NamedTuple):
    """A reference of the host's speed that differs from its like."""

    reference: str
    """Name of the field: ``system_call_s``."""
    ratio: float
    """Its time over the usual one."""


def apart(
    machines: Sequence[Machine], least: float, false_alarms: float
) -> tuple[dict[str, list[HostSpeed]], set[str]]:
    """Machines of one kind whose host is slower than the others', and those with a faster one.

    Judged as times are: by more than ``least``, and so far that chance is a ``false_alarms``.
    """
    known = {m.name: _means(m) for m in machines if m.hosts}
    known = {name: logs for name, logs in known.items() if logs}
    slow: dict[str, list[HostSpeed]] = {}
    fast: set[str] = set()
    names = list(known)
    for i, reference in enumerate(REFERENCES) if len(known) >= _FEWEST else ():
        logs = [known[name][i] for name in names]
        found = above(logs, false_alarms / len(REFERENCES))
        for place in found.places:
            if logs[place] - found.usual > math.log1p(least):
                ratio = math.exp(logs[place] - found.usual)
                slow.setdefault(names[place], []).append(HostSpeed(reference, ratio))
        low = above([-log for log in logs], false_alarms / len(REFERENCES))
        fast |= {names[p] for p in low.places if -logs[p] - low.usual > math.log1p(least)}
    for speeds in slow.values():
        speeds.sort(key=lambda one: -one.ratio)
    return slow, fast


def usual(machines: Sequence[Machine]) -> list[float]:
    """Median of each reference's logarithm over machines; empty where none has them."""
    known = [logs for one in machines if (logs := _means(one))]
    return np.median(known, axis=0).tolist() if known else []


def ratios(machine: Machine, of_kind: Sequence[float]) -> list[HostSpeed]:
    """Each reference of a machine over the ``usual`` one of its kind; empty where not known."""
    own = _means(machine)
    known = zip(REFERENCES, own, of_kind, strict=True) if own and of_kind else ()
    return [HostSpeed(name, math.exp(log - middle)) for name, log, middle in known]


def _means(machine: Machine) -> list[float]:
    """Mean logarithm of each reference over the processes of all runs; empty without readings."""
    known = [logs for run in machine.hosts for logs in readings(run).values()]
    return np.mean(known, axis=0).tolist() if known else []


def explained(
    machine: Machine, like: Sequence[Machine], keys: Sequence[Key]
) -> Mapping[Key, Explained]:
    """By how much the host's own speed may change a machine's times against its like's.

    Nothing of a machine without references, and of quantities that a host's clock does not time.

    Args:
        machine: whose times are judged.
        like: other machines of its kind, or the same one of before.
        keys: quantities.

    """
    sides = [[one for one in like if one.hosts][:_MOST_LIKE], [machine]]
    runs = [[run for one in side for run in one.hosts] for side in sides]
    known = host_changes.hosts(runs, _CONFIDENCE) if all(runs) else None
    if known is None:
        return {}
    parts: dict[Key, dict[Process, float]] = {}
    for side, of_side in enumerate(sides):
        each = [logs for one in of_side for logs in one.logs]
        for number, logs in enumerate(each):
            for key in keys:
                for process, log in logs.get(key, {}).items():
                    parts.setdefault(key, {})[side, number, process] = log
    whole = {key: part for key, part in parts.items() if {side for side, *_ in part} == {0, 1}}
    return dict(zip(whole, known.explained(list(whole.values()), _CONFIDENCE), strict=True))


def taken_off(log: float, host: Explained | None) -> float:
    """What is left of a difference of logarithms that the host may explain in part or whole."""
    return log if host is None else log - min(max(log, host.low), host.high)
