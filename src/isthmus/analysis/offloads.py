"""Offloads as the answers need them: phases by repetition, their sums, and differences of two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from isthmus import _core
from isthmus.analysis.evidence import Evidence
from isthmus.measure.protocol import Noise
from isthmus.results.run_file import ClockName, Point, Run
from isthmus.studies.allocation import ACCELERATOR, comes_before
from isthmus.units import format_seconds, format_size

ALGORITHM = tuple(
    phase
    for phase in ACCELERATOR
    if phase not in {"initialise", "program_device", "allocate", "populate"}
)
"""What an offload costs beside starting the runtime and making the operands."""
SOFTWARE = ("software_vadd", "software_vadd_simd")
_NOT_ALGORITHM = ("allocate", "populate", "remainder")
"""What an offload that follows in its process takes beside it, whatever the kind of memory."""
BY_REPETITION = dict[int, float]
Turns = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Seconds of the algorithm within one process: of a kind of memory, and of the reference's offload
next to each."""
_LEAST = 3
"""Repetitions below which nothing is said of a difference."""
SAME = 0.05
"""Two kinds of memory whose ratio is certainly nearer to 1 than this do not differ."""


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


class Relative(NamedTuple):
    """First over second."""

    ratio: float
    low: float
    high: float


class Comparison(NamedTuple):
    """What one kind of memory takes more than another: in seconds, and as a ratio."""

    difference: Difference
    relative: Relative

    @property
    def same(self) -> bool:
        """Whether they certainly do not differ by more than is worth a word."""
        return self.relative.low >= 1.0 - SAME and self.relative.high <= 1.0 + SAME

    @property
    def slower(self) -> bool:
        """Whether the first certainly takes more, as difference and as ratio."""
        return self.difference.low > 0 and self.relative.low > 1 and not self.same

    @property
    def faster(self) -> bool:
        """The same of less."""
        return self.difference.high < 0 and self.relative.high < 1 and not self.same


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
    turns: Mapping[int, Turns]
    """By process, where the reference took turns with those that followed."""
    noise: Mapping[str, Sequence[Noise]]
    simulated: bool
    crossing: bool = False
    """Simulated below a real runtime: link, card and kernel, without the runtime's software."""
    through_emulation: bool = False
    """That runtime's own time, which is no cost of a board."""
    verified: bool = True
    """Whether data were moved and the sums are right; else nothing was behind the API."""

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
        case
        for points in found.values()
        if all(rerun.verified != "false" for point in points for rerun in point.reruns)
        for case in _on_each_clock(points)
    ]


def offloads(run: Run) -> list[Case]:
    """Those of devices: the host alone has adds, but no offload."""
    return [case for case in cases(run) if "total" in case.phases and not case.through_emulation]


def real_hosts(run: Run) -> list[Case]:
    """Those whose host's software is in their time."""
    return [case for case in offloads(run) if not case.crossing]


def _on_each_clock(points: Sequence[Point]) -> list[Case]:
    clocks = {clock for point in points for rerun in point.reruns for clock in rerun.clocks}
    return [_case(points, clock, beside=len(clocks) > 1) for clock in sorted(clocks, reverse=True)]


def _case(points: Sequence[Point], clock: ClockName, *, beside: bool) -> Case:
    phases: dict[str, BY_REPETITION] = {}
    warm: dict[str, BY_REPETITION] = {}
    later: dict[int, dict[str, Turns]] = {}
    for point in points:
        for rerun in point.reruns:
            for samples in (s for name, s in rerun.clocks.items() if name == clock):
                scale = samples.seconds_per_tick
                phases.setdefault(point.operation, {})[rerun.rerun] = samples.ticks[0] * scale
                if any(samples.warm_ticks):
                    again = np.asarray(samples.warm_ticks) * scale
                    warm.setdefault(point.operation, {})[rerun.rerun] = float(np.median(again))
                    if len(samples.beside_ticks) == len(again):
                        reference = np.asarray(samples.beside_ticks) * scale
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
        turns={rep: found for rep, by in later.items() if (found := _algorithm(by)) is not None},
        noise={point.operation: [rerun.noise for rerun in point.reruns] for point in points},
        simulated=clock == "simulated",
        crossing=beside and clock == "simulated",
        through_emulation=beside and clock == "host",
        verified=any(rerun.verified == "true" for rerun in first.reruns),
    )


def _algorithm(turns: Mapping[str, Turns]) -> Turns | None:
    """Of the whole what is left without the rest: the reference may have other phases."""
    if not {"total", *_NOT_ALGORITHM} <= turns.keys():
        return None
    own, beside = (turns["total"][i] - sum(turns[n][i] for n in _NOT_ALGORITHM) for i in (0, 1))
    return (own, beside) if min(own.min(), beside.min()) > 0 else None


def groups(found: Iterable[Case]) -> list[list[Case]]:
    """Cases that differ in memory only, with the one that others are held against first."""
    together: dict[tuple[str, int, bool], list[Case]] = {}
    for case in found:
        key = (case.device, case.elements, case.through_emulation)
        together.setdefault(key, []).append(case)
    return [sorted(group, key=_before) for group in together.values()]


def _before(case: Case) -> tuple[bool, ...]:
    return comes_before(case.memory, case.relative_offset, case.handover)


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
    half = _student(values, confidence)
    mean = float(values.mean())
    return Difference(mean, mean - half, mean + half, count)


def compare(
    a: Case, b: Case, names: Sequence[str], confidence: float, *, warm: bool = False
) -> Difference:
    """What ``a`` takes more than ``b`` for these phases."""
    first, second = a.sum(names, warm=warm), b.sum(names, warm=warm)
    if a.simulated and b.simulated:
        exact = sum(first.values()) - sum(second.values())
        return Difference(exact, exact, exact, 1)
    return difference(first, second, confidence)


def contrast(
    evidence: Evidence, a: Case, b: Case, names: Sequence[str], comparisons: int, *, warm: bool
) -> Comparison:
    """The same, and as a ratio: repetition by repetition, which were taken close together.

    The difference's interval holds together with ``comparisons`` others, so that none is a false
    alarm. That of the ratio is the run's: who says that none of many differs must be right of each
    alone, which no correction makes safer (Berger, Technometrics 24 (1982), 295).
    """
    first, second = a.sum(names, warm=warm), b.sum(names, warm=warm)
    common = sorted(set(first) & set(second))
    logs = np.log([first[rep] / second[rep] for rep in common])
    return Comparison(
        compare(a, b, names, simultaneous(evidence, comparisons), warm=warm),
        Relative(*np.exp(_centre(logs, evidence.confidence, exact=a.simulated))),
    )


def in_turn(a: Case, b: Case, confidence: float, together: float) -> Comparison | None:
    """The same of the algorithm, of offloads that took turns within each process.

    One value of each process: the median over its turns. What differs between processes, most of
    what scatters on a busy machine, is in both and falls out. ``confidence`` is that of the ratio,
    ``together`` that of the difference. None where ``b`` took no turns with ``a``.
    """
    if any(_before(b)) or not a.turns:
        return None
    seconds = {rep: float(np.median(own - beside)) for rep, (own, beside) in a.turns.items()}
    logs = [np.median(np.log(own / beside)) for own, beside in a.turns.values()]
    return Comparison(
        difference(seconds, dict.fromkeys(seconds, 0.0), together),
        Relative(*np.exp(_centre(np.asarray(logs), confidence, exact=False))),
    )


def _centre(
    values: NDArray[np.float64], confidence: float, *, exact: bool
) -> tuple[float, float, float]:
    """Where values lie that scatter alike to both sides, as paired logarithms do.

    Hodges and Lehmann's estimate with the interval of Wilcoxon's signed ranks, exact for any
    number of values; of very few Student's. (Hollander and Wolfe, Nonparametric Statistical
    Methods, section 3.)
    """
    count = len(values)
    if count == 0 or (count < _LEAST and not exact):
        middle = float(np.median(values)) if count else np.nan
        return middle, -np.inf, np.inf
    if exact:
        return (float(np.median(values)),) * 3
    rank = _signed_ranks_beyond(count, 0.5 - confidence / 2)
    if rank < 0:
        half = _student(values, confidence)
        return float(values.mean()), float(values.mean()) - half, float(values.mean()) + half
    rows, columns = np.triu_indices(count)
    means = np.sort((values[rows] + values[columns]) / 2)
    return float(np.median(means)), float(means[rank]), float(means[-1 - rank])


def _signed_ranks_beyond(count: int, share: float) -> int:
    """The largest sum of signed ranks that is not reached with more than this probability.

    -1 where there are too few values. Each of the ranks 1 to ``count`` is in the sum or not.
    """
    chances = np.ones(1)
    for rank in range(1, count + 1):
        without = np.append(chances, np.zeros(rank))
        chances = (without + np.roll(without, rank)) / 2
    return int(np.searchsorted(np.cumsum(chances), share, side="right")) - 1


def _student(values: NDArray[np.float64], confidence: float) -> float:
    count = len(values)
    return float(stdtrit(count - 1, 0.5 + confidence / 2) * values.std(ddof=1) / np.sqrt(count))


def simultaneous(evidence: Evidence, comparisons: int) -> float:
    """Confidence of each interval so that all together have the run's (Bonferroni)."""
    return 1.0 - (1.0 - evidence.confidence) / max(comparisons, 1)


def longer(found: Difference) -> str:
    """The size of a difference and its interval, whatever its sign."""
    ends = sorted((abs(found.low), abs(found.high)))
    told = f"{format_seconds(abs(found.seconds))}"
    if ends[0] == ends[1]:
        return told
    return f"{told} (interval {format_seconds(ends[0])} to {format_seconds(ends[1])})"


def at(evidence: Evidence, case: Case) -> str:
    """The device, and the size where the run has several."""
    sizes = {point.bytes for point in evidence.run.points if point.study == evidence.study}
    size = f" at {format_size(case.elements)} elements" if len(sizes) > 1 else ""
    return f"{evidence.labels[case.device]}{size}"


def against_host(
    case: Case, names: Sequence[str], host: Sequence[str], confidence: float
) -> Difference:
    """What the host takes more than the device, in the same process."""
    ours, theirs = case.sum(host), case.sum(names)
    if case.simulated:
        exact = sum(ours.values()) - sum(theirs.values())
        return Difference(exact, exact, exact, 1)
    return difference(ours, theirs, confidence)
