"""Predicts rates of data on a PCIe link (PCI Express Base Specification, sections 2.2 and 4.2)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from isthmus.boards.board import Board
from isthmus.models.base import Figure, Model, Option

_GIGATRANSFERS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""GT/s of one lane by generation of PCIe."""

COMPLETION_HEADER = 12
"""Bytes of a completion's header. FLITs do not change the size of headers of whole dwords."""
FIRST_64_BIT = 1 << 32
"""Address from which requests need the longer header with 64-bit addresses."""


def around(flits: bool) -> int:
    """Bytes around a packet: 4 of framing and sequence number, 4 of LCRC; 0 in FLITs.

    A FLIT's checksum and sequence number serve all packets in it (sections 3.6 and 4.2.3).
    """
    return 0 if flits else 8


def request_header(address: int) -> int:
    """Bytes of a memory request's header: 12, or 16 above the first 4 GiB."""
    return 16 if address >= FIRST_64_BIT else 12


class Coding(NamedTuple):
    """How a lane's bits become bytes of transaction layer packets (TLPs)."""

    share: Fraction
    """Bytes of TLPs over all bits of the lanes divided by 8, without SKP ordered sets."""
    clock_compensation: float
    """Ratio of times, with over without SKP ordered sets (clock compensation)."""
    flits: bool
    """Whether TLPs travel in FLITs, which carry checksums and acknowledgements for all TLPs."""


_CODINGS = (
    (5.0, Coding(Fraction(8, 10), 1 + 4 / 1538, flits=False)),
    (32.0, Coding(Fraction(128, 130), 1 + 1 / 371, flits=False)),
    (math.inf, Coding(Fraction(236, 256), 1.0, flits=True)),
)
"""Highest GT/s of each coding, and the coding: 8b/10b, 128b/130b, 1b/1b in FLITs.

Source: PCI Express Base Specification, section 4.2. A FLIT (revision 6.0) has 256 B: 236 of TLPs, 6
of data link packets, 8 of CRC, 6 of error correction. SKP sets of a FLIT link are not counted,
because their interval was not available; at 32 GT/s they take 0.3 %."""


@dataclass(frozen=True)
class Link:
    """A trained link: speed and lanes. The model assumes FLITs from 64 GT/s on, and not below."""

    gigatransfers: float
    """GT/s of one lane: 2.5, 5, 8, 16, 32 or 64."""
    lanes: int

    @property
    def name(self) -> str:
        """Generation and lanes in words: ``gen5 x16``."""
        generations = {rate: number for number, rate in _GIGATRANSFERS.items()}
        return f"gen{generations.get(self.gigatransfers, '?')} x{self.lanes}"

    @property
    def coding(self) -> Coding:
        """The line coding of this speed."""
        return next(coding for fastest, coding in _CODINGS if self.gigatransfers <= fastest)

    @property
    def raw(self) -> float:
        """Bytes per second in each direction after line coding, which no payload can exceed."""
        return float(self.gigatransfers * 1e9 * self.coding.share * self.lanes / 8)

    def payload(self, max_payload: int = 256) -> float:
        """Bytes per second in each direction for the data of memory writes of ``max_payload``."""
        header = request_header(FIRST_64_BIT) + around(self.coding.flits)
        return self.raw * max_payload / (max_payload + header)


def link_of(attributes: Mapping[str, str]) -> Link | None:
    """The slowest link on the way to a device, at its full speed; None if unknown.

    ``attributes``: the device's ``link`` in a run file. If they have only the device's end, the
    speed is ``max_link_speed``, because an idle device may reduce its speed and restores it under
    load. The width is ``current_link_width``, because missing lanes remain missing.
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


_HEADER = 16
"""Bytes of a packet's header in the card's interface, before the data."""


@dataclass(frozen=True)
class Path:
    """A link with the card's interface to the link; rates in bytes per second, times in seconds.

    Source: PCI Express Base Specification, sections 2.2 (packets), 3.6 (acknowledgements), 4.2
    (coding, SKP sets, FLITs); AMD PG213 for the interface without straddle.
    """

    link: Link
    max_payload: int
    max_read_request: int
    request: int
    """Bytes of a read request, which are also the bytes around a write's data."""
    completion: int
    """Bytes around a completion's data."""
    acknowledged: float
    """Bytes of acknowledgements in the opposite direction over bytes on the wire."""
    bus_bytes: int
    bus_hertz: float
    straddle: bool

    @property
    def byte_s(self) -> float:
        """Seconds of one TLP byte on the wire: 8 / (GT/s x share x lanes), including SKP sets."""
        return self.link.coding.clock_compensation / self.link.raw

    def write_s(self, size: float) -> float:
        """Seconds of a posted write of ``size`` bytes on the wire."""
        return (size + self.request) * self.byte_s

    def request_s(self) -> float:
        """Seconds of a read request on the wire."""
        return self.request * self.byte_s

    def completions_s(self, size: int) -> float:
        """Seconds of the completions of a read of ``size`` bytes, split at the payload limit."""
        return (size + -(-size // self.max_payload) * self.completion) * self.byte_s

    def bus_s(self, size: float) -> float:
        """Seconds of a packet of ``size`` bytes in the card's interface: (n + 16) / W cycles."""
        beats = (size + _HEADER) / self.bus_bytes
        return (beats if self.straddle else math.ceil(beats)) / self.bus_hertz

    def answer_s(self, size: int) -> float:
        """Seconds from a read's first completion until its last has passed the card's interface."""
        full_packets, rest = divmod(size, self.max_payload)
        bus = full_packets * self.bus_s(self.max_payload) + (self.bus_s(rest) if rest else 0.0)
        return max(self.completions_s(size), bus)

    def bus_rate(self) -> float:
        """Rate of data in the card's interface: MPS over the seconds of a packet of MPS bytes."""
        return self.max_payload / self.bus_s(self.max_payload)

    def writes(self) -> float:
        """Rate of posted writes of full payload on the bare link: MPS / ((MPS + 24) byte time)."""
        return self.max_payload / self.write_s(self.max_payload)

    def reads(self) -> float:
        """Rate of completions of full requests on the bare link."""
        return self.max_read_request / self.completions_s(self.max_read_request)

    def both(self) -> float:
        """Rate of each direction if the card reads and writes equally fast.

        Besides data, the wires carry the read requests (in the writes' direction) and the
        acknowledgements of the opposite direction.
        """
        write = 1 + self.request / self.max_payload
        read = 1 + self.completion / min(self.max_payload, self.max_read_request)
        read_requests = self.request / self.max_read_request
        upstream = write + read_requests + self.acknowledged * read
        downstream = read + self.acknowledged * (write + read_requests)
        return 1 / (self.byte_s * max(upstream, downstream))


def path_of(board: Board) -> Path:
    """Makes the path of a board: its link, and the card's interface to the link."""
    link = Link(_GIGATRANSFERS[board.whole("link.generation")], board.whole("link.lanes"))
    flits = link.coding.flits
    above_4_gib = board.whole("link.address_bits") == 64
    acknowledge = 0.0 if flits else board.number("link.acknowledge_bytes")
    return Path(
        link,
        board.whole("link.max_payload_bytes"),
        board.whole("link.max_read_request_bytes"),
        request_header(FIRST_64_BIT if above_4_gib else 0) + around(flits),
        COMPLETION_HEADER + around(flits),
        acknowledge / board.number("link.acknowledge_every_bytes"),
        board.whole("link.user_bus_bytes"),
        board.hertz("link.user_clock_MHz"),
        bool(board.value("link.straddle")),
    )


def predict(board: Board, _inputs: Mapping[str, float]) -> list[Figure]:
    """Predicts the rates that a board's link and the card's interface leave for data."""
    path = path_of(board)
    write, read, bus = path.writes(), path.reads(), path.bus_rate()
    return [
        Figure("raw", path.link.raw, "B/s", note="after line coding"),
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
    "data rates of a PCIe link",
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
