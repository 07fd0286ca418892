"""Finds the limit of a group of rows: from the user's options, the log, or the board."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from isthmus.importers.base import LinkFact
from isthmus.judging import links
from isthmus.judging.judgement import Group, Limit, LimitBy
from isthmus.models.pcie import Link
from isthmus.references import Reference, link_of
from isthmus.references import link as parsed_link

FASTEST_LINK = parsed_link("gen6x16")
"""The fastest link of all known boards."""
_FILLED = (0.75, 0.97)
"""Least and largest share of a link's raw rate at which a copy counts as filling the link."""
_WITHIN_HOSTS_FIRST = 2
"""Largest ratio of a collective's bus rate to the rate of a host's ports: see ``of_ports``."""


def of_link(
    fact: LinkFact | None, board: Reference | None, user: Link | None, ways: int
) -> Limit | None:
    """Limit of a copy between host and device; ``fact``: the log's description of the link."""
    if user:
        return _pcie(user, "as --link says", ways, fact, "link option")
    if fact and (link := links.under_load(fact)):
        return _pcie(link, f"{fact.said_by}, {fact.place}", ways, fact, "log")
    if board and board.link.GBps:
        value = ways * board.link.GBps * 1e9
        return Limit(value, value, board.link.name, board.link.source, by="board")
    if board and board.link.pcie:
        source = f"{board.title}; the log does not say it"
        return _pcie(parsed_link(board.link.pcie), source, ways, None, "board")
    return None


def ceiling(board: Reference | None, engines: Sequence[Reference], ways: int) -> Limit | None:
    """Limit of a copy over an unknown link: the rate that no link of these engines exceeds."""
    if board and board.link.GBps:
        return None
    fastest = [parsed_link(name) for engine in engines for name in engine.link.fastest]
    source = next((f"{e.title}: {e.link.source}" for e in engines if e.link.fastest), "")
    best = max(fastest, key=lambda link: link.raw, default=None)
    if best is None:
        return _pcie(FASTEST_LINK, "the fastest PCIe there is", ways, None, "engine")
    return _pcie(best, source, ways, None, "engine")


def only_link(engines: Sequence[Reference], rate: float, ways: int) -> Limit | None:
    """The limit by the only link of an engine that can carry a rate; None if others can, too."""
    for engine in engines:
        fastest = [parsed_link(name) for name in engine.link.fastest]
        most = max((link.raw for link in fastest), default=0.0)
        if most and len({round(link.raw) for link in fastest}) == 1 and most / 2 < rate <= most:
            names = " or ".join(link.name for link in fastest)
            source = f"nothing less carries it, and {engine.title.partition(' (')[0]} has no faster"
            limit = _pcie(fastest[0], source, ways, None, "engine")
            return replace(limit, name=f"PCIe {names}")
    return None


def _pcie(link: Link, source: str, ways: int, fact: LinkFact | None, by: LimitBy) -> Limit:
    payload = fact.max_payload if fact and fact.max_payload else 256
    value, raw = ways * link.payload(payload), ways * link.raw
    return Limit(value, raw, f"PCIe {link.name}", source, fact, by, pcie=True)


def of_memory(board: Reference | None) -> Limit | None:
    """Limit of kernels on the device's own memory; None if the board does not state it."""
    if board is None or board.memory is None:
        return None
    value = board.memory.GBps * 1e9
    most = max(value, board.memory.most_GBps * 1e9)
    return Limit(value, most, board.memory.name, board.memory.source)


def of_copies_within(board: Reference | None) -> Limit | None:
    """Limit of a copy within a GPU's memory, which reads and writes each byte."""
    limit = of_memory(board)
    if limit is None:
        return None
    name = f"{limit.name}, read and written"
    return replace(limit, value=limit.value / 2, raw=limit.raw / 2, name=name)


def of_peers(board: Reference | None, rate: float) -> Limit | None:
    """Limit between two devices: the board's slowest connection that can carry the rate."""
    if board is None or not board.peers:
        return None
    ways = sorted(board.peers, key=lambda peer: peer.GBps)
    chosen = next((peer for peer in ways if peer.GBps * 1e9 >= rate), ways[-1])
    value = chosen.GBps * 1e9
    return Limit(value, ways[-1].GBps * 1e9, chosen.name, chosen.source)


def of_port(gigabits: float, ways: int) -> Limit:
    """Limit by a network port with the rate that the user gives."""
    value = ways * gigabits * 1e9 / 8
    name = f"{gigabits:g} Gb/s port"
    return Limit(value, value, name, "as --link says", by="link option")


def of_ports(gigabits: float) -> Limit:
    """Limit of a collective between hosts: all ports of a host, with the rate that the user gives.

    The bus rate assumes one ring through all ranks. A collective that first works within each host
    sends less between hosts: with N hosts of k ranks, (1 - 1/(Nk)) / (1 - 1/N) times less. This
    factor is below 2 for two or more hosts.
    """
    value = gigabits * 1e9 / 8
    name = f"{gigabits:g} Gb/s of ports of a host"
    most = _WITHIN_HOSTS_FIRST * value
    return Limit(value, most, name, "as --link says", by="link option")


def lesser_links(rate: float, limit: Limit) -> list[str]:
    """Names of links slower than the limit that the rate would fill: ``gen3 x1``."""
    names = []
    least, most = _FILLED
    for generation in (1, 2, 3, 4):
        for lanes in (1, 2, 4, 8, 16):
            link = link_of(generation, lanes)
            if link and link.raw < limit.raw and least <= rate / link.raw <= most:
                names.append(link.name)
    return names


def ways_of(group: Group) -> int:
    """Number of directions whose rates a group's figure adds up."""
    return 2 if group.direction == "both" else 1
