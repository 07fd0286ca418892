"""Computes how much memory this process may use: free memory, limits of control groups."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import psutil

from isthmus.errors import IsthmusError

_LEAST_ADDRESS_SPACE = 512 << 20
GROUPS = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")
_FILES = (
    ("", "memory.max", "memory.current", "inactive_file"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""For control groups of version 2 and 1: controller, files with limit and used bytes, and the key
in ``memory.stat`` of cache in the used bytes that the kernel can reclaim."""


def refuse_little() -> None:
    """Raises IsthmusError if the limit of address space is too low to load numerical libraries."""
    # With little memory, OpenBLAS would wait forever to start more threads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _LEAST_ADDRESS_SPACE:
        raise IsthmusError(
            f"address space is limited to {limit >> 20} MiB; a run needs "
            f"{_LEAST_ADDRESS_SPACE >> 20} MiB: raise the limit (ulimit -v)"
        )


def available_bytes(groups: Path = GROUPS, own: Path = OWN) -> int:
    """Bytes that this process can use without swapping: the least of machine and control groups."""
    return min([psutil.virtual_memory().available, *_left_in_groups(groups, own)])


def _left_in_groups(groups: Path, own: Path) -> Iterator[int]:
    """Yields the available bytes of each control group that contains this process.

    Source: Linux, Documentation/admin-guide/cgroup-v2.rst.
    """
    try:
        lines = os.fsdecode(own.read_bytes()).splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, name = line.split(":", 2)
        for controller, limit, used, cache in _FILES:
            if controller not in controllers.split(","):
                continue
            # Also try the parents: a container may see its own group as the root folder, while the
            # group's name is the name outside of the container.
            inner = Path(name.lstrip("/"))
            for folder in (groups / controller / part for part in (inner, *inner.parents)):
                try:
                    most = int((folder / limit).read_text())
                    statistics = dict(
                        map(str.split, (folder / "memory.stat").read_text().splitlines())
                    )
                    yield max(0, most - int((folder / used).read_text()) + int(statistics[cache]))
                except (OSError, ValueError, KeyError):  # no such file, or the limit "max"
                    continue
