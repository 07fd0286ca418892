"""Reads a PCIe function and the ports between it and the root from Linux; writes nothing.

Sources: PCI Express Base Specification 5.0, section 7.5.3 (PCI Express capability), 7.7.11 (ACS),
7.8.4 (AER), 7.8.6 (Resizable BAR); Linux, ``Documentation/ABI/testing/sysfs-bus-pci``.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from isthmus.system import environment
from isthmus.system.files import text

_DDDD_BB_DD_F = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_ADDRESS = re.compile(_DDDD_BB_DD_F)
_GROUP = re.compile(r"[0-9]*")
Address = Annotated[str, msgspec.Meta(pattern=rf"^{_DDDD_BB_DD_F}$(?!\n)")]
"""PCI address ``dddd:bb:dd.f``. Addresses of run files are checked, because commands that users
paste contain them."""
Group = Annotated[str, msgspec.Meta(pattern=rf"^{_GROUP.pattern}$(?!\n)")]
_HEADER_BYTES = 64
"""Bytes of configuration space that users other than root can read."""
_CAPABILITIES = 0x34
_PCI_EXPRESS = 0x10
_EXTENDED = 0x100
_SETTINGS = 0x71F0
"""Bits of register Device Control that ``_express`` reads."""
_AER, _ACS, _RESIZABLE_BAR = 0x0001, 0x000D, 0x0015
_KINDS = {
    0: "endpoint", 1: "endpoint", 4: "root port", 5: "switch upstream", 6: "switch downstream",
    7: "bridge", 8: "bridge", 9: "integrated endpoint", 10: "event collector",
}  # fmt: skip
_ACS_NAMES = (
    "source validation", "translation blocking", "request redirect", "completion redirect",
    "upstream forwarding", "egress control", "direct translated",
)  # fmt: skip
_CORRECTABLE = {
    0: "RxErr", 6: "BadTLP", 7: "BadDLLP", 8: "Rollover", 12: "Timeout", 13: "NonFatalErr",
    14: "CorrIntErr", 15: "HeaderOF",
}  # fmt: skip
"""Names in sysfs of the bits of AER's Correctable Error Status, by number of the bit."""
_WIDTHS = {1, 2, 4, 8, 12, 16, 32}
"""Possible numbers of lanes: a port without a link reports 0, a lost device 63 or 255."""
_BARS = 6


class Port(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A PCIe function between device and root; a value is None if the system does not show it."""

    address: Address
    vendor: str = ""
    device: str = ""
    class_code: str = ""
    """Class code: six hexadecimal digits of class, subclass and interface."""
    kind: str = ""
    """Kind of port: "endpoint", "root port", "switch upstream", "switch downstream" ...; empty if
    unknown."""
    speed: float | None = None
    """Current speed of a lane in GT/s. This and the next three fields describe the port's link."""
    most_speed: float | None = None
    lanes: int | None = None
    most_lanes: int | None = None
    payload: int | None = None
    """Configured largest payload (MPS), in bytes."""
    most_payload: int | None = None
    read_request: int | None = None
    """Configured largest read request (MRRS), in bytes."""
    relaxed_ordering: bool | None = None
    extended_tags: bool | None = None
    can_extended_tags: bool | None = None
    acs: list[str] | None = None
    """Names of the controls of Access Control Services that are enabled."""
    correctable: dict[str, int] | None = None
    """Correctable errors that the kernel counted since the device appeared, by name in sysfs."""
    uncorrectable: dict[str, int] | None = None
    seen: list[str] | None = None
    """Names of correctable errors that occurred since the status bits were cleared."""
    asleep: bool = False
    """Whether the port is suspended, so that its configuration space was not read."""
    readable: bool = False
    """Whether this process could read configuration space beyond the part for all users."""


class Bar(msgspec.Struct, frozen=True, omit_defaults=True):
    """A window (base address register) onto a device's memory."""

    index: int
    bytes: int
    most_bytes: int | None = None
    """Largest size in bytes that a resizable window supports; None for other windows."""


class Function(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A device's PCIe function, with its path to the root."""

    path: Annotated[list[Port], msgspec.Meta(min_length=1)]
    """The device's port first, then each port above it, up to the root port."""
    driver: str = ""
    numa_node: int | None = None
    iommu_group: Group = ""
    iommu_type: str = ""
    """Type of the IOMMU group, as sysfs names it; empty if unknown.

    "identity" translates no addresses; "DMA" and "DMA-FQ" translate the addresses of each transfer.
    """
    bars: list[Bar] = []
    dma_bits: Annotated[int, msgspec.Meta(ge=1, le=64)] | None = None
    """Bits of DMA addresses that the device's driver allows; None if unknown."""
    power_state: str = ""
    runtime_status: str = ""
    runtime_control: str = ""

    @property
    def device(self) -> Port:
        """The device's port: the lower end of its link."""
        return self.path[0]

    @property
    def asleep(self) -> bool:
        """Whether the device is suspended, so that the speed of its link in use is unknown."""
        return self.runtime_status == "suspended" or self.power_state.startswith("D3")

    def links(self) -> Iterator[Link]:
        """Yields the links from the device to the root; the device's own link comes first.

        Two ports are the ends of a link. A switch has no link between its ports, so that no link
        begins at the upper end of another. If configuration space is hidden, upper and lower ends
        are assumed to alternate.
        """
        below: Port | None = None
        for i, port in enumerate(self.path):
            starts = i % 2 == 0 if not port.kind else port.kind in {"endpoint", "switch upstream"}
            if starts:
                below = port
                if i + 1 == len(self.path):
                    yield Link(port, None)
            elif below is not None:
                yield Link(below, port)
                below = None


class Link(NamedTuple):
    """A PCIe link with the ports at both ends."""

    below: Port
    above: Port | None
    """Port at the upper end; None if the system does not show it, as in many virtual machines."""

    @property
    def ends(self) -> tuple[Port, ...]:
        """The known ports: one or two."""
        return (self.below,) if self.above is None else (self.below, self.above)

    @property
    def speed(self) -> float | None:
        """Current speed of a lane in GT/s; None if unknown."""
        return next((end.speed for end in self.ends if end.speed is not None), None)

    @property
    def lanes(self) -> int | None:
        """Number of lanes in use; None if unknown."""
        return next((end.lanes for end in self.ends if end.lanes is not None), None)

    @property
    def most_speed(self) -> float | None:
        """Highest speed in GT/s that all known ends support; None if unknown."""
        return min((e.most_speed for e in self.ends if e.most_speed is not None), default=None)

    @property
    def most_lanes(self) -> int | None:
        """Most lanes that all known ends have; None if unknown."""
        return min((e.most_lanes for e in self.ends if e.most_lanes is not None), default=None)


def read(address: str, root: Path = Path("/")) -> Function | None:
    """Reads the function at ``dddd:bb:dd.f`` and the ports above it; None if it does not exist.

    ``root`` is the folder with ``proc`` and ``sys``, of this machine or captured from another.
    Configuration space of a suspended device or port is not read, which would wake it. In a virtual
    machine the ports above a device are left out: they are the hypervisor's, not the board's.
    """
    try:
        folder = (root / "sys/bus/pci/devices" / address).resolve(strict=True)
    except OSError:
        return None
    configuration = _configuration(folder)
    group = folder / "iommu_group"
    virtual = environment.is_virtualised(root)
    above = (
        [] if virtual else [parent for parent in folder.parents if _ADDRESS.fullmatch(parent.name)]
    )
    return Function(
        path=[
            _port(folder, configuration, guest=virtual),
            *(_port(parent, _configuration(parent)) for parent in above),
        ],
        driver=_target(folder / "driver"),
        numa_node=_node(text(folder / "numa_node")),
        iommu_group=_target(group),
        iommu_type=text(group / "type"),
        bars=_bars(text(folder / "resource"), configuration),
        dma_bits=_whole(text(folder / "dma_mask_bits")),
        power_state=text(folder / "power_state"),
        runtime_status=text(folder / "power/runtime_status"),
        runtime_control=text(folder / "power/control"),
    )


def of_attributes(link: Mapping[str, str]) -> Function | None:
    """Makes a function from the link attributes of an old run file; None if they are not valid."""
    group = link.get("iommu_group", "")
    if not (_ADDRESS.fullmatch(link.get("address", "")) and _GROUP.fullmatch(group)):
        return None
    device = Port(
        address=link["address"],
        speed=_speed(link.get("current_link_speed", "")),
        most_speed=_speed(link.get("max_link_speed", "")),
        lanes=_whole(link.get("current_link_width", "")),
        most_lanes=_whole(link.get("max_link_width", "")),
        payload=_whole(link.get("max_payload_bytes", "")),
        read_request=_whole(link.get("max_read_request_bytes", "")),
    )
    return Function(
        path=[device],
        numa_node=_node(link.get("numa_node", "")),
        iommu_group=group,
    )


def _configuration(folder: Path) -> bytes:
    """Bytes of a function's configuration space; empty if reading would wake the function."""
    return b"" if _asleep(folder) else _bytes(folder / "config")


def _asleep(folder: Path) -> bool:
    return text(folder / "power/runtime_status") == "suspended"


def _port(folder: Path, configuration: bytes, *, guest: bool = False) -> Port:
    capabilities = dict(_capabilities(configuration))
    further = dict(_extended_capabilities(configuration))
    speeds = {name: text(folder / f"{name}_link_speed") for name in ("current", "max")}
    lanes = {name: _whole(text(folder / f"{name}_link_width")) for name in speeds}
    return Port(
        address=folder.name,
        vendor=text(folder / "vendor").removeprefix("0x"),
        device=text(folder / "device").removeprefix("0x"),
        class_code=text(folder / "class").removeprefix("0x"),
        speed=_speed(speeds["current"]),
        most_speed=_speed(speeds["max"]),
        lanes=lanes["current"] if lanes["current"] in _WIDTHS else None,
        most_lanes=lanes["max"] if lanes["max"] in _WIDTHS else None,
        correctable=_counters(folder, "correctable"),
        uncorrectable=_counters(folder, "nonfatal", "fatal"),
        readable=len(configuration) > _HEADER_BYTES,
        asleep=_asleep(folder),
        **_express(
            capabilities.get(_PCI_EXPRESS, b""),
            guest=guest,
            virtual=(folder / "physfn").is_symlink(),
        ),
        **_access_control(further.get(_ACS, b"")),
        **_errors_seen(further.get(_AER, b"")),
    )


def _capabilities(configuration: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields the id of each capability, and the configuration space from its first byte on."""
    at = configuration[_CAPABILITIES] & ~3 if len(configuration) > _HEADER_BYTES else 0
    seen: set[int] = set()
    while at and at not in seen and at + 2 <= len(configuration):
        seen.add(at)
        yield configuration[at], configuration[at:_EXTENDED]
        at = configuration[at + 1] & ~3


def _extended_capabilities(configuration: bytes) -> Iterator[tuple[int, bytes]]:
    at = _EXTENDED
    seen: set[int] = set()
    while at >= _EXTENDED and at not in seen and at + 4 <= len(configuration):
        seen.add(at)
        header = _number(configuration, at, 4)
        yield header & 0xFFFF, configuration[at:]
        at = header >> 20 & ~3


def _number(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")


def _express(capability: bytes, *, guest: bool, virtual: bool) -> dict[str, Any]:
    """Fields of ``Port`` from the PCI Express capability; empty without the capability.

    A virtual function (``virtual``, SR-IOV) has zeros for settings, because those of its physical
    function apply. In a virtual machine (``guest``) only the zeros reveal a virtual function.
    """
    if len(capability) < 12 or capability[1:4] == b"\xff\xff\xff":
        return {}
    can, control = _number(capability, 4, 4), _number(capability, 8, 2)
    kind = _KINDS.get(_number(capability, 2, 2) >> 4 & 15, "other")
    limits = {"kind": kind, "most_payload": 128 << (can & 7)}
    if virtual or (guest and not control & _SETTINGS):
        return limits
    return {
        **limits,
        "payload": 128 << (control >> 5 & 7),
        "read_request": 128 << (control >> 12 & 7),
        "relaxed_ordering": bool(control >> 4 & 1),
        "can_extended_tags": bool(can >> 5 & 1),
        "extended_tags": bool(control >> 8 & 1),
    }


def _access_control(capability: bytes) -> dict[str, Any]:
    if len(capability) < 8:
        return {}
    control = _number(capability, 6, 2)
    return {"acs": [name for i, name in enumerate(_ACS_NAMES) if control >> i & 1]}


def _errors_seen(capability: bytes) -> dict[str, Any]:
    if len(capability) < 20:
        return {}
    status = _number(capability, 16, 4)
    return {"seen": [name for bit, name in _CORRECTABLE.items() if status >> bit & 1]}


def _bars(resources: str, configuration: bytes) -> list[Bar]:
    """Memory windows of a function, from the lines "start end flags" of sysfs's ``resource``."""
    most = _resizable(dict(_extended_capabilities(configuration)).get(_RESIZABLE_BAR, b""))
    bars = []
    lines = re.findall(r"^0x(\w+) 0x(\w+) 0x(\w+)$", resources, re.MULTILINE)
    for i, line in enumerate(lines[:_BARS]):
        start, end, flags = (int(word, 16) for word in line)
        if end > start and flags & 0x200:  # IORESOURCE_MEM
            bars.append(Bar(i, end - start + 1, most.get(i)))
    return bars


def _resizable(capability: bytes) -> dict[int, int]:
    """Largest size in bytes of each resizable BAR, by index of the BAR."""
    if len(capability) < 12:
        return {}
    largest = {}
    for i in range(_number(capability, 8, 4) >> 5 & 7):
        can, control = _number(capability, 4 + 8 * i, 4), _number(capability, 8 + 8 * i, 4)
        sizes = can >> 4 | control >> 16 << 28  # bit n: the BAR supports 2^n MiB
        if sizes:
            largest[control & 7] = 1 << (19 + sizes.bit_length())
    return largest


def _counters(folder: Path, *kinds: str) -> dict[str, int] | None:
    """Error counters of a port in sysfs by name, summed over ``kinds``; None without counters."""
    texts = [text(folder / f"aer_dev_{kind}") for kind in kinds]
    if not any(texts):
        return None
    counts: dict[str, int] = {}
    for line in "\n".join(texts).splitlines():
        name, _, count = line.rpartition(" ")
        if count.isdecimal() and not name.startswith("TOTAL"):
            counts[name] = counts.get(name, 0) + int(count)
    return counts


def _speed(said: str) -> float | None:
    speed = re.match(r"(\d+(?:\.\d+)?) GT/s", said)
    return float(speed[1]) if speed else None


def _whole(said: str) -> int | None:
    return int(said) if re.fullmatch(r"-?\d{1,18}", said) else None


def _node(said: str) -> int | None:
    """Number of a memory node; None for -1, which Linux writes if the firmware names no node."""
    node = _whole(said)
    return None if node is None or node < 0 else node


def _bytes(path: Path) -> bytes:
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""


def _target(link: Path) -> str:
    """Last part of the path to which a symbolic link leads; the target need not exist."""
    with contextlib.suppress(OSError):
        return link.readlink().name
    return ""
