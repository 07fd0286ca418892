"""Shows what changed between runs: on one screen, or as a table, Markdown, JSON, JUnit or CSV."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from types import MappingProxyType

from isthmus.analysis import gate, wording
from isthmus.analysis.change import SHARED_LINK, Change
from isthmus.analysis.changes import GATE_COLUMNS, NO_BASE, Comparison, Missing, frame
from isthmus.analysis.matched import INTERRUPTED, RAN_OUT
from isthmus.analysis.quantities import Coverage, Standing
from isthmus.columns import command_lines, wrapped
from isthmus.junit import Case, junit
from isthmus.program import Invocation
from isthmus.reporters import gate as gate_text
from isthmus.reporters.cells import Table, plain, table
from isthmus.reporters.change_words import percent_longer, percent_of_time, subject, values
from isthmus.reporters.md import escape, markdown
from isthmus.reporters.table import drawn
from isthmus.statistics import Judgement, judge
from isthmus.text import counted, cut_middle
from isthmus.units import format_size, percent, printable
from isthmus.written import csv_text, json_text

_MOST_LINES = 15
_MOST_ROWS = 5
_MOST_DIFFERENCES = 2
_MOST_DEVICES = 2
_MOST_OPEN = 2
"""Most kinds of quantities of a device that a sentence names."""
_CHANGED: tuple[Judgement, ...] = ("slower", "faster")
_WIDTH = 80
_OWNERS = 24
"""Most characters for names of devices in front of a fact about them."""
_NAME = 38
_WHY = {
    "wrong data": "whose data did not arrive", "failed": "that failed",
    "no time": "without a time", "absent": "that it does not have",
    RAN_OUT: "for which its time ran out", INTERRUPTED: "before which it was interrupted",
}  # fmt: skip
_MESSAGES = {
    "wrong data": "the data did not arrive", "failed": "the device failed at this point",
    "no time": "the point has no time", "absent": "the run does not have the point",
    RAN_OUT: "the run's time ran out before the point",
    INTERRUPTED: "the run was interrupted before the point",
    NO_BASE: "the base has no time for the point",
}  # fmt: skip
"""Messages of JUnit, by ``Missing.why``."""
_KINDS: Mapping[Standing, str] = {"slower": "failure", "undecided": "error", "within": ""}
"""Kind of a JUnit result, by a gate's verdict on a series."""
_NOT_OF_GATE = (*GATE_COLUMNS, "raw_ratio", "low_ratio", "high_ratio", "limit")
"""Columns that a gate's table leaves out, because it has such columns in per cent."""
_ATTRIBUTES = ("study", "device", "operation", "memory", "sizes")


def lines(result: Comparison, more: Invocation) -> Iterator[str]:
    """Yields the answer in at most 15 lines of 80 columns; ``more``: command for all points.

    The gate's line (``reporters.gate``) is printed before these lines.
    """
    gated = result.terms is not None
    changed = [*result.of("slower"), *result.of("faster")]
    before = [line for sentence in verdict(result) for line in wrapped(sentence)]
    before += [cut_middle(remark, _WIDTH) for remark in remarks(result)]
    after = list(_shown_differences(result, "May explain it" if changed else "Differs"))
    if result.allowed:
        hidden = percent(SHARED_LINK)
        after.append(f"Single runs on a virtual machine hide {hidden}: compare folders of runs.")
    elif changed and _single_runs(result) and not _all_exact(result):
        after.append("One run a side: the machine may have changed meanwhile (docs/compare.md).")
    after += command_lines(more, "Points:")
    room = _MOST_LINES - len(before) - len(after) - 1
    if gated:
        rows = gate_text.rows(result, min(_MOST_ROWS, room))
        yield from map(printable, [*before, "", *rows, *after])
        return
    fit = changed[: min(_MOST_ROWS, room if len(changed) <= room else room - 1)]
    rows = [_row(change) for change in fit]
    rows += [f"and {len(changed) - len(fit)} more"] if len(changed) > len(fit) else []
    yield from map(printable, [*before, *(["", *rows] if rows else []), *after])


def _single_runs(result: Comparison) -> bool:
    return min(len(result.base.runs), len(result.new.runs)) == 1


def verdict(result: Comparison) -> list[str]:
    """The answer in sentences, on hosts, undecided kinds, and points that the new side lacks."""
    cut = [point for point in result.unknown if point.unmeasured and point.side == "new"]
    lacking = [*result.missing, *cut]
    lacks = [_missing(result, lacking)] if lacking else []
    answer = _verdict(result) if result.terms is None else gate_text.sentence(result)
    return [answer, *_host(result), *_open(result), *lacks]


def _open(result: Comparison) -> Iterator[str]:
    """Yields devices with entirely undecided kinds of quantities, if other kinds are decided."""
    undecided = [kind for kind in result.coverage if not kind.decided]
    if len(undecided) < len(result.coverage):
        for device, kinds in groupby(sorted(undecided, key=_device_of), _device_of):
            names = [" ".join(filter(None, (k.operation, k.sizes))) for k in kinds]
            more = f" and {len(names) - _MOST_OPEN} more" if len(names) > _MOST_OPEN else ""
            what = f"{', '.join(names[:_MOST_OPEN])}{more}"
            yield f"Nothing is decided on {cut_middle(device, _NAME)} of {what}."


def _device_of(coverage: Coverage) -> str:
    return coverage.device


def _host(result: Comparison) -> Iterator[str]:
    """Yields how the hosts' own speed changed, what that explains, and if the link is the same."""
    for way in _CHANGED:
        parts = [
            f"{wording.HOST_REFERENCES[change.reference]} {percent(abs(change.ratio.value - 1))}"
            for change in result.host
            if judge(change.ratio, result.least) == way
        ]
        if parts:
            count, explained = len(result.series), len(result.explained)
            text = f"{result.new.name}'s host is {way} by itself ({', '.join(parts)})"
            if result.as_measured:
                yield f"{text}; that is left in."
            else:
                rest = f": that explains {explained} of {count} series" if explained else ""
                yield f"{text}{rest}.{_link(result)}"


def _link(result: Comparison) -> str:
    """Says that the link is the same, if all series that show the link are; else empty."""
    same = [change for change in result.link if change.verdict == "same"]
    if not same or len(same) < len(result.link):
        return ""
    memory = " or ".join(dict.fromkeys(change.memory for change in same))
    widest = max(same, key=lambda change: change.size_of_change)
    return f" The link is the same ({memory} copies {percent_longer(widest.ratio.value)} % time)."


def remarks(result: Comparison) -> list[str]:
    """Says what the changes have in common, and which devices of different names are compared."""
    patterns = {way: _pattern(result, result.of(way)) for way in _CHANGED}
    of_both = [f"What is {way} has in common: {text}" for way, text in patterns.items() if text]
    names = list(result.devices.items())[:_MOST_DEVICES]
    return [*of_both, *(f"{new} is compared with {base}." for new, base in names)]


def _all_exact(result: Comparison) -> bool:
    return all(change.ratio.low == change.ratio.high for change in result.series)


def _verdict(result: Comparison) -> str:
    count = len(result.series)
    slower, faster, same = (result.of(verdict) for verdict in ("slower", "faster", "same"))
    least = percent(result.least)
    names = f"{result.new.name} against {result.base.name}"
    parts = [f"slower in {len(slower)} of {count} series"] if slower else []
    parts += [f"faster in {len(faster)}{'' if slower else f' of {count} series'}"] if faster else []
    if not parts and len(same) == count:
        return f"{names}: nothing changed by more than {least}.{_single_points(result)}"
    parts = parts or ["no certain change"]
    if same:
        parts.append(f"the same within {least} in {len(same)}")
    text = f"{names}: {', '.join(parts)}."
    return f"{text}{_single_points(result)}{_undecided(result)}"


def _single_points(result: Comparison) -> str:
    """Says how many single points are slower, if no series is; else empty."""
    if not result.slower_points or result.of("slower"):
        return ""
    return f" Of single points {len(result.slower_points)} are slower (--points)."


def _undecided(result: Comparison) -> str:
    undecided = result.of("undecided")
    if not undecided:
        return ""
    fewest = min(undecided, key=lambda change: min(change.samples))
    what = "run" if fewest.per_run else "process"
    each = counted(min(fewest.samples), what, "processes" if what == "process" else "runs")
    ratios = [change.ratio for change in undecided]
    worst = max((max(r.high, 1 / r.low if r.low > 0 else math.inf) for r in ratios), default=1.0)
    bound = "" if not all(r.known for r in ratios) or worst > wording.MOST_TOLD else (
        f": a change of up to {percent(worst - 1)} would not have been seen"
    )  # fmt: skip
    return f" {len(undecided)} of {len(result.series)} are undecided ({each}){bound}."


def _missing(result: Comparison, lacking: Sequence[Missing]) -> str:
    """Lists the base's points that the new side lacks, by reason, with the first points' names."""
    parts = [
        f"{len(points)} {_WHY[why]} ({gate_text.point_names(points)})"
        for why, points in gate_text.by_reason(lacking)
    ]
    return f"Of {result.base.name}'s points, {result.new.name} lacks: {'; '.join(parts)}."


def _pattern(result: Comparison, changed: Sequence[Change]) -> str:
    """Attributes that several changed series share, but not all compared series.

    Empty if an undecided series has other values: it may have changed in the same way.
    """
    parts = []
    undecided = result.undecided if result.terms else result.of("undecided")
    for name in _ATTRIBUTES:
        values = list(dict.fromkeys(getattr(change, name) for change in changed))
        every = {getattr(change, name) for change in result.series}
        further = {getattr(change, name) for change in undecided} - set(values)
        if len(changed) > 1 and len(values) <= 2 and len(values) < len(every) and not further:
            parts.append(f"{'' if name == 'sizes' else f'{name} '}{' or '.join(values)}")
    return ", ".join(filter(str.strip, parts))


def _row(change: Change) -> str:
    rest = f"{values(change)} {percent_of_time(change)}"
    room = _WIDTH - 8 - len(rest)
    return f"{change.verdict:6} {subject(change, room):{room}} {rest}"


def _shown_differences(result: Comparison, heading: str) -> Iterator[str]:
    """Yields the facts that may explain most, with the devices of each, and counts the others."""
    subjects: dict[tuple[str, str, str], list[str]] = {}
    for of, *fact, explains in result.differences:
        if explains:
            subjects.setdefault((fact[0], fact[1], fact[2]), []).append(of)
    shown = dict(list(subjects.items())[:_MOST_DIFFERENCES])
    for (name, before, after), owners in shown.items():
        of = "" if owners == ["machine"] else f"{cut_middle(', '.join(owners), _OWNERS)}: "
        text = f"{heading}: {of}{name} "
        yield text + _apart(before, after, _WIDTH - len(text) - len(" -> "))
    rest = len(result.differences) - sum(map(len, shown.values()))
    if rest and (shown or any(map(result.of, _CHANGED))):
        further = "further " if shown else ""
        facts = counted(rest, f"{further}fact differs", f"{further}facts differ")
        yield f"{facts} (--format json)"


def _apart(before: str, after: str, room: int) -> str:
    """``before -> after``, cut to ``room`` characters, without the words that begin both."""
    texts = [before or "none", after or "none"]
    if sum(map(len, texts)) > room:
        pairs = zip(before.split(), after.split(), strict=False)
        begin = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        texts = [" ".join(text.split()[begin:]) or "none" for text in texts]
    most = max(room // 2, room - min(map(len, texts)))
    return " -> ".join(t if len(t) <= most else f"{t[: most - 3]}..." for t in texts)


def _text(result: Comparison, _: gate.Gate | None) -> str:
    return drawn(_table(result, result.points))


def _table(result: Comparison, changes: Sequence[Change]) -> Table:
    """Cells of changes with their verdicts; for a gate, also with their bounds and limits."""
    rows = frame(changes)
    if result.terms is None:
        return table(rows.without([*GATE_COLUMNS, "limit"]))
    rows = rows.assign(
        at_most_share=[change.most - 1 for change in changes],
        allowed_share=[change.limit for change in changes],
        verdict=[change.standing for change in changes],
    )
    columns = [name for name in map(str, rows) if name not in _NOT_OF_GATE and name != "verdict"]
    return table(rows[[*columns, "verdict"]])


def _markdown(result: Comparison, _: gate.Gate | None) -> str:
    rows = []
    for sentence in (*verdict(result), *remarks(result)):
        rows += [escape(sentence), ""]
    rows += markdown(_table(result, result.series))
    if result.differences:
        rows += ["", "What else differs:", ""]
        rows += ["| of | fact | before | after |", "| --- | --- | --- | --- |"]
        rows += [
            f"| {' | '.join(map(escape, difference[:4]))} |" for difference in result.differences
        ]
    return "\n".join(rows) + "\n"


def _json(result: Comparison, decided: gate.Gate | None) -> str:
    def rows(changes: Sequence[Change]) -> list[dict[str, object]]:
        table = frame(changes)
        return [
            {name: plain(value) for name, value in zip(table.columns, row, strict=True)}
            for row in table.rows()
        ]

    decided = decided or gate.decide(result)
    data = {
        "base": result.base.name,
        "new": result.new.name,
        "relevant": result.least,
        "own_spread": result.own,
        "runs_may_differ_by": SHARED_LINK if result.allowed else 0.0,
        "passes": decided.outcome == "pass",
        "outcome": decided.outcome,
        "doubts": [item._asdict() for item in decided.doubts],
        "links": [{**item.fact._asdict(), "in_base": item.in_base} for item in decided.links],
        "devices_without_times": decided.dead,
        "coverage": [item._asdict() for item in result.coverage],
        "host": [
            {
                "reference": item.reference,
                "ratio": item.ratio.value,
                "low_ratio": item.ratio.low,
                "high_ratio": item.ratio.high,
                "verdict": judge(item.ratio, result.least),
            }
            for item in result.host
        ],
        "as_measured": result.as_measured,
        "explained_by_host": len(result.explained),
        "devices": result.devices,
        "series": rows(result.series),
        "points": rows(result.points),
        "missing": [vars(item) for item in result.missing],
        "not_comparable": [vars(item) for item in result.unknown],
        "added_points": len(result.added),
        "differences": [item._asdict() for item in result.differences],
    }
    return json_text(data)


def _csv(result: Comparison, _: gate.Gate | None) -> str:
    rows = frame(result.points)
    return csv_text(rows.columns, rows.rows())


def _junit(result: Comparison, decided: gate.Gate | None) -> str:
    """A test case for each series, each point of one side, and each point that alone is slower.

    A slower or missing time is a failure, an undecided one an error. Points that only the new side
    has are skipped, and so are series that the base scatters too much to judge.
    """
    cases = []
    unjudged = set(map(id, result.unjudged))
    for series in result.series:
        kind = "skipped" if id(series) in unjudged else _KINDS[series.standing]
        most = "" if series.standing == "slower" else f", {gate_text.bound(series)}"
        text = f"{values(series)}, {percent_of_time(series)}{most}"
        text += f", limit {gate_text.limit(series.limit)}"
        if kind == "skipped":
            text += f": the base scatters, so the series {gate_text.may_pass(series)}"
        cases.append(Case(series.study, subject(series), kind, text))
    slower = {series.key for series in result.of("slower")}
    for series in (series for series in result.slower_points if series.key not in slower):
        text = f"{values(series)}, {percent_of_time(series)}"
        cases.append(Case(series.study, f"{subject(series)} (point)", "failure", text))
    for kind, points in (
        ("failure", result.missing), ("error", result.unknown), ("skipped", result.only_new),
    ):  # fmt: skip
        for gone in points:
            name = f"{gone.device} {gone.words} {format_size(gone.bytes)}"
            cases.append(Case(gone.study, name, kind, _case_text(gone, kind)))
    cases += gate_text.cases(result, decided) if decided else []
    return junit("isthmus compare", cases)


def _case_text(point: Missing, kind: str) -> str:
    """Says why a point is not compared."""
    if kind == "error" and point.side != "new":
        side = "in the base" if point.side == "base" else "on either side"
        return f"no time {side}: {_MESSAGES[point.why]}"
    return _MESSAGES[point.why]


FORMATS: Mapping[str, Callable[[Comparison, gate.Gate | None], str]] = MappingProxyType(
    {"table": _text, "md": _markdown, "json": _json, "junit": _junit, "csv": _csv}
)
"""Functions that make the whole text of a comparison, by name of the format.

Their second argument is the decision of a gate, or None without a gate.
"""
