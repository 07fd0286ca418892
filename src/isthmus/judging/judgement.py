"""The results of judging, as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from isthmus.importers.base import LinkFact, Log, Row
from isthmus.references import Reference

Verdict = Literal["normal", "below", "impossible", "unknown"]
WORST: tuple[Verdict, ...] = ("impossible", "below", "unknown", "normal")
ReasonKind = Literal[
    "above_limit", "above_any_link", "as_known", "below_known", "fills", "low_share",
    "middle_share", "latency_as_known", "latency_slow", "latency_unknown", "falls", "differs",
    "slower_way", "slower_run", "lesser_link", "no_limit", "not_comparable", "emulated", "faulty",
    "too_small", "same_data", "no_link", "start_up",
]  # fmt: skip
Missing = Literal[
    "link", "board", "network", "ports", "size", "gpu", "large", "messages", "reference"
]
"""What a verdict would need: the link of the device, its name, the rate of ports, a size."""
LimitBy = Literal["log", "link option", "board", "engine"]
"""Who says a limit."""


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
    by: LimitBy = "board"
    pcie: bool = False


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
    file: str = ""
    """Text that has the rows; empty for the only text."""
    device: str = ""
    """Card, or name of the GPUs, whose figures these are; empty between ranks."""
    run: int = 1
    runs: int = 1
    """Number of this run, and of all that the text has of these figures."""

    @property
    def test(self) -> tuple[str, ...]:
        """What is measured, whatever the text, the device and the run."""
        return self.kind, self.direction, self.engine, self.beside, self.memory, self.name

    @property
    def place(self) -> tuple[str, str]:
        """Text and device."""
        return self.file, self.device

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line in the text."""
        numbers = [row.line for row in self.rows]
        return min(numbers), max(numbers)


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
    line: int = 0
    """Of the part's figure; 0 where it has none of its own."""


CauseKind = Literal[
    "link_trained_low", "link_fits_less", "pageable", "unaligned", "sm_copies", "opposite_load",
    "wrong_socket", "iommu_acs", "one_queue", "interrupts", "above_4gib", "cold", "resident",
    "overflow", "write_slower", "large_sm", "protocol", "no_p2p", "small_transfers", "zero_pages",
    "other_link",
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
    board: Reference | None = None


@dataclass(frozen=True)
class Contradiction:
    """An option that says something else than a log."""

    option: Literal["--link", "--board"]
    value: str
    said: str
    """What the log says: ``gen3 x16``."""
    by: str
    """Where it says so, or the source of what the named board has."""
    kind: Literal["log", "usual", "at most"] = "log"
    """Whether the log says so, or its board has this link, usually or at most."""


@dataclass(frozen=True)
class SameData:
    """A reference that has the very figures of a text, and so is none for it."""

    file: str
    source: str


@dataclass(frozen=True)
class UnusedLink:
    """A text that describes links, but not that of a measured card."""

    tool: str
    file: str
    shown: Sequence[str]
    """Bus addresses that the text has: ``81:00.0``."""
    cards: Sequence[str]
    """Bus and device of measured cards without a link, ``02:00``; empty: the log names none."""
    accelerators: bool
    """Whether ``shown`` are of accelerators, rather than of network cards and disks."""


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
    contradictions: Sequence[Contradiction] = ()
    without_effect: Sequence[str] = ()
    """Options that no limit and no known run comes from."""
    same: Sequence[SameData] = ()
    unused_links: Sequence[UnusedLink] = ()

    @property
    def verdict(self) -> Verdict:
        """That of the worst run of a device; of a run ``unknown`` where nothing else is known."""
        runs: dict[tuple[str, str, int], set[Verdict]] = {}
        for one in self.judgements:
            runs.setdefault((*one.group.place, one.group.run), set()).add(one.verdict)
        decided: tuple[Verdict, ...] = ("impossible", "below", "normal")
        of_runs = {
            next((one for one in decided if one in found), "unknown") for found in runs.values()
        }
        return next((one for one in WORST if one in of_runs), "unknown")

    @property
    def failed(self) -> bool:
        """Whether a test of the program failed."""
        return any(one.status == "failed" for log in self.logs for one in log.outcomes)
