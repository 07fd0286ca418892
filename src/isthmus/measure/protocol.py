"""Messages between runner and worker: msgpack behind a 4-byte length.

The runner sends one request at a time and waits; the worker answers each request once. They use two
pipes of their own: a vendor's runtime may print what it likes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import BinaryIO

import msgspec

_LENGTH = struct.Struct("<I")


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


class ListDevices(msgspec.Struct, frozen=True, tag=True):
    """Loads the backend and lists its devices."""

    library: str


class OpenDevice(msgspec.Struct, frozen=True, tag=True):
    """Loads the backend and opens one device."""

    library: str
    id: str
    options: dict[str, str]
    place: str = ""
    """What ``place_of`` must be of the device: ids are numbers, which change; empty: anything."""


class Criterion(msgspec.Struct, frozen=True):
    """When a series ends: see the engine's SeriesOptions."""

    precision: float
    confidence: float
    most_seconds: float
    samples: int = 0
    """Number of samples of a single visit; 0: visits until it is precise enough."""


class Measure(msgspec.Struct, frozen=True, tag=True):
    """Measures one point, until its criterion is met or its time is up."""

    operation: str
    bytes: int
    memory: str
    axes: dict[str, str]
    criterion: Criterion
    most_seconds: float
    joint: bool = False
    """Whether all ranks do it together."""


class Offload(msgspec.Struct, frozen=True, tag=True):
    """Carries out an offload in a fresh process, then ``again`` times: its worker's only request.

    A placement is a kind of memory and its axes. Repetitions in ``reference`` alternate with those
    in ``placement``.
    """

    device: OpenDevice
    bytes: int
    """Size of one vector in bytes."""
    placement: tuple[str, dict[str, str]]
    again: int
    phases: list[str]
    """Names of the phases that become parts of the answer, in this order; empty: none."""
    reference: tuple[str, dict[str, str]] | None = None


class ReadHostSpeed(msgspec.Struct, frozen=True, tag=True):
    """Times the references of the host's own speed: see the engine's HostReferences."""


Request = ListDevices | OpenDevice | Measure | Offload | ReadHostSpeed


class Devices(msgspec.Struct, frozen=True, tag=True):
    """Answer to ListDevices."""

    devices: list[DeviceDescription]


class Opened(msgspec.Struct, frozen=True, tag=True):
    """Answer to OpenDevice."""

    device: DeviceDescription


class Noise(msgspec.Struct, frozen=True, gc=False):
    """Disturbances by the machine during a measurement; see the engine's Probe."""

    steal_s: float = 0.0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    minor_faults: int = 0
    major_faults: int = 0

    def __add__(self, other: Noise) -> Noise:
        return Noise(*(getattr(self, f) + getattr(other, f) for f in self.__struct_fields__))


class Part(msgspec.Struct, frozen=True):
    """Samples of one part from one block; see the engine's PartSamples and PhaseSample."""

    ticks: list[int]
    device_seconds: list[float]
    cold: int | None
    moved_bytes: int
    simulated_fs: list[int] = []
    empty_ticks: list[int] = []
    again: list[int] = []
    """Ticks of a phase in the offloads that followed in the same process."""
    reference: list[int] = []
    """The same of the reference, each repetition timed right before or after one of ``again``."""
    noise: Noise | None = None
    """Of a phase alone."""


class ClockDescription(msgspec.Struct, frozen=True):
    """The worker's host clock."""

    source: str
    reason: str
    seconds_per_tick: float
    uncertainty: float
    resolution_s: float
    empty_pair_s: float


class Measured(msgspec.Struct, frozen=True, tag=True):
    """Answer to Measure, one block, or to Offload: a part without samples for a missing phase."""

    parts: list[Part]
    batch: int
    intervals: int
    verified: str
    fault: str
    noise: Noise
    setup_s: float
    block_s: float
    state: str
    clock: ClockDescription
    remarks: list[str] = []


class HostSpeed(msgspec.Struct, frozen=True, tag=True):
    """Answer to ReadHostSpeed: seconds of one operation of each reference."""

    system_call_s: float
    copy_s: float
    arithmetic_s: float


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The request could not be carried out; the worker still runs."""

    message: str
    usage: bool = False
    unavailable: bool = False
    """The machine or its limits do not allow it; the message says what would."""
    lost: bool = False
    """The device cannot be used any more in this process."""


Answer = Devices | Opened | Measured | HostSpeed | Failed

_encoder = msgspec.msgpack.Encoder()
_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_answers: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)


def send(pipe: BinaryIO, message: Request | Answer) -> None:
    """Writes one message."""
    body = _encoder.encode(message)
    pipe.write(_LENGTH.pack(len(body)) + body)
    pipe.flush()


def receive_request(pipe: BinaryIO) -> Request | None:
    """Next request; None when the runner has closed the pipe."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    return _requests.decode(pipe.read(*_LENGTH.unpack(head)))


def receive_answer(read: Callable[[int], bytes]) -> Answer:
    """Next answer; ``read`` waits for so many bytes."""
    return _answers.decode(read(*_LENGTH.unpack(read(_LENGTH.size))))
