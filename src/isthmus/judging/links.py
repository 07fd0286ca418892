"""Finds the link of a measured card among the links that the texts describe.

A link with a bus address belongs to the card with that address. A link without an address is used
for a card if it is the only choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from isthmus.importers.base import LinkFact, Log, Row
from isthmus.judging.judgement import UnusedLink
from isthmus.models.pcie import Link
from isthmus.references import link_of

_FROM = ("LnkSta", "xbutil examine", "nvidia-smi", "pcie-link test", "kernel log", "platform name")
"""Sources of a link within a log, the most reliable first."""
_ADDRESS = re.compile(
    r"(?:([\da-f]{4,8}):)?([\da-f]{2}:[\da-f]{2})(?:\.[\da-f])?", re.IGNORECASE
)  # fmt: skip


class Card(NamedTuple):
    """Bus address of a card, without the function: all functions of a card share its link."""

    domain: int | None
    """Domain of the bus; None if the text has none."""
    place: str
    """Bus and device: ``02:00``."""

    def is_(self, other: Card) -> bool:
        """Whether two addresses are those of one card."""
        alike = self.domain is None or other.domain is None or self.domain == other.domain
        return alike and self.place == other.place


def card(text: str) -> Card | None:
    """The card of a PCI address; None for any other text."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        return None
    return Card(int(match[1], 16) if match[1] else None, match[2].lower())


def cards_of(log: Log, rows: Sequence[Row]) -> list[Card]:
    """The cards whose copies rows are of, if the log has their bus addresses."""
    printed = {device.address: device.properties.get("pci_address", "") for device in log.devices}
    texts = (printed.get(row.device) or row.device.partition(":")[2] for row in rows)
    return list(dict.fromkeys(filter(None, map(card, texts))))


def fact_of(logs: Sequence[Log], cards: Sequence[Card]) -> LinkFact | None:
    """The link of these cards in the logs; None if no described link is certainly theirs."""
    facts = [fact for log in logs for fact in log.links]
    own = [fact for fact in facts if _is_of(fact, cards)]
    if not own or _without_fact(cards, own):  # links by address are used only if each card has one
        facts = [
            candidate
            for candidate in facts
            if not card(candidate.device) or (not cards and candidate.accelerator)
        ]
        links = {(fact.generation, fact.lanes) for fact in facts}
        devices = {card(fact.device) or fact.device for fact in facts}
        own = facts if len(links) == 1 or len(devices) == 1 else []
    return min(own, key=_order, default=None)


def _is_of(fact: LinkFact, cards: Sequence[Card]) -> bool:
    described = card(fact.device)
    return described is not None and any(described.is_(card_) for card_ in cards)


def _without_fact(cards: Sequence[Card], facts: Sequence[LinkFact]) -> list[Card]:
    """Cards whose link no fact describes."""
    return [card_ for card_ in cards if not any(_is_of(fact, [card_]) for fact in facts)]


def _order(fact: LinkFact) -> tuple[int, float]:
    """Sort key: the most reliable source first, then the fastest link, an upper bound for GPUs."""
    link = under_load(fact)
    return _FROM.index(fact.said_by), -link.raw if link else 0.0


def under_load(fact: LinkFact) -> Link | None:
    """The link under load, if the device lowers its generation to save power; else None."""
    generation = fact.capable[0] if fact.idle and fact.capable else fact.generation
    return link_of(generation, fact.lanes)


def unused(
    described: Log, measured: Sequence[tuple[Log, Sequence[Row]]], logs: Sequence[Log]
) -> Iterator[UnusedLink]:
    """Yields a text if it describes links, but not the link of each measured card.

    ``measured``: logs whose devices the text may describe, each with its rows of copies between
    host and device. ``logs``: all texts that may describe the cards.
    """
    facts = [fact for fact in described.links if card(fact.device)]
    if described.rows or not facts or not any(rows for _, rows in measured):
        return
    cards = list(dict.fromkeys(card_ for log, rows in measured for card_ in cards_of(log, rows)))
    likely = [fact for fact in facts if fact.accelerator]
    if cards:
        missing = _without_fact(cards, facts)
        if len(missing) < len(cards):  # another text may describe the other cards
            missing = _without_fact(missing, [fact for log in logs for fact in log.links])
        if missing:
            yield _unused(described, facts, missing)
    elif len({(fact.generation, fact.lanes) for fact in likely}) != 1 and (
        len({card(fact.device) for fact in likely}) != 1
    ):
        yield _unused(described, likely or facts, [])


def _unused(described: Log, facts: Sequence[LinkFact], missing: Sequence[Card]) -> UnusedLink:
    shown = list(dict.fromkeys(fact.device.lower() for fact in facts))
    places = list(dict.fromkeys(link.place for link in missing))
    accelerators = any(fact.accelerator for fact in facts)
    return UnusedLink(described.tool, described.file, shown, places, accelerators)
