"""How PCIe cuts transfers; tests/test_rtl.py compares with somebody else's packets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pcie_packets as tlp

SIZES = st.sampled_from([128, 256, 512, 1024, 2048, 4096])
ADDRESSES = st.integers(0, 1 << 48)
LENGTHS = st.integers(1, 20_000)


def test_aligned_transfers() -> None:
    assert tlp.write_tlps(0, 4096, 256) == [256] * 16
    assert tlp.read_requests(0, 4096, 512) == [512] * 8
    assert tlp.completions(0, 512, 256, 64) == [256, 256]
    assert tlp.write_wire_bytes(1 << 32, 4096, 256) == 16 * (256 + 24)
    assert tlp.write_wire_bytes(0, 4096, 256) == 16 * (256 + 20)
    assert tlp.read_wire_bytes(1 << 32, 4096, 512, 256, 64) == (8 * 24, 16 * (256 + 20))


def test_boundaries() -> None:
    assert tlp.write_tlps(4096 - 64, 128, 256) == [64, 64]  # 4 KiB
    assert tlp.read_requests(64, 1024, 512) == [448, 512, 64]  # 128 B
    assert tlp.completions(4, 600, 256, 64) == [252, 256, 92]  # RCB
    assert tlp.completions(64, 512, 256, 128) == [192, 256, 64]
    assert tlp.completions(100, 28, 128, 64) == [28]  # short enough for one: no cut at the RCB


def test_whole_dwords() -> None:
    assert tlp.write_tlps(3, 2, 128) == [8]
    assert tlp.read_requests(5, 1, 128) == [4]


@pytest.mark.parametrize(("address", "length"), [(0, 0), (-4, 4), (0, -1)])
def test_nothing_is_no_transfer(address: int, length: int) -> None:
    with pytest.raises(ValueError, match="no packets"):
        tlp.write_tlps(address, length, 128)


@given(ADDRESSES, LENGTHS, SIZES, st.sampled_from([64, 128]))
def test_rules_hold(address: int, length: int, size: int, rcb: int) -> None:
    begin = address & ~3
    end = -(-(address + length) // 4) * 4
    for sizes in (tlp.write_tlps(address, length, size), tlp.read_requests(address, length, size)):
        assert sum(sizes) == end - begin
        at = begin
        for each in sizes:
            assert 0 < each <= size
            assert at // 4096 == (at + each - 1) // 4096
            at += each
    answers = tlp.completions(address, length, size, rcb)
    assert sum(answers) == end - begin
    assert max(answers) <= size
    at = begin
    for each in answers[:-1]:
        at += each
        assert at % rcb == 0
