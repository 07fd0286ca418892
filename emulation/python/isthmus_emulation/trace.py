"""A timeline of the cards' work as Chrome's trace events, which Perfetto opens.

Format: "Trace Event Format" of the Chromium project; times in it are microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from isthmus_emulation.computing import ESTIMATE, NOT_MODELLED

_LANES = {"write": 1, "read": 1, "copy": 1, "kernel": 2, "register": 3}
_LANE_NAMES = {1: "transfers", 2: "kernels", 3: "registers"}
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


def timeline(
    cards: Sequence[tuple[Header, Sequence[Event]]], metadata: Mapping[str, object]
) -> bytes:
    """The trace of a session's cards; time 0 is the first event's beginning.

    Each card is shown as a process with lanes for transfers, kernels and register accesses.
    """
    events: list[dict[str, object]] = []
    for process, (header, rows) in enumerate(cards, start=1):
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
