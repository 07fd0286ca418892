"""What changed between two sets of runs: ratios of times, and differences of the machines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from isthmus import boards
from isthmus.analysis import wording
from isthmus.analysis.ratios import LARGE, SMALL, complete, groups, with_axes
from isthmus.analysis.summary import measured_on, simulated_devices
from isthmus.errors import UsageError
from isthmus.results.run_file import ClockName, DeviceRecord, Point, Run
from isthmus.statistics import (
    Interval,
    Judgement,
    exact,
    judge,
    location,
    relevant,
    shift,
    simultaneous,
)

SERIES = ("study", "device", "operation", "memory", "axes", "clock")
"""What is compared with its like, size by size."""
CLASSES = ((1, SMALL), (SMALL + 1, LARGE - 1), (LARGE, math.inf), (0, 0))
"""Bytes, from and to: sizes that are judged together; the last is of what has no size."""
CLOCKS: tuple[ClockName, ...] = ("host", "simulated", "hybrid")
"""Those that see what a user waits for; a device's own does not."""
_AXIS = "\0"
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
    ratio: Interval
    """Time after over time before: ``statistics.shift`` of the logarithms."""
    samples: tuple[int, int]
    """Processes, or runs, of the two sides."""
    per_run: bool
    """Whether runs are the sample; else processes are."""
    verdict: Judgement

    @property
    def size_of_change(self) -> float:
        """Logarithm of the ratio, either way."""
        return abs(math.log(self.ratio.value)) if 0 < self.ratio.value < math.inf else math.inf


class Missing(NamedTuple):
    """A point that the first side has and the second does not."""

    study: str
    device: str
    operation: str
    memory: str
    axes: str
    clock: str
    bytes: int
    why: str
    """``wrong data``, ``failed``, ``no time`` or ``absent``."""


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
    missing: list[Missing]
    added: int
    """Points that only the new side has."""
    differences: list[Difference]
    least: float
    """Smallest difference that counts, as a share."""
    devices: Mapping[str, str]
    """The new side's devices that have another name, with the base's names."""

    def of(self, verdict: Judgement) -> list[Change]:
        """Series with this verdict, the largest change first."""
        found = [one for one in self.series if one.verdict == verdict]
        return sorted(found, key=lambda one: -one.size_of_change)

    @property
    def slower_points(self) -> list[Change]:
        """Single points that are slower, the largest change first."""
        found = [one for one in self.points if one.verdict == "slower"]
        return sorted(found, key=lambda one: -one.size_of_change)

    @property
    def passes(self) -> bool:
        """Whether nothing is slower or missing, and anything at all could be decided."""
        decided = any(one.verdict != "undecided" for one in self.series)
        return decided and not (self.of("slower") or self.slower_points or self.missing)


def frame(changes: Sequence[Change]) -> pd.DataFrame:
    """Changes as a table, with rates in bytes a second beside times."""
    rows = pd.DataFrame(changes, columns=Change._fields)
    return rows.assign(
        before_Bps=rows["moved_bytes"] / rows["before_s"],
        after_Bps=rows["moved_bytes"] / rows["after_s"],
        ratio=[one.ratio.value for one in changes],
        low_ratio=[one.ratio.low for one in changes],
        high_ratio=[one.ratio.high for one in changes],
        samples=[" and ".join(map(str, dict.fromkeys(one.samples))) for one in changes],
    )[
        ["study", "device", "operation", "memory", "axes", "clock", "sizes", "before_s", "after_s",
         "before_Bps", "after_Bps", "ratio", "low_ratio", "high_ratio", "samples", "verdict"]
    ]  # fmt: skip


def compare(
    base: Side, new: Side, least: float | None = None, *, mixed: bool = False
) -> Comparison:
    """Compares the points that both sides have.

    Processes are the sample; where both sides have several runs of a point, runs are. ``least``:
    the smallest relevant difference as a share, else the runs' precision. ``mixed``: simulated
    times are compared with measured ones. Raises UsageError where there is nothing to compare.
    """
    runs = [*base.runs, *new.runs]
    names = matched_devices(base, new)
    rows = _named_axes([_times(base.runs, {}), _times(new.runs, names)], mixed=mixed)
    before, after = (rows[(rows["side"] == i) & rows["why"].eq("")] for i in (0, 1))
    both = set(_keys(before)) & set(_keys(after))
    common = rows[np.array([key in both for key in _keys(rows)], dtype=bool) & rows["why"].eq("")]
    if common.empty:
        raise UsageError(_why_nothing((before, after), base, new))
    reasons = dict(zip(_keys(rows[rows["side"] == 1]), rows[rows["side"] == 1]["why"], strict=True))
    missing = [
        Missing(**dict(zip([*SERIES, "bytes"], key, strict=True)), why=reasons.get(key) or "absent")
        for key in dict.fromkeys(_keys(before))
        if key not in both
    ]
    confidence = min(run.settings.confidence for run in runs)
    if least is None:
        least = relevant(max(run.settings.precision for run in runs))
    points = [part for _, part in groups(common, [*SERIES, "bytes"])]
    return Comparison(
        base=base,
        new=new,
        series=_changes(list(_classes(common)), confidence, least),
        points=_changes(points, confidence, least),
        missing=missing,
        added=len(set(_keys(after)) - both),
        differences=_differences(base, new, names),
        least=least,
        devices=names,
    )


def _keys(rows: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    return rows[[*SERIES, "bytes"]].itertuples(index=False, name=None)


def matched_devices(base: Side, new: Side) -> dict[str, str]:
    """The new side's devices by the base's names, where the names differ.

    Each side has one device in all, or one of a backend and product that the other does not name.
    """
    ours, theirs = (
        {d.address: _product(d) for run in side.runs for d in run.devices} for side in (base, new)
    )
    if len(ours) == len(theirs) == 1 and ours.keys() != theirs.keys():
        return dict(zip(theirs, ours, strict=True))
    left = [{a: p for a, p in one.items() if a not in other}
            for one, other in ((ours, theirs), (theirs, ours))]  # fmt: skip
    single = [
        {product: a for a, product in side.items() if list(side.values()).count(product) == 1}
        for side in left
    ]
    return {single[1][product]: single[0][product] for product in single[1] if product in single[0]}


def _product(device: DeviceRecord) -> tuple[str, str, str]:
    board = boards.of_device(device.properties)
    return device.backend, device.name, board.name if board else ""


def _times(runs: Sequence[Run], names: Mapping[str, str]) -> pd.DataFrame:
    """One row for each point, clock and process: log seconds of its median, or why there is none.

    Samples of a simulated time that varies are independent: each has a row.
    """
    rows: list[dict[str, object]] = []
    for number, run in enumerate(runs):
        simulated = simulated_devices(run)
        for point in run.points:
            of_point = {
                "study": point.study,
                "device": names.get(point.device, point.device),
                "operation": point.operation,
                "memory": point.memory,
                "bytes": point.bytes,
                "moved": point.moved_bytes or math.nan,
                "run": number,
                **{f"{_AXIS}{name}": str(value) for name, value in point.axes.items()},
            }
            clocks = [c for c in CLOCKS if not (c == "host" and point.device in simulated)]
            measured = [clock for clock in clocks if measured_on(point, clock)]
            for clock in measured or clocks[:1]:
                logs, why = trusted_logs(point, clock)
                shared = {**of_point, "clock": clock, "why": why}
                if why:
                    rows.append({**shared, "process": "", "log": math.nan, "exact": False})
                for process, values in logs.items():
                    rows += [
                        {**shared, "process": f"{number} {process} {i}", "log": value,
                         "exact": clock == "simulated" and len(values) == 1}
                        for i, value in enumerate(values)
                    ]  # fmt: skip
    return pd.DataFrame(rows)


def trusted_logs(point: Point, clock: ClockName) -> tuple[dict[int, list[float]], str]:
    """Log seconds of each process's median, or of all simulated samples; else why there are none.

    The reason is ``wrong data``, ``failed`` or ``no time``.
    """
    if any(rerun.verified == "false" for rerun in point.reruns):
        return {}, "wrong data"
    logs: dict[int, list[float]] = {}
    for rerun in measured_on(point, clock):
        seconds = rerun.seconds(clock)
        times = seconds if clock == "simulated" else [median(seconds)]
        if min(times) <= (0.0 if clock == "simulated" else rerun.resolution_s(clock)):
            return {}, "no time"
        logs[rerun.rerun] = [math.log(time) for time in times]
    return logs, "" if logs else "failed" if point.error else "no time"


def _named_axes(sides: Sequence[pd.DataFrame], *, mixed: bool) -> pd.DataFrame:
    """Rows of both sides, by ``side``; ``axes`` has the values in which a series' points differ."""
    both = pd.concat([side.assign(side=i) for i, side in enumerate(sides)], ignore_index=True)
    if both.empty:
        return pd.DataFrame(columns=[*SERIES, "bytes", "side", "why"])
    both = both.assign(clock="simulated, measured") if mixed else both
    axes = [name for name in map(str, both) if name.startswith(_AXIS)]
    both[axes] = both[axes].fillna("")
    both = with_axes(both, [name for name in axes if both[name].nunique() > 1])
    of_axes = both.groupby(["study", "device", "operation", "memory"])["axes"]
    both["axes"] = both["axes"].where(of_axes.transform("nunique") > 1, "").str.replace(_AXIS, "")
    return both


def _why_nothing(sides: Sequence[pd.DataFrame], base: Side, new: Side) -> str:
    """What two sides without a common point differ in, the widest difference first."""
    for times, side in zip(sides, (base, new), strict=True):
        if times.empty:
            return f"{side.name} has no times that can be trusted: see isthmus show {side.name}"
    for name, hint in (
        ("study", ""), ("clock", "; isthmus compare --mixed compares them"), ("device", ""), ("operation", ""),
        ("memory", ""), ("axes", ""), ("bytes", ""),
    ):  # fmt: skip
        kinds = [set(times[name]) for times in sides]
        if not kinds[0] & kinds[1]:
            ours, theirs = (", ".join(sorted(map(str, kind))[:4]) for kind in kinds)
            what = "size" if name == "bytes" else name
            return f"{base.name} ({ours}) and {new.name} ({theirs}) have no {what} in common{hint}"
    return f"{base.name} and {new.name} have no point in common"


def _classes(common: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Rows of each series and class of sizes, of processes that measured all of its sizes.

    A size that few processes measured is a class of its own.
    """
    for _, rows in groups(common, SERIES):
        for low, high in CLASSES:
            part = rows[rows["bytes"].between(low, high)]
            if part.empty:
                continue
            table = part[["side", "bytes", "process"]].rename(columns={"process": "rerun"})
            kept = [complete(table[table["side"] == i]) for i in (0, 1)]
            sizes = set.intersection(*(set(side["bytes"]) for side in kept))
            chosen = pd.concat(kept)
            used = set(zip(chosen["side"], chosen["rerun"], strict=True))
            mine = np.array(
                [key in used for key in zip(part["side"], part["process"], strict=True)]
            )
            if sizes:
                yield part[part["bytes"].isin(sizes) & mine]
            for size in sorted(set(part["bytes"]) - sizes):
                yield part[part["bytes"] == size]


def _changes(parts: Sequence[pd.DataFrame], confidence: float, least: float) -> list[Change]:
    """Changes of parts of the common rows, judged together."""
    each = simultaneous(confidence, sum(not part["exact"].all() for part in parts))
    return [_change(part, each, least) for part in parts]


def _change(part: pd.DataFrame, confidence: float, least: float) -> Change:
    first = part.iloc[0]
    per_run = bool(part.groupby("side")["run"].nunique().min() > 1)
    means = part.groupby(["side", "run", "process"])["log"].mean()
    logs = means.groupby(["side", "run"] if per_run else ["side", "run", "process"]).mean()
    before, after = (logs[i].tolist() for i in (0, 1))
    if part.groupby("side")["exact"].all().any():
        sides = [
            exact(values[0], confidence) if len(values) == 1 else location(values, confidence)
            for values in (before, after)
        ]
        ratio = sides[1].minus(sides[0]).exponential()
    else:
        ratio = shift(before, after, confidence).exponential()
    sizes = part.drop_duplicates("bytes")
    return Change(
        **{name: str(first[name]) for name in SERIES},
        sizes=wording.sizes(sizes["bytes"].tolist()),
        before_s=location(before).exponential().value,
        after_s=location(after).exponential().value,
        moved_bytes=math.exp(float(np.log(sizes["moved"]).mean(skipna=False))),
        ratio=ratio,
        samples=(len(before), len(after)),
        per_run=per_run,
        verdict=judge(ratio, least),
    )


def _differences(base: Side, new: Side, names: Mapping[str, str]) -> list[Difference]:
    """Facts that differ between the sides, those that may explain a change first."""
    sides = [_facts(base.runs, {}), _facts(new.runs, names)]
    devices = [{of for of, _ in side} for side in sides]
    results = []
    for of, name in dict.fromkeys([*sides[0], *sides[1]]):
        before, after = (", ".join(sorted(side.get((of, name), ()))) for side in sides)
        if before != after and of in devices[0] & devices[1]:
            explains = "." in name or any(part in name.lower() for part in _EXPLAINING)
            results.append(Difference(of, name, before, after, explains))
    return sorted(results, key=lambda one: not one.explains)


def _facts(runs: Sequence[Run], names: Mapping[str, str]) -> dict[tuple[str, str], set[str]]:
    """All values of each fact, by what it is of and its name."""
    facts: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        settings = {"cpus": run.settings.cpus, "NUMA node": run.settings.numa_node}
        of_run = {"Isthmus version": run.software.version, "status": run.status, **settings}
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
