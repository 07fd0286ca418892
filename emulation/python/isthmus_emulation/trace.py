"""Writes a timeline of the cards' work as Chrome's trace events, which Perfetto opens.

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
    """Heading of a file of events: one card in its use by one program."""

    card: int
    board: str
    program: int


class LoopChange(NamedTuple):
    """A change of a kernel's source, and what it saves in a run."""

    kind: str
    name: str
    """Variable or arguments that change."""
    number: int
    """Number that the change needs, such as that of partial sums; 0: none."""
    saved_fs: int
    """Femtoseconds that the run takes less; below 0: more."""
    bytes: int
    """Bytes that the run moves with the change."""


class KernelTime(NamedTuple):
    """Parts of the time of a kernel's run, in femtoseconds."""

    known: bool
    """Whether the computing time is given or estimated; else only memory takes time."""
    memory_fs: int
    computing_fs: int
    least_fs: int
    """Lower end of the computing time if that is a range: less than ``computing_fs``."""
    most_fs: int = 0
    """Upper end of an estimate if that is a range: more than ``computing_fs``."""
    bound: str = ""
    """Loop that takes most of an estimate; empty without an estimate."""
    is_estimate: bool = False
    first_words_fs: int = 0
    """Time of an estimate in which loops wait for memory's first word."""
    changes: tuple[LoopChange, ...] = ()
    """Changes of the kernel's source, of which some may save nothing."""


class TransferFacts(NamedTuple):
    """A single transfer's parameters in the card's model; times in femtoseconds."""

    memory: str
    startup_fs: int
    """Time of a transfer of one byte: driver, doorbell, latency and interrupt."""
    alone_fs: int
    beside_in_one: float
    """Share of the rate that remains beside the other direction in the same memory bank."""
    beside_in_two: float
    """Share of the rate that remains if the other direction uses another bank."""


class Port(NamedTuple):
    """Bytes that a kernel's run moves in one direction between an argument and a memory."""

    argument: str
    memory: str
    writes: bool
    bytes: int
    address: int
    """Address of the argument's buffer; 0: unknown."""


class KernelFacts(NamedTuple):
    """A kernel run's parameters in the card's model; times in femtoseconds."""

    elements_fs: int
    """Time of the busiest port at one element a clock."""
    memory_fs: int
    apart_fs: int
    """Memory's time if each port had its own bank."""
    host_fs: int
    """Memory's time if all data lay in host memory; 0 if kernels cannot access host memory."""
    ports: tuple[Port, ...]


class Event(NamedTuple):
    """Work of a card; times in femtoseconds since the begin of the first event."""

    kind: str
    """``write``, ``read``, ``copy``, ``kernel``, ``register``, ``pin``, ``program``."""
    name: str
    begin_fs: int
    duration_fs: int
    bytes: int
    computing: KernelTime | None = None
    """Computing time of a kernel whose time is unknown, given or estimated; else None."""
    facts: TransferFacts | KernelFacts | None = None
    """Parameters of the card's model; None if no data move, or if the model is random."""

    @property
    def changes(self) -> tuple[LoopChange, ...]:
        """Changes of the kernel's source, with what each saves in this run."""
        return self.computing.changes if self.computing else ()


def timeline(
    cards: Sequence[tuple[Header, Sequence[Event]]], metadata: Mapping[str, object]
) -> bytes:
    """Returns the trace of a session's cards; time 0 is the begin of the first event.

    Each card becomes a process with lanes for transfers, kernels and register accesses.
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
    arguments: dict[str, object] = {name: value / _FS_PER_US for name, value in shown.items()}
    if time.is_estimate:
        arguments |= {"computing": ESTIMATE, "bound": time.bound}
    return arguments


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
