"""Decides if a gate passes a comparison, and finds what makes the comparison itself doubtful."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from isthmus.analysis.changes import Comparison, Missing, Side, Terms
from isthmus.analysis.differences import product
from isthmus.analysis.machines import Fact, facts_of, links_of, same_hosts, started
from isthmus.analysis.quantities import Outcome
from isthmus.results.run_file import Run

SETTINGS_OF_TIMES = ("cpus", "numa_node", "options")
"""Settings that change how long an operation takes."""
_SETTINGS = (
    "precision", "confidence", "reruns", "budget_s", "quick", "axes", "options", "cpus",
    "numa_node", "repetitions",
)  # fmt: skip
"""Settings that change which points a run times; the seed changes none."""
ALLOWABLE = ("machine", "device", "settings", "link")
"""Kinds of doubts that option ``--allow-other`` takes."""
_ENOUGH_PROCESSES = 6
"""Least processes on each side for an interval of 95 % from the ranks of their times."""
_TOLD_S = 86400.0
"""Age of a base in seconds from which the gate states the age. A choice: a usual base is of the
same day."""


class Doubt(NamedTuple):
    """A reason why a comparison of the two sides may not be meaningful."""

    kind: str
    """``same run``, ``newer``, ``age``, ``future``, ``incomplete``, ``machine``, ``device``,
    ``settings`` or ``link``: the base does not say whether it had a lesser link, too."""
    blocks: bool
    """Whether the gate refuses to pass a comparison with this doubt."""
    side: str = ""
    """``base`` or ``new`` if the doubt is about one side, else empty."""
    names: tuple[str, ...] = ()
    """Names of the settings, of the two machines or devices, or of a link's device and check."""
    seconds: float = 0.0
    """Seconds by which the base is older than the new side."""


class LesserLink(NamedTuple):
    """A device of the new side whose link is less than its card's, or has errors."""

    fact: Fact
    """The finding; its device has the base's name."""
    in_base: bool | None
    """Whether the same check has a finding on the base's device; None: the base has no result."""

    @property
    def is_lost(self) -> bool:
        """Whether the base records a full link."""
        return self.in_base is False


class Gate(NamedTuple):
    """A gate's decision on a comparison, with the reasons that its first line names."""

    outcome: Outcome
    doubts: list[Doubt]
    dead: list[str]
    """Devices that were asked for, but have neither a compared time nor a missing point."""
    links: list[LesserLink]

    @property
    def blocks(self) -> list[Doubt]:
        """Doubts that keep the comparison from passing."""
        return [doubt for doubt in self.doubts if doubt.blocks]

    @property
    def lost_links(self) -> list[LesserLink]:
        """Lesser links of the new side for which the base records a full link."""
        return [link for link in self.links if link.is_lost]


def decide(result: Comparison) -> Gate:
    """Passes only if every quantity is decided and the sides are alike.

    A link that became less than the card allows fails, as it does in ``isthmus fleet``.
    """
    dead = _dead(result)
    terms = result.terms or Terms()
    links = list(_lesser_links(result))
    doubts = list(_doubts(result, terms))
    doubts += [
        Doubt("link", "link" not in terms.allowed, "base", (link.fact.device, link.fact.check))
        for link in links
        if link.in_base is None
    ]
    unsure = dead or any(doubt.blocks for doubt in doubts)
    outcome: Outcome = "undecided" if result.passes and unsure else result.outcome
    if any(link.is_lost for link in links):
        outcome = "fail"
    return Gate(outcome, doubts, dead, links)


def _dead(result: Comparison) -> list[str]:
    """Names in the base of requested devices without any compared, missing or too short time."""
    measured = {one.device for one in (*result.series, *result.missing)}
    asked = [
        result.devices.get(device.address, device.address)
        for run in (*result.base.runs, *result.new.runs)
        for device in run.devices
        if device.error or device.address in {point.device for point in run.points}
    ]
    below = _below_resolution(result)
    return [one for one in dict.fromkeys(asked) if one not in measured | below]


def _below_resolution(result: Comparison) -> set[str]:
    """New devices without an error whose points all have samples: their times are too short."""
    return {
        result.devices.get(device.address, device.address)
        for device in (d for run in result.new.runs for d in run.devices)
        if not device.error
        and all(
            point.reruns and not point.error
            for run in result.new.runs
            for point in run.points
            if point.device == device.address
        )
    }


def _doubts(result: Comparison, terms: Terms) -> Iterator[Doubt]:
    base, new = result.base, result.new
    # A model's times are the same on every machine and on every day: dates do not matter.
    measured = any(change.clock != "simulated" for change in result.series)
    if any(_is_same(base_run, other) for base_run in base.runs for other in new.runs):
        yield Doubt("same run", blocks=True)
    if min(run.started for run in base.runs) > max(run.started for run in new.runs):
        yield Doubt("newer", blocks=False, side="base")
    for name, side in (("base", base), ("new", new)):
        begun = max(filter(None, map(started, side.runs)), default=None)
        if measured and terms.newest and begun and begun > terms.newest:
            yield Doubt("future", blocks=True, side=name)
    older_s = _older_s(base, new)
    if older_s > min(_TOLD_S, terms.max_age_s):
        yield Doubt("age", measured and older_s > terms.max_age_s, "base", seconds=older_s)
    for name, side in (("base", base), ("new", new)):
        if any(not _has_all(run) for run in side.runs):
            yield Doubt("incomplete", blocks=False, side=name)
    if machines := _apart(_machines(base.runs, new.runs)):
        blocks = measured and "machine" not in terms.allowed
        yield Doubt("machine", blocks, names=machines)
    for devices in _devices(result):
        yield Doubt("device", "device" not in terms.allowed, names=devices)
    differ = tuple(name for name in _SETTINGS if _values(base, name) != _values(new, name))
    if differ:
        blocks = bool(set(SETTINGS_OF_TIMES) & set(differ)) and "settings" not in terms.allowed
        yield Doubt("settings", blocks, names=differ)


def _has_all(run: Run) -> bool:
    """Whether a run measured all its points, even if time ended before they were precise."""
    if run.status == "budget":
        return all(point.measured for point in run.points)
    return run.status == "complete"


def _is_same(run: Run, other: Run) -> bool:
    """Whether two files hold the same run; the machine's name may be anonymised in one of them."""
    return run.started == other.started and run.points == other.points


def _older_s(base: Side, new: Side) -> float:
    """Seconds from the base's newest run to the new side's newest; 0 where a date is unknown."""
    ends = [max(filter(None, map(started, side.runs)), default=None) for side in (base, new)]
    return (ends[1] - ends[0]).total_seconds() if ends[0] and ends[1] else 0.0


def _machines(base: Sequence[Run], new: Sequence[Run]) -> Iterator[tuple[set[str], set[str]]]:
    """Yields the names of both sides' hosts, then of their processors, without unknown names."""
    hosts = [[str(run.environment.get("host") or "") for run in runs] for runs in (base, new)]
    shown = same_hosts(name for of_side in hosts for name in of_side)
    named = [{shown[name] for name in of_side if name} for of_side in hosts]
    yield named[0], named[1]
    of = [{str(run.environment.get("cpu") or "") for run in runs} - {""} for runs in (base, new)]
    yield of[0], of[1]


def _apart(pairs: Iterable[tuple[set[str], set[str]]]) -> tuple[str, ...]:
    """Returns the first pair of known sets that differ, as two texts; empty if no pair differs."""
    for before, after in pairs:
        if before and after and before != after:
            return ", ".join(sorted(before)), ", ".join(sorted(after))
    return ()


def _devices(result: Comparison) -> Iterator[tuple[str, ...]]:
    """Yields products that differ at one address: first the base's, then the new side's."""
    sides = (_products(result.base.runs, {}), _products(result.new.runs, result.devices))
    for address in sides[0]:
        yield from filter(None, [_apart([(sides[0][address], sides[1].get(address, set()))])])


def _products(runs: Sequence[Run], names: Mapping[str, str]) -> dict[str, set[str]]:
    """Returns the known products of measured devices, by the address that is compared."""
    products: dict[str, set[str]] = {}
    for device in (device for run in runs for device in run.devices if not device.error):
        _, name, board = product(device)
        shown = ", ".join(dict.fromkeys(filter(None, (name, board))))
        products.setdefault(names.get(device.address, device.address), set()).update(
            {shown} if shown else ()
        )
    return products


def _lesser_links(result: Comparison) -> Iterator[LesserLink]:
    """Yields findings of the checks on links of the new side's compared devices."""
    compared = {series.device for series in (*result.series, *result.missing)}
    less = (fact for run in result.new.runs for fact in facts_of(run) if fact.less)
    named = (fact._replace(device=result.devices.get(fact.device, fact.device)) for fact in less)
    facts = [fact for fact in dict.fromkeys(named) if fact.device in compared]
    # The checks of the base's runs take time, and only a finding asks for them.
    in_base: dict[tuple[str, str], bool] = {}
    for run in result.base.runs if facts else ():
        for device, check, good in links_of(run):
            key = device, check
            in_base[key] = in_base.get(key, False) or not good
    for fact in facts:
        yield LesserLink(fact, in_base.get((fact.device, fact.check)))


def few_processes(result: Comparison) -> bool:
    """Whether an undecided series has too few processes for the rank-sum interval."""
    undecided = [change for change in result.undecided if not change.per_run]
    return any(min(change.samples) < _ENOUGH_PROCESSES for change in undecided)


def _values(side: Side, name: str) -> set[str]:
    return {str(getattr(run.settings, name)) for run in side.runs}


def unknown_quantities(result: Comparison) -> list[tuple[Missing, int]]:
    """Returns quantities that cannot be compared, each as its first point with a count.

    The count is the number of the quantity's points for which one side has a time.
    """
    counts: dict[tuple[str, ...], int] = {}
    first: dict[tuple[str, ...], Missing] = {}
    for quantity in result.unknown:
        first.setdefault(quantity.key, quantity)
        counts[quantity.key] = counts.get(quantity.key, 0) + quantity.measured
    return [(first[key], count) for key, count in counts.items()]
