"""Questions of the study ``allocation``: an offload's phases, the CPU, and kinds of host memory."""

from __future__ import annotations

from itertools import permutations

import numpy as np

from isthmus.analysis import published
from isthmus.analysis.context import AnalysisContext, Rows, question
from isthmus.analysis.offloads import (
    ALGORITHM,
    SOFTWARE,
    Case,
    cases,
    contrast,
    groups,
    largest,
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


@question(
    "deltas", "How much does the kind of host memory matter?",
    "device elements operation memory reference [delta_s] repetitions",
)  # fmt: skip
def deltas(context: AnalysisContext) -> Rows:
    """Difference between any two kinds of memory in each phase."""
    each = {**{name: (name,) for name in ACCELERATOR}, "algorithm": ALGORITHM, "total": ("total",)}
    for group in groups(offloads(context.run)):
        confidence = context.simultaneous(len(group) - 1)
        for a, b in permutations(group, 2):
            for name, names in each.items():
                if a.phases.keys() & {*names} or b.phases.keys() & {*names}:
                    one, other = a.sum(*names), b.sum(*names)
                    key = (a.device, a.elements, name, a.name, b.name)
                    yield *key, one.less(other, confidence), len(one.pairs(other))


@question(
    "copies", "Which copies did the runtime make on its own?",
    "device elements memory operation median_s rate_Bps faults fresh_vectors switches",
    "[beyond_best_s] finding",
)  # fmt: skip
def copies(context: AnalysisContext) -> Rows:
    """Copies that a runtime made, detected by page faults and by additional time."""
    for group in groups(real_hosts(context.run)):
        confidence = context.simultaneous(len(_MOVES) * (len(group) - 1))
        for phase, names in _MOVES.items():
            having = [(case, time) for case in group if (time := case.sum(*names))]
            best = min((time for _, time in having), key=lambda time: time.value, default=None)
            for case, time in having:
                assert best is not None
                beyond, seconds = time.less(best, confidence), time.value
                moved = case.bytes * _VECTORS[phase]
                faults = sum(case.typical(name, "minor_faults") for name in names)
                switches = sum(case.typical(name, "voluntary_switches") for name in names)
                fresh = faults * _PAGE / case.bytes
                rate = moved / seconds if seconds > 0 else np.inf
                yield (
                    case.device, case.elements, case.name, phase, seconds, rate, faults, fresh,
                    switches, beyond, _verdict(fresh, rate, moved, beyond),
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


@question(
    "offsets", "Does it matter where in a page the vectors begin, and which offset is worst?",
    "device elements memory use [delta_s] repetitions [ratio]",
)  # fmt: skip
def offsets(context: AnalysisContext) -> Rows:
    """Additional time of vectors that do not begin at the start of a page."""
    for aligned, *others in groups(real_hosts(context.run)):
        if aligned.memory != "aligned":
            continue
        comparisons = 2 * len(others)  # each kind twice, cold and warm
        for case in others:
            within = case.memory.startswith("offset") or case.relative_offset
            if not within or case.handover != aligned.handover:
                continue
            first = contrast(context, case, aligned, comparisons, warm=False)
            precision, both = context.run.settings.precision, context.simultaneous(comparisons)
            again = paired(case, aligned, context.confidence, both, precision)
            again = again or contrast(context, case, aligned, comparisons, warm=True)
            later = first.judgement == "undecided" and again.repetitions
            result = again if later else first
            if result.repetitions:
                key = (aligned.device, aligned.elements, case.name, "again" if later else "first")
                yield *key, result.difference, result.repetitions, result.ratio


@question(
    "advice", "How should the buffers of such an offload be allocated?",
    "device elements memory reference [delta_s] repetitions",
)  # fmt: skip
def advice(context: AnalysisContext) -> Rows:
    """Fastest kind of memory of each runtime, compared with ordinary memory."""
    for group in largest(real_hosts(context.run), least=2):
        best = min(group, key=lambda case: case.sum(*_RECURRING).value)
        plain = next((case for case in group if case.memory == "pageable"), group[0])
        usual, least = plain.sum(*_RECURRING), best.sum(*_RECURRING)
        gain = usual.less(least, context.simultaneous(len(group) - 1))
        key = (plain.device, plain.elements, best.name, plain.name)
        yield *key, gain, len(usual.pairs(least))


_COLUMNS = {
    "start": ("initialise", "program_device"),
    "allocate": ("allocate",),
    "populate": ("populate",),
    "map": ("map",),
    "migrate": ("migrate_to_device", "migrate_to_device_wait"),
    "launch": ("set_arguments", "kernel_enqueue"),
    "kernel": ("kernel_run",),
    "read_back": ("read_back",),
    "remainder": ("remainder",),
    "total": ("total",),
    "host_add": SOFTWARE[:1],
    "host_simd": SOFTWARE[1:],
}


@question(
    "phases", "How long does each phase take, from each kind of memory?",
    "device elements memory clock use", *(f"{name}_s" for name in _COLUMNS),
)  # fmt: skip
def phases(context: AnalysisContext) -> Rows:
    """Median of each phase, of the first offload in a process and of repeated ones."""
    for case in (case for group in groups(cases(context.run)) for case in group):
        for use, warm in (("first", False), ("again", True)):
            medians = [case.sum(*names, warm=warm).value for names in _COLUMNS.values()]
            if not np.all(np.isnan(medians)):
                yield case.device, case.elements, case.name, case.clock, use, *medians


@question(
    "host", "Is the offload faster than the CPU?",
    "device elements memory reference [total_delta_s] [algorithm_delta_s] repetitions",
)  # fmt: skip
def host(context: AnalysisContext) -> Rows:
    """Offload on the device compared with the same addition on the host, in the same processes."""
    for group in groups(_worth(context)):
        confidence = context.simultaneous(2 * len(group))
        for case in group:
            for software in filter(case.phases.get, SOFTWARE):
                offload, cpu = case.sum("total"), case.sum("populate", software)
                ahead = _ahead(case, software, confidence)
                count = len(case.sum(software).pairs(case.sum(*ALGORITHM)))
                key = (case.device, case.elements, case.name, software)
                yield *key, cpu.less(offload, confidence), ahead, count


def _ahead(case: Case, software: str, confidence: float) -> Interval:
    """Host time less offload time, in seconds, of the algorithm alone."""
    return case.sum(software).less(case.sum(*ALGORITHM), confidence)


@question(
    "break_even", "From which size on is the offload faster than the host?",
    "device memory slower_to faster_from device_slope_s host_slope_s",
)  # fmt: skip
def break_even(context: AnalysisContext) -> Rows:
    """Smallest measured size from which on the device is faster."""
    by_kind: dict[tuple[str, str], list[Case]] = {}
    for case in filter(lambda case: case.add, _worth(context)):
        by_kind.setdefault((case.device, case.name), []).append(case)
    for key, sized in by_kind.items():
        if len(sized) < 2:
            continue
        sized.sort(key=lambda case: case.elements)
        confidence = context.simultaneous(len(sized))
        signs = [_ahead(case, case.add, confidence).sign for case in sized]
        from_here = max((i + 1 for i, sign in enumerate(signs) if sign <= 0), default=0)
        slower = [case.elements for case, sign in zip(sized, signs, strict=True) if sign < 0]
        faster = sized[from_here].elements if from_here < len(sized) else np.nan
        small, large = sized[-2:]
        slopes = (
            (large.sum(*names).value - small.sum(*names).value) / (large.elements - small.elements)
            for names in (ALGORITHM, (large.add,))
        )
        yield *key, max(slower, default=0), faster, *slopes


def _worth(context: AnalysisContext) -> list[Case]:
    """Verified offloads whose time includes the host's software."""
    return [case for case in real_hosts(context.run) if case.verified]


QUESTIONS = (phases, deltas, host, break_even, copies, offsets, published.published_figures, advice)
