"""The PCIe link's limit, in closed form (PCI Express Base Specification, sections 2.2 and 4.2)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from isthmus.boards.board import Board
from isthmus.models.base import Figure, Model, Option

_GIGATRANSFERS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
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
    def name(self) -> str:
        """``gen5 x16``."""
        known = {rate: number for number, rate in _GIGATRANSFERS.items()}
        return f"gen{known.get(self.gigatransfers, '?')} x{self.lanes}"

    @property
    def raw(self) -> float:
        """Bytes a second and direction after line encoding: what no payload can exceed."""
        encoding = _ENCODING_8B10B if self.gigatransfers <= _FASTEST_8B10B else _ENCODING_128B130B
        return self.gigatransfers * 1e9 * encoding * self.lanes / 8

    def payload(self, max_payload: int = 256) -> float:
        """Bytes a second and direction left for the data of memory writes of ``max_payload``."""
        return self.raw * max_payload / (max_payload + _WRITE_OVERHEAD)


def link_of(attributes: Mapping[str, str]) -> Link | None:
    """Narrowest link on the way to a device, at its fastest, of a run's record; None if unknown.

    Where the record has the device's own end alone, its speed is ``max_link_speed``: devices that
    save power train down while idle, and up again under load. Its width is ``current_link_width``:
    lanes that are missing stay missing.
    """
    speed_text = (
        attributes.get("path_link_speed")
        or attributes.get("max_link_speed")
        or attributes.get("current_link_speed", "")
    )
    speed = re.match(r"([0-9.]+) GT/s", speed_text)
    width = attributes.get("path_link_width") or attributes.get("current_link_width", "")
    if not speed or not width.isdecimal() or int(width) == 0:
        return None
    return Link(float(speed[1]), int(width))


_REQUEST = {32: 20, 64: 24}
"""Bytes on the wire of a read request, and around a write's data, by address bits."""
_COMPLETION = 20
"""Bytes around a completion's data: framing, LCRC, sequence number, header 12."""
_HEADER = 16
"""Bytes that the card's interface carries before a packet's data."""


@dataclass(frozen=True)
class Path:
    """A link with the card's interface to it; rates in bytes a second, times in seconds.

    Source: PCI Express Base Specification, sections 2.2 (packets), 3.6 (acknowledgements), 4.2
    (encoding, SKP sets); AMD PG213 for the interface without straddle.
    """

    link: Link
    max_payload: int
    max_read_request: int
    request: int
    """Bytes of a read request, and around a write's data."""
    acknowledged: float
    """Bytes on the opposite direction for each byte on the wire."""
    bus_bytes: int
    bus_hertz: float
    straddle: bool

    @property
    def byte_s(self) -> float:
        """One byte on the wire: 8 / (GT/s x encoding x lanes), with SKP sets between."""
        encoded_8b10b = self.link.gigatransfers <= _FASTEST_8B10B
        return (1 + 4 / 1538 if encoded_8b10b else 1 + 1 / 371) / self.link.raw

    def write_s(self, size: float) -> float:
        """A posted write of ``size`` bytes on the wire."""
        return (size + self.request) * self.byte_s

    def request_s(self) -> float:
        """A read request on the wire."""
        return self.request * self.byte_s

    def completions_s(self, size: int) -> float:
        """The completions of a read of ``size`` bytes, split at the payload limit."""
        return (size + -(-size // self.max_payload) * _COMPLETION) * self.byte_s

    def bus_s(self, size: float) -> float:
        """A packet of ``size`` bytes through the card's interface: (n + 16) / W cycles."""
        beats = (size + _HEADER) / self.bus_bytes
        return (beats if self.straddle else math.ceil(beats)) / self.bus_hertz

    def answer_s(self, size: int) -> float:
        """The completions of a read, until the last is through the card's interface."""
        whole, rest = divmod(size, self.max_payload)
        bus = whole * self.bus_s(self.max_payload) + (self.bus_s(rest) if rest else 0.0)
        return max(self.completions_s(size), bus)

    def bus_rate(self) -> float:
        """What the card's interface takes or gives: n in the time of one packet, n = MPS."""
        return self.max_payload / self.bus_s(self.max_payload)

    def writes(self) -> float:
        """Rate of posted writes of full payload, bare link: MPS / ((MPS + 24) byte time)."""
        return self.max_payload / self.write_s(self.max_payload)

    def reads(self) -> float:
        """Rate of completions of full requests, bare link."""
        return self.max_read_request / self.completions_s(self.max_read_request)

    def both(self) -> float:
        """Rate of each direction when the card reads and writes equally fast.

        Beside its data each wire carries the read requests (on the writes' direction) and the
        acknowledgements of the other direction.
        """
        write = 1 + self.request / self.max_payload
        read = 1 + _COMPLETION / min(self.max_payload, self.max_read_request)
        read_requests = self.request / self.max_read_request
        upstream = write + read_requests + self.acknowledged * read
        downstream = read + self.acknowledged * (write + read_requests)
        return 1 / (self.byte_s * max(upstream, downstream))


def path_of(board: Board) -> Path:
    """The link of a board and the card's interface to it."""
    return Path(
        Link(_GIGATRANSFERS[board.whole("link.generation")], board.whole("link.lanes")),
        board.whole("link.max_payload_bytes"),
        board.whole("link.max_read_request_bytes"),
        _REQUEST[board.whole("link.address_bits")],
        board.number("link.acknowledge_bytes") / board.number("link.acknowledge_every_bytes"),
        board.whole("link.user_bus_bytes"),
        board.hertz("link.user_clock_MHz"),
        bool(board.value("link.straddle")),
    )


def predict(board: Board, _inputs: Mapping[str, float]) -> list[Figure]:
    """What the link and the card's interface leave for data."""
    path = path_of(board)
    write, read, bus = path.writes(), path.reads(), path.bus_rate()
    return [
        Figure("raw", path.link.raw, "B/s", note="after line encoding"),
        Figure("writes on the wire", write, "B/s", note="card to host, or CPU to card"),
        Figure("reads on the wire", read, "B/s", note="completions, host to card"),
        Figure("card's interface", bus, "B/s", note="each direction"),
        Figure("card to host", min(write, bus), "B/s"),
        Figure("host to card", min(read, bus), "B/s", note="with enough requests in flight"),
        Figure(
            "both at once",
            2 * min(path.both(), bus),
            "B/s",
            note="sum of both directions, less each other's requests",
        ),
        Figure("64 B stores", 64 / path.write_s(64), "B/s", note="write combining"),
    ]


MODEL = Model(
    "pcie",
    "what a PCIe link leaves for data",
    predict,
    default_board="generic-gen5x16",
    options=(
        Option("gen", "", "PCIe generation", parameter="link.generation"),
        Option("lanes", "", "width", parameter="link.lanes"),
        Option("mps", "B", "largest payload", parameter="link.max_payload_bytes"),
        Option("mrrs", "B", "largest read request", parameter="link.max_read_request_bytes"),
    ),
    closed_forms={"raw link": lambda b: path_of(b).link.raw},
)
