"""Reads the offloads of a run: phases by repetition, sums, and differences of two offloads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isthmus.results.noise import Noise
from isthmus.results.run_file import ClockName, Point, Run
from isthmus.statistics import (
    Interval,
    Judgement,
    exact,
    judge,
    location,
    over_processes,
    relevant,
)
from isthmus.studies.allocation import ACCELERATOR, STUDY

ALGORITHM = tuple(
    phase
    for phase in ACCELERATOR
    if phase not in {"initialise", "program_device", "allocate", "populate"}
)
"""Phases of an offload that count as its algorithm: no start of the runtime, no new operands."""
SOFTWARE = ("software_vadd", "software_vadd_simd")
_NOT_ALGORITHM = ("allocate", "populate", "remainder")
"""Phases of a repeated offload that do not belong to the algorithm, for any kind of memory."""
Pairs = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Seconds of the algorithm in one process: with one kind of memory, and of the reference offloads
that alternated with them."""


@dataclass(frozen=True)
class Seconds:
    """Seconds of one quantity, by number of the process.

    Differences and ratios are formed within each process, whose offloads were close in time, so
    that common disturbances cancel. A single simulated value is exact.
    """

    of: Mapping[int, float]
    simulated: bool = False

    def __bool__(self) -> bool:
        """Whether any process measured the quantity."""
        return bool(self.of)

    @property
    def value(self) -> float:
        """Estimate over processes, as in ``interval``; NaN if no process measured it."""
        return over_processes(list(self.of.values())).value if self.of else np.nan

    @property
    def interval(self) -> Interval:
        """The estimate with its interval; raises an error if no process measured the quantity."""
        return self._estimated(list(self.of.values()), over_processes)

    def pairs(self, other: Seconds) -> list[tuple[float, float]]:
        """Pairs of this time and the other, one for each process that has both."""
        return [(self.of[i], other.of[i]) for i in sorted(self.of.keys() & other.of.keys())]

    def less(self, other: Seconds, confidence: float = 0.95) -> Interval:
        """The difference of two times in seconds; NaN where no process has both."""
        differences = [seconds - reference for seconds, reference in self.pairs(other)]
        return self._estimated(differences, location, confidence)

    def over(self, other: Seconds, confidence: float = 0.95) -> Interval:
        """The ratio of two times; NaN where no process has both."""
        ratios = [seconds / of for seconds, of in self.pairs(other) if seconds > 0 and of > 0]
        if not ratios:
            return exact(np.nan)
        return self._estimated(ratios, over_processes, confidence)

    def _estimated(
        self,
        values: Sequence[float],
        estimate: Callable[[Sequence[float], float], Interval],
        confidence: float = 0.95,
    ) -> Interval:
        single = self.simulated and len(values) == 1
        return exact(values[0], confidence) if single else estimate(values, confidence)


class Comparison(NamedTuple):
    """Difference and ratio of the times of two kinds of memory."""

    difference: Interval
    """Seconds, first less second, with confidence that is simultaneous over all comparisons."""
    ratio: Interval
    """First over second, at the run's confidence: the statement that all cases are equal needs no
    higher confidence of a single test (Berger, Technometrics 24 (1982), 295)."""
    repetitions: int
    judgement: Judgement


@dataclass(frozen=True)
class Case:
    """One kind of memory on one device, at one size."""

    device: str
    memory: str
    handover: str
    relative_offset: int
    elements: int
    phases: Mapping[str, Mapping[int, float]]
    """Seconds of each phase in the first offload, by process."""
    warm: Mapping[str, Mapping[int, float]]
    """Median seconds of each phase over the repeated offloads, by process."""
    pairs: Mapping[int, Pairs]
    """Seconds by process, where repeated offloads and reference offloads alternated."""
    noise: Mapping[str, Sequence[Noise]]
    simulated: bool
    crossing: bool = False
    """Whether times are simulated below a real runtime: they lack the runtime's software."""
    through_emulation: bool = False
    """Whether a runtime above an emulated card was timed: its times do not hold for a board."""
    verified: bool = True
    """Whether the sums are right; false for an API without a device, which computes nothing."""

    @property
    def bytes(self) -> int:
        """Bytes of each vector."""
        return 4 * self.elements

    @property
    def clock(self) -> ClockName:
        """Clock of all times of the case."""
        return "simulated" if self.simulated else "host"

    @property
    def name(self) -> str:
        """The kind of memory, with offset and hand-over where these are not the default."""
        return f"{self.place}{' (copied)' if self.handover == 'copy' else ''}"

    @property
    def place(self) -> str:
        """The kind of memory with its offset in the page."""
        return f"{self.memory} +{self.relative_offset} B" if self.relative_offset else self.memory

    @property
    def add(self) -> str:
        """Phase of the addition on the host, with vector instructions if those were measured."""
        return next((name for name in reversed(SOFTWARE) if name in self.phases), "")

    def sum(self, *names: str, warm: bool = False) -> Seconds:
        """Seconds of these phases together; a phase that the case lacks counts as zero."""
        source = self.warm if warm else self.phases
        parts = [source[name] for name in names if source.get(name)]
        common = set.intersection(*map(set, parts)) if parts else set()
        sums = {rep: sum(part[rep] for part in parts) for rep in sorted(common)}
        return Seconds(sums, self.simulated)

    def typical(self, phase: str, figure: str) -> float:
        """Median over processes of a phase's counter: ``minor_faults``, ``voluntary_switches``."""
        values = [getattr(noise, figure) for noise in self.noise.get(phase, ())]
        return float(np.median(values)) if values else 0.0


def cases(run: Run) -> list[Case]:
    """The measured cases of a run; cases with wrong sums are excluded."""
    by_case: dict[tuple[object, ...], list[Point]] = {}
    for point in run.points:
        if point.study == "allocation" and point.reruns and not point.error:
            key = (point.device, point.bytes, point.memory, *sorted(point.axes.items()))
            by_case.setdefault(key, []).append(point)
    return [
        case
        for points in by_case.values()
        if all(rerun.verified != "false" for point in points for rerun in point.reruns)
        for case in _on_each_clock(points)
    ]


def offloads(run: Run) -> list[Case]:
    """Cases of devices; the host alone has additions but no offload."""
    return [case for case in cases(run) if "total" in case.phases and not case.through_emulation]


def real_hosts(run: Run) -> list[Case]:
    """Offloads whose times include the host's software."""
    return [case for case in offloads(run) if not case.crossing]


def _on_each_clock(points: Sequence[Point]) -> list[Case]:
    clocks = {clock for point in points for rerun in point.reruns for clock in rerun.clocks}
    return [_case(points, clock, several=len(clocks) > 1) for clock in sorted(clocks, reverse=True)]


def _case(points: Sequence[Point], clock: ClockName, *, several: bool) -> Case:
    phases: dict[str, dict[int, float]] = {}
    warm: dict[str, dict[int, float]] = {}
    later: dict[int, dict[str, Pairs]] = {}
    for point in points:
        for rerun in point.reruns:
            for samples in (s for name, s in rerun.clocks.items() if name == clock):
                scale = samples.seconds_per_tick
                first_s = float(rerun.seconds(clock)[0])
                phases.setdefault(point.operation, {})[rerun.rerun] = first_s
                if any(samples.warm_ticks):
                    again = np.asarray(samples.warm_ticks) * scale
                    warm.setdefault(point.operation, {})[rerun.rerun] = float(np.median(again))
                    if len(samples.reference_ticks) == len(again):
                        reference = np.asarray(samples.reference_ticks) * scale
                        later.setdefault(rerun.rerun, {})[point.operation] = again, reference
    first = points[0]
    return Case(
        device=first.device,
        memory=first.memory,
        handover=str(first.axes.get("handover", "")),
        relative_offset=int(first.axes.get("relative_offset", 0)),
        elements=int(first.axes.get("elements", first.bytes // 4)),
        phases=phases,
        warm=warm,
        pairs={rep: pair for rep, by in later.items() if (pair := _algorithm(by)) is not None},
        noise={point.operation: [rerun.noise for rerun in point.reruns] for point in points},
        simulated=clock == "simulated",
        crossing=several and clock == "simulated",
        through_emulation=several and clock == "host",
        verified=any(rerun.verified == "true" for rerun in first.reruns),
    )


def _algorithm(pairs: Mapping[str, Pairs]) -> Pairs | None:
    """Total time less the phases outside the algorithm; None if one of these phases is missing."""
    if not {"total", *_NOT_ALGORITHM} <= pairs.keys():
        return None
    own, reference = (pairs["total"][i] - sum(pairs[n][i] for n in _NOT_ALGORITHM) for i in (0, 1))
    return (own, reference) if min(own.min(), reference.min()) > 0 else None


def groups(cases: Iterable[Case]) -> list[list[Case]]:
    """Groups of cases that differ in memory only; each group begins with its reference."""
    by_device: dict[tuple[str, int, bool], list[Case]] = {}
    for case in cases:
        key = (case.device, case.elements, case.through_emulation)
        by_device.setdefault(key, []).append(case)
    return [sorted(group, key=_before) for group in by_device.values()]


def _before(case: Case) -> tuple[bool, ...]:
    """Sort key: for each axis, whether the case differs from the study's reference."""
    return tuple(getattr(case, axis) not in {"", value} for axis, value in STUDY.reference.items())


def largest(cases: Iterable[Case], least: int = 1) -> list[list[Case]]:
    """The group with each device's largest vectors, among groups of ``least`` or more cases."""
    by_device: dict[str, list[Case]] = {}
    for group in groups(cases):
        groups_of_device = by_device.get(group[0].device)
        if len(group) >= least and (
            not groups_of_device or groups_of_device[0].elements < group[0].elements
        ):
            by_device[group[0].device] = group
    return list(by_device.values())


def contrast(
    a: Case, b: Case, confidence: float, simultaneous: float, precision: float, *, warm: bool
) -> Comparison:
    """Compares the algorithm of two cases; ``confidence`` holds for the ratio.

    ``simultaneous``: confidence of the difference. ``warm``: repeated offloads are compared. Where
    these alternated with offloads of ``b``, a process gives one value: the median over its pairs.
    Differences between processes, most of the scatter on a busy machine, then cancel. The judgement
    is "undecided" if difference and ratio disagree.
    """
    if warm and a.pairs and not any(_before(b)):
        seconds = [float(np.median(own - reference)) for own, reference in a.pairs.values()]
        ratios = [float(np.median(own / reference)) for own, reference in a.pairs.values()]
        difference, count = location(seconds, simultaneous), len(ratios)
        ratio = over_processes(ratios, confidence)
    else:
        first, second = (case.sum(*ALGORITHM, warm=warm) for case in (a, b))
        difference, count = first.less(second, simultaneous), len(first.pairs(second))
        ratio = first.over(second, confidence)
    judgement = judge(ratio, relevant(precision))
    if {"slower": 1, "faster": -1}.get(judgement, difference.sign) != difference.sign:
        judgement = "undecided"
    return Comparison(difference, ratio, count, judgement)
