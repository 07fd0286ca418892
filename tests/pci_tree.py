"""Writes a captured machine: the files of ``/proc`` and ``/sys`` that checks read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MI, GI = 1 << 20, 1 << 30
CORRECTABLE = (
    "RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF",
)  # fmt: skip
KINDS = {"endpoint": 0, "root port": 4, "switch upstream": 5, "switch downstream": 6}
REDIRECTS = 0b1100
"""ACS control: peers' requests and completions go by way of the root."""
EGRESS = 0b100000
"""ACS control that sends nothing by way of the root."""
_HEXADECIMAL = " (hexadecimal)"
_EXPRESS, _AER, _ACS, _REBAR = 0x60, 0x100, 0x140, 0x160


@dataclass(frozen=True)
class Port:
    """A PCIe function as its registers and sysfs have it; defaults are those of a healthy one."""

    kind: str = "endpoint"
    speed: float = 16.0
    most_speed: float = 16.0
    lanes: int = 16
    most_lanes: int = 16
    payload: int = 256
    most_payload: int = 512
    read_request: int = 512
    relaxed_ordering: bool = True
    extended_tags: bool = True
    can_extended_tags: bool = True
    acs: int = 0
    correctable: Mapping[str, int] | None = field(default_factory=dict)
    """None: the kernel counts none."""
    uncorrectable: Mapping[str, int] = field(default_factory=dict)
    seen: int = 0
    """AER's Correctable Error Status."""
    class_code: str = "120000"
    runtime_status: str = "active"

    def configuration(self, rebar: tuple[int, int] | None = None) -> bytes:
        """The 4 KiB that root reads; ``rebar``: index of a BAR and its largest size."""
        space = bytearray(4096)

        def put(at: int, value: int, size: int = 2) -> None:
            space[at : at + size] = value.to_bytes(size, "little")

        put(0x34, 0x40, 1)
        put(0x40, 0x01 | _EXPRESS << 8)  # power management, then PCI Express
        put(_EXPRESS, 0x10)
        put(_EXPRESS + 2, 2 | KINDS[self.kind] << 4)
        put(_EXPRESS + 4, _log(self.most_payload // 128) | self.can_extended_tags << 5, 4)
        put(
            _EXPRESS + 8,
            self.relaxed_ordering << 4 | _log(self.payload // 128) << 5
            | self.extended_tags << 8 | _log(self.read_request // 128) << 12,
        )  # fmt: skip
        put(_AER, 0x0001 | 2 << 16 | _ACS << 20, 4)
        put(_AER + 0x10, self.seen, 4)
        put(_ACS, 0x000D | 1 << 16 | _REBAR << 20, 4)
        put(_ACS + 4, 0x1F)
        put(_ACS + 6, self.acs)
        if rebar:
            index, most = rebar
            put(_REBAR, 0x0015 | 1 << 16, 4)
            put(_REBAR + 4, 1 << (4 + _log(most // MI)), 4)
            put(_REBAR + 8, index | 1 << 5, 4)
        return bytes(space)


def _log(value: int) -> int:
    return value.bit_length() - 1


@dataclass(frozen=True)
class Card:
    """A card: its own port, the ports above it up to the root, and what sysfs says of it."""

    port: Port = Port()
    above: Sequence[Port] = (Port("root port"),)
    address: str = "0000:03:00.0"
    node: int = 0
    iommu: str = "identity"
    """Empty: no IOMMU is on."""
    bars: Sequence[int] = (64 * MI, 32 * GI)
    rebar: tuple[int, int] | None = None
    driver: str = "vfio-pci"
    dma_bits: int = 64
    power_state: str = "D0"
    runtime_status: str = "active"
    runtime_control: str = "on"
    virtual_function: bool = False
    """Of a card that is shared between guests (SR-IOV)."""


@dataclass(frozen=True)
class Machine:
    """A machine; defaults are those of one that is ready to measure."""

    nodes: Sequence[str] = ("0-15",)
    governor: str = "performance"
    """Empty: the machine shows none."""
    driver: str = "acpi-cpufreq"
    """What sets the processor's frequency."""
    energy: str = ""
    idle: Mapping[str, int] = field(default_factory=lambda: {"POLL": 0, "C1": 2, "C1E": 10})
    idle_disabled: Sequence[str] = ()
    virtual: bool = False
    steal_ticks: int = 0
    locked_memory: str = "unlimited"
    command_line: str = "quiet"
    memory: int = 256 * GI


def write(
    root: Path, card: Card | None = None, machine: Machine | None = None, *, as_root: bool = True
) -> Path:
    """Writes both below a folder, as root or another user reads them; returns the folder."""
    card, machine = card or Card(), machine or Machine()
    _write_machine(root, machine)
    ports = [*reversed(card.above), card.port]
    folder = root / "sys/devices/pci0000:00"
    for i, port in enumerate(ports):
        last = i + 1 == len(ports)
        address = card.address if last else f"0000:{i:02x}:01.0"
        folder /= address
        bars = card.bars if last else ()
        _write_port(folder, port, bars, port.configuration(card.rebar if last else None), as_root)
        _link(root / "sys/bus/pci/devices" / address, folder)
    for name, text in {
        "numa_node": card.node, "dma_mask_bits": card.dma_bits, "power_state": card.power_state,
        "power/runtime_status": card.runtime_status, "power/control": card.runtime_control,
    }.items():  # fmt: skip
        _put(folder / name, str(text))
    if card.virtual_function:
        (folder / "physfn").symlink_to("../0000:03:00.1")
    (folder / "driver").symlink_to(f"../../../../bus/pci/drivers/{card.driver}")
    if card.iommu:
        group = root / "sys/kernel/iommu_groups/7"
        _put(group / "type", card.iommu)
        _put(root / "sys/class/iommu/dmar0/name", "")
        (folder / "iommu_group").symlink_to(group)
    return root


def unpack(capture: Path, root: Path) -> Path:
    """Writes a captured machine below a folder; returns the folder.

    Its file has "== PATH", then the lines of that file, in hexadecimal where the path says so; or
    "== PATH -> TARGET" for a symbolic link.
    """
    for part in capture.read_text(encoding="utf-8").split("\n== ")[1:]:
        head, _, text = part.partition("\n")
        path, _, target = head.partition(" -> ")
        file = root / path.removesuffix(_HEXADECIMAL)
        file.parent.mkdir(parents=True, exist_ok=True)
        if target:
            file.symlink_to(target)
        elif head.endswith(_HEXADECIMAL):
            file.write_bytes(bytes.fromhex(text))
        else:
            _put(file, text)
    return root


def _write_port(
    folder: Path, port: Port, bars: Sequence[int], configuration: bytes, as_root: bool
) -> None:
    at = GI
    windows = []
    for size in bars:
        windows.append(f"0x{at:016x} 0x{at + size - 1:016x} 0x000000000014220c")
        at += size
    counted = port.correctable
    for name, text in {
        "vendor": "0x10ee", "device": "0x5020", "class": f"0x{port.class_code}",
        "current_link_speed": f"{port.speed} GT/s PCIe",
        "max_link_speed": f"{port.most_speed} GT/s PCIe",
        "current_link_width": port.lanes, "max_link_width": port.most_lanes,
        "power/runtime_status": port.runtime_status,
        "resource": "\n".join([*windows, *["0x0 0x0 0x0"] * (6 - len(windows))]),
    }.items():  # fmt: skip
        _put(folder / name, str(text))
    if counted is not None:
        lines = [f"{name} {counted.get(name, 0)}" for name in CORRECTABLE]
        _put(folder / "aer_dev_correctable", "\n".join([*lines, "TOTAL_ERR_COR 99"]))
        lines = [f"{name} {count}" for name, count in port.uncorrectable.items()]
        _put(folder / "aer_dev_nonfatal", "\n".join([*lines, "TOTAL_ERR_NONFATAL 99"]))
    (folder / "config").write_bytes(configuration if as_root else configuration[:64])


def _write_machine(root: Path, machine: Machine) -> None:
    flags = "fpu sse2 hypervisor" if machine.virtual else "fpu sse2"
    cpus = root / "sys/devices/system/cpu/cpu0"
    _put(root / "proc/cpuinfo", f"model name\t: A processor\nflags\t\t: {flags}\n\n")
    _put(root / "proc/cmdline", machine.command_line)
    _put(root / "proc/loadavg", "0.10 0.10 0.10 1/99 7")
    _put(root / "proc/meminfo", f"MemTotal: {machine.memory // 1024} kB")
    _put(root / "proc/stat", f"cpu  10000 0 1000 89000 0 0 0 {machine.steal_ticks} 0 0")
    limit = machine.locked_memory
    _put(root / "proc/self/limits", f"Max locked memory         {limit}   {limit}   bytes")
    for i, list_of_cpus in enumerate(machine.nodes):
        _put(root / f"sys/devices/system/node/node{i}/cpulist", list_of_cpus)
    if machine.governor:
        _put(cpus / "cpufreq/scaling_governor", machine.governor)
        _put(cpus / "cpufreq/scaling_driver", machine.driver)
    if machine.energy:
        _put(cpus / "cpufreq/energy_performance_preference", machine.energy)
    for i, (name, latency) in enumerate(machine.idle.items()):
        state = cpus / f"cpuidle/state{i}"
        _put(state / "name", name)
        _put(state / "latency", str(latency))
        _put(state / "disable", "1" if name in machine.idle_disabled else "0")


def _put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"{text}\n", encoding="utf-8")


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
