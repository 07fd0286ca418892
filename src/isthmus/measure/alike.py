"""Devices that are alike: the same backend, model, link and memory node.

A run measures the headlines of each of them, and the curve of the first. Screens show them
together.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from isthmus.models.pcie import link_of
from isthmus.results.run_file import DeviceRecord

APART = 0.05
"""Share by which a figure differs from the median of alike devices for the device to be named.

Pinned copies of two H100 of one node differ by 0.4 % at most (``benchmarks/RESULTS.md``)."""


def kind_of(device: DeviceRecord) -> tuple[str, ...]:
    """What alike devices have in common: backend, model, link and memory node."""
    link = link_of(device.link)
    node = device.link.get("numa_node", "")
    return device.backend, device.name, link.name if link else "", node


def apart(values: Mapping[str, float]) -> list[str]:
    """The devices whose figure differs from the median of all; ``values``: above 0, by device."""
    middle = statistics.median(values.values())
    return [device for device, value in values.items() if abs(value / middle - 1) > APART]
