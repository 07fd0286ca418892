"""Finds the resource that bounds a program on emulated cards, and the gain of possible changes.

An item is a run of the kernel with the most work. The times of a region are divided by its items.
The model of ``isthmus advise --job`` (``isthmus.models.pipeline``) computes the time of an item for
the present program, and for each change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isthmus.boards import Board
from isthmus.models import pipeline
from isthmus_emulation import changes
from isthmus_emulation.event_files import Events
from isthmus_emulation.part import KINDS, Part, union
from isthmus_emulation.region import Region
from isthmus_emulation.trace import Event


def regions(session: Events, boards: Sequence[Board]) -> list[Region]:
    """Returns the regions of each card that moves data or runs kernels.

    ``boards`` are in the order of the cards' numbers.
    """
    found_regions = []
    for header, events in session.cards:
        work = [event for event in events if event.kind in KINDS and _counts(event)]
        for name, begin, end in _parts(work, session.host):
            within = [event for event in work if begin <= event.begin_fs < end]
            length = session.read_fs(begin, end)
            if length and any(event.kind != "launch" for event in within):
                host = _within(session.host, begin, end)
                pins = (e for e in events if e.kind == "pin" and begin <= e.begin_fs < end)
                whole = begin if not name and session.share == 1 else None
                part = Part([*within, *pins], host, length, boards[header.card], whole)
                found_regions.append(_region(part, header.card, name, (end - begin) / length))
    return found_regions


def _counts(event: Event) -> bool:
    """Whether an event takes time, or is a run of a kernel; an empty kernel takes no time."""
    return event.kind == "kernel" or event.duration_fs > 0


def _within(host: Sequence[Event], begin: int, end: int) -> list[Event]:
    """Returns the host's events in a region; a call belongs to the computing that precedes it."""
    return [event for event in host if begin <= event.begin_fs - (event.kind == "call") < end]


def _parts(work: Sequence[Event], host: Sequence[Event]) -> Iterator[tuple[str, int, int]]:
    """Yields name, begin and end of each region; without marks one region with all work."""
    if not work:
        return
    # An empty kernel may begin when all other events have ended.
    last = 1 + max(event.begin_fs + event.duration_fs for event in work)
    marks = [event for event in host if event.kind == "region"]
    if not marks:
        yield "", min(event.begin_fs for event in work), last
    for index, mark in enumerate(marks):
        end = marks[index + 1].begin_fs if marks[index + 1 :] else last
        if end > mark.begin_fs:
            yield mark.name, mark.begin_fs, end


def _region(part: Part, card: int, name: str, whole: float) -> Region:
    """Returns what bounds a part; the region lasts ``whole`` times as long as the part."""
    bank, bank_s = part.bank()
    shares = {KINDS[kind]: union(some) / part.length for kind, some in part.of.items()}
    shares |= {"bank": min(1.0, bank_s * part.items / part.length)}
    shares |= {"host": max(0.0, 1 - part.busy / part.length)}
    moves = part.stages.into, part.stages.out
    moved = sum(move.fixed + move.data for move in moves)
    kernels = [changes.bound(part, name, runs) for name, runs in part.runs.items()]
    return Region(
        card=card,
        name=name,
        seconds=part.length * whole,
        items=round(part.items * whole),
        share_read=1 / whole,
        shares=shares,
        bank=bank,
        bank_s=bank_s,
        way=part.way,
        order=part.order,
        buffer_sets=part.buffer_sets,
        modelled_s=part.modelled * whole,
        limit=max(
            pipeline.limit(part.stages),
            pipeline.Limit("bank", bank_s),
            key=lambda limit: limit.seconds,
        ),
        alone_s=part.stages.serial,
        moves_s=part.stages.serial - part.stages.launch - part.stages.kernel,
        kernel_s=part.stages.kernel,
        startup=sum(move.fixed for move in moves) / moved if moved else 0.0,
        computed_s=part.computed,
        copied_s=part.copied,
        kernels=tuple(sorted(kernels, key=lambda kernel: -kernel.run_s * kernel.runs)),
        changes=tuple(changes.of(part)),
    )
