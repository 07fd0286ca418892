"""Limit of open files and sockets of this process."""

from __future__ import annotations

import resource

from isthmus.errors import IsthmusError


def allow(count: int) -> None:
    """Raises the soft limit to ``count`` where it is lower; IsthmusError beyond the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < count:  # -1: no limit
        raise IsthmusError(
            f"this host lets a process open {hard} files, {count} are needed: raise ulimit -Hn"
        )
    if 0 <= soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
