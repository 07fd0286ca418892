"""Counts how a run was measured: points, processes, samples, estimators, disturbances.

``reporters.methods`` writes these counts as a paragraph. A row is a point on one clock.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from isthmus.analysis import host_state
from isthmus.analysis.flags import disturbed
from isthmus.analysis.summary import (
    CLOCKS,
    basis_of,
    measured_on,
    simulated_devices,
    summarise,
)
from isthmus.checks import Facts, steal
from isthmus.frames import Frame
from isthmus.results.run_file import ClockName, Point, Run
from isthmus.statistics import Basis, middle


@dataclass(frozen=True)
class Range:
    """Smallest and largest of several numbers."""

    least: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Range:
        """Range of these values; 0 to 0 if there are none."""
        numbers = list(values) or [0]
        return cls(min(numbers), max(numbers))


@dataclass(frozen=True)
class Missing:
    """Points of the plan without a sample."""

    failed: int
    skipped: int
    """Number of points that the machine or the device does not allow."""
    not_reached: int
    left_for_longer: int
    """Number of further points of the study that the run did not plan, to save time."""

    @property
    def points(self) -> int:
        """Number of points of the plan without a sample, for any reason."""
        return self.failed + self.skipped + self.not_reached


@dataclass(frozen=True)
class Clock:
    """A clock whose readings gave samples."""

    source: str
    resolution_s: Range
    empty_pair_s: Range
    """Seconds between two readings with nothing between them, which each sample has subtracted."""


@dataclass(frozen=True)
class Rows:
    """Number of rows by estimator, and properties of their intervals."""

    by_basis: Mapping[Basis, int]
    """Number of rows by estimator of their figure and interval."""
    processes: Range
    """Number of processes of a row, for rows that several processes measured."""
    without_interval: int
    """Number of rows of one process that has too few samples for an interval."""
    converged: int
    """Number of rows of several processes whose interval is as narrow as the run wanted."""
    disturbed: int
    with_state: int
    """Number of rows whose intervals include the effect of the machine's state."""
    state_share: float
    """Median, over these rows, of the share of variance that comes from the machine's state."""
    on_device_clock: int

    @property
    def several(self) -> int:
        """Number of rows that several processes measured."""
        return sum(
            self.by_basis.get(estimator, 0)
            for estimator in ("signed ranks", "Student", "order statistics over processes")
        )

    @property
    def all(self) -> int:
        """Number of all measured rows."""
        return sum(self.by_basis.values())


@dataclass(frozen=True)
class Method:
    """Counts of how a run was measured."""

    points: int
    """Number of points of the plan."""
    measured: int
    missing: Missing
    operations: Mapping[str, Sequence[str]]
    """Operations that were measured, by direction."""
    memories: Sequence[str]
    """Kinds of host memory that were measured."""
    sizes: Range
    """Sizes of measured points that move data, in bytes."""
    processes: Range
    samples_each: Range
    """Number of samples of a point in one process."""
    samples: int
    """Number of all samples; a repetition that two clocks timed is one sample."""
    twice_timed: int
    """Number of samples that a second clock timed, too."""
    batch: Range
    """Number of repetitions whose mean is a sample."""
    rows: Rows
    clocks: tuple[Clock, ...]
    processes_with_readings: int
    """Number of processes that read the host's speed."""
    steal: float
    """Share of processor time that a hypervisor took; ``steal_of`` says of which period."""
    steal_of: str
    """Words for the period that ``steal`` is a share of, as in ``isthmus doctor``."""
    verified: int
    wrong: int
    unverified: int
    """Number of measured points whose data were not or cannot be verified."""


def method(run: Run) -> Method:
    """Counts how a run was measured."""
    clocks = [_counted(point, run) for point in run.points]
    measured = [(p, names) for p, names in zip(run.points, clocks, strict=True) if names]
    each = [
        (rerun, [len(rerun.clocks[name].ticks) for name in names if name in rerun.clocks])
        for point, names in measured
        for rerun in point.reruns
    ]
    counts = [max(of_clocks) for _, of_clocks in each if any(of_clocks)]
    verified = [{rerun.verified for rerun in point.reruns} for point, _ in measured]
    stolen, steal_of = _steal(run)
    right, wrong = verified.count({"true"}), sum("false" in states for states in verified)
    return Method(
        points=len(run.points),
        measured=len(measured),
        missing=_missing(run, {id(point) for point, _ in measured}),
        operations=_operations(point for point, _ in measured),
        memories=list(dict.fromkeys(p.memory for p, _ in measured if p.memory)),
        sizes=Range.of(point.bytes for point, _ in measured if point.bytes),
        processes=Range.of(len({r.rerun for r in point.reruns}) for point, _ in measured),
        samples_each=Range.of(counts),
        samples=sum(counts),
        twice_timed=sum(min(of_clocks) for _, of_clocks in each if len(of_clocks) > 1),
        batch=Range.of(rerun.batch for rerun, _ in each),
        rows=_rows(run, measured),
        clocks=tuple(_read_clocks(measured)),
        processes_with_readings=len(host_state.rows_of(run).readings),
        steal=stolen,
        steal_of=steal_of,
        verified=right,
        wrong=wrong,
        unverified=len(measured) - right - wrong,
    )


def _counted(point: Point, run: Run) -> list[ClockName]:
    """Clocks whose samples of a point count: for an emulated card only the simulated clock."""
    clocks = [clock for clock in CLOCKS if measured_on(point, clock)]
    own = ["simulated"] if point.device in simulated_devices(run) else clocks
    return [clock for clock in clocks if clock in own]


def _operations(points: Iterable[Point]) -> dict[str, list[str]]:
    """Returns operations by direction, in order of appearance."""
    by_direction: dict[str, dict[str, None]] = {}
    for point in points:
        by_direction.setdefault(point.direction, {})[point.operation] = None
    return {direction: list(names) for direction, names in by_direction.items()}


def _steal(run: Run) -> tuple[float, str]:
    """The share of processor time that a hypervisor took, and words for the period it is of."""
    share = steal.during(Facts.of_run(run))
    return share or (host_state.steal_share(run, run.points), "processor time")


def _missing(run: Run, measured: Set[int]) -> Missing:
    without = [point for point in run.points if id(point) not in measured]
    failed = sum(bool(point.error) for point in without)
    skipped = sum(bool(point.skipped) and not point.error for point in without)
    return Missing(
        failed=failed,
        skipped=skipped,
        not_reached=len(without) - failed - skipped,
        left_for_longer=sum(study.points for study in run.left_out),
    )


_Measured = Sequence[tuple[Point, Sequence[ClockName]]]
"""Points with the clocks whose samples count."""


def _rows(run: Run, measured: _Measured) -> Rows:
    counts = Counter[Basis]()
    several: list[int] = []
    for point, clocks in measured:
        for clock in clocks:
            reruns = measured_on(point, clock)
            counts[basis_of(reruns, clock, run.settings.confidence)] += 1
            several += [len(reruns)] if len(reruns) > 1 else []
    rows = _summary(run)
    shares = rows["state_share"].dropna().tolist()
    alone = rows["reruns"].eq(1) & rows["clock"].ne("simulated")
    return Rows(
        by_basis=dict(counts),
        processes=Range.of(several),
        without_interval=int((alone & rows["ci_low_s"].isna()).sum()),
        converged=int((rows["converged"].astype(bool) & rows["reruns"].gt(1)).sum()),
        disturbed=disturbed(rows)[0],
        with_state=len(shares),
        state_share=middle(shares) if shares else math.nan,
        on_device_clock=int(rows["clock"].eq("device").sum()),
    )


def _summary(run: Run) -> Frame:
    """Summary rows of measured points on the clocks that count (see ``_counted``)."""
    rows = summarise(run)
    rows = rows[rows["operation"].isin({p.operation for p in run.points}) & rows["samples"].gt(0)]
    of_card = rows["device"].isin(simulated_devices(run))
    return rows[~of_card | rows["clock"].eq("simulated")]


def _read_clocks(measured: _Measured) -> Iterator[Clock]:
    """Yields the clocks of the host, with their resolution; simulated times need no clock."""
    reruns = [r for point, clocks in measured if "simulated" not in clocks for r in point.reruns]
    for source in dict.fromkeys(rerun.clock.source for rerun in reruns):
        of_source = [rerun for rerun in reruns if rerun.clock.source == source]
        yield Clock(
            source=source,
            resolution_s=Range.of(rerun.clock.resolution_s for rerun in of_source),
            empty_pair_s=Range.of(rerun.clock.empty_pair_s for rerun in of_source),
        )
