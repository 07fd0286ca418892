"""States of machines, and the quantities that take longer on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from isthmus.analysis.fleet.hosts import HostSpeed
from isthmus.analysis.machines import Fact
from isthmus.analysis.quantities import Coverage, Outcome, Quantity
from isthmus.statistics.outliers import GROUP_SHARE, LEAST_GROUP

State = Literal["slow", "degraded", "slow_host", "failed", "missing", "old", "unknown", "healthy"]
BAD: tuple[State, ...] = ("slow", "degraded", "slow_host", "failed", "missing", "old")
"""States of machines that need somebody's attention."""


@dataclass(frozen=True, kw_only=True)
class Outlier(Quantity):
    """A quantity of a machine compared with its kind or the baseline, or of a whole kind."""

    node: str
    """Name of the machine; empty for several machines."""
    sizes: str
    """Sizes in words: their class, or the single size that is slow."""
    sizes_class: str
    """Class of the sizes in words: ``quantities.size_class``."""
    seconds: float
    """Geometric mean over its sizes."""
    bytes_per_second: float | None
    """Geometric mean of the rate over its sizes; None if no data move."""
    ratio: float | None
    """Its time over the usual one; None where no usual one is known."""
    against: Literal["like", "base"] = "like"
    """Source of the usual time: machines of its kind, or the same machines before."""
    machines: tuple[int, int] = (1, 1)
    """How many machines take longer by more than what counts, and of how many."""


class Node(NamedTuple):
    """The judgement of one machine with its devices."""

    name: str
    kind: str
    state: State
    outliers: Sequence[Outlier]
    """Quantities that take longer than usual or than before at equal host speed; worst first."""
    reasons: Sequence[str]
    """Why it failed, or cannot be judged."""
    host: Sequence[HostSpeed] = ()
    """References by which its host is slower than the hosts of its kind."""
    by_host: Sequence[Outlier] = ()
    """Quantities that take longer only because of the host's speed."""
    facts: Sequence[Fact] = ()
    """What ``isthmus doctor`` finds here, and not on most machines of its kind."""
    started: datetime | None = None
    """When its newest run began."""
    figures: Sequence[Outlier] = ()
    """All quantities, with the ratio to the usual time of the kind."""
    base: Sequence[Outlier] = ()
    """All quantities, with the ratio to the machine's own earlier time."""
    speeds: Sequence[HostSpeed] = ()
    """All references of the host's speed, over the usual ones of the kind."""
    swapped: Sequence[Swapped] = ()
    """Devices that are other cards than in the machine's own earlier runs."""


class Swapped(NamedTuple):
    """A device that is another card than before."""

    device: str
    before: str
    """UUID, serial number or name of the card."""
    now: str


class Hidden(NamedTuple):
    """A change of a quantity that is not found among the machines of a kind."""

    quantity: Outlier
    """The quantity at its usual time."""
    share: float
    """Share of the time. A machine that takes longer by less is not found."""
    machines: int
    """Number of machines that are compared."""


class Fleet(NamedTuple):
    """The judgement of all machines."""

    nodes: Sequence[Node]
    kinds: int
    quantities: int
    """Number of quantities that are compared, over all kinds."""
    shifts: Sequence[Outlier]
    """Quantities that are slower than the baseline's on most machines; ``node`` is empty."""
    baseline: str
    """Why no baseline was compared; empty where one was, or none was given."""
    least: float
    """Smallest difference that counts, as a share."""
    coverage: Sequence[Coverage]
    """How much of the comparison with the baseline is decided."""
    own_base: tuple[int, int] | None
    """Number of machines with a run in the baseline, and of all; None without a baseline."""
    unreadable: int = 0
    """Number of files that cannot be read."""
    hidden: Sequence[Hidden] = ()
    """The largest change that would not be found, of each quantity, the largest share first."""
    same_runs: int = 0
    """Number of runs of the baseline that are left out, because they are judged themselves."""

    def of(self, state: State) -> list[Node]:
        """Machines in this state, the worst first."""
        nodes = [node for node in self.nodes if node.state == state]
        return sorted(nodes, key=lambda n: -max((o.ratio or 0.0 for o in n.outliers), default=0.0))

    @property
    def group(self) -> tuple[int, int] | None:
        """Numbers of machines that are slow in one quantity and of the others; None: no group."""
        kinds = {n.kind for n in self.nodes if any(o.against == "like" for o in n.outliers)}
        judged = [n for n in self.nodes if n.kind in kinds and n.figures]
        counts = Counter(
            quantity
            for n in judged
            for quantity in {(*o.key, o.sizes_class) for o in n.outliers if o.against == "like"}
        )
        slow = max(counts.values(), default=0)
        several = slow >= max(LEAST_GROUP, GROUP_SHARE * len(judged))
        return (slow, len(judged) - slow) if several else None

    @property
    def open(self) -> list[Coverage]:
        """Kinds of quantities of which nothing is decided against the baseline."""
        return [quantity for quantity in self.coverage if not quantity.decided]

    @property
    def outcome(self) -> Outcome:
        """``fail`` if a machine is bad, or if most machines are slower than the baseline.

        Else ``undecided`` if no machine could be judged, or if the comparison with a baseline
        decides nothing for a kind of quantity.
        """
        if self.shifts or any(self.of(state) for state in BAD):
            return "fail"
        known = self.of("healthy") and not self.baseline and not self.open
        return "pass" if known else "undecided"

    @property
    def passes(self) -> bool:
        """Whether machines were judged, all are well, and most are certainly not slower."""
        return self.outcome == "pass"
