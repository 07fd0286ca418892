"""Connects kernels by streams, as ``stream_connect`` of a description names them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from isthmus.errors import UsageError
from isthmus_emulation.xclbin.metadata import Argument, Kernel
from isthmus_emulation.xclbin.sizes import word_bytes

DEPTH = 1024
"""Capacity of a stream in words, if the description states none."""
_DEEPEST = 1 << 20


@dataclass(frozen=True)
class Stream:
    """A stream from one instance's argument to another's; arguments are numbers, from 0."""

    producer: str
    producer_argument: int
    consumer: str
    consumer_argument: int
    depth: int
    name: str

    @property
    def ends(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Returns instance and argument of the producer and of the consumer."""
        return (
            (self.producer, self.producer_argument),
            (self.consumer, self.consumer_argument),
        )


@dataclass(frozen=True)
class Side:
    """Facts of a stream argument in a kernel's code; None: unknown."""

    reads: bool | None = None
    """Whether the kernel reads the stream; else it writes."""
    word_bytes: int | None = None
    """Bytes of data in a word of the stream; None: unknown."""


Sides = Mapping[tuple[str, str], Side]
"""Facts on stream arguments by the names of kernel and argument."""


def connected(texts: Iterable[str], kernels: Sequence[Kernel], sides: Sides) -> list[Stream]:
    """Reads ``INSTANCE.ARGUMENT:INSTANCE.ARGUMENT[:DEPTH]``; returns the streams.

    Raises UsageError for a text that is no stream between these kernels: wrong names, directions,
    or words of different widths. Widths are those of ``sides``, else of the arguments' types.
    """
    streams: list[Stream] = []
    used: set[tuple[str, int]] = set()
    for text in texts:
        parts = text.split(":")
        if len(parts) not in {2, 3} or (len(parts) == 3 and not parts[2].isdecimal()):
            raise UsageError(
                f"stream_connect {text!r}: write it as 'fetch_1.out:store_1.in' or, with a depth, "
                "'fetch_1.out:store_1.in:64'"
            )
        digits = parts[2] if len(parts) == 3 else str(DEPTH)
        # Python reads at most 4300 digits
        depth = int(digits) if len(digits) <= len(str(_DEEPEST)) else 0
        if not 0 < depth <= _DEEPEST:
            raise UsageError(f"stream_connect {text!r}: a stream holds 1 to {_DEEPEST} words")
        ends = [_end(part, text, kernels) for part in parts[:2]]
        if double := next((end for end in ends if end in used), None):
            raise UsageError(
                f"stream_connect {text!r}: argument {double[1]} of {double[0]} is connected twice"
            )
        used.update(ends)
        _check_sides(text, parts[:2], [_side(end, kernels, sides) for end in ends])
        streams.append(Stream(*ends[0], *ends[1], depth, ":".join(parts[:2])))
    return streams


def refuse_unconnected(streams: Iterable[Stream], kernels: Iterable[Kernel]) -> None:
    """Raises UsageError for a stream argument without a connection."""
    used = {end for stream in streams for end in stream.ends}
    left = [
        f"{instance.name}.{argument.name}"
        for kernel in kernels
        for instance in kernel.instances
        for number, argument in enumerate(kernel.arguments)
        if argument.qualifier == "stream" and (instance.name, number) not in used
    ]
    if left:
        is_stream = "is a stream" if len(left) == 1 else "are streams"
        raise UsageError(
            f"{', '.join(left)} {is_stream} connected to nothing: a description connects them by "
            f"stream_connect = ['PRODUCER.ARGUMENT:CONSUMER.ARGUMENT', ...]"
        )


def directed(kernels: Iterable[Kernel], streams: Sequence[Stream]) -> list[Kernel]:
    """Returns the kernels, in which arguments that write a stream have write ports."""
    producers = {stream.ends[0] for stream in streams}

    def one(kernel: Kernel) -> Kernel:
        written = {
            argument.port
            for instance in kernel.instances
            for number, argument in enumerate(kernel.arguments)
            if (instance.name, number) in producers
        }
        ports = (
            msgspec.structs.replace(port, mode="write_only") if port.name in written else port
            for port in kernel.ports
        )
        return msgspec.structs.replace(kernel, ports=tuple(ports))

    return [one(kernel) for kernel in kernels]


def _kernel_of(instance: str, kernels: Iterable[Kernel]) -> Kernel | None:
    return next((k for k in kernels if any(i.name == instance for i in k.instances)), None)


def _end(part: str, text: str, kernels: Sequence[Kernel]) -> tuple[str, int]:
    instance, _, name = part.partition(".")
    kernel = _kernel_of(instance, kernels)
    if kernel is None:
        there = ", ".join(i.name for k in kernels for i in k.instances)
        raise UsageError(f"stream_connect {text!r}: no instance {instance!r}; there are {there}")
    for number, argument in enumerate(kernel.arguments):
        if argument.qualifier == "stream" and name in _names(argument):
            return instance, number
    there = ", ".join(a.name for a in kernel.arguments if a.qualifier == "stream") or "none"
    raise UsageError(f"stream_connect {text!r}: {instance} has no stream {name!r}; it has {there}")


def _side(end: tuple[str, int], kernels: Iterable[Kernel], sides: Sides) -> Side:
    instance, number = end
    kernel = _kernel_of(instance, kernels)
    assert kernel is not None  # `_end` has checked it
    argument = kernel.arguments[number]
    said = sides.get((kernel.name, argument.name), Side())
    return Side(said.reads, said.word_bytes or word_bytes(argument.type))


def _check_sides(text: str, names: Sequence[str], ends: Sequence[Side]) -> None:
    producer, consumer = ends
    where = f"stream_connect {text!r}"
    if producer.reads:
        raise UsageError(f"{where}: {names[0]} is an input, it cannot be the producer")
    if consumer.reads is False:
        raise UsageError(f"{where}: {names[1]} is an output, it cannot be the consumer")
    widths = producer.word_bytes, consumer.word_bytes
    if None not in widths and widths[0] != widths[1]:
        raise UsageError(
            f"{where}: {names[0]} has words of {widths[0]} bytes, {names[1]} of {widths[1]}"
        )


def _names(argument: Argument) -> set[str]:
    return {argument.name, argument.port or ""}
