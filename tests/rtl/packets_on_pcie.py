"""Compares packets of cocotbext-pcie with those of tests/pcie_packets.py.

tests/test_rtl.py runs this module in a simulator.
"""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import Timer
from cocotbext.pcie.core import Device, Endpoint, RootComplex
from cocotbext.pcie.core.tlp import TlpType

import pcie_packets as tlp

ROOM = 1 << 16
WRITES = (TlpType.MEM_WRITE, TlpType.MEM_WRITE_64)
READS = (TlpType.MEM_READ, TlpType.MEM_READ_64)


class Bench:
    """A root complex with memory and an endpoint that masters the bus; what each of them sent."""

    def __init__(self):
        self.host = RootComplex()
        self.card = Endpoint()
        self.host.make_port().connect(Device(self.card))
        self.from_card, self.from_host = [], []

    async def begin(self):
        await self.host.enumerate()
        device = self.host.find_device(self.card.pcie_id)
        await device.enable_device()
        await device.set_master()
        self.card.upstream_send = _recorded(self.card.upstream_send, self.from_card)
        self.host.send = _recorded(self.host.send, self.from_host)
        self.below, _ = self.host.alloc_region(ROOM)
        # The same again above 4 GiB, where headers are longer.
        above = self.host.mem_address_space.create_pool(1 << 40, ROOM)
        self.above = above.alloc_region(ROOM).get_absolute_address(0)

    def set_sizes(self, mps, mrrs, rcb):
        self.card.pcie_cap.max_payload_size = (mps // 128).bit_length() - 1
        self.card.pcie_cap.max_read_request_size = (mrrs // 128).bit_length() - 1
        self.host.max_payload_size = (mps // 128).bit_length() - 1
        self.host.read_completion_boundary = rcb == 128
        self.from_card.clear()
        self.from_host.clear()


def _recorded(send, sent):
    async def record(packet):
        sent.append(packet)
        await send(packet)

    return record


def _cases():
    own = random.Random(1)
    lengths = (1, 3, 4, 64, 100, 128, 256, 257, 512, 1000, 4096, 5000)
    for mps, mrrs in ((128, 128), (128, 512), (256, 512), (512, 256), (256, 4096)):
        for rcb in (64, 128):
            for length in lengths:
                for offset in (0, 4, 60, own.randrange(4096), own.randrange(4096)):
                    yield mps, mrrs, rcb, offset, length


@cocotb.test()
async def packets_are_cut_alike(dut):  # noqa: ARG001
    bench = Bench()
    await bench.begin()
    compared = 0
    for mps, mrrs, rcb, offset, length in _cases():
        for base in (bench.below, bench.above):
            case = f"{length} bytes at {base + offset:#x}, MPS {mps}, MRRS {mrrs}, RCB {rcb}"
            bench.set_sizes(mps, mrrs, rcb)
            address = base + offset
            data = random.Random(length).randbytes(length)
            await bench.card.mem_write(address, data)
            await Timer(1, "us")
            writes = [packet for packet in bench.from_card if packet.fmt_type in WRITES]
            expected = tlp.write_tlps(address, length, mps)
            assert [packet.get_payload_size() for packet in writes] == expected, case
            wire = sum(packet.get_size() + 8 for packet in writes)
            assert wire == tlp.write_wire_bytes(address, length, mps), case

            assert await bench.card.mem_read(address, length) == data, case
            reads = [packet for packet in bench.from_card if packet.fmt_type in READS]
            expected = tlp.read_requests(address, length, mrrs)
            assert [4 * packet.length for packet in reads] == expected, case
            expected = [
                size
                for packet, asked in zip(reads, expected, strict=True)
                for size in tlp.completions(packet.address, asked, mps, rcb)
            ]
            answers = [packet.get_payload_size() for packet in bench.from_host]
            assert answers == expected, case
            wire = (
                sum(packet.get_size() + 8 for packet in reads),
                sum(packet.get_size() + 8 for packet in bench.from_host),
            )
            assert wire == tlp.read_wire_bytes(address, length, mrrs, mps, rcb), case
            compared += len(writes) + len(reads) + len(answers)
    assert compared > 5000
