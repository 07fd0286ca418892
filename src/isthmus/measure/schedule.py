"""Which point is visited next, and for how long: when time is short, what is soonest certain."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from isthmus.measure.costs import FEWEST, LARGE, VisitCosts

if TYPE_CHECKING:
    from isthmus.measure.runner import Open

_LEAST_VISIT_S = 0.1
"""What a first visit to a small point may take whatever is left: a look needs half of it."""
_LEAST_LEFT_S = 0.05
_FIRST_HORIZON_S = 0.125
"""About what a small point takes that wants another visit."""
_MOST_KEPT_SHARE = 0.5
"""Of a rerun, for large points that no visit has seen: the others are to get some of it."""
_VISITS_VARY = 1.5
"""So much more than visits are thought to need is kept for them."""
_OUT_OF_REACH = 4.0
"""What an earlier rerun left uncertain waits as if it took so much longer: that point cannot be
certain in all of them any more, but others can."""


class Schedule:
    """The visits of one rerun, until its time is up.

    Small points come first, each once, in an order that the seed decides. Then come those that are
    certain within 1/8 s more, as far as can be told; then within twice as long, and so on; within
    such a horizon the seed decides again. What is compared, one operation and size on several
    devices or in several kinds of memory, shares a horizon. Large points that no rerun has visited
    yet are shared out among the reruns left, and time for this one's share is kept.
    """

    def __init__(
        self,
        works: Collection[Open],
        costs: VisitCosts,
        precision: float,
        reruns_left: int,
        order: random.Random,
        until: float,
    ) -> None:
        """``works``: a view of those still open; ``until``: on ``time.monotonic``."""
        self._works = works
        self._costs = costs
        self._precision = precision
        self._order = order
        self._until = until
        self._most_kept_s = _MOST_KEPT_SHARE * (until - time.monotonic())
        unseen = [work for work in works if _is_large(work) and not work.job.visits]
        unseen.sort(key=lambda work: work.job.task.bytes)
        self._own_unseen = unseen[: math.ceil(len(unseen) / reruns_left)]

    def visits(self) -> Iterator[tuple[Open, float]]:
        """Whom to visit, and for how many seconds at most; it has been when the next is asked."""
        yield from self._small_ones()
        horizon = _FIRST_HORIZON_S
        while self._works and (left := self._left_s()) > 0:
            unseen = self._unseen()
            free = left - self._kept_s(unseen)
            able = [work for work in self._works if self._fits(work, free)]
            if unseen and not able:
                share = self._costs.of(unseen[0].job) / self._costs_of(unseen)
                yield unseen[0], max(_LEAST_LEFT_S, share * left)
            elif not able:
                return
            elif soon := self._soon(able, horizon):
                self._order.shuffle(soon)
                yield from self._round(soon)
            else:
                horizon *= 2

    def _small_ones(self) -> Iterator[tuple[Open, float]]:
        waiting = [work for work in self._works if not _is_large(work)]
        self._order.shuffle(waiting)
        waiting.sort(key=lambda work: work.job.visits > 0)
        for visited, work in enumerate(waiting):
            free = self._left_s() - self._kept_s(self._unseen())
            if free <= 0:
                return
            if work in self._works:
                fair = free / (len(waiting) - visited)
                yield work, min(max(_LEAST_LEFT_S, free), max(_LEAST_VISIT_S, fair))

    def _round(self, works: Sequence[Open]) -> Iterator[tuple[Open, float]]:
        for work in works:
            free = self._left_s() - self._kept_s(self._unseen())
            if work in self._works and self._fits(work, free):
                yield work, free

    def _soon(self, works: Sequence[Open], horizon: float) -> list[Open]:
        """Those that are certain by then, with all that they are compared with."""
        needs: dict[object, float] = {}
        for work in works:
            needs[_compared(work)] = max(needs.get(_compared(work), 0.0), self._needs_s(work))
        return [work for work in works if needs[_compared(work)] <= horizon]

    def _left_s(self) -> float:
        return self._until - time.monotonic()

    def _unseen(self) -> list[Open]:
        return [work for work in self._own_unseen if work in self._works and not work.job.visits]

    def _costs_of(self, works: Sequence[Open]) -> float:
        return sum(self._costs.of(work.job) for work in works)

    def _kept_s(self, unseen: Sequence[Open]) -> float:
        return min(_VISITS_VARY * self._costs_of(unseen), self._most_kept_s)

    def _fits(self, work: Open, free: float) -> bool:
        """Whether a visit brings enough for an interval before the time is up."""
        return self._costs.of(work.job, FEWEST) <= free

    def _needs_s(self, work: Open) -> float:
        """Seconds until this point is certain."""
        needs = self._costs.of(work.job, work.samples_missing(self._precision))
        return needs * _OUT_OF_REACH if work.job.left_uncertain else needs


def _compared(work: Open) -> object:
    """What differs in the device and the kind of memory only is compared."""
    task = work.job.task
    return task.operation, task.bytes, tuple(sorted(task.axes.items()))


def _is_large(work: Open) -> bool:
    return work.job.task.bytes > LARGE
