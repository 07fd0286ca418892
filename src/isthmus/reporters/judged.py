"""What judging found, on one screen: at most 25 lines of 80 columns; and as plain data."""

from __future__ import annotations

import dataclasses
import re
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from isthmus.analysis.findings.finding import shown
from isthmus.analysis.wording import percent
from isthmus.columns import command_lines, line_width
from isthmus.importers.base import Log, Row
from isthmus.judging import Cause, Judged, Judgement
from isthmus.judging.judgement import WORST
from isthmus.program import invocation
from isthmus.reporters.judged_sentences import (
    KINDS,
    WAYS,
    bytes_of,
    known_range,
    noun,
    objects,
    printed,
    sentence,
    spread,
    what,
)
from isthmus.text import counted
from isthmus.units import printable

LINES, COLUMNS = 25, 80
_MOST_ROWS, _MOST_CAUSES = 6, 3
_LABEL = 10
_WORDS = {"normal": "NORMAL", "below": "BELOW", "impossible": "IMPOSSIBLE",
          "unknown": "CANNOT TELL"}  # fmt: skip
_VERDICT = {"normal": "normal", "below": "below", "impossible": "impossible",
            "unknown": "open"}  # fmt: skip
_CAUSES = {
    "link_trained_low": "the link is trained below what the device can",
    "link_fits_less": "a narrower or slower link somewhere on the way",
    "pageable": "ordinary memory: the driver copies it once more",
    "unaligned": "the host buffer is not aligned to 64 bytes",
    "sm_copies": "copies by SMs are slower than copy engines here",
    "opposite_load": "the opposite direction takes its share",
    "wrong_socket": "memory or process on the other socket",
    "iommu_acs": "IOMMU translation, or ACS that sends peers through the processor",
    "one_queue": "one DMA queue only",
    "interrupts": "interrupts in place of polling",
    "above_4gib": "a buffer above 4 GiB",
    "cold": "the first call is in the figure",
    "resident": "nothing moved: the buffer was in place",
    "overflow": "dma_ip_drivers' tool before February 2026 computes it wrongly",
    "write_slower": "XDMA shells write slower than they read: no fault",
    "large_sm": "copies by SMs slow down with very large buffers",
    "protocol": "MPI changes its protocol at that size",
    "no_p2p": "GPUs reach each other through the processor only",
    "small_transfers": "small transfers: each costs a call and an interrupt",
    "zero_pages": "the host buffer was never written: its pages are one page of zeros",
}  # fmt: skip
_STATUS = {"failed": "Failed:", "warning": "Warning:", "unfinished": "Unended:",
           "skipped": "Skipped:"}  # fmt: skip
_MISSING = {
    "link": "the link: give --link gen3x16, or paste `lspci -vv`, `nvidia-smi -q` or "
    "`xbutil examine` with it",
    "board": "the board: give --board NAME (isthmus judge --boards lists them)",
    "gpu": "the GPUs' name: give --board NAME (isthmus judge --boards lists them)",
    "network": "the port's rate: give --link 100Gb (ibstat or ibv_devinfo shows it)",
    "ports": "the rate of all ports of a host together: give --link 800Gb for four of 200 Gb/s",
    "size": "the size of the transfers",
    "messages": "messages of 64 KiB or more: small ones show no share of a link",
    "large": "transfers of 1 MiB or more: small ones show no share of a link",
}  # fmt: skip


_NUMBERED = re.compile(r"\d+\. ")


def lines(judged: Judged) -> list[str]:
    """The screen."""
    top = [*_title(judged), *_headline(judged)]
    ordered = sorted(judged.judgements, key=_place)
    table = list(_table(ordered))
    facts = list(_facts(judged, ordered))
    causes = list(_causes(ordered))
    last = list(_measure(judged, ordered))
    room = LINES - len(top) - len(last) - 1
    rest: list[str] = []
    while table or facts or causes:
        rest = [*([""] if table else []), *table, *facts, *causes]
        if len(rest) <= room:
            break
        if len(begins := _cause_begins(causes)) > 1:
            causes = causes[: begins[-1]]
        elif len(table) > 3:
            table = _shorter(table)
        elif facts:
            facts.pop()
        else:
            table, causes = table[:room], []
    return [printable(line).rstrip() for line in (*top, *rest[: max(room, 0)], *last)]


def _cause_begins(causes: list[str]) -> list[int]:
    """Indices of the first line of each cause: ``1. interrupts in place of polling``."""
    return [i for i, line in enumerate(causes) if _NUMBERED.match(line)]


def _shorter(table: list[str]) -> list[str]:
    """A table with one row less, and the number of those that are left out."""
    more = 0
    if table[-1].startswith("  and "):
        more = int(table[-1].split()[1])
        table = table[:-1]
    return [*table[:-1], f"  and {more + 1} more"]


def _wrapped(text: str, label: str = "", most: int = 3) -> list[str]:
    first = f"{label:{_LABEL}}" if label else ""
    return textwrap.wrap(
        text, line_width(), initial_indent=first,
        subsequent_indent=" " * (_LABEL if label else 2),
        max_lines=-(-most * COLUMNS // line_width()), placeholder=" ...", break_on_hyphens=False,
    )  # fmt: skip


def _title(judged: Judged) -> list[str]:
    tools = " and ".join(dict.fromkeys(f"{log.tool} {log.version}".strip() for log in judged.logs))
    names = [one.title for one in judged.boards] or list(
        dict.fromkeys(name for log in judged.logs for name in log.names)
    )
    about = "; ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
    hosts = [log.host for log in judged.logs if log.host]
    about += f", host {hosts[0]}" if hosts else ""
    return _wrapped(f"{tools}: {about or 'no device is named'}", most=2)


def _place(one: Judgement) -> tuple[int, int, float]:
    """Worst first; copies before the others."""
    kinds = list(KINDS)
    return WORST.index(one.verdict), kinds.index(one.group.kind), one.share or 0.0


def _headline(judged: Judged) -> list[str]:
    ordered = sorted(judged.judgements, key=_place)
    chosen = [one for one in ordered if one.verdict == judged.verdict]
    words = [f"{_WORDS[judged.verdict]}:"]
    failed = [o for log in judged.logs for o in log.outcomes if o.status == "failed"]
    if failed and judged.verdict in {"unknown", "normal"}:
        one = failed[0]
        words = [
            f"FAILED: the test '{one.test}' failed{f': {one.message}' if one.message else ''}."
        ]
        words += [f"Else {_VERDICT[judged.verdict]}:"] if chosen else []
    if chosen:
        words.append(sentence(chosen[0]))
        others = len(chosen) - 1
        if others and judged.verdict != "unknown":
            words.append(f"{counted(others, 'more figure is', 'more figures are')} "
                         f"{_VERDICT[judged.verdict]}.")  # fmt: skip
        worse = [one for one in judged.judgements if one.verdict == "unknown"]
        if judged.verdict == "normal" and worse:
            words.append(f"{counted(len(worse), 'figure is', 'figures are')} not judged.")
    elif not failed:
        words.append(_nothing(judged))
    return _wrapped(" ".join(words), most=4)


def _nothing(judged: Judged) -> str:
    links = [link for log in judged.logs for link in log.links]
    if judged.shown:
        return "the log has no transfer that is judged."
    if any(log.facts.get("emulated") for log in judged.logs):
        return "hardware emulation is no hardware, and no time of a transfer is in the log."
    if links and not any(log.rows for log in judged.logs):
        one = links[0]
        return (f"no rate in this text. The link is gen{one.generation} x{one.lanes} "
                f"({one.said_by}): paste the measurement with it.")  # fmt: skip
    return "no figure in this text."


def _table(ordered: Sequence[Judgement]) -> Iterator[str]:
    if ordered:
        yield f"{'what':31} {'printed':>21} {'rate':>9} {'limit':>5} verdict"
    for one in ordered[:_MOST_ROWS]:
        label, figure = what(one), printed(one.row)
        found = objects(one)
        if len(found) > 1:
            label += f", {len(found)} {noun(one)}"
            figure = spread(found)
        if one.group.kind == "network":
            label += f", {_sizes(one.group.rows)}"
        rate = shown(one.seconds, "s") if one.seconds else shown(one.rate, "B/s")
        share = percent(one.share) if one.share is not None and not one.seconds else ""
        yield (f"{_cut(label, 31):31} {_cut(figure, 21):>21} {rate:>9} {share:>5} "
               f"{_VERDICT[one.verdict]}")  # fmt: skip
    if len(ordered) > _MOST_ROWS:
        yield f"  and {len(ordered) - _MOST_ROWS} more"


def _sizes(rows: Sequence[Row]) -> str:
    sizes = [row.size for row in rows if row.size]
    if not sizes:
        return "no size"
    low, high = min(sizes), max(sizes)
    return bytes_of(low) if low == high else f"{bytes_of(low)} to {bytes_of(high)}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 2]}.."


def _facts(judged: Judged, ordered: Sequence[Judgement]) -> Iterator[str]:
    """Limit, known runs, what is missing, failed tests, what is not judged or not read."""
    limits = dict.fromkeys(
        f"{one.limit.name}, {shown(one.limit.value, 'B/s')} for data ({one.limit.source})"
        for one in ordered if one.limit
    )  # fmt: skip
    for i, text in enumerate(list(limits)[:2]):
        yield from _wrapped(text, "Limit:" if i == 0 else " ", most=2)
    known = dict.fromkeys(
        f"{f'{KINDS[one.group.kind]} {WAYS[one.group.direction]}'.strip()} "
        f"{known_range(one, 's' if one.seconds else 'B/s')} ({one.known.source}"
        f"{', scaled to this link' if one.known.scaled else ''})"
        for one in ordered if one.known
    )  # fmt: skip
    for i, text in enumerate(list(known)[:2]):
        yield from _wrapped(text, "Known:" if i == 0 else " ", most=2)
    for i, one in enumerate(judged.missing[:2]):
        yield from _wrapped(_MISSING[one], "Missing:" if i == 0 else " ", most=2)
    outcomes = [o for log in judged.logs for o in log.outcomes]
    for status, label in _STATUS.items():
        texts = [f"{o.test}{f' ({o.message})' if o.message else ''}" for o in outcomes
                 if o.status == status]  # fmt: skip
        if texts:
            yield from _wrapped("; ".join(texts), label, most=2)
    notes = [log.facts["both ends"] for log in judged.logs if "both ends" in log.facts]
    if notes:
        yield from _wrapped(notes[0], "Note:", most=1)
    if judged.shown:
        texts = [f"{row.name} {printed(row)}{f' ({row.part})' if row.part else ''}"
                 f"{': nothing moved' if row.nothing else ''}" for row in judged.shown]  # fmt: skip
        more = f"; {len(texts) - 4} more" if len(texts) > 4 else ""
        yield from _wrapped("; ".join(texts[:4]) + more, "Others:", most=2)
    if judged.problems:
        more = f"; {len(judged.problems) - 2} more" if len(judged.problems) > 2 else ""
        yield from _wrapped("; ".join(judged.problems[:2]) + more, "Unread:", most=2)
    nothing = [text for log in judged.logs for text in log.left_out if "nothing was moved" in text]
    if nothing:
        yield from _wrapped("; ".join(nothing), "Zero:", most=2)


def _causes(ordered: Sequence[Judgement]) -> Iterator[str]:
    """Causes of the worst judgement that has any."""
    found = next((one.causes for one in ordered if one.causes), ())
    for i, cause in enumerate(found[:_MOST_CAUSES]):
        if i == 0:
            yield "Likely causes, and what checks them:" if len(found) > 1 else "Likely cause:"
        yield from _cause(i + 1, cause)


def _cause(number: int, cause: Cause) -> Iterator[str]:
    text = _CAUSES[cause.kind]
    text += f": {cause.evidence}" if cause.evidence else ""
    text += f" ({cause.source.removeprefix('https://github.com/')})" if cause.source else ""
    yield from textwrap.wrap(
        f"{number}. {text}", line_width(), subsequent_indent="   ",
        max_lines=-(-2 * COLUMNS // line_width()), placeholder=" ...",
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip
    if cause.command:
        yield from command_lines(cause.command.split(" "), "  ")


def _measure(judged: Judged, ordered: Sequence[Judgement]) -> Iterator[str]:
    """What to measure with Isthmus to be sure."""
    command = _command(judged.logs, ordered)
    if command:
        yield ""
        yield from command_lines(invocation(*shlex.split(command)), "To be sure:")


def _command(logs: Sequence[Log], ordered: Sequence[Judgement]) -> str:
    kinds = {one.group.kind for one in ordered}
    tools = {log.tool for log in logs}
    if kinds & {"network", "collective"}:
        return "run beff"
    if "host_memory" in kinds:
        return "run hostmem"
    device = ""
    if any(tool.startswith(("nvbandwidth", "nvidia")) for tool in tools):
        device = " --device cuda:0"
    elif any(tool.startswith(("xbutil", "Vitis")) for tool in tools):
        device = " --device xrt:0"
    if any("driver's tools" in tool for tool in tools):
        return "doctor"
    return f"run transfer{device}" if ordered or any(log.rows for log in logs) else "doctor"


def data(judged: Judged) -> dict[str, Any]:
    """The judgements as plain data for JSON."""
    return {
        "verdict": judged.verdict,
        "failed": judged.failed,
        "logs": [
            {
                "tool": log.tool, "version": log.version, "names": list(log.names),
                "rows": [_row(row) for row in log.rows],
                "links": [dataclasses.asdict(one) for one in log.links],
                "outcomes": [dataclasses.asdict(one) for one in log.outcomes],
                "problems": [dataclasses.asdict(one) for one in log.problems],
                "left_out": list(log.left_out), "facts": dict(log.facts),
            }
            for log in judged.logs
        ],
        "boards": [one.name for one in judged.boards],
        "judgements": [_judgement(one) for one in judged.judgements],
        "missing": list(judged.missing),
        "problems": list(judged.problems),
    }  # fmt: skip


def _row(row: Row) -> dict[str, Any]:
    names = ("line", "name", "kind", "device", "part", "direction", "memory", "unit", "statistic",
             "size", "batch", "cold", "beside", "fault", "nothing", "operation")  # fmt: skip
    found = {name: getattr(row, name) for name in names}
    return {
        **found, "values": list(row.values), "printed_unit": row.printed_unit or row.unit,
        "rates_Bps": row.rates(), "seconds": row.seconds(),
    }  # fmt: skip


def _judgement(one: Judgement) -> dict[str, Any]:
    found = dataclasses.asdict(dataclasses.replace(one, group=dataclasses.replace(
        one.group, rows=[]), row=dataclasses.replace(one.row, axes={})))  # fmt: skip
    found["group"] |= {"lines": [row.line for row in one.group.rows]}
    found["group"].pop("rows")
    found["row"] = _row(one.row)
    found["what"], found["sentence"] = what(one), sentence(one)
    return found
