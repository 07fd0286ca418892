"""Builds an xclbin from a description of the memories, kernels and clocks of a card."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from isthmus.errors import UsageError
from isthmus_emulation.xclbin import card, metadata, streams, tables
from isthmus_emulation.xclbin.container import Header, Section, Xclbin
from isthmus_emulation.xclbin.kinds import (
    DATA_MHZ,
    ClockType,
    Control,
    MemoryType,
    Mode,
    SectionKind,
)
from isthmus_emulation.xclbin.metadata import (
    Argument,
    Instance,
    Kernel,
    Port,
    Qualifier,
    work_arguments,
)
from isthmus_emulation.xclbin.sizes import size_of
from isthmus_emulation.xclbin.tables import Clock, Connection, Ip, Memory

ModeName = Literal["hw", "hw_emu", "sw_emu"]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTROL_PORT = "S_AXI_CONTROL"
_MEMORY_PORT = "M_AXI_GMEM"
_FIRST_ARGUMENT = 0x10
_FIRST_BEHIND_COUNTERS = 0x1C
_FIRST_INSTANCE = 0x180_0000
_CARD_ADDRESS = 0x40_0000_0000
"""First address of the card's memory, as on a U200 and a U250.

It is above 0: the register of an argument that was never set is 0, and must not point to a buffer.
"""
_HOST_ADDRESS = 0x20_0000_0000
HBM_BANKS = 32
"""Banks of HBM of a U50, U55C and U280: AMD's example ``hbm_bandwidth`` uses ``HBM[0:31]``."""
_GI = 1 << 30
_HOST_BYTES = 16 * _GI
_ADDRESS_BYTES = 8
MADE_BY = b'{"build_metadata":{"xclbin":{"generated_by":{"name":"isthmus"}}}}'
"""Build metadata of each xclbin that Isthmus makes; it tells them from bitstreams."""
_NO_SIDES: streams.Sides = {}


class Bank(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A memory of the card or, with type ``host``, host memory that the card accesses."""

    name: str
    type: Literal["ddr3", "ddr4", "dram", "hbm", "bram", "uram", "host"] = "ddr4"
    size: int = 4 * _GI
    """Size in bytes."""
    address: int | None = None
    """Address of the first byte, above 0; None: behind the previous bank."""


class Timer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A clock of the card, with its frequency."""

    name: str
    type: Literal["data", "kernel", "system"] = "kernel"
    mhz: int = DATA_MHZ


class Design(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Description of an xclbin; ``build`` makes the file and computes the values that are None.

    Host memory is always added: without it a program that maps a host-only buffer dies in XRT's
    hardware emulation.
    """

    name: str = "isthmus"
    platform: str = "isthmus_any_1"
    """Vendor, board and shell, joined by ``_``: XRT's VBNV."""
    mode: ModeName = "hw"
    """Mode of the file; XRT's noop shim also takes ``hw``."""
    memories: tuple[Bank, ...] = (Bank("bank0"),)
    kernels: tuple[Kernel, ...] = ()
    connect: dict[str, tuple[str, ...]] = {}
    """Memories that ``INSTANCE.ARGUMENT`` accesses; the first memory by default.

    XRT's ``group_id`` is the last of these memories. XRT's OpenCL puts a buffer without a bank into
    the first memory that all arguments of all kernels access, and fails without such a memory.
    """
    stream_connect: tuple[str, ...] = ()
    """Streams as ``PRODUCER.ARGUMENT:CONSUMER.ARGUMENT[:DEPTH]``, with the depth in words."""
    clocks: tuple[Timer, ...] = (Timer("DATA_CLK", "data"), Timer("KERNEL_CLK", "kernel", 500))
    key_values: dict[str, str] = {}
    timestamp: int = 0
    """Seconds since 1970 at which the file was made."""

    @property
    def data_mhz(self) -> int:
        """Returns the clock of the kernels: the first of type ``data``, else the default."""
        return next((clock.mhz for clock in self.clocks if clock.type == "data"), DATA_MHZ)

    def at_clock(self, mhz: int) -> Design:
        """Returns the design with another clock of the kernels."""
        others = (clock for clock in self.clocks if clock.type != "data")
        name = next((clock.name for clock in self.clocks if clock.type == "data"), "DATA_CLK")
        return msgspec.structs.replace(self, clocks=(Timer(name, "data", mhz), *others))

    def for_mode(self, mode: ModeName) -> Design:
        """Returns the design for another mode."""
        return msgspec.structs.replace(self, mode=mode)

    def build(
        self,
        bitstream: bytes | None = None,
        *,
        sides: streams.Sides = _NO_SIDES,
        unconnected: bool = False,
    ) -> Xclbin:
        """Returns the xclbin; its UUID is a hash of its contents.

        Without a ``bitstream`` the file describes Isthmus's emulated card; for the vendor's hw_emu,
        ``bitstream`` may be the archive with the simulation. ``sides``: facts of streams that types
        do not tell. ``unconnected``: streams may lack a connection, as in a kernel that is built
        alone. Raises UsageError that names the wrong part for an impossible design.
        """
        _refuse_control_characters([self.name, self.platform, *(c.name for c in self.clocks)])
        memories = _memories(self.memories)
        if bitstream is None:
            _refuse_address_zero(memories)
        kernels = _placed([completed(kernel) for kernel in self.kernels])
        flows = streams.connected(self.stream_connect, kernels, sides)
        if bitstream is None and not unconnected:
            streams.refuse_unconnected(flows, kernels)
        kernels = streams.directed(kernels, flows)
        mode = Mode[self.mode.upper()]
        clocks = [Clock(c.name, ClockType[c.type.upper()], c.mhz) for c in self.clocks]
        units = _units(kernels)
        ips = [ip for ip, _ in units]
        connections = list(_connections(units, memories, self.connect))
        groups, group_connections = _grouped(memories, connections)
        xml = metadata.xml_of(
            kernels, platform=self.platform, name=self.name, mode=mode, clocks=clocks
        )
        topology = tables.encode(Memory, memories)
        connectivity = tables.encode(Connection, connections)
        sections = [
            Section(SectionKind.MEM_TOPOLOGY, topology, "mem_topology"),
            Section(SectionKind.CONNECTIVITY, connectivity, "connectivity"),
            Section(SectionKind.IP_LAYOUT, tables.encode(Ip, ips), "ip_layout"),
            Section(SectionKind.EMBEDDED_METADATA, xml, "metadata"),
            Section(SectionKind.BUILD_METADATA, MADE_BY, "build"),
            Section(SectionKind.CLOCK_FREQ_TOPOLOGY, tables.encode(Clock, clocks), "clocks"),
            Section(
                SectionKind.BITSTREAM,
                card.describe(memories, kernels, _reached(units, connections), flows, self.data_mhz)
                if bitstream is None
                else bitstream,
                "bitstream",
            ),
            Section(SectionKind.GROUP_TOPOLOGY, tables.encode(Memory, groups), "group_topology"),
            Section(
                SectionKind.GROUP_CONNECTIVITY,
                tables.encode(Connection, group_connections),
                "group_connect",
            ),
        ]
        if self.key_values:
            pairs = metadata.json_of_key_values(self.key_values)
            sections.append(Section(SectionKind.KEYVALUE_METADATA, pairs, "key_values"))
        header = Header(platform=self.platform, mode=mode, timestamp=self.timestamp)
        return Xclbin(header, tuple(sections)).with_own_uuid()


def _memories(banks: Iterable[Bank]) -> list[Memory]:
    """Returns the memories in the order of their numbers; adds host memory if there is none."""
    memories: list[Memory] = []
    for bank in banks:
        if bank.size <= 0 or bank.size % 1024:
            raise UsageError(f"memory {bank.name!r} has {bank.size} bytes: no multiple of 1 Ki")
        # XRT recognises host memory by its name.
        if (bank.type == "host") != bank.name.startswith("HOST["):
            raise UsageError(f"memory {bank.name!r}: host memory, and no other, is named HOST[0]")
        address = bank.address
        if address is None:
            address = _free_address(memories, bank.size, host=bank.type == "host")
        kind = MemoryType[bank.type.upper()]
        memories.append(Memory(bank.name, kind, bank.size // 1024, address))
    if not any(memory.type == MemoryType.HOST for memory in memories):
        address = _free_address(memories, _HOST_BYTES, host=True)
        memories.append(Memory("HOST[0]", MemoryType.HOST, _HOST_BYTES // 1024, address))
    _refuse_doubles("memory", [memory.name for memory in memories])
    _refuse_overlap((m.address, m.size, f"memory {m.name!r}") for m in memories)
    # Boards number their memories by type: on a U280, 0 to 31 are HBM, and 32 and 33 are DDR.
    return sorted(memories, key=lambda memory: _NUMBERED.get(memory.type, memory.type))


_NUMBERED: Mapping[int, int] = {MemoryType.HBM: -1}
"""Places of types in the order of memories; all other types have their numbers of ``xclbin.h``."""


def _refuse_address_zero(memories: Iterable[Memory]) -> None:
    """Raises UsageError if a memory of the emulated card has address 0."""
    if zero := next((m for m in memories if m.address == 0), None):
        raise UsageError(
            f"memory {zero.name!r} lies at address 0, where an argument that was never set points: "
            "give it an address above 0, or none"
        )


def _free_address(memories: Sequence[Memory], size: int, *, host: bool) -> int:
    """Returns the address behind the memories of one side (host or card), else behind all."""
    ends = [m.address + m.size for m in memories if (m.type == MemoryType.HOST) == host]
    first = max([_HOST_ADDRESS if host else _CARD_ADDRESS, *ends])
    if any(m.address < first + size and first < m.address + m.size for m in memories):
        return max(m.address + m.size for m in memories)
    return first


def completed(kernel: Kernel) -> Kernel:
    """Returns the kernel with sizes, offsets, ports and an instance as Vitis chooses them.

    Raises UsageError, with kernel and argument, for an impossible kernel.
    """
    controls = [c.name.lower() for c in Control]
    if kernel.control not in controls:
        raise UsageError(
            f"kernel {kernel.name}: no control {kernel.control!r}; choose {', '.join(controls)}"
        )
    arguments: list[Argument] = []
    next_offset = _FIRST_BEHIND_COUNTERS if kernel.auto_restart else _FIRST_ARGUMENT
    end = 0
    for index, argument in enumerate(kernel.arguments):
        done = _complete_argument(argument, index, next_offset, kernel)
        arguments.append(done)
        if done.qualifier != "stream":
            end = max(end, (done.offset or 0) + (done.size or 0))
            # The word behind each argument is reserved for control bits of the argument.
            next_offset = end + -end % 4 + 4
    _refuse_doubles(f"argument of {kernel.name}", [a.name for a in arguments])
    ports = {port.name: port for port in kernel.ports}
    for argument in arguments:
        name = argument.port or _CONTROL_PORT
        ports.setdefault(name, _port(name, argument))
    ports.setdefault(_CONTROL_PORT, _port(_CONTROL_PORT, None))
    kernel_with_ports = msgspec.structs.replace(
        kernel,
        arguments=tuple(arguments),
        ports=tuple(ports.values()),
        instances=kernel.instances or (Instance(f"{kernel.name}_1"),),
    )
    _refuse_control_characters(a.type for a in arguments)
    _refuse_control_characters([kernel.cycles or "", kernel.schedule or ""])
    _refuse_control_characters(text for p in kernel_with_ports.ports for text in (p.mode, p.type))
    end = max([end, *((a.offset or 0) + (a.size or 0) for a in work_arguments(kernel_with_ports))])
    if kernel_with_ports.address_range < _FIRST_ARGUMENT or end > kernel_with_ports.address_range:
        raise UsageError(f"kernel {kernel.name}: its arguments reach beyond its address range")
    return kernel_with_ports


def _complete_argument(argument: Argument, index: int, offset: int, kernel: Kernel) -> Argument:
    what = f"kernel {kernel.name}: argument {argument.name!r}"
    qualifier = argument.qualifier or _qualifier(argument.type)
    size = argument.size
    if size is None:
        size = _ADDRESS_BYTES
        if qualifier == "scalar":
            opencl = kernel.work_group is not None
            size = size_of(argument.type.removesuffix("&"), opencl=opencl)
    if size is None:
        raise UsageError(f"{what}: say its size, for that of {argument.type!r} is not known")
    if argument.offset is not None:
        offset = argument.offset
    elif qualifier == "stream":
        offset = 0
    if size <= 0 or offset < 0:
        raise UsageError(f"{what}: its size or offset cannot be")
    if argument.index not in {None, index}:
        raise UsageError(f"{what}: its index is {index}, its place in the list")
    ports = {"global": _MEMORY_PORT, "constant": _MEMORY_PORT, "stream": f"AXIS_{argument.name}"}
    port = argument.port or ports.get(qualifier, _CONTROL_PORT)
    return Argument(argument.name, argument.type, qualifier, size, offset, port, index)


def _qualifier(type_name: str) -> Qualifier:
    if type_name.startswith("hls::stream"):
        return "stream"
    return "global" if type_name.endswith("*") else "scalar"


def _port(name: str, argument: Argument | None) -> Port:
    if argument is not None and argument.qualifier == "stream":
        return Port(name, "read_only", "stream")
    if name == _CONTROL_PORT:
        return Port(name, "slave", range=0x10000, data_width=32)
    return Port(name)


def _placed(kernels: list[Kernel]) -> list[Kernel]:
    """Returns kernels with an address for each instance; gaps between addresses stay unused."""
    instances = [(i, k) for k in kernels for i in k.instances]
    for kernel in kernels:
        for named in (kernel, *kernel.arguments, *kernel.instances, *kernel.ports):
            if not _NAME.fullmatch(named.name):
                raise UsageError(f"kernel {kernel.name!r}: {named.name!r} is no name in C")
    _refuse_doubles("kernel", [kernel.name for kernel in kernels])
    _refuse_doubles("instance", [instance.name for instance, _ in instances])
    end = max([_FIRST_INSTANCE, *(i.address + k.address_range for i, k in instances if i.address)])
    placed: list[Kernel] = []
    for kernel in kernels:
        span = kernel.address_range
        units = []
        for instance in kernel.instances:
            address = instance.address
            if address is None:
                address = end + -end % span
                end = address + span
            units.append(Instance(instance.name, address))
        placed.append(msgspec.structs.replace(kernel, instances=tuple(units)))
    _refuse_overlap(
        (i.address or 0, k.address_range, f"instance {i.name!r}")
        for k in placed
        for i in k.instances
    )
    return placed


def _units(kernels: list[Kernel]) -> list[tuple[Ip, Kernel]]:
    """Returns the instances as IPs, sorted by address as the format requires."""
    units = [
        (
            Ip.kernel(
                f"{kernel.name}:{instance.name}",
                instance.address or 0,
                Control[kernel.control.upper()],
                interrupt=kernel.interrupt,
            ),
            kernel,
        )
        for kernel in kernels
        for instance in kernel.instances
    ]
    return sorted(units, key=lambda unit: unit[0].address)


def _connections(
    units: list[tuple[Ip, Kernel]], memories: list[Memory], connect: Mapping[str, tuple[str, ...]]
) -> Iterator[Connection]:
    rows = {memory.name: row for row, memory in enumerate(memories)}
    left = dict(connect)
    for row, (ip, kernel) in enumerate(units):
        instance = ip.name.partition(":")[2]
        for index, argument in enumerate(kernel.arguments):
            if argument.qualifier not in {"global", "constant"}:
                continue
            for name in left.pop(f"{instance}.{argument.name}", (memories[0].name,)):
                if name not in rows:
                    raise UsageError(f"no memory {name!r}; there are {', '.join(rows)}")
                yield Connection(index, row, rows[name])
    if left:
        raise UsageError(f"no INSTANCE.ARGUMENT {next(iter(left))!r} that reaches memory")


def _reached(
    units: Sequence[tuple[Ip, Kernel]], connections: Iterable[Connection]
) -> dict[tuple[str, int], list[int]]:
    """Returns rows of the memories that each argument reaches, by instance and argument."""
    found: dict[tuple[str, int], list[int]] = {}
    for connection in connections:
        instance = units[connection.ip][0].name.partition(":")[2]
        found.setdefault((instance, connection.argument), []).append(connection.memory)
    return found


def _grouped(
    memories: Sequence[Memory], connections: Sequence[Connection]
) -> tuple[list[Memory], list[Connection]]:
    """Returns the sections by which XRT places buffers: memories, groups, and connections of both.

    Consecutive pseudo-channels of HBM that one argument accesses form a group, as AMD's linker
    makes it (``XclBinUtilities.cxx``, ``MBG``): a buffer may lie in several of them. Each memory
    also keeps its own connection: XRT's OpenCL refuses a bank that is only in a group.
    """
    groups, of_groups = list(memories), list[Connection]()
    reached: dict[tuple[int, int], list[int]] = {}
    for connection in connections:
        reached.setdefault((connection.argument, connection.ip), []).append(connection.memory)
    for (argument, ip), rows in reached.items():
        memories_of_argument = [memories[row] for row in sorted(rows)]
        behind = all(a.address + a.size == b.address for a, b in pairwise(memories_of_argument))
        if (
            len(memories_of_argument) > 1
            and behind
            and all(m.type == MemoryType.HBM for m in memories_of_argument)
        ):
            name = f"MBG[{min(rows)}:{max(rows)}]"
            size = sum(memory.size_kib for memory in memories_of_argument)
            group = Memory(name, MemoryType.HBM, size, memories_of_argument[0].address)
            if group not in groups:
                groups.append(group)
            rows.append(groups.index(group))
        of_groups += [Connection(argument, ip, row) for row in rows]
    return groups, of_groups


def _refuse_doubles(what: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UsageError(f"{what} {name!r} is there twice")
        seen.add(name)


def _refuse_overlap(spans: Iterable[tuple[int, int, str]]) -> None:
    for (start, size, before), (next_start, _, what) in pairwise(sorted(spans)):
        if next_start < start + size:
            raise UsageError(f"{what} lies at {next_start:#x}, inside {before}")


def _refuse_control_characters(texts: Iterable[str]) -> None:
    """Raises UsageError for control characters, which XML cannot contain."""
    for text in texts:
        if not text.isprintable():
            raise UsageError(f"{text!r} has characters that do not print")


EMPTY = Kernel("isthmus_empty")
VADD = Kernel(
    "vadd",
    (
        Argument("in1", "int*"),
        Argument("in2", "int*"),
        Argument("out", "int*"),
        Argument("size", "unsigned int"),
    ),
)
TRANSFER = Design(name="transfer", memories=(Bank("bank0"), Bank("bank1")), kernels=(EMPTY, VADD))
"""Two banks, host memory, an empty kernel and a kernel that adds two vectors."""


def transfer_default(mode: ModeName = "hw") -> Xclbin:
    """Returns a design for timing transfers: banks, host memory, and kernels.

    Programs can open the kernels by their names; XRT's noop shim executes nothing.
    """
    return TRANSFER.for_mode(mode).build()
