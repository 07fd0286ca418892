"""Reads the state of the machine for the run file."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import socket
import subprocess
from pathlib import Path
from typing import Any

from isthmus.system.files import text

_ROOT = Path("/")
_CAP_IPC_LOCK = 14
"""Number of the capability in ``linux/capability.h``."""
_CPU = "sys/devices/system/cpu"


def _cpu_info(root: Path) -> dict[str, str]:
    info: dict[str, str] = {}
    for line in text(root / "proc/cpuinfo").split("\n\n", maxsplit=1)[0].splitlines():
        key, _, value = line.partition(":")
        info[key.strip()] = value.strip()
    return info


def is_virtualised(root: Path = _ROOT) -> bool:
    """Whether the processor reports a hypervisor."""
    return "hypervisor" in _cpu_info(root).get("flags", "").split()


def _idle_states(root: Path, *, allowed: bool = False) -> dict[str, int]:
    """Exit latency of each idle state in microseconds; with ``allowed``, of enabled states only."""
    states = sorted((root / _CPU / "cpu0/cpuidle").glob("state*"))
    return {
        text(state / "name"): int(text(state / "latency") or "0")
        for state in states
        if not allowed or text(state / "disable") != "1"
    }


def _turbo(root: Path) -> str:
    no_turbo = text(root / _CPU / "intel_pstate/no_turbo")
    boost = text(root / _CPU / "cpufreq/boost")
    if no_turbo:
        return "off" if no_turbo == "1" else "on"
    return {"0": "off", "1": "on"}.get(boost, "unknown")


def _memory_bytes(root: Path, name: str) -> int:
    match = re.search(rf"^{name}:\s+(\d+) kB", text(root / "proc/meminfo"), re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def _processor_times(root: Path) -> tuple[float, float]:
    """Seconds since start in which processors were busy, and the part that a hypervisor took.

    ``idle`` and ``iowait`` are not busy: an idle processor loses nothing to the hypervisor's other
    guests (proc_stat(5)).
    """
    times = [int(word) for word in text(root / "proc/stat").partition("\n")[0].split()[1:9]]
    tick = os.sysconf("SC_CLK_TCK")
    return (sum(times) - sum(times[3:5])) / tick, (times[7] if len(times) > 7 else 0) / tick


def _load_average(root: Path) -> list[float]:
    """Mean number of programs that run or wait for a processor or disk, in 1, 5 and 15 minutes.

    Empty if unknown.

    Source: proc_loadavg(5).
    """
    words = text(root / "proc/loadavg").split()[:3]
    return [float(word) for word in words if re.fullmatch(r"\d+\.\d+", word)]


def host(root: Path = _ROOT) -> dict[str, Any]:
    """Facts about host, processor, kernel, memory and power settings, by name.

    A fact that the machine hides is "unknown".

    ``root`` is the folder with ``proc`` and ``sys``, of this machine or captured from another.
    Values that are not read from files are always those of this machine and process.
    """
    cpu = _cpu_info(root)
    power = root / _CPU / "cpu0/cpufreq"
    nodes = sorted((root / "sys/devices/system/node").glob("node[0-9]*"))
    busy_s, stolen_s = _processor_times(root)
    return {
        "host": socket.gethostname(),
        "cpu": cpu.get("model name") or platform.processor(),
        "microcode": cpu.get("microcode", "unknown"),
        "logical_cpus": os.cpu_count(),
        "usable_cpus": sorted(os.sched_getaffinity(0)),
        "virtualised": is_virtualised(root),
        "kernel": platform.release(),
        "kernel_command_line": text(root / "proc/cmdline"),
        "distribution": _distribution(),
        "libc": " ".join(platform.libc_ver()),
        "memory_bytes": _memory_bytes(root, "MemTotal"),
        "memory_available_bytes": _memory_bytes(root, "MemAvailable"),
        "numa_nodes": {n.name: text(n / "cpulist") for n in nodes},
        "transparent_huge_pages": _chosen(
            text(root / "sys/kernel/mm/transparent_hugepage/enabled")
        ),
        "governor": text(power / "scaling_governor") or "unknown",
        "governors": sorted(
            {text(file) for file in (root / _CPU).glob("cpu[0-9]*/cpufreq/scaling_governor")}
        ),
        "frequency_driver": text(power / "scaling_driver"),
        "energy_preference": text(power / "energy_performance_preference"),
        "turbo": _turbo(root),
        "idle_states": list(_idle_states(root)) or "unknown",
        "idle_exit_us": _idle_states(root, allowed=True),
        "clocksource": text(
            root / "sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        "load_average": _load_average(root),
        "steal_share_of_busy": stolen_s / busy_s if busy_s else 0.0,
        "iommus": len(list((root / "sys/class/iommu").glob("*"))),
        "python": platform.python_version(),
        "locked_memory_limit": _locked_memory_limit(root),
        "locks_without_limit": _locks_without_limit(root),
    }


def _chosen(among: str) -> str:
    match = re.search(r"\[(\w+)]", among)
    return match[1] if match else "unknown"


def _locked_memory_limit(root: Path) -> str:
    for line in text(root / "proc/self/limits").splitlines():
        if line.startswith("Max locked memory"):
            return line.split()[3]
    return "unknown"


def _locks_without_limit(root: Path) -> bool:
    """Whether this process has CAP_IPC_LOCK, so that no limit applies (mlock(2))."""
    for line in text(root / "proc/self/status").splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_IPC_LOCK & 1)
    return False


def _distribution() -> str:
    with contextlib.suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    return "unknown"


def counters(when: str, root: Path = _ROOT) -> dict[str, float]:
    """Reads the counters that a run compares before and after; ``when`` ends their names.

    Counters begin with the start of the machine and are summed over processors:

    - ``busy``: seconds in which processors had work
    - ``steal``: seconds of ``busy`` that a hypervisor took
    - ``throttled``: times that heat lowered a clock; several processors count the same event
    """
    counts = [
        text(file)
        for name in ("core_throttle_count", "package_throttle_count")
        for file in (root / _CPU).glob(f"cpu[0-9]*/thermal_throttle/{name}")
    ]
    counts_read = [int(count) for count in counts if count.isdecimal()]
    throttled = {f"throttled_{when}": float(sum(counts_read))} if counts_read else {}
    busy_s, stolen_s = _processor_times(root)
    return {f"busy_{when}_s": busy_s, f"steal_{when}_s": stolen_s, **throttled}


def commit() -> str:
    """Commit of the checkout that Isthmus runs from, with "+" if files have changed.

    Empty if Isthmus is installed.
    """
    root = Path(__file__).parents[3]
    if not (root / ".git").exists():
        return ""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        described = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--exclude=*",
             "--dirty=+"],
            capture_output=True, text=True, errors="replace", timeout=5, check=True,
        )  # fmt: skip
        return described.stdout.strip()
    return ""
