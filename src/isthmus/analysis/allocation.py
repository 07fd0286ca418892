"""Answers the questions of study ``allocation``: phases, the CPU, and kinds of host memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from isthmus.analysis import reproduction
from isthmus.analysis.commands import again
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Reference
from isthmus.analysis.offloads import (
    ALGORITHM,
    SOFTWARE,
    Case,
    Seconds,
    cases,
    contrast,
    groups,
    largest,
    offloads,
    real_hosts,
)
from isthmus.answers import Rows, question
from isthmus.results.run_file import QUICK_PROCESSES
from isthmus.statistics import Interval, judge, simultaneous
from isthmus.studies.allocation import ACCELERATOR
from isthmus.studies.base import Analysis
from isthmus.thresholds import FRESH_VECTORS, FURTHER_PASS_BPS, NO_COPY_BPS
from isthmus.units import format_size, percent, shown

_PAGE = 4096
_MOVES = {
    "map": ("map",),
    "migrate": ("migrate_to_device", "migrate_to_device_wait"),
    "read_back": ("read_back",),
}
"""Steps of an offload in which a runtime may copy data, with the phases of each step."""
_VECTORS = {"map": 3, "migrate": 2, "read_back": 1}


@question(
    "deltas", "How much does the kind of host memory matter?",
    "device elements operation memory reference [delta_s] repetitions",
)  # fmt: skip
def deltas(context: AnalysisContext) -> Rows:
    """Yields the difference in time between any two kinds of memory, for each phase."""
    each = {**{name: (name,) for name in ACCELERATOR}, "algorithm": ALGORITHM, "total": ("total",)}
    for group in groups(offloads(context.run)):
        confidence = simultaneous(context.confidence, len(group) - 1)
        for a, b in permutations(group, 2):
            for name, names in each.items():
                if a.phases.keys() & {*names} or b.phases.keys() & {*names}:
                    minuend, other = a.sum(*names), b.sum(*names)
                    key = (a.device, a.elements, name, a.name, b.name)
                    yield *key, minuend.less(other, confidence), len(minuend.pairs(other))


@question(
    "copies", "Which copies did the runtime make without being asked?",
    "device elements memory operation median_s rate_Bps faults fresh_vectors switches",
    "[beyond_best_s] finding",
)  # fmt: skip
def copies(context: AnalysisContext) -> Rows:
    """Copies that a runtime made, detected by page faults and by additional time."""
    for group in groups(real_hosts(context.run)):
        confidence = simultaneous(context.confidence, len(_MOVES) * (len(group) - 1))
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
    """Says in words whether the runtime copied the data of a step.

    Page faults for whole vectors mean a first touch: of a copy's destination, or of pages that are
    locked or mapped. A significant time beyond that of the best kind of memory means a further pass
    over the data, if the additional time suffices for a copy.
    """
    if fresh >= FRESH_VECTORS:
        vectors = f"{round(fresh)} fresh vector{'s' if round(fresh) > 1 else ''}"
        return f"first touch of {vectors} (a copy's destination, or the pages themselves)"
    if rate > NO_COPY_BPS:
        return "no copy"
    if beyond.low > 0 and moved / beyond.low < FURTHER_PASS_BPS:
        return "a further pass over the data"
    return "moved"


@question(
    "offsets", "Does it matter where in a page the vectors begin, and which offset is worst?",
    "device elements memory use [delta_s] repetitions [ratio]",
)  # fmt: skip
def offsets(context: AnalysisContext) -> Rows:
    """Yields the additional time of vectors that do not begin at the start of a page."""
    for aligned, *others in groups(real_hosts(context.run)):
        if aligned.memory != "aligned":
            continue
        comparisons = 2 * len(others)  # first and repeated offloads are compared
        for case in others:
            within = case.memory.startswith("offset") or case.relative_offset
            if not within or case.handover != aligned.handover:
                continue
            confidences = (context.confidence, simultaneous(context.confidence, comparisons))
            precision = context.run.settings.precision
            first, again = (
                contrast(case, aligned, *confidences, precision, warm=warm)
                for warm in (False, True)
            )
            late = first.judgement == "undecided" and again.repetitions
            result = again if late else first
            if result.repetitions:
                key = (aligned.device, aligned.elements, case.name, "again" if late else "first")
                yield *key, result.difference, result.repetitions, result.ratio


@question(
    "advice", "How should the buffers of such an offload be allocated?",
    "device elements memory reference [delta_s] repetitions",
)  # fmt: skip
def advice(context: AnalysisContext) -> Rows:
    """Yields the fastest kind of memory of each runtime, compared with ordinary memory."""
    for group in largest(real_hosts(context.run), least=2):
        best = min(group, key=lambda case: _once(case).value)
        plain = next((case for case in group if case.memory == "pageable"), group[0])
        usual, least = _once(plain), _once(best)
        gain = usual.less(least, simultaneous(context.confidence, len(group) - 1))
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
    """Yields medians of each phase, for the first offload in a process and for repeated ones."""
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
    """Compares the device's offload with the addition on the host, in the same processes."""
    for group in groups(_worth(context)):
        confidence = simultaneous(context.confidence, 2 * len(group))
        for case in group:
            for software in filter(case.phases.get, SOFTWARE):
                offload, cpu = case.sum("total"), case.sum("populate", software)
                ahead = _ahead(case, software, confidence)
                count = len(case.sum(software).pairs(case.sum(*ALGORITHM)))
                key = (case.device, case.elements, case.name, software)
                yield *key, cpu.less(offload, confidence), ahead, count


def _ahead(case: Case, software: str, confidence: float) -> Interval:
    """Seconds of the addition on the host less those of the offload, without start and operands."""
    return case.sum(software).less(case.sum(*ALGORITHM), confidence)


@question(
    "break_even", "From which size on is the offload faster than the host?",
    "device memory slower_to faster_from device_slope_s host_slope_s",
)  # fmt: skip
def break_even(context: AnalysisContext) -> Rows:
    """Yields the smallest measured size from which on the device is faster than the host."""
    by_kind: dict[tuple[str, str], list[Case]] = {}
    for case in filter(lambda case: case.add, _worth(context)):
        by_kind.setdefault((case.device, case.name), []).append(case)
    for key, sized in by_kind.items():
        if len(sized) < 2:
            continue
        sized.sort(key=lambda case: case.elements)
        confidence = simultaneous(context.confidence, len(sized))
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
    """Returns the verified offloads whose time includes the host's software."""
    return [case for case in real_hosts(context.run) if case.verified]


QUESTIONS = (
    phases,
    deltas,
    host,
    break_even,
    copies,
    offsets,
    reproduction.published_figures,
    advice,
)


_LARGE_S = 1e-6
"""Seconds: a significant time difference above this gets a finding."""


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """Headlines: first and repeated offload against the CPU; memory for one use and for many.

    The headlines are of the device whose repeated offload is the fastest.
    """
    groups = largest(case for case in real_hosts(context.run) if case.verified)
    groups.sort(key=lambda group: min(_order(_again(case)) for case in group))
    of_device = [list(_of(context, group)) for group in groups]
    head = of_device[0][:MOST_HEADLINES] if of_device else []
    return common.headed(head, (finding for every in of_device for finding in every))


def _order(seconds: Seconds) -> float:
    """Sort key: the fastest time first, times that were not measured last."""
    return seconds.value if seconds else math.inf


def _again(case: Case) -> Seconds:
    """Returns the time of a repeated offload; a model has one time for first and repeated."""
    return case.sum(*ALGORITHM, warm=True) or case.sum(*ALGORITHM)


def _once(case: Case) -> Seconds:
    """Time of one offload, with allocation but without the start of the runtime."""
    return case.sum(*ACCELERATOR[2:])


def _of(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    yield from _against_cpu(context, group)
    yield from _memory(context, group)
    yield from _offsets(context, group)
    yield from _phases(context, group)


def _kind(case: Case, group: Sequence[Case]) -> str:
    """The kind of memory, with "(copied)" where the cases of that kind differ in it."""
    both = len({row.handover for row in group if row.memory == case.memory}) > 1
    return case.name if both else case.place


def _finding(
    context: AnalysisContext, case: Case, template: str, quantity: str, seconds: Seconds,
    kind: str, **more: Any,
) -> Finding:  # fmt: skip
    subject = f"{context.titles[case.device]}, {kind}"
    return common.finding_of(
        context, case, template, quantity, seconds.interval, "s", subject=subject,
        operation="total", **more,
    )  # fmt: skip


def _against_cpu(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    """Yields findings on the first and a repeated offload, each compared with the CPU."""
    able = [case for case in group if case.add]
    if not able:
        return
    for name, quantity, offload_of, host in (
        ("first", "first offload", lambda case: case.sum("total"), ("populate",)),
        ("again", "repeated offload", _again, ()),
    ):
        # A kind of memory that few processes measured may look fastest by chance.
        least = min(QUICK_PROCESSES, max(len(offload_of(case).of) for case in able))
        seen = [case for case in able if len(offload_of(case).of) >= least]
        best = min(seen, key=lambda case: _order(offload_of(case)))
        offload, cpu = offload_of(best), best.sum(*host, best.add)
        if not offload or not cpu:
            continue
        # The fastest case was chosen: its confidence must allow for all cases.
        verdict = judge(
            offload.over(cpu, simultaneous(context.confidence, len(able))), context.least
        )
        answer = {"faster": "yes", "slower": "no"}.get(verdict, "open")
        start = best.sum("initialise", "program_device").value
        values = {
            "cpu": shown(cpu.value, "s"), "offload": shown(offload.value, "s"),
            "start": shown(start, "s"),
        }  # fmt: skip
        yield _finding(
            context, best, f"offload_{name}_{answer}", quantity, offload, _kind(best, group),
            values=values, verdict=verdict, remark=f"CPU {values['cpu']}", evidence="host",
            reference=Reference(kind="other", value=cpu.value, name="CPU"), share=None,
        )  # fmt: skip


def _memory(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    """Yields the best kinds of memory for one use and for many, compared with ordinary memory."""
    plain = next((case for case in group if case.memory == "pageable"), group[0])
    others = [case for case in group if case is not plain and not case.relative_offset]
    if not others:
        return
    for use, quantity, seconds_of in (
        ("one", "memory for one use", _once), ("many", "memory for many uses", _again),
    ):  # fmt: skip
        best, usual_s = min(others, key=lambda case: _order(seconds_of(case))), seconds_of(plain)
        ratio = seconds_of(best).over(usual_s, simultaneous(context.confidence, len(others)))
        verdict = judge(ratio, context.least)
        usual = _kind(plain, group)
        template, of = f"memory_{use}", plain
        more: dict[str, Any] = {"evidence": "deltas"}
        values = {"best": _kind(best, group), "usual": usual, "size": format_size(best.bytes)}
        if verdict == "faster":
            of, values["other_time"] = best, shown(usual_s.value, "s")
            more = {
                "remark": f"{usual} {values['other_time']}", "evidence": "advice",
                "reference": Reference(kind="other", value=usual_s.value, name=usual),
                "action": common.call_for(context, plain.device, best.memory), "share": None,
            }  # fmt: skip
        elif verdict != "undecided":
            verdict, template = "same", f"memory_{use}_best"
            more["remark"] = "none is faster"
        else:
            ratios = [seconds_of(case).over(usual_s, context.confidence) for case in others]
            reaches = [ratio.reach for ratio in ratios]
            few = any(map(math.isnan, reaches))
            template += "_few" if few else "_open"
            values["percent"] = "" if few else percent(max(reaches))
            more |= {
                "remark": "not decided",
                "action": again(context.run, context.study, [plain.device], longer=True),
            }
        yield _finding(
            context, of, template, quantity, seconds_of(of), _kind(of, group), values=values,
            verdict=verdict, **more,
        )  # fmt: skip


def _offsets(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    """Yields significant additional times of vectors that begin within a page."""
    aligned = next((case for case in group if case.memory == "aligned"), None)
    if aligned is None:
        return
    same = (case for case in group if case.handover == aligned.handover)
    within = [case for case in same if case.memory.startswith("offset")]
    costly = []
    for case in within:
        again, usual = _again(case), _again(aligned)
        ratio = again.over(usual, simultaneous(context.confidence, len(within)))
        more_s = again.less(usual).value
        if judge(ratio, context.least) == "slower" and more_s > _LARGE_S:
            costly.append((more_s, case))
    if costly:
        more_s, worst = max(costly, key=lambda cost: cost[0])
        more = shown(more_s, "s")
        yield _finding(
            context, worst, "off_page", "begin within a page", _again(worst), worst.memory,
            verdict="slower", remark=f"{more} more", action="posix_memalign(4096)",
            values={"time": more}, evidence="offsets",
        )  # fmt: skip


def _phases(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    """Yields the phases of the first offload in the reference kind of memory."""
    case = group[0]
    total = case.sum("total")
    parts = {
        "start": case.sum("initialise", "program_device"), "fill": case.sum("populate"),
        "kernel": case.sum("kernel_run"), "total": total,
    }  # fmt: skip
    if all(parts.values()):
        values = {name: shown(part.value, "s") for name, part in parts.items()}
        yield _finding(
            context, case, "phases", "phases of the first offload", total, _kind(case, group),
            values=values, evidence="phases",
        )  # fmt: skip


ANALYSIS = Analysis(QUESTIONS, findings)
