"""Which memory an offload should begin in: questions of the study ``allocation``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np

from isthmus.analysis import wording
from isthmus.analysis.evidence import Answer, Evidence, table
from isthmus.analysis.offloads import (
    ALGORITHM,
    Case,
    Comparison,
    at,
    compare,
    contrast,
    groups,
    in_turn,
    longer,
    offloads,
    real_hosts,
)
from isthmus.statistics import Interval, certainly_least, certainly_most
from isthmus.studies.allocation import ACCELERATOR
from isthmus.units import format_rate

_PAGE = 4096
_MOVES = {
    "map": ("map",),
    "migrate": ("migrate_to_device", "migrate_to_device_wait"),
    "read_back": ("read_back",),
}
"""Where a runtime may copy, and the phases of it."""
_VECTORS = {"map": 3, "migrate": 2, "read_back": 1}
_NO_COPY_BPS = 200e9
"""Nothing here copies so fast: what seems to was not copied."""
_PASS_BPS = 50e9
"""A certain delay that copying at such a rate would not explain is no copy."""
_COPY_SHARE = 0.9
_RECURRING = ACCELERATOR[2:]
"""What each offload costs: all but starting the runtime."""


def deltas(evidence: Evidence) -> Answer:
    """What any two kinds of memory differ by, phase by phase."""
    rows = []
    clauses: list[str] = []
    each = {**{name: (name,) for name in ACCELERATOR}, "algorithm": ALGORITHM, "total": ("total",)}
    for group in groups(offloads(evidence.run)):
        confidence = evidence.together(len(group) - 1)
        for a, b in permutations(group, 2):
            for name, names in each.items():
                if any(n in case.phases for n in names for case in (a, b)):
                    found, count = compare(a, b, names, confidence)
                    rows.append((a.device, a.elements, name, a.name, b.name, *found[:3], count))
        if len(group) > 1:
            clauses += _told(evidence, group)
    return Answer(
        "deltas",
        "How much does the kind of host memory matter?",
        wording.few(clauses) or ("one kind of memory only: nothing to compare",),
        table(
            rows, "device", "elements", "operation", "memory", "reference",
            "delta_s", "low_delta_s", "high_delta_s", "repetitions",
        ),
    )  # fmt: skip


def _told(evidence: Evidence, group: Sequence[Case]) -> Iterator[str]:
    """The first offload in a process; where that tells nothing, those that follow in it."""
    reference, *others = group
    where = f"{at(evidence, reference)}, map to read back"
    if reference.crossing:
        where += ", on the card's clock (what the runtime copies is the host's time)"
    still = others
    found: dict[str, Comparison] = {}
    for warm in (False, True):
        looked = _contrasts(evidence, reference, still, len(others), warm=warm)
        found |= looked
        here = f"{where}, once warm" if warm else where
        yield from _extremes(here, looked, reference, others, warm=warm)
        same = {name: c.ratio for name, c in looked.items() if c.judgement == "same"}
        if same:
            yield (
                f"{here}: no difference between {reference.name} and "
                f"{_others(list(same), len(others))} ({evidence.confidence:.0%} intervals of the "
                f"ratio within {_span(same.values())})"
            )
        still = [case for case in still if not _decided(found.get(case.name))]
    if still:
        wide = [found[case.name].ratio for case in still if case.name in found]
        reach = _reach(wide) if wide else ""
        yield (
            f"{where}: cannot tell {reference.name} from "
            f"{_others([case.name for case in still], len(others))} yet{reach}; "
            f"{wording.how_to_tell(evidence.run)}"
        )


def _span(found: Iterable[Interval]) -> str:
    every = list(found)
    low, high = min(r.low for r in every), max(r.high for r in every)
    return f"{wording.number(low)} to {wording.number(high)}"


def _reach(found: Sequence[Interval]) -> str:
    if not np.isfinite([(one.low, one.high) for one in found]).all():
        return " (too few repetitions)"
    return f" (intervals of the ratio reach {_span(found)})"


def _decided(found: Comparison | None) -> bool:
    return found is not None and found.judgement != "undecided"


def _contrasts(
    evidence: Evidence, reference: Case, others: Sequence[Case], all_of: int, *, warm: bool
) -> dict[str, Comparison]:
    """Of each with the reference; each of ``all_of`` is looked at twice, first and warm."""

    def one(case: Case) -> Comparison:
        levels = evidence.confidence, evidence.together(2 * all_of)
        precision = evidence.run.settings.precision
        turns = in_turn(case, reference, *levels, precision) if warm else None
        return turns or contrast(evidence, case, reference, ALGORITHM, 2 * all_of, warm=warm)

    pairs = ((case.name, one(case)) for case in others)
    return {name: found for name, found in pairs if found.repetitions}


def _extremes(
    where: str,
    found: Mapping[str, Comparison],
    reference: Case,
    others: Sequence[Case],
    *,
    warm: bool,
) -> Iterator[str]:
    slower = {name: c.difference for name, c in found.items() if c.judgement == "slower"}
    faster = {name: c.difference for name, c in found.items() if c.judgement == "faster"}
    if slower:
        name = max(slower, key=lambda n: slower[n].value)
        most = f"{name} costs most"
        if certainly_most(list(slower.values())) is None:
            most = f"{', '.join(slower)} cost more, {name}"
        worst = next(case for case in others if case.name == name)
        phase = max(
            ALGORITHM,
            key=lambda p: (
                np.nan_to_num(worst.median(p, warm=warm))
                - np.nan_to_num(reference.median(p, warm=warm))
            ),
        )
        yield (
            f"{where}: {most}, {longer(slower[name])} longer than {reference.name}, "
            f"most of it in {phase}"
        )
    if faster:
        name = min(faster, key=lambda n: faster[n].value)
        least = f"{name} costs least"
        if certainly_least(list(faster.values())) is None:
            least = f"{', '.join(faster)} cost less, {name}"
        yield f"{where}: {least}, {longer(faster[name])} less than {reference.name}"


def _others(names: Sequence[str], all_of: int) -> str:
    if len(names) == 1:
        return names[0]
    return f"the {len(names)} other kinds" if len(names) == all_of else ", ".join(names)


def copies(evidence: Evidence) -> Answer:
    """Where a runtime copied: fresh pages it touched, and time that only a copy takes."""
    rows = []
    clauses = []
    for group in groups(real_hosts(evidence.run)):
        confidence = evidence.together(len(_MOVES) * (len(group) - 1))
        copying: dict[str, list[str]] = {}
        for phase, names in _MOVES.items():
            having = [case for case in group if case.median(*names) >= 0]
            best = min(having, key=lambda case: case.median(*names), default=None)
            for case in having:
                assert best is not None
                seconds, (beyond, _) = case.median(*names), compare(case, best, names, confidence)
                moved = 4 * case.elements * _VECTORS[phase]
                faults = sum(case.typical(name, "minor_faults") for name in names)
                switches = sum(case.typical(name, "voluntary_switches") for name in names)
                fresh = faults * _PAGE / (4 * case.elements)
                rate = moved / seconds if seconds > 0 else np.inf
                verdict = _verdict(fresh, rate, moved, beyond)
                rows.append((case.device, case.elements, case.name, phase, seconds, rate,
                             faults, fresh, switches, *beyond[:3], verdict))  # fmt: skip
                if verdict not in {"no copy", "moved"}:
                    copying.setdefault(f"{phase}: {verdict}", []).append(case.name)
        where = at(evidence, group[0])
        told = [
            f"{what} ({', '.join(names[:4])}{' ...' if len(names) > 4 else ''})"
            for what, names in copying.items()
        ]
        clauses.append(f"{where}: {', '.join(told) or 'nothing was copied unasked'}")
    return Answer(
        "copies",
        "Which copies did the runtime make on its own?",
        wording.few(clauses) or ("nothing was measured",),
        table(rows, "device", "elements", "memory", "operation", "median_s", "rate_Bps", "faults",
              "fresh_vectors", "switches", "beyond_best_s", "low_beyond_best_s",
              "high_beyond_best_s", "finding"),
    )  # fmt: skip


def _verdict(fresh: float, rate: float, moved: int, beyond: Interval) -> str:
    """What a move was.

    Pages touched for the first time are a copy's destination, or what is locked or mapped; time
    beyond the best kind's tells of a further pass, where it is certain and as long as copying takes
    at least.
    """
    if fresh >= _COPY_SHARE:
        vectors = f"{round(fresh)} fresh vector{'s' if round(fresh) > 1 else ''}"
        return f"first touch of {vectors} (a copy's destination, or the pages themselves)"
    if rate > _NO_COPY_BPS:
        return "no copy"
    if beyond.low > 0 and moved / beyond.low < _PASS_BPS:
        return "a further pass over the data"
    return "moved"


def offsets(evidence: Evidence) -> Answer:
    """The worst place in a page, or that none is worse."""
    rows = []
    clauses = []
    for group in groups(real_hosts(evidence.run)):
        aligned = group[0]
        moved = [
            case
            for case in group[1:]
            if (case.memory.startswith("offset") or case.relative_offset)
            and case.handover == aligned.handover
        ]
        if aligned.memory != "aligned" or not moved:
            continue
        all_of = len(group) - 1  # as certain as what is said of all kinds
        first = _contrasts(evidence, aligned, moved, all_of, warm=False)
        found = {
            name: c if _decided(c) else warm.get(name, c)
            for warm in (_contrasts(evidence, aligned, moved, all_of, warm=True),)
            for name, c in first.items()
        }
        warm_names = {name for name, c in found.items() if c is not first[name]}
        for name, c in found.items():
            use = "again" if name in warm_names else "first"
            figures = (*c.difference[:3], c.repetitions, *c.ratio[:3])
            rows.append((aligned.device, aligned.elements, name, use, *figures))
        told = _worst_offset(evidence, found, warm_names)
        clauses.append(f"{at(evidence, aligned)}, map to read back: {told}")
    return Answer(
        "offsets",
        "Does it matter where in a page the vectors begin, and which offset is worst?",
        wording.few(clauses) or ("no offsets beside aligned memory",),
        table(rows, "device", "elements", "memory", "use", "delta_s", "low_delta_s", "high_delta_s",
              "repetitions", "ratio", "low_ratio", "high_ratio"),
    )  # fmt: skip


def _worst_offset(
    evidence: Evidence, found: Mapping[str, Comparison], warm: Collection[str]
) -> str:
    slower = {name: c for name, c in found.items() if c.judgement == "slower"}
    if slower:
        name = max(slower, key=lambda n: slower[n].ratio.value)
        use = ", once warm" if name in warm else ""
        worst = f"worst is {name},"
        if certainly_most([c.difference for c in slower.values()]) is None:
            worst = f"no worst of {', '.join(slower)} for certain; {name} takes"
        return f"{worst} {longer(slower[name].difference)} longer than aligned{use}"
    relatives = [c.ratio for c in found.values()]
    if all(c.judgement in {"same", "faster"} for c in found.values()):
        return f"no offset is worse than aligned (intervals of the ratio {_span(relatives)})"
    return f"cannot tell yet{_reach(relatives)}; {wording.how_to_tell(evidence.run)}"


def advice(evidence: Evidence) -> Answer:
    """One sentence for each runtime."""
    rows = []
    clauses = []
    largest: dict[str, list[Case]] = {}
    for group in groups(real_hosts(evidence.run)):
        if len(group) > 1:
            before = largest.get(group[0].device)
            if before is None or before[0].elements < group[0].elements:
                largest[group[0].device] = group
    for device, group in largest.items():
        confidence = evidence.together(len(group) - 1)
        best = min(group, key=lambda case: case.median(*_RECURRING))
        plain = next((case for case in group if case.memory == "pageable"), group[0])
        gain, count = compare(plain, best, _RECURRING, confidence)
        rows.append((device, group[0].elements, best.name, plain.name, *gain[:3], count))
        others = (case for case in group if case not in (best, plain))
        rivals = [c.name for c in others if compare(c, best, _RECURRING, confidence)[0].sign <= 0]
        name = evidence.labels[device]
        if best is plain or not gain.sign:
            clauses.append(
                f"{name}: for one offload nothing is certainly better than {plain.name} memory; "
                "for many, what is told once warm decides"
            )
        else:
            clauses.append(
                f"{name}: allocate {' or '.join([best.name, *rivals])} memory; from allocating "
                f"to the result that takes {longer(gain)} less than {plain.name}, populating "
                f"included ({format_rate(12 * group[0].elements / best.median(*_RECURRING))} of "
                "operands and results)"
            )
    return Answer(
        "advice",
        "How should the buffers of such an offload be allocated?",
        wording.few(clauses) or ("one kind of memory only",),
        table(rows, "device", "elements", "memory", "reference", "delta_s", "low_delta_s",
              "high_delta_s", "repetitions"),
    )  # fmt: skip
