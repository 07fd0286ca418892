"""From a study and a device to tasks: which points it can give, and what is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import cast

import psutil

from isthmus import _core
from isthmus.measure.protocol import DeviceDescription, OperationDescription
from isthmus.results.run_file import Point
from isthmus.studies.base import Plan, Study, Task, Value, offered
from isthmus.units import format_size

_MEMORY_SHARE = 0.8
"""Of the memory that is free, host's or device's, a point may take this much."""


@dataclass(frozen=True)
class Limits:
    """How large an operation's buffers may be on a device of this machine."""

    device: DeviceDescription
    host_bytes: int

    @classmethod
    def of(cls, device: DeviceDescription) -> Limits:
        """Limits now: free host memory changes."""
        return cls(device, psutil.virtual_memory().available)

    def largest(self, operation: OperationDescription, depth: int) -> int:
        """Bytes of the largest buffer at this depth."""
        buffers = operation.device_buffers * depth
        device = int(_MEMORY_SHARE * self.device.memory_bytes) // buffers
        # A device may be the host itself, so that both ends come out of the same memory.
        host = int(_MEMORY_SHARE * self.host_bytes) // (2 * buffers)
        return min(self.device.max_buffer_bytes, operation.most_bytes, device, host)


def _takes(kinds: Sequence[str], kind: str) -> bool:
    """Whether these kinds of memory cover another: who takes pages takes offsets into them."""
    by_offset = "aligned" in kinds and kind.startswith("offset")
    return kind in kinds or (by_offset and _core.knows_host_memory(kind))


def _memory_kinds(operation: OperationDescription, wanted: Sequence[Value] | None) -> Sequence[str]:
    if wanted is None:
        return operation.memory_kinds[:1]
    return [kind for kind in map(str, wanted) if _takes(operation.memory_kinds, kind)]


def has_memory(description: DeviceDescription, kind: Value) -> bool:
    """Whether any operation of a device takes this kind of host memory."""
    return any(_takes(operation.memory_kinds, str(kind)) for operation in description.operations)


def memory_kinds_told(descriptions: Iterable[DeviceDescription]) -> str:
    """The kinds that these devices take, in words."""
    known = (kind for d in descriptions for o in d.operations for kind in o.memory_kinds)
    return ", ".join([*dict.fromkeys(known), "offset<N>"])


class _Planner:
    """Collects the tasks of one study for one device."""

    def __init__(
        self,
        study: Study,
        device: str,
        description: DeviceDescription,
        given: Mapping[str, Sequence[Value]],
    ) -> None:
        self._study = study
        self._device = device
        self._description = description
        self._given = given
        self._limits = Limits.of(description)
        self._too_large: dict[tuple[int, ...], list[str]] = {}
        self.tasks: list[Task] = []
        self.left_out: list[str] = []

    def add(
        self, operation: OperationDescription, wanted: Sequence[str], sizes: Sequence[int]
    ) -> None:
        """Adds the tasks of one operation, for the parts that are wanted."""
        given = self._given
        depths = cast(Sequence[int], given.get("depth", (operation.default_depth,)))
        banks = cast(Sequence[int], given.get("bank", (0,)))
        here = [bank for bank in banks if bank < self._description.banks]
        if not here:
            self.left_out.append(
                f"{self._device} has {self._description.banks} memory bank(s), counted from 0"
            )
        kinds: Sequence[str] = [""]
        if operation.sized:
            kinds = _memory_kinds(operation, given.get("memory"))
        for kind, depth, bank in product(kinds, depths if operation.queued else (1,), here):
            largest = self._limits.largest(operation, depth)
            fitting = [size for size in sizes if size <= largest]
            if operation.sized and len(fitting) < len(sizes):
                beyond = tuple(size for size in sizes if size > largest)
                self._too_large.setdefault(beyond, []).append(operation.name)
            for size in fitting if operation.sized else (0,):
                points = {
                    index: self._point(operation, index, size, kind, depth, bank)
                    for index, part in enumerate(operation.parts)
                    if part.name in wanted
                }
                self.tasks.append(Task(operation.name, size, kind, depth, bank, points))

    def _point(
        self,
        operation: OperationDescription,
        index: int,
        size: int,
        kind: str,
        depth: int,
        bank: int,
    ) -> Point:
        part = operation.parts[index]
        return Point(
            study=self._study.name,
            device=self._device,
            api=self._description.api,
            operation=part.name,
            memory=kind,
            bytes=size,
            direction=part.direction,  # type: ignore[arg-type]
            initiator=part.initiator,  # type: ignore[arg-type]
            axes={"depth": depth, "bank": bank},
        )

    def plan(self) -> Plan:
        """What was collected; sizes beyond the device are told where they were asked for."""
        told = list(dict.fromkeys(self.left_out))
        if "bytes" in self._given:
            for sizes, operations in self._too_large.items():
                names = ", ".join(dict.fromkeys(operations))
                listed = ", ".join(map(format_size, sizes))
                told.append(f"{self._device} does not do {listed} for {names}: left out")
        return Plan(self.tasks, told)


def plan(
    study: Study,
    device: str,
    description: DeviceDescription,
    given: Mapping[str, Sequence[Value]],
    *,
    quick: bool,
) -> Plan:
    """Tasks of one study for one device.

    ``given`` holds the axes that the user set, parsed; what the device cannot hold or do is left
    out, and said when it was asked for by name.
    """
    planner = _Planner(study, device, description, given)
    sizes = cast(Sequence[int], given.get("bytes", study.axis("bytes").default or ()))
    if quick and "bytes" not in given:
        sizes = study.thin(sizes)
    for kind in given.get("memory", ()):
        if not has_memory(description, kind):
            offers = memory_kinds_told([description])
            planner.left_out.append(f"{device} has no memory kind '{kind}'; it has {offers}")
    wanted = [str(name) for name in given.get("operation", study.operations_usually)]
    seen: set[str] = set()
    for name in wanted:
        operation = offered(description, name)
        if operation is None:
            if "operation" in given:
                planner.left_out.append(f"{device} cannot do '{name}'")
        elif operation.name not in seen:
            seen.add(operation.name)
            planner.add(operation, wanted, sizes)
    return planner.plan()
