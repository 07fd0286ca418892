"""A timeline of the cards' work as Chrome's trace events, which Perfetto opens.

Format: "Trace Event Format" of the Chromium project; times in it are microseconds.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from isthmus_emulation.computing import ESTIMATE, NOT_MODELLED

_HEADING = re.compile(r"# (?:card (\d+) board (.*)|host) program (\d+)")
_HOST = -1
"""In place of a card's number: the events are those of a program's threads."""
_LANES = {"write": 1, "read": 1, "copy": 1, "kernel": 2, "register": 3}
_LANE_NAMES = {1: "transfers", 2: "kernels", 3: "registers"}
_WRAP = 1 << 64
_FS_PER_US = 1e9


class Header(msgspec.Struct):
    """One card as one program used it."""

    card: int
    board: str
    program: int


class KernelTime(NamedTuple):
    """Parts of a kernel's time, in femtoseconds."""

    known: bool
    """Whether its computing time is given or estimated; else only memory takes time."""
    memory_fs: int
    computing_fs: int
    least_fs: int
    """Less than ``computing_fs`` where it is a range."""
    most_fs: int = 0
    """Of an estimate; more than ``computing_fs`` where it is a range."""
    bound: str = ""
    """Of an estimate: the loop that takes most of it."""
    is_estimate: bool = False
    partial_sums: int = 0
    """So many in the loop of ``bound`` spare time; 0: they do not."""
    spared_fs: int = 0


class TransferFacts(NamedTuple):
    """A transfer alone, as the card's model has it; times in femtoseconds."""

    memory: str
    startup_fs: int
    """Time of a transfer of one byte: driver, doorbell, latency, interrupt."""
    alone_fs: int
    beside_in_one: float
    """Share of its rate beside the other direction in the same bank of memory."""
    beside_in_two: float
    """The same where the other direction uses another bank."""


class Port(NamedTuple):
    """What a run of a kernel moves in one direction between an argument and a memory."""

    argument: str
    memory: str
    writes: bool
    bytes: int
    address: int
    """Of the argument's buffer; 0: unknown."""


class KernelFacts(NamedTuple):
    """A run of a kernel, as the card's model has it; times in femtoseconds."""

    elements_fs: int
    """Time of the busiest port, at one element a clock."""
    memory_fs: int
    apart_fs: int
    """Memory's time if each port had a bank of its own."""
    host_fs: int
    """Memory's time if all data were in host memory; 0: kernels do not reach it."""
    ports: tuple[Port, ...]


class Event(NamedTuple):
    """What a card did; times in femtoseconds, from the first event's beginning on."""

    kind: str
    """``write``, ``read``, ``copy``, ``kernel``, ``register``, ``pin``, ``program``."""
    name: str
    begin_fs: int
    duration_fs: int
    bytes: int
    computing: KernelTime | None = None
    """Of a kernel whose computing time is unknown, given or estimated; else None."""
    facts: TransferFacts | KernelFacts | None = None
    """None where nothing is moved, or the card's model is random."""


def events_of(files: Iterable[Path]) -> list[tuple[Header, list[Event]]]:
    """The events of a session's cards."""
    return [one for one in _in_one_time(files) if one[0].card != _HOST]


def events_of_host(files: Iterable[Path]) -> list[Event]:
    """Returns the events of the host by begin: ``region``, ``host copy`` and ``call``.

    A ``call`` of a thread, which ``name`` numbers, into a card has as ``bytes`` the femtoseconds
    that the thread has computed since its call before.
    """
    some = [events for header, events in _in_one_time(files) if header.card == _HOST]
    return sorted(itertools.chain(*some), key=lambda event: event.begin_fs)


def _in_one_time(files: Iterable[Path]) -> list[tuple[Header, list[Event]]]:
    """Returns all events, with times relative to the first event."""
    cards = [card for card in map(_read, files) if card is not None]
    begins = [event.begin_fs for _, events in cards for event in events]
    # Times wrap; all are less than half a turn from any of them.
    first = min(((begin - begins[0] + _WRAP // 2) % _WRAP for begin in begins), default=0)
    origin = begins[0] + first - _WRAP // 2 if begins else 0
    return [
        (card, [event._replace(begin_fs=(event.begin_fs - origin) % _WRAP) for event in events])
        for card, events in cards
    ]


def timeline(files: Iterable[Path], metadata: Mapping[str, object]) -> bytes:
    """The trace of a session's event files; time 0 is the first event's beginning.

    Each card is shown as a process with lanes for transfers, kernels and register accesses.
    """
    events: list[dict[str, object]] = []
    for process, (header, rows) in enumerate(events_of(files), start=1):
        title = f"card {header.card}: {header.board}, program {header.program} (simulated)"
        events += _names(process, title)
        events += [
            {
                "ph": "X",
                "name": name or kind,
                "cat": kind,
                "pid": process,
                "tid": _LANES.get(kind, 1),
                "ts": begin / _FS_PER_US,
                "dur": duration / _FS_PER_US,
                "args": {"bytes": moved, **_computing(computing)},
            }
            for kind, name, begin, duration, moved, computing, _ in rows
        ]
    facts = {"clock": "simulated, not hardware", "made by": "isthmus card exec", **metadata}
    return msgspec.json.encode(
        {
            "displayTimeUnit": "ns",
            "metadata": facts,
            "otherData": facts,
            "traceEvents": events,
        }
    )


def _computing(time: KernelTime | None) -> dict[str, object]:
    if time is None:
        return {}
    if not time.known:
        return {"computing": NOT_MODELLED}
    shown = {"computing_us": time.computing_fs, "memory_us": time.memory_fs}
    if time.least_fs < time.computing_fs:
        shown["least_computing_us"] = time.least_fs
    if time.most_fs > time.computing_fs:
        shown["most_computing_us"] = time.most_fs
    told: dict[str, object] = {name: value / _FS_PER_US for name, value in shown.items()}
    if time.is_estimate:
        told |= {"computing": ESTIMATE, "bound": time.bound}
    return told


def _names(process: int, title: str) -> Iterator[dict[str, object]]:
    yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": title}}
    for lane, name in _LANE_NAMES.items():
        yield {
            "ph": "M",
            "name": "thread_name",
            "pid": process,
            "tid": lane,
            "args": {"name": name},
        }


def _read(file: Path) -> tuple[Header, list[Event]] | None:
    """Returns a file's events without an incomplete last line; times wrap at 2^64 fs.

    Returns None if the program died before the shim wrote the heading.
    """
    first, *lines = file.read_text("utf-8", "replace").split("\n")
    heading = _HEADING.fullmatch(first)
    if heading is None or not lines:
        return None
    card = _HOST if heading[1] is None else int(heading[1])
    header = Header(card, heading[2] or "", int(heading[3]))
    rows = []
    facts: dict[str, KernelFacts] = {}
    for line in lines[:-1]:
        kind, name, *rest = line.split("\t")
        if kind == "facts":
            facts[name] = _kernel_facts(rest)
            continue
        begin, duration, moved, *more = rest
        event = Event(kind, name, int(begin), int(duration), int(moved))
        if kind == "kernel":
            time = _kernel_time(more) if more else None
            event = event._replace(computing=time, facts=facts.get(name))
        elif more:
            event = event._replace(facts=_transfer_facts(more))
        rows.append(event)
    return header, rows


def _transfer_facts(words: list[str]) -> TransferFacts:
    """Reads the fields that ``Device::facts_of`` writes (``emulation/xrt/src/bounds.cpp``)."""
    memory, startup, alone, one, two = words
    return TransferFacts(memory, int(startup), int(alone), float(one), float(two))


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
    """Reads the fields of a kernel's line behind its bytes (``emulation/xrt/src/meter.cpp``)."""
    how, *numbers = words[:4]
    memory, computing, least = map(int, numbers)
    if how != ESTIMATE:
        return KernelTime(how == "given", memory, computing, least)
    most, bound, sums, spared = words[4:]
    return KernelTime(
        True, memory, computing, least, int(most), bound, True, int(sums), int(spared)
    )
