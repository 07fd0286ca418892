"""The verdict on each device of a study: normal, below its link, impossible, or not to be told.

A verdict comes from copies of ``LARGE`` bytes or more: the best kind of memory in each direction
beside what the link leaves for data. ``causes`` says why it is lower, the likeliest cause first.

1. Points that cannot be true make the verdict "impossible", whatever else is found.
2. A share below ``FAIR`` in a direction is "below"; from there to ``GOOD``, which many an engine
   does not reach by itself, only with a bad check that explains it, another user, or a rate that
   falls during the run. So is any bad check of what lowers the limit itself, also where the rate
   fills what is left, and where no large copy was made.
3. Where the device's name is known (``reached``), below every known run of such devices is
   "below", and as fast as those of its name is "normal".
4. Below a limit where only ordinary memory was measured, the copy that it needs comes first. With
   nothing that explains it: what the system did not show, by the unknown checks; else the device
   itself, or a steady user of the link. Those two cannot be told apart: the verdict is "unknown".
   So it is where only a bad check shows that the processor is slow: copies do not need it.
5. Where another device of the run is the same PCIe function, or the device in another study, and
   reaches ``GOOD`` in the same directions, the link is well: only checks of the limit count, and
   the verdict is "normal", with the copy of ordinary memory or the API as the cause.
6. Without a large copy, without a link that is known, or where nothing checked that the data
   arrived, nothing is decided ("unknown").

Emulated cards are never below: their boards say what they reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from isthmus.analysis import limits
from isthmus.analysis.commands import again, is_address, points_of
from isthmus.analysis.findings import causes
from isthmus.analysis.findings.common import reference_of
from isthmus.analysis.findings.finding import Cause, CauseKind, Finding, Verdict, shown
from isthmus.analysis.findings.reached import known_of
from isthmus.analysis.sentences import say
from isthmus.frames import Frame, Series
from isthmus.program import Invocation, invocation
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.text import counted
from isthmus.thresholds import FAIR, GOOD, LAUNCH_S
from isthmus.units import percent

_WORST = ("impossible", "below", "unknown", "normal")
_NOT_TRUE = "above_link_limit|zero_copy"


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
    copies = causes.copies_of(rows)
    large = causes.large_of(copies)
    unchecked = list(_unchecked(run, rows))
    if wrong:
        yield _finding(device, "impossible", wrong)
    elif device.simulated or not (device.link or device.pci):
        return  # a model's board says what it reaches
    elif large.empty:
        if len(copies) or unchecked:
            yield _without_large(run, device, copies, rows, unchecked)
    else:
        best = list(causes.best_of(large))
        low = causes.lowest_of(best)
        full = _full(best, causes.large_of(causes.copies_of(others)))
        found = causes.causes_of(run, device, rows, best, full)
        if found and found[0].kind == "below_known":
            low = causes.furthest_below(device, best)
        kind = _kind(run, device, rows, found, best, full, unchecked)
        lesser = causes.lesser_link(run, device)
        yield _finding(device, kind, [*found, *unchecked], low, full, lesser)


def _kind(
    run: Run, device: DeviceRecord, rows: Frame, found: Sequence[Cause], best: Sequence[Any],
    full: Any | None, unchecked: Sequence[Cause],
) -> Verdict:  # fmt: skip
    """The verdict on the best copies of each direction."""
    low = causes.lowest_of(best)
    bad = {check.name: causes.explains(check, rows, low)
           for check, _ in causes.bad_checks(run, device)}  # fmt: skip
    checked = [bad[cause.check] for cause in found if cause.check in bad]
    kinds = {cause.kind for cause in found}
    if kinds & {"device_or_user", "hidden_check"}:
        return "unknown"
    if any(checked) or kinds & {"other_user", "falling", "below_known"}:
        return "below"
    well = low.limit_share >= FAIR or causes.as_known(device, best)
    if checked or (unchecked and well):
        return "unknown"
    return "normal" if well or full is not None else "below"


def _without_large(
    run: Run, device: DeviceRecord, copies: Frame, rows: Frame,
    unchecked: Sequence[Cause],
) -> Finding:  # fmt: skip
    """The verdict without a large copy that was seen to arrive: from the checks alone."""
    why: CauseKind = "no_large_copy" if copies["limit"].eq("link").any() else "hidden_link"
    command = again(run, str(rows["study"].iloc[0]), [device.address]) or ""
    open_ = [Cause(kind=why, evidence="", command=command)] if len(copies) else []
    bad = causes.bad_checks(run, device)
    lower = [causes.by_check(*one) for one in bad if one[0].lowers_limit]
    other = [causes.by_check(*one) for one in bad if not one[0].lowers_limit]
    known = [*lower, *unchecked, *open_, *other]
    return _finding(device, "below" if lower else "unknown", known)


def _full(best: Sequence[Any], others: Frame) -> Any | None:
    """The slowest of the other devices' best copies in the directions in which ``best`` is low.

    None where no direction is low, and unless each of these copies reaches ``GOOD`` of the link and
    is possible.
    """
    low = [row.direction for row in best if row.limit_share < GOOD]
    if not low:
        return None
    others = others[others["direction"].isin(low) & ~others["flags"].str.contains(_NOT_TRUE)]
    found = [row for row in causes.best_of(others) if row.limit_share >= GOOD]
    if {row.direction for row in found} < set(low):
        return None
    return min(found, key=lambda row: float(row.limit_share))


def _wrong(rows: Frame, device: DeviceRecord) -> Iterator[Cause]:
    """Figures that cannot be true, by kind."""
    crosses = device.simulated or bool(device.link or device.pci)
    flags, kernels = rows["flags"].str, rows["initiator"] == "kernel"
    empty = flags.contains("zero_copy") & bool(device.link)
    launched = rows["operation"].eq("launch") & (rows["median_s"] < LAUNCH_S)
    untrue: dict[CauseKind, Series] = {
        # Where a link is crossed: the caches of a processor can.
        "above_limit": flags.contains(r"\babove_link_limit\b") & crosses,
        "above_sum": flags.contains(r"\babove_sum\b") & crosses,
        "not_arrived": rows["verified"] == "false",
        "not_copied": empty & rows["operation"].isin(["read", "write"]),
        "moved_nothing": empty & kernels,
        "not_run": launched & crosses & (not device.simulated),
    }
    for kind, wrong in untrue.items():
        yield from _told(kind, rows[wrong])


def _unchecked(run: Run, rows: Frame) -> Iterator[Cause]:
    """Copies of which nothing checked whether the data arrived, where this program measured."""
    if run.origin is None:
        copies = rows[rows["operation"].isin(causes.COPIES) & rows["bandwidth_Bps"].gt(0)]
        yield from _told("unverified", copies[copies["verified"].eq("na")])


def _told(kind: CauseKind, rows: Frame) -> Iterator[Cause]:
    """A cause that these rows show, if there are any."""
    operations = [str(operation) for operation in rows["operation"].unique()]
    named = ",".join(operations)
    if len(rows):
        yield Cause(
            kind=kind, evidence=f"{counted(len(rows), 'point', 'points')} of {named}",
            command=points_of(operations) or "",
        )  # fmt: skip


def _finding(
    device: DeviceRecord, verdict: Verdict, device_causes: Sequence[Cause],
    low: Any = None, full: Any | None = None, lesser: str = "",
) -> Finding:  # fmt: skip
    """The finding; ``lesser``: the trained link, where the card can have more."""
    share = "" if low is None else percent(low.limit_share)
    values = {
        "who": device.address,
        "causes": ", ".join(cause.name for cause in device_causes[: causes.MOST]),
    }
    values["how"] = "; isthmus doctor" if any(cause.check for cause in device_causes) else ""
    values["lesser"] = f"; {lesser}" if lesser else ""
    kind: str = {"unknown": "open", "below": "below_link"}.get(verdict, verdict)
    kinds = {cause.kind for cause in device_causes}
    runs = None if low is None else known_of(device, low)
    if runs:
        values |= {"rate": shown(low.bandwidth_Bps, "B/s"), "operation": str(low.operation)}
        values |= {"least": shown(runs.least, "B/s"), "most": shown(runs.most, "B/s")}
        values |= {"family": runs.family}
    if "below_known" in kinds:
        kind = "below_known"
    elif kinds == {"not_arrived"}:
        kind = "not_arrived"
    elif "device_or_user" in kinds:
        kind, values["share"] = "open_user", share
    elif verdict == "normal" and full is None and low.limit_share < FAIR:
        kind = "normal_known"
    elif verdict == "below" and (low is None or low.limit_share >= GOOD) and device_causes[0].check:
        kind = "lesser_link"
    elif verdict == "normal" and full is not None and low.limit_share < FAIR:
        kind = "normal_link"
        other = str(full.device)
        if other == device.address:
            other += f" ({full.study})"
        values |= {"other": other, "share": percent(full.limit_share)}
    elif verdict == "normal":
        assumed = limits.assumed(device)
        values |= {"share": share, "assumed": f", {assumed} assumed" if assumed else ""}
        if device_causes:
            kind = "normal_best"
            values |= {"best": str(low.memory), "usual": device_causes[0].of}
    first = device_causes[0] if device_causes else None
    action = first.command if first and isinstance(first.command, Invocation) else ""
    if first and first.check and is_address(device.address):
        action = invocation("doctor", device.address)
    return Finding(
        study="", subject=device.address, quantity="use of the link", interval=None,
        unit="", verdict=verdict, share=None if low is None else float(low.limit_share),
        reference=None if low is None else reference_of(low), causes=list(device_causes),
        remark=first.name if first else verdict, sentence=say(kind, **values),
        action=action,
        device=device.address,
    )  # fmt: skip
