"""A finding as data."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from isthmus.program import Invocation
from isthmus.statistics import Interval

MOST_HEADLINES = 4
"""Most headlines for each study and kind of device."""
ReferenceKind = Literal["limit", "published", "modelled", "memcpy", "other"]
CauseKind = Literal[
    "check", "hidden_check", "below_known", "falling", "other_user", "bounce", "api",
    "device_or_user", "above_limit", "above_sum", "not_arrived", "not_copied", "moved_nothing",
    "not_run", "unverified", "no_large_copy", "hidden_link",
]  # fmt: skip
"""Kinds of causes; ``CAUSES`` has words for each kind."""
CAUSES = MappingProxyType(
    {
        "check": "{of}",
        "hidden_check": "perhaps {of}",
        "below_known": "another user of the link, or a fault that no check sees",
        "falling": "a rate that falls during the run (heat or another user)",
        "other_user": "another user of the link",
        "bounce": "a bounce copy of {of} memory",
        "api": "the API or its driver",
        "device_or_user": "a slow device, or another user of the link",
        "above_limit": "faster than the link can be",
        "above_sum": "both directions at once exceed their sum",
        "not_arrived": "data did not arrive",
        "not_copied": "nothing was copied",
        "moved_nothing": "kernels that moved nothing",
        "not_run": "a kernel that did not run",
        "unverified": "data not verified",
        "no_large_copy": "no copy is so large that a larger one is no faster",
        "hidden_link": "its speed or width is hidden",
    }
)
"""Causes of verdicts in a few words, by ``Cause.kind``."""
Verdict = Literal[
    "good", "fair", "poor", "same", "faster", "slower", "undecided", "none",
    "normal", "below", "impossible", "unknown",
]  # fmt: skip


class Reference(msgspec.Struct, frozen=True):
    """A value that a finding's figure is compared with."""

    kind: ReferenceKind
    """``other``: another figure of the run, such as the CPU's time for an offload."""
    value: float
    """Value in the unit of the finding."""
    name: str
    """Name in sentences: "link", "memcpy"."""
    source: str = ""
    """Origin of the value: "PCIe gen5 x16, MPS 256"."""


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why a figure is as it is, or why it cannot be true."""

    kind: CauseKind
    of: str = ""
    """The fault that the check looks for, or the kind of memory that ``kind`` is about."""
    evidence: str
    """Value read or measured that shows the cause, in words."""
    command: Invocation | str
    """Command of Isthmus, or line for a shell, that shows the cause or decides if it holds."""
    check: str = ""
    """Check of ``isthmus doctor`` that found the cause; empty if measured times show it."""

    @property
    def name(self) -> str:
        """The cause in a few words: "small packets"."""
        return CAUSES[self.kind].format(of=self.of)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a study: a figure, its interval and reference, and a sentence."""

    study: str
    subject: str
    """Device and kind of memory of the figure: "cuda:0, pinned"; a model is named as such."""
    quantity: str
    """Name of the figure: "copy to device, 256Mi"."""
    interval: Interval | None
    unit: str
    """Unit of the interval: "s", "B/s", "1" for a ratio."""
    template: str = ""
    """Name of the sentence's template in ``analysis.sentences``; empty: ``sentence`` is set."""
    values: Mapping[str, str] = {}
    """Values of the template."""
    sentence: str = ""
    """Plain English in at most 100 characters; ``findings`` writes the sentences last."""
    reference: Reference | None = None
    share: float | None = None
    """Figure divided by the reference's value; None without a reference."""
    verdict: Verdict = "none"
    remark: str = ""
    """A few words for the table: "at the limit", "pinned is 7.4 x"."""
    action: Invocation | str = ""
    """Advised command of Isthmus, or call of an API; empty if none is advised."""
    causes: list[Cause] = []
    """Causes of the verdict, the likeliest first."""
    evidence: str = ""
    """Name of the answer with the figures (``Answer.name``); empty: the operation's points."""
    headline: bool = False
    """Whether the first screen shows the finding."""
    devices: int = 1
    """Number of alike devices whose range the interval spans."""
    device: str = ""
    """Device of the figure's point in the run; with the next four fields, empty for several."""
    operation: str = ""
    memory: str = ""
    bytes: int = 0
    clock: str = ""
    beside: str = ""
    """Address of the card under its own API, if the finding compares another API; else empty."""
    figure: str = ""
    """The value with its unit: ``54.7 GB/s``, ``7.24 us``, ``1.3 x``; empty without a value.

    ``findings`` writes it, like the fields below and ``sentence``.
    """
    span: str = ""
    """The interval in the value's unit, ``54.4 to 55.0``; empty where exact or unknown."""
    percent: str = ""
    """The share of the reference: ``94 %``; empty without a reference."""
    too_wide: bool = False
    """Whether the interval is too wide for the figure to be useful."""

    certainty: str = ""
    """The interval as in ``span``; if ``too_wide`` holds, the reason in words."""


def plain(finding: Finding) -> dict[str, Any]:
    """A finding as plain data for JSON: interval ends by name, unknown values as null."""
    data = msgspec.structs.asdict(finding)
    for name in ("template", "values", "figure", "span", "percent", "too_wide", "certainty"):
        del data[name]  # texts, whose figures the other fields have
    if finding.interval is not None:
        ends = zip(("value", "low", "high", "confidence"), finding.interval, strict=True)
        # JSON has no NaN.
        data["interval"] = {name: end if abs(end) < float("inf") else None for name, end in ends}
    data["action"] = str(finding.action)
    data["causes"] = [
        {"name": cause.name, **msgspec.structs.asdict(cause), "command": str(cause.command)}
        for cause in finding.causes
    ]
    data["reference"] = finding.reference and msgspec.structs.asdict(finding.reference)
    return data
