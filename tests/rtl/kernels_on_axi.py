"""The kernels on cocotbext-axi's memory and register master: run by tests/test_rtl.py in Icarus."""

from __future__ import annotations

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from cocotbext.axi import (
    AxiLiteBus,
    AxiLiteMaster,
    AxiRamRead,
    AxiRamWrite,
    AxiReadBus,
    AxiWriteBus,
)

WIDTH = 64
ROOM = 1 << 16
IDLE = 0b0100


class Bench:
    """A kernel in reset, its registers, and memory on its masters."""

    def __init__(self, dut, readers=(), writers=()):
        self.dut = dut
        random.seed(1)
        cocotb.start_soon(Clock(dut.ap_clk, 4, unit="ns").start())
        reset = {"reset": dut.ap_rst_n, "reset_active_level": False}
        bus = AxiLiteBus.from_prefix(dut, "s_axi_control")
        self.registers = AxiLiteMaster(bus, dut.ap_clk, **reset)
        self.memories = {}
        for kind, buses, names in (
            (AxiRamRead, AxiReadBus, readers),
            (AxiRamWrite, AxiWriteBus, writers),
        ):
            for name in names:
                of_dut = buses.from_prefix(dut, f"m_axi_{name}")
                memory = kind(of_dut, dut.ap_clk, size=ROOM, **reset)
                memory.write(0, random.randbytes(ROOM))
                self.memories[name] = memory

    async def reset(self):
        self.dut.ap_rst_n.value = 0
        for _ in range(4):
            await RisingEdge(self.dut.ap_clk)
        self.dut.ap_rst_n.value = 1
        await RisingEdge(self.dut.ap_clk)

    def stall(self, share):
        """Lets every channel of the memories pause for this share of the clocks."""
        for memory in self.memories.values():
            for channel in ("ar", "r", "aw", "w", "b"):
                part = getattr(memory, f"{channel}_channel", None)
                if part is not None:
                    part.set_pause_generator(_pauses(share, random.random()))

    async def run(self, *arguments):
        """Executes the kernel as a host would: arguments, start, poll."""
        for n, value in enumerate(arguments):
            await self.registers.write_qword(0x10 + 12 * n, value)
        assert await self.registers.read_dword(0) == IDLE
        await self.registers.write_dword(0, 1)
        for _ in range(10_000):
            if await self.registers.read_dword(0) & 0b0010:
                break
        else:
            raise AssertionError("the kernel does not end")
        assert await self.registers.read_dword(0) == IDLE

    async def result(self, n):
        return await self.registers.read_qword(0x88 + 8 * n)


def _pauses(share, seed):
    own = random.Random(seed)
    while True:
        yield own.random() < share


def _checksum(data, iterations):
    def rotate(value, n):
        return (value << n | value >> (64 - n)) & (1 << 64) - 1

    total = 0
    data += bytes(-len(data) % WIDTH)
    for _ in range(iterations):
        for beat in range(0, len(data), WIDTH):
            total = rotate(total, 1)
            for n in range(8):
                word = data[beat + 8 * n : beat + 8 * n + 8]
                total ^= rotate(int.from_bytes(word, "little"), n)
    return total


CASES = [(4096, 0, 2), (8192, 4096, 1), (8197, 64, 2), (20_001, 4096 - 128, 1)]
STALLS = (0.0, 0.4)


if os.environ["KERNEL"] == "read_bandwidth":

    @cocotb.test()
    async def reads_every_byte(dut):
        bench = Bench(dut, readers=["input0"])
        await bench.reset()
        for stalls in STALLS:
            bench.stall(stalls)
            for size, address, iterations in CASES:
                await bench.run(address, size, iterations)
                data = bench.memories["input0"].read(address, size)
                assert await bench.result(0) == _checksum(data, iterations)
                assert await bench.result(1) == 0


if os.environ["KERNEL"] == "write_bandwidth":

    @cocotb.test()
    async def writes_its_pattern(dut):
        bench = Bench(dut, writers=["output0"])
        await bench.reset()
        for stalls in STALLS:
            bench.stall(stalls)
            memory = bench.memories["output0"]
            for size, address, iterations in CASES:
                expected = bytearray(memory.read(0, ROOM))
                words = range(-(-size // 8))
                pattern = b"".join((iterations - 1 << 48 | n).to_bytes(8, "little") for n in words)
                expected[address : address + size] = pattern[:size]
                await bench.run(address, size, iterations)
                assert memory.read(0, ROOM) == expected
                assert await bench.result(0) == 0


if os.environ["KERNEL"] == "bandwidth":

    @cocotb.test()
    async def copies_every_byte(dut):
        bench = Bench(dut, readers=["input0"], writers=["output0"])
        await bench.reset()
        for stalls in STALLS:
            bench.stall(stalls)
            source, target = bench.memories["input0"], bench.memories["output0"]
            for size, address, iterations in CASES:
                expected = bytearray(target.read(0, ROOM))
                expected[1024 : 1024 + size] = source.read(address, size)
                await bench.run(address, 1024, size, iterations)
                assert target.read(0, ROOM) == expected
                assert await bench.result(0) == 0
