"""What changed between two sets of runs: ratios of times, and differences of the machines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from isthmus.analysis import wording
from isthmus.analysis.ratios import LARGE, SMALL, complete, groups, with_axes
from isthmus.analysis.summary import (
    estimate,
    measured_on,
    per_repetition,
    simulated_devices,
    too_short,
)
from isthmus.errors import UsageError
from isthmus.results.run_file import ClockName, Run
from isthmus.statistics import Judgement, exact, judge, location, relevant, shift, simultaneous

SERIES = ("study", "device", "operation", "memory", "axes", "clock")
"""What is compared with its like, size by size."""
_CLASSES = ((1, SMALL), (SMALL + 1, LARGE - 1), (LARGE, math.inf), (0, 0))
"""Bytes, from and to: sizes that are judged together; the last is of what has no size."""
_CLOCKS: tuple[ClockName, ...] = ("host", "simulated", "hybrid")
"""Those that see what a user waits for; a device's own does not."""
_AXIS = "axis "
_PASSING = (
    "load_average", "memory_available_bytes", "steal_share_since_boot", "steal_before_s",
    "steal_after_s",
)  # fmt: skip
"""Facts of the moment, which explain nothing."""
_EXPLAINING = (
    "driver", "gen", "width", "speed", "payload", "mps", "mrrs", "iommu", "kernel", "governor",
    "turbo", "idle", "microcode", "bios", "cpu", "numa", "platform", "version", "xclbin", "huge",
)  # fmt: skip
"""Parts of names of facts that may change what a crossing takes; a board's parameters do, too."""


class Side(NamedTuple):
    """One of the two that are compared."""

    name: str
    runs: Sequence[Run]


class Change(NamedTuple):
    """How a time of the second side compares with the first side's."""

    study: str
    device: str
    operation: str
    memory: str
    axes: str
    clock: str
    sizes: str
    """Sizes in words; of a single one, as the command line has it."""
    before_s: float
    """Geometric mean over the sizes, as the next one."""
    after_s: float
    moved_bytes: float
    """Of one repetition, likewise; NaN where no data move."""
    ratio: float
    """Time after over time before, from ``statistics.shift``."""
    low_ratio: float
    high_ratio: float
    samples: tuple[int, int]
    """Processes, or runs, of the two sides."""
    verdict: Judgement


class Difference(NamedTuple):
    """A fact of the machine, the device or the run that is not the same on both sides."""

    of: str
    """``machine``, ``run``, or a device's address."""
    name: str
    before: str
    after: str
    explains: bool
    """Whether it may change what a crossing takes."""


class Comparison(NamedTuple):
    """Two sides with what changed."""

    base: Side
    new: Side
    series: list[Change]
    """One for each series and class of sizes, judged together."""
    points: list[Change]
    """One for each point, judged together."""
    differences: list[Difference]
    least: float
    """Smallest difference that counts, as a share."""
    per_run: bool
    """Whether runs are the sample; else processes are."""
    unmatched: int
    """Points that only one side has."""
    devices: Mapping[str, str]
    """The new side's devices that have another name, with the base's names."""

    def of(self, verdict: Judgement) -> list[Change]:
        """Series with this verdict, the largest change first."""
        found = [one for one in self.series if one.verdict == verdict]
        return sorted(found, key=lambda one: -abs(math.log(one.ratio)))


def compare(
    base: Side, new: Side, least: float | None = None, *, mixed: bool = False
) -> Comparison:
    """Compares the points that both sides have.

    Processes are the sample; where both sides have several runs, runs are. ``least``: the smallest
    relevant difference as a share, else the runs' precision. ``mixed``: simulated times are
    compared with measured ones. Raises UsageError where there is nothing to compare.
    """
    runs = [*base.runs, *new.runs]
    names = matched_devices(base, new)
    sides = [_times(base.runs, {}), _times(new.runs, names)]
    common, unmatched = _common(sides, mixed=mixed)
    if common.empty:
        raise UsageError(_why_nothing(sides, base, new))
    per_run = min(len(base.runs), len(new.runs)) > 1
    common = common.assign(unit=common["run" if per_run else "process"])
    confidence = min(run.settings.confidence for run in runs)
    if least is None:
        least = relevant(max(run.settings.precision for run in runs))
    series = list(_classes(common))
    points = [rows for _, rows in groups(common, [*SERIES, "bytes"])]
    return Comparison(
        base=base,
        new=new,
        series=_changes(series, confidence, least),
        points=_changes(points, confidence, least),
        differences=_differences(base, new, names),
        least=least,
        per_run=per_run,
        unmatched=unmatched,
        devices=names,
    )


def matched_devices(base: Side, new: Side) -> dict[str, str]:
    """The new side's devices by the base's names, where the names differ.

    Each side has one device of a backend that the other side does not name, or one in all.
    """
    ours, theirs = (
        {d.address: d.backend for run in side.runs for d in run.devices} for side in (base, new)
    )
    only = [sorted(one.items() - other.items()) for one, other in ((ours, theirs), (theirs, ours))]
    if len(only[0]) == len(only[1]) == 1:
        return {only[1][0][0]: only[0][0][0]}
    by_backend = [
        {backend: address for address, backend in side if sum(b == backend for _, b in side) == 1}
        for side in only
    ]
    return {
        address: by_backend[0][backend]
        for backend, address in by_backend[1].items()
        if backend in by_backend[0]
    }


def _times(runs: Sequence[Run], names: Mapping[str, str]) -> pd.DataFrame:
    """One row for each point, clock and process that can be trusted: log seconds of its median."""
    rows: list[dict[str, object]] = []
    for number, run in enumerate(runs):
        simulated = simulated_devices(run)
        for point, clock in ((p, c) for p in run.points for c in _CLOCKS):
            measured = measured_on(point, clock)
            above_emulation = clock == "host" and point.device in simulated
            if not measured or above_emulation or any(r.verified == "false" for r in measured):
                continue
            if too_short(estimate(measured, clock), measured, clock):
                continue
            of_point = {
                "study": point.study,
                "device": names.get(point.device, point.device),
                "operation": point.operation,
                "memory": point.memory,
                "clock": clock,
                "bytes": point.bytes,
                "moved": point.moved_bytes or math.nan,
                "exact": clock == "simulated",
                "run": number,
                **{f"{_AXIS}{name}": str(value) for name, value in point.axes.items()},
            }
            for rerun in measured:
                median = float(np.median(per_repetition(rerun, clock)))
                if median > 0:
                    process = f"{number} {rerun.rerun}"
                    rows.append({**of_point, "process": process, "log": math.log(median)})
    return pd.DataFrame(rows)


def _common(sides: Sequence[pd.DataFrame], *, mixed: bool) -> tuple[pd.DataFrame, int]:
    """Rows of points that both sides have, by ``side``, and how many points only one has."""
    if any(side.empty for side in sides):
        return pd.DataFrame(), 0
    both = pd.concat([side.assign(side=i) for i, side in enumerate(sides)], ignore_index=True)
    both = both.assign(clock="simulated, measured") if mixed else both
    axes = [name for name in map(str, both) if name.startswith(_AXIS)]
    both[axes] = both[axes].fillna("")
    short = {name: name.removeprefix(_AXIS) for name in axes if both[name].nunique() > 1}
    both = with_axes(both.rename(columns=short), list(short.values()))
    of_axes = both.groupby(["study", "device", "operation", "memory"])["axes"]
    both["axes"] = both["axes"].where(of_axes.transform("nunique") > 1, "")
    keys = [*SERIES, "bytes"]
    matched = both.groupby(keys)["side"].transform("nunique") == 2
    return both[matched], len(both[~matched].drop_duplicates(keys))


def _why_nothing(sides: Sequence[pd.DataFrame], base: Side, new: Side) -> str:
    for times, side in zip(sides, (base, new), strict=True):
        if times.empty:
            return f"{side.name} has no times that can be trusted: see isthmus show {side.name}"
    kinds = [set(times["clock"]) for times in sides]
    if not kinds[0] & kinds[1]:
        words = (", ".join(sorted(kind)) for kind in kinds)
        return "{}: {} time; {}: {} time; --mixed compares them".format(
            *(x for pair in zip((base.name, new.name), words, strict=True) for x in pair)
        )
    devices = (", ".join(times["device"].unique()) for times in sides)
    return "{} ({}) and {} ({}) have no point in common".format(
        *(x for pair in zip((base.name, new.name), devices, strict=True) for x in pair)
    )


def _classes(common: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Rows of each series and class of sizes, of processes that measured all of its sizes."""
    for _, rows in groups(common, SERIES):
        for low, high in _CLASSES:
            part = rows[rows["bytes"].between(low, high)]
            sides = [part[part["side"] == i].assign(rerun=part["process"]) for i in (0, 1)]
            kept = [complete(side) for side in sides]
            sizes = set.intersection(*(set(side["bytes"]) for side in kept))
            if sizes:
                both = pd.concat(kept)
                yield both[both["bytes"].isin(sizes)]


def _changes(
    parts: Sequence[pd.DataFrame], confidence: float, least: float
) -> list[Change]:  # fmt: skip
    """Changes of parts of the common rows, judged together."""
    each = simultaneous(confidence, sum(not part["exact"].all() for part in parts))
    return [_change(part, each, least) for part in parts]


def _change(part: pd.DataFrame, confidence: float, least: float) -> Change:
    first = part.iloc[0]
    sides = [part[part["side"] == i] for i in (0, 1)]
    # A run's processes each count once in it, and so does each size of a process.
    logs = [
        side.groupby(["unit", "process"])["log"].mean().groupby("unit").mean() for side in sides
    ]
    known_exactly = [bool(side["exact"].all()) for side in sides]
    if any(known_exactly):
        intervals = [
            exact(float(values.mean()), confidence)
            if certain
            else location(values.tolist(), confidence)
            for values, certain in zip(logs, known_exactly, strict=True)
        ]
        ratio = intervals[1].minus(intervals[0]).exponential()
    else:
        ratio = shift(logs[0].tolist(), logs[1].tolist(), confidence).exponential()
    before, after = (math.exp(float(values.mean())) for values in logs)
    sizes = part.drop_duplicates("bytes")
    return Change(
        **{name: str(first[name]) for name in SERIES},
        sizes=wording.sizes(sizes["bytes"].tolist()),
        before_s=before,
        after_s=after,
        moved_bytes=math.exp(float(np.log(sizes["moved"]).mean(skipna=False))),
        ratio=ratio.value,
        low_ratio=ratio.low,
        high_ratio=ratio.high,
        samples=(len(logs[0]), len(logs[1])),
        verdict=judge(ratio, least),
    )


def _differences(base: Side, new: Side, names: Mapping[str, str]) -> list[Difference]:
    """Facts that differ between the sides, those that may explain a change first."""
    sides = [_facts(base.runs, {}), _facts(new.runs, names)]
    results = []
    for of, name in dict.fromkeys([*sides[0], *sides[1]]):
        before, after = (", ".join(sorted(side.get((of, name), ()))) for side in sides)
        if before != after and (before or after):
            explains = "." in name or any(part in name.lower() for part in _EXPLAINING)
            results.append(Difference(of, name, before, after, explains))
    return sorted(results, key=lambda one: not one.explains)


def _facts(runs: Sequence[Run], names: Mapping[str, str]) -> dict[tuple[str, str], set[str]]:
    """All values of each fact, by what it is of and its name."""
    facts: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        settings = {"cpus": run.settings.cpus, "NUMA node": run.settings.numa_node}
        of_run = {"Isthmus version": run.software.version, **settings}
        parts: list[tuple[str, Mapping[str, Any]]] = [("run", of_run), ("machine", run.environment)]
        parts += [
            (
                names.get(device.address, device.address),
                {
                    "name": device.name,
                    "platform": device.platform,
                    **device.properties,
                    **device.link,
                    **device.environment,
                },
            )
            for device in run.devices
        ]
        for of, part in parts:
            for name, value in _flat(part):
                facts.setdefault((of, name), set()).add(value)
    return facts


def _flat(facts: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name} ")
        elif name not in _PASSING and value not in (None, "", []):
            yield f"{before}{name}".replace("_", " "), str(value)
