"""The results of judging, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from isthmus.importers.base import LinkFact, Log, Row
from isthmus.references import Reference

Verdict = Literal["normal", "below", "impossible", "unknown"]
WORST: tuple[Verdict, ...] = ("impossible", "below", "unknown", "normal")
ReasonKind = Literal[
    "above_limit", "above_any_link", "as_known", "below_known", "fills", "low_share",
    "middle_share", "latency_as_known", "latency_slow", "latency_unknown", "falls", "differs",
    "slower_way", "lesser_link", "no_limit", "not_comparable", "emulated", "faulty", "too_small",
]  # fmt: skip
Missing = Literal["link", "board", "network", "ports", "size", "gpu", "large", "messages"]
"""What a verdict would need: the link of the device, its name, the rate of ports, a size."""


@dataclass(frozen=True)
class Limit:
    """The most that a rate can be."""

    value: float
    """Bytes a second left for data, of all directions together."""
    raw: float
    """Bytes a second above which a rate cannot be true."""
    name: str
    """``PCIe gen3 x16``, ``HBM2, 8 GB``."""
    source: str
    """How it is known: ``platform name, line 3``."""
    fact: LinkFact | None = None
    """What the log says of the link."""


@dataclass(frozen=True)
class Range:
    """What healthy boards are known to reach: bytes a second, or seconds of one transfer."""

    least: float
    most: float
    runs: int
    of: str
    """Board or engine: ``AMD Alveo U280``."""
    source: str
    """Of the least."""
    scaled: bool = False
    """Whether the runs were on another link, and are scaled to this one."""


@dataclass(frozen=True)
class Group:
    """Rows that measure the same between the same kinds of places: one direction, many objects."""

    kind: str
    direction: str
    engine: str
    """``ce`` or ``sm`` of a GPU; else empty."""
    beside: str
    memory: str
    name: str
    rows: Sequence[Row]


@dataclass(frozen=True)
class Reason:
    """Why a verdict is what it is."""

    kind: ReasonKind
    share: float = 0.0
    """Of the limit, of the known range, or of the peak."""
    part: str = ""
    """Object, or direction, that it is about."""
    size: int = 0
    at: int = 0
    """A second size."""
    seconds: float = 0.0
    rate: float = 0.0


CauseKind = Literal[
    "link_trained_low", "link_fits_less", "pageable", "unaligned", "sm_copies", "opposite_load",
    "wrong_socket", "iommu_acs", "one_queue", "interrupts", "above_4gib", "cold", "resident",
    "overflow", "write_slower", "large_sm", "protocol", "no_p2p", "small_transfers", "zero_pages",
]  # fmt: skip


@dataclass(frozen=True)
class Cause:
    """What probably explains a verdict."""

    kind: CauseKind
    evidence: str
    """What in the log says so; empty: nothing does, it is a common cause."""
    command: str
    """Checks it, on the machine in question."""
    source: str
    """Of the knowledge that it happens."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on one group of rows."""

    group: Group
    rate: float
    """Bytes a second of the slowest object at its best large size; 0 where only times are known."""
    fastest: float
    """Of the fastest object."""
    row: Row
    """The row that ``rate`` is of."""
    verdict: Verdict
    reasons: Sequence[Reason]
    limit: Limit | None = None
    known: Range | None = None
    share: float | None = None
    """Rate over limit."""
    seconds: float = 0.0
    """Of one transfer, where small transfers alone were measured."""
    causes: Sequence[Cause] = ()
    missing: Sequence[Missing] = ()


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Everything that one text says."""

    logs: Sequence[Log]
    boards: Sequence[Reference]
    judgements: Sequence[Judgement]
    shown: Sequence[Row]
    """Rows that are not judged: calls, and tests that no limit applies to."""
    problems: Sequence[str] = ()
    missing: Sequence[Missing] = ()
    notes: Sequence[str] = field(default=())

    @property
    def verdict(self) -> Verdict:
        """The worst of all, ``unknown`` only where nothing else is known."""
        found = {one.verdict for one in self.judgements}
        decided: tuple[Verdict, ...] = ("impossible", "below", "normal")
        return next((one for one in decided if one in found), "unknown")

    @property
    def failed(self) -> bool:
        """Whether a test of the program failed."""
        return any(one.status == "failed" for log in self.logs for one in log.outcomes)
