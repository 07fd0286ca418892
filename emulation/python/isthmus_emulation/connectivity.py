"""Reads the configuration files of AMD's linker: instances of kernels, their memories, streams."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from isthmus.errors import UsageError
from isthmus.units import parse_size
from isthmus_emulation.xclbin import Bank, Design, Instance, Kernel
from isthmus_emulation.xclbin.design import HBM_BANKS

_GROUP = re.compile(r"([A-Za-z]+)\[(\d+)(?::(\d+))?\](?:\.\S*)?")
_WITHOUT_BRACKETS = re.compile(r"(bank|HBM|DDR|PLRAM|HOST)(\d+)")
_KINDS = {
    "HBM": ("hbm", "256Mi", HBM_BANKS),
    "DDR": ("ddr4", "16Gi", 4),
    "PLRAM": ("bram", "128Ki", 0),
    "HOST": ("host", "16Gi", 0),
}
"""Type, size and least number of banks of each kind, in the order in which boards number them."""
_DDR_BESIDE_HBM = 2
"""Banks of DDR behind the HBM of a U280: its programs call memories 32 and 33 DDR[0] and DDR[1]."""
_MOST = 64
_SECTIONS = {
    "advanced", "aie", "clock", "connectivity", "debug", "emconfig", "hls", "linkhook", "package",
    "profile", "vivado",
}  # fmt: skip
"""Sections of configuration files (UG1702, configuration file)."""
_PORT_EACH = {"m_axi_auto_max_ports", "max_memory_ports"}
"""Keys of ``[hls]`` that give each pointer a port: ``m_axi...`` is Vitis HLS's, the other v++'s."""
_OF_HARDWARE = {"connect", "noc.connect", "noc.read_bw", "noc.write_bw", "slr"}
"""Keys of ``[connectivity]`` for hardware only, which the emulation ignores."""


@dataclass
class Connectivity:
    """The contents of ``[connectivity]`` of configuration files, in their notation."""

    instances: dict[str, list[str]] = field(default_factory=dict)
    """Key ``nk``: names of instances, by kernel."""
    memories: dict[str, list[str]] = field(default_factory=dict)
    """Key ``sp``: memories, by ``INSTANCE.ARGUMENT`` or ``INSTANCE.m_axi_BUNDLE``."""
    streams: list[str] = field(default_factory=list)
    """Key ``stream_connect``: streams, by both ends."""
    port_each: bool = False
    """Key ``m_axi_auto_max_ports``: each pointer without a bundle has a port to memory."""

    def applied(self, design: Design) -> Design:
        """Returns the design with these instances, connections and memories; raises UsageError."""
        kernels = tuple(self._with_instances(kernel) for kernel in design.kernels)
        there = {kernel.name for kernel in kernels}
        if unknown := next((name for name in self.instances if name not in there), None):
            names = ", ".join(sorted(there))
            raise UsageError(
                f"nk={unknown}: no kernel of that name is built here; there are {names}"
            )
        changed = msgspec.structs.replace(
            design, kernels=kernels, stream_connect=(*design.stream_connect, *self.streams)
        )
        if not self.memories:
            return changed
        own = {bank.name for bank in named_memories(design)}
        most: dict[str, int] = {}
        for place, memory in ((p, m) for p, each in self.memories.items() for m in each):
            group = _GROUP.fullmatch(memory)
            if group and group[1] in _KINDS:
                most[group[1]] = max(most.get(group[1], 0), int(group[2]) + 1)
            elif memory not in own:
                kinds = ", ".join([*(f"{kind}[N]" for kind in _KINDS), *sorted(own)])
                raise UsageError(f"sp={place}:{memory}: no such memory; there are {kinds}")
        banks = _banks(most) if most else []
        return with_memories(changed, banks, dict(self._connections(kernels)))

    def _behind(self, port: str, kernel: Kernel) -> list[str]:
        """Returns the kernel's arguments behind a port to memory.

        Arguments without a bundle share M_AXI_GMEM, which Vitis HLS calls M_AXI_GMEM0 since 2021.1
        (UG1399, MAXI). Each has a separate port, M_AXI_GMEM0, M_AXI_GMEM1 and so on, if a
        configuration sets ``m_axi_auto_max_ports`` or names M_AXI_GMEM1 or above.
        """
        pointers = [a for a in kernel.arguments if a.type.endswith("*")]
        if named := [a.name for a in pointers if (a.port or _GMEM) == port]:
            return named
        shared = [a.name for a in pointers if a.port in {None, _GMEM}]
        numbered = {f"{_GMEM}{n}": name for n, name in enumerate(shared)}
        instances = {i.name for i in self._with_instances(kernel).instances}
        asked = {
            place.partition(".")[2].upper()
            for place in self.memories
            if place.partition(".")[0] in instances
        }
        apart = self.port_each or any(name in asked for name in list(numbered)[1:])
        if not apart:
            return shared if port == f"{_GMEM}0" else []
        return [numbered[port]] if port in numbered else []

    def _with_instances(self, kernel: Kernel) -> Kernel:
        names = self.instances.get(kernel.name)
        made = tuple(map(Instance, names)) if names else kernel.instances
        return msgspec.structs.replace(kernel, instances=made or (Instance(f"{kernel.name}_1"),))

    def _connections(self, kernels: Iterable[Kernel]) -> Iterable[tuple[str, tuple[str, ...]]]:
        kernel_of = {i.name: kernel for kernel in kernels for i in kernel.instances}
        for place, memories in self.memories.items():
            instance, _, argument = place.partition(".")
            if instance not in kernel_of:
                names = ", ".join(kernel_of)
                raise UsageError(f"sp={place}: no instance {instance}; there are {names}")
            kernel = kernel_of[instance]
            arguments = kernel.arguments
            reached = [a.name for a in arguments if a.name == argument]
            reached = reached or self._behind(argument.upper(), kernel)
            if not reached:
                there = [a for a in arguments if a.type.endswith("*")]
                ports = [(a.port or _GMEM).lower() for a in there]
                names = ", ".join(dict.fromkeys([*(a.name for a in there), *ports]))
                raise UsageError(
                    f"sp={place}: no argument or port {argument} that reaches memory; "
                    f"there are {names or 'none'}"
                )
            for name in reached:
                yield f"{instance}.{name}", tuple(memories)


_GMEM = "M_AXI_GMEM"


def named_memories(design: Design) -> tuple[Bank, ...]:
    """Returns the memories that the design's connections name; empty if they name none."""
    return () if design.memories == Design().memories else design.memories


def with_memories(
    design: Design, banks: Iterable[Bank], connect: Mapping[str, tuple[str, ...]]
) -> Design:
    """Appends these memories to the design's memories, and sets these connections."""
    own = named_memories(design)
    there = {bank.name for bank in own}
    memories = (*own, *(bank for bank in banks if bank.name not in there))
    return msgspec.structs.replace(
        design, memories=memories or design.memories, connect={**design.connect, **connect}
    )


def load(paths: Iterable[Path]) -> Connectivity:
    """Reads configuration files; ignores placement, clocks and options of the compiler.

    Raises UsageError with the line that cannot be read.
    """
    connectivity = Connectivity()
    for path in paths:
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text"
            raise UsageError(f"{path}: {reason}") from error
        section = ""
        for number, line in enumerate(lines, 1):
            text = line.partition("#")[0].strip()
            try:
                section = _section(text) if text.startswith("[") else section
                _read(connectivity, section, text)
            except ValueError:
                raise UsageError(f"{path}, line {number}: cannot read '{text}'") from None
    return connectivity


def _section(text: str) -> str:
    name = text.strip("[] ").lower()
    if name.partition(".")[0] not in _SECTIONS:
        raise ValueError
    return name


def _read(connectivity: Connectivity, section: str, text: str) -> None:
    key, _, value = (part.strip() for part in text.partition("="))
    if not text or text.startswith("["):
        return
    if section == "connectivity" or key.startswith("connectivity."):
        _take(connectivity, key.removeprefix("connectivity."), value)
    elif key.rpartition(".")[2] in _PORT_EACH:
        connectivity.port_each = value.lower() in {"1", "true", "all", "kernel"}
    elif not section and key in {"nk", "sp", "sc", "stream_connect"}:
        raise UsageError(f"'{text}' stands in no section: write [connectivity] above it")


def _take(connectivity: Connectivity, key: str, value: str) -> None:
    if key == "nk":
        kernel, *rest = value.split(":")
        count = int(rest[0]) if rest else 1
        names = re.split("[.,]", rest[1]) if len(rest) > 1 else []
        if not 0 < count <= _MOST or (names and len(names) != count):
            raise ValueError
        connectivity.instances[kernel] = names or [f"{kernel}_{n + 1}" for n in range(count)]
    elif key == "sp":
        place, _, memory = value.partition(":")
        if "." not in place or not memory:
            raise ValueError
        connectivity.memories.setdefault(place, []).extend(_named(memory))
    elif key in {"sc", "stream_connect"}:
        connectivity.streams.append(value)
    elif key not in _OF_HARDWARE:
        raise ValueError


def _named(memory: str) -> list[str]:
    """Returns the memories that a name stands for: four for ``HBM[0:3]``.

    ``PLRAM3`` means PLRAM[3]; ``bank1`` is the older name of DDR[1].
    """
    if old := _WITHOUT_BRACKETS.fullmatch(memory):
        memory = f"{'DDR' if old[1] == 'bank' else old[1]}[{old[2]}]"
    group = _GROUP.fullmatch(memory)
    if group is None:
        return [memory]
    first, last = int(group[2]), int(group[3] or group[2])
    if last < first or last >= _MOST:
        raise ValueError
    return [f"{group[1]}[{n}]" for n in range(first, last + 1)]


def _banks(most: dict[str, int]) -> list[Bank]:
    """Returns banks, numbered from 0 as on a board; ``most``: least count of each kind."""
    hbm = "HBM" in most
    # A board with HBM alone has no DDR[0], in which arguments without a memory would lie.
    first = [] if hbm or "DDR" in most else [Bank("bank0", size=parse_size(_KINDS["DDR"][1]))]
    return first + [
        msgspec.convert({"name": f"{kind}[{n}]", "type": type_name, "size": parse_size(size)}, Bank)
        for kind, (type_name, size, least) in _KINDS.items()
        if kind in most
        for n in range(max(most[kind], _DDR_BESIDE_HBM if kind == "DDR" and hbm else least))
    ]
