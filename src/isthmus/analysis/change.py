"""Judges together how each time of a second side compares with the first side's."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from isthmus.analysis.host_changes import Explained, Hosts, Process, Sides, unseen
from isthmus.analysis.quantities import Quantity, Standing, identity, size_class
from isthmus.frames import Frame
from isthmus.statistics import (
    Interval,
    Judgement,
    exact,
    judge,
    location,
    shift,
    simultaneous,
)
from isthmus.statistics.host_state import PRIOR_FREE
from isthmus.student import student
from isthmus.thresholds import LARGE
from isthmus.units import size_range

SHARED_LINK = 0.1
"""Share by which two runs on a virtual machine's device may differ: other machines use its link.

Of 45 pairs of equal runs on an H100, minutes apart, five differed by 4 to 8 %. No interval
computed within one run shows such a difference.
"""
LINK_STATE = 0.045
"""Share by which two runs may differ where the references of the hosts' speed show the rest.

Of 45 pairs of equal runs of 44 s on an H100, 11 differ by 3.4 to 4.2 % in pinned writes. In some
of these runs no process shows the difference. So a limit of ``auto`` is never less: it is this
share plus the reach of the upper bound that is compared with the limit.
"""
MOST_OWN = 1.0
"""Largest limit, as a share, by own spread: a time that may more than double never passes."""
_STATE_SIGMAS = 1.96
"""Standard deviations in a half-width that covers a run's common difference in 95 % of cases."""


@dataclass(frozen=True, kw_only=True)
class Change(Quantity):
    """How a time of the second side compares with the first side's."""

    sizes: str
    """Sizes in words; a single size in the form of the command line."""
    before_s: float
    """Geometric mean over the sizes, in seconds; ``after_s`` likewise."""
    after_s: float
    moved_bytes: float
    """Bytes of one repetition, geometric mean over the sizes; NaN where no data move."""
    ratio: Interval
    """``after_s`` over ``before_s``, from ``statistics.shift`` of the logarithms."""
    samples: tuple[int, int]
    """Number of processes, or of runs, on each side."""
    per_run: bool
    """Whether each run is one value of the sample; else each process is one."""
    allowed: bool
    """Whether the interval of ``ratio`` includes ``SHARED_LINK``, as runs may differ as a whole."""
    limit: float
    """Smallest difference that counts, as a share; infinite where the spread is unknown."""
    most: float
    """One-sided upper bound of the ratio at the run's confidence; NaN where none is known."""
    verdict: Judgement
    """Judgement of ``ratio``, from which the part that the hosts' change may explain is taken."""
    sizes_class: str
    """Class of the sizes in words: ``quantities.size_class``."""
    raw: Interval
    """Ratio as measured: the part that the hosts' change may explain is still in it."""
    raw_verdict: Judgement

    @property
    def of_host(self) -> bool:
        """Whether the time changed as measured, and the hosts' change may explain that."""
        changed = self.raw_verdict in {"slower", "faster"}
        return changed and self.verdict != self.raw_verdict

    @property
    def size_of_change(self) -> float:
        """Absolute value of the ratio's logarithm; infinite for a ratio of 0 or infinity."""
        return abs(math.log(self.ratio.value)) if 0 < self.ratio.value < math.inf else math.inf

    @property
    def standing(self) -> Standing:
        """A gate's verdict on the series: the ratio's upper bound decides if it is within limits.

        All times are within their limits where each is, so each bound has the whole confidence
        (Berger, "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24
        (1982), 295).
        """
        if self.verdict == "slower":
            return "slower"
        within = self.limit < math.inf and self.most <= 1 + self.limit
        return "within" if within else "undecided"


class Judging(NamedTuple):
    """Settings by which parts of the compared rows are judged."""

    confidence: float
    """Confidence with which all intervals hold together."""
    least: float
    """Smallest difference in time that counts, as a share."""
    own: bool
    """Whether a part's own spread sets its limit; ``least`` applies where the spread is smaller."""
    shared: frozenset[str]
    """Devices, by name, behind a link that other machines may use."""
    sides: Sides
    hosts: Hosts | None
    """References whose change may explain changes of host times; that part is taken off."""


def changes(parts: Sequence[Frame], how: Judging) -> list[Change]:
    """Judges the changes of parts of the rows that both sides have, all parts together."""
    each = simultaneous(how.confidence, sum(not part["exact"].all() for part in parts))
    of_host = [part for part in parts if part["clock"].iloc[0] == "host"]
    samples = list(map(_sample, parts))
    logs = [_by_process(part) for part in of_host]
    kinds = [s.kind for p, s in zip(parts, samples, strict=True) if p["clock"].iloc[0] == "host"]
    if how.hosts:
        ranges = how.hosts.explained(logs, how.confidence, kinds)
    else:
        ranges = (
            [Explained(0.0, 0.0, kind) for kind in unseen(logs, kinds, how.sides)]
            if how.own
            else []
        )
    explained = dict(zip(map(id, of_host), ranges, strict=False))
    scatters = _scatters(samples) if how.own else [None] * len(parts)
    return [
        _change(part, sample, scatter, each, how, explained.get(id(part)))
        for part, sample, scatter in zip(parts, samples, scatters, strict=True)
    ]


def _by_process(part: Frame) -> dict[Process, float]:
    """Mean log time of each process over a part's rows."""
    sums: dict[Process, list[float]] = {}
    for side, run, process, log in part[["side", "run", "rerun", "log"]].rows():
        sums.setdefault((side, run, process), []).append(log)
    return {key: math.fsum(logs) / len(logs) for key, logs in sums.items()}


class _Sample(NamedTuple):
    """Logarithms of a part's times on both sides."""

    kind: Hashable
    """Parts of equal kind are taken to scatter alike: see ``host_state``."""
    before: Sequence[float]
    after: Sequence[float]
    per_run: bool
    exact: bool


def _sample(part: Frame) -> _Sample:
    sides = [part[part["side"] == i] for i in (0, 1)]
    per_run = all(rows["run"].nunique() > 1 for rows in sides)
    before, after = (_logs(rows, per_run=per_run) for rows in sides)
    first = part.iloc[0]
    kind: tuple[object, ...] = (first["study"], first["device"], first["clock"], per_run)
    size = int(part["bytes"].min())
    if size >= LARGE:
        kind += ("large", first["memory"])
    elif not size:
        kind += (first["operation"], first["memory"])
    return _Sample(kind, before, after, per_run, any(rows["exact"].all() for rows in sides))


class _Scatter(NamedTuple):
    """Variance of a time's logarithm on each side, and the degrees of freedom of the variances."""

    variances: tuple[float, float]
    free: float


def _scatters(samples: Sequence[_Sample]) -> list[_Scatter | None]:
    """Scatter of each part, shrunk towards the scatter of its kind (Smyth, see ``host_state``).

    A scatter is None where no part of its kind has two values on one side.
    """
    squares: dict[tuple[Hashable, int], tuple[float, int]] = {}
    for sample in samples:
        for side, values in enumerate((sample.before, sample.after)):
            known, free = squares.get((sample.kind, side), (0.0, 0))
            if not sample.exact:
                squares[sample.kind, side] = (known + _squares(values), free + len(values) - 1)
    scatters: list[_Scatter | None] = []
    for sample in samples:
        variances = []
        for side, values in enumerate((sample.before, sample.after)):
            of_kind, free = squares.get((sample.kind, side), (0.0, 0))
            if free:
                own = PRIOR_FREE * of_kind / free + _squares(values)
                variances.append(own / (PRIOR_FREE + len(values) - 1))
        fewest = min(len(sample.before), len(sample.after))
        known_both = len(variances) == 2 and not sample.exact
        scatter = (
            _Scatter((variances[0], variances[1]), PRIOR_FREE + fewest - 1) if known_both else None
        )
        scatters.append(scatter)
    return scatters


def _squares(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def _logs(rows: Frame, *, per_run: bool) -> list[float]:
    """Mean log time of each process over its rows; with ``per_run``, of each run's processes."""
    processes = rows.groupby(["run", "process"], sort=False).column("log")
    runs: dict[int, list[float]] = {}
    for (run, _), logs in processes.items():
        runs.setdefault(run, []).append(float(logs.mean()))
    if per_run:
        return [float(np.mean(means)) for means in runs.values()]
    return [mean for means in runs.values() for mean in means]


def _interval(
    sample: _Sample, scatter: _Scatter | None, hidden: float, confidence: float
) -> Interval:
    """Interval of the difference between the sides' mean logarithms.

    ``hidden``: half-width by which two runs may differ as a whole, as a logarithm.
    """
    if sample.exact:
        before, after = (
            exact(values[0], confidence) if len(values) == 1 else location(values, confidence)
            for values in (sample.before, sample.after)
        )
        return after.minus(before)
    if scatter:
        value = location(sample.after).value - location(sample.before).value
        counts = (len(sample.before), len(sample.after))
        reach = _reach(scatter, scatter.variances, counts, hidden, 0.5 + confidence / 2)
        return Interval(value, value - reach, value + reach, confidence)
    apart = shift(sample.before, sample.after, confidence)
    whole = Interval(0.0, -hidden, hidden, confidence)
    return apart.plus(whole) if hidden else apart


def _beside_hosts(change: Interval, explained: Explained) -> Interval:
    """Ratio of the times after the hosts' change is taken off, for any value it may explain.

    Where the hosts may explain no change at all, the estimate is the ratio as measured.

    Args:
        change: Difference of the logarithms, as measured.
        explained: The part of that difference that the hosts' change may explain.

    """
    nothing = explained.low <= 0 <= explained.high
    taken_off = 0.0 if nothing else (explained.low + explained.high) / 2
    return Interval(
        change.value - taken_off,
        change.low - explained.high,
        change.high - explained.low,
        change.confidence,
    ).exponential()


def _reach(
    scatter: _Scatter,
    variances: Sequence[float],
    counts: Sequence[int],
    hidden: float,
    share: float,
) -> float:
    """Bound of the error of a difference of two means, which ``share`` of cases keep."""
    errors = (math.sqrt(v / n) for v, n in zip(variances, counts, strict=True))
    return student(scatter.free, share) * math.hypot(*errors, hidden / _STATE_SIGMAS)


def _own(
    sample: _Sample,
    scatter: _Scatter | None,
    hidden: float,
    each: float,
    alone: float,
    link: float,
) -> float:
    """Smallest share by which two unchanged sides may differ, if both scatter as the base does.

    With it as the limit, unchanged times show no change (joint confidence ``each``), and their
    upper bounds stay within (confidence ``one``). The same holds for times that differ by ``link``
    as a whole, which no process within a run shows. Infinite if unknown.
    """
    if sample.exact:
        return 0.0
    if scatter is None:
        return math.inf
    variances, counts = (scatter.variances[0],) * 2, (len(sample.before), len(sample.after))
    of_all, bound = (
        _reach(scatter, variances, counts, hidden, share) for share in (0.5 + each / 2, alone)
    )
    return math.expm1(max(of_all, math.log1p(link)) + bound)


def _beyond_link(ratio: Interval, judged: float, link: float) -> tuple[Interval, Judgement]:
    """Judges a ratio; only a change beyond ``link``, by which a shared link varies, counts."""
    verdict = judge(ratio, judged)
    if link and verdict in {"slower", "faster"}:
        allowance = Interval(0.0, -math.log1p(link), math.log1p(link), ratio.confidence)
        ratio = ratio.logarithm().plus(allowance).exponential()
        verdict = judge(ratio, judged)
    return ratio, verdict


def _hidden_by_host(explained: Explained | None, by_host: float, judged: float) -> bool:
    """Whether a time is within the limit only because the hosts may explain a larger change."""
    relevant = math.log1p(judged)
    wide = explained is not None and explained.high - explained.low > 2 * relevant
    return wide and abs(by_host) > relevant


def _change(
    part: Frame,
    sample: _Sample,
    scatter: _Scatter | None,
    each: float,
    how: Judging,
    explained: Explained | None,
) -> Change:
    """Judges one part; ``explained`` is what the hosts may add to its log time.

    ``each``: confidence of one interval, so that all intervals together have ``how.confidence``.
    """
    first = part.iloc[0]
    known = explained is not None and not math.isnan(explained.unseen)
    single = not sample.exact and not sample.per_run
    shared = single and first["device"] in how.shared
    allowed, link = shared and not known, LINK_STATE if shared and known else 0.0
    hidden = math.log1p(SHARED_LINK) if allowed else 0.0
    raw = _interval(sample, scatter, hidden, each)
    by_host = 0.0
    if explained and known and not sample.exact:
        # The hosts explain a range of changes: the value nearest to the change is taken off.
        by_host = min(max(raw.value, explained.low), explained.high)
        hidden = explained.unseen if single else 0.0
    ratio, bound = (
        _interval(sample, scatter, hidden, confidence).exponential().times(math.exp(-by_host))
        for confidence in (each, 2 * how.confidence - 1)
    )
    own = _own(sample, scatter, hidden, each, how.confidence, link) if how.own else 0.0
    limit = max(how.least, own if math.isinf(own) else min(own, MOST_OWN))
    judged = min(limit, max(how.least, MOST_OWN))
    raw, raw_verdict = _beyond_link(raw.exponential(), judged, link)
    most = bound.high
    if explained and by_host:
        # A change lies beyond all that the hosts may explain, and its estimate beyond the limit.
        beside = _beside_hosts(_interval(sample, scatter, hidden, each), explained)
        if judge(beside, judged) in {"slower", "faster"}:
            ratio = beside
    ratio, verdict = _beyond_link(ratio, judged, link)
    if verdict != "slower" and _hidden_by_host(explained, by_host, judged):
        most = math.inf
        verdict = "undecided" if verdict == "same" else verdict
    sizes = part.drop_duplicates("bytes")
    return Change(
        **identity(first),
        sizes=size_range(sizes["bytes"].tolist()),
        before_s=location(sample.before).exponential().value,
        after_s=location(sample.after).exponential().value,
        moved_bytes=math.exp(float(np.log(sizes["moved"].values).mean())),
        ratio=ratio,
        samples=(len(sample.before), len(sample.after)),
        per_run=sample.per_run,
        allowed=allowed,
        limit=limit,
        most=most,
        verdict=verdict,
        sizes_class=size_class(int(sizes["bytes"].iloc[0])),
        raw=raw,
        raw_verdict=raw_verdict,
    )
