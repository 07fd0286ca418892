"""Devices and their operations as data.

The worker reads descriptions of devices from the backend's library and sends them to the runner.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class PartDescription(msgspec.Struct, frozen=True):
    """A separately timed part of an operation, whose name is the points' operation."""

    name: str
    direction: str
    initiator: str
    axes: dict[str, int | str] = {}
    """Further columns of the part: ``rank`` and the number of ``ranks``."""


class AxisDescription(msgspec.Struct, frozen=True):
    """A parameter of an operation besides size and kind of memory."""

    name: str
    usual: str
    values: list[str] = []
    """Possible values; empty: any whole number from 1."""
    buffers: bool = False
    """Whether the number of buffers on the device is proportional to the value."""
    most: int = (1 << 64) - 1
    """Largest value of an axis without listed values."""


class OperationDescription(msgspec.Struct, frozen=True):
    """An operation of a device."""

    name: str
    parts: list[PartDescription]
    sized: bool
    axes: list[AxisDescription]
    memory_kinds: list[str]
    device_buffers: int
    most_bytes: int
    unit_bytes: int = 1
    joint: bool = False
    """Whether several ranks execute it together."""
    api: str = ""
    """API of its points; empty: the device's API."""

    def among(self, ranks: int) -> OperationDescription:
        """A joint operation with a further part for each rank's own time, after the common part."""
        if not self.joint:
            return self
        common = self.parts[0]
        whole_axes = {"ranks": ranks}
        own = [
            msgspec.structs.replace(
                common, name=f"{common.name}_rank", axes={**whole_axes, "rank": rank}
            )
            for rank in range(ranks)
        ]
        return msgspec.structs.replace(
            self, parts=[msgspec.structs.replace(common, axes=whole_axes), *own]
        )


class DeviceDescription(msgspec.Struct, frozen=True):
    """A device as its backend describes it."""

    id: str
    name: str
    platform: str
    api: str
    max_buffer_bytes: int
    memory_bytes: int
    memory_kinds: list[str]
    operations: list[OperationDescription]
    properties: dict[str, str]
    offloads: list[OperationDescription] = []
    """Offloads that it supports, each in a fresh process and timed by phase: see ``Offload``."""
    lacks: dict[str, str] = {}
    """Reason and remedy for values of axes that it does not support, by e.g. ``target=host``."""
    simulated: bool = False
    """Whether its times are those of an emulated card and do not depend on the host."""
    host_bytes: int = 0
    """Available host memory if processes share it, as with ranks; 0: the whole machine's."""


def place_of(properties: Mapping[str, str]) -> str:
    """UUID of a device, else its PCI address; empty if its backend knows neither."""
    return properties.get("uuid") or properties.get("pci_address") or ""
