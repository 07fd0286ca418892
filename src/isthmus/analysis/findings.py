"""What a study found, as data: terminal, page, Markdown, JSON and Python show the same findings."""

from __future__ import annotations

from typing import Literal

import msgspec

from isthmus.statistics import Interval

ReferenceKind = Literal["limit", "published", "modelled", "memcpy"]
Verdict = Literal["good", "fair", "poor", "same", "faster", "slower", "undecided", "none"]


class Reference(msgspec.Struct, frozen=True):
    """What a figure is held against."""

    kind: ReferenceKind
    value: float
    name: str
    """In the reader's words: "PCIe gen5 x16", "memcpy of the same size"."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that a study found."""

    study: str
    subject: str
    """Whose figure it is: a device or API, and what else tells it from others."""
    quantity: str
    """What the figure is: "copy to device, 256 MiB"."""
    interval: Interval | None
    unit: str
    """Of the interval: "s", "B/s", "1" for a ratio."""
    sentence: str
    """At most 100 characters, plain English."""
    reference: Reference | None = None
    share: float | None = None
    """Of the reference; 1 is all of it."""
    verdict: Verdict = "none"
    action: str = ""
    """What to do: a call to make or a command to run."""
    evidence: str = ""
    """Name of the table (``Answer.name``) or of the operation whose points stand behind it."""
    headline: bool = False
    """Whether it stands on the first screen; at most four of a study do."""
