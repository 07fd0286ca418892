"""Which of many machines are slower than their like: robust outliers over run files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Literal, NamedTuple

import pandas as pd

from isthmus.analysis import wording
from isthmus.analysis.changes import CLASSES, CLOCKS
from isthmus.analysis.summary import simulated_devices
from isthmus.errors import UsageError
from isthmus.results.run_file import ClockName, DeviceRecord, Point, Run
from isthmus.statistics import student

_FALSE_ALARMS = 0.01
"""Of a whole fleet without a slow machine: how often one is named, for errors that are normal."""
_LEAST_NODES = 6
"""Machines of one kind of which one can be told from the others."""
_NORMAL_TO_MAD = 1.4826
"""Standard deviation over median absolute deviation of a normal distribution."""
_EFFICIENCY = 0.37
"""Of the median absolute deviation, against the standard deviation: of so many of n values it is
worth (Rousseeuw and Croux, "Alternatives to the median absolute deviation", Journal of the
American Statistical Association 88 (1993), 1273)."""
_QUANTITY = ["kind", "study", "device", "operation", "memory", "axes", "clock", "sizes"]
State = Literal["slow", "healthy", "unknown"]


class Outlier(NamedTuple):
    """A quantity of one machine that takes longer than on its like."""

    node: str
    study: str
    device: str
    operation: str
    memory: str
    axes: str
    sizes: str
    seconds: float
    usual_s: float
    """Median over the machines of its kind, or over the baseline's."""

    @property
    def ratio(self) -> float:
        """Its time over the usual one."""
        return self.seconds / self.usual_s


class Node(NamedTuple):
    """The judgement of one machine."""

    name: str
    kind: str
    state: State
    outliers: Sequence[Outlier]
    """The worst first."""
    missing: int
    """Quantities that machines of its kind have and this one lacks."""


class Fleet(NamedTuple):
    """The judgement of all machines."""

    nodes: Sequence[Node]
    kinds: int
    quantities: int
    """Compared over all kinds."""
    shifts: Sequence[Outlier]
    """Quantities whose median over all machines is slower than the baseline's; ``node`` is the
    kind."""
    least: float
    """Smallest difference that counts, as a share."""

    def of(self, state: State) -> list[Node]:
        """Machines in this state, the worst first."""
        found = [node for node in self.nodes if node.state == state]
        return sorted(found, key=lambda n: -max((one.ratio for one in n.outliers), default=0.0))


def judge(
    runs: Iterator[tuple[str, Run]] | Sequence[tuple[str, Run]],
    least: float = 0.05,
    baseline: Sequence[tuple[str, Run]] = (),
) -> Fleet:
    """Judges machines, each by the median of its runs, against others of its kind.

    ``runs``: name of the file and run; the machine is the run's host. A kind is a processor with
    its devices by name; slots that differ in their link are other kinds. A machine is slow where a
    time lies so far above the median of its kind that of a healthy fleet none would in 99 of 100
    cases, by the median absolute deviation, and by more than ``least``. With a baseline, medians
    of kinds are compared with the baseline's as well. Raises UsageError where nothing can be
    compared.
    """
    times = _table(runs)
    if times.empty:
        raise UsageError("these runs have no times that can be compared")
    reference = _table(baseline)
    sizes = times.groupby(_QUANTITY)["log"].transform("size")
    large = times[sizes >= _LEAST_NODES]
    share = 1 - _FALSE_ALARMS / max(len(large), 1)
    outliers: dict[str, list[Outlier]] = {}
    shifts: list[Outlier] = []
    usual_before = {} if reference.empty else reference.groupby(_QUANTITY)["log"].median().to_dict()
    for key, rows in times.groupby(_QUANTITY):
        middle = float(rows["log"].median())
        before = usual_before.get(key)
        if before is not None and middle - before > math.log1p(least):
            shifts.append(_outlier(str(key[0]), key, middle, before))
        if len(rows) < _LEAST_NODES:
            continue
        deviation = _NORMAL_TO_MAD * float((rows["log"] - middle).abs().median())
        limit = student(_EFFICIENCY * (len(rows) - 1), share)
        far = rows[
            (rows["log"] - middle > limit * deviation) & (rows["log"] - middle > math.log1p(least))
        ]
        for node, log in zip(far["node"], far["log"], strict=True):
            outliers.setdefault(node, []).append(_outlier(node, key, float(log), middle))
    expected = times.drop_duplicates(_QUANTITY).groupby("kind").size().to_dict()
    judged = set(large["node"])
    nodes = [
        _node(str(name), rows, outliers.get(str(name), []), judged, expected)
        for name, rows in times.groupby("node", sort=True)
    ]
    quantities = len(large[_QUANTITY].drop_duplicates())
    return Fleet(nodes, times["kind"].nunique(), quantities, shifts, least)


def _node(
    name: str,
    rows: pd.DataFrame,
    found: list[Outlier],
    judged: set[str],
    expected: Mapping[Any, int],
) -> Node:
    kind = str(rows["kind"].iloc[0])
    state: State = "slow" if found else "healthy" if name in judged else "unknown"
    found.sort(key=lambda one: -one.ratio)
    return Node(name, kind, state, found, int(expected[kind]) - len(rows))


def _outlier(node: str, key: Sequence[object], log: float, usual: float) -> Outlier:
    _, study, device, operation, memory, axes, _, sizes = map(str, key)
    words = (node, study, device, operation, memory, axes, sizes)
    return Outlier(*words, math.exp(log), math.exp(usual))


def _table(runs: Iterator[tuple[str, Run]] | Sequence[tuple[str, Run]]) -> pd.DataFrame:
    """One row for each machine and quantity: the mean log seconds over sizes, median over runs."""
    rows = [row for name, run in runs for row in _rows(name, run)]
    if not rows:
        return pd.DataFrame()
    frame = pd.DataFrame(rows, columns=["node", *_QUANTITY, "bytes", "log"])
    keys = ["node", *_QUANTITY]
    sizes = frame.groupby([*keys, "bytes"], sort=False)["log"].median().reset_index()
    # A machine that lacks a size would have another mean: only sizes that all of a kind have count.
    having = sizes.groupby([*_QUANTITY, "bytes"])["node"].transform("nunique")
    kept = sizes[having == sizes.groupby(_QUANTITY)["node"].transform("nunique")]
    return pd.DataFrame(kept.groupby(keys, sort=False)["log"].mean().reset_index())


def _rows(name: str, run: Run) -> Iterator[tuple[object, ...]]:
    node = str(run.environment.get("host") or name)
    kind = _kind(run)
    simulated = simulated_devices(run)
    for point in run.points:
        axes = ", ".join(f"{axis} {value}" for axis, value in point.axes.items() if value != "")
        sizes = _size_class(point.bytes)
        for clock in CLOCKS:
            if clock == "host" and point.device in simulated:
                continue
            log = _log(point, clock)
            if log is not None:
                yield (
                    node, kind, point.study, point.device, point.operation, point.memory, axes,
                    clock, sizes, point.bytes, log,
                )  # fmt: skip


def _size_class(size: int) -> str:
    low, high = next(ends for ends in CLASSES if ends[0] <= size <= ends[1])
    if not high:
        return ""
    return f"from {wording.size(low)}" if high == math.inf else f"up to {wording.size(high)}"


def _log(point: Point, clock: ClockName) -> float | None:
    """Median over processes of log seconds; None for what cannot be trusted."""
    logs = []
    for rerun in point.reruns:
        if rerun.verified == "false":
            return None
        if clock in rerun.clocks and rerun.clocks[clock].ticks:
            centre = median(rerun.seconds(clock))
            if centre <= rerun.resolution_s(clock):
                return None
            logs.append(math.log(centre))
    return median(logs) if logs else None


def _kind(run: Run) -> str:
    """Processor and devices, with their links: what like is compared with."""
    devices = sorted({_device(d) for d in run.devices if not d.error})
    return "; ".join([str(run.environment.get("cpu") or "unknown processor"), *devices])


def _device(device: DeviceRecord) -> str:
    ends = (device.link.get("max_link_speed", ""), device.link.get("max_link_width", ""))
    slot = " x".join(filter(None, ends))
    return " ".join(filter(None, (device.address, device.name, slot and f"({slot})")))
