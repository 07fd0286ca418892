"""Inserts counters of loops into a preprocessed source without adding lines."""

from __future__ import annotations

from collections.abc import Iterable

from isthmus_emulation.estimate.reader import Counter
from isthmus_emulation.estimate.regions import Insertion

KERNEL = 0
"""Number of the counter of the kernel's function."""


def counted(text: bytes, counters: Iterable[Counter], regions: Iterable[Insertion]) -> bytes:
    """Returns the source with these counters in its loops, and with processes in its regions.

    ``isthmus/card/loop_counts.hpp`` defines the classes of the counters.
    """
    inserted = [(item.at, item.order, item.words.encode()) for item in regions]

    def insert(at: int, order: int, words: str) -> None:
        inserted.append((at, order, words.encode()))

    for item in counters:
        name = f"isthmus_n{item.number}"
        count = f" ++{name}.times; "
        if item.number == KERNEL:
            insert(item.body, 0, f" isthmus_loop {name}(0); {count}")
            continue
        insert(item.begin, -1, f"{{ isthmus_loop {name}({item.number}); ")
        if item.body_is_block:
            insert(item.body + 1, 0, count)
        else:
            insert(item.body, -3, f"{{{count}")
            insert(item.end, -1, " }")
        insert(item.end, 1, " }")
    pieces, done = [], 0
    for at, _, words in sorted(inserted, key=lambda item: item[:2]):
        pieces += [text[done:at], words]
        done = at
    return b"".join([*pieces, text[done:]])
