"""Message types that describe devices and their operations.

A worker reads descriptions of devices from the backend's library and sends them to the runner.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class PartDescription(msgspec.Struct, frozen=True):
    """A separately timed part of an operation; points have its name as their ``operation``."""

    name: str
    direction: str
    initiator: str
    axes: dict[str, int | str] = {}
    """Further columns for the part's points: ``rank``, and the number of ``ranks``."""


class AxisDescription(msgspec.Struct, frozen=True):
    """A parameter of an operation besides size and kind of memory."""

    name: str
    usual: str
    values: list[str] = []
    """Possible values; empty: any whole number from 1."""
    buffers: bool = False
    """Whether the operation allocates as many sets of buffers as the value says."""
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
    """Value of ``api`` for the operation's points; empty: the device's API."""

    def among(self, ranks: int) -> OperationDescription:
        """Returns a joint operation with one more part for each rank: the time of that rank alone.

        These parts follow the operation's own parts.
        """
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
    """Offloads that the device supports. Each runs in a fresh process, which times its phases: see
    ``Offload`` in the engine."""
    lacks: dict[str, str] = {}
    """Values of axes that the device does not support (``target=host``), each with a reason and a
    remedy."""
    simulated: bool = False
    """Whether the device's times are an emulated card's, which do not depend on the host."""
    host_bytes: int = 0
    """Bytes of host memory for this device if ranks share the host; 0: all available memory."""


def place_of(properties: Mapping[str, str]) -> str:
    """UUID of a device from its properties, else its PCI address; empty if it has neither."""
    return properties.get("uuid") or properties.get("pci_address") or ""
