"""Devices and their operations as data.

The worker reads descriptions of devices from the backend's library and sends them to the runner.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class PartDescription(msgspec.Struct, frozen=True):
    """A separately timed part of an operation; points have its name."""

    name: str
    direction: str
    initiator: str
    axes: dict[str, int | str] = {}
    """Further columns of the part: ``rank`` and the number of ``ranks``."""


class AxisDescription(msgspec.Struct, frozen=True):
    """What an operation can vary besides size and kind of memory."""

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
    """Whether several ranks carry it out together."""
    api: str = ""
    """API of its points; empty: the device's."""

    def among(self, ranks: int) -> OperationDescription:
        """A joint operation with further parts: each rank's own time, behind the common one."""
        if not self.joint:
            return self
        whole = self.parts[0]
        whole_axes = {"ranks": ranks}
        own = [
            msgspec.structs.replace(
                whole, name=f"{whole.name}_rank", axes={**whole_axes, "rank": rank}
            )
            for rank in range(ranks)
        ]
        return msgspec.structs.replace(
            self, parts=[msgspec.structs.replace(whole, axes=whole_axes), *own]
        )


class DeviceDescription(msgspec.Struct, frozen=True):
    """A device, as its backend describes it."""

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
    """Offloads that it can do from a fresh process, timed phase by phase: see Offload."""
    lacks: dict[str, str] = {}
    """Reason and remedy for values of axes that it cannot take: ``target=host``."""
    simulated: bool = False
    """Whether its times are those of an emulated card, the same on each host."""
    host_bytes: int = 0
    """Host memory that is left for it, where other processes than this know; 0: the machine's."""


def place_of(properties: Mapping[str, str]) -> str:
    """UUID of a device, else its PCI address; empty where its backend knows neither."""
    return properties.get("uuid") or properties.get("pci_address") or ""
