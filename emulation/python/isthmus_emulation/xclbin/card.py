"""Writes the section of an xclbin that describes Isthmus's emulated card.

The section is BITSTREAM, which holds the bitstream for a board. Its lines of words are:

    isthmus.card/1
    clock MHZ                                       that kernels are built for; left out: 300
    memory card|hbm|chip|host ADDRESS BYTES NAME
    kernel KERNEL INSTANCE ADDRESS RANGE
    free                                            the kernel above has no control register
    restarts                                        it has a count of how often it is to run
    cycles FORMULA                                  that a run computes, in cycles.py's notation
    least FORMULA                                   the lower end of a range of cycles
    computing TEXT                                  the cycles as the user reads them
    argument KIND OFFSET BYTES NAME                 of the kernel above, in their order
    reaches MEMORY ...                              memories of the argument above, by their row
    stream INSTANCE N INSTANCE N DEPTH NAME         from one's argument N (from 0) to another's
    end

KIND is value, stream, buffer, or constant for a buffer that is declared const.

The emulated card reads the section in ``emulation/xrt/src/description.cpp``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from isthmus_emulation.xclbin import cycles
from isthmus_emulation.xclbin.kinds import DATA_MHZ, MemoryType
from isthmus_emulation.xclbin.metadata import Argument, Kernel
from isthmus_emulation.xclbin.streams import Stream
from isthmus_emulation.xclbin.tables import Memory

_MEMORIES: dict[int, str] = {
    MemoryType.HOST: "host",
    MemoryType.HBM: "hbm",
    MemoryType.BRAM: "chip",
    MemoryType.URAM: "chip",
}
_ARGUMENTS = {"global": "buffer", "constant": "buffer", "stream": "stream"}
"""Kind of an argument by its qualifier; an argument without these qualifiers is a value."""
Reached = Mapping[tuple[str, int], Sequence[int]]
"""Rows of the memories that an argument reaches, by the kernel's instance and the argument."""
_QUALIFIERS = {"volatile": "volatile", "const": "constant"}
"""Kind of a buffer by a word of its type, the first that occurs."""


def describe(
    memories: Iterable[Memory],
    kernels: Iterable[Kernel],
    reached: Reached,
    streams: Iterable[Stream] = (),
    clock_mhz: int = DATA_MHZ,
) -> bytes:
    """Returns the section for kernels that ``Design.build`` has completed."""
    lines = _lines(memories, kernels, reached, streams, clock_mhz)
    return "".join(f"{line}\n" for line in lines).encode()


def _lines(
    memories: Iterable[Memory],
    kernels: Iterable[Kernel],
    reached: Reached,
    streams: Iterable[Stream],
    clock_mhz: int,
) -> Iterator[str]:
    yield "isthmus.card/1"
    if clock_mhz != DATA_MHZ:
        yield f"clock {clock_mhz}"
    for memory in memories:
        where = _MEMORIES.get(memory.type, "card")
        yield f"memory {where} {memory.address} {memory.size} {memory.name}"
    for kernel in kernels:
        for instance in kernel.instances:
            place = f"{instance.address or 0} {kernel.address_range}"
            yield f"kernel {kernel.name} {instance.name} {place}"
            if kernel.control == "ap_ctrl_none":
                yield "free"
            if kernel.auto_restart:
                yield "restarts"
            if computing := cycles.read(kernel):
                yield f"cycles {computing.most}"
                if computing.least:
                    yield f"least {computing.least}"
                yield f"computing {kernel.cycles} cycles ({kernel.schedule or 'given'})"
            for index, argument in enumerate(kernel.arguments):
                kind = _kind(argument)
                place = "0 0" if kind == "stream" else f"{argument.offset} {argument.size}"
                yield f"argument {kind} {place} {argument.name}"
                if rows := reached.get((instance.name, index)):
                    yield f"reaches {' '.join(map(str, rows))}"
    for stream in streams:
        ends = (
            f"{stream.producer} {stream.producer_argument} "
            f"{stream.consumer} {stream.consumer_argument}"
        )
        yield f"stream {ends} {stream.depth} {stream.name}"
    yield "end"


def _kind(argument: Argument) -> str:
    kind = _ARGUMENTS.get(argument.qualifier or "", "value")
    words = argument.type.split()
    if kind != "buffer":
        return kind
    return next((name for word, name in _QUALIFIERS.items() if word in words), kind)
