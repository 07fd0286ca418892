"""Lists the boards that ``isthmus judge`` knows, with the source of each figure."""

from __future__ import annotations

from collections.abc import Iterator

from isthmus.columns import wrapped
from isthmus.references import Known, Reference, boards
from isthmus.reporters.judged_sentences import KINDS, WAYS


def board_lines() -> Iterator[str]:
    """Yields the name of each board, and below the name its link, memory and known rates."""
    for reference in boards().values():
        yield from wrapped(f"{reference.name}: {reference.title}")
        for what, source in _figures(reference):
            yield from wrapped(f"{what} ({source})", "  ", "    ")
    yield from wrapped("These are the names for --board; a .toml file is your own board.")


def _figures(reference: Reference) -> Iterator[tuple[str, str]]:
    if reference.link.pcie:
        others = "".join(f", or {other}" for other in reference.link.others)
        yield f"link {reference.link.pcie}{others}", reference.link.source
    elif reference.link.GBps:
        yield (
            f"link {reference.link.name}, {reference.link.GBps:g} GB/s each direction",
            reference.link.source,
        )
    if reference.memory:
        most = f" to {reference.memory.most_GBps:g}" if reference.memory.most_GBps else ""
        yield (
            f"memory {reference.memory.name}, {reference.memory.GBps:g}{most} GB/s",
            reference.memory.source,
        )
    for peer in reference.peers:
        yield f"between two: {peer.name}, {peer.GBps:g} GB/s each direction", peer.source
    for rate in reference.known:
        yield _known(rate), rate.cited


def _known(rates: Known) -> str:
    low, high = f"{rates.low:g}", f"{rates.high:g}"
    rate = low if rates.low == rates.high else f"{low} to {high}"
    words = f"{KINDS[rates.quantity]} {WAYS[rates.direction]}".strip()
    engine = {"ce": "copy engine", "sm": "SM", "": ""}[rates.engine]
    details = [engine, rates.memory, rates.size, rates.link]
    return ", ".join(filter(None, (words, *details))) + f": {rate} {rates.unit}"
