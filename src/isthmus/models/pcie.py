"""The PCIe link's limit, in closed form (PCI Express Base Specification, sections 2.2 and 4.2)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_ENCODING_8B10B = 0.8
_ENCODING_128B130B = 128 / 130
_FASTEST_8B10B = 5.0
_WRITE_OVERHEAD = 24
"""Bytes around a memory write's payload: framing and LCRC 8 (with the sequence number), header 16
(64-bit addresses)."""


@dataclass(frozen=True)
class Link:
    """A trained link."""

    gigatransfers: float
    """GT/s of one lane: 2.5, 5, 8, 16 or 32."""
    lanes: int

    @property
    def raw(self) -> float:
        """Bytes a second and direction after line encoding: what no payload can exceed."""
        encoding = _ENCODING_8B10B if self.gigatransfers <= _FASTEST_8B10B else _ENCODING_128B130B
        return self.gigatransfers * 1e9 * encoding * self.lanes / 8

    def payload(self, max_payload: int = 256) -> float:
        """Bytes a second and direction left for the data of memory writes of ``max_payload``."""
        return self.raw * max_payload / (max_payload + _WRITE_OVERHEAD)


def link_of(attributes: Mapping[str, str]) -> Link | None:
    """Fastest link of what sysfs says; None if unknown.

    Its speed is ``max_link_speed``: devices that save power train down while idle, and up again
    under load. Its width is ``current_link_width``: lanes that are missing stay missing.
    """
    told = attributes.get("max_link_speed") or attributes.get("current_link_speed", "")
    speed = re.match(r"([0-9.]+) GT/s", told)
    width = attributes.get("current_link_width", "")
    if not speed or not width.isdecimal() or int(width) == 0:
        return None
    return Link(float(speed[1]), int(width))
