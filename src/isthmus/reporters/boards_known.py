"""The boards that ``isthmus judge`` knows, with the source of each figure."""

from __future__ import annotations

from collections.abc import Iterator

from isthmus.columns import wrapped
from isthmus.references import Known, Reference, boards
from isthmus.reporters.judged_sentences import KINDS, WAYS


def board_lines() -> Iterator[str]:
    """For each board its name, and below it link, memory and known rates."""
    for one in boards().values():
        yield from wrapped(f"{one.name}: {one.title}")
        for what, source in _figures(one):
            yield from wrapped(f"{what} ({source})", "  ", "    ")
    yield from wrapped("These are the names for --board; a .toml file is your own board.")


def _figures(one: Reference) -> Iterator[tuple[str, str]]:
    """Each figure with its source."""
    if one.link.pcie:
        others = "".join(f", or {other}" for other in one.link.others)
        yield f"link {one.link.pcie}{others}", one.link.source
    elif one.link.GBps:
        yield f"link {one.link.name}, {one.link.GBps:g} GB/s each direction", one.link.source
    if one.memory:
        most = f" to {one.memory.most_GBps:g}" if one.memory.most_GBps else ""
        yield f"memory {one.memory.name}, {one.memory.GBps:g}{most} GB/s", one.memory.source
    for peer in one.peers:
        yield f"between two: {peer.name}, {peer.GBps:g} GB/s each direction", peer.source
    for known in one.known:
        yield _known(known), known.cited


def _known(known: Known) -> str:
    low, high = f"{known.low:g}", f"{known.high:g}"
    rate = low if known.low == known.high else f"{low} to {high}"
    words = f"{KINDS[known.quantity]} {WAYS[known.direction]}".strip()
    engine = {"ce": "copy engine", "sm": "SM", "": ""}[known.engine]
    details = [engine, known.memory, known.size, known.link]
    return ", ".join(filter(None, (words, *details))) + f": {rate} {known.unit}"
