"""Binding of workers to processors and memory nodes."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
from dataclasses import dataclass
from pathlib import Path

from isthmus.errors import UsageError

_MOST_CPUS = 1 << 16
_NODES = Path("/sys/devices/system/node")
_MPOL_BIND = 2  # set_mempolicy(2)
_SYS_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}


@dataclass(frozen=True)
class Binding:
    """Where workers may run and take their memory from."""

    cpus: tuple[int, ...] = ()
    numa_node: int | None = None


UNBOUND = Binding()


def listed_cpus(text: str) -> set[int]:
    """Processors of a list such as ``0,2-3``; raises UsageError for what is none."""
    cpus: set[int] = set()
    for piece in text.split(","):
        match = re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", piece.strip())
        if not match:
            raise UsageError(f"'{text}' is no list of processors; write 0,2-3")
        first = int(match[1])
        last = int(match[2] or first)
        if last >= _MOST_CPUS:
            raise UsageError(f"'{text}' has processors beyond {_MOST_CPUS - 1}")
        cpus |= set(range(first, last + 1))
    return cpus


def parse_cpus(text: str) -> list[int]:
    """Processors of a list; raises UsageError for one that is not there."""
    cpus = listed_cpus(text)
    missing = cpus - os.sched_getaffinity(0)
    if missing:
        raise UsageError(f"processor {min(missing)} is not to be had here")
    return sorted(cpus)


def node_cpus(node: int) -> list[int]:
    """Processors of a memory node; raises UsageError where there is no such node."""
    with contextlib.suppress(OSError):
        return parse_cpus((_NODES / f"node{node}" / "cpulist").read_text().strip())
    raise UsageError(f"memory node {node} is not to be had here")


def bind_memory(node: int) -> None:
    """Takes this process's memory from one node only (set_mempolicy, MPOL_BIND)."""
    number = _SYS_SET_MEMPOLICY.get(os.uname().machine)
    if number is None:
        raise UsageError("memory nodes cannot be chosen on this kind of processor")
    mask = (ctypes.c_ulong * 16)()
    bits = 8 * ctypes.sizeof(ctypes.c_ulong)
    mask[node // bits] = 1 << node % bits
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, _MPOL_BIND, mask, 16 * bits) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
