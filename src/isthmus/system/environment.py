"""The machine that measures, as a run file records it."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import socket
import subprocess
from pathlib import Path

import psutil

_SYS_CPU = Path("/sys/devices/system/cpu")

_PCI_HEADER_BYTES = 64
_PCI_EXPRESS = 0x10
"""Id of a PCI function's capability."""


def _text(path: Path | str) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return Path(path).read_text(encoding="utf-8").strip()
    return ""


def _cpu_info() -> dict[str, str]:
    info: dict[str, str] = {}
    for line in _text("/proc/cpuinfo").split("\n\n", maxsplit=1)[0].splitlines():
        key, _, value = line.partition(":")
        info[key.strip()] = value.strip()
    return info


def is_virtualised() -> bool:
    """Whether the processor reports a hypervisor."""
    return "hypervisor" in _cpu_info().get("flags", "").split()


def _idle_states() -> list[str]:
    states = sorted((_SYS_CPU / "cpu0" / "cpuidle").glob("state*/name"))
    return [_text(state) for state in states]


def _turbo() -> str:
    no_turbo = _text(_SYS_CPU / "intel_pstate" / "no_turbo")
    boost = _text(_SYS_CPU / "cpufreq" / "boost")
    if no_turbo:
        return "off" if no_turbo == "1" else "on"
    return {"0": "off", "1": "on"}.get(boost, "unknown")


def host() -> dict[str, object]:
    """Host, processor, kernel, memory, power settings; "unknown" where the machine hides them."""
    cpu = _cpu_info()
    nodes = sorted(Path("/sys/devices/system/node").glob("node[0-9]*"))
    return {
        "host": socket.gethostname(),
        "cpu": cpu.get("model name", platform.processor()),
        "microcode": cpu.get("microcode", "unknown"),
        "logical_cpus": os.cpu_count(),
        "usable_cpus": sorted(os.sched_getaffinity(0)),
        "virtualised": is_virtualised(),
        "kernel": platform.release(),
        "kernel_command_line": _text("/proc/cmdline"),
        "distribution": _distribution(),
        "libc": " ".join(platform.libc_ver()),
        "memory_bytes": psutil.virtual_memory().total,
        "memory_available_bytes": psutil.virtual_memory().available,
        "numa_nodes": {n.name: _text(n / "cpulist") for n in nodes},
        "transparent_huge_pages": _chosen(_text("/sys/kernel/mm/transparent_hugepage/enabled")),
        "governor": _text(_SYS_CPU / "cpu0" / "cpufreq" / "scaling_governor") or "unknown",
        "turbo": _turbo(),
        "idle_states": _idle_states() or "unknown",
        "clocksource": _text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "load_average": list(os.getloadavg()),
        "python": platform.python_version(),
        "locked_memory_limit": _locked_memory_limit(),
    }


def _chosen(text: str) -> str:
    match = re.search(r"\[(\w+)]", text)
    return match[1] if match else "unknown"


def _locked_memory_limit() -> str:
    for line in _text("/proc/self/limits").splitlines():
        if line.startswith("Max locked memory"):
            return line.split()[3]
    return "unknown"


def _distribution() -> str:
    with contextlib.suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    return "unknown"


def steal_seconds() -> float:
    """Processor time that a hypervisor took from this machine since it booted."""
    return float(getattr(psutil.cpu_times(), "steal", 0.0))


def pcie_payloads(configuration: bytes) -> dict[str, str]:
    """Largest payload and read request in bytes, as set in a function's configuration space.

    Source: PCI Express Base Specification, capability 0x10, Device Control at offset 8: bits 7:5
    and 14:12, each 128 bytes shifted. Empty without that capability, or where it was not readable.
    """
    at = configuration[0x34] & ~3 if len(configuration) > _PCI_HEADER_BYTES else 0
    seen: set[int] = set()
    while at and at not in seen and at + 10 <= len(configuration):
        seen.add(at)
        if configuration[at] == _PCI_EXPRESS:
            control = int.from_bytes(configuration[at + 8 : at + 10], "little")
            return {
                "max_payload_bytes": str(128 << (control >> 5 & 7)),
                "max_read_request_bytes": str(128 << (control >> 12 & 7)),
            }
        at = configuration[at + 1] & ~3
    return {}


def pcie_link(address: str) -> dict[str, str]:
    """Properties of the PCIe function at ``dddd:bb:dd.f`` from sysfs: link, payloads, IOMMU group.

    Payload and read request sizes stand in its configuration space, which only root may read
    beyond the first 64 bytes.
    """
    device = Path("/sys/bus/pci/devices") / address
    names = ("current_link_speed", "current_link_width", "max_link_speed", "max_link_width")
    attributes = {name: _text(device / name) for name in names}
    with contextlib.suppress(OSError):
        attributes["iommu_group"] = (device / "iommu_group").resolve(strict=True).name
        attributes["numa_node"] = _text(device / "numa_node")
    with contextlib.suppress(OSError):
        attributes |= pcie_payloads((device / "config").read_bytes())
    return (
        {"address": address, **{k: v for k, v in attributes.items() if v}}
        if any(attributes.values())
        else {}
    )


def commit() -> str:
    """Commit that this Isthmus was checked out at, with "+" when changed; empty when installed."""
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return ""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        git = ["git", "-C", str(root)]
        head = subprocess.run(
            [*git, "rev-parse", "HEAD"], capture_output=True, text=True, timeout=5, check=True
        ).stdout.strip()
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True, text=True, timeout=5, check=True,
        ).stdout.strip()  # fmt: skip
        return head + ("+" if changed else "")
    return ""
