"""Finds machines that are slower than machines of their kind, or than in their earlier runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial

from isthmus.analysis.fleet.hosts import FEWEST, HostSpeed
from isthmus.analysis.fleet.judging import QUANTITY, Judging, outlier, scores_of
from isthmus.analysis.fleet.reading import Ages, Reading, Unreadable, gather, read
from isthmus.analysis.fleet.states import BAD, Fleet, Node, Outlier, State, Swapped
from isthmus.analysis.machines import Fact, same_hosts
from isthmus.analysis.quantities import Coverage, coverage
from isthmus.results.run_file import Run
from isthmus.statistics import Judgement, judge, location, shift, simultaneous

_WITHIN = 0.9
"""Confidence by which a change is within the limit: 95 % on each side.

All quantities are within their limits only if each quantity is. So no correction for many tests is
needed, and each bound has the whole confidence (see ``analysis.change``)."""


def inspect(
    runs: Iterable[tuple[str, Run | Unreadable]],
    least: float = 0.05,
    baseline: Iterable[tuple[str, Run | Unreadable]] | None = None,
    expected: Iterable[str] = (),
    ages: Ages | None = None,
) -> Fleet:
    """Judges machines, each by the median of its runs, against other machines of its kind.

    A kind is a processor with its devices by name. Slots that differ in their link are of different
    kinds. A machine is slow in a quantity if two conditions hold:

    - The time exceeds the usual time of the kind by more than ``least``.
    - Chance shows such a time in 1 of 100 healthy fleets (``statistics.outliers``).

    Time that the host's own speed explains is subtracted first. A machine that is slow only without
    this step has a slow host. With a baseline, each machine is also compared with its earlier runs.
    Each kind as a whole is compared as well, with machines as the sample.

    Args:
        runs: name of each file and its run; the run's host names the machine.
        least: smallest difference that counts, as a share.
        baseline: earlier runs; None: no comparison with them.
        expected: names of machines that must have a run, or they are missing.
        ages: times at which runs that count began; machines without such a run are not judged.

    """
    wanted = list(expected)
    now = read(runs, ages)
    earlier = [run for run in read(baseline or ()) if not run.machine.unreadable]
    judged = {run.identity for run in now} if earlier else set()
    before = [run for run in earlier if run.identity not in judged]
    names = same_hosts((run.machine.name for run in (*now, *before)), wanted)
    after, old = gather(now, names), gather(before, names)
    judging = Judging(after, old, least)
    shifts, why, decided = _shifts(judging, old if baseline is not None else None)
    if earlier and not before:
        why = "its runs are those that are judged"
    nodes = judging.nodes()
    here = {node.name for node in nodes}
    absent = sorted({names[name] for name in wanted} - here)
    nodes += [Node(name, "", "missing", [], ["no run file"]) for name in absent]
    kinds = len({node.kind for node in nodes if node.state not in {"failed", "missing", "old"}})
    own = len({n for n, _ in old.machines} & here), len(here)
    return Fleet(
        nodes, kinds, judging.quantities, shifts, why, least, decided,
        None if baseline is None else own,
        sum(run.machine.unreadable for run in now), judging.hidden, len(earlier) - len(before),
    )  # fmt: skip


def _shifts(judging: Judging, before: Reading | None) -> tuple[list[Outlier], str, list[Coverage]]:
    """Finds quantities that are certainly slower than in the baseline, over all machines of a kind.

    Returns these quantities, why none can be compared, and how much of the comparison is decided.
    Machines named as slow do not count where each machine is compared with its earlier runs.
    """
    if before is None:
        return [], "", []
    after, old = scores_of(judging.times, before.times), scores_of(before.times, before.times)
    keys = [key for key, _ in after.groupby(QUANTITY)]
    if not keys:
        return [], "it has no measurement of these kinds of machines in common", []
    confidence = simultaneous(0.95, len(keys))
    shifts, fewest = [], math.inf
    judged: list[tuple[Outlier, str, Judgement]] = []
    known = old.groupby(QUANTITY).column("score")
    own = dict(iter(judging.own.groupby(QUANTITY)))
    for key, rows in after.groupby(QUANTITY):
        named = judging.named("base", key) | judging.named("like", key)
        paired = own.get(key)
        logs = (rows if paired is None else paired)["score"].tolist()
        if paired is not None and 2 * len(paired) >= len(rows):
            # Each machine is compared with itself, so differences between machines cancel.
            pairs = zip(paired["node"], paired["score"], strict=True)
            rest = [log for name, log in pairs if name not in named]
            interval, count = partial(location, rest), len(rest)
        else:
            reference, logs = known[key].tolist() if key in known else [], rows["score"].tolist()
            interval, count = partial(shift, reference, logs), min(len(reference), len(logs))
        change = interval(confidence)
        fewest = min(fewest, count)
        slower = sum(log > math.log1p(judging.least) for log in logs)
        moved = outlier(
            "", rows.iloc[0], float(rows["log"].median()), change.value, "base",
            (slower, len(logs)),
        )  # fmt: skip
        verdict = judge(change.exponential(), judging.least)
        if (
            verdict == "undecided"
            and judge(interval(_WITHIN).exponential(), judging.least) == "same"
        ):
            verdict = "same"
        judged.append((moved, moved.sizes, verdict))
        if verdict == "slower":
            shifts.append(moved)
    shifts.sort(key=lambda moved: -(moved.ratio or 0.0))
    few = "" if fewest > 1 else "it takes two machines of a kind on each side"
    return shifts, few, coverage(judged)


__all__ = [
    "BAD", "FEWEST", "Ages", "Fact", "Fleet", "HostSpeed", "Node", "Outlier", "State", "Swapped",
    "Unreadable", "inspect",
]  # fmt: skip
