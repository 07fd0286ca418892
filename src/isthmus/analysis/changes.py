"""Compares two sets of runs: ratios of their times, and differences of their machines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, NamedTuple

from isthmus.analysis import host_changes
from isthmus.analysis.change import MOST_OWN, Change, Judging, changes
from isthmus.analysis.differences import Difference, differences, matched_devices
from isthmus.analysis.host_changes import HostChange
from isthmus.analysis.host_state import rows_of
from isthmus.analysis.matched import INTERRUPTED, RAN_OUT, Matched, keys_of, match
from isthmus.analysis.quantities import (
    IDENTITY,
    Coverage,
    Outcome,
    Quantity,
    coverage,
    size_class,
)
from isthmus.errors import UsageError
from isthmus.frames import Frame
from isthmus.program import invocation
from isthmus.results.run_file import Run
from isthmus.statistics import Judgement, relevant
from isthmus.studies.transfer import ORDINARY
from isthmus.thresholds import LARGE

_UNMEASURED = (RAN_OUT, INTERRUPTED)
_FAULTS = ("wrong data", "failed")
"""Why a point has no time, where that is a fault of its run."""
NO_BASE = "without a base"
"""Why a point of the second side is not compared: the first side has no time for that point."""
GATE_COLUMNS = ("most_ratio", "standing")
"""Columns of the table by ``frame`` that only a gate shows."""


class Side(NamedTuple):
    """One of the two sets of runs that are compared."""

    name: str
    runs: Sequence[Run]
    file: str = ""
    """Path of its only run file; empty for several."""


@dataclass(frozen=True, kw_only=True)
class Missing(Quantity):
    """A point that only one side has, or that has a fault in a run of the second side."""

    bytes: int
    why: str
    """``wrong data``, ``failed``, ``no time``, ``absent``, or one of the constants above."""
    side: Literal["base", "new", "both"]
    """The side that has no time for the point."""

    @property
    def measured(self) -> bool:
        """Whether one of the two sides has a time for the point."""
        return self.side != "both"

    @property
    def unmeasured(self) -> bool:
        """Whether the run ended before it measured the point, which is no fault."""
        return self.why in _UNMEASURED


class Terms(NamedTuple):
    """Conditions that the user sets for a gate to pass a comparison."""

    allowed: frozenset[str] = frozenset()
    """Kinds of ``gate.Doubt`` with which a comparison may still pass."""
    max_age_s: float = math.inf
    """Seconds by which the base may be older than the new side."""
    newest: datetime | None = None
    """Latest time at which a run can have begun; None: any."""


class Comparison(NamedTuple):
    """Two sides with the changes of their times."""

    base: Side
    new: Side
    series: list[Change]
    """Change of each series and class of sizes, judged together."""
    points: list[Change]
    """Change of each point, judged together."""
    slower_points: list[Change]
    """Single points that are slower, the largest change first."""
    coverage: list[Coverage]
    """Counts of decided series by device and kind of quantity, in order of appearance."""
    missing: list[Missing]
    added: list[Missing]
    """Points that only the new side has, so that they are not compared."""
    differences: list[Difference]
    least: float
    """Smallest difference that counts, as a share."""
    devices: Mapping[str, str]
    """By name, the new side's devices that the base names otherwise, with the base's names."""
    allowed: bool
    """Whether intervals of single runs include ``SHARED_LINK``."""
    host: list[HostChange]
    """How the hosts' own speed changed; empty where a run has no references of the speed."""
    as_measured: bool
    """Whether changes still include the part that the hosts' change may explain."""
    own: bool
    """Whether each time's own spread sets its limit, see ``Change.limit``."""
    unknown: list[Missing]
    """Points that were asked for and cannot be compared, for one of three reasons:

    - neither side has a time for any point of the quantity;
    - the first side has no time for any point of the quantity;
    - the second side's run ended before it measured the point.
    """
    terms: Terms | None = None
    """Terms of the gate; None if the user asked for no gate."""

    def of(self, verdict: Judgement) -> list[Change]:
        """Series with this verdict, the largest change first."""
        changes = [change for change in self.series if change.verdict == verdict]
        return sorted(changes, key=lambda change: -change.size_of_change)

    @property
    def explained(self) -> list[Change]:
        """Series that changed as measured, but whose change the hosts' change may explain."""
        return [change for change in self.series if change.of_host]

    @property
    def link(self) -> list[Change]:
        """Series that show the state of the link: large copies that no processor makes."""
        return [
            change
            for change in self.series
            if change.moved_bytes >= LARGE and change.memory and change.memory not in ORDINARY
        ]

    @property
    def undecided(self) -> list[Change]:
        """Series that are neither slower nor certainly within their limit, the widest first."""
        return sorted(
            (change for change in self.series if change.standing == "undecided"),
            key=lambda change: -change.most if change.most < math.inf else -math.inf,
        )

    @property
    def within(self) -> list[Change]:
        """Series that are certainly within their limit, the series nearest to the limit first."""
        return sorted(
            (change for change in self.series if change.standing == "within"),
            key=lambda change: change.limit / max(change.most - 1, 1e-9),
        )

    @property
    def unjudged(self) -> list[Change]:
        """Series within ``MOST_OWN``, which is their limit because the base scatters so much."""
        return [limit for limit in self.within if self.least < MOST_OWN == limit.limit]

    @property
    def only_new(self) -> list[Missing]:
        """Points of ``added`` that are not among ``unknown``."""
        known = {(point.key, point.bytes) for point in self.unknown}
        return [point for point in self.added if (point.key, point.bytes) not in known]

    @property
    def outcome(self) -> Outcome:
        """A gate's result: fails if a time is slower or missing, else passes if all are decided.

        A comparison without any time is undecided.
        """
        if self.of("slower") or self.slower_points or self.missing:
            return "fail"
        known = self.series and not self.undecided and not self.unknown
        return "pass" if known else "undecided"

    @property
    def passes(self) -> bool:
        """Whether no time is slower or missing, and every quantity is decided."""
        return self.outcome == "pass"


def frame(changes: Sequence[Change]) -> Frame:
    """Makes a table of changes, with rates in bytes a second beside times."""
    rows = Frame([vars(change) for change in changes], columns=[f.name for f in fields(Change)])
    return rows.assign(
        before_Bps=rows["moved_bytes"] / rows["before_s"],
        after_Bps=rows["moved_bytes"] / rows["after_s"],
        raw_ratio=[change.raw.value for change in changes],
        ratio=[change.ratio.value for change in changes],
        low_ratio=[change.ratio.low for change in changes],
        high_ratio=[change.ratio.high for change in changes],
        most_ratio=[change.most for change in changes],
        standing=[change.standing for change in changes],
        samples=[" and ".join(map(str, dict.fromkeys(change.samples))) for change in changes],
    )[
        ["study", "device", "operation", "memory", "axes", "clock", "sizes", "before_s", "after_s",
         "before_Bps", "after_Bps", "raw_ratio", "ratio", "low_ratio", "high_ratio",
         "most_ratio", "limit", "samples", "verdict", "standing"]
    ]  # fmt: skip


def compare(
    base: Side,
    new: Side,
    least: float | None = None,
    *,
    mixed: bool = False,
    as_measured: bool = False,
    own: bool = False,
    terms: Terms | None = None,
) -> Comparison:
    """Compares the points that both sides have.

    Each process is one value of the sample, or each run where both sides have several runs of a
    point. ``least``: the smallest relevant difference as a share, else the runs' precision.
    ``mixed``: simulated times are compared with measured ones. ``as_measured``: changes keep the
    part that the hosts' change may explain; it is taken off if all runs have references. ``own``:
    the base's scatter sets the smallest relevant difference of each time, or ``least`` if that is
    larger. ``terms``: conditions of a gate, which also judges a side without times. Raises
    UsageError where nothing can be compared.
    """
    runs = [*base.runs, *new.runs]
    names = matched_devices(base.runs, new.runs)
    differ = differences(base.runs, new.runs, names)
    matched = match(base.runs, new.runs, names, mixed=mixed)
    may_lack_times = terms and any(side.empty for side in matched.timed)
    if not (matched.both or may_lack_times):
        raise UsageError(_why_nothing(matched.timed, base, new))
    lacking = _lacking(matched, new.runs)
    confidence = min(run.settings.confidence for run in runs)
    if least is None:
        least = relevant(max(run.settings.precision for run in runs))
    shared = _behind_shared_links(runs, names)
    read = [[rows_of(run) for run in side.runs] for side in (base, new)]
    hosts = host_changes.hosts(read, confidence)
    how = Judging(confidence, least, own, shared, read, None if as_measured else hosts)
    series, points = changes(matched.series, how), changes(matched.points, how)
    slower = [point for point in points if point.verdict == "slower"]
    return Comparison(
        base=base,
        new=new,
        series=series,
        points=points,
        slower_points=sorted(slower, key=lambda point: -point.size_of_change),
        coverage=coverage(
            (item, item.sizes_class, item.verdict if terms is None else item.standing)
            for item in series
        ),
        missing=[item for item in lacking if not item.unmeasured],
        added=[
            _missing(key, NO_BASE, "base")
            for key in dict.fromkeys(keys_of(matched.timed[1]))
            if key not in matched.both
        ],
        differences=differ,
        least=least,
        devices=names,
        allowed=any(item.allowed for item in series),
        host=hosts.changes if hosts else [],
        as_measured=as_measured,
        own=own,
        # Other work slows a run, which then measures fewer points: the lacking ones are unknown.
        unknown=[*_unknown(matched), *(item for item in lacking if item.unmeasured)],
        terms=terms,
    )


def _lacking(matched: Matched, new: Sequence[Run]) -> list[Missing]:
    """The base's points that the new side lacks, or that have a fault there."""
    # A fault in one of several runs is a fault, though another run has a time.
    worst = _reasons(matched.sides[1], _FAULTS)
    cut = any(run.status == "interrupted" for run in new)
    return [
        _missing(key, worst.get(key) or (INTERRUPTED if cut else "absent"), "new")
        for key in dict.fromkeys(keys_of(matched.timed[0]))
        if key not in matched.both or worst[key] in _FAULTS
    ]


def _missing(key: Sequence[Any], why: str, side: Literal["base", "new", "both"]) -> Missing:
    values = dict(zip([*IDENTITY, "bytes"], key, strict=True))
    return Missing(**values, why=why, side=side)


def _reasons(rows: Frame, first: Sequence[str]) -> dict[tuple[Any, ...], str]:
    """Why each point has no time, empty where it has one.

    ``first``: reasons that count before others where runs of a point differ, in this order.
    """
    rank = {why: place for place, why in enumerate(first)}
    reasons: dict[tuple[Any, ...], str] = {}
    for key, why in zip(keys_of(rows), rows["why"], strict=True):
        if rank.get(why, len(rank)) < rank.get(reasons.setdefault(key, why), len(rank)):
            reasons[key] = why
    return reasons


def _unknown(matched: Matched) -> list[Missing]:
    """Points that cannot be compared, and that the second side has as well.

    They are points of a class of sizes without any compared point, and faults of the base.
    """
    compared = {(key[:-1], size_class(key[-1])) for key in matched.both}
    before, after = (_reasons(side, ("",)) for side in matched.sides)
    unknown = {}
    for key, why in after.items():
        in_base = before.get(key, "absent")
        is_fault = in_base in _FAULTS and not why
        if in_base and (is_fault or (key[:-1], size_class(key[-1])) not in compared):
            unknown[key] = why or in_base
    # Points whose times are at the clock's resolution on both sides are no fault of either side.
    return [
        _missing(key, why, "both" if after[key] else "base")
        for key, why in unknown.items()
        if not before.get(key) == after[key] == "no time"
    ]


def _behind_shared_links(runs: Sequence[Run], names: Mapping[str, str]) -> frozenset[str]:
    """Compared names of real devices behind a link that a virtual machine's run shares."""
    return frozenset(
        names.get(device.address, device.address)
        for run in runs
        if run.environment.get("virtualised")
        for device in run.devices
        if (device.link or device.pci) and not device.simulated
    )


def _why_nothing(sides: Sequence[Frame], base: Side, new: Side) -> str:
    """Says what two sides without a common point differ in, the widest difference first."""
    for times, side in zip(sides, (base, new), strict=True):
        if times.empty:
            see = f": see {invocation('show', side.file)}" if side.file else ""
            return f"{side.name} has no times that can be trusted{see}"
    hints = {"clock": f"; {invocation('compare', '--mixed')} compares them"}
    for name in ("study", "clock", "device", "operation", "memory", "axes", "bytes"):
        kinds = [set(times[name]) for times in sides]
        if not kinds[0] & kinds[1]:
            ours, theirs = (", ".join(sorted(map(str, kind))[:4]) for kind in kinds)
            what = f"{'size' if name == 'bytes' else name} in common{hints.get(name, '')}"
            return f"{base.name} ({ours}) and {new.name} ({theirs}) have no {what}"
    return f"{base.name} and {new.name} have no point in common"
