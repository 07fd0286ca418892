"""Times copies within this host's memory, by which XRT's ``bo.write`` and ``bo.read`` move data."""

from __future__ import annotations

import time
from functools import cache

from isthmus.statistics import Interval

_COPIES = 15
_BETWEEN_BYTES = 32 << 20
"""Bytes written between two copies, so that neither buffer is in the core's own cache: a program's
data are not there either. A copy of 4 MiB takes 0.35 ms if they are, and 0.75 ms with this write.
It takes 0.76 ms in ``bo.write`` under ``card exec`` (Xeon, L2 of 2 MiB, 2026-11-27)."""


@cache
def copy_s(size: int) -> Interval:
    """Processor time of a copy of ``size`` bytes by this thread: median, lowest and highest tenth.

    The interpreter's own time, which a copy of one byte shows, is subtracted.
    """
    import numpy as np  # noqa: PLC0415 - slow to load

    between = np.zeros(_BETWEEN_BYTES, np.uint8)
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)

    def seconds(count: int) -> float:
        np.add(between, 1, out=between)
        began = time.thread_time()
        target[:count] = source[:count]
        return time.thread_time() - began

    start = float(np.median([seconds(1) for _ in range(_COPIES)]))
    times = np.array([seconds(size) for _ in range(_COPIES)]) - start
    low, value, high = np.quantile(times.clip(0.0), (0.1, 0.5, 0.9))
    return Interval(float(value), float(low), float(high))
