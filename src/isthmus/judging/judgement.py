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
"""Facts that a verdict needs and the log lacks, such as the link of the device."""
LimitBy = Literal["log", "link option", "board", "engine"]
"""Origin of a limit."""


@dataclass(frozen=True)
class Limit:
    """The upper limit of a rate."""

    value: float
    """Bytes a second left for data, of all directions together."""
    raw: float
    """Bytes a second above which a rate cannot be true."""
    name: str
    """``PCIe gen3 x16``, ``HBM2, 8 GB``."""
    source: str
    """Origin of the limit: ``platform name, line 3``."""
    fact: LinkFact | None = None
    """The link as the log describes it."""
    by: LimitBy = "board"
    pcie: bool = False


@dataclass(frozen=True)
class Range:
    """Range of known runs on healthy boards: bytes a second, or seconds of one transfer."""

    least: float
    most: float
    runs: int
    of: str
    """Board or engine: ``AMD Alveo U280``."""
    source: str
    """Source of the least figure."""
    scaled: bool = False
    """Whether the runs used another link, and are scaled to this link."""


@dataclass(frozen=True)
class Group:
    """Rows that measure one quantity in one direction, for each object: bank, pair or GPU."""

    kind: str
    direction: str
    engine: str
    """``ce`` or ``sm`` of a GPU; else empty."""
    beside: str
    memory: str
    name: str
    rows: Sequence[Row]
    file: str = ""
    """File of the text that has the rows; empty for the only text."""
    device: str = ""
    """Card or name of the GPUs that the rows measure; empty between ranks."""
    run: int = 1
    runs: int = 1
    """Number of this run, and number of runs in the text."""

    @property
    def test(self) -> tuple[str, ...]:
        """The quantity, independent of text, device and run."""
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
    """Rate over the limit, the known range, or the peak."""
    part: str = ""
    """Object or direction that the reason is about."""
    size: int = 0
    at: int = 0
    """A second size."""
    seconds: float = 0.0
    rate: float = 0.0
    line: int = 0
    """Line of the part's figure; 0 if it has none."""


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
    """What the log shows of the cause; empty for a common cause without evidence."""
    command: str
    """Command that checks the cause on the measured machine."""
    source: str
    """Public report of the cause."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on one group of rows."""

    group: Group
    rate: float
    """Bytes a second of the slowest object at its best large size; 0 if only times are known."""
    fastest: float
    """Bytes a second of the fastest object."""
    row: Row
    """The row that has ``rate``."""
    verdict: Verdict
    reasons: Sequence[Reason]
    limit: Limit | None = None
    known: Range | None = None
    share: float | None = None
    """Rate over limit."""
    seconds: float = 0.0
    """Seconds of one transfer, if only small transfers were measured; else 0."""
    causes: Sequence[Cause] = ()
    missing: Sequence[Missing] = ()
    board: Reference | None = None


@dataclass(frozen=True)
class Contradiction:
    """An option that contradicts a log."""

    option: Literal["--link", "--board"]
    value: str
    said: str
    """Link or board according to the log: ``gen3 x16``."""
    by: str
    """Source in the log, or of the board's link."""
    kind: Literal["log", "usual", "at most"] = "log"
    """Whether the log names the link, or the board has this link usually or at most."""


@dataclass(frozen=True)
class SameData:
    """A known run with the figures of a text: it is the text itself, and no reference."""

    file: str
    source: str


@dataclass(frozen=True)
class UnusedLink:
    """A text that describes links, but not the link of a measured card."""

    tool: str
    file: str
    shown: Sequence[str]
    """Bus addresses in the text: ``81:00.0``."""
    cards: Sequence[str]
    """Bus and device of measured cards without a link, ``02:00``; empty: the log names none."""
    accelerators: bool
    """Whether ``shown`` are addresses of accelerators, not of network cards and disks."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Results of judging all texts of a call."""

    logs: Sequence[Log]
    boards: Sequence[Reference]
    judgements: Sequence[Judgement]
    shown: Sequence[Row]
    """Rows that are not judged: calls, and tests that no limit applies to."""
    problems: Sequence[str] = ()
    missing: Sequence[Missing] = ()
    contradictions: Sequence[Contradiction] = ()
    without_effect: Sequence[str] = ()
    """Options that set neither a limit nor a known run."""
    same: Sequence[SameData] = ()
    unused_links: Sequence[UnusedLink] = ()

    @property
    def verdict(self) -> Verdict:
        """Verdict on the worst run; a run is ``unknown`` only if all its figures are."""
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
        """Whether a test of the program failed."""
        return any(outcome.status == "failed" for log in self.logs for outcome in log.outcomes)
