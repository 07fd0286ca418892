"""Writes what a program and its cards waited for, in simulated time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from isthmus.units import format_seconds
from isthmus_emulation.account import bytes_text
from isthmus_emulation.computing import (
    ESTIMATE,
    NOT_MODELLED,
    Computing,
    not_modelled,
    unchecked_depths,
)
from isthmus_emulation.event_files import Events
from isthmus_emulation.trace import Event, KernelTime

_FS = 1e-15
_FIRST, _LAST = 11, 2
"""Numbers of first and last events shown for each card; shares below must stay on the screen."""
_DECIDES = 0.5
"""Least share of a run in which computing bounds the run, even if it also waits for streams."""
_STREAMS = "waits for streams"
"""What bounds a run that is longer than its computing and its accesses to memory."""
_SHOWN = 0.05
"""Least share of a run that waits for first words take, to be shown."""
_LANES = (
    ("kernels", {"kernel"}),
    ("transfers", {"write", "read", "copy"}),
    ("registers", {"register"}),
    ("driver's software", {"pin", "program", "launch"}),
)
_TEXTS = {
    "write": "host to card",
    "read": "card to host",
    "copy": "within the card",
    "pin": "pages of a buffer pinned",
    "program": "bitstream loaded",
}
Span = tuple[int, int]


def lines(session: Events, computing: Sequence[Computing] = ()) -> list[str]:
    """Returns the first and last events of each card, then shares of the time from first to last.

    The last line names kernels of ``computing`` that are not modelled, also those that never end.
    """
    shown = []
    for header, unordered in session.cards:
        events = sorted(unordered, key=lambda event: event.begin_fs)
        if not events:
            continue
        shown.append(f"card {header.card}, {header.board}: simulated time, what was waited for")
        rows = list(_rows(events))
        left = len(rows) - _FIRST - _LAST
        if left > 1:
            all_of = f"{left} like these; --trace FILE has all"
            some = f"about {float(f'{left / session.share:.2g}'):.0f} like these"
            rows[_FIRST:-_LAST] = [f"  ... {all_of if session.share == 1 else some}"]
        shown += rows
        shown += _summary(events, session)
    if unknown := not_modelled(computing):
        shown.append(
            f"computing {NOT_MODELLED}: {', '.join(unknown)}, whose time is memory's alone"
        )
    if unchecked := unchecked_depths(computing):
        shown.append(f"stream depths not checked: {', '.join(unchecked)}")
    return shown


def _rows(events: Sequence[Event]) -> Iterator[str]:
    """Yields a line for each event, and for each time in which the card waits."""
    busy_until = 0
    for event in events:
        if event.begin_fs > busy_until:
            yield _row(busy_until, event.begin_fs - busy_until, "card waits for program")
        yield _row(event.begin_fs, event.duration_fs, _what(event))
        busy_until = max(busy_until, event.begin_fs + event.duration_fs)


def _row(begin_fs: int, duration_fs: int, what: str) -> str:
    begin, duration = format_seconds(_FS * begin_fs), format_seconds(_FS * duration_fs)
    return f"  {begin:>9} +{duration:>8}  {what}"


def _what(event: Event) -> str:
    kernels = {"kernel": f"kernel {event.name}", "launch": f"kernel {event.name} launched"}
    what = kernels.get(event.kind) or _TEXTS.get(event.kind, event.kind)
    if not event.bytes or event.kind == "pin" or not event.duration_fs:
        return what + _computing(event)
    rate = event.bytes / (_FS * event.duration_fs) / 1e9
    return f"{what}: {bytes_text(event.bytes)}, {rate:.3g} GB/s{_computing(event)}"


def _computing(event: Event) -> str:
    """Says what bounds a kernel's time; empty if the kernel's own model sets its time."""
    if event.computing is None:
        return ""
    known, memory, most, least, *_ = event.computing
    if event.computing.is_estimate:
        return _estimate(event, event.computing)
    if not known:
        return f"; computing {NOT_MODELLED}"
    computing, moving = format_seconds(_FS * most), format_seconds(_FS * memory)
    lowest = f"{format_seconds(_FS * least)} to " if least < most else ""
    bound = "computing" if most > memory else "memory"
    computing_decides = most > memory and most >= _DECIDES * event.duration_fs
    if event.duration_fs > max(most, memory) and not computing_decides:
        bound = _STREAMS
    return f"; bound by {bound}: computes {lowest}{computing}, memory {moving}"


def _estimate(event: Event, time: KernelTime) -> str:
    """Says what bounds an estimated kernel, and how long memory waits for the kernel."""
    whole = max(event.duration_fs, 1)
    low, high = (format_seconds(_FS * end) for end in (time.least_fs, time.most_fs))
    spread = f"{low} to {high}" if low != high else high
    moving = format_seconds(_FS * time.memory_fs)
    waits = _percent(max(0, whole - time.memory_fs), whole)
    bound = "memory" if time.memory_fs > time.computing_fs else time.bound or "computing"
    first = time.first_words_fs
    if first > max(time.memory_fs, time.computing_fs):
        bound = "its loops' waits for memory's first word"
    elif whole > max(time.memory_fs + time.computing_fs + first, 1):
        bound = _STREAMS
    elif first >= _SHOWN * whole:
        waited = format_seconds(_FS * first)
        bound += f", and {waited} for memory's first word in each run of a loop"
    return f"; bound by {bound}; memory {moving}, waits {waits}; computes {spread} ({ESTIMATE})"


def _summary(events: Sequence[Event], session: Events) -> list[str]:
    """Says how long each lane worked, alone or beside others, and how long no lane did."""
    spans = {lane: _union(_spans(events, kinds)) for lane, kinds in _LANES}
    every = _union([span for some in spans.values() for span in some])
    end = max(end for _, end in every)
    whole = session.read_fs(0, end)
    scale = end / max(1, whole)
    busy = _length(every)
    shown = []
    for lane, some in spans.items():
        if some:
            apart = [span for other, those in spans.items() if other != lane for span in those]
            alone = busy - _length(_union(apart))
            overlap = "" if alone == _length(some) else f", alone {_percent(alone, whole)}"
            shown.append(_share(lane, _length(some), whole, overlap, scale))
    shown.append(_share("card idle, waiting for the program", whole - busy, whole, "", scale))
    return shown


def _share(what: str, part_fs: int, whole_fs: int, more: str, scale: float) -> str:
    """Returns a line with times in what was read, multiplied to stand for the whole program."""
    part, whole = (format_seconds(_FS * scale * time) for time in (part_fs, whole_fs))
    return f"  {what}: {part} of {whole}, {_percent(part_fs, whole_fs)}{more}"


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def _spans(events: Iterable[Event], kinds: set[str]) -> list[Span]:
    return [(e.begin_fs, e.begin_fs + e.duration_fs) for e in events if e.kind in kinds]


def _union(spans: Iterable[Span]) -> list[Span]:
    """Joins spans that meet; returns the joined spans in order."""
    union: list[Span] = []
    for begin, end in sorted(spans):
        if union and begin <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], end))
        else:
            union.append((begin, end))
    return union


def _length(spans: Iterable[Span]) -> int:
    return sum(end - begin for begin, end in spans)
