"""Duration of an offload, and CPU against accelerator: questions of the study ``allocation``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus.analysis import published
from isthmus.analysis.allocation_memory import advice, copies, deltas, offsets
from isthmus.analysis.context import AnalysisContext, Answer
from isthmus.analysis.offloads import (
    ALGORITHM,
    SOFTWARE,
    Case,
    against_host,
    cases,
    groups,
    real_hosts,
)
from isthmus.statistics import Interval

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


def phases(context: AnalysisContext) -> Answer:
    """Median of each phase, of the first offload in a process and of repeated ones."""
    rows = []
    for group in groups(cases(context.run)):
        for case in group:
            for use, warm in (("first", False), ("again", True)):
                medians = [case.median(*names, warm=warm) for names in _COLUMNS.values()]
                if not np.all(np.isnan(medians)):
                    clock = "simulated" if case.simulated else "host"
                    rows.append((case.device, case.elements, case.name, clock, use, *medians))
    return Answer.of(
        "phases", "How long does each phase take, from each kind of memory?", rows,
        "device elements memory clock use", *(f"{name}_s" for name in _COLUMNS),
    )  # fmt: skip


def host(context: AnalysisContext) -> Answer:
    """Offload on the device compared with the same addition on the host, in the same processes."""
    rows = []
    for group in groups(_worth(context)):
        confidence = context.simultaneous(2 * len(group))
        for case in group:
            for software in filter(case.phases.get, SOFTWARE):
                both = _both(case, software, confidence)
                rows.append((case.device, case.elements, case.name, software, *_ends(both)))
    return Answer.of(
        "host", "Is the offload faster than the CPU?", rows,
        "device elements memory reference total_delta_s low_total_delta_s",
        "high_total_delta_s algorithm_delta_s low_algorithm_delta_s",
        "high_algorithm_delta_s repetitions",
    )  # fmt: skip


def _both(case: Case, software: str, confidence: float) -> tuple[tuple[Interval, int], ...]:
    """Host time less offload time, in seconds: of the total, then of the algorithm alone."""
    return (
        against_host(case, ("total",), ("populate", software), confidence),
        against_host(case, ALGORITHM, (software,), confidence),
    )


def _ends(both: tuple[tuple[Interval, int], ...]) -> tuple[float, ...]:
    (total, _), (algorithm, count) = both
    return (*total[:3], *algorithm[:3], count)


def break_even(context: AnalysisContext) -> Answer:
    """Smallest measured size from which on the device is faster."""
    rows = []
    by_kind: dict[tuple[str, str], list[Case]] = {}
    for case in _worth(context):
        if case.add:
            by_kind.setdefault((case.device, case.name), []).append(case)
    for (device, name), sized in by_kind.items():
        sized.sort(key=lambda case: case.elements)
        if len(sized) < 2:
            continue
        confidence = context.simultaneous(len(sized))
        signs = [_both(case, case.add, confidence)[1][0].sign for case in sized]
        from_here = next(
            (i for i in range(len(signs)) if all(sign > 0 for sign in signs[i:])), len(signs)
        )
        below = next((sized[i].elements for i in reversed(range(from_here)) if signs[i] < 0), 0)
        reached = from_here < len(signs)
        rows.append(
            (device, name, below, sized[from_here].elements if reached else np.nan,
             *_slopes(sized[-2:]))
        )  # fmt: skip
    return Answer.of(
        "break_even", "From which size on is the offload faster than the host?", rows,
        "device memory slower_to faster_from device_slope_s host_slope_s",
    )  # fmt: skip


def _slopes(pair: Sequence[Case]) -> tuple[float, float]:
    """Seconds per element on the device and on the host, between the two largest sizes."""
    small, large = pair
    more = large.elements - small.elements
    device = (large.median(*ALGORITHM) - small.median(*ALGORITHM)) / more
    return device, (large.median(large.add) - small.median(small.add)) / more


def _worth(context: AnalysisContext) -> list[Case]:
    """Verified offloads whose time includes the host's software."""
    return [case for case in real_hosts(context.run) if case.verified]


QUESTIONS = (phases, deltas, host, break_even, copies, offsets, published.published_figures, advice)
