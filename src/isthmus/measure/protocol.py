"""Messages between runner and worker: msgpack after a 4-byte length.

The runner sends a request and waits; the worker answers each request once. Two pipes carry the
messages, not standard output, to which a vendor's runtime may print.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import BinaryIO

import msgspec

from isthmus.descriptions import DeviceDescription
from isthmus.results.noise import Noise

_LENGTH = struct.Struct("<I")


class ListDevices(msgspec.Struct, frozen=True, tag=True):
    """Request to load the backend and list its devices."""

    library: str


class OpenDevice(msgspec.Struct, frozen=True, tag=True):
    """Request to load the backend and open a device."""

    library: str
    id: str
    options: dict[str, str]
    place: str = ""
    """UUID or PCI address that the device must have (``place_of``), since numbers in ids change;
    empty: any device with the id."""


class Criterion(msgspec.Struct, frozen=True):
    """When the worker stops sampling a point: see ``SeriesOptions`` of the engine."""

    precision: float
    confidence: float
    most_seconds: float
    samples: int = 0
    """Number of samples to take; 0: sample until the interval is precise enough."""


class Measure(msgspec.Struct, frozen=True, tag=True):
    """Request to measure one operation until its criterion is met or its time is up."""

    operation: str
    bytes: int
    memory: str
    axes: dict[str, str]
    criterion: Criterion
    most_seconds: float
    joint: bool = False
    """Whether all ranks execute the operation together."""


class Offload(msgspec.Struct, frozen=True, tag=True):
    """Request to run an offload once in a fresh process, then ``again`` times in the same process.

    It is the only request of its worker. ``placement`` and ``reference`` are a kind of memory and
    its axes. Repetitions with ``reference`` alternate with repetitions with ``placement``.
    """

    device: OpenDevice
    bytes: int
    """Size of one vector in bytes."""
    placement: tuple[str, dict[str, str]]
    again: int
    phases: list[str]
    """Names of the phases that become parts of the answer, in this order; "" leaves a part empty.
    """
    reference: tuple[str, dict[str, str]] | None = None


class ReadHostSpeed(msgspec.Struct, frozen=True, tag=True):
    """Request to time the references of the host's speed: see ``HostReferences`` of the engine."""


Request = ListDevices | OpenDevice | Measure | Offload | ReadHostSpeed


class Devices(msgspec.Struct, frozen=True, tag=True):
    """Answer to ListDevices."""

    devices: list[DeviceDescription]


class Opened(msgspec.Struct, frozen=True, tag=True):
    """Answer to OpenDevice."""

    device: DeviceDescription


class Part(msgspec.Struct, frozen=True):
    """Samples of one part of an operation: ``PartSamples`` or ``PhaseSample`` of the engine."""

    ticks: list[int]
    device_seconds: list[float]
    cold: int | None
    moved_bytes: int
    simulated_fs: list[int] = []
    empty_ticks: list[int] = []
    again: list[int] = []
    """Ticks of a phase in the repetitions after the first offload, in the same process."""
    reference: list[int] = []
    """Ticks of the phase with the reference placement, each timed right before or after the
    repetition of ``again`` with the same index."""
    noise: Noise | None = None
    """Disturbances while the phase ran; None for parts that are no phases."""


class ClockDescription(msgspec.Struct, frozen=True):
    """The worker's host clock."""

    source: str
    reason: str
    seconds_per_tick: float
    uncertainty: float
    resolution_s: float
    empty_pair_s: float


class Measured(msgspec.Struct, frozen=True, tag=True):
    """Answer to Measure or Offload. A phase that the offload lacks is a part without samples."""

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
    """Answer to ReadHostSpeed: seconds of one system call, one copy and one arithmetic loop."""

    system_call_s: float
    copy_s: float
    arithmetic_s: float


class Failed(msgspec.Struct, frozen=True, tag=True):
    """Answer to a request that the worker could not execute; the worker process goes on."""

    message: str
    usage: bool = False
    unavailable: bool = False
    """Whether the machine or its limits do not allow the request; the message has the remedy."""
    lost: bool = False
    """Whether the device is unusable in this process from now on."""


Answer = Devices | Opened | Measured | HostSpeed | Failed

_encoder = msgspec.msgpack.Encoder()
_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_answers: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)


def send(pipe: BinaryIO, message: Request | Answer) -> None:
    """Writes one message to a pipe: its length in 4 bytes, then msgpack."""
    body = _encoder.encode(message)
    pipe.write(_LENGTH.pack(len(body)) + body)
    pipe.flush()


def receive_request(pipe: BinaryIO) -> Request | None:
    """Waits for the next request; returns None after the runner has closed the pipe."""
    head = pipe.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    return _requests.decode(pipe.read(*_LENGTH.unpack(head)))


def receive_answer(read: Callable[[int], bytes]) -> Answer:
    """Waits for the next answer; ``read`` returns the given number of bytes from the worker."""
    return _answers.decode(read(*_LENGTH.unpack(read(_LENGTH.size))))
