"""Damaged xclbin files: read, or refused in one line; never a crash, never much memory."""

from __future__ import annotations

import struct

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isthmus.errors import UsageError
from isthmus_emulation import xclbin
from isthmus_emulation.xclbin import listing, metadata, tables

SECTIONS_AT = 456
"""Offset of the first section header, as ``offsetof(struct axlf, m_sections)`` has it."""


def read_or_refuse(data: bytes) -> bool:
    """Whether the bytes and all views of them read; what does not must be refused in one line."""
    try:
        result = xclbin.read(data)
        listing.as_text(result)
        msgspec.json.encode(listing.as_data(result))
    except UsageError as error:
        problem = str(error)
    else:
        return True
    assert problem.isprintable()
    assert 0 < len(problem) < 500
    return False


WHOLE = msgspec.structs.replace(xclbin.TRANSFER, key_values={"who": "me"}).build().encode()


def test_cut_short_anywhere_it_is_refused() -> None:
    for length in range(len(WHOLE)):
        assert not read_or_refuse(WHOLE[:length]), length


@settings(max_examples=500)
@given(
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(1, 255)), min_size=1, max_size=8)
)
def test_flipped_bytes_are_read_or_refused(flips: list[tuple[int, int]]) -> None:
    data = bytearray(WHOLE)
    for at, value in flips:
        data[at] ^= value
    read_or_refuse(bytes(data))


LIES = st.sampled_from(
    [0, 1, 3, 7, 8, 455, 456, 457, len(WHOLE) - 1, len(WHOLE), len(WHOLE) + 1]
    + [(1 << bits) + more for bits in (15, 16, 31, 32, 63, 64) for more in (-1, 0)]
) | st.integers(0, (1 << 64) - 1)


@settings(max_examples=300)
@given(st.integers(0, 9), st.sampled_from([24, 32]), LIES)
def test_lying_offsets_and_sizes(section: int, field: int, lie: int) -> None:
    data = bytearray(WHOLE)
    struct.pack_into("<Q", data, SECTIONS_AT + 40 * section + field, lie & (1 << 64) - 1)
    read_or_refuse(bytes(data))


@given(LIES)
def test_lying_lengths_and_numbers_of_sections(lie: int) -> None:
    data, length = bytearray(WHOLE), lie & (1 << 64) - 1
    struct.pack_into("<Q", data, 304, length)
    # The last section and what follows it need not fill the file.
    last = len(WHOLE.rstrip(b"\0"))
    assert read_or_refuse(bytes(data)) == (last <= length <= len(WHOLE))
    data = bytearray(WHOLE)
    struct.pack_into("<I", data, 448, lie & (1 << 32) - 1)
    read_or_refuse(bytes(data))


@pytest.mark.parametrize("row", [xclbin.Memory, xclbin.Connection, xclbin.Ip, xclbin.Clock])
@pytest.mark.parametrize("count", [-1, 2, 0x7FFF, 0x7FFFFFFF])
def test_lying_counts(row: type[tables.Row], count: int) -> None:
    room = 1 << 8 * min(4, struct.calcsize(row.COUNT.format.replace("4x", "")))
    head = bytearray(row.COUNT.size)
    head[:4] = (count % room).to_bytes(4, "little")[: row.COUNT.size]
    with pytest.raises(UsageError, match="section it says"):
        tables.decode(row, bytes(head) + bytes(row.LAYOUT.size), "it")


def test_sections_that_overlap_are_refused() -> None:
    data = bytearray(WHOLE)
    start, size = struct.unpack_from("<QQ", data, SECTIONS_AT + 24)
    struct.pack_into("<QQ", data, SECTIONS_AT + 40 + 24, start + size - 1, 16)
    with pytest.raises(UsageError, match=r"section 1 \(connectivity\) begins .* inside section 0"):
        xclbin.read(bytes(data))
    struct.pack_into("<QQ", data, SECTIONS_AT + 24, 0, size)
    with pytest.raises(UsageError, match="inside the table of sections"):
        xclbin.read(bytes(data))


ENTITIES = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;">]><project>&b;</project>'


@pytest.mark.parametrize(
    "xml",
    [
        b"", b"<project>", b"\xff", ENTITIES, ENTITIES.decode().encode("utf-16"),
        b'<?xml version="1.0" encoding="nonsense"?><project/>',
        b'<?xml version="1.0" encoding="utf-7"?><project/>',
        b'<?xml version="1.0" encoding="gb18030"?><project/>',
        b"<project><platform><device><core><kernel/></core></device></platform></project>",
        b"<project><platform><device><core><kernel name='k'><arg name='a' size='-1'/></kernel>"
        b"</core></device></platform></project>",
        b"<project><platform><device><core><kernel name='k'><arg name='a' addressQualifier='9'/>"
        b"</kernel></core></device></platform></project>",
        b" " * (5 << 20),
    ],
)  # fmt: skip
def test_bad_xml_is_refused(xml: bytes) -> None:
    with pytest.raises(UsageError, match="embedded_metadata") as caught:
        metadata.kernels_of(xml)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b'"\xff"', b"[" * 100_000, b"[]", b"{}"])
def test_bad_key_values_are_refused(text: bytes) -> None:
    with pytest.raises(UsageError, match="keyvalue_metadata") as caught:
        metadata.key_values_of(text)
    assert str(caught.value).isprintable()
