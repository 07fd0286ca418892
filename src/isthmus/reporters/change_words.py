"""Words for one change: what changed, times before and after, and by how much."""

from __future__ import annotations

import math

from isthmus.analysis.change import Change
from isthmus.text import cut_middle
from isthmus.units import rate_amount, seconds_amount

_LEAST = 6
"""Least characters to which a device's name may be shortened."""


def what(change: Change) -> str:
    """Operation, memory, axes and sizes: ``write pinned, 1Mi to 16Mi``."""
    return change.words if change.sizes == "0" else f"{change.words}, {change.sizes}"


def subject(change: Change, room: int = 0) -> str:
    """Device, operation, memory and sizes. The device's name is shortened first."""
    rest = what(change)
    device = cut_middle(change.device, max(room - len(rest) - 1, _LEAST)) if room else change.device
    return cut_middle(f"{device} {rest}", room) if room else f"{device} {rest}"


def values(change: Change) -> str:
    """Rates before and after, or times where no data move: ``11.6 -> 6.86 GB/s``."""
    rates = not math.isnan(change.moved_bytes)
    before, after = (
        rate_amount(change.moved_bytes / s) if rates else seconds_amount(s)
        for s in (change.before_s, change.after_s)
    )  # fmt: skip
    return before.and_to(after, " -> ")


def percent_longer(ratio: float) -> str:
    """Additional time in percent, for a ratio of times: ``+4.1``, ``+69``."""
    return f"{100 * (ratio - 1):+.1f}" if abs(ratio - 1) < 0.1 else f"{100 * (ratio - 1):+.0f}"


def percents(change: Change) -> tuple[str, str]:
    """How much longer the time is in percent, ``+4.1``, and the interval, ``2.0 to 6.3``.

    Ends whose sign differs from the value's show it. The interval is empty if exact or unknown.
    """
    value, low, high = map(percent_longer, change.ratio[:3])
    if change.ratio.low == change.ratio.high or not change.ratio.known:
        return value, ""
    if low[0] == high[0] == "+":
        low, high = low[1:], high[1:]
    return value, f"{low} to {high}"


def percent_of_time(change: Change) -> str:
    """The change in percent with its interval: ``+4.1 % time (2.0 to 6.3)``."""
    value, interval = percents(change)
    return f"{value} % time ({interval})" if interval else f"{value} % time"
