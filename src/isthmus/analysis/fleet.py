"""Which of many machines are slower than their like: robust outliers over run files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal, NamedTuple

import numpy as np

from isthmus.analysis.quantities import (
    CLOCKS,
    IDENTITY,
    Coverage,
    Outcome,
    Quantity,
    coverage,
    identity,
    size_class,
    trusted_logs,
)
from isthmus.analysis.summary import simulated_devices
from isthmus.frames import Frame, Series
from isthmus.results.run_file import DeviceRecord, Run
from isthmus.statistics import Judgement, judge, shift, simultaneous
from isthmus.student import student
from isthmus.text import counted

_FALSE_ALARMS = 0.01
"""Of a whole fleet without a slow machine: how often one is named, for errors that are normal."""
_LEAST_NODES = 6
"""Machines of one kind of which one can be told from the others."""
_NORMAL_TO_MAD = 1.4826
"""Standard deviation over median absolute deviation of a normal distribution."""
_EFFICIENCY = 0.37
"""Of the median absolute deviation, against the standard deviation: of so many of n values it is
worth (Rousseeuw and Croux, "Alternatives to the median absolute deviation", Journal of the
American Statistical Association 88 (1993), 1273)."""
_QUANTITY = ["kind", *IDENTITY, "sizes"]
_SERIES = [*_QUANTITY, "bytes"]
State = Literal["slow", "failed", "missing", "unknown", "healthy"]
BAD: tuple[State, ...] = ("slow", "failed", "missing")
"""States of machines that need somebody's attention."""


@dataclass(frozen=True, kw_only=True)
class Outlier(Quantity):
    """A quantity of a machine that takes longer than on its like, or of a kind than before."""

    node: str
    sizes: str
    seconds: float
    """Geometric mean over its sizes."""
    ratio: float
    """Its time over the usual one."""


class Node(NamedTuple):
    """The judgement of one machine with its devices."""

    name: str
    kind: str
    state: State
    outliers: Sequence[Outlier]
    """The worst first."""
    reasons: Sequence[str]
    """Why it failed, or cannot be judged."""


class Fleet(NamedTuple):
    """The judgement of all machines."""

    nodes: Sequence[Node]
    kinds: int
    quantities: int
    """Compared over all kinds."""
    shifts: Sequence[Outlier]
    """Quantities that are slower than the baseline's; ``node`` is empty."""
    baseline: str
    """Why no baseline was compared; empty where one was, or none was given."""
    least: float
    """Smallest difference that counts, as a share."""
    coverage: Sequence[Coverage]
    """How much of the comparison with the baseline is decided."""

    def of(self, state: State) -> list[Node]:
        """Machines in this state, the worst first."""
        found = [node for node in self.nodes if node.state == state]
        return sorted(found, key=lambda n: -max((one.ratio for one in n.outliers), default=0.0))

    @property
    def open(self) -> list[Coverage]:
        """Kinds of quantities of which nothing is decided against the baseline."""
        return [one for one in self.coverage if not one.decided]

    @property
    def outcome(self) -> Outcome:
        """Whether a machine is bad or all are slower; else whether that is known.

        It is not known where no machine could be judged, or a baseline was given and nothing is
        decided of a kind of quantity, or at all.
        """
        if self.shifts or any(self.of(state) for state in BAD):
            return "fail"
        known = self.of("healthy") and not self.baseline and not self.open
        return "pass" if known else "undecided"

    @property
    def passes(self) -> bool:
        """Whether machines were judged, all are well, and not certainly or perhaps all slower."""
        return self.outcome == "pass"


def inspect(
    runs: Iterable[tuple[str, Run]],
    least: float = 0.05,
    baseline: Iterable[tuple[str, Run]] | None = None,
    expected: Iterable[str] = (),
) -> Fleet:
    """Judges machines, each by the median of its runs, against others of its kind.

    ``runs``: name of the file and run; the machine is the run's host. A kind is a processor with
    its devices by name; slots that differ in their link are other kinds. A machine is slow where a
    time lies so far above the median of its kind that of a healthy fleet none would in 99 of 100
    cases, by the median absolute deviation, and by more than ``least``. With a baseline, kinds are
    compared with the baseline's as well, machines being the sample. Machines that are ``expected``,
    by name, and have no run are missing.
    """
    times, failed = _table(runs)
    scores = _scores(times, times)
    outliers: dict[tuple[str, str], list[Outlier]] = {}
    counts = scores.groupby(_QUANTITY).spread("score", len)
    judged = scores[counts >= _LEAST_NODES]
    share = 1 - _FALSE_ALARMS / max(len(judged), 1)
    for _, rows in judged.groupby(_QUANTITY):
        middle = float(rows["score"].median())
        deviation = _NORMAL_TO_MAD * float((rows["score"] - middle).abs().median())
        limit = student(_EFFICIENCY * (len(rows) - 1), share) * deviation
        far = rows[rows["score"] - middle > max(limit, math.log1p(least))]
        for row in (far.iloc[i] for i in range(len(far))):
            found = outliers.setdefault((row["node"], row["kind"]), [])
            found.append(_outlier(row["node"], row, row["seconds"], row["score"] - middle))
    known = set(zip(judged["node"], judged["kind"], strict=True))
    has = Counter(zip(times["node"], times["kind"], strict=True))
    usual: Counter[str] = Counter()
    for (_, of), count in has.items():
        usual[of] = max(usual[of], count)
    nodes = [
        _node(
            *key,
            outliers.get(key, []),
            reasons,
            key in known,
            usual[key[1]] - has[key],
        )
        for key, reasons in sorted(failed.items())
    ]
    shifts, why, decided = _shifts(times, baseline, least)
    quantities = len(judged[_QUANTITY].drop_duplicates())
    kinds = len({node.kind for node in nodes})
    here = {node.name for node in nodes}
    absent = sorted(set(expected) - here)
    nodes += [Node(name, "", "missing", [], ["no run file"]) for name in absent]
    return Fleet(nodes, kinds, quantities, shifts, why, least, decided)


def _node(
    name: str, kind: str, found: list[Outlier], reasons: Sequence[str], judged: bool, lacks: int
) -> Node:  # fmt: skip
    found.sort(key=lambda one: -one.ratio)
    state: State = "slow" if found else "failed" if reasons else "healthy" if judged else "unknown"
    if not reasons and lacks:
        reasons = [f"lacks {counted(lacks, 'measurement', 'measurements')} that others have"]
        state = "slow" if found else "unknown"
    elif state == "unknown":
        reasons = [f"fewer than {_LEAST_NODES} of its kind"]
    return Node(name, kind, state, found, reasons)


def _outlier(node: str, row: Mapping[str, Any], seconds: float, log: float) -> Outlier:
    return Outlier(
        **identity(row), node=node, sizes=row["sizes"], seconds=float(seconds), ratio=math.exp(log)
    )


def _scores(times: Frame, usual: Frame) -> Frame:
    """Of each machine and quantity the mean, over its sizes, of the logarithm over the usual one.

    A machine that lacks a size is compared by those that it has.
    """
    medians = _figures(usual, _SERIES, log=Series.median).rename({"log": "usual"})
    both = times.merge(medians, on=_SERIES)
    both = both.assign(score=both["log"] - both["usual"])
    means = _figures(both, ["node", *_QUANTITY], score=Series.mean, log=Series.mean)
    return means.assign(seconds=np.exp(means["log"]))


def _shifts(
    times: Frame, baseline: Iterable[tuple[str, Run]] | None, least: float
) -> tuple[list[Outlier], str, list[Coverage]]:
    """Quantities that are certainly slower than the baseline's; or why none can be compared.

    And how much of the comparison is decided.
    """
    if baseline is None:
        return [], "", []
    before, _ = _table(baseline)
    after, old = _scores(times, before), _scores(before, before)
    quantities = [key for key, _ in after.groupby(_QUANTITY)]
    if not quantities:
        return [], "it has no measurement of these kinds of machines in common", []
    confidence = simultaneous(0.95, len(quantities))
    found, fewest = [], math.inf
    judged: list[tuple[Outlier, str, Judgement]] = []
    known = old.groupby(_QUANTITY).column("score")
    for key, rows in after.groupby(_QUANTITY):
        reference = known[key].tolist()
        change = shift(reference, rows["score"].tolist(), confidence)
        fewest = min(fewest, len(reference), len(rows))
        one = _outlier("", rows.iloc[0], float(np.exp(rows["log"].median())), change.value)
        verdict = judge(change.exponential(), least)
        judged.append((one, one.sizes, verdict))
        if verdict == "slower":
            found.append(one)
    found.sort(key=lambda one: -one.ratio)
    few = "" if fewest > 1 else "it takes two machines of a kind on each side"
    return found, few, coverage(judged)


def _table(
    runs: Iterable[tuple[str, Run]],
) -> tuple[Frame, dict[tuple[str, str], list[str]]]:
    """Log seconds of each machine, quantity and size, and why machines failed, by name and kind."""
    rows: list[tuple[object, ...]] = []
    failed: dict[tuple[str, str], list[str]] = {}
    for name, run in runs:
        node = (str(run.environment.get("host") or name), _kind(run))
        reasons = failed.setdefault(node, [])
        try:
            own, wrong = _rows(node, run)
            rows += own
        except (ArithmeticError, LookupError, RuntimeError, ValueError) as error:
            wrong = [f"{name}: not a valid run ({type(error).__name__})"]
        reasons += [reason for reason in wrong if reason not in reasons]
    frame = Frame(rows, columns=["node", *_SERIES, "log"])
    return _figures(frame, ["node", *_SERIES], log=Series.median), failed


def _figures(rows: Frame, keys: Sequence[str], **figures: Callable[[Series], float]) -> Frame:
    """A row for each group of rows that are equal in the keys, with figures of its columns."""
    groups = [
        (*key, *(figure(group[name]) for name, figure in figures.items()))
        for key, group in rows.groupby(keys, sort=False)
    ]
    return Frame(groups, columns=[*keys, *figures])


def _rows(node: tuple[str, str], run: Run) -> tuple[list[tuple[object, ...]], list[str]]:
    """Rows of one run, and what failed in it."""
    rows: list[tuple[object, ...]] = []
    wrong = [f"{device.address}: {device.error}" for device in run.devices if device.error]
    simulated = simulated_devices(run)
    for point in run.points:
        axes = ", ".join(f"{axis} {value}" for axis, value in point.axes.items() if value != "")
        for clock in CLOCKS:
            if clock == "host" and point.device in simulated:
                continue
            logs, why = trusted_logs(point, clock)
            if why in {"wrong data", "failed"} and f"{point.device}: {why}" not in wrong:
                wrong.append(f"{point.device}: {why}")
            if logs:
                log = median([median(values) for values in logs.values()])
                rows.append(
                    (*node, point.study, point.device, point.operation, point.memory, axes, clock,
                     size_class(point.bytes), point.bytes, log)
                )  # fmt: skip
    if not rows and not wrong:
        wrong.append("nothing was measured")
    return rows, wrong


def _kind(run: Run) -> str:
    """Processor and devices, with their links: what like is compared with."""
    devices = sorted({_device(d) for d in run.devices})
    return "; ".join([str(run.environment.get("cpu") or "unknown processor"), *devices])


def _device(device: DeviceRecord) -> str:
    ends = (device.link.get("max_link_speed", ""), device.link.get("max_link_width", ""))
    slot = " x".join(filter(None, ends))
    return " ".join(filter(None, (device.address, device.name, slot and f"({slot})")))
