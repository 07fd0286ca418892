"""Finds why a device's copies are slower than its link allows: bad checks, and signs in the times.

Causes come in this order:

1. ``below_known``: the device is slower than all known runs of devices of its family, and neither
   a check, 4, 5 nor ordinary memory alone explains it;
2. ``bounce`` of a share below ``FAIR``, if only ordinary memory was measured;
3. checks of the device and the machine (``isthmus.checks``) with a bad result or a warning, the
   likeliest cause first; of a link that is filled, only checks that lower its limit;
4. ``falling``: each of the last processes is ``UNSTEADY`` times or more slower than all before;
5. ``other_user``: the best sample is ``UNSTEADY`` times or more faster than the median, though the
   host was not disturbed and small copies are steady: another program used the link meanwhile;
6. ``bounce``: ordinary memory has less than ``LOWER`` of the best kind's rate: it is copied twice;
7. ``api``, ``hidden_check`` or ``device_or_user`` for a share below ``FAIR`` without another cause.

4 and 5 ignore ordinary memory, whose copies by the host scatter by themselves. They are skipped if
a bad check found a change during the run, because the times show that change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from isthmus import backends, checks
from isthmus.analysis.commands import again
from isthmus.analysis.findings.finding import Cause
from isthmus.analysis.findings.reached import known_of
from isthmus.analysis.summary import measured_on
from isthmus.checks import Check, Facts, Result
from isthmus.checks.base import as_root
from isthmus.frames import Frame, Series
from isthmus.program import Invocation
from isthmus.results.run_file import DeviceRecord, Point, Run
from isthmus.thresholds import AS_FAST, FAIR, GOOD, LARGE, LOWER, SMALL, START_UP, UNSTEADY
from isthmus.units import format_size, percent, shown

ORDINARY = ("pageable", "aligned", "hugepage")
"""Kinds of memory that a driver may have to copy before the device can reach the data."""
COPIES = ("write", "read", "read_bandwidth", "write_bandwidth")
MOST = 2
"""Largest number of causes that a sentence names."""
_NOT_TRUE = "above_link_limit|zero_copy"
_BY_HOST = r"\b(?:steal|timer_bound)\b"
"""Flags of times that the host itself disturbed."""


def _copies_of(rows: Frame) -> Frame:
    """Verified copies in one direction that have a rate."""
    copies = rows[rows["operation"].isin(COPIES) & rows["bandwidth_Bps"].gt(0)]
    return copies[copies["verified"].eq("true") & copies["direction"].ne("")]


def _large_of(copies: Frame) -> Frame:
    """Large copies on a known link whose rates are final: larger copies are hardly faster."""
    large = copies["limit"].eq("link") & (copies["bytes"] >= LARGE)
    return copies[large & copies["plateau"].eq(True)]


def _best_of(copies: Frame) -> Iterator[Any]:
    """Yields the row of the best kind of memory of each operation, at each kind's largest size."""
    largest = copies[
        copies["bytes"] == copies.groupby(["operation", "memory"]).spread("bytes", Series.max)
    ]
    for _, of_way in largest.groupby("operation", sort=False):
        yield of_way.row(of_way["limit_share"].idxmax())


def _lowest_of(best: Iterable[Any]) -> Any:
    """Returns the row whose rate is the least share of its limit."""
    return min(best, key=lambda row: float(row.limit_share))


def judged(run: Run, device: DeviceRecord) -> list[tuple[Check, Result]]:
    """Checks of a device and its machine with their results, the likeliest cause first."""
    facts = Facts.of_run(run, device)
    if not facts.crosses:
        return []
    own = backends.of(device.backend).checks
    results = [*checks.judged(facts, own), *checks.judged(facts, machine=True)]
    return sorted(results, key=lambda pair: pair[0].place)


def by_check(check: Check, result: Result) -> Cause:
    """Makes the cause that a check's result shows."""
    return Cause(
        kind="check", of=check.fault, evidence=result.found, command=result.command,
        check=check.name,
    )  # fmt: skip


class Examined(NamedTuple):
    """What the copies of a device and its checks show; the verdict is judged by it."""

    copies: Frame
    """Verified copies in one direction."""
    bad: list[tuple[Check, Result]]
    """Checks with a bad result or a warning that can make copies slow."""
    best: Sequence[Any] = ()
    """Best copy of each operation; empty without a large copy on a known link."""
    low: Any = None
    """The copy that the verdict names: the furthest below known runs, or below its limit."""
    filling: Any = None
    """Copy of another device that fills the same link; None without such a device."""
    causes: Sequence[Cause] = ()
    """Why the slowest direction is below its limit; empty if it is not below."""
    checks_explain: Sequence[bool] = ()
    """For each of ``causes`` that a check found: whether its fault can slow the slowest copy."""
    well: bool = False
    """Whether the slowest copy is near its limit, or as fast as known runs."""
    lesser: str = ""
    """``x8 of x16`` if the link has fewer lanes or less speed than the card; else empty."""


def examine(run: Run, device: DeviceRecord, rows: Frame, others: Frame) -> Examined:
    """Examines a device's ``rows``; ``others``: rows of other devices at its PCIe function."""
    copies, results = _copies_of(rows), judged(run, device)
    bad = [pair for pair in results if pair[1].state in {"bad", "warning"} and pair[0].fault]
    large = _large_of(copies)
    if large.empty:
        return Examined(copies, bad)
    best = list(_best_of(large))
    lowest, filling = _lowest_of(best), _filling(best, _large_of(_copies_of(others)))
    causes = _causes(run, device, rows, best, filling, results, bad)
    checks_bad = {check.name: check for check, _ in bad}
    below = causes[:1] and causes[0].kind == "below_known"
    return Examined(
        copies, bad, best,
        low=furthest_below(device, best) if below else lowest,
        filling=filling,
        causes=causes,
        checks_explain=[
            explains(checks_bad[cause.check], rows, lowest)
            for cause in causes
            if cause.check in checks_bad
        ],
        well=lowest.limit_share >= FAIR or as_known(device, best),
        lesser=", ".join(result.lesser for _, result in results if result.lesser),
    )  # fmt: skip


def _filling(best: Sequence[Any], others: Frame) -> Any | None:
    """The slowest copy by which other devices fill the link in directions where ``best`` is low.

    None if no direction of ``best`` is low, or if no other device reaches ``GOOD`` in each of them.
    """
    low = [row.direction for row in best if row.limit_share < GOOD]
    if not low:
        return None
    others = others[others["direction"].isin(low) & ~others["flags"].str.contains(_NOT_TRUE)]
    copies = [row for row in _best_of(others) if row.limit_share >= GOOD]
    if {row.direction for row in copies} < set(low):
        return None
    return min(copies, key=lambda row: float(row.limit_share))


def _causes(
    run: Run, device: DeviceRecord, rows: Frame, best: Sequence[Any], filling: Any | None,
    results: Sequence[tuple[Check, Result]], every_bad: Sequence[tuple[Check, Result]],
) -> list[Cause]:  # fmt: skip
    """Returns why the slowest direction is below its limit; empty if it is not below."""
    lowest = _lowest_of(best)
    is_low = lowest.limit_share < GOOD and filling is None
    bad = [pair for pair in every_bad if is_low or pair[0].lowers_limit]
    changed = any(result.changed for _, result in bad)
    timing = [] if changed or filling is not None else list(_falling(run, device, rows))
    if is_low and not changed and not timing:
        timing = list(_unsteady(rows))
    causes = [*(by_check(*pair) for pair in bad), *timing, *_bounced(run, device, rows, best)]
    ordinary = list(_only_ordinary(run, device, lowest))
    explained = [check for check, _ in bad if explains(check, rows, lowest)]
    # Known runs used the card's own API; another API may be slower on a link that is well.
    by_other_api = filling is not None and not backends.of(device.backend).own_api
    excused = explained or timing or ordinary or by_other_api
    below_known = [] if excused else list(_below_known(run, device, best))
    if lowest.limit_share < FAIR:
        causes = [*ordinary, *causes]
        if not (explained or timing or ordinary or below_known or as_known(device, best)):
            causes += _unexplained(run, device, lowest, results, filling)
    return [*below_known, *causes]


def furthest_below(device: DeviceRecord, best: Sequence[Any]) -> Any | None:
    """The copy that is furthest below its family's slowest known run; None if none is below."""
    rows_with_runs = [(row, runs) for row in best if (runs := known_of(device, row))]
    ratios = {float(row.bandwidth_Bps) / runs.least_of_family: row for row, runs in rows_with_runs}
    least = min(ratios, default=AS_FAST)
    return ratios[least] if least < AS_FAST else None


def _below_known(run: Run, device: DeviceRecord, best: Sequence[Any]) -> Iterator[Cause]:
    """Yields a cause if a copy is slower than every known run of the device's family."""
    row = furthest_below(device, best)
    if row is not None and (runs := known_of(device, row)):
        yield Cause(
            kind="below_known",
            evidence=f"{row.operation} {shown(row.bandwidth_Bps, 'B/s')}; {runs.runs} known runs "
            f"of {runs.family}, scaled to this link: {shown(runs.least_of_family, 'B/s')} or more "
            f"(least: {runs.source})",
            command=_again(run, device),
        )


def as_known(device: DeviceRecord, best: Sequence[Any]) -> bool:
    """Whether each operation is as fast as the slowest known run of a device of this name."""
    rows_with_runs = [(row, known_of(device, row)) for row in best]
    return all(
        runs and row.bandwidth_Bps >= AS_FAST * runs.least_of_name for row, runs in rows_with_runs
    )


def _again(run: Run, device: DeviceRecord) -> Invocation | str:
    """The command to measure again: other times later mean that another user slowed the link."""
    return again(run, "transfer", [device.address])


def explains(check: Check, rows: Frame, slowest: Any) -> bool:
    """Whether the fault that a check found can slow a copy like ``slowest``.

    A fault of the device can slow any copy. A slow processor can slow copies only if ordinary
    memory alone was measured, or if a small copy takes ``START_UP`` or more of the copy's time.
    """
    alike = rows[rows["operation"] == slowest.operation]
    if check.of != "machine" or alike["memory"].isin(ORDINARY).all():
        return True
    same = alike[alike["memory"] == slowest.memory]
    small = same[same["bytes"].between(1, SMALL)]["median_s"]
    return small.empty or float(small.median()) >= START_UP * float(slowest.median_s)


def _only_ordinary(run: Run, device: DeviceRecord, row: Any) -> Iterator[Cause]:
    """Yields a cause if only ordinary memory was measured, though the backend has faster memory."""
    fastest = backends.of(device.backend).fastest_memory
    if row.memory in ORDINARY and fastest not in {"", row.memory}:
        yield _bounce(run, device, row.memory, fastest, f"only {row.memory} memory was measured")


def _unsteady(rows: Frame) -> Iterator[Cause]:
    """Yields a cause if a sample is much faster than the median on an undisturbed host."""
    direct = _large_of(_copies_of(rows[~rows["memory"].isin(ORDINARY)]))
    for row in sorted(_best_of(direct), key=lambda row: float(row.limit_share)):
        same = rows[(rows["operation"] == row.operation) & (rows["memory"] == row.memory)]
        small = same[same["bytes"].between(1, SMALL)]
        calm = small.empty or float((small["median_s"] / small["p10_s"]).median()) < UNSTEADY
        ratio = row.median_s / row.min_s if row.min_s > 0 else 0.0
        if ratio >= UNSTEADY and calm and not re.search(_BY_HOST, row.flags):
            top, usual = (
                shown(rate, "B/s") for rate in (ratio * row.bandwidth_Bps, row.bandwidth_Bps)
            )
            yield Cause(
                kind="other_user",
                evidence=f"best sample {top}, median {usual} at {format_size(int(row.bytes))}",
                command="lspci -tv; ps aux",
            )
            return


def _falling(run: Run, device: DeviceRecord, rows: Frame) -> Iterator[Cause]:
    """Yields a cause if the last processes are slower than all before, at all points.

    A single slow last process counts only if at least two points show it and at most three
    processes ran: of many processes one may be disturbed.
    """
    disturbed = rows["flags"].str.contains(_BY_HOST)
    large = _large_of(_copies_of(rows[~rows["memory"].isin(ORDINARY) & ~disturbed]))
    for operation in large["operation"].unique():
        direct = large[large["operation"] == operation]
        wanted = set(zip(direct["memory"], direct["bytes"], strict=True))
        points = [
            point
            for point in run.points
            if (point.device, point.study) == (device.address, direct["study"].iloc[0])
            and point.operation == operation
            and (point.memory, point.bytes) in wanted
        ]
        medians = [_medians(point) for point in points]
        count = min(map(len, medians), default=0)
        # For each process: shortest time from it on, over the longest time before it.
        steps = {i: min(min(of[i:]) / max(of[:i]) for of in medians) for i in range(1, count)}
        slow_from = max(steps, key=lambda i: steps[i], default=0)
        is_single = count - slow_from == 1 and (count > 3 or len(points) < 2)
        if slow_from and not is_single and steps[slow_from] >= UNSTEADY:
            point, of = max(zip(points, medians, strict=True), key=lambda pair: pair[0].bytes)
            early, late = (
                point.moved_bytes / float(np.median(some))
                for some in (of[:slow_from], of[slow_from:])
            )
            which = f"process {slow_from + 1}" + (" on" if len(of) > slow_from + 1 else "")
            if late < GOOD * float(direct["limit_Bps"].iloc[0]):
                yield Cause(
                    kind="falling",
                    evidence=f"{shown(early, 'B/s')} at {format_size(point.bytes)}, "
                    f"{shown(late, 'B/s')} from {which} of {len(of)}",
                    command="sensors; lspci -tv; ps aux",
                )
                return


def _medians(point: Point) -> list[float]:
    """Median seconds of each process of a point, in order."""
    reruns = sorted(measured_on(point, "host"), key=lambda rerun: rerun.rerun)
    return [float(np.median(rerun.seconds("host"))) for rerun in reruns]


def _bounced(run: Run, device: DeviceRecord, rows: Frame, best: Sequence[Any]) -> Iterator[Cause]:
    """Yields a cause if ordinary memory is much slower than the best kind, at the same size."""
    for row in best:
        same = rows[rows["operation"].eq(row.operation) & rows["bytes"].eq(row.bytes)]
        # The shortest times are compared: another user of the link disturbs only some samples.
        slow = same[LOWER * same["min_s"] > row.min_s]
        for other in slow[slow["memory"].isin(ORDINARY)][:1].itertuples():
            rates = [
                f"{copy.memory} memory {shown(copy.bandwidth_Bps, 'B/s')}" for copy in (other, row)
            ]
            yield _bounce(run, device, other.memory, row.memory, ", ".join(rates))
            return


def _bounce(run: Run, device: DeviceRecord, memory: str, other: str, evidence: str) -> Cause:
    command = again(run, "transfer", [device.address], {"memory": f"{memory},{other}"})
    return Cause(kind="bounce", of=memory, evidence=evidence, command=command)


def _unexplained(
    run: Run, device: DeviceRecord, row: Any, results: Sequence[tuple[Check, Result]],
    filling: Any | None,
) -> Iterator[Cause]:  # fmt: skip
    """Yields possible causes where no check is bad, with the commands that decide."""
    if filling is not None:
        command = again(run, "transfer", [device.address, str(filling.device)])
        filled = f"{filling.device} reaches {percent(filling.limit_share)} of the same link"
        yield Cause(kind="api", evidence=filled, command=command)
        return
    hidden = [pair for pair in results if pair[1].state == "unknown" and pair[0].fault]
    for check, result in hidden[:MOST]:
        cause = by_check(check, result)
        yield msgspec.structs.replace(
            cause,
            kind="hidden_check",
            command=result.command or as_root(device.address),
        )
    if not hidden:
        yield Cause(
            kind="device_or_user",
            evidence=f"a steady {percent(row.limit_share)} of the link; no check is bad. "
            "Run again at another time (isthmus compare), or on an equal node (isthmus fleet)",
            command=_again(run, device),
        )
