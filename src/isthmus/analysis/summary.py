"""Summarises samples: one row per point and clock. No other module computes summaries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isthmus import _core, studies
from isthmus.analysis import host_state, limits
from isthmus.frames import Frame, Series, missing, whole
from isthmus.results.run_file import IMPORTED, ClockName, Point, Rerun, Run, Verified
from isthmus.statistics import (
    LOOKS,
    Basis,
    Interval,
    basis_over_processes,
    exact,
    fits,
    middle,
    over_processes,
    quantile,
    within_process,
)  # fmt: skip
from isthmus.statistics.host_state import Slow
from isthmus.thresholds import (
    MEDIAN_TO_LEAST,
    STEAL_SEEN,
    TIMER,
)

Seconds = NDArray[np.float64]

COLUMNS = (
    "study", "device", "api", "operation", "memory", "bytes", "direction", "initiator", "clock",
    "samples", "reruns", "median_s", "ci_low_s", "ci_high_s", "min_s", "p10_s", "p90_s", "p99_s",
    "max_s", "cold_s", "bandwidth_Bps", "verified", "converged", "flags", *limits.COLUMNS,
    *fits.COLUMNS, "state_share",
)  # fmt: skip
"""Columns of each study's summary rows, in order; columns of the study's axes follow."""

CLOCKS: tuple[ClockName, ...] = ("host", "device", "simulated", "hybrid")
_STATE_FLAGS = {
    "budget": "budget_exhausted",
    "time": "time_capped",
    "samples": "samples_capped",
    "interrupted": "interrupted",
    "failed": "failed",
}
THROUGH_EMULATION = "through_emulation"
"""Flag of host times above an emulated card, which time the runtime and the emulation."""
BELOW_RESOLUTION = "below_clock_resolution"
"""Flag of times below the clock's resolution: rows have no bandwidth and are not compared."""
_DRIFT_CONFIDENCE = 0.999
"""Confidence of the two intervals that are compared to detect drift. A choice: of a thousand
steady processes few are flagged."""
_DRIFT_LEAST_SAMPLES = 24
"""Least samples of a process for detecting drift: eight in each third. A choice."""


def estimate(
    reruns: Sequence[Rerun],
    clock: ClockName = "host",
    confidence: float = 0.95,
    each: Sequence[Seconds] = (),
) -> Interval:
    """Seconds of one repetition, estimated over several processes, or within the only one.

    The interval is at least as wide as the clock's resolution. Each rerun has samples on the clock.
    ``each``: the samples of each rerun in seconds, if the caller has them.
    """
    each = each or [rerun.seconds(clock) for rerun in reruns]
    if len(reruns) > 1:
        medians = [middle(seconds.tolist()) for seconds in each]
        return over_processes(medians, confidence, max(r.resolution_s(clock) for r in reruns))
    if clock == "simulated" and len(each[0]) == 1:
        return exact(float(each[0][0]), confidence)
    return within_process(each[0], confidence, reruns[0].resolution_s(clock))


def basis_of(reruns: Sequence[Rerun], clock: ClockName, confidence: float) -> Basis:
    """The kind of estimate that ``estimate`` makes. Each rerun has samples on the clock."""
    each = [rerun.seconds(clock) for rerun in reruns]
    if len(reruns) > 1:
        return basis_over_processes([middle(seconds.tolist()) for seconds in each], confidence)
    return "exact" if clock == "simulated" and len(each[0]) == 1 else "one process"


def too_short(interval: Interval, reruns: Sequence[Rerun], clock: ClockName = "host") -> bool:
    """Whether a time is below the clock's resolution, which simulated times do not have."""
    limit = max(r.resolution_s(clock) for r in reruns)
    return clock != "simulated" and (interval.low <= 0 or interval.value <= limit)


def trusted(rows: Frame) -> Series:
    """Which rows are trusted: the data were verified, or another program measured them."""
    imported = rows["flags"].str.contains(rf"\b{IMPORTED}\b") & rows["verified"].ne("false")
    return rows["verified"].eq("true") | imported


def resolved(rows: Frame) -> Frame:
    """Rows with times above the clock's resolution, for peaks, ratios and plots."""
    return rows[~rows["flags"].str.contains(BELOW_RESOLUTION)]


def drifts(seconds: Seconds, precision: float) -> bool:
    """Whether a series drifted by more than the precision while it was measured.

    The series drifts if the medians of its first and its last third have disjoint 99.9 % intervals,
    and differ by more than ``precision`` of the median of all.
    """
    if len(seconds) < _DRIFT_LEAST_SAMPLES:
        return False
    third = len(seconds) // 3
    first = _core.median_interval(np.ascontiguousarray(seconds[:third]), _DRIFT_CONFIDENCE)
    last = _core.median_interval(np.ascontiguousarray(seconds[-third:]), _DRIFT_CONFIDENCE)
    parted = first.high < last.low or last.high < first.low
    return parted and abs(last.median - first.median) > precision * float(np.median(seconds))


def is_timer_bound(rerun: Rerun) -> bool:
    """Whether reading the clock takes more than a tenth of the time between two readings."""
    samples = rerun.clocks["host"]
    empty_s = rerun.intervals * rerun.clock.empty_pair_s
    if samples.empty_ticks:
        empty_s = median(samples.empty_ticks) * samples.seconds_per_tick
    return empty_s > TIMER * middle(samples.ticks) * samples.seconds_per_tick


class _Row(NamedTuple):
    """Figures of a summary row, from which its flags are decided."""

    each: Sequence[Seconds]
    """Samples of each process, in seconds."""
    alone: Interval
    """Estimate and interval from the processes' times alone, without the host's state."""
    interval: Interval
    """The shown interval, which adds the effect of the host's state to ``alone``."""
    state_known: bool
    """Whether ``interval`` includes slow variation of the host."""
    lowest: float
    converged: bool


def _flags(point: Point, clock: ClockName, run: Run, row: _Row) -> set[str]:
    measured, interval = measured_on(point, clock), row.interval
    flags = {remark for r in point.reruns for remark in r.remarks}
    if not row.converged:
        flags.update(_STATE_FLAGS[r.state] for r in point.reruns if r.state in _STATE_FLAGS)
        more = len(point.reruns) < _most_processes(point, run)
        cut_off = run.status == "budget" and more and not point.error
        flags.update({"budget_exhausted"} if cut_off else ())
    flags |= {"failed"} if point.error else set()
    if clock == "simulated":  # simulated times are not disturbed
        return flags
    precision, processors = run.settings.precision, int(run.environment.get("logical_cpus") or 1)
    several = len(measured) > 1
    disturbed = {
        BELOW_RESOLUTION: too_short(interval, measured, clock),
        THROUGH_EMULATION: clock == "host" and point.device in simulated_devices(run),
        # A known state of the host is in the interval, which thus includes slow variation.
        "unstable": not row.state_known and any(drifts(seconds, precision) for seconds in row.each),
        "within": len(measured) == 1,
        "reruns_apart": several and row.alone.half_width > precision,
        "host_varies": several and row.alone.half_width <= precision < interval.half_width,
        "median_min_apart": row.lowest * MEDIAN_TO_LEAST < interval.value,
        "steal": any(r.noise.steal_s > STEAL_SEEN * r.measured_s * processors for r in measured),
        "timer_bound": clock == "host" and any(map(is_timer_bound, measured)),
    }
    return flags | {flag for flag, holds in disturbed.items() if holds}


def _most_processes(point: Point, run: Run) -> int:
    """The largest number of processes that the run may start for a point."""
    if point.device in simulated_devices(run):
        return 1
    offload = any(rerun.state == "once" for rerun in point.reruns)
    return run.settings.processes(offload=offload) or LOOKS[-1]


def simulated_devices(run: Run) -> frozenset[str]:
    """Addresses of the run's devices that are models: their own clock is simulated."""
    return frozenset(device.address for device in run.devices if device.simulated)


def memory_copies(run: Run) -> frozenset[str]:
    """Devices that only copy within host memory; their rates are limits for other devices."""
    unreal = {device.address for device in run.devices if not device.real}
    return frozenset({point.device for point in run.points if point.api == "host"} - unreal)


def measured_on(point: Point, clock: ClockName) -> list[Rerun]:
    """Reruns that have samples on this clock."""
    return [r for r in point.reruns if clock in r.clocks and r.clocks[clock].ticks]


def _row(
    point: Point, clock: ClockName, run: Run, limit: limits.Limit | None, slow: Slow
) -> dict[str, object]:
    measured = measured_on(point, clock)
    each = [r.seconds(clock) for r in measured]
    alone = estimate(measured, clock, run.settings.confidence, each)
    interval = slow.widened(alone)
    pooled: list[float] = np.sort(np.concatenate(each)).tolist()
    samples = (r.clocks[clock] for r in measured)
    cold = [s.cold_ticks * s.seconds_per_tick for s in samples if s.cold_ticks is not None]
    speaks_for_all = len(measured) > 1 or clock == "simulated"
    converged = speaks_for_all and interval.half_width <= run.settings.precision
    judged = _Row(each, alone, interval, slow.known, pooled[0], converged)
    flags = _flags(point, clock, run, judged)
    bandwidth = point.moved_bytes / interval.value if interval.value else np.nan
    # Host times above an emulation are times of software: no bytes crossed a link.
    if not point.moved_bytes or flags & {BELOW_RESOLUTION, THROUGH_EMULATION}:
        bandwidth = np.nan
    if limit is not None and bandwidth > limit.most:
        flags.add("above_link_limit")
    verified = {r.verified for r in measured}
    return {
        **_identity(point, clock),
        "samples": len(pooled),
        "reruns": len(measured),
        "median_s": interval.value,
        "ci_low_s": interval.low,
        "ci_high_s": interval.high,
        "min_s": pooled[0],
        "p10_s": quantile(pooled, 0.1),
        "p90_s": quantile(pooled, 0.9),
        "p99_s": quantile(pooled, 0.99),
        "max_s": pooled[-1],
        "cold_s": middle(cold) if cold else np.nan,
        "bandwidth_Bps": bandwidth,
        "verified": "false" if "false" in verified else "true" if "true" in verified else "na",
        "converged": converged,
        "flags": ";".join(sorted(flags)),
        **_limit_columns(limit),
        "state_share": _state_share(alone, interval) if slow.known else np.nan,
        **point.axes,
    }


def _state_share(alone: Interval, interval: Interval) -> float:
    """Share of the variance of a row's time that comes from the state of the machine."""
    if not interval.half_width or not np.isfinite(interval.half_width):
        return float("nan")
    return 1 - min(alone.half_width / interval.half_width, 1.0) ** 2


def _limit_columns(limit: limits.Limit | None) -> dict[str, object]:
    columns = (limit.value, limit.name, limit.source) if limit else (np.nan, "", "")
    value, name, source = columns
    return dict(zip(limits.COLUMNS, (value, np.nan, name, source, False), strict=True))


def _identity(point: Point, clock: ClockName) -> dict[str, object]:
    named = ("study", "device", "api", "operation", "memory", "bytes", "direction", "initiator")
    return {**{name: getattr(point, name) for name in named}, "clock": clock}


def _empty_row(point: Point, run: Run) -> dict[str, object]:
    reason = "failed" if point.error else "skipped" if point.skipped else ""
    unmeasured = {"budget": "budget_exhausted", "interrupted": "interrupted"}
    states = {reason} if reason else {"not_measured", unmeasured.get(run.status, "not_measured")}
    states.update(_STATE_FLAGS[r.state] for r in point.reruns if r.state in _STATE_FLAGS)
    return {
        **dict.fromkeys(COLUMNS, np.nan),
        **_identity(point, "simulated" if point.device in simulated_devices(run) else "host"),
        "samples": 0,
        "reruns": 0,
        "verified": "na",
        "converged": False,
        "flags": ";".join(sorted(states)),
        **_limit_columns(None),
        **point.axes,
    }


def summarise(run: Run) -> Frame:
    """Returns one row per point and clock: ``COLUMNS``, then the axes of the studies.

    A point without samples has one row with empty figures, so that every requested point is shown.
    """
    axes = list(dict.fromkeys(name for point in run.points for name in point.axes))
    columns: dict[str, list[object]] = {name: [] for name in (*COLUMNS, *axes)}
    owners: list[Point] = []
    bounds = limits.of_points(run)
    states = host_state.of_rows(run)
    for place, (point, limit) in enumerate(zip(run.points, bounds, strict=True)):
        measured = [clock for clock in CLOCKS if measured_on(point, clock)]
        of_host = {"host": states.get(place, host_state.UNKNOWN)}
        rows = [
            _row(point, clock, run, limit, of_host.get(clock, host_state.UNKNOWN))
            for clock in measured
        ] or [_empty_row(point, run)]
        for row in rows:
            for name, column in columns.items():
                column.append(row.get(name, np.nan))
            owners.append(point)
    frame = Frame(columns)
    del columns
    limits.mark_untrue(frame, run.settings.precision, axes)
    for name in dict.fromkeys(point.study for point in run.points):
        study = studies.registry().get(name)
        complete = study.analysis().complete if study else None
        if complete is not None:
            frame = complete(frame, owners, run.settings.precision)
            owners += [owners[-1]] * (len(frame) - len(owners))
    frame = limits.complete(frame, memory_copies(run), axes)
    counts = trusted(frame) & frame["bandwidth_Bps"].gt(0)
    return fits.complete(frame, counts.values, axes, run.settings.confidence)


def varying_axes(points: Iterable[Point]) -> list[str]:
    """Names of the axes in which these points differ, in order."""
    values: dict[str, set[int | str]] = {}
    for point in points:
        for name, value in point.axes.items():
            if value != "":  # empty: the operation lacks the axis
                values.setdefault(name, set()).add(value)
    return [name for name, used in values.items() if len(used) > 1]


def with_axes(frame: Frame, names: Sequence[str]) -> Frame:
    """Adds the column ``axes``: values of the named columns in words."""
    columns = [[f"{n} {whole(v)}" if not missing(v) else "" for v in frame[n]] for n in names]
    texts = [", ".join(filter(None, words)) for words in zip(*columns, strict=True)]
    return frame.assign(axes=texts if names else "")


_MEDIANS = ("device", "api", "operation", "memory", "bytes", "rerun", "log", "log_low", "log_high")


def _trusted(point: Point, verified: Verified) -> Iterator[Rerun]:
    """Yields a point's reruns with this verification and a host time above clock resolution."""
    if all(rerun.verified != "false" for rerun in point.reruns):
        for rerun in point.reruns:
            measured = "host" in rerun.clocks and rerun.clocks["host"].ticks
            if rerun.verified == verified and measured and not is_timer_bound(rerun):
                yield rerun


def medians(
    run: Run, study: str, verified: Verified = "true", points: Sequence[Point] | None = None
) -> Frame:
    """Logarithms of each trusted rerun's median host time, and of the ends of its 95 % interval.

    ``points``: points of the run that count; None: all.
    """
    simulated = simulated_devices(run)
    points = run.points if points is None else points
    axes = varying_axes(point for point in points if point.study == study)
    columns: dict[str, list[object]] = {name: [] for name in (*_MEDIANS, *axes)}
    for point in points:
        # Host times above an emulated card are of software: they do not hold for a board.
        if point.study != study or point.device in simulated:
            continue
        for rerun in _trusted(point, verified):
            interval = estimate([rerun])
            if too_short(interval, [rerun]):
                continue
            identity = (point.device, point.api, point.operation, point.memory, point.bytes)
            row = (*identity, rerun.rerun, *interval[:3])
            for name, value in zip(_MEDIANS, row, strict=True):
                columns[name].append(value)
            for name in axes:
                columns[name].append(point.axes.get(name, math.nan))
    frame = Frame(columns)
    with np.errstate(divide="ignore"):
        for name in _MEDIANS[-3:]:
            frame[name] = np.log(frame[name].values.astype(np.float64))
    return with_axes(frame, axes)[[*_MEDIANS, "axes"]]


class Selected(NamedTuple):
    """Rows of a summary that the analysis of one study reads."""

    every: Frame
    """Rows of all studies with times above the clock's resolution; ``axes`` has the values in
    which this study's points differ."""
    rows: Frame
    """Rows of this study that are trusted and have a bandwidth, on any clock except the device's;
    an imported run also keeps rows on the device's clock.

    Operations that move no data (verified ``na``, e.g. a launch) have no bandwidth: see ``timed``.
    """
    timed: Frame
    """Rows of this study that have a time, on all clocks, also of operations without data.

    Leaves out points whose data were wrong and points that were not measured.
    """
    medians: Frame
    """Times of each process: see ``medians``."""


def select(run: Run, summary: Frame, study: str, columns: Sequence[str] = ()) -> Selected:
    """Selects the rows of one study from a run and its summary.

    ``columns``: columns of the study; those that the summary lacks are added, empty.
    """
    absent = [name for name in columns if name not in summary]
    summary = summary.assign(**dict.fromkeys(absent, ""))
    axes = varying_axes(point for point in run.points if point.study == study)
    every = with_axes(resolved(summary), axes)
    of_study = every[every["study"] == study]
    rows = of_study[trusted(of_study) & of_study["bandwidth_Bps"].gt(0)]
    if run.origin is None:  # the device's clock does not time the host's part of a call
        rows = rows[rows["clock"] != "device"]
    timed = of_study[of_study["verified"].ne("false") & of_study["median_s"].gt(0)]
    return Selected(every, rows, timed, medians(run, study))
