"""Makes one joint device of the devices of all ranks, with the operations that all ranks have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from isthmus.backends import registry
from isthmus.descriptions import AxisDescription, DeviceDescription, OperationDescription
from isthmus.errors import NoDeviceError, UsageError
from isthmus.measure import protocol
from isthmus.measure.discovery import FoundDevice
from isthmus.measure.ranks import Leader, RankState
from isthmus.measure.selection import Identity
from isthmus.measure.supervisor import Responder, WorkerDiedError, WorkerRefusedError
from isthmus.system.binding import UNBOUND, Binding
from isthmus.text import truncated


def joint(devices: Sequence[DeviceDescription]) -> DeviceDescription:
    """Describes the joint device: joint operations, with the values that all devices accept."""
    first, *others = devices

    def distinct(texts: Iterable[str]) -> str:
        return " + ".join(dict.fromkeys(texts))

    operations = first.operations
    for other in others:
        operations = [
            common
            for operation in operations
            for candidate in other.operations
            if (common := _common(operation, candidate)) is not None
        ]
    apis = {device.api for device in devices}
    return msgspec.structs.replace(
        first,
        name=distinct(device.name for device in devices),
        platform=distinct(device.platform for device in devices),
        api=first.api if len(apis) == 1 else "mpi",
        max_buffer_bytes=min(device.max_buffer_bytes for device in devices),
        memory_bytes=min(device.memory_bytes for device in devices),
        operations=[operation.among(len(devices)) for operation in operations if operation.joint],
        lacks={value: why for device in reversed(devices) for value, why in device.lacks.items()},
        offloads=[],
    )


def _common(
    first: OperationDescription, second: OperationDescription
) -> OperationDescription | None:
    """An operation with the values that both devices have; None if the operations differ."""
    other_axes = {axis.name: axis for axis in second.axes}
    if first.name != second.name or other_axes.keys() != {axis.name for axis in first.axes}:
        return None
    axes = [common for axis in first.axes if (common := _common_axis(axis, other_axes[axis.name]))]
    if len(axes) < len(first.axes):
        return None
    return msgspec.structs.replace(
        first,
        axes=axes,
        memory_kinds=[kind for kind in first.memory_kinds if kind in second.memory_kinds],
        device_buffers=max(first.device_buffers, second.device_buffers),
        most_bytes=min(first.most_bytes, second.most_bytes),
        unit_bytes=math.lcm(first.unit_bytes, second.unit_bytes),
    )


def _common_axis(first: AxisDescription, second: AxisDescription) -> AxisDescription | None:
    """An axis with the values that both devices have; None without a common value.

    An axis without listed values accepts whole numbers from 1 to ``most``.
    """
    most = min(first.most, second.most)
    listed, further = (first, second) if first.values else (second, first)
    if not listed.values:
        usual = str(min(int(first.usual), int(second.usual), most))
        return msgspec.structs.replace(
            first, usual=usual, most=most, buffers=first.buffers or second.buffers
        )
    values = [
        value
        for value in listed.values
        if value in further.values
        or (not further.values and value.isdecimal() and 1 <= int(value) <= further.most)
    ]
    if not values:
        return None
    usual = first.usual if first.usual in values else second.usual
    return msgspec.structs.replace(
        first, values=values, usual=usual if usual in values else values[0], most=most,
        buffers=first.buffers or second.buffers,
    )  # fmt: skip


def _left_on_hosts(ranks: Sequence[RankState]) -> int:
    """Bytes of host memory for each rank: available memory over ranks, the least of all hosts.

    0 if a rank does not know its host's memory.
    """
    on_host = Counter(rank.hello.host for rank in ranks)
    return min(rank.hello.free_bytes // on_host[rank.hello.host] for rank in ranks)


@dataclass(frozen=True)
class _JointDevice(FoundDevice):
    group: RankGroup = field(kw_only=True)

    def worker(
        self,
        binding: Binding = UNBOUND,  # noqa: ARG002 - the launcher binds ranks
        references: int = -1,  # noqa: ARG002 - each rank has a file of its own
    ) -> AbstractContextManager[Responder]:
        """Returns all ranks in place of a worker: their processes last for the whole run."""
        return nullcontext(self.group)

    @cached_property
    def options(self) -> dict[str, str]:
        """Empty: each rank opens its device with the options that its device accepts."""
        return {}


class RankGroup(Responder):
    """Answers the runner's requests by all ranks: each request goes to every rank."""

    def __init__(self, leader: Leader) -> None:
        self._leader = leader
        self._opened: protocol.Opened | None = None
        self.members: list[FoundDevice] = []
        """The device of each rank."""

    def open_devices(self, options: Mapping[str, str]) -> FoundDevice:
        """Opens the devices of all ranks and returns the joint device.

        Raises UsageError or NoDeviceError if a rank has no device.
        """
        missing: dict[RankState, protocol.Failed] = {}
        for rank in self._leader.ranks:
            if isinstance(own := rank.hello.device, protocol.Failed):
                missing[rank] = own
                continue
            backend = registry()[own.backend]
            device = FoundDevice(own.address, backend, own.candidate, own.description)
            self.members.append(device.with_run_options(options))
        if missing:
            merged = self._merged(missing)
            raise (UsageError if merged.usage else NoDeviceError)(merged.message)
        answers = self._ask([member.open_request() for member in self.members], 0.0)
        opened = [answer for answer in answers if isinstance(answer, protocol.Opened)]
        self.members = [
            replace(member, description=answer.device)
            for member, answer in zip(self.members, opened, strict=True)
        ]
        joined = msgspec.structs.replace(
            joint([member.description for member in self.members]),
            host_bytes=_left_on_hosts(self._leader.ranks),
        )
        address = "+".join(dict.fromkeys(member.address for member in self.members))
        if not joined.operations:
            raise UsageError(f"no channel leads from each to each of these devices: {address}")
        self._opened = msgspec.structs.replace(opened[0], device=joined)
        first = self.members[0]
        return _JointDevice(address, first.backend, first.candidate, joined, group=self)

    def ask(self, request: protocol.Request, allowed_s: float = 0.0) -> protocol.Answer:
        """Sends a request to all ranks and returns the answer of rank 0; see ``Responder``.

        The ranks have opened their devices, so that ``OpenDevice`` is answered at once.
        """
        if isinstance(request, protocol.OpenDevice):
            assert self._opened is not None
            return self._opened
        return self._ask([request] * len(self.members), allowed_s)[0]

    def described(self) -> dict[str, object]:
        """Host, device and MPI of each rank, as data for the run file's environment."""
        return {
            "mpi": self._leader.ranks[0].hello.mpi,
            "ranks": [
                {"rank": n, "host": rank.hello.host, "device": member.address,
                 "id": member.description.id,
                 **Identity.of(member.description).as_of_rank()}
                for n, (rank, member) in enumerate(
                    zip(self._leader.ranks, self.members, strict=True)
                )
            ],
        }  # fmt: skip

    def _ask(self, requests: Sequence[protocol.Request], allowed_s: float) -> list[protocol.Answer]:
        answers = self._leader.ask(requests, allowed_s)
        failed = {
            rank: answer
            for rank, answer in zip(self._leader.ranks, answers, strict=True)
            if isinstance(answer, protocol.Failed)
        }
        if not failed:
            return answers
        merged = self._merged(failed)
        if merged.lost:
            raise WorkerDiedError(merged.message, final=True)
        raise WorkerRefusedError(merged)

    def _merged(self, failures: Mapping[RankState, protocol.Failed]) -> protocol.Failed:
        """Merges failures of ranks into one, with a single message if all ranks have the same."""
        every, messages = failures.values(), {failure.message for failure in failures.values()}
        same = len(failures) == len(self._leader.ranks) and len(messages) == 1
        each = truncated([f"{rank}: {failure.message}" for rank, failure in failures.items()])
        flags = ("usage", "unavailable", "lost")
        return protocol.Failed(
            messages.pop() if same else "; ".join(each),
            **{name: any(getattr(failure, name) for failure in every) for name in flags},
        )
