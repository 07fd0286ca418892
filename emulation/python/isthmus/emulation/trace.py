"""A timeline of the cards' work as Chrome's trace events, which Perfetto opens.

Format: "Trace Event Format" of the Chromium project; times in it are microseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from isthmus.emulation.computing import ESTIMATE, NOT_MODELLED

_HEADING = re.compile(r"# card (\d+) board (.*) program (\d+)")
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


def events_of(files: Iterable[Path]) -> list[tuple[Header, list[Event]]]:
    """The events of a session's cards."""
    cards = [card for card in map(_read, files) if card is not None]
    begins = [event.begin_fs for _, events in cards for event in events]
    # Times wrap; all are less than half a turn from any of them.
    first = min(((begin - begins[0] + _WRAP // 2) % _WRAP for begin in begins), default=0)
    origin = begins[0] + first - _WRAP // 2 if begins else 0
    return [
        (card, [event._replace(begin_fs=(event.begin_fs - origin) % _WRAP) for event in events])
        for card, events in cards
    ]


def timeline(files: Iterable[Path], **metadata: str) -> bytes:
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
            for kind, name, begin, duration, moved, computing in rows
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
    """Events with times of the page; without a last line that was cut.

    None where the device process died before its heading was written.
    """
    first, *lines = file.read_text("utf-8", "replace").split("\n")
    heading = _HEADING.fullmatch(first)
    if heading is None or not lines:
        return None
    header = Header(int(heading[1]), heading[2], int(heading[3]))
    rows = []
    for line in lines[:-1]:
        kind, name, begin, duration, moved, *more = line.split("\t")
        time = _kernel_time(more) if more else None
        rows.append(Event(kind, name, int(begin), int(duration), int(moved), time))
    return header, rows


def _kernel_time(words: list[str]) -> KernelTime:
    """The words of ``emulation/xrt/src/meter.cpp`` behind a kernel's bytes."""
    how, *numbers = words[:4]
    memory, computing, least = map(int, numbers)
    if how != ESTIMATE:
        return KernelTime(how == "given", memory, computing, least)
    most, bound = words[4:]
    return KernelTime(True, memory, computing, least, int(most), bound, is_estimate=True)
