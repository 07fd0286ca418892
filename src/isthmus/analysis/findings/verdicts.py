"""The verdict on each device of a study: normal, below its link, impossible, or unknown.

A verdict compares copies of ``LARGE`` bytes or more with what the link leaves for data, for the
best kind of memory in each direction. ``causes`` lists why copies are slower, likeliest first.

1. Figures that cannot be true make the verdict "impossible", whatever else is found.
2. A model, and a device without a link, gets no other verdict: a board file defines its rates.
3. A bad check that lowers the link's limit is "below", even without large copies.
4. A share of ``GOOD`` or more is "normal", unless 3 holds or the rate falls during the run.
5. A share below ``GOOD`` is "below" if a bad check explains it, if another user of the link shows,
   or if the rate falls during the run. Many DMA engines do not reach ``GOOD`` without a fault.
6. A share below ``FAIR`` needs a cause. Memory that the driver copies once more is a cause
   ("below"). Without a cause the verdict is "unknown": checks without a result come first, else
   a slow device or a steady user of the link, which no run can distinguish.
7. Known runs of the device's family (``reached``): slower than all of them is "below" if nothing
   of 3, 5 and 6 explains it. As fast as a known run of the same name needs no cause in 6.
8. Other copies of the same PCIe function may reach ``GOOD`` in these directions, by another API or
   in another study. The link is then healthy, and 5 and 6 do not hold: the API is the cause.
9. The verdict is "unknown" without a large copy, without a known limit of the link, if the only
   bad check is a slow processor that such copies do not need, or if data were not verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from isthmus.analysis import limits
from isthmus.analysis.commands import again, is_address, points_of
from isthmus.analysis.findings import causes
from isthmus.analysis.findings.common import limit_of
from isthmus.analysis.findings.finding import Cause, CauseKind, Finding, Verdict
from isthmus.analysis.findings.reached import known_of
from isthmus.frames import Frame, Series
from isthmus.program import Invocation, invocation
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.text import counted
from isthmus.thresholds import FAIR, GOOD, LAUNCH_S
from isthmus.units import percent, shown

_WORST = ("impossible", "below", "unknown", "normal")


def verdicts(run: Run, summary: Frame) -> Iterator[Finding]:
    """Yields a finding for each device behind a link, and for impossible figures, in each study.

    The first screen shows the worst finding of each study if it is "below" or "impossible".
    """
    rows = summary[summary["clock"] != "device"]
    for study, of_study in rows.groupby("study", sort=False):
        findings = [
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
        findings.sort(key=lambda f: (_WORST.index(f.verdict), not any(c.check for c in f.causes)))
        for i, finding in enumerate(findings):
            first = i == 0 and finding.verdict in {"impossible", "below"}
            yield msgspec.structs.replace(finding, study=str(study), headline=first)


def _same_function(run: Run, device: DeviceRecord, rows: Frame) -> Frame:
    """Rows of devices at the PCIe function of ``device``, which another API may have measured."""
    own = _function(device)
    same = [other.address for other in run.devices if own and _function(other) == own]
    return rows[rows["device"].isin(same)]


def _function(device: DeviceRecord) -> str:
    """PCI address of a real device; empty for a model, or if the address is unknown."""
    if device.simulated:
        return ""
    return device.pci.device.address if device.pci else device.link.get("address", "")


def _verdict(run: Run, device: DeviceRecord, rows: Frame, others: Frame) -> Iterator[Finding]:
    wrong = list(_wrong(rows, device))
    unchecked = list(_unchecked(run, rows))
    if wrong:
        yield _finding(device, "impossible", wrong)
        return
    if device.simulated or not (device.link or device.pci):
        return  # a board file defines a model's rates, and a processor has no link
    examined = causes.examine(run, device, rows, others)
    if examined.best:
        kind = _kind(examined, unchecked)
        of_device = [*examined.causes, *unchecked]
        yield _finding(device, kind, of_device, examined.low, examined.filling, examined.lesser)
    elif len(examined.copies) or unchecked:
        yield _without_large(run, device, examined, rows, unchecked)


def _kind(examined: causes.Examined, unchecked: Sequence[Cause]) -> Verdict:
    """Returns the verdict on the best copies of each direction."""
    kinds = {cause.kind for cause in examined.causes}
    if kinds & {"device_or_user", "hidden_check"}:
        return "unknown"
    if any(examined.checks_explain) or kinds & {"other_user", "falling", "below_known"}:
        return "below"
    has_other_bad_checks = len(examined.checks_explain) > 0
    if has_other_bad_checks or (unchecked and examined.well):
        return "unknown"
    return "normal" if examined.well or examined.filling is not None else "below"


def _without_large(
    run: Run, device: DeviceRecord, examined: causes.Examined, rows: Frame,
    unchecked: Sequence[Cause],
) -> Finding:  # fmt: skip
    """Returns the verdict that checks alone give, without a large copy whose data arrived."""
    why: CauseKind = "no_large_copy" if examined.copies["limit"].eq("link").any() else "hidden_link"
    command = again(run, str(rows["study"].iloc[0]), [device.address])
    open_ = [Cause(kind=why, evidence="", command=command)] if len(examined.copies) else []
    lower = [causes.by_check(*pair) for pair in examined.bad if pair[0].lowers_limit]
    other = [causes.by_check(*pair) for pair in examined.bad if not pair[0].lowers_limit]
    all_causes = [*lower, *unchecked, *open_, *other]
    return _finding(device, "below" if lower else "unknown", all_causes)


def _wrong(rows: Frame, device: DeviceRecord) -> Iterator[Cause]:
    """Yields a cause for each kind of figure that cannot be true."""
    crosses = device.simulated or bool(device.link or device.pci)
    flags, kernels = rows["flags"].str, rows["initiator"] == "kernel"
    empty = flags.contains("zero_copy") & bool(device.link)
    launched = rows["operation"].eq("launch") & (rows["median_s"] < LAUNCH_S)
    untrue: dict[CauseKind, Series] = {
        # The limit holds only across a link: the caches of a processor can be faster.
        "above_limit": flags.contains(r"\babove_link_limit\b") & crosses,
        "above_sum": flags.contains(r"\babove_sum\b") & crosses,
        "not_arrived": rows["verified"] == "false",
        "not_copied": empty & rows["operation"].isin(["read", "write"]),
        "moved_nothing": empty & kernels,
        "not_run": launched & crosses & (not device.simulated),
    }
    for kind, wrong in untrue.items():
        yield from _shown_by(kind, rows[wrong])


def _unchecked(run: Run, rows: Frame) -> Iterator[Cause]:
    """Yields a cause if measured copies were not verified."""
    if run.origin is None:
        copies = rows[rows["operation"].isin(causes.COPIES) & rows["bandwidth_Bps"].gt(0)]
        yield from _shown_by("unverified", copies[copies["verified"].eq("na")])


def _shown_by(kind: CauseKind, rows: Frame) -> Iterator[Cause]:
    """Yields a cause of this kind with ``rows`` as evidence, if there are rows."""
    operations = [str(operation) for operation in rows["operation"].unique()]
    named = ",".join(operations)
    if len(rows):
        yield Cause(
            kind=kind, evidence=f"{counted(len(rows), 'point', 'points')} of {named}",
            command=points_of(operations) or "",
        )  # fmt: skip


def _finding(
    device: DeviceRecord, verdict: Verdict, device_causes: Sequence[Cause],
    low: Any = None, filling: Any | None = None, lesser: str = "",
) -> Finding:  # fmt: skip
    """Makes the finding; ``lesser``: trained link, if the card allows more lanes or speed."""
    share = "" if low is None else percent(low.limit_share)
    values = {
        "who": device.address,
        "causes": ", ".join(cause.name for cause in device_causes[: causes.MOST]),
    }
    values["how"] = "; isthmus doctor" if any(cause.check for cause in device_causes) else ""
    values["lesser"] = f"; {lesser}" if lesser else ""
    template: str = {"unknown": "open", "below": "below_link"}.get(verdict, verdict)
    kinds = {cause.kind for cause in device_causes}
    runs = None if low is None else known_of(device, low)
    if runs:
        values |= {"rate": shown(low.bandwidth_Bps, "B/s"), "operation": str(low.operation)}
        values |= {
            "least": shown(runs.least_of_family, "B/s"),
            "most": shown(runs.most_of_family, "B/s"),
        }
        values |= {"family": runs.family}
    if "below_known" in kinds:
        template = "below_known"
    elif kinds == {"not_arrived"}:
        template = "not_arrived"
    elif "device_or_user" in kinds:
        template, values["share"] = "open_user", share
    elif verdict == "normal" and filling is None and low.limit_share < FAIR:
        template = "normal_known"
    elif verdict == "below" and (low is None or low.limit_share >= GOOD) and device_causes[0].check:
        template = "lesser_link"  # copies fill what is left of the link
    elif verdict == "normal" and filling is not None and low.limit_share < FAIR:
        template = "normal_link"
        other = str(filling.device)
        if other == device.address:
            other += f" ({filling.study})"
        values |= {"other": other, "share": percent(filling.limit_share)}
    elif verdict == "normal":
        assumed = limits.assumed(device)
        values |= {"share": share, "assumed": f", {assumed} assumed" if assumed else ""}
        if device_causes:
            template = "normal_best"
            values |= {"best": str(low.memory), "usual": device_causes[0].of}
    first = device_causes[0] if device_causes else None
    action = first.command if first and isinstance(first.command, Invocation) else ""
    if first and first.check and is_address(device.address):
        action = invocation("doctor", device.address)
    return Finding(
        study="", subject=device.address, quantity="use of the link", interval=None,
        unit="", verdict=verdict, share=None if low is None else float(low.limit_share),
        reference=None if low is None else limit_of(low).reference, causes=list(device_causes),
        remark=first.name if first else verdict, template=template, values=values,
        action=action,
        device=device.address,
    )  # fmt: skip
