"""Reads the files in which the cards of a session and its program's threads record their work.

A program may start a million kernels. If the files together exceed ``_MOST_BYTES``, this module
reads stretches, evenly spread over the largest file, and the same times in the other files.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from isthmus_emulation.computing import ESTIMATE
from isthmus_emulation.trace import (
    Event,
    Header,
    KernelFacts,
    KernelTime,
    LoopChange,
    Port,
    TransferFacts,
)

Span = tuple[int, int]
_HEADING = re.compile(rb"# (?:card (\d+) board (.*)|host) program (\d+)\n")
_HOST: Final = -1
"""Number in place of a card's: the file has events of the program's threads."""
_WRAP: Final = 1 << 64
_MOST_BYTES: Final = 12_000_000
"""Most bytes that are read: 200 000 events take 3 s of processor time (2026-11-28)."""
_STRETCHES: Final = 40


@dataclass(frozen=True)
class Events:
    """The events of a session; times in femtoseconds, from the first event's beginning on."""

    cards: list[tuple[Header, list[Event]]]
    host: list[Event]
    """Events of the program's threads by begin: ``region``, ``host copy`` and ``call``.

    A ``call`` is a call into a card; ``name`` is the thread's number. Its ``bytes`` are the
    femtoseconds that the thread computed since its previous call. All marks of regions are read."""
    stretches: tuple[Span, ...]
    """Begin and end of the times that were read; an event in a stretch is cut at its end."""
    share: float
    """Share of the files' bytes that were read; 1: all."""

    def read_fs(self, begin: int, end: int) -> int:
        """Returns the femtoseconds of ``begin`` to ``end`` that lie in stretches that were read."""
        return sum(max(0, min(end, to) - max(begin, of)) for of, to in self.stretches)


def read(files: Iterable[Path], most_bytes: int = _MOST_BYTES) -> Events:
    """Reads the files of a session; of more than ``most_bytes`` only evenly spread stretches."""
    there = [file for file in map(_File, files) if file.has_events]
    if not there:
        return Events([], [], (), 1.0)
    largest = max(there, key=lambda file: file.size)
    base = largest.time_at(largest.begin)
    size = sum(file.size for file in there)
    share = min(1.0, most_bytes / size)
    spans: list[Span | None] = [None]
    if share < 1:
        spans = list(_stretches(largest, share, base))
    parsed: list[tuple[Header, list[Event]]] = []
    for file in there:
        events = [event for span in spans for event in file.events(base, span)]
        if share < 1:
            events += file.marks(base)
        parsed.append((file.header, events))
        file.close()
    first = min((event.begin_fs for _, events in parsed for event in events), default=0)
    parsed = [
        (card, [event._replace(begin_fs=event.begin_fs - first) for event in events])
        for card, events in parsed
    ]
    ends = (event.begin_fs + event.duration_fs for _, events in parsed for event in events)
    last = max(ends, default=0)
    read_of = ((max(0, of - first), min(last, to - first)) for of, to in filter(None, spans))
    host = [event for card, events in parsed if card.card == _HOST for event in events]
    return Events(
        [parsed_event for parsed_event in parsed if parsed_event[0].card != _HOST],
        sorted(host, key=lambda event: event.begin_fs),
        tuple(read_of) or ((0, last),),
        share,
    )


class _File:
    """A file of events: a heading, then a line for each event, without an incomplete last line."""

    def __init__(self, path: Path) -> None:
        self.header = Header(_HOST, "", 0)
        self._text: mmap.mmap | bytes = b""
        self._facts: dict[str, KernelFacts] = {}
        self.begin = self.size = 0
        if not path.stat().st_size:
            return  # the program ended before it wrote the heading
        with path.open("rb") as file:
            self._text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        heading = _HEADING.match(self._text)
        if heading is None:
            return
        card = _HOST if heading[1] is None else int(heading[1])
        board = (heading[2] or b"").decode("utf-8", "replace")
        self.header = Header(card, board, int(heading[3]))
        self.begin = heading.end()
        self.size = self._text.rfind(b"\n") + 1

    @property
    def has_events(self) -> bool:
        """Whether a line follows the heading."""
        return self.size > 0 and self._line_with_time(self.begin) < self.size

    def close(self) -> None:
        """Unmaps the file from memory."""
        if isinstance(self._text, mmap.mmap):
            self._text.close()

    def line_at(self, offset: int) -> int:
        """Returns the offset of the first line that begins at or behind an offset."""
        if offset <= self.begin:
            return self.begin
        end = self._text.find(b"\n", offset - 1)
        return self.size if end < 0 else end + 1

    def time_at(self, offset: int) -> int:
        """Returns the begin of the first event at or behind a line; lines of facts have no time."""
        at = self._line_with_time(offset)
        return int(self._text[at : self._text.find(b"\n", at)].split(b"\t")[2])

    def _line_with_time(self, offset: int) -> int:
        while offset < self.size and self._text[offset : offset + 6] == b"facts\t":
            offset = self.line_at(offset + 1)
        return offset

    def events(self, base: int, span: Span | None) -> Iterator[Event]:
        """Yields events with times relative to ``base``: those that begin in a span, or all."""
        begin, end = self.begin, self.size
        if span is not None:
            begin, end = (self._offset_of(time, base) for time in span)
        for line in self._text[begin:end].decode("utf-8", "replace").split("\n")[:-1]:
            event = self._event(line, base)
            if event is None:
                continue
            if span is not None:
                if not span[0] <= event.begin_fs < span[1] or event.kind == "region":
                    continue
                left = span[1] - event.begin_fs
                if event.duration_fs > left:
                    event = event._replace(duration_fs=left)
            yield event

    def marks(self, base: int) -> Iterator[Event]:
        """Yields the events that mark regions, also outside of the stretches."""
        at = self.begin
        while 0 <= at < self.size:
            if self._text[at : at + 7] == b"region\t":
                end = self._text.find(b"\n", at)
                event = self._event(self._text[at:end].decode("utf-8", "replace"), base)
                if event is not None:
                    yield event
            at = self._text.find(b"\nregion\t", at) + 1 or -1

    def _offset_of(self, time: int, base: int) -> int:
        """Returns the offset of the first event at or after a time; events are in time order."""
        low, high = self.begin, self.size
        while low < high:
            middle = self.line_at((low + high) // 2)
            if middle >= high:
                middle = low
            at = self._line_with_time(middle)
            if at < high and _from(base, self.time_at(at)) < time:
                low = self.line_at(at + 1)
            elif middle == low:
                break
            else:
                high = middle
        return low

    def _event(self, line: str, base: int) -> Event | None:
        """Reads a line; None for facts, which hold for the next runs of a kernel."""
        kind, name, *rest = line.split("\t")
        if kind == "facts":
            self._facts[name] = _kernel_facts(rest)
            return None
        begin, duration, moved, *more = rest
        time: KernelTime | None = None
        facts: KernelFacts | TransferFacts | None = None
        if kind == "kernel":
            time = _kernel_time(more) if more else None
            facts = self._facts.get(name)
        elif more:
            facts = _transfer_facts(more)
        return Event(kind, name, _from(base, int(begin)), int(duration), int(moved), time, facts)


def _from(base: int, time: int) -> int:
    """Returns a time less ``base``; times wrap, and differ by less than half a turn."""
    return (time - base + _WRAP // 2) % _WRAP - _WRAP // 2


def _stretches(file: _File, share: float, base: int) -> list[Span]:
    """Returns the times of evenly spread parts of a file, with ``share`` of its bytes."""
    whole = file.size - file.begin
    length = int(whole * share / _STRETCHES)
    stretches: list[Span] = []
    for n in range(_STRETCHES):
        at = file.begin + (whole - length) * n // (_STRETCHES - 1)
        begin = file.line_at(at)
        end = file.line_at(at + length)
        if begin < end:
            # Other files may begin before this file, and end after it.
            of = _from(base, file.time_at(begin)) if n else -_WRAP
            to = _from(base, file.time_at(end)) if end < file.size else _WRAP
            stretches.append((of, to))
    return stretches


def _transfer_facts(words: list[str]) -> TransferFacts:
    """Reads the fields that ``Device::facts_of`` writes (``emulation/xrt/src/bounds.cpp``)."""
    memory, startup, alone, one_way, two = words
    return TransferFacts(memory, int(startup), int(alone), float(one_way), float(two))


def _kernel_facts(words: list[str]) -> KernelFacts:
    """Reads the fields that ``Device::record_kernel`` writes (``emulation/xrt/src/bounds.cpp``)."""
    elements, memory, apart, host, *moved = words
    ports = zip(*(moved[field::5] for field in range(5)), strict=True)
    return KernelFacts(
        int(elements),
        int(memory),
        int(apart),
        int(host),
        tuple(
            Port(name, of, way == "w", int(count), int(address))
            for name, of, way, count, address in ports
        ),
    )


def _kernel_time(words: list[str]) -> KernelTime:
    """Reads the fields behind the bytes in a kernel's line (``emulation/xrt/src/meter.cpp``)."""
    how, *numbers = words[:4]
    memory, computing, least = map(int, numbers)
    if how != ESTIMATE:
        return KernelTime(how == "given", memory, computing, least)
    most, bound, first_words, *rest = words[4:]
    fields = zip(*(rest[field::5] for field in range(5)), strict=True)
    changes = tuple(
        LoopChange(kind, name, int(count), int(saved), int(moved))
        for kind, name, count, saved, moved in fields
    )
    return KernelTime(
        True, memory, computing, least, int(most), bound, True, int(first_words), changes
    )
