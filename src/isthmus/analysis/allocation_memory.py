"""Effect of the kind of host memory on an offload: questions of the study ``allocation``."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from isthmus.analysis.context import AnalysisContext, Answer
from isthmus.analysis.offloads import (
    ALGORITHM,
    Case,
    Comparison,
    compare,
    contrast,
    groups,
    offloads,
    paired,
    real_hosts,
)
from isthmus.statistics import Interval
from isthmus.studies.allocation import ACCELERATOR

_PAGE = 4096
_MOVES = {
    "map": ("map",),
    "migrate": ("migrate_to_device", "migrate_to_device_wait"),
    "read_back": ("read_back",),
}
"""Steps in which a runtime may copy data, with the phases of each step."""
_VECTORS = {"map": 3, "migrate": 2, "read_back": 1}
_NO_COPY_BPS = 200e9
"""Bytes a second. A step with a higher rate cannot have copied the data."""
_PASS_BPS = 50e9
"""Bytes a second. A delay so short that copying would need a higher rate is not a copy."""
_COPY_SHARE = 0.9
_RECURRING = ACCELERATOR[2:]
"""Phases of every offload; starting the runtime happens once."""


def deltas(context: AnalysisContext) -> Answer:
    """Difference between any two kinds of memory in each phase."""
    rows = []
    each = {**{name: (name,) for name in ACCELERATOR}, "algorithm": ALGORITHM, "total": ("total",)}
    for group in groups(offloads(context.run)):
        confidence = context.simultaneous(len(group) - 1)
        for a, b in permutations(group, 2):
            for name, names in each.items():
                if any(n in case.phases for n in names for case in (a, b)):
                    delta, count = compare(a, b, names, confidence)
                    rows.append((a.device, a.elements, name, a.name, b.name, *delta[:3], count))
    return Answer.of(
        "deltas", "How much does the kind of host memory matter?", rows,
        "device elements operation memory reference delta_s low_delta_s high_delta_s",
        "repetitions",
    )  # fmt: skip


def copies(context: AnalysisContext) -> Answer:
    """Copies that a runtime made, detected by page faults and by additional time."""
    rows = []
    for group in groups(real_hosts(context.run)):
        confidence = context.simultaneous(len(_MOVES) * (len(group) - 1))
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
    return Answer.of(
        "copies", "Which copies did the runtime make on its own?", rows,
        "device elements memory operation median_s rate_Bps faults fresh_vectors",
        "switches beyond_best_s low_beyond_best_s high_beyond_best_s finding",
    )  # fmt: skip


def _verdict(fresh: float, rate: float, moved: int, beyond: Interval) -> str:
    """Whether the runtime copied the data of a step.

    Page faults for whole vectors mean that the destination of a copy, or the pages that are locked
    or mapped, were touched for the first time. Time beyond that of the best kind of memory means a
    further pass over the data, if the time is significant and long enough for a copy.
    """
    if fresh >= _COPY_SHARE:
        vectors = f"{round(fresh)} fresh vector{'s' if round(fresh) > 1 else ''}"
        return f"first touch of {vectors} (a copy's destination, or the pages themselves)"
    if rate > _NO_COPY_BPS:
        return "no copy"
    if beyond.low > 0 and moved / beyond.low < _PASS_BPS:
        return "a further pass over the data"
    return "moved"


def offsets(context: AnalysisContext) -> Answer:
    """Additional time of vectors that do not begin at the start of a page."""
    rows = []
    for group in groups(real_hosts(context.run)):
        aligned = group[0]
        moved = [
            case
            for case in group[1:]
            if (case.memory.startswith("offset") or case.relative_offset)
            and case.handover == aligned.handover
        ]
        if aligned.memory != "aligned" or not moved:
            continue
        for case in moved:
            first, again = (
                _contrast(context, case, aligned, len(group) - 1, warm=warm)
                for warm in (False, True)
            )
            later = first.judgement == "undecided" and again.repetitions
            result = again if later else first
            if result.repetitions:
                key = (aligned.device, aligned.elements, case.name, "again" if later else "first")
                rows.append(
                    (
                        *key,
                        *result.difference[:3],
                        result.repetitions,
                        *result.ratio[:3],
                    )
                )
    return Answer.of(
        "offsets", "Does it matter where in a page the vectors begin, and which offset is worst?",
        rows,
        "device elements memory use delta_s low_delta_s high_delta_s repetitions ratio",
        "low_ratio high_ratio",
    )  # fmt: skip


def _contrast(
    context: AnalysisContext, case: Case, reference: Case, kinds: int, *, warm: bool
) -> Comparison:
    """Compares the algorithm's time of two kinds; ``kinds`` are compared twice, cold and warm."""
    precision, simultaneous = context.run.settings.precision, context.simultaneous(2 * kinds)
    pair = paired(case, reference, context.confidence, simultaneous, precision) if warm else None
    return pair or contrast(context, case, reference, ALGORITHM, 2 * kinds, warm=warm)


def advice(context: AnalysisContext) -> Answer:
    """Fastest kind of memory of each runtime, compared with ordinary memory."""
    rows = []
    largest: dict[str, list[Case]] = {}
    for group in groups(real_hosts(context.run)):
        if len(group) > 1:
            before = largest.get(group[0].device)
            if before is None or before[0].elements < group[0].elements:
                largest[group[0].device] = group
    for device, group in largest.items():
        confidence = context.simultaneous(len(group) - 1)
        best = min(group, key=lambda case: case.median(*_RECURRING))
        plain = next((case for case in group if case.memory == "pageable"), group[0])
        gain, count = compare(plain, best, _RECURRING, confidence)
        rows.append((device, group[0].elements, best.name, plain.name, *gain[:3], count))
    return Answer.of(
        "advice", "How should the buffers of such an offload be allocated?", rows,
        "device elements memory reference delta_s low_delta_s high_delta_s repetitions",
    )  # fmt: skip
