"""Findings of the study ``allocation``: CPU against offload, and the kind of host memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from isthmus.analysis import allocation, wording
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Reference, shown
from isthmus.analysis.offloads import ALGORITHM, Case, Seconds, largest, real_hosts
from isthmus.studies.allocation import ACCELERATOR
from isthmus.studies.base import Analysis
from isthmus.units import format_size

_LARGE_S = 1e-6
"""A significant difference above this gets a finding."""


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """Headlines: first and repeated offload against the CPU; memory for one use and for many.

    The headlines are of the device whose repeated offload is the fastest.
    """
    groups = largest(case for case in real_hosts(context.run) if case.verified)
    groups.sort(key=lambda group: min(_order(_again(case)) for case in group))
    of_device = [list(_of(context, group)) for group in groups]
    head = of_device[0][:MOST_HEADLINES] if of_device else []
    return common.headed(head, (one for every in of_device for one in every))


def _order(seconds: Seconds) -> float:
    """A key that puts first what is fastest, and last what was not measured."""
    return seconds.value if seconds else math.inf


def _again(case: Case) -> Seconds:
    """A repeated offload, whose buffers are allocated; a model's first offload takes as long."""
    return case.sum(*ALGORITHM, warm=True) or case.sum(*ALGORITHM)


def _once(case: Case) -> Seconds:
    """One offload, allocation included, start of the runtime excluded."""
    return case.sum(*ACCELERATOR[2:])


def _of(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    yield from _against_cpu(context, group)
    yield from _memory(context, group)
    yield from _offsets(context, group)
    yield from _phases(context, group)


def _kind(case: Case, group: Sequence[Case]) -> str:
    """The kind of memory, with "(copied)" where cases differ in that."""
    both = len({one.handover for one in group if one.memory == case.memory}) > 1
    further = f" +{case.relative_offset} B" if case.relative_offset else ""
    return f"{case.memory}{further}{' (copied)' if both and case.handover == 'copy' else ''}"


def _finding(
    context: AnalysisContext, case: Case, template: str, quantity: str, seconds: Seconds,
    kind: str, **more: Any,
) -> Finding:  # fmt: skip
    subject = f"{common.title(context, case.device)}, {kind}"
    return common.tell(
        context, case, template, quantity, seconds.interval, "s", subject=subject,
        operation="total", **more,
    )  # fmt: skip


def _against_cpu(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    """The first and a repeated offload compared with the CPU."""
    able = [case for case in group if case.add]
    if not able:
        return
    for name, quantity, offload_of, host in (
        ("first", "first offload", lambda case: case.sum("total"), ("populate",)),
        ("again", "repeated offload", _again, ()),
    ):
        best = min(able, key=lambda case: _order(offload_of(case)))
        offload, cpu = offload_of(best), best.sum(*host, best.add)
        if not offload or not cpu:
            continue
        # This one of several comparisons was chosen by its outcome.
        verdict = context.judge(offload.over(cpu, context.simultaneous(len(able))))
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
    """Best kind of memory for one use and for many, compared with ordinary memory."""
    plain = next((case for case in group if case.memory == "pageable"), group[0])
    others = [case for case in group if case is not plain and not case.relative_offset]
    if not others:
        return
    for use, quantity, seconds_of in (
        ("one", "memory for one use", _once), ("many", "memory for many uses", _again),
    ):  # fmt: skip
        best, usual_s = min(others, key=lambda case: _order(seconds_of(case))), seconds_of(plain)
        ratio = seconds_of(best).over(usual_s, context.simultaneous(len(others)))
        verdict = context.judge(ratio)
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
            known = [common.reach(ratio) for ratio in ratios]
            few = any(map(math.isnan, known))
            template += "_few" if few else "_open"
            values["percent"] = "" if few else wording.percent(max(known))
            more |= {"remark": "not decided", "action": common.to_decide(context, plain.device)}
        yield _finding(
            context, of, template, quantity, seconds_of(of), _kind(of, group), values=values,
            verdict=verdict, **more,
        )  # fmt: skip


def _offsets(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    """Additional time of vectors that begin within a page, where it is significant."""
    aligned = next((case for case in group if case.memory == "aligned"), None)
    if aligned is None:
        return
    same = (case for case in group if case.handover == aligned.handover)
    within = [case for case in same if case.memory.startswith("offset")]
    costly = []
    for case in within:
        again, usual = _again(case), _again(aligned)
        ratio = again.over(usual, context.simultaneous(len(within)))
        more_s = again.less(usual).value
        if context.judge(ratio) == "slower" and more_s > _LARGE_S:
            costly.append((more_s, case))
    if costly:
        more_s, worst = max(costly, key=lambda one: one[0])
        more = shown(more_s, "s")
        yield _finding(
            context, worst, "off_page", "begin within a page", _again(worst), worst.memory,
            verdict="slower", remark=f"{more} more", action="posix_memalign(4096)",
            values={"time": more}, evidence="offsets",
        )  # fmt: skip


def _phases(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    """Phases of the first offload in the reference kind of memory."""
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


ANALYSIS = Analysis(allocation.QUESTIONS, findings)
