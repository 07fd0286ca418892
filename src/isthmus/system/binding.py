"""Binds workers to processors and memory nodes."""

from __future__ import annotations

import ctypes
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from isthmus.errors import UsageError
from isthmus.system.files import text

_MOST_CPUS = 1 << 16
_NODES = Path("/sys/devices/system/node")
_MOST_NODES = 1024
"""Most memory nodes of a Linux kernel: MAX_NUMNODES, with CONFIG_NODES_SHIFT of 10."""
_MPOL_BIND = 2  # set_mempolicy(2)
_SYS_SET_MEMPOLICY = {"x86_64": 238, "aarch64": 237}


@dataclass(frozen=True)
class Binding:
    """Processors on which workers may run, and the NUMA node of their memory."""

    cpus: tuple[int, ...] = ()
    numa_node: int | None = None


UNBOUND = Binding()


def one_processor() -> Binding:
    """Binds workers to the last processor: the first ones serve most interrupts."""
    return Binding((max(os.sched_getaffinity(0)),))


def listed_cpus(text: str) -> set[int]:
    """Processors of a list such as ``0,2-3``. Raises UsageError for any other text."""
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
    """Processors of a list such as ``0,2-3``, sorted.

    Raises UsageError if this process may not use one of them.
    """
    cpus = listed_cpus(text)
    missing = cpus - os.sched_getaffinity(0)
    if missing:
        raise UsageError(f"processor {min(missing)} is not available here")
    return sorted(cpus)


def binding(cpus: str | None, node: int | None) -> Binding:
    """Makes the binding of workers to listed processors, else to the processors of a memory node.

    Raises UsageError if the binding is impossible here, because every worker would then fail.
    """
    if node is not None:
        _try_memory(node)
    chosen = parse_cpus(cpus) if cpus is not None else _node_cpus(node) if node is not None else []
    return Binding(tuple(chosen), node)


def _node_cpus(node: int) -> list[int]:
    """Processors of a memory node. Raises UsageError if the node has none."""
    if listed := text(_NODES / f"node{node}" / "cpulist"):
        return parse_cpus(listed)
    raise UsageError(f"memory node {node} has no processors here: name processors with --cpus")


def _try_memory(node: int) -> None:
    """Raises UsageError if this process cannot bind its memory to a node.

    A new thread tries to bind, so that the memory policy ends with this thread.
    """
    with ThreadPoolExecutor(1) as pool:
        try:
            pool.submit(bind_memory, node).result()
        except OSError as error:
            raise UsageError(
                f"memory node {node} is not available here: {error.strerror}"
            ) from error


def bind_memory(node: int) -> None:
    """Restricts this thread's memory to one node (set_mempolicy, MPOL_BIND)."""
    if not 0 <= node < _MOST_NODES:
        raise UsageError(f"memory node {node} is not available here")
    number = _SYS_SET_MEMPOLICY.get(os.uname().machine)
    if number is None:
        raise UsageError("memory nodes cannot be chosen on this kind of processor")
    bits = 8 * ctypes.sizeof(ctypes.c_ulong)
    mask = (ctypes.c_ulong * (_MOST_NODES // bits))()
    mask[node // bits] = 1 << node % bits
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, _MPOL_BIND, mask, _MOST_NODES) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
