"""Judges each machine by other machines of its kind, and by its own earlier runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import median_low
from typing import Any, Literal, NamedTuple

from isthmus.analysis.fleet import hosts
from isthmus.analysis.fleet.reading import KEY, KIND_PARTS, Key, Machine, Reading, figures
from isthmus.analysis.fleet.states import Hidden, Node, Outlier, State, Swapped
from isthmus.analysis.machines import Fact
from isthmus.analysis.quantities import identity, size_class
from isthmus.frames import Frame, Series
from isthmus.statistics.host_state import PRIOR_FREE
from isthmus.statistics.outliers import UNKNOWN, Scatter, above, robust_variance
from isthmus.text import counted
from isthmus.thresholds import LARGE
from isthmus.units import format_size

_FALSE_ALARMS = 0.01
"""Share of healthy fleets in which a machine is named as slow, if errors are normally distributed.

With 6 to 12 machines the share is twice as large: see ``statistics.outliers``."""
_LEAST_ALIKE = 2
"""Fewest quantities of a kind from whose scatters one scatter of the kind is computed.

Source: of 1200 healthy fleets of 4 to 8 machines 7 have a false alarm (with 3: 3 of 600). Of 40
machines that are 31 % slower than five others 39 are found (with 3: 24)."""
_LEAST_REST = 3
"""Fewest machines without a lesser link by which a machine with a lesser link is judged."""
_SUSPECTED = 0.99
"""Share of healthy machines that lie below the limit for a machine with a lesser link."""
QUANTITY = ["kind", *KEY]
_SERIES = [*QUANTITY, "bytes"]


class Judging:
    """Compares each machine's times with its kind's, and with its own earlier times."""

    def __init__(self, now: Reading, before: Reading, least: float) -> None:
        self._now = now
        self._earlier: dict[str, list[Machine]] = {}
        for (name, _), machine in before.machines.items():
            self._earlier.setdefault(name, []).append(machine)
        self.times = now.times
        self.least = least
        self._ratios = {
            "like": _over_usual(now.times, now.times), "base": _over_own(now.times, before.times),
        }  # fmt: skip
        self.scores, self.own = _means(self._ratios["like"]), _means(self._ratios["base"])
        self._kinds: dict[str, list[Machine]] = {}
        for machine in now.machines.values():
            self._kinds.setdefault(machine.kind, []).append(machine)
        counts = self.scores.groupby(QUANTITY).spread("score", len)
        self._judged = self.scores[counts >= hosts.FEWEST]
        self.quantities = len(self._judged[QUANTITY].drop_duplicates())
        alarms = _FALSE_ALARMS / max(self.quantities, 1)
        self._hosts = {
            kind: hosts.apart(of, least, _FALSE_ALARMS) for kind, of in self._kinds.items()
        }
        self._common = self._common_facts()
        suspects = {m.name for m in now.machines.values() if any(f.less for f in self._facts(m))}
        self._found = {
            "like": _beyond(self._judged, alarms, least, suspects),
            "base": _beyond(self.own, alarms, least, suspects, from_zero=True),
        }
        self._like = self._calm()
        self._usual_speeds = {kind: hosts.usual(of) for kind, of in self._like.items()}

    def named(self, against: str, key: Key) -> set[str]:
        """Machines slower in a quantity than their kind (``like``) or than before (``base``)."""
        bounds_of_node = self._found[against]
        return {name for name, bounds in bounds_of_node.items() if bounds.get(key, _NOT).beyond}

    def nodes(self) -> list[Node]:
        """The judgement of each machine, by name."""
        has = Counter(zip(self.scores["node"], self.scores["kind"], strict=True))
        usual: Counter[str] = Counter()
        for (_, of), count in has.items():
            usual[of] = max(usual[of], count)
        machines_judged = set(zip(self._judged["node"], self._judged["kind"], strict=True))
        figures_of = _by_node(self.scores, "like", self._usual("like"))
        base_of = _by_node(self.own, "base", None)
        return [
            self._node(
                machine, judged=key in machines_judged, lacks=usual[key[1]] - has[key],
                own=figures_of.get(key, []), base=base_of.get(key, []),
            )
            for key, machine in sorted(self._now.machines.items())
        ]  # fmt: skip

    def _node(
        self, machine: Machine, *, judged: bool, lacks: int,
        own: list[Outlier], base: list[Outlier],
    ) -> Node:  # fmt: skip
        outliers, by_host = self._outliers(machine, own, base)
        slow, _ = self._hosts[machine.kind]
        speeds = hosts.ratios(machine, self._usual_speeds[machine.kind])
        host = slow.get(machine.name, [])
        if by_host and not host:
            host = sorted((s for s in speeds if s.ratio > 1 + self.least), key=lambda s: -s.ratio)
        reasons = machine.reasons
        state: State = "slow" if outliers else "failed" if reasons else "unknown"
        facts = self._facts(machine)
        if not outliers and machine.dated:
            state, reasons = _dated(machine)
        elif not outliers and not reasons and any(fact.less for fact in facts):
            state = "degraded"
        elif not outliers and not reasons and host:
            state = "slow_host"
        elif not reasons and lacks:
            reasons = [f"lacks {counted(lacks, 'measurement', 'measurements')} that others have"]
        elif not outliers and not reasons and judged:
            state = "healthy"
        elif state == "unknown":
            reasons = [self._few(machine)]
        return Node(
            machine.name, machine.kind, state, outliers, reasons, host, by_host, facts,
            machine.started, own if judged else list(map(_alone, own)), base, speeds,
            list(self._swapped(machine)),
        )  # fmt: skip

    def _swapped(self, machine: Machine) -> Iterator[Swapped]:
        """Yields devices that are other cards than in the machine's earlier runs."""
        for address, card in machine.cards.items():
            earlier = [of.cards.get(address) for of in self._earlier.get(machine.name, [])]
            before = [
                card_before.value
                for card_before in earlier
                if card_before and card_before.kind == card.kind
            ]
            if before and card.value not in before:
                yield Swapped(address, before[0], card.value)

    def _few(self, machine: Machine) -> str:
        """Says how few machines a machine's kind has, and how most machines differ from it."""
        count = len(self._kinds[machine.kind])
        usual = max(self._kinds, key=lambda kind: len(self._kinds[kind]))
        own, theirs = (kind.split(KIND_PARTS) for kind in (machine.kind, usual))
        differs = ", ".join(part for part in own if part not in theirs)
        others = ", ".join(part for part in theirs if part not in own)
        which = f" ({differs}; most have {others})" if differs and others else ""
        return f"{count} of its kind{which}; it takes {hosts.FEWEST}"

    @property
    def hidden(self) -> list[Hidden]:
        """For each quantity the largest change that would not be found, the largest share first."""
        bounds = self._found["like"]
        rows = {tuple(row[name] for name in QUANTITY): row for row in self._usual_rows()}
        reaches: dict[Key, list[float]] = {}
        for of in bounds.values():
            for key, bound in of.items():
                reaches.setdefault(key, []).append(bound.hidden)
        hidden_quantities = [
            Hidden(
                outlier("", rows[key], rows[key]["log"], 0.0, "like"),
                math.expm1(several[0]), len(several),
            )
            for key, several in reaches.items()
        ]  # fmt: skip
        return sorted(hidden_quantities, key=lambda quantity: -quantity.share)

    def _usual_rows(self) -> Iterator[Mapping[str, Any]]:
        """Yields a row of each judged quantity, from the machine with the median score."""
        for _, rows in self._judged.groupby(QUANTITY):
            yield rows.sort_values("score").iloc[len(rows) // 2]

    def _outliers(
        self, machine: Machine, own: Sequence[Outlier], base: Sequence[Outlier]
    ) -> tuple[list[Outlier], list[Outlier]]:
        """Quantities that take longer at equal host speed, then those that only the host slows."""
        outliers, by_host = [], []
        slow, fast = self._hosts[machine.kind]
        differs = machine.name in slow or machine.name in fast
        like = [m for m in self._like[machine.kind] if m.name != machine.name]
        for against, known, others in (
            ("like", own, like), ("base", base, self._earlier.get(machine.name, [])),
        ):  # fmt: skip
            bounds = self._found[against].get(machine.name, {})
            of = {
                (machine.kind, *outlier_of_kind.key, outlier_of_kind.sizes): outlier_of_kind
                for outlier_of_kind in known
            }
            asked = [
                key for key, bound in bounds.items() if key in of and (bound.beyond or differs)
            ]
            changed = hosts.explained(machine, others, [key[1:] for key in asked])
            if not differs:
                changed = {k: e for k, e in changed.items() if e.low > math.log1p(self.least) / 2}
            for key in asked:
                bound = bounds[key]
                host = changed.get(key[1:])
                left = hosts.taken_off(bound.log, host)
                if left > bound.limit or (bound.beyond and host is None):
                    outliers.append(self._narrowed(of[key], machine.kind))
                elif bound.beyond:
                    by_host.append(of[key])
        return sorted(outliers, key=_rank), sorted(by_host, key=_rank)

    def _narrowed(self, slow: Outlier, kind: str) -> Outlier:
        """Restricts a slow quantity to its slowest size, if its other sizes are not slow."""
        sizes = self._ratios[slow.against]
        sizes = sizes[sizes["node"] == slow.node]
        for name, value in zip(QUANTITY, (kind, *slow.key, slow.sizes), strict=True):
            sizes = sizes[sizes[name] == value]
        if len(sizes) < 2:
            return slow
        sizes = sizes.sort_values("score")
        *rest, log = sizes["score"].tolist()
        # The usual times of single sizes count slow machines, too; the quantity's does not.
        mean = math.fsum((*rest, log)) / len(sizes)
        shift = math.log(slow.ratio) - mean if slow.ratio else 0.0
        if shift + math.fsum(rest) / len(rest) > math.log1p(self.least):
            return slow
        row = sizes.iloc[len(sizes) - 1]
        narrowed = outlier(slow.node, row, row["log"], log + shift, slow.against)
        return replace(narrowed, sizes=format_size(int(row["bytes"])))

    def _calm(self) -> dict[str, list[Machine]]:
        """Machines of each kind with neither slow times nor a slow host, to compare others with."""
        named = {
            name
            for name, of in self._found["like"].items()
            if any(bound.beyond for bound in of.values())
        }
        return {
            kind: [m for m in of if m.name not in named and m.name not in self._hosts[kind][0]]
            for kind, of in self._kinds.items()
        }

    def _facts(self, machine: Machine) -> list[Fact]:
        """Findings of checks on this machine that most machines of its kind do not have."""
        return [f for f in machine.facts if (machine.kind, f.device, f.check) not in self._common]

    def _common_facts(self) -> set[tuple[str, str, str]]:
        """Kind, device and check of findings on half of a kind's machines, but at least on two."""
        counts = Counter(
            (m.kind, *device_and_check)
            for m in self._now.machines.values()
            for device_and_check in {(fact.device, fact.check) for fact in m.facts}
        )
        return {key for key, n in counts.items() if 2 * n >= max(len(self._kinds[key[0]]), 3)}

    def _usual(self, against: str) -> Mapping[Key, float]:
        """Usual score of each quantity: a median of machines that ``above`` finds not slow."""
        return {
            key: bound.usual
            for bounds in self._found[against].values()
            for key, bound in bounds.items()
        }


def _dated(machine: Machine) -> tuple[State, list[str]]:
    """State of a machine whose runs are all too old or dated in the future, with the reason."""
    if machine.dated == "old":
        return "old", ["no run file that is young enough"]
    when = f" ({machine.started:%Y-%m-%d %H:%M} UTC)" if machine.started else ""
    return "failed", [f"its run is dated in the future{when}: is its clock wrong?"]


class _Bound(NamedTuple):
    """A machine's time compared with the limit that other machines set."""

    log: float
    """Logarithm of the time over the usual time, or over the machine's own earlier time."""
    usual: float
    limit: float
    """Least ``log`` above which the machine is slow."""
    beyond: bool
    hidden: float = math.inf
    """Logarithm up to which a healthy machine's time could rise unseen, approximately."""


_NOT = _Bound(0.0, 0.0, math.inf, beyond=False)


def _beyond(
    scores: Frame, alarms: float, least: float, suspects: set[str], *, from_zero: bool = False
) -> dict[str, dict[Key, _Bound]]:
    """Compares each machine with the others in each quantity; by machine and by quantity.

    ``suspects``: machines with a lesser link than others of their kind. Only the other machines set
    the limit, at the share ``_SUSPECTED``: an expected fault needs less proof.
    ``from_zero``: scores are changes. A change must exceed both the others' changes and ``least``.
    """
    bounds: dict[str, dict[Key, _Bound]] = {}
    counts = math.log1p(least)
    scatters = _scatters(scores, alarms, suspects)
    for key, rows in scores.groupby(QUANTITY):
        logs = dict(zip(rows["node"], rows["score"].tolist(), strict=True))
        if len(logs) < hosts.FEWEST:
            continue
        rest = [name for name in logs if name not in suspects]
        rest = rest if len(rest) >= _LEAST_REST else list(logs)
        outlying = above([logs[name] for name in rest], alarms, scatters.get(key, UNKNOWN))
        high = {rest[place] for place in outlying.places}
        # Rosner's test divides by one value less: a slow machine is judged by the others alone.
        without = outlying.without_one(1 - alarms / (2 * len(rest)))
        hidden = max(without - outlying.usual, counts)
        for name, log in logs.items():
            share = 1 - alarms if name in rest else _SUSPECTED
            over, limit = log - outlying.usual, max(outlying.bound(share) - outlying.usual, counts)
            beyond = over > counts and (name in high if name in rest else over > limit)
            bound = _Bound(over, outlying.usual, limit, beyond, hidden)
            if from_zero:
                bound = _Bound(
                    log, 0.0, max(limit + outlying.usual, counts), beyond and log > counts
                )
            bounds.setdefault(name, {})[key] = bound
    return bounds


def _scatters(scores: Frame, alarms: float, suspects: set[str]) -> dict[Key, Scatter]:
    """Scatter over machines for each quantity's kind, if the kind has several quantities.

    Slow machines do not count: half of the machines would widen the scatter until none is slow.

    It is the lower median of the quantities' scatters: of two quantities, slow machines may widen
    one. A kind is a device's small sizes of a study, or its large sizes in one kind of memory.
    """
    variances: dict[Key, float] = {}
    kinds: dict[tuple[Any, ...], list[Key]] = {}
    for key, rows in scores.groupby(QUANTITY):
        named = zip(rows["node"], rows["score"].tolist(), strict=True)
        logs = [log for name, log in named if name not in suspects]
        if len(logs) >= _LEAST_REST:
            slow = above(logs, alarms).places
            rest = [log for place, log in enumerate(logs) if place not in slow]
            variances[key] = robust_variance(rest)
            of = dict(zip(QUANTITY, key, strict=True))
            memory = of["memory"] if of["sizes"] == size_class(LARGE) else ""
            alike = (of["kind"], of["study"], of["device"], of["clock"], of["sizes"], memory)
            kinds.setdefault(alike, []).append(key)
    return {
        key: Scatter(median_low([variances[of_kind] for of_kind in keys]), PRIOR_FREE)
        for keys in kinds.values()
        if len(keys) >= _LEAST_ALIKE
        for key in keys
    }


def _by_node(
    scores: Frame, against: Literal["like", "base"], usual: Mapping[Key, float] | None
) -> dict[tuple[str, str], list[Outlier]]:
    """All quantities of each machine, by the machine's name and kind."""
    outliers: dict[tuple[str, str], list[Outlier]] = {}
    for i in range(len(scores)):
        row = scores.iloc[i]
        key = tuple(row[name] for name in QUANTITY)
        log = row["score"] - (usual or {}).get(key, 0.0)
        slow = outlier(row["node"], row, row["log"], log, against)
        outliers.setdefault((row["node"], row["kind"]), []).append(slow)
    return outliers


def outlier(
    node: str, row: Mapping[str, Any], seconds_log: float, log: float,
    against: Literal["like", "base"], machines: tuple[int, int] = (1, 1),
) -> Outlier:  # fmt: skip
    """Makes a quantity of a row of ``scores_of``, with logarithms of its seconds and its ratio."""
    rate = float(row["moved"]) - float(seconds_log)
    return Outlier(
        **identity(row), node=node, sizes=row["sizes"], sizes_class=row["sizes"],
        seconds=math.exp(seconds_log), ratio=math.exp(log),
        bytes_per_second=None if math.isnan(rate) else math.exp(rate),
        against=against, machines=machines,
    )  # fmt: skip


def _rank(deviation: Outlier) -> float:
    """Sort key: the largest ratio first."""
    return -(deviation.ratio or 0.0)


def _alone(deviation: Outlier) -> Outlier:
    """The quantity without its ratio, because too few machines are of the machine's kind."""
    values: dict[str, Any] = {**vars(deviation), "ratio": None}
    return Outlier(**values)


def scores_of(times: Frame, usual: Frame) -> Frame:
    """Mean over sizes of the logarithm of time over usual time, for each machine and quantity.

    Sizes that a machine lacks are left out of its mean.
    """
    return _means(_over_usual(times, usual))


def _over_usual(times: Frame, usual: Frame) -> Frame:
    """Ratios of times to the usual time of the same kind, quantity and size, as ``score``."""
    return _over(times, usual, _SERIES)


def _over_own(times: Frame, before: Frame) -> Frame:
    """Ratios to the same machine's earlier time of this quantity and size, whatever its kind was.

    The column is ``score``.
    """
    return _over(times, before, ["node", *KEY, "bytes"])


def _over(times: Frame, others: Frame, same: list[str]) -> Frame:
    """Adds ``score``: logarithm of a time over the median of the others with equal columns."""
    medians = figures(others, same, log=Series.median).rename({"log": "usual"})
    both = times.merge(medians, on=same)
    return both.assign(score=both["log"] - both["usual"])


def _means(both: Frame) -> Frame:
    """Means over the sizes of each machine's quantities."""
    columns: dict[str, Callable[[Series], float]] = dict.fromkeys(
        ("score", "log", "moved"), Series.mean
    )
    return figures(both, ["node", *QUANTITY], **columns)
