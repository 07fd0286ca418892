"""Data classes for the results of judging: limits, known ranges, verdicts, causes."""

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
"""Facts that a verdict needs and the log lacks; ``link`` is the link of the device."""
LimitBy = Literal["log", "link option", "board", "engine"]
"""Origins of a limit."""


@dataclass(frozen=True)
class Limit:
    """The upper limit of a rate."""

    value: float
    """Bytes a second that are left for data, in all directions together."""
    raw: float
    """Bytes a second above which a rate cannot be true."""
    name: str
    """Link or memory in words: ``PCIe gen3 x16``, ``HBM2, 8 GB``."""
    source: str
    """Where the limit was read: ``platform name, line 3``."""
    fact: LinkFact | None = None
    """Description of the link in the log; None if the limit is not from the log."""
    by: LimitBy = "board"
    pcie: bool = False


@dataclass(frozen=True)
class Range:
    """Range of known runs on healthy boards: bytes a second, or seconds of one transfer."""

    least: float
    most: float
    runs: int
    of: str
    """Board or engine that the runs used: ``AMD Alveo U280``."""
    source: str
    """Source of the range's least figure."""
    scaled: bool = False
    """Whether the runs used another link, so that their figures are scaled to this link."""


@dataclass(frozen=True)
class Group:
    """Rows of one quantity in one direction, for each object: bank, pair or GPU."""

    kind: str
    direction: str
    engine: str
    """Engine of a GPU that copied, ``ce`` or ``sm``; else empty."""
    beside: str
    memory: str
    name: str
    rows: Sequence[Row]
    file: str = ""
    """Name of the file whose text has the rows; empty for the only text."""
    device: str = ""
    """Card or name of GPUs that the rows are of; empty for messages between ranks."""
    run: int = 1
    runs: int = 1
    """Number of runs in the text; ``run`` is the number of this run."""

    @property
    def test(self) -> tuple[str, ...]:
        """Values of the quantity, without text, device and run."""
        return self.kind, self.direction, self.engine, self.beside, self.memory, self.name

    @property
    def place(self) -> tuple[str, str]:
        """File of the text, and device."""
        return self.file, self.device

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line of the rows in the text."""
        numbers = [row.line for row in self.rows]
        return min(numbers), max(numbers)


@dataclass(frozen=True)
class Reason:
    """A reason for a verdict, as data for a sentence."""

    kind: ReasonKind
    share: float = 0.0
    """Rate divided by the limit, by the known range's end, or by the peak."""
    part: str = ""
    """Object or direction that the reason is about."""
    source: str = ""
    """Source of the limit in ``share``."""
    size: int = 0
    at: int = 0
    """Size in bytes that ``size`` is compared with."""
    seconds: float = 0.0
    rate: float = 0.0
    line: int = 0
    """Line of the text with the figure of ``part``; 0 if no line has the figure."""


CauseKind = Literal[
    "link_trained_low", "link_fits_less", "pageable", "unaligned", "sm_copies", "opposite_load",
    "wrong_socket", "iommu_acs", "one_queue", "interrupts", "above_4gib", "cold", "resident",
    "overflow", "write_slower", "large_sm", "protocol", "no_p2p", "small_transfers", "zero_pages",
    "other_link",
]  # fmt: skip


@dataclass(frozen=True)
class Cause:
    """A probable explanation of a verdict."""

    kind: CauseKind
    evidence: str
    """What in the log suggests the cause; empty for a common cause without evidence."""
    command: str
    """Command that checks on the measured machine if the cause holds."""
    source: str
    """Public report in which the cause is described."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on one group of rows."""

    group: Group
    rate: float
    """Bytes a second of the slowest object at its best large size; 0 if the log has only times."""
    fastest: float
    """Bytes a second of the fastest object at its best large size."""
    row: Row
    """The row with the rate ``rate``."""
    verdict: Verdict
    reasons: Sequence[Reason]
    limit: Limit | None = None
    known: Range | None = None
    share: float | None = None
    """Rate divided by the limit; None without a limit."""
    seconds: float = 0.0
    """Seconds of one transfer, if only small transfers were measured; else 0."""
    causes: Sequence[Cause] = ()
    missing: Sequence[Missing] = ()
    board: Reference | None = None


@dataclass(frozen=True)
class Contradiction:
    """An option of the user that contradicts a log or a board."""

    option: Literal["--link", "--board"]
    value: str
    said: str
    """Link or board according to the log: ``gen3 x16``."""
    by: str
    """Source of ``said``: a line of the log, or the source of the board's link."""
    kind: Literal["log", "usual", "at most"] = "log"
    """Whether ``said`` is in the log, or is the board's usual link or largest link."""


@dataclass(frozen=True)
class SameData:
    """A known run that has the figures of a text, so that the text is not compared with it."""

    file: str
    source: str


@dataclass(frozen=True)
class UnusedLink:
    """A text that describes links, but none that is the link of a measured card."""

    tool: str
    file: str
    shown: Sequence[str]
    """Bus addresses of links in the text: ``81:00.0``."""
    cards: Sequence[str]
    """Bus and device, ``02:00``, of measured cards without a link; empty if the log names none."""
    accelerators: bool
    """Whether ``shown`` are addresses of accelerators, not of network cards and disks."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Results of judging all texts together."""

    logs: Sequence[Log]
    boards: Sequence[Reference]
    judgements: Sequence[Judgement]
    shown: Sequence[Row]
    """Rows that are shown but not judged: calls, and tests to which no limit applies."""
    problems: Sequence[str] = ()
    missing: Sequence[Missing] = ()
    contradictions: Sequence[Contradiction] = ()
    without_effect: Sequence[str] = ()
    """Options that set neither a limit nor known runs: ``--link gen3x16``."""
    same: Sequence[SameData] = ()
    unused_links: Sequence[UnusedLink] = ()

    @property
    def verdict(self) -> Verdict:
        """Verdict on the worst run. A run is ``unknown`` only if all its figures are unknown."""
        runs: dict[tuple[str, str, int], set[Verdict]] = {}
        for judgement in self.judgements:
            key = (*judgement.group.place, judgement.group.run)
            runs.setdefault(key, set()).add(judgement.verdict)
        decided: tuple[Verdict, ...] = ("impossible", "below", "normal")
        of_runs = {
            next((v for v in decided if v in verdicts), "unknown") for verdicts in runs.values()
        }
        return next((verdict for verdict in WORST if verdict in of_runs), "unknown")

    @property
    def failed(self) -> bool:
        """Whether a test of the judged program failed."""
        return any(outcome.status == "failed" for log in self.logs for outcome in log.outcomes)
