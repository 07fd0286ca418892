"""PCIe generations 1 to 6: closed forms, packets and the card's events against the specification.

The table has the figures of the PCI Express Base Specification, revision 6.0: rates and line coding
(section 4.2), headers (2.2), and what the data link layer puts around a packet (3.6).
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

import pcie_packets as tlp
from isthmus import _core, boards
from isthmus.backends import registry
from isthmus.models.pcie import Link, path_of

BACKEND = _core.load_backend(str(registry()["card"].library))
MPS, MRRS = 256, 512
SKP_8B10B, SKP_128B130B, SKP_NOT_COUNTED = 1538 / 1542, 371 / 372, 1.0
"""Share of time without SKP ordered sets: 4 symbols after 1538, a block after 370."""


class Generation(NamedTuple):
    number: int
    gigatransfers: float
    lane_rate: float
    """Bytes of packets a second, lane and direction."""
    skp: float
    write: int
    """Bytes of a posted write of 256 B to an address of 64 bits, header and all."""
    request: int
    completion: int
    """Bytes of a completion with 256 B."""


TABLE = (
    Generation(1, 2.5, 0.25e9, SKP_8B10B, 280, 24, 276),
    Generation(2, 5.0, 0.5e9, SKP_8B10B, 280, 24, 276),
    Generation(3, 8.0, 0.9846153846e9, SKP_128B130B, 280, 24, 276),
    Generation(4, 16.0, 1.9692307692e9, SKP_128B130B, 280, 24, 276),
    Generation(5, 32.0, 3.9384615385e9, SKP_128B130B, 280, 24, 276),
    Generation(6, 64.0, 7.375e9, SKP_NOT_COUNTED, 272, 16, 268),  # 236 of 256 bytes of a FLIT
)


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("known", [pytest.param(g, id=f"gen{g.number}") for g in TABLE])
def test_generation(known: Generation, lanes: int) -> None:
    """Closed form and packets exactly; the card's events to their femtosecond a packet."""
    link = Link(known.gigatransfers, lanes)
    wire_rate = known.lane_rate * lanes
    assert link.name == f"gen{known.number} x{lanes}"
    assert link.raw == pytest.approx(wire_rate)
    assert link.payload(MPS) == pytest.approx(wire_rate * MPS / known.write)

    flits = link.coding.flits
    wire = tlp.write_wire_bytes(1 << 32, 4096, MPS, flits=flits)
    assert wire == 4096 // MPS * known.write
    requests, answers = tlp.read_wire_bytes(1 << 32, 4096, MRRS, MPS, 64, flits=flits)
    assert (requests, answers) == (4096 // MRRS * known.request, 4096 // MPS * known.completion)

    board = unlimited(known.number, lanes)
    path = path_of(board)
    assert path.link == link
    assert path.writes() == pytest.approx(known.skp * wire_rate * MPS / known.write)
    assert path.reads() == pytest.approx(known.skp * wire_rate * MPS / known.completion)
    assert path.request_s() == pytest.approx(known.request / (known.skp * wire_rate))

    packets, shorter = 4096, 1024
    rounding_s = packets * 1e-15
    for operation, rate in (("read", path.writes()), ("write", path.reads())):
        times = [simulated_s(board, operation, n * MPS) for n in (shorter, packets)]
        took = times[1] - times[0]
        assert took == pytest.approx((packets - shorter) * MPS / rate, abs=rounding_s), operation


def unlimited(generation: int, lanes: int) -> boards.Board:
    """A board whose link alone limits transfers: neither the card's interface nor credits do."""
    return boards.load(
        "u250",
        {
            "link.generation": str(generation), "link.lanes": str(lanes),
            "link.max_payload_bytes": str(MPS), "link.max_read_request_bytes": str(MRRS),
            "link.user_bus_bytes": "4096", "link.user_clock_MHz": "1e5",
            "link.acknowledge_bytes": "0",
            "link.posted_data_credits": str(1 << 20), "link.posted_header_credits": str(1 << 20),
            "link.nonposted_header_credits": str(1 << 20), "dma.tags": "2048",
            "memory.bandwidth_Bps": "1e12", "memory.refresh_interval_ns": "0",
            "memory.refresh_ns": "0", "host.memory_bandwidth_Bps": "1e13",
            "host.cache_read_bytes": str(1 << 30), "host.cache_write_bytes": str(1 << 30),
        },
    )  # fmt: skip


def simulated_s(board: boards.Board, operation: str, size: int) -> float:
    device = BACKEND.open("", board.flat())
    block = _core.Series(device, operation, size, "pinned", {}).measure(0.0)
    return block.parts[0].simulated_fs[0] * 1e-15
