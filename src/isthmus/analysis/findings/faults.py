"""What a run's checks found wrong with a device, where it explains a low rate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import quote

from isthmus import backends, checks
from isthmus.analysis.findings.finding import Finding
from isthmus.analysis.sentences import say
from isthmus.checks import Check, Facts
from isthmus.results.run_file import DeviceRecord, Run

_LOW = ("fair", "poor")
_MOST = 2
"""Causes in one sentence."""


def explained(run: Run, findings: Sequence[Finding]) -> Iterator[Finding]:
    """One finding for each device whose checks explain a rate below its link's limit.

    Or whose link itself is less than slot and card allow. It belongs to the study of the rate.
    """
    for device in run.devices:
        rates = [
            one
            for one in findings
            if one.device == device.address and one.reference and one.reference.kind == "limit"
        ]
        faults = _faults(run, device) if rates else []
        low = next((one for one in rates if one.verdict in _LOW), None)
        if low is None:
            faults = [check for check in faults if check.lowers_limit]
        if not faults:
            continue
        causes = ", ".join(check.fault for check in faults[:_MOST])
        yield Finding(
            study=(low or rates[0]).study,
            subject=device.address,
            quantity=f"link of {device.address}",
            interval=None,
            unit="",
            verdict="poor",
            remark=faults[0].fault,
            sentence=say("below_link" if low else "lesser_link", causes=causes, who=device.address),
            action=f"doctor {quote(device.address)}",
            device=device.address,
            headline=True,
        )


def _faults(run: Run, device: DeviceRecord) -> list[Check]:
    """Checks with a bad result that can make copies slow, the likeliest cause first."""
    facts = Facts.of_run(run, device)
    if not facts.crosses:
        return []
    backend = backends.registry().get(device.backend)
    own = backend.checks if backend else ()
    known = {**checks.registry(), **{check.name: check for check in own}}
    results = [*checks.of_device(facts, own), *checks.of_machine(facts)]
    bad = [known[one.check] for one in results if one.state == "bad" and known[one.check].fault]
    return sorted(bad, key=lambda check: check.place)
