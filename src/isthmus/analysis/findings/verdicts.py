"""The verdict on each device of a study: normal, below its link, impossible, or not to be told.

A verdict comes from copies of ``LARGE`` bytes or more: the best kind of memory in each direction
beside what the link leaves for data. Causes come from two sources, ranked in this order: bad checks
of what was read of the machine (``isthmus.checks``, likeliest first), then what the times show.

1. Points that cannot be true make the verdict "impossible", whatever else is found.
2. A share below ``FAIR`` in a direction is "below"; from there to ``GOOD``, which many an engine
   does not reach by itself, only with a bad check or with 3. So is any bad check of what lowers
   the limit itself, also where the rate fills what is left.
3. The best sample reaches the median rate ``RESTLESS`` times or more, where the host was not
   disturbed and small copies are steady: something else used the link meanwhile. Ordinary memory
   does not count: a copy by the host scatters by itself.
4. Ordinary memory has less than ``BOUNCED`` of the rate of the best kind: it is copied once more.
5. Below a limit where only ordinary memory was measured, the copy that it needs comes first. With
   neither a bad check nor 3: what the system did not show, by the unknown checks; else the device
   itself, or a steady user of the link.
   Those last two cannot be told apart: the verdict is "unknown".
6. Where another device of the run is the same PCIe function, or the device in another study, and
   reaches ``GOOD`` in the same directions, the link is well: 3 and checks of all but the limit do
   not count, and the verdict is "normal", with the copy of ordinary memory or the API as the cause.
7. Without a large copy, or without a link that is known, nothing is decided ("unknown").

Emulated cards are never below: their boards say what they reach.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any

import msgspec
import numpy as np

from isthmus import backends, checks
from isthmus.analysis import wording
from isthmus.analysis.context import each
from isthmus.analysis.findings.common import FAIR, GOOD, LATENCY_BYTES, pick, reference_of
from isthmus.analysis.findings.finding import Cause, Finding, Verdict, shown
from isthmus.analysis.sentences import say
from isthmus.checks import Check, Facts, Result
from isthmus.frames import Frame, Series
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.units import format_size

LARGE = 1 << 20
"""Bytes from which a copy shows its link rather than its start-up time."""
RESTLESS = 1.15
"""Least ratio of the best sample's rate to the median's that another user of the link explains."""
BOUNCED = 0.8
"""Most share of the best memory's rate that ordinary memory has where it is copied once more."""
ORDINARY = ("pageable", "aligned", "hugepage")
"""Kinds of memory that a driver may have to copy before the device reaches them."""
_WORST = ("impossible", "below", "unknown", "normal")
_OTHER_USER = "another user of the link"
_ANY = "a slow device, or another user of the link"
_API = "the API or its driver"
_MOST = 2
"""Causes in one sentence."""
_COPIES = {"write": "h2d", "read": "d2h", "read_bandwidth": "h2d", "write_bandwidth": "d2h"}
_IMPOSSIBLE = {
    "above_link_limit": "faster than the link can be",
    "above_sum": "both directions at once exceed their sum",
}
"""Flags of figures that cannot be true where a link is crossed: the caches of a processor can."""
_NOT_TRUE = "above_link_limit|zero_copy"
_BY_HOST = r"\b(?:steal|timer_bound)\b"
"""Flags of times that the host itself disturbed."""


def verdicts(run: Run, summary: Frame) -> Iterator[Finding]:
    """A finding for each device and study with a link that is known, or with a figure not true.

    The first screen shows the worst of each study, where one is below or impossible.
    """
    rows = summary[summary["clock"] != "device"]
    for study, of_study in rows.groupby("study", sort=False):
        found = [
            finding
            for device in run.devices
            if len(own := of_study[of_study["device"] == device.address])
            for finding in _verdict(
                run,
                device,
                own,
                _same_function(run, device, rows.take(~np.isin(rows.index, own.index))),
            )
        ]
        found.sort(
            key=lambda one: (_WORST.index(one.verdict), not any(c.check for c in one.causes))
        )
        for i, finding in enumerate(found):
            first = i == 0 and finding.verdict in {"impossible", "below"}
            yield msgspec.structs.replace(finding, study=str(study), headline=first)


def _same_function(run: Run, device: DeviceRecord, rows: Frame) -> Frame:
    """Those rows whose device is the same PCIe function, e.g. by another API."""
    own = _function(device)
    same = [other.address for other in run.devices if own and _function(other) == own]
    return rows[rows["device"].isin(same)]


def _function(device: DeviceRecord) -> str:
    """PCI address of a real device; empty where it is not known."""
    if device.simulated:
        return ""
    return device.pci.device.address if device.pci else device.link.get("address", "")


def _verdict(run: Run, device: DeviceRecord, rows: Frame, others: Frame) -> Iterator[Finding]:
    wrong = list(_wrong(rows, device))
    copies = _copies(rows)
    large = _large(copies)
    if wrong:
        yield _finding(device, "impossible", wrong)
    elif device.simulated or copies.empty or not (device.link or device.pci):
        return  # a model's board says what it reaches
    elif large.empty:
        known = copies["limit"].eq("link").any()
        why = (
            f"no copy of {format_size(LARGE)} or more" if known else "its speed or width is hidden"
        )
        command = f"isthmus run {rows['study'].iloc[0]} --device {quote(device.address)}"
        yield _finding(device, "unknown", [Cause(name=why, evidence="", command=command)])
    else:
        best = list(_best(large))
        low = min(best, key=lambda row: float(row.limit_share))
        full = _full(best, _large(_copies(others))) if low.limit_share < GOOD else None
        causes = _causes(run, device, rows, best, full)
        open_ = any(cause.name.startswith((_ANY, "perhaps")) for cause in causes)
        named = any(cause.check or cause.name == _OTHER_USER for cause in causes)
        below = named or (low.limit_share < FAIR and full is None)
        kind: Verdict = "unknown" if open_ else "below" if below else "normal"
        yield _finding(device, kind, causes, low, full)


def _copies(rows: Frame) -> Frame:
    """Verified copies in one direction that have a rate."""
    copies = rows[rows["operation"].isin(_COPIES) & rows["bandwidth_Bps"].gt(0)]
    return copies[copies["verified"].eq("true") & copies["direction"].ne("")]


def _large(copies: Frame) -> Frame:
    """Copies that show the rate of a link that is known."""
    return copies[copies["limit"].eq("link") & copies["bytes"].ge(LARGE)]


def _full(best: Sequence[Any], others: Frame) -> Any | None:
    """The slowest of the other devices' best copies in the directions in which ``best`` is low.

    None unless each of these reaches ``GOOD`` of the link and is possible.
    """
    low = [row.direction for row in best if row.limit_share < GOOD]
    others = others[others["direction"].isin(low) & ~others["flags"].str.contains(_NOT_TRUE)]
    found = [row for row in _best(others) if row.limit_share >= GOOD]
    if {row.direction for row in found} < set(low):
        return None
    return min(found, key=lambda row: float(row.limit_share))


def _best(copies: Frame) -> Iterator[Any]:
    """The best kind of memory in each direction, at the largest size of each kind."""
    largest = copies[
        copies["bytes"] == copies.groupby(["operation", "memory"]).spread("bytes", Series.max)
    ]
    for _, of_way in largest.groupby("operation", sort=False):
        yield pick(of_way, of_way["limit_share"].idxmax())


def _wrong(rows: Frame, device: DeviceRecord) -> Iterator[Cause]:
    """Figures that cannot be true, by reason."""
    again = "show RUN.json --points --operation "
    crosses = device.simulated or bool(device.link or device.pci)
    for flag, reason in _IMPOSSIBLE.items() if crosses else ():
        marked = rows[rows["flags"].str.contains(rf"\b{flag}\b")]
        if len(marked):
            yield Cause(name=reason, evidence=_counted(marked), command=again + _named(marked))
    unmoved = rows[rows["verified"] == "false"]
    if len(unmoved):
        yield Cause(
            name="data did not arrive", evidence=_counted(unmoved), command=again + _named(unmoved)
        )
    empty = rows[rows["operation"].isin(["read", "write"])]
    empty = empty[empty["flags"].str.contains("zero_copy")]
    if len(empty) and device.link:
        yield Cause(
            name="nothing was copied", evidence=_counted(empty), command=again + _named(empty)
        )


def _counted(rows: Frame) -> str:
    return f"{len(rows)} point{'s' if len(rows) > 1 else ''} of {_named(rows)}"


def _named(rows: Frame) -> str:
    return ",".join(rows["operation"].unique())


def _causes(
    run: Run, device: DeviceRecord, rows: Frame, best: Sequence[Any], full: Any | None
) -> list[Cause]:
    """Why the lowest of the best rows is below its limit; no cause where it is not.

    ``full``: copy of another device that fills the same link, where there is one.
    """
    lowest = min(best, key=lambda row: float(row.limit_share))
    low = lowest.limit_share < GOOD
    judged = list(_judged(run, device))
    alone = low and full is None
    bad = [
        (check, one)
        for check, one in judged
        if one.state == "bad" and check.fault and (alone or check.lowers_limit)
    ]
    restless = list(_restless(rows)) if alone else []
    found = [*(_by_check(*one) for one in bad), *restless, *_bounced(device, rows, best)]
    if lowest.limit_share < FAIR:
        ordinary = list(_only_ordinary(device, lowest))
        found = [*ordinary, *found]
        if not (bad or restless or ordinary):
            found += _unexplained(device, lowest, judged, full)
    return found


def _only_ordinary(device: DeviceRecord, row: Any) -> Iterator[Cause]:
    """The copy of ordinary memory, where no other kind was measured though there is one."""
    fastest = backends.of(device.backend).fastest_memory
    if row.memory in ORDINARY and fastest not in {"", row.memory}:
        yield _bounce(device, row.memory, fastest, f"only {row.memory} memory was measured")


def _judged(run: Run, device: DeviceRecord) -> Iterator[tuple[Check, Result]]:
    """Checks of a device and its machine with their results, the likeliest cause first."""
    facts = Facts.of_run(run, device)
    if facts.crosses:
        own = backends.of(device.backend).checks
        results = [*checks.judged(facts, own), *checks.judged(facts, machine=True)]
        yield from sorted(results, key=lambda one: one[0].place)


def _by_check(check: Check, result: Result) -> Cause:
    return Cause(name=check.fault, evidence=result.found, command=result.command, check=check.name)


def _restless(rows: Frame) -> Iterator[Cause]:
    """Copies whose best sample is much faster than the median one, though the host is at rest.

    Not from ordinary memory: a copy by the host scatters by itself.
    """
    direct = _large(_copies(rows[~rows["memory"].isin(ORDINARY)]))
    for row in sorted(_best(direct), key=lambda row: float(row.limit_share)):
        same = rows[(rows["operation"] == row.operation) & (rows["memory"] == row.memory)]
        small = same[same["bytes"].between(1, LATENCY_BYTES)]
        calm = small.empty or float((small["median_s"] / small["p10_s"]).median()) < RESTLESS
        ratio = row.median_s / row.min_s
        if ratio >= RESTLESS and calm and not re.search(_BY_HOST, row.flags):
            top, usual = (
                shown(rate, "B/s") for rate in (ratio * row.bandwidth_Bps, row.bandwidth_Bps)
            )
            yield Cause(
                name=_OTHER_USER,
                evidence=f"best sample {top}, median {usual} at {format_size(int(row.bytes))}",
                command="lspci -tv; ps aux",
            )
            return


def _bounced(device: DeviceRecord, rows: Frame, best: Sequence[Any]) -> Iterator[Cause]:
    """Ordinary memory that is much slower than the best kind, in the same direction and size."""
    for row in best:
        same = rows[rows["operation"].eq(row.operation) & rows["bytes"].eq(row.bytes)]
        slow = same[BOUNCED * same["min_s"] > row.min_s]  # another user comes and goes
        for other in each(slow[slow["memory"].isin(ORDINARY)][:1]):
            rates = [
                f"{one.memory} memory {shown(one.bandwidth_Bps, 'B/s')}" for one in (other, row)
            ]
            yield _bounce(device, other.memory, row.memory, ", ".join(rates))
            return


def _bounce(device: DeviceRecord, memory: str, other: str, evidence: str) -> Cause:
    command = f"isthmus run transfer --device {quote(device.address)} --memory {memory},{other}"
    return Cause(name=f"a bounce copy of {memory} memory", evidence=evidence, command=command)


def _unexplained(
    device: DeviceRecord, row: Any, judged: Sequence[tuple[Check, Result]], full: Any | None
) -> Iterator[Cause]:
    """What may be the cause where no check is bad, and what would tell; ``full``: see above."""
    if full is not None:
        both = f"--device {quote(device.address)} --device {quote(full.device)}"
        filled = f"{full.device} reaches {wording.percent(full.limit_share)} of the same link"
        yield Cause(name=_API, evidence=filled, command=f"isthmus run transfer {both}")
        return
    hidden = [(check, one) for check, one in judged if one.state == "unknown" and check.fault]
    for check, result in hidden[:_MOST]:
        cause = _by_check(check, result)
        yield msgspec.structs.replace(
            cause, name=f"perhaps {check.fault}", command=result.command or "sudo isthmus doctor"
        )
    if not hidden:
        yield Cause(
            name=_ANY,
            evidence=f"a steady {wording.percent(row.limit_share)} of the link; no check is bad",
            command=f"isthmus doctor --all {quote(device.address)}",
        )


def _finding(
    device: DeviceRecord, verdict: Verdict, causes: Sequence[Cause],
    low: Any = None, full: Any | None = None,
) -> Finding:  # fmt: skip
    share = "" if low is None else wording.percent(low.limit_share)
    values = {"who": device.address, "causes": ", ".join(one.name for one in causes[:_MOST])}
    values["how"] = "; isthmus doctor" if any(one.check for one in causes) else ""
    kind: str = {"unknown": "open", "below": "below_link"}.get(verdict, verdict)
    if verdict == "below" and low.limit_share >= GOOD:
        kind = "lesser_link"
    elif verdict == "normal" and full is not None and low.limit_share < FAIR:
        kind = "normal_link"
        other = str(full.device)
        if other == device.address:
            other += f" ({full.study})"
        values |= {"other": other, "share": wording.percent(full.limit_share)}
    elif verdict == "normal":
        values |= {"share": share}
        if causes:
            kind = "normal_best"
            values |= {"best": str(low.memory), "usual": causes[0].name.split()[-2]}
    first = causes[0] if causes else None
    doctor = f"doctor {quote(device.address)}"
    return Finding(
        study="", subject=device.address, quantity="use of the link", interval=None,
        unit="", verdict=verdict, share=None if low is None else float(low.limit_share),
        reference=None if low is None else reference_of(low), causes=list(causes),
        remark=first.name if first else verdict, sentence=say(kind, **values),
        action="" if not first else doctor if first.check
        else first.command.removeprefix("isthmus ") * first.command.startswith("isthmus "),
        device=device.address,
    )  # fmt: skip
