"""What the devices of all ranks are together: one that does what each of them does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

from isthmus.measure import protocol


def joint(devices: Sequence[protocol.DeviceDescription]) -> protocol.DeviceDescription:
    """What devices can do together, as one: what each of them can."""
    first, *others = devices

    def all_said(said: Iterable[str]) -> str:
        return " + ".join(dict.fromkeys(said))

    operations = first.operations
    for other in others:
        operations = [
            both
            for operation in operations
            for rival in other.operations
            if (both := _common(operation, rival)) is not None
        ]
    apis = {device.api for device in devices}
    return msgspec.structs.replace(
        first,
        name=all_said(device.name for device in devices),
        platform=all_said(device.platform for device in devices),
        api=first.api if len(apis) == 1 else "mpi",
        max_buffer_bytes=min(device.max_buffer_bytes for device in devices),
        memory_bytes=min(device.memory_bytes for device in devices),
        operations=[operation for operation in operations if operation.joint],
        lacks={what: why for device in reversed(devices) for what, why in device.lacks.items()},
        offloads=[],
    )


def _common(
    one: protocol.OperationDescription, other: protocol.OperationDescription
) -> protocol.OperationDescription | None:
    """An operation with the values that it has on both devices; None where it is another one."""
    rivals = {axis.name: axis for axis in other.axes}
    if one.name != other.name or rivals.keys() != {axis.name for axis in one.axes}:
        return None
    axes = [
        msgspec.structs.replace(
            axis, values=[value for value in axis.values if value in rivals[axis.name].values]
        )
        for axis in one.axes
    ]
    if any(axis.values and not left.values for axis, left in zip(one.axes, axes, strict=True)):
        return None
    return msgspec.structs.replace(
        one,
        axes=axes,
        memory_kinds=[kind for kind in one.memory_kinds if kind in other.memory_kinds],
        most_bytes=min(one.most_bytes, other.most_bytes),
        unit_bytes=math.lcm(one.unit_bytes, other.unit_bytes),
    )
