"""Computes ratios of host times within each rerun, so that common disturbances cancel.

Points with wrong data are excluded. Operations that move no data are compared only between APIs
without a device, to compare their software.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from isthmus.frames import Frame, missing
from isthmus.results.run_file import Run
from isthmus.statistics import LOOKS, Interval, over_processes
from isthmus.units import size_range


class Ratio(NamedTuple):
    """A ratio of times with its interval, over sizes and reruns."""

    interval: Interval
    sizes: int
    reruns: int
    over: str = ""
    """Sizes of the ratio in words: ``1 to 4Ki``."""

    @property
    def within(self) -> bool:
        """Whether one process measured the ratio, so that its interval covers that process only."""
        return self.reruns == 1

    @property
    def cells(self) -> tuple[Interval, bool, int, int]:
        """Cells of a table: ratio, whether one process measured it, number of sizes and reruns."""
        return self.interval, self.within, self.sizes, self.reruns

    def inverse(self) -> Ratio:
        """The ratio with numerator and denominator exchanged."""
        return self._replace(interval=self.interval.inverse())


class Memories(NamedTuple):
    """Kinds of memory that are compared: the device's, and its reference's."""

    own: str
    reference: str

    def __str__(self) -> str:
        return self.own if self.own == self.reference else f"{self.own} / {self.reference}"


class Pair(NamedTuple):
    """An operation measured on two devices: ``times`` has one row for each size and rerun."""

    device: str
    reference: str
    operation: str
    memories: Memories
    axes: str
    times: Frame

    @property
    def names(self) -> tuple[str, ...]:
        """First cells of the pair's rows: device, reference, operation, memory and axes."""
        return self.device, self.reference, self.operation, str(self.memories), self.axes


def first_bank(rows: Frame) -> Frame:
    """Rows of the first measured bank of each card; all rows of devices without banks."""
    if "bank" not in rows:
        return rows
    banks = [math.inf if missing(bank) else bank for bank in rows["bank"]]
    least: dict[Any, float] = {}
    for device, bank in zip(rows["device"], banks, strict=True):
        least[device] = min(bank, least.get(device, math.inf))
    return rows[
        np.array(
            [bank == least[device] for device, bank in zip(rows["device"], banks, strict=True)],
            dtype=bool,
        )
    ]


def divide(numerator: Frame, denominator: Frame) -> Frame:
    """Log ratios at points that both sides measured in a rerun, with distances to both ends."""
    both = numerator.merge(denominator, on=["bytes", "rerun"], suffixes=("", "_of"))
    return Frame(
        {
            "bytes": both["bytes"],
            "rerun": both["rerun"],
            "log": both["log"] - both["log_of"],
            "down": np.hypot(both["log"] - both["log_low"], both["log_high_of"] - both["log_of"]),
            "up": np.hypot(both["log_high"] - both["log"], both["log_of"] - both["log_low_of"]),
        }
    )


def complete(times: Frame) -> Frame:
    """Drops sizes or reruns, so that every kept rerun measured every kept size.

    Most sizes that have six common reruns are kept; more reruns stay if that drops no size.
    """
    if times.empty:
        return times
    by_size = times.groupby("bytes").column("rerun").items()
    reruns = {size: frozenset(numbers) for size, numbers in by_size}

    def worth(common: frozenset[int]) -> tuple[int, int]:
        count = sum(common <= measured for measured in reruns.values())
        return count * min(len(common), LOOKS[0]), len(common)

    most = max(reruns.values(), key=worth)
    sizes = [size for size, measured in reruns.items() if most <= measured]
    kept = times[times["bytes"].isin(sizes) & times["rerun"].isin(most)]
    return kept if len(most) > 1 else kept.dropna()  # drop rows without an interval


def ratio(times: Frame, confidence: float) -> Ratio | None:
    """Geometric mean of the ratio over sizes, with its interval over reruns; None without a point.

    Only sizes that ``complete`` keeps count. With one rerun, half-widths are means over sizes, as
    if their errors were fully correlated.
    """
    kept = complete(times)
    if kept.empty:
        return None
    count, over = kept["bytes"].nunique(), size_range(kept["bytes"].tolist())
    per_rerun = [float(logs.mean()) for logs in kept.groupby("rerun").column("log").values()]
    if len(per_rerun) > 1:
        interval = over_processes(np.exp(per_rerun).tolist(), confidence)
    else:
        centre, down, up = (float(kept[name].mean()) for name in ("log", "down", "up"))
        interval = Interval(centre, centre - down, centre + up).widened(confidence).exponential()
    return Ratio(interval, count, len(per_rerun), over)


def by_size(times: Frame, confidence: float) -> Frame:
    """The ratio at each size: columns ``bytes, ratio, low, high, within``, from small to large."""
    rows = []
    for size, group in times.groupby("bytes"):
        time_ratio = ratio(group, confidence)
        if time_ratio is not None:
            rows.append((size, *time_ratio.interval[:3], time_ratio.within))
    return Frame(rows, columns=["bytes", "ratio", "low", "high", "within"])


def pairs(run: Run, table: Frame) -> list[Pair]:
    """Pairs of devices in the run's order, for each operation that both have in ``table``.

    Equal kinds of memory are paired; if each device has only one kind, these two are. ``table``:
    from ``medians``.
    """
    pairs: list[Pair] = []
    devices = list(dict.fromkeys(point.device for point in run.points))
    for (operation, axes), group in table.groups(["operation", "axes"]):
        for reference, device in combinations(devices, 2):
            ours, theirs = group[group["device"] == device], group[group["device"] == reference]
            for memories, own, other in by_memory(ours, theirs):
                times = divide(own, other)
                if not times.empty:
                    pairs.append(Pair(device, reference, operation, memories, axes, times))
    return pairs


def by_memory(ours: Frame, theirs: Frame) -> Iterator[tuple[Memories, Frame, Frame]]:
    """Yields rows of two devices by common kind of memory, or by each device's only kind."""
    own, other = sorted(set(ours["memory"])), sorted(set(theirs["memory"]))
    kinds = [(kind, kind) for kind in own if kind in other]
    if not kinds and len(own) == len(other) == 1:
        kinds = [(own[0], other[0])]
    for own_kind, kind in kinds:
        rows = ours[ours["memory"] == own_kind], theirs[theirs["memory"] == kind]
        yield Memories(own_kind, kind), *rows
