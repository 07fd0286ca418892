"""What is recorded of a machine."""

from __future__ import annotations

from isthmus.system.environment import pcie_payloads


def configuration(*, express_at: int = 0x60, control: int = 0, size: int = 256) -> bytes:
    """A function's configuration space with a power capability, then PCI Express."""
    space = bytearray(256)
    space[0x34] = 0x40
    space[0x40:0x42] = bytes([0x01, express_at])
    space[express_at : express_at + 2] = bytes([0x10, 0])
    space[express_at + 8 : express_at + 10] = control.to_bytes(2, "little")
    return bytes(space[:size])


def test_payload_sizes_are_read_from_device_control():
    # 256 B payloads (1), 4 KiB read requests (5), other bits set.
    result = pcie_payloads(configuration(control=0x8F1F & ~0x70E0 | 1 << 5 | 5 << 12))
    assert result == {"max_payload_bytes": "256", "max_read_request_bytes": "4096"}


def test_what_an_ordinary_user_reads_of_it_says_nothing():
    assert pcie_payloads(configuration(size=64)) == {}
    assert pcie_payloads(b"") == {}


def test_a_chain_that_bites_its_tail_ends():
    space = bytearray(configuration())
    space[0x60:0x62] = bytes([0x05, 0x40])
    assert pcie_payloads(bytes(space)) == {}
