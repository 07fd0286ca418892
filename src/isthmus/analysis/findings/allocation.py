"""Findings of the study ``allocation``: CPU against offload, and the kind of host memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from isthmus.analysis import allocation, wording
from isthmus.analysis.context import AnalysisContext
from isthmus.analysis.findings import common
from isthmus.analysis.findings.finding import MOST_HEADLINES, Finding, Reference, Verdict, shown
from isthmus.analysis.offloads import ALGORITHM, Case, groups, real_hosts
from isthmus.analysis.sentences import say
from isthmus.statistics import Interval, exact, judge, over_processes, relevant
from isthmus.studies.allocation import ACCELERATOR
from isthmus.studies.base import Analysis
from isthmus.units import format_size

_LARGE_S = 1e-6
"""A significant difference above this gets a finding."""
Seconds = Mapping[int, float]
"""Seconds by number of the process."""


def findings(context: AnalysisContext) -> Sequence[Finding]:
    """Headlines: first and repeated offload against the CPU; memory for one use and for many.

    The headlines are of the device whose repeated offload is the fastest.
    """
    by_device: dict[str, list[Case]] = {}
    for every in groups(real_hosts(context.run)):
        group = [case for case in every if case.verified]
        known = by_device.get(group[0].device) if group else None
        if group and (known is None or known[0].elements < group[0].elements):
            by_device[group[0].device] = group
    of_device = {device: list(_of(context, group)) for device, group in by_device.items()}
    order = sorted(by_device, key=lambda device: min(map(_again_s, by_device[device])))
    head = of_device[order[0]][:MOST_HEADLINES] if order else []
    return common.headed(head, (one for device in order for one in of_device[device]))


def _again_s(case: Case) -> float:
    """Seconds of a repeated offload, whose buffers are allocated already."""
    return _median(_again(case))


def _again(case: Case) -> Seconds:
    """Seconds of a repeated offload by process; a model's first offload takes as long."""
    return case.sum(ALGORITHM, warm=True) or case.sum(ALGORITHM)


def _once(case: Case) -> Seconds:
    """Seconds of one offload by process, allocation included, start of the runtime excluded."""
    return case.sum([name for name in ACCELERATOR[2:] if name in case.phases])


def _median(seconds: Seconds) -> float:
    """Estimate over processes, as its interval has it; infinite without a process."""
    return over_processes(list(seconds.values())).value if seconds else math.inf


def _interval(seconds: Seconds, *, simulated: bool) -> Interval:
    values = list(seconds.values())
    return exact(values[0]) if simulated and values else over_processes(values)


def _ratio(of: Seconds, over: Seconds, confidence: float, *, simulated: bool) -> Interval:
    """Ratio of two times, formed in each process, so that common disturbances cancel."""
    common_ones = sorted(set(of) & set(over))
    values = [of[i] / over[i] for i in common_ones if over[i] > 0 and of[i] > 0]
    if not values:
        return Interval(math.nan, math.nan, math.nan)
    return exact(values[0]) if simulated else over_processes(values, confidence)


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
    context: AnalysisContext, case: Case, quantity: str, seconds: Seconds, *, subject: str = "",
    sentence: str, verdict: Verdict = "none", remark: str = "", action: str = "",
    reference: Reference | None = None, table: str,
) -> Finding:  # fmt: skip
    return Finding(
        study=context.study, subject=subject or common.title(context, case.device),
        quantity=quantity, interval=_interval(seconds, simulated=case.simulated), unit="s",
        sentence=sentence, verdict=verdict, remark=remark, action=action, reference=reference,
        evidence=table, device=case.device, operation="total", memory=case.memory,
        bytes=4 * case.elements, clock="simulated" if case.simulated else "host",
    )  # fmt: skip


def _judged(
    context: AnalysisContext, of: Seconds, over: Seconds, among: int, *, simulated: bool
) -> Verdict:
    """Verdict on two times; this one of ``among`` comparisons was chosen by its outcome."""
    ratio = _ratio(of, over, context.simultaneous(among), simulated=simulated)
    if not ratio.known:
        return "undecided"
    return judge(ratio, relevant(context.run.settings.precision))


def _against_cpu(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    """The first and a repeated offload compared with the CPU."""
    able = [case for case in group if case.add]
    if not able:
        return
    for name, seconds_of, host in (
        ("first", lambda case: case.sum(("total",)), ("populate",)),
        ("again", _again, ()),
    ):
        best = min(able, key=lambda case: _median(seconds_of(case)))
        offload, cpu = seconds_of(best), best.sum((*host, best.add))
        if not offload or not cpu:
            continue
        verdict = _judged(context, offload, cpu, len(able), simulated=best.simulated)
        faster, undecided = verdict == "faster", verdict in {"same", "undecided"}
        answer = "open" if undecided else "yes" if faster else "no"
        who = common.title(context, best.device)
        values = {
            "cpu": shown(_median(cpu), "s"),
            "offload": shown(_median(offload), "s"),
            "who": who,
        }
        if name == "first":
            values["start"] = shown(best.median("initialise", "program_device"), "s")
        reference = Reference(kind="other", value=_median(cpu), name="CPU")
        yield _finding(
            context, best,
            "first offload" if name == "first" else "repeated offload", offload,
            subject=f"{who}, {_kind(best, group)}",
            sentence=say(f"offload_{name}_{answer}", **values), verdict=verdict,
            remark=f"CPU {values['cpu']}", reference=reference, table="host",
        )  # fmt: skip


def _memory(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    """Best kind of memory for one use and for many, compared with ordinary memory."""
    plain = next((case for case in group if case.memory == "pageable"), group[0])
    others = [case for case in group if case is not plain and not case.relative_offset]
    if not others:
        return
    who = common.title(context, plain.device)
    for use, seconds_of in (("one", _once), ("many", _again)):
        best = min(others, key=lambda case: _median(seconds_of(case)))
        verdict = _judged(
            context, seconds_of(best), seconds_of(plain), len(others), simulated=best.simulated
        )
        kind, usual = _kind(best, group), _kind(plain, group)
        quantity = "memory for one use" if use == "one" else "memory for many uses"
        if verdict == "faster":
            yield _finding(
                context, best, quantity, seconds_of(best), subject=f"{who}, {kind}",
                verdict=verdict, remark=f"{usual} {shown(_median(seconds_of(plain)), 's')}",
                action=common.call_for(context, plain.device, best.memory), table="advice",
                reference=Reference(kind="other", value=_median(seconds_of(plain)), name=usual),
                sentence=say(
                    f"memory_{use}", best=kind, usual=usual,
                    time=shown(_median(seconds_of(best)), "s"),
                    other_time=shown(_median(seconds_of(plain)), "s"),
                    size=format_size(4 * best.elements),
                ),
            )  # fmt: skip
            continue
        if verdict in {"same", "slower"}:
            yield _finding(
                context, plain, quantity, seconds_of(plain), subject=f"{who}, {usual}",
                verdict="same", remark="none is faster", table="deltas",
                sentence=say(f"memory_{use}_best", usual=usual),
            )  # fmt: skip
            continue
        ratios = [
            _ratio(
                seconds_of(case), seconds_of(plain), context.confidence, simulated=case.simulated
            )
            for case in others
        ]
        ends = [max(r.high, 1 / r.low) for r in ratios if r.known and r.low > 0]
        bounded = len(ends) == len(ratios)
        percent = wording.percent(max(ends) - 1) if bounded else ""
        yield _finding(
            context, plain, quantity, seconds_of(plain), subject=f"{who}, {usual}",
            verdict="undecided", remark="not decided", table="deltas",
            action=common.to_decide(context, plain.device),
            sentence=say(f"memory_{use}_open", percent=percent)
            if bounded
            else say(f"memory_{use}_few", who=who),
        )  # fmt: skip


def _offsets(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    """Additional time of vectors that begin within a page, where it is significant."""
    aligned = next((case for case in group if case.memory == "aligned"), None)
    if aligned is None:
        return
    costly = []
    same = (case for case in group if case.handover == aligned.handover)
    within = [case for case in same if case.memory.startswith("offset")]
    for case in within:
        both = sorted(set(_again(case)) & set(_again(aligned)))
        extra = [_again(case)[i] - _again(aligned)[i] for i in both]
        among, simulated = len(within), case.simulated
        verdict = _judged(context, _again(case), _again(aligned), among, simulated=simulated)
        if verdict == "slower" and _median(dict(enumerate(extra))) > _LARGE_S:
            costly.append((case, dict(enumerate(extra))))
    if costly:
        worst, extra_s = max(costly, key=lambda one: _median(one[1]))
        yield _finding(
            context, worst, "begin within a page", _again(worst), verdict="slower",
            subject=f"{common.title(context, worst.device)}, {worst.memory}", table="offsets",
            remark=f"{shown(_median(extra_s), 's')} more", action="posix_memalign(4096)",
            sentence=say(
                "off_page", time=shown(_median(extra_s), "s"),
                who=common.title(context, worst.device),
            ),
        )  # fmt: skip


def _phases(context: AnalysisContext, group: Sequence[Case]) -> Iterator[Finding]:
    """Phases of the first offload in the reference kind of memory."""
    case = group[0]
    total = case.sum(("total",))
    parts = {
        "start": case.median("initialise", "program_device"),
        "fill": case.median("populate"), "kernel": case.median("kernel_run"),
    }  # fmt: skip
    if total and all(math.isfinite(seconds) for seconds in parts.values()):
        yield _finding(
            context, case, "phases of the first offload", total, table="phases",
            subject=f"{common.title(context, case.device)}, {_kind(case, group)}",
            sentence=say(
                "phases", total=shown(_median(total), "s"),
                **{name: shown(seconds, "s") for name, seconds in parts.items()},
            ),
        )  # fmt: skip


ANALYSIS = Analysis(allocation.QUESTIONS, findings)
