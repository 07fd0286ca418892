"""Duration of an offload, and CPU against accelerator: questions of the study ``allocation``."""

from __future__ import annotations

import numpy as np

from isthmus.analysis import published
from isthmus.analysis.allocation_memory import advice, copies, deltas, offsets
from isthmus.analysis.context import AnalysisContext, Rows, question
from isthmus.analysis.offloads import ALGORITHM, SOFTWARE, Case, cases, groups, real_hosts
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
