"""Why a device's copies are slower than its link: bad checks, and what the times show.

Causes come in this order:

0. ``below_known``: a device whose name is known, slower than any known run of such devices, which
   nothing of 1 to 3 explains;
1. bad checks of what was read of the device and the machine (``isthmus.checks``), likeliest first;
2. ``falling``: the last processes are all slower than all before them, ``UNSTEADY`` times or more;
3. ``other_user``: the best sample reaches the median rate ``UNSTEADY`` times or more, where the
   host was not disturbed and small copies are steady: something else used the link meanwhile;
4. ``bounce``: ordinary memory has less than ``LOWER`` of the best kind's rate: copied once more.

2 and 3 are judged without ordinary memory, whose copy by the host scatters by itself, and not where
a bad check found a change during the run: the times show that change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from isthmus import backends, checks
from isthmus.analysis.commands import again
from isthmus.analysis.context import each
from isthmus.analysis.findings.common import pick
from isthmus.analysis.findings.finding import Cause, shown
from isthmus.analysis.findings.reached import known_of
from isthmus.analysis.summary import measured_on
from isthmus.checks import Check, Facts, Result
from isthmus.checks.base import as_root
from isthmus.frames import Frame, Series
from isthmus.program import Invocation
from isthmus.results.run_file import DeviceRecord, Point, Run
from isthmus.thresholds import AS_FAST, FAIR, GOOD, LARGE, LOWER, SMALL, START_UP, UNSTEADY
from isthmus.units import format_size, percent

ORDINARY = ("pageable", "aligned", "hugepage")
"""Kinds of memory that a driver may have to copy before the device reaches them."""
COPIES = ("write", "read", "read_bandwidth", "write_bandwidth")
MOST = 2
"""Causes in one sentence."""
_BY_HOST = r"\b(?:steal|timer_bound)\b"
"""Flags of times that the host itself disturbed."""


def copies_of(rows: Frame) -> Frame:
    """Verified copies in one direction that have a rate."""
    copies = rows[rows["operation"].isin(COPIES) & rows["bandwidth_Bps"].gt(0)]
    return copies[copies["verified"].eq("true") & copies["direction"].ne("")]


def large_of(copies: Frame) -> Frame:
    """Copies that show the rate of a link that is known: no larger copy is faster."""
    large = copies["limit"].eq("link") & (copies["bytes"] >= LARGE)
    return copies[large & copies["plateau"].eq(True)]


def best_of(copies: Frame) -> Iterator[Any]:
    """The best kind of memory in each direction, at the largest size of each kind."""
    largest = copies[
        copies["bytes"] == copies.groupby(["operation", "memory"]).spread("bytes", Series.max)
    ]
    for _, of_way in largest.groupby("operation", sort=False):
        yield pick(of_way, of_way["limit_share"].idxmax())


def lowest_of(best: Iterable[Any]) -> Any:
    """The row of the least share of its limit."""
    return min(best, key=lambda row: float(row.limit_share))


def judged(run: Run, device: DeviceRecord) -> list[tuple[Check, Result]]:
    """Checks of a device and its machine with their results, the likeliest cause first."""
    facts = Facts.of_run(run, device)
    if not facts.crosses:
        return []
    own = backends.of(device.backend).checks
    results = [*checks.judged(facts, own), *checks.judged(facts, machine=True)]
    return sorted(results, key=lambda one: one[0].place)


def bad_checks(run: Run, device: DeviceRecord) -> list[tuple[Check, Result]]:
    """Checks that found what can make copies slow."""
    found = {"bad", "warning"}
    return [one for one in judged(run, device) if one[1].state in found and one[0].fault]


def lesser_link(run: Run, device: DeviceRecord) -> str:
    """``x8 of x16`` if a check finds fewer lanes or a lower speed than the card has; else empty."""
    return ", ".join(one.lesser for _, one in judged(run, device) if one.lesser)


def by_check(check: Check, result: Result) -> Cause:
    """What a check found, as a cause."""
    return Cause(
        kind="check", of=check.fault, evidence=result.found, command=result.command,
        check=check.name,
    )  # fmt: skip


def causes_of(
    run: Run, device: DeviceRecord, rows: Frame, best: Sequence[Any], full: Any | None
) -> list[Cause]:
    """Why the lowest of the best rows is below its limit; no cause where it is not.

    ``full``: copy of another device that fills the same link, where there is one.
    """
    lowest = lowest_of(best)
    alone = lowest.limit_share < GOOD and full is None
    bad = [one for one in bad_checks(run, device) if alone or one[0].lowers_limit]
    changed = any(result.changed for _, result in bad)
    in_time = [] if changed or full is not None else list(_falling(run, device, rows))
    if alone and not changed and not in_time:
        in_time = list(_unsteady(rows))
    found = [*(by_check(*one) for one in bad), *in_time, *_bounced(run, device, rows, best)]
    ordinary = list(_only_ordinary(run, device, lowest))
    explained = [check for check, _ in bad if explains(check, rows, lowest)]
    # Known runs are by the card's own API; another API may need longer on a link that is well.
    by_other_api = full is not None and not backends.of(device.backend).own_api
    excused = explained or in_time or ordinary or by_other_api
    less = [] if excused else list(_less(run, device, best))
    if lowest.limit_share < FAIR:
        found = [*ordinary, *found]
        if not (explained or in_time or ordinary or less or as_known(device, best)):
            found += _unexplained(run, device, lowest, judged(run, device), full)
    return [*less, *found]


def furthest_below(device: DeviceRecord, best: Sequence[Any]) -> Any | None:
    """The copy that is furthest below every known run of such devices; None where none is."""
    rows_with_runs = [(row, runs) for row in best if (runs := known_of(device, row))]
    below = {float(row.bandwidth_Bps) / runs.least: row for row, runs in rows_with_runs}
    least = min(below, default=AS_FAST)
    return below[least] if least < AS_FAST else None


def _less(run: Run, device: DeviceRecord, best: Sequence[Any]) -> Iterator[Cause]:
    """A copy that is slower than every known run of such devices."""
    row = furthest_below(device, best)
    if row is not None and (runs := known_of(device, row)):
        yield Cause(
            kind="below_known",
            evidence=f"{row.operation} {shown(row.bandwidth_Bps, 'B/s')}; {runs.runs} known runs "
            f"of {runs.family}, scaled to this link: {shown(runs.least, 'B/s')} or more "
            f"(least: {runs.source})",
            command=_again(run, device),
        )


def as_known(device: DeviceRecord, best: Sequence[Any]) -> bool:
    """Whether each direction is as fast as a known run of a device of this name."""
    rows_with_runs = [(row, known_of(device, row)) for row in best]
    return all(runs and row.bandwidth_Bps >= AS_FAST * runs.own for row, runs in rows_with_runs)


def _again(run: Run, device: DeviceRecord) -> Invocation | str:
    """Measures once more: another time, or a node that is equal, tells a user from the device."""
    return again(run, "transfer", [device.address]) or ""


def explains(check: Check, rows: Frame, low: Any) -> bool:
    """Whether what a check found can slow such a copy.

    What slows the processor explains a copy that the processor takes part in: of ordinary memory,
    where no other was measured, or one of whose time ``START_UP`` or more is that of a small copy.
    The others pass it by.
    """
    alike = rows[rows["operation"] == low.operation]
    if check.of != "machine" or alike["memory"].isin(ORDINARY).all():
        return True
    same = alike[alike["memory"] == low.memory]
    small = same[same["bytes"].between(1, SMALL)]["median_s"]
    return small.empty or float(small.median()) >= START_UP * float(low.median_s)


def _only_ordinary(run: Run, device: DeviceRecord, row: Any) -> Iterator[Cause]:
    """The copy of ordinary memory, where no other kind was measured though there is one."""
    fastest = backends.of(device.backend).fastest_memory
    if row.memory in ORDINARY and fastest not in {"", row.memory}:
        yield _bounce(run, device, row.memory, fastest, f"only {row.memory} memory was measured")


def _unsteady(rows: Frame) -> Iterator[Cause]:
    """Copies whose best sample is much faster than the median one, though the host is at rest."""
    direct = large_of(copies_of(rows[~rows["memory"].isin(ORDINARY)]))
    for row in sorted(best_of(direct), key=lambda row: float(row.limit_share)):
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
    """Copies of one direction of which the last processes are slower than all before, everywhere.

    One late process alone counts where at least two sizes or kinds of memory show it, and where
    it is one of three at most: of many processes one may be disturbed.
    """
    disturbed = rows["flags"].str.contains(_BY_HOST)
    large = large_of(copies_of(rows[~rows["memory"].isin(ORDINARY) & ~disturbed]))
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
        # How much longer the shortest from a process on is than the longest before it.
        steps = {i: min(min(of[i:]) / max(of[:i]) for of in medians) for i in range(1, count)}
        first = max(steps, key=lambda i: steps[i], default=0)
        few = count - first == 1 and (count > 3 or len(points) < 2)
        if first and not few and steps[first] >= UNSTEADY:
            point, of = max(zip(points, medians, strict=True), key=lambda pair: pair[0].bytes)
            early, late = (
                point.moved_bytes / float(np.median(some)) for some in (of[:first], of[first:])
            )
            which = f"process {first + 1}" + (" on" if len(of) > first + 1 else "")
            if late < GOOD * float(direct["limit_Bps"].iloc[0]):
                yield Cause(
                    kind="falling",
                    evidence=f"{shown(early, 'B/s')} at {format_size(point.bytes)}, "
                    f"{shown(late, 'B/s')} from {which} of {len(of)}",
                    command="sensors; lspci -tv; ps aux",
                )
                return


def _medians(point: Point) -> list[float]:
    """Seconds of each process, in order."""
    reruns = sorted(measured_on(point, "host"), key=lambda rerun: rerun.rerun)
    return [float(np.median(rerun.seconds("host"))) for rerun in reruns]


def _bounced(run: Run, device: DeviceRecord, rows: Frame, best: Sequence[Any]) -> Iterator[Cause]:
    """Ordinary memory that is much slower than the best kind, in the same direction and size."""
    for row in best:
        same = rows[rows["operation"].eq(row.operation) & rows["bytes"].eq(row.bytes)]
        slow = same[LOWER * same["min_s"] > row.min_s]  # another user comes and goes
        for other in each(slow[slow["memory"].isin(ORDINARY)][:1]):
            rates = [
                f"{one.memory} memory {shown(one.bandwidth_Bps, 'B/s')}" for one in (other, row)
            ]
            yield _bounce(run, device, other.memory, row.memory, ", ".join(rates))
            return


def _bounce(run: Run, device: DeviceRecord, memory: str, other: str, evidence: str) -> Cause:
    command = again(run, "transfer", [device.address], {"memory": f"{memory},{other}"}) or ""
    return Cause(kind="bounce", of=memory, evidence=evidence, command=command)


def _unexplained(
    run: Run, device: DeviceRecord, row: Any, results: Sequence[tuple[Check, Result]],
    full: Any | None,
) -> Iterator[Cause]:  # fmt: skip
    """What may be the cause where no check is bad, and what would tell; ``full``: see above."""
    if full is not None:
        command = again(run, "transfer", [device.address, str(full.device)]) or ""
        filled = f"{full.device} reaches {percent(full.limit_share)} of the same link"
        yield Cause(kind="api", evidence=filled, command=command)
        return
    hidden = [(check, one) for check, one in results if one.state == "unknown" and check.fault]
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
