"""Offloads as the answers need them: phases by repetition, their sums, and differences of two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from isthmus import _core
from isthmus.measure.protocol import Noise
from isthmus.results.run_file import Point, Run
from isthmus.studies.allocation import ACCELERATOR

ALGORITHM = tuple(
    phase
    for phase in ACCELERATOR
    if phase not in {"initialise", "program_device", "allocate", "populate"}
)
"""What an offload costs beside starting the runtime and making the operands."""
SOFTWARE = ("software_vadd", "software_vadd_simd")
BY_REPETITION = dict[int, float]
_LEAST = 3
"""Repetitions below which nothing is said of a difference."""
_SAME_SHARE = 0.25
"""An interval wider than this of what is compared is no finding."""


class Difference(NamedTuple):
    """First less second, in seconds."""

    seconds: float
    low: float
    high: float
    repetitions: int

    @property
    def certain(self) -> bool:
        """Whether its sign is known."""
        return self.low > 0 or self.high < 0

    def resolved(self, whole: float) -> bool:
        """Whether it is known well enough to say that there is none."""
        return self.high - self.low <= 2 * _SAME_SHARE * whole


@dataclass(frozen=True)
class Case:
    """One kind of memory on one device, at one size."""

    device: str
    memory: str
    handover: str
    relative_offset: int
    elements: int
    phases: Mapping[str, BY_REPETITION]
    """Seconds of the first offload in each process."""
    warm: Mapping[str, BY_REPETITION]
    """Median of those that followed in it."""
    noise: Mapping[str, Sequence[Noise]]
    simulated: bool

    @property
    def name(self) -> str:
        """The kind of memory, and what else is not as usual."""
        further = f" +{self.relative_offset} B" if self.relative_offset else ""
        return f"{self.memory}{further}{' (copied)' if self.handover == 'copy' else ''}"

    @property
    def add(self) -> str:
        """The faster add on the host that was measured: with vector instructions where there is."""
        return next((name for name in reversed(SOFTWARE) if name in self.phases), "")

    def sum(self, names: Iterable[str], *, warm: bool = False) -> BY_REPETITION:
        """Phases together, in each repetition; one that the case does not have takes no time."""
        source = self.warm if warm else self.phases
        parts = [source[name] for name in names if source.get(name)]
        common = set.intersection(*map(set, parts)) if parts else set()
        return {rep: sum(part[rep] for part in parts) for rep in sorted(common)}

    def median(self, *names: str, warm: bool = False) -> float:
        """Seconds of phases together; NaN where none was measured."""
        values = list(self.sum(names, warm=warm).values())
        return float(np.median(values)) if values else np.nan

    def typical(self, phase: str, figure: str) -> float:
        """Median of what the process did in a phase: ``minor_faults``, ``voluntary_switches``."""
        values = [getattr(noise, figure) for noise in self.noise.get(phase, ())]
        return float(np.median(values)) if values else 0.0


def cases(run: Run) -> list[Case]:
    """Those of a run that were measured and whose sums were right."""
    found: dict[tuple[object, ...], list[Point]] = {}
    for point in run.points:
        if point.study == "allocation" and point.reruns and not point.error:
            key = (point.device, point.bytes, point.memory, *sorted(point.axes.items()))
            found.setdefault(key, []).append(point)
    return [
        _case(points)
        for points in found.values()
        if all(rerun.verified != "false" for point in points for rerun in point.reruns)
    ]


def offloads(run: Run) -> list[Case]:
    """Those of devices: the host alone has adds, but no offload."""
    return [case for case in cases(run) if "total" in case.phases]


def _case(points: Sequence[Point]) -> Case:
    phases: dict[str, BY_REPETITION] = {}
    warm: dict[str, BY_REPETITION] = {}
    for point in points:
        for rerun in point.reruns:
            for samples in rerun.clocks.values():
                scale = samples.seconds_per_tick
                phases.setdefault(point.operation, {})[rerun.rerun] = samples.ticks[0] * scale
                if any(samples.warm_ticks):
                    later = float(np.median(samples.warm_ticks)) * scale
                    warm.setdefault(point.operation, {})[rerun.rerun] = later
    first = points[0]
    return Case(
        device=first.device,
        memory=first.memory,
        handover=str(first.axes.get("handover", "")),
        relative_offset=int(first.axes.get("relative_offset", 0)),
        elements=int(first.axes.get("elements", first.bytes // 4)),
        phases=phases,
        warm=warm,
        noise={point.operation: [rerun.noise for rerun in point.reruns] for point in points},
        simulated=any("simulated" in rerun.clocks for rerun in first.reruns),
    )


def groups(found: Iterable[Case]) -> list[list[Case]]:
    """Cases that differ in memory only, with the one that others are held against first."""
    together: dict[tuple[str, int], list[Case]] = {}
    for case in found:
        together.setdefault((case.device, case.elements), []).append(case)
    return [sorted(group, key=_before) for group in together.values()]


def _before(case: Case) -> tuple[bool, ...]:
    return case.memory != "aligned", case.relative_offset != 0, case.handover == "copy"


def difference(first: BY_REPETITION, second: BY_REPETITION, confidence: float) -> Difference:
    """Median of what two differ by in the same repetition, taken close to each other in time.

    The interval is that of order statistics where there are enough repetitions, else Student's;
    exact where there is one simulated value of each.
    """
    common = sorted(set(first) & set(second))
    values = np.asarray([first[rep] - second[rep] for rep in common])
    count = len(values)
    if count == 0:
        return Difference(np.nan, np.nan, np.nan, 0)
    if count < _LEAST:
        return Difference(float(np.median(values)), -np.inf, np.inf, count)
    if 1.0 - 2.0 ** (1 - count) >= confidence:
        found = _core.median_interval(values, confidence)
        return Difference(found.median, found.low, found.high, count)
    half = float(stdtrit(count - 1, 0.5 + confidence / 2) * values.std(ddof=1) / np.sqrt(count))
    mean = float(values.mean())
    return Difference(mean, mean - half, mean + half, count)


def compare(a: Case, b: Case, names: Sequence[str], confidence: float) -> Difference:
    """What ``a`` takes more than ``b`` for these phases."""
    first, second = a.sum(names), b.sum(names)
    if a.simulated and b.simulated:
        exact = sum(first.values()) - sum(second.values())
        return Difference(exact, exact, exact, 1)
    return difference(first, second, confidence)


def against_host(
    case: Case, names: Sequence[str], host: Sequence[str], confidence: float
) -> Difference:
    """What the host takes more than the device, in the same process."""
    ours, theirs = case.sum(host), case.sum(names)
    if case.simulated:
        exact = sum(ours.values()) - sum(theirs.values())
        return Difference(exact, exact, exact, 1)
    return difference(ours, theirs, confidence)
