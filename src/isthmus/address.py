"""Device addresses: ``BACKEND[:SELECTOR][,key=value...][@MODE]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from isthmus.errors import UsageError


@dataclass(frozen=True)
class Address:
    """The parts of a device's address."""

    text: str
    scheme: str
    selector: str
    options: Mapping[str, str]
    mode: str

    @classmethod
    def parse(cls, text: str) -> Address:
        """Splits an address into its parts. Raises UsageError for a malformed address."""
        rest, at, mode = text.partition("@")
        if at and not mode:
            raise UsageError(f"device '{text}': nothing after '@'")
        head, *pairs = rest.split(",")
        scheme, colon, selector = head.partition(":")
        if not scheme or (colon and not selector):
            raise UsageError(f"device '{text}': write BACKEND[:SELECTOR][,key=value...][@MODE]")
        options: dict[str, str] = {}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not (key and equals and value):
                raise UsageError(f"device '{text}': '{pair}' is not key=value")
            if key in options:
                raise UsageError(f"device '{text}': '{key}' is given twice")
            options[key] = value
        return cls(text, scheme, selector, options, mode)
