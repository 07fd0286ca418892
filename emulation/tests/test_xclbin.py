"""xclbin files: what is written reads back, what cannot be is refused in one line."""

from __future__ import annotations

import json
import os
import re
import string
import struct
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Command
from isthmus.errors import UsageError
from isthmus_emulation import xclbin
from isthmus_emulation.xclbin import (
    Argument,
    Bank,
    Clock,
    Connection,
    Design,
    Header,
    Instance,
    Ip,
    Kernel,
    Memory,
    MemoryType,
    Mode,
    Port,
    Section,
    SectionKind,
    Xclbin,
    description,
    listing,
    metadata,
    tables,
)


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << bits) - 1)


def texts(most: int) -> st.SearchStrategy[str]:
    """Texts that fill a field of ``most`` bytes and its NUL."""
    letters = st.characters(codec="utf-8", exclude_characters="\0")
    return st.text(letters, max_size=most).filter(lambda text: len(text.encode()) <= most)


NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True)
WORDS = st.text(string.ascii_letters + string.digits + " *<>&\"'é_", max_size=20)
MEMORIES = st.builds(Memory, texts(15), integers(8), integers(64), integers(64), st.booleans())
I32 = st.integers(-(1 << 31), (1 << 31) - 1)
TABLES: list[tuple[type[tables.Row], st.SearchStrategy[Any]]] = [
    (Memory, MEMORIES),
    (Connection, st.builds(Connection, I32, I32, I32)),
    (Ip, st.builds(Ip, texts(63), integers(32), integers(64), integers(32))),
    (Clock, st.builds(Clock, texts(127), integers(8), integers(16))),
]
SECTIONS = st.builds(Section, integers(32), st.binary(max_size=50), texts(15))
HEADERS = st.builds(
    Header,
    platform=texts(63),
    mode=integers(16),
    version=st.tuples(integers(8), integers(8), integers(16)),
    uuid=st.uuids(),
    timestamp=integers(64),
    action_mask=integers(16),
    feature_rom=st.uuids(),
    feature_rom_timestamp=integers(64),
    debug_file=texts(15),
    unique_id=integers(64),
    signature_length=I32,
    key_block=st.binary(min_size=256, max_size=256),
)
FILES = st.builds(
    Xclbin, HEADERS, st.lists(SECTIONS, max_size=5).map(tuple), st.binary(max_size=20)
)
MAYBE = st.none() | integers(64)
ARGUMENTS = st.builds(
    Argument, NAMES, WORDS, st.none() | st.sampled_from(metadata.QUALIFIERS),
    MAYBE, MAYBE, st.none() | NAMES, MAYBE,
)  # fmt: skip
KERNELS = st.builds(
    Kernel,
    NAMES,
    st.lists(ARGUMENTS, max_size=4).map(tuple),
    st.lists(st.builds(Instance, NAMES, MAYBE), max_size=3).map(tuple),
    st.lists(st.builds(Port, NAMES, WORDS, WORDS, integers(64), integers(16)), max_size=3).map(
        tuple
    ),
    WORDS,
    st.booleans(),
)
ARGUMENT_TYPES = st.sampled_from(["int*", "float*", "char", "unsigned int", "double"])
UNIQUE_ARGUMENTS = st.lists(
    st.builds(Argument, NAMES, ARGUMENT_TYPES), max_size=6, unique_by=lambda a: a.name
).map(tuple)
DESIGNS = st.builds(
    Design,
    name=NAMES,
    platform=NAMES,
    mode=st.sampled_from(["hw", "hw_emu", "sw_emu"]),
    memories=st.lists(
        st.builds(Bank, NAMES.map(lambda n: n[:15]), st.sampled_from(["ddr4", "hbm"]),
                  st.integers(1, 1 << 24).map(lambda kib: kib * 1024)),
        max_size=5, unique_by=lambda bank: bank.name,
    ).map(tuple),
    kernels=st.lists(
        st.builds(Kernel, NAMES, UNIQUE_ARGUMENTS), max_size=4, unique_by=lambda k: k.name
    ).map(tuple),
    key_values=st.dictionaries(WORDS, WORDS, max_size=3),
    timestamp=integers(64),
)  # fmt: skip


@given(FILES)
def test_a_file_reads_back(file: Xclbin) -> None:
    data = file.encode()
    assert xclbin.read(data) == file
    assert int.from_bytes(data[304:312], "little") == len(data)


@pytest.mark.parametrize(("row", "rows"), TABLES)
def test_a_table_reads_back(row: type[tables.Row], rows: st.SearchStrategy[Any]) -> None:
    @given(st.lists(rows, max_size=5))
    def check(some: list[Any]) -> None:
        data = tables.encode(row, some)
        assert tables.decode(row, data, "it") == tuple(some)
        # Writers may leave room behind the rows.
        assert tables.decode(row, data + bytes(7), "it") == tuple(some)

    check()


@given(st.lists(KERNELS, max_size=3))
def test_kernels_read_back_from_their_xml(kernels: list[Kernel]) -> None:
    xml = metadata.xml_of(kernels, platform="a_b_c", name="x", mode=Mode.HW, clocks=[])
    assert metadata.kernels_of(xml) == tuple(kernels)


@given(DESIGNS)
def test_a_design_says_what_was_asked(design: Design) -> None:
    kernels = [k.name for k in design.kernels]
    built = design.build()
    data = built.encode()
    assert data == design.build().encode()
    result = xclbin.read(data)
    assert result == built
    assert [k.name for k in result.kernels] == kernels
    assert [m.name for m in result.memories if m.type == MemoryType.HOST] == ["HOST[0]"]
    assert {(m.name, m.size) for m in result.memories if m.type != MemoryType.HOST} == {
        (bank.name, bank.size) for bank in design.memories
    }
    assert result.key_values == design.key_values
    assert result.groups == result.memories
    assert result.group_connections == result.connections
    at = {f"{k.name}:{i.name}": i.address for k in result.kernels for i in k.instances}
    assert {ip.name: ip.address for ip in result.ips} == at
    assert [ip.address for ip in result.ips] == sorted(ip.address for ip in result.ips)
    pointers = {
        (f"{k.name}:{k.name}_1", i)
        for k in design.kernels
        for i, a in enumerate(k.arguments)
        if a.type.endswith("*")
    }
    assert {(result.ips[c.ip].name, c.argument) for c in result.connections} == pointers
    for kernel in result.kernels:
        spans = [((a.offset or 0), (a.size or 0)) for a in kernel.arguments]
        assert all(a + n <= b for (a, n), (b, _) in pairwise(spans))
    assert listing.as_text(result)


@pytest.mark.parametrize(("mode", "number"), [("hw", 0), ("hw_emu", 4), ("sw_emu", 5)])
def test_a_design_is_for_a_mode(mode: Any, number: int) -> None:
    data = xclbin.transfer_default(mode).encode()
    assert xclbin.read(data).header.mode == number
    # offsetof(struct axlf, m_header.m_mode)
    assert struct.unpack_from("<H", data, 332) == (number,)


def test_the_uuid_comes_from_the_contents() -> None:
    first = xclbin.transfer_default()
    assert first.header.uuid == xclbin.transfer_default().header.uuid
    others = {xclbin.transfer_default("hw_emu").header.uuid}
    others.add(msgspec.structs.replace(xclbin.TRANSFER, timestamp=1).build().header.uuid)
    others.add(xclbin.TRANSFER.build(b"other bits").header.uuid)
    assert len(others | {first.header.uuid, UUID(int=0)}) == 5


def test_what_vitis_would_choose_is_chosen() -> None:
    _, vadd = xclbin.transfer_default().kernels
    assert [a.offset for a in vadd.arguments] == [0x10, 0x1C, 0x28, 0x34]
    assert [a.qualifier for a in vadd.arguments] == ["global"] * 3 + ["scalar"]
    assert [a.index for a in vadd.arguments] == [0, 1, 2, 3]


def test_connections_follow_the_order_of_addresses() -> None:
    late = Kernel("late", (Argument("p", "int*"),), (Instance("late_1", 0x2000000),))
    soon = Kernel("soon", (Argument("p", "int*"),), (Instance("soon_1", 0x1000000),))
    built = Design(
        memories=(Bank("ddr0"), Bank("hbm0", "hbm")),
        kernels=(late, soon),
        connect={"late_1.p": ("ddr0", "HOST[0]")},
    ).build()
    ips, memories = built.ips, built.memories
    assert [m.name for m in memories] == ["hbm0", "ddr0", "HOST[0]"]
    reached = [(ips[c.ip].name, memories[c.memory].name) for c in built.connections]
    assert reached == [("soon:soon_1", "hbm0"), ("late:late_1", "ddr0"), ("late:late_1", "HOST[0]")]


P = Argument("p", "int*")


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (Design(platform="p" * 64), "63 are the most"),
        (Design(memories=(Bank("b" * 16),)), "15 are the most"),
        (Design(memories=(Bank("b" * 14 + "é"),)), "15 are the most"),
        (Design(memories=(Bank("b\0"),)), "NUL"),
        (Design(memories=(Bank("b", size=1000),)), "multiple of 1 Ki"),
        (Design(memories=(Bank("b", size=0),)), "multiple of 1 Ki"),
        (Design(memories=(Bank("b"), Bank("b"))), "twice"),
        (Design(memories=(Bank("a", address=1024), Bank("b", address=4096))), "inside memory 'a'"),
        (Design(memories=(Bank("b", address=-4096),)), "does not fit"),
        (Design(memories=(Bank("b", size=1 << 80),)), "does not fit"),
        (Design(memories=(Bank("bank9", "host"),)), "HOST"),
        (Design(kernels=(Kernel("k" * 40),)), "63 are the most"),
        (Design(kernels=(Kernel("k"), Kernel("k"))), "twice"),
        (Design(kernels=(Kernel("k", instances=(Instance("i"), Instance("i"))),)), "twice"),
        (Design(kernels=(Kernel("k:1"),)), "no name in C"),
        (Design(kernels=(Kernel("k", control="by_hand"),)), "ap_ctrl_chain"),
        (Design(kernels=(Kernel("k", (Argument("p", "pixel"),)),)), "say its size"),
        (Design(kernels=(Kernel("k", (Argument("p", "a\x01b", size=4),)),)), "do not print"),
        (Design(kernels=(Kernel("k", (P, P)),)), "twice"),
        (Design(kernels=(Kernel("k", (Argument("p", "int", offset=1 << 16),)),)), "address range"),
        (Design(kernels=(Kernel("k", (Argument("p", "int", offset=-4),)),)), "cannot be"),
        (Design(kernels=(Kernel("k", ports=(Port("S", "slave", range=0),)),)), "address range"),
        (Design(kernels=(Kernel("k", instances=(Instance("i", 8), Instance("j", 9))),)), "inside"),
        (Design(kernels=(Kernel("k", (P,)),), connect={"k_1.p": ("b7",)}), "no memory 'b7'"),
        (Design(kernels=(Kernel("k", (P,)),), connect={"k_1.q": ("bank0",)}), "k_1.q"),
        (Design(clocks=(xclbin.Timer("c" * 128),)), "127 are the most"),
        (Design(clocks=(xclbin.Timer("c", mhz=1 << 16),)), "does not fit"),
        (Design(timestamp=-1), "does not fit"),
    ],
)
def test_a_design_that_cannot_be_is_refused(design: Design, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        design.build()
    assert str(caught.value).isprintable()


def test_long_names_of_sections_are_refused() -> None:
    for name in ("s" * 16, "\udcff"):
        with pytest.raises(UsageError):
            Xclbin(Header(), (Section(0, b"x", name),)).encode()
    with pytest.raises(UsageError, match="256"):
        Xclbin(Header(key_block=b""), ()).encode()


def test_unknown_kinds_and_modes_survive() -> None:
    file = Xclbin(Header(mode=99), (Section(4242, b"new", "new"), Section(4242, b"newer")))
    again = xclbin.read(file.encode())
    assert again == file
    data = listing.as_data(again)
    assert data["header"]["mode"] == "99"
    assert [s["kind"] for s in data["sections"]] == ["4242", "4242"]


def test_names_cannot_steer_a_terminal() -> None:
    memory = Memory("\x1b[2J", MemoryType.DDR4, 4, 0)
    data = tables.encode(Memory, [memory])
    text = listing.as_text(Xclbin(Header(), (Section(SectionKind.MEM_TOPOLOGY, data),)))
    assert "\\x1b[2J" in text
    assert text.replace("\n", "").isprintable()


DESCRIPTION = {
    "platform": "maker_card_1",
    "memories": [{"name": "ddr0", "size": "2Gi", "address": "0x100000000"}],
    "kernels": [
        {
            "name": "scale",
            "arguments": [{"name": "data", "type": "float*"}, {"name": "by", "type": "float"}],
            "instances": [{"name": "left"}, {"name": "right", "address": "0x2000000"}],
        }
    ],
    "connect": {"left.data": ["HOST[0]"]},
    "key_values": {"size": "4Gi"},
}
TOML = """
platform = "maker_card_1"
memories = [{ name = "ddr0", size = "2Gi", address = 0x1_0000_0000 }]
[[kernels]]
name = "scale"
arguments = [{ name = "data", type = "float*" }, { name = "by", type = "float" }]
instances = [{ name = "left" }, { name = "right", address = 0x200_0000 }]
[connect]
"left.data" = ["HOST[0]"]
[key_values]
size = "4Gi"
"""


def test_a_description_in_json_or_toml(tmp_path: Path) -> None:
    written = tmp_path / "card.json"
    written.write_text(json.dumps(DESCRIPTION))
    design = description.load(written)
    built = design.build()
    assert built.memories[0] == Memory("ddr0", MemoryType.DDR4, 2 << 20, 1 << 32)
    assert {ip.name for ip in built.ips} == {"scale:left", "scale:right"}
    assert built.key_values == {"size": "4Gi"}
    if sys.version_info >= (3, 11):
        (tmp_path / "card.toml").write_text(TOML)
        assert description.load(tmp_path / "card.toml") == design


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"memory": []}', '{"memories": [{"name": "b", "size": "4GB"}]}',
             '{"mode": "fast"}', "[" * 100_000, '{"kernels": [{"name": "k", "size": {}}]}']
)  # fmt: skip
def test_a_bad_description_is_refused(tmp_path: Path, text: str) -> None:
    for name in ("d.json", "d.toml"):
        (tmp_path / name).write_text(text)
        if not text and name == "d.toml":
            continue  # nothing said: all by default
        with pytest.raises(UsageError, match=re.escape(str(tmp_path / name))) as caught:
            description.load(tmp_path / name)
        assert str(caught.value).isprintable()


def test_the_command_writes_and_dumps(tmp_path: Path, isthmus: Command) -> None:
    written = isthmus("xclbin", "write", "-o", "a.xclbin", "--mode", "hw_emu").stdout.split()
    file = xclbin.load(tmp_path / "a.xclbin")
    assert written == ["a.xclbin", str(file.header.uuid)]
    assert file == xclbin.transfer_default("hw_emu")
    data = json.loads(isthmus("xclbin", "dump", "a.xclbin", "--json").stdout)
    assert data["header"]["mode"] == "hw_emu"
    assert [k["name"] for k in data["kernels"]] == ["isthmus_empty", "vadd"]
    assert data["connections"][0] == {"ip": "vadd:vadd_1", "argument": 0, "memory": "bank0"}
    text = isthmus("xclbin", "dump", "a.xclbin").stdout
    for word in ("HOST[0]", "0x1810000", "300 MHz", "unsigned int", "0x34", "16Gi"):
        assert word in text
    (tmp_path / "d.json").write_text(json.dumps(DESCRIPTION))
    isthmus("xclbin", "write", "-o", "d.xclbin", "--from", "d.json")
    assert xclbin.load(tmp_path / "d.xclbin").header.platform == "maker_card_1"


def test_the_command_refuses_in_one_line(tmp_path: Path, isthmus: Command) -> None:
    kept = tmp_path / "kept"
    kept.write_bytes(b"mine")
    whole = xclbin.transfer_default().encode()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "short.xclbin").write_bytes(whole[:-1])
    with (tmp_path / "huge.xclbin").open("wb") as file:
        file.write(whole)
        file.truncate(1 << 40)
    for arguments, word in (
        (("write", "-o", "kept"), "nothing is overwritten"),
        (("write", "-o", "x", "--mode", "fast"), "hw_emu"),
        (("write", "-o", "x", "--from", "none.json"), "No such file"),
        (("dump", "none"), "No such file"),
        (("dump", "pipe"), "not a file"),
        (("dump", "."), "not a file"),
        (("dump", "kept"), "not an xclbin"),
        (("dump", "short.xclbin"), "cut short"),
        (("dump", "huge.xclbin"), "too many"),
    ):
        done = isthmus("xclbin", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert word in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert kept.read_bytes() == b"mine"
    assert not (tmp_path / "x").exists()
