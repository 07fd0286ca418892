"""Streams between kernels, as ``stream_connect`` of a description names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from isthmus.errors import UsageError
from isthmus.xclbin.metadata import Argument, Kernel

DEPTH = 1024
"""Words that a stream holds where nothing is said."""
_DEEPEST = 1 << 20


@dataclass(frozen=True)
class Stream:
    """From one instance's argument to another's; arguments by their numbers."""

    producer: str
    producer_argument: int
    consumer: str
    consumer_argument: int
    depth: int
    name: str


def connected(texts: Iterable[str], kernels: Sequence[Kernel]) -> list[Stream]:
    """Reads ``INSTANCE.ARGUMENT:INSTANCE.ARGUMENT[:DEPTH]``, as a configuration of Vitis has it.

    Raises UsageError for what is no stream between these kernels.
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
        depth = int(digits) if len(digits) <= len(str(_DEEPEST)) else 0  # Python reads 4300 at most
        if not 0 < depth <= _DEEPEST:
            raise UsageError(f"stream_connect {text!r}: a stream holds 1 to {_DEEPEST} words")
        ends = [_end(part, text, kernels) for part in parts[:2]]
        if double := next((end for end in ends if end in used), None):
            raise UsageError(
                f"stream_connect {text!r}: argument {double[1]} of {double[0]} is connected twice"
            )
        used.update(ends)
        streams.append(Stream(*ends[0], *ends[1], depth, ":".join(parts[:2])))
    return streams


def directed(kernels: Iterable[Kernel], streams: Sequence[Stream]) -> list[Kernel]:
    """The kernels, with ports that are written where a stream begins."""
    producers = {(stream.producer, stream.producer_argument) for stream in streams}

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


def _end(part: str, text: str, kernels: Sequence[Kernel]) -> tuple[str, int]:
    instance, _, name = part.partition(".")
    kernel = next((k for k in kernels if any(i.name == instance for i in k.instances)), None)
    if kernel is None:
        there = ", ".join(i.name for k in kernels for i in k.instances)
        raise UsageError(f"stream_connect {text!r}: no instance {instance!r}; there are {there}")
    for number, argument in enumerate(kernel.arguments):
        if argument.qualifier == "stream" and name in _names(argument):
            return instance, number
    there = ", ".join(a.name for a in kernel.arguments if a.qualifier == "stream") or "none"
    raise UsageError(f"stream_connect {text!r}: {instance} has no stream {name!r}; it has {there}")


def _names(argument: Argument) -> set[str]:
    return {argument.name, argument.port or ""}
