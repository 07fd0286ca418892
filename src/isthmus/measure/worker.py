"""Program of a worker: a process that opens one device and measures it by the runner's requests.

``supervisor`` starts it in a separate session, with the environment that the backend declares. The
kernel kills it when its parent ends. A vendor's runtime may crash or exit, and reads the
environment when it loads. In a separate process, that affects the points of only one device.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TypeVar

if __name__ == "__main__":
    # Keep msgspec from importing typing_extensions, which takes a quarter of a worker's start.
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]

import msgspec

from isthmus import _core
from isthmus.descriptions import DeviceDescription, OperationDescription, place_of
from isthmus.measure import protocol
from isthmus.results.noise import Noise
from isthmus.system.parent import die_with_parent

_Message = TypeVar("_Message", bound=msgspec.Struct)


def _message(kind: type[_Message], source: object, **fixed: object) -> _Message:
    """Makes a message of type ``kind`` from attributes of an object of the core, and ``fixed``.

    A field that the object lacks keeps its default.
    """
    rest = (name for name in kind.__struct_fields__ if name not in fixed and hasattr(source, name))
    fields = {name: getattr(source, name) for name in rest}
    return msgspec.convert({**fields, **fixed}, kind, from_attributes=True)


def _described(info: _core.DeviceInfo) -> DeviceDescription:
    def operations(infos: Sequence[_core.OperationInfo]) -> list[OperationDescription]:
        kinds = (
            operation.memory_kinds or (info.memory_kinds if operation.sized else [])
            for operation in infos
        )
        return [
            _message(OperationDescription, operation, memory_kinds=memory).among(1)
            for operation, memory in zip(infos, kinds, strict=True)
        ]

    return _message(
        DeviceDescription,
        info,
        operations=operations(info.operations),
        offloads=operations(info.offloads),
        properties=dict(info.properties),
        lacks=dict(info.lacks),
        simulated=info.clock == _core.ClockDomain.simulated,
    )


class DeviceServer:
    """Answers requests within the worker; has at most one open device, and keeps backends loaded.

    ``communicator`` connects to the other ranks of joint operations. ``references``: descriptor of
    the memory file whose copy shows the host's speed; negative: the server creates a file.
    """

    def __init__(self, communicator: _core.Communicator, references: int = -1) -> None:
        self._communicator = communicator
        self._references_file = references
        self._backends: dict[str, _core.Backend] = {}
        self._device: _core.Device | None = None
        self._references: _core.HostReferences | None = None

    def answer(self, request: protocol.Request) -> protocol.Answer:
        """Executes one request. Errors of the backend become ``Failed``."""
        try:
            return self._carry_out(request)
        except _core.UnavailableError as error:
            return protocol.Failed(str(error), unavailable=True)
        except _core.UsageError as error:
            return protocol.Failed(str(error), usage=True)
        except _core.DeviceLostError as error:
            return protocol.Failed(str(error).replace("\n", " "), lost=True)
        except MemoryError:
            return protocol.Failed("not enough host memory")
        except (RuntimeError, ValueError) as error:
            return protocol.Failed(str(error))

    def _carry_out(self, request: protocol.Request) -> protocol.Answer:
        match request:
            case protocol.ListDevices(library):
                devices = self._load(library).devices()
                return protocol.Devices([_described(info) for info in devices])
            case protocol.OpenDevice(library, id, options, place):
                self._device = self._load(library).open(id, options)
                described = _described(self._device.info)
                present = place_of(described.properties)
                if place and present != place:
                    self._device = None
                    message = (
                        f"device {id} is {present or 'another'} now, and was {place}: start again"
                    )
                    return protocol.Failed(message)
                _core.host_clock()  # calibrates, in 10 ms: here rather than in the first visit
                return protocol.Opened(described)
            case protocol.Measure():
                return self._measure(request)
            case protocol.Offload():
                return self._offload(request)
            case protocol.ReadHostSpeed():
                self._references = self._references or _core.HostReferences(self._references_file)
                return _message(protocol.HostSpeed, self._references.read())

    def _load(self, library: str) -> _core.Backend:
        if library not in self._backends:
            self._backends[library] = _core.load_backend(library)
        return self._backends[library]

    def _offload(self, request: protocol.Offload) -> protocol.Answer:
        record = _core.measure_offload(
            self._load(request.device.library),
            request.device.id,
            request.device.options,
            request.bytes,
            request.placement,
            request.again,
            request.reference,
        )

        first = {phase.name: phase for phase in record.first}
        # Without host ticks, only the emulated card's simulated time counts.
        timed = any(phase.ticks for phase in record.first)

        def part(name: str) -> protocol.Part:
            phase = first.get(name)
            if phase is None:
                return protocol.Part([], [], None, 0)
            again, reference = (
                [s.ticks for samples in offloads for s in samples if timed and s.name == name]
                for offloads in (record.again, record.reference)
            )
            return protocol.Part(
                [phase.ticks] if timed else [],
                [],
                phase.ticks if timed else None,
                0,
                [phase.simulated_fs] if phase.simulated_fs or not timed else [],
                again=again,
                reference=reference,
                noise=_message(Noise, phase.probe, steal_s=record.steal_s),
            )

        return protocol.Measured(
            parts=list(map(part, request.phases)),
            batch=1,
            intervals=0,  # subtract no empty interval, so that phases add up to the total
            verified=_verdict(record.verified),
            fault=record.fault,
            noise=Noise(),
            setup_s=0.0,
            block_s=record.wall_s,
            state="once",
            clock=_clock(),
        )

    def _begin(
        self, device: _core.Device, request: protocol.Measure
    ) -> _core.Series | _core.JointSeries:
        options = _core.SeriesOptions()
        options.precision = request.criterion.precision
        options.confidence = request.criterion.confidence
        options.most_seconds = request.criterion.most_seconds
        if request.criterion.samples:
            options.most_samples = request.criterion.samples
            options.least_block_s = options.most_seconds = request.most_seconds
        arguments = (request.operation, request.bytes, request.memory, request.axes, options)
        if request.joint:
            return _core.JointSeries(device, *arguments, self._communicator)
        return _core.Series(device, *arguments)

    def _measure(self, request: protocol.Measure) -> protocol.Answer:
        if self._device is None:
            return protocol.Failed("no device is open")
        block = self._begin(self._device, request).measure(request.most_seconds)
        return _message(
            protocol.Measured,
            block,
            verified=_verdict(block.verified),
            noise=_message(Noise, block.probe),
            clock=_clock(),
        )


def _clock() -> protocol.ClockDescription:
    return _message(protocol.ClockDescription, _core.host_clock())


def _verdict(verified: _core.Verified) -> str:
    return {"yes": "true", "no": "false"}.get(verified.name, "na")


def serve(request_fd: int, answer_fd: int, references_fd: int) -> None:
    """Answers requests until the runner closes the pipe."""
    server = DeviceServer(_core.single_process_communicator(), references_fd)
    with os.fdopen(request_fd, "rb") as requests, os.fdopen(answer_fd, "wb") as answers:
        while (request := protocol.receive_request(requests)) is not None:
            answer = server.answer(request)
            if isinstance(answer, protocol.Failed) and answer.lost:
                # The device is lost: end, so that the runner starts a fresh worker.
                from isthmus.output import inform  # noqa: PLC0415 - most workers do not need it

                inform(answer.message)
                os._exit(1)
            protocol.send(answers, answer)


def main(arguments: list[str]) -> None:
    """Runs a worker; arguments: PARENT REQUEST_FD ANSWER_FD REFERENCES_FD [NUMA_NODE]."""
    parent, request_fd, answer_fd, references_fd, *node = map(int, arguments)
    die_with_parent(parent)
    if node:
        from isthmus.system.binding import bind_memory  # noqa: PLC0415 - most workers do not need it

        bind_memory(node[0])
    serve(request_fd, answer_fd, references_fd)


if __name__ == "__main__":
    main(sys.argv[1:])
