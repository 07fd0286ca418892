"""How PCIe cuts a transfer into packets (PCI Express Base Specification, sections 2.2 and 2.3.1.1).

Data travel in whole dwords, from the one that holds the first byte to the one that holds the last:
all sizes below are multiples of 4 bytes. No request crosses a 4 KiB boundary. The closed form in
``isthmus.models.pcie`` is tested against these packets, and these against cocotbext-pcie's.
"""

from __future__ import annotations

from collections.abc import Callable

from isthmus.models.pcie import COMPLETION_HEADER, around, request_header

_DWORD = 4
_PAGE = 4096
_LARGEST_BOUNDARY = 128


def write_tlps(address: int, length: int, mps: int) -> list[int]:
    """Payload bytes of the memory writes for ``length`` bytes: each as long as MPS allows."""
    return _cut(address, length, lambda begin, _: _before_page(begin, begin + mps))


def read_requests(address: int, length: int, mrrs: int) -> list[int]:
    """Bytes that each memory read asks for.

    One that does not reach the end stops at a multiple of 128 bytes, so that those after it begin
    at one, whichever completion boundary the other side has.
    """

    def stop(begin: int, end: int) -> int:
        furthest = begin + mrrs
        if end > furthest:
            furthest -= furthest % _LARGEST_BOUNDARY
        return _before_page(begin, furthest)

    return _cut(address, length, stop)


def completions(address: int, length: int, mps: int, rcb: int) -> list[int]:
    """Payload bytes of the completions of one memory read.

    All but the last end at a multiple of the read completion boundary (RCB, 64 or 128 bytes), each
    as far as MPS allows.
    """

    def stop(begin: int, end: int) -> int:
        furthest = begin + mps
        return furthest if end <= furthest else furthest - furthest % rcb

    return _cut(address, length, stop)


def write_wire_bytes(address: int, length: int, mps: int, *, flits: bool = False) -> int:
    """Bytes on the link for a write: payload, headers, and what is around each packet."""
    payloads = write_tlps(address, length, mps)
    return sum(payloads) + len(payloads) * (request_header(address) + around(flits))


def read_wire_bytes(
    address: int, length: int, mrrs: int, mps: int, rcb: int, *, flits: bool = False
) -> tuple[int, int]:
    """Bytes on the link for a read: of the requests, and in the other direction of the data."""
    requests = read_requests(address, length, mrrs)
    answers: list[int] = []
    begin = address - address % _DWORD
    for size in requests:
        answers += completions(begin, size, mps, rcb)
        begin += size
    return (
        len(requests) * (request_header(address) + around(flits)),
        sum(answers) + len(answers) * (COMPLETION_HEADER + around(flits)),
    )


def _before_page(begin: int, stop: int) -> int:
    """The smaller of ``stop`` and the next 4 KiB boundary after ``begin``."""
    return min(stop, begin - begin % _PAGE + _PAGE)


def _cut(address: int, length: int, stop: Callable[[int, int], int]) -> list[int]:
    """Cuts whole dwords into packets; ``stop(begin, end)`` is the end of a packet at ``begin``."""
    if address < 0 or length < 1:
        raise ValueError(f"no packets for {length} bytes at address {address}")
    begin = address - address % _DWORD
    end = -(-(address + length) // _DWORD) * _DWORD
    sizes = []
    while begin < end:
        sizes.append(min(stop(begin, end), end) - begin)
        begin += sizes[-1]
    return sizes
