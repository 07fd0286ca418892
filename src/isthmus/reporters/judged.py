"""Shows the results of judging on one screen of 25 lines with 80 columns, or as many characters."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from isthmus.columns import command_lines, fitted, line_width
from isthmus.importers.base import Log, Outcome, Row
from isthmus.judging import Cause, Judged, Judgement
from isthmus.judging.grouping import backend
from isthmus.judging.judgement import WORST, UnusedLink
from isthmus.program import invocation
from isthmus.reporters.judged_causes import COLUMNS, Block, cause_blocks, cause_lines
from isthmus.reporters.judged_places import Places
from isthmus.reporters.judged_sentences import (
    KINDS,
    WAYS,
    known_range,
    noun,
    objects,
    outside,
    printed,
    sentence,
    spread,
    what,
)
from isthmus.text import counted
from isthmus.units import percent, printable, rounded_bytes, shown

LINES = 25
_MOST_ROWS, _MOST_CAUSES = 6, 3
_ORIGIN = {"log": "the log says", "usual": "its rates need what the board usually has:",
         "at most": "the board has at most"}  # fmt: skip
_LABEL = 10
_MOST_PERCENT = 999
"""Largest percentage that is shown; a larger one becomes a multiple: ``x13``."""
_OWN_BACKENDS = ("cuda", "xrt")
"""Backends of Isthmus whose devices other programs measure, too."""
_WORDS = {"normal": "NORMAL", "below": "BELOW", "impossible": "IMPOSSIBLE",
          "unknown": "CANNOT TELL"}  # fmt: skip
_VERDICT = {"normal": "normal", "below": "below", "impossible": "impossible",
            "unknown": "open"}  # fmt: skip
_STATUS = {"failed": "Failed:", "warning": "Warning:", "unfinished": "Unended:",
           "skipped": "Skipped:"}  # fmt: skip
_MISSING = {
    "link": "the link: give --link gen3x16 (of a Thunderbolt box gen3x4), or paste `lspci -vv`, "
    "`nvidia-smi -q` or `xbutil examine` with it",
    "board": "the board: give --board NAME (isthmus judge --boards lists them)",
    "gpu": "the GPUs' name: give --board NAME (isthmus judge --boards lists them)",
    "network": "the port's rate: give --link 100Gb (ibstat or ibv_devinfo shows it)",
    "ports": "the rate of all ports of a host together: give --link 800Gb for four of 200 Gb/s",
    "size": "the size of the transfers",
    "reference": "a known rate of this board, or of the link between two: no reference has one "
    "(docs/judging.md: a board of your own)",
    "messages": "messages of 64 KiB or more: small ones show no share of a link",
    "large": "larger transfers, of at least 1 MiB: small ones show no share of a link",
}  # fmt: skip


class _Screen(NamedTuple):
    """The middle of the screen, made of blocks whose lines stay together."""

    table: list[list[str]]
    """Block of the header, and a block for each judgement."""
    left_out: int
    """Number of judgements without a block."""
    facts: list[list[str]]
    causes: list[Block]
    all_causes: int
    """Number of causes that were found."""

    def lines(self) -> list[str]:
        """Returns all lines of the blocks."""
        rows = [*self.table, *([[f"  and {self.left_out} more"]] if self.left_out else [])]
        causes = list(cause_lines(self.causes, self.all_causes))
        blocks = [*([[""]] if rows else []), *rows, *self.facts, causes]
        return [line for block in blocks for line in block]

    def shorter(self) -> _Screen:
        """Drops the least important block: a cause, a further fact, a row, or any fact."""
        if len(self.causes) > _FEWEST_CAUSES:
            return self._replace(causes=self.causes[:-1])
        if len(self.facts) > _FIRST_FACTS:
            return self._replace(facts=self.facts[:-1])
        if len(self.table) > _FEWEST_BLOCKS:
            return self._replace(table=self.table[:-1], left_out=self.left_out + 1)
        if self.facts:
            return self._replace(facts=self.facts[:-1])
        return self._replace(causes=[])


_FIRST_FACTS = 4
"""Number of first facts, limit and known runs, that are more important than rows of the table."""
_FEWEST_BLOCKS = 2
"""Least blocks of a table: its header and a row."""
_FEWEST_CAUSES = 1


def lines(judged: Judged) -> list[str]:
    """Makes the lines of the screen."""
    ordered = sorted(judged.judgements, key=_place)
    places = Places(judged.judgements)
    top = [*_title(judged), *_options(judged), *_headline(judged, places)]
    last = list(_measure(judged, ordered))
    room = LINES * COLUMNS // line_width() - len(top) - len(last) - 1
    more = max(len(ordered) - _MOST_ROWS, 0)
    table, facts = list(_table(ordered, places)), list(_facts(judged, ordered))
    causes = _causes(ordered)
    blocks = cause_blocks(causes[:_MOST_CAUSES])
    screen = _Screen(table, more, facts, blocks, len(causes))
    while len(screen.lines()) > room and (screen.facts or screen.causes):
        screen = screen.shorter()
    middle = screen.lines()[: max(room, 0)]
    return [printable(line).rstrip() for line in (*top, *middle, *last)]


def _wrapped(text: str, label: str = "", most: int = 3) -> list[str]:
    first = f"{label:{_LABEL}}" if label else ""
    return textwrap.wrap(
        text, line_width(), initial_indent=first,
        subsequent_indent=" " * (_LABEL if label else 2),
        max_lines=-(-most * COLUMNS // line_width()), placeholder=" ...", break_on_hyphens=False,
    )  # fmt: skip


def _title(judged: Judged) -> list[str]:
    tools = " and ".join(dict.fromkeys(f"{log.tool} {log.version}".strip() for log in judged.logs))
    names = [board.title for board in judged.boards] or list(
        dict.fromkeys(name for log in judged.logs for name in log.names)
    )
    about = "; ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
    hosts = [log.host for log in judged.logs if log.host]
    about += f", host {hosts[0]}" if hosts else ""
    return _wrapped(f"{tools}: {about or 'no device is named'}", most=2)


def _options(judged: Judged) -> Iterator[str]:
    """Yields a line for each option that contradicts the log or has no effect."""
    for contradiction in judged.contradictions:
        if contradiction.option == "--board":
            text = f"which names {contradiction.said}. Limits and known runs are the option's."
            text = f"--board {contradiction.value} contradicts the log, {text}"
        else:
            link = f"{_ORIGIN[contradiction.kind]} {contradiction.said} ({contradiction.by})"
            text = f"--link {contradiction.value}, but {link}. The limit is the option's."
        yield from _wrapped(text, "Option:", most=3)
    for option in judged.without_effect:
        yield from _wrapped(f"{option} has no effect on these figures.", "Option:", most=2)


def _place(judgement: Judgement) -> tuple[int, int, float]:
    """Sort key of a judgement: the worst verdict first, then copies before other kinds."""
    kinds = list(KINDS)
    return WORST.index(judgement.verdict), kinds.index(judgement.group.kind), judgement.share or 0.0


def _headline(judged: Judged, places: Places) -> list[str]:
    ordered = sorted(judged.judgements, key=_place)
    chosen = [judgement for judgement in ordered if judgement.verdict == judged.verdict]
    words = [f"{_WORDS[judged.verdict]}:"]
    failed = [
        (log.file, o) for log in judged.logs for o in log.outcomes if o.status == "failed"
    ]  # fmt: skip
    if failed and judged.verdict in {"unknown", "normal"}:
        words = [_failed(*failed[0])]
        words += [f"Else {_VERDICT[judged.verdict]}:"] if chosen else []
    if chosen:
        words += [places.full(chosen[0].group), sentence(chosen[0])]
        others = len(chosen) - 1
        if others and judged.verdict != "unknown":
            words.append(f"{counted(others, 'more figure is', 'more figures are')} "
                         f"{_VERDICT[judged.verdict]}.")  # fmt: skip
        worse = [judgement for judgement in judged.judgements if judgement.verdict == "unknown"]
        if judged.verdict == "normal" and worse:
            words.append(f"{counted(len(worse), 'figure is', 'figures are')} not judged.")
        normal = [judgement for judgement in judged.judgements if judgement.verdict == "normal"]
        if judged.verdict == "unknown" and normal:
            words.append(f"{counted(len(normal), 'figure is', 'figures are')} normal.")
    elif not failed:
        words.append(_nothing(judged))
    return _wrapped(" ".join(filter(None, words)), most=4)


def _failed(file: str, outcome: Outcome) -> str:
    """Words for a failed test: ``FAILED: slow.txt, line 11: the test 'dma' failed: wrong data.``"""
    place = ", ".join(filter(None, (file, f"line {outcome.line}" if outcome.line else "")))
    message = f": {outcome.message}" if outcome.message else ""
    return f"FAILED: {f'{place}: ' if place else ''}the test '{outcome.test}' failed{message}."


def _nothing(judged: Judged) -> str:
    links = [link for log in judged.logs for link in log.links]
    if judged.shown:
        return "the log has no transfer that is judged."
    if any(log.emulated for log in judged.logs):
        return "hardware emulation is no hardware, and no time of a transfer is in the log."
    if links and not any(log.rows for log in judged.logs):
        link = links[0]
        return (f"no rate in this text. The link is gen{link.generation} x{link.lanes} "
                f"({link.said_by}): paste the measurement with it.")  # fmt: skip
    return "no figure in this text."


def _table(ordered: Sequence[Judgement], places: Places) -> Iterator[list[str]]:
    if ordered:
        yield fitted(f"{'what':31} {'printed':>21} {'rate':>9} {'limit':>5} verdict")
    for judgement in ordered[:_MOST_ROWS]:
        label, figure = what(judgement), printed(judgement.row)
        rows = objects(judgement)
        if len(rows) > 1:
            label += f", {len(rows)} {noun(judgement)}"
            figure = spread(rows)
        if judgement.group.kind == "network":
            label += f", {_sizes(judgement.group.rows)}"
        if place := places.short(judgement.group):
            label = f"{_cut(label, max(31 - len(place) - 2, 14))}, {place}"
        rate = shown(judgement.seconds, "s") if judgement.seconds else shown(judgement.rate, "B/s")
        share = (
            _of_limit(judgement.share)
            if judgement.share is not None and not judgement.seconds
            else ""
        )
        yield fitted(f"{_cut(label, 31):31} {_cut(figure, 21):>21} {rate:>9} {share:>5} "
                     f"{_VERDICT[judgement.verdict]}")  # fmt: skip


def _of_limit(share: float) -> str:
    """Writes a share of a limit in five characters."""
    return percent(share) if share < _MOST_PERCENT / 100 else "x" + f"{share:.3g}"[:4]


def _sizes(rows: Sequence[Row]) -> str:
    sizes = [row.size for row in rows if row.size]
    if not sizes:
        return "no size"
    low, high = min(sizes), max(sizes)
    return rounded_bytes(low) if low == high else f"{rounded_bytes(low)} to {rounded_bytes(high)}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 2]}.."


def _facts(judged: Judged, ordered: Sequence[Judgement]) -> Iterator[list[str]]:
    """Yields blocks: limit, known runs, missing facts, failed tests, rows not judged or read."""
    limits = dict.fromkeys(
        f"{limit.name}, {shown(limit.value, 'B/s')} for data ({limit.source})"
        for limit in (judgement.limit for judgement in ordered) if limit
    )  # fmt: skip
    known = dict.fromkeys(
        f"{f'{KINDS[judgement.group.kind]} {WAYS[judgement.group.direction]}'.strip()} "
        f"{known_range(judgement, 's' if judgement.seconds else 'B/s')}{_beyond(judgement)} "
        f"({judgement.known.source}{', scaled to this link' if judgement.known.scaled else ''})"
        for judgement in ordered if judgement.known
    )  # fmt: skip
    same = [
        f"{f'{same_data.file} has' if same_data.file else 'these are'} the figures of "
        f"{same_data.source}, so they are no reference" for same_data in judged.same
    ]  # fmt: skip
    yield from _labelled("Limit:", limits)
    yield from _labelled("Known:", known)
    yield from _labelled("Same:", same)
    yield from _labelled("Link:", map(_unused, judged.unused_links))
    yield from _labelled("Missing:", [_MISSING[fact] for fact in judged.missing])
    outcomes = [o for log in judged.logs for o in log.outcomes]
    for status, label in _STATUS.items():
        texts = [f"{o.test}{f' ({o.message})' if o.message else ''}" for o in outcomes
                 if o.status == status]  # fmt: skip
        yield from _labelled(label, _joined(texts, len(texts)))
    yield from _labelled(
        "Note:", [log.facts["both ends"] for log in judged.logs if "both ends" in log.facts]
    )
    yield from _labelled("Unread:", _joined(judged.problems, 2))
    texts = [f"{row.name} {printed(row)}{f' ({row.part})' if row.part else ''}"
             f"{': nothing moved' if row.nothing else ''}" for row in judged.shown]  # fmt: skip
    yield from _labelled("Others:", _joined(texts, 4))
    assumed = dict.fromkeys(text for log in judged.logs for text in log.assumed)
    yield from _labelled("Assumed:", _joined(list(assumed), len(assumed)))


def _unused(link: UnusedLink) -> str:
    """Says which links a text describes in vain: ``lspci shows 81:00.0, not 02:00``."""
    shown_ = " and ".join(map(_address, link.shown[:2]))
    shown_ += f" and {len(link.shown) - 2} more" if len(link.shown) > len(link.shown[:2]) else ""
    where = f" ({link.file})" if link.file else ""
    if link.cards:
        cards = " or ".join(link.cards[:2])
        return f"{link.tool}{where} shows {shown_}, not {cards}, whose link stays unknown"
    if link.accelerators:
        why = "and the log does not say which it measured"
    else:
        why = "which is no accelerator" if len(link.shown) == 1 else "which are no accelerators"
    return f"{link.tool}{where} shows {shown_}, {why}: not used"


def _address(text: str) -> str:
    """A bus address without a domain of zeros."""
    domain, _, rest = text.partition(":")
    return rest if ":" in rest and not domain.strip("0") else text


def _beyond(judgement: Judgement) -> str:
    """Words on a normal figure that lies outside of the known range; else empty."""
    here = shown(judgement.seconds, "s") if judgement.seconds else shown(judgement.rate, "B/s")
    return f"; here {here}, {why}" if (why := outside(judgement)) else ""


def _labelled(label: str, texts: Iterable[str]) -> Iterator[list[str]]:
    """Yields a block for each of the first two texts; the first block begins with the label."""
    for i, text in enumerate(list(texts)[:2]):
        yield _wrapped(text, " " if i else label, most=3)


def _joined(texts: Sequence[str], most: int) -> list[str]:
    """Joins the first ``most`` texts into one, in a list; the list is empty without texts."""
    more = f"; {len(texts) - most} more" if len(texts) > most else ""
    return ["; ".join(texts[:most]) + more] if texts else []


def _causes(ordered: Sequence[Judgement]) -> Sequence[Cause]:
    """Causes of the worst judgement that has causes."""
    return next((judgement.causes for judgement in ordered if judgement.causes), ())


def _measure(judged: Judged, ordered: Sequence[Judgement]) -> Iterator[str]:
    """Yields the command of Isthmus that measures the same quantities, in lines."""
    command = _command(judged.logs, ordered)
    if command:
        yield ""
        yield from command_lines(invocation(*shlex.split(command)), "To be sure:")


def _command(logs: Sequence[Log], ordered: Sequence[Judgement]) -> str:
    kinds = {judgement.group.kind for judgement in ordered}
    if kinds & {"network", "collective"}:
        return "run beff"
    if "host_memory" in kinds:
        return "run hostmem"
    backends = {backend(row.device) for log in logs for row in log.rows}
    if not backends or "xdma" in backends:
        return "doctor"
    own = next((judgement for judgement in _OWN_BACKENDS if judgement in backends), "")
    return f"run transfer --device {own}:0" if own else "run transfer"
