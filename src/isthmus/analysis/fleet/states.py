"""States of a fleet's machines, and results of comparing their times, as data."""

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
"""States of machines that need attention."""


@dataclass(frozen=True, kw_only=True)
class Outlier(Quantity):
    """A machine's quantity, or that of a whole kind, compared with its kind or the baseline."""

    node: str
    """Name of the machine; empty if the quantity is of several machines."""
    sizes: str
    """Sizes in words: their class, or the single size that is slow."""
    sizes_class: str
    """Class of the sizes in words: ``quantities.size_class``."""
    seconds: float
    """Geometric mean of the time over the quantity's sizes."""
    bytes_per_second: float | None
    """Geometric mean of the rate over the quantity's sizes; None if no data move."""
    ratio: float | None
    """Time over the usual time; None if no usual time is known."""
    against: Literal["like", "base"] = "like"
    """Source of the usual time: other machines of the kind, or the same machines before."""
    machines: tuple[int, int] = (1, 1)
    """Number of machines that are slower by more than ``least``, and number of all machines."""


class Node(NamedTuple):
    """The judgement of one machine with its devices."""

    name: str
    kind: str
    state: State
    outliers: Sequence[Outlier]
    """Quantities that take longer than usual or than before at equal host speed; worst first."""
    reasons: Sequence[str]
    """Why the machine failed, or why it cannot be judged."""
    host: Sequence[HostSpeed] = ()
    """References by which the machine's host is slower than the hosts of its kind."""
    by_host: Sequence[Outlier] = ()
    """Quantities that take longer only because the host is slow."""
    facts: Sequence[Fact] = ()
    """Findings of ``isthmus doctor`` that most machines of this kind do not have."""
    started: datetime | None = None
    """When the machine's newest run began."""
    figures: Sequence[Outlier] = ()
    """All quantities, with the ratio to the usual time of the kind."""
    base: Sequence[Outlier] = ()
    """All quantities, with the ratio to the machine's own earlier time."""
    speeds: Sequence[HostSpeed] = ()
    """All references of the host's speed, as ratios to the kind's usual values."""
    swapped: Sequence[Swapped] = ()
    """Devices that are other cards than in the machine's earlier runs."""


class Swapped(NamedTuple):
    """A device address with another card than before."""

    device: str
    before: str
    """UUID, serial number or name of the earlier card."""
    now: str


class Hidden(NamedTuple):
    """The largest change of a quantity that would not be found among a kind's machines."""

    quantity: Outlier
    """The quantity, with its usual time in the kind."""
    share: float
    """Change as a share of the time; a machine that is slower by less is not found."""
    machines: int
    """Number of machines of the kind that are compared."""


class Fleet(NamedTuple):
    """The judgement of all machines."""

    nodes: Sequence[Node]
    kinds: int
    quantities: int
    """Number of quantities that are compared, over all kinds."""
    shifts: Sequence[Outlier]
    """Quantities that are slower than in the baseline over all machines; ``node`` is empty."""
    baseline: str
    """Why no baseline was compared; empty if one was compared, or if none was given."""
    least: float
    """Smallest difference that counts, as a share."""
    coverage: Sequence[Coverage]
    """How much of the comparison with the baseline is decided."""
    own_base: tuple[int, int] | None
    """Number of machines with a run in the baseline, and of all machines; None: no baseline."""
    unreadable: int = 0
    """Number of files that cannot be read."""
    hidden: Sequence[Hidden] = ()
    """For each quantity, the largest change that would not be found; the largest share first."""
    same_runs: int = 0
    """Number of baseline runs that are left out, because they are also among the judged runs."""

    def of(self, state: State) -> list[Node]:
        """Machines in this state, sorted by their largest ratio to the usual time."""
        nodes = [node for node in self.nodes if node.state == state]
        return sorted(nodes, key=lambda n: -max((o.ratio or 0.0 for o in n.outliers), default=0.0))

    @property
    def group(self) -> tuple[int, int] | None:
        """Most machines that one quantity shows as slow, and the others; None if too few are."""
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
        """Kinds of quantities of which no quantity is decided against the baseline."""
        return [quantity for quantity in self.coverage if not quantity.decided]

    @property
    def outcome(self) -> Outcome:
        """``fail`` if a machine is bad, or if a kind as a whole is slower than the baseline.

        Else ``undecided`` if no machine could be judged, or if the comparison with a baseline
        decides nothing for a kind of quantity.
        """
        if self.shifts or any(self.of(state) for state in BAD):
            return "fail"
        known = self.of("healthy") and not self.baseline and not self.open
        return "pass" if known else "undecided"

    @property
    def passes(self) -> bool:
        """Whether the outcome is ``pass``."""
        return self.outcome == "pass"
