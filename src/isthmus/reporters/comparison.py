"""Shows what changed between runs: on one screen, or as a table, Markdown, JSON, JUnit or CSV."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from xml.etree import ElementTree

import msgspec
import pandas as pd

from isthmus.analysis import wording
from isthmus.analysis.changes import Change, Comparison, Difference
from isthmus.analysis.sentences import shortened
from isthmus.reporters.cells import plain, table
from isthmus.reporters.md import escape, markdown
from isthmus.reporters.table import drawn
from isthmus.units import format_rate, format_seconds, printable

_MOST_ROWS = 6
_MOST_DIFFERENCES = 3
_WIDTH = 80
_NAME = 38
_ATTRIBUTES = ("study", "device", "operation", "memory", "sizes")


def lines(result: Comparison, more: str) -> Iterator[str]:
    """The answer in at most 15 lines of 80 columns; ``more``: the command that shows all points."""
    changed = [*result.of("slower"), *result.of("faster")]
    yield from _wrapped(_verdict(result))
    for verdict in ("slower", "faster"):
        if pattern := _pattern(result, result.of(verdict)):
            yield shortened(f"All that is {verdict}: {pattern}", _WIDTH)
    for address, base in list(result.devices.items())[:2]:
        yield shortened(f"{address} is compared with {base}", _WIDTH)
    if changed:
        yield ""
    yield from map(_row, changed[:_MOST_ROWS])
    explaining = [one for one in result.differences if one.explains]
    if result.differences:
        yield ""
        yield from _shown_differences(explaining, len(result.differences))
    yield f"Points: {more}"


def _verdict(result: Comparison) -> str:
    count = len(result.series)
    slower, faster, same, open_ = (
        result.of(verdict) for verdict in ("slower", "faster", "same", "undecided")
    )
    least = wording.percent(result.least)
    names = f"{result.new.name} against {result.base.name}"
    parts = [f"slower in {len(slower)} of {count} series"] if slower else []
    parts += [f"faster in {len(faster)}{'' if slower else f' of {count} series'}"] if faster else []
    if not parts:
        parts = [f"nothing changed by more than {least}" if same else "no change is certain"]
    elif same:
        parts.append(f"the same within {least} in {len(same)}")
    text = f"{names}: {', '.join(parts)}."
    if open_:
        worst = max(max(one.high_ratio, 1 / one.low_ratio) - 1 for one in open_)
        bound = f", they may differ by up to {wording.percent(worst)}" if worst < 9 else ""
        fewest = min(min(one.samples) for one in open_)
        what = "runs" if result.per_run else "processes"
        text += f" {len(open_)} undecided ({fewest} {what} each{bound}): measure more."
    if result.unmatched:
        text += f" {result.unmatched} points are on one side only."
    return text


def _wrapped(text: str) -> Iterator[str]:
    yield from textwrap.wrap(printable(text), _WIDTH, subsequent_indent="  ")


def _pattern(result: Comparison, changed: Sequence[Change]) -> str:
    """What all of several changes have in common, and not everything that was compared has."""
    parts = []
    for name in _ATTRIBUTES:
        values = list(dict.fromkeys(getattr(one, name) for one in changed))
        every = {getattr(one, name) for one in result.series}
        if len(changed) > 1 and len(values) <= 2 and len(values) < len(every):
            parts.append(f"{'' if name == 'sizes' else f'{name} '}{' or '.join(values)}")
    return ", ".join(filter(str.strip, parts))


def _name(one: Change) -> str:
    words = (one.device, one.operation, one.memory, one.axes)
    size = f", {one.sizes}" if one.sizes != "0" else ""
    return " ".join(filter(None, words)) + size


def _values(one: Change) -> str:
    rates = one.moved_bytes == one.moved_bytes
    shown: Callable[[float], str] = format_rate if rates else format_seconds
    ends = (one.before_s, one.after_s)
    before, after = (shown(one.moved_bytes / s if rates else s) for s in ends)
    unit = after.rpartition(" ")[2]
    return f"{before.removesuffix(f' {unit}')} -> {after}"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f}" if abs(ratio - 1) < 0.1 else f"{100 * (ratio - 1):+.0f}"


def _change(one: Change) -> str:
    """``+4.1 % time (2.0 to 6.3)``."""
    ends = (
        f" ({_percent(one.low_ratio)} to {_percent(one.high_ratio)})"
        if one.low_ratio < one.high_ratio
        else ""
    )
    return f"{_percent(one.ratio)} % time{ends}"


def _row(one: Change) -> str:
    name = shortened(_name(one), _NAME)
    return printable(f"{one.verdict:6} {name:{_NAME}} {_values(one)}  {_change(one)}")


def _shown_differences(explaining: Sequence[Difference], count: int) -> Iterator[str]:
    shown = explaining[:_MOST_DIFFERENCES]
    for one in shown:
        of = "" if one.of == "machine" else f"{one.of}: "
        text = f"{of}{one.name} {one.before or 'none'} -> {one.after or 'none'}"
        yield shortened(printable(f"May explain a change: {text}"), _WIDTH)
    if rest := count - len(shown):
        facts = "facts differ" if rest > 1 else "fact differs"
        yield f"{rest} {'further ' if shown else ''}{facts} (--format json lists all)"


def _frame(changes: Sequence[Change]) -> pd.DataFrame:
    frame = pd.DataFrame(changes)
    samples = [" and ".join(map(str, dict.fromkeys(one.samples))) for one in changes]
    moved = frame["moved_bytes"]
    return frame.assign(
        before_Bps=moved / frame["before_s"], after_Bps=moved / frame["after_s"], samples=samples
    )[
        ["study", "device", "operation", "memory", "axes", "clock", "sizes", "before_s", "after_s",
         "before_Bps", "after_Bps", "ratio", "low_ratio", "high_ratio", "samples", "verdict"]
    ]  # fmt: skip


def _text(result: Comparison) -> str:
    return drawn(table(_frame(result.points)))


def _markdown(result: Comparison) -> str:
    rows = [escape(_verdict(result)), ""]
    rows += markdown(table(_frame(result.series)))
    different = pd.DataFrame(
        [one[:4] for one in result.differences], columns=Difference._fields[:4]
    )
    return "\n".join([*rows, "", *(markdown(table(different)) if len(different) else [])]) + "\n"


def _json(result: Comparison) -> str:
    def rows(changes: Sequence[Change]) -> list[dict[str, object]]:
        frame = _frame(changes)
        return [
            {name: plain(value) for name, value in zip(frame.columns, row, strict=True)}
            for row in frame.itertuples(index=False, name=None)
        ]

    data = {
        "base": result.base.name,
        "new": result.new.name,
        "relevant": result.least,
        "sample": "run" if result.per_run else "process",
        "devices": result.devices,
        "unmatched_points": result.unmatched,
        "series": rows(result.series),
        "points": rows(result.points),
        "differences": [one._asdict() for one in result.differences],
    }
    return msgspec.json.format(msgspec.json.encode(data), indent=1).decode() + "\n"


def _csv(result: Comparison) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    frame = _frame(result.points)
    writer.writerow(frame.columns)
    writer.writerows(frame.itertuples(index=False, name=None))
    return text.getvalue()


def _junit(result: Comparison) -> str:
    """One test case for each series; what is slower has failed."""
    suite = ElementTree.Element(
        "testsuite",
        name="isthmus compare",
        tests=str(len(result.series)),
        failures=str(len(result.of("slower"))),
        skipped=str(len(result.of("undecided"))),
    )
    for one in result.series:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"isthmus.{one.study}", name=printable(_name(one))
        )
        message = printable(f"{_values(one)}, {_change(one)}")
        kind = {"slower": "failure", "undecided": "skipped"}.get(one.verdict)
        if kind:
            ElementTree.SubElement(case, kind, message=message)
        else:
            ElementTree.SubElement(case, "system-out").text = message
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


FORMATS: Mapping[str, Callable[[Comparison], str]] = MappingProxyType(
    {"table": _text, "md": _markdown, "json": _json, "junit": _junit, "csv": _csv}
)
"""Functions that give the whole text, by name."""
