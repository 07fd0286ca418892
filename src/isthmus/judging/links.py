"""Which of the links that the texts describe is that of a measured card.

A link that names a bus address counts for the card with that address. For a card without an address
it counts where the text leaves no choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from isthmus.importers.base import LinkFact, Log, Row
from isthmus.judging.judgement import UnusedLink
from isthmus.models.pcie import Link
from isthmus.references import link_of

_SAID = ("LnkSta", "xbutil examine", "nvidia-smi", "pcie-link test", "kernel log", "platform name")
"""Sources of a link within a log, the surest first."""
_ADDRESS = re.compile(
    r"(?:([\da-f]{4,8}):)?([\da-f]{2}:[\da-f]{2})(?:\.[\da-f])?", re.IGNORECASE
)  # fmt: skip


class Card(NamedTuple):
    """The bus address of a card, without the function: all functions share the card's link."""

    domain: int | None
    """None where it is not said."""
    place: str
    """Bus and device: ``02:00``."""

    def is_(self, other: Card) -> bool:
        """Whether two addresses are of one card."""
        alike = self.domain is None or other.domain is None or self.domain == other.domain
        return alike and self.place == other.place


def card(text: str) -> Card | None:
    """The card of a PCI address; None for any other text."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        return None
    return Card(int(found[1], 16) if found[1] else None, found[2].lower())


def cards_of(log: Log, rows: Sequence[Row]) -> list[Card]:
    """The cards that rows are of, as far as the log has their bus addresses."""
    printed = {one.address: one.properties.get("pci_address", "") for one in log.devices}
    texts = (printed.get(row.device) or row.device.partition(":")[2] for row in rows)
    return list(dict.fromkeys(filter(None, map(card, texts))))


def fact_of(logs: Sequence[Log], cards: Sequence[Card]) -> LinkFact | None:
    """What the logs say of the link of cards; None where it is not said, or of which card."""
    facts = [fact for log in logs for fact in log.links]
    own = [fact for fact in facts if _is_of(fact, cards)]
    if not own or _without_fact(cards, own):  # of several GPUs each must have its link
        facts = [one for one in facts if not card(one.device) or (not cards and one.accelerator)]
        links = {(fact.generation, fact.lanes) for fact in facts}
        devices = {card(fact.device) or fact.device for fact in facts}
        own = facts if len(links) == 1 or len(devices) == 1 else []
    return min(own, key=_order, default=None)


def _is_of(fact: LinkFact, cards: Sequence[Card]) -> bool:
    found = card(fact.device)
    return found is not None and any(found.is_(one) for one in cards)


def _without_fact(cards: Sequence[Card], facts: Sequence[LinkFact]) -> list[Card]:
    """Cards whose link no fact is of."""
    return [one for one in cards if not any(_is_of(fact, [one]) for fact in facts)]


def _order(fact: LinkFact) -> tuple[int, float]:
    """The surest source first; of several GPUs the fastest link, which none of them exceeds."""
    link = under_load(fact)
    return _SAID.index(fact.said_by), -link.raw if link else 0.0


def under_load(fact: LinkFact) -> Link | None:
    """The link under load: a device that saves power raises its generation then."""
    generation = fact.capable[0] if fact.idle and fact.capable else fact.generation
    return link_of(generation, fact.lanes)


def unused(
    described: Log, measured: Sequence[tuple[Log, Sequence[Row]]], logs: Sequence[Log]
) -> Iterator[UnusedLink]:
    """Cards that a text with bus addresses does not describe, though other texts do not either.

    ``measured``: logs that the text describes, each with its rows of copies to and from the host.
    ``logs``: all that may describe the cards.
    """
    facts = [fact for fact in described.links if card(fact.device)]
    if described.rows or not facts or not any(rows for _, rows in measured):
        return
    cards = list(dict.fromkeys(one for log, rows in measured for one in cards_of(log, rows)))
    likely = [fact for fact in facts if fact.accelerator]
    if cards:
        missing = _without_fact(cards, facts)
        if len(missing) < len(cards):  # another text may describe the rest
            missing = _without_fact(missing, [fact for log in logs for fact in log.links])
        if missing:
            yield _unused(described, facts, missing)
    elif len({(one.generation, one.lanes) for one in likely}) != 1 and (
        len({card(one.device) for one in likely}) != 1
    ):
        yield _unused(described, likely or facts, [])


def _unused(described: Log, facts: Sequence[LinkFact], missing: Sequence[Card]) -> UnusedLink:
    shown = list(dict.fromkeys(fact.device.lower() for fact in facts))
    places = list(dict.fromkeys(one.place for one in missing))
    accelerators = any(fact.accelerator for fact in facts)
    return UnusedLink(described.tool, described.file, shown, places, accelerators)
