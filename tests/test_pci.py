"""What is read of a PCIe function and of the ports above it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from isthmus.measure.devices import link_attributes
from isthmus.models.pcie import Link, link_of
from isthmus.system import pci
from isthmus.system.pci import Bar, Function
from pci_tree import GI, MI, REDIRECTS, Card, Machine, Port, write

SWITCHED = (Port("switch downstream"), Port("switch upstream"), Port("root port"))


def read(root: Path) -> Function:
    found = pci.read(Card().address, root)
    assert found is not None
    return found


def test_root_reads_every_register(tmp_path: Path) -> None:
    port = Port(
        payload=128, read_request=4096, relaxed_ordering=False, extended_tags=False, acs=REDIRECTS,
        correctable={"BadTLP": 3}, uncorrectable={"CmpltTO": 1}, seen=0x41,
    )  # fmt: skip
    found = read(write(tmp_path, Card(port, rebar=(1, 64 * GI))))
    device = found.device
    assert (device.payload, device.most_payload, device.read_request) == (128, 512, 4096)
    assert (device.relaxed_ordering, device.extended_tags) == (False, False)
    assert device.can_extended_tags
    assert device.acs == ["request redirect", "completion redirect"]
    assert device.correctable is not None
    assert {name: n for name, n in device.correctable.items() if n} == {"BadTLP": 3}
    assert device.uncorrectable == {"CmpltTO": 1}
    assert device.seen == ["RxErr", "BadTLP"]
    assert found.bars == [Bar(0, 64 * MI), Bar(1, 32 * GI, 64 * GI)]
    assert (found.iommu_group, found.iommu_type, found.numa_node) == ("7", "identity", 0)
    assert [one.kind for one in found.path] == ["endpoint", "root port"]


def test_another_user_reads_the_link_but_no_register(tmp_path: Path) -> None:
    device = read(write(tmp_path, as_root=False)).device
    assert (device.speed, device.lanes) == (16.0, 16)
    assert not device.readable
    assert device.payload is device.relaxed_ordering is device.acs is device.seen is None
    assert device.correctable is not None, "counters are there for everybody"


def test_capabilities_that_bite_their_tail_end(tmp_path: Path) -> None:
    write(tmp_path)
    file = tmp_path / "sys/bus/pci/devices" / Card().address / "config"
    space = bytearray(file.read_bytes())
    space[0x60:0x62] = bytes([0x05, 0x40])
    space[0x102:0x104] = bytes([0x02, 0x10])  # the next extended one: this one
    file.write_bytes(space)
    device = read(tmp_path).device
    assert device.readable
    assert device.payload is None


@pytest.mark.parametrize("seed", range(60))
def test_any_bytes_can_be_read(seed: int, tmp_path: Path) -> None:
    write(tmp_path)
    by = Random(seed)
    file = tmp_path / "sys/bus/pci/devices" / Card().address / "config"
    space = bytearray(file.read_bytes())
    for _ in range(by.choice((4, 64, 4000))):
        space[by.randrange(0x30, 0x180)] = by.randrange(256)
    file.write_bytes(space[: by.choice((0, 4, 63, 65, 101, 257, 300, 4096))])
    found = read(tmp_path)
    assert found.device.lanes == 16
    assert found.device.payload in {None, *(128 << i for i in range(8))}


def test_a_device_that_is_gone_says_nothing(tmp_path: Path) -> None:
    write(tmp_path, Card(Port(lanes=63, most_lanes=63)))
    (tmp_path / "sys/bus/pci/devices" / Card().address / "config").write_bytes(b"\xff" * 4096)
    device = read(tmp_path).device
    assert device.lanes is device.payload is device.seen is None
    assert pci.read("0000:aa:00.0", tmp_path) is None


def test_a_virtual_function_has_no_settings_of_its_own(tmp_path: Path) -> None:
    port = Port(payload=128, read_request=128, relaxed_ordering=False, extended_tags=False)
    device = read(write(tmp_path, Card(port, virtual_function=True))).device
    assert (device.kind, device.most_payload) == ("endpoint", 512)
    assert device.payload is device.relaxed_ordering is device.extended_tags is None
    device = read(write(tmp_path / "guest", Card(port), Machine(virtual=True))).device
    assert (device.payload, device.most_payload) == (None, 512), "no physfn, but zeros"


def test_a_port_with_the_settings_of_reset_has_settings(tmp_path: Path) -> None:
    slot = Port(
        "root port", payload=128, most_payload=128, read_request=128, relaxed_ordering=False,
        extended_tags=False, can_extended_tags=False,
    )  # fmt: skip
    port = read(write(tmp_path, Card(above=[slot]))).path[1]
    assert (port.payload, port.most_payload, port.read_request) == (128, 128, 128)
    assert port.relaxed_ordering is port.extended_tags is False


def test_what_is_suspended_is_left_asleep(tmp_path: Path) -> None:
    found = read(write(tmp_path, Card(runtime_status="suspended", power_state="D3cold")))
    assert found.asleep
    assert not found.device.readable
    above = [replace(SWITCHED[0], runtime_status="suspended"), *SWITCHED[1:]]
    found = read(write(tmp_path / "port", Card(above=above)))
    assert [port.readable for port in found.path] == [True, False, True, True]


def test_links_run_between_a_port_and_what_is_below_it(tmp_path: Path) -> None:
    write(tmp_path, Card(above=SWITCHED))
    for as_root in (True, False):
        found = read(write(tmp_path / str(as_root), Card(above=SWITCHED), as_root=as_root))
        ends = [tuple(end.address for end in link.ends) for link in found.links()]
        assert ends == [("0000:03:00.0", "0000:02:01.0"), ("0000:01:01.0", "0000:00:01.0")]


def test_ports_of_a_hypervisor_are_left_out(tmp_path: Path) -> None:
    found = read(write(tmp_path, Card(above=SWITCHED), Machine(virtual=True)))
    assert len(found.path) == 1
    assert [link.above for link in found.links()] == [None]


def test_a_link_limits_as_its_narrowest_part(tmp_path: Path) -> None:
    slow_slot = Card(Port(most_speed=32.0), above=[Port("root port", most_speed=8.0)])
    assert link_of(link_attributes(read(write(tmp_path / "a", slow_slot)))) == Link(8.0, 16)
    idle = Card(Port(speed=2.5), above=[Port("root port", speed=2.5)])
    attributes = link_attributes(read(write(tmp_path / "b", idle)))
    assert link_of(attributes) == Link(16.0, 16), "it trains up under load"
    assert attributes["current_link_speed"] == "2.5 GT/s PCIe"
    narrow = Card(above=[*SWITCHED[:2], Port("root port", lanes=4)])
    switch = Port("switch upstream", lanes=4)
    narrow = Card(above=[SWITCHED[0], switch, narrow.above[2]])
    assert link_of(link_attributes(read(write(tmp_path / "c", narrow)))) == Link(16.0, 4)
