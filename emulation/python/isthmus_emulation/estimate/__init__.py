"""Estimates the computing cycles of a kernel in C++ or OpenCL C without a report or a formula.

``reader`` reads the kernel's code with libclang. ``rules`` computes cycles by the rules that the
vendor's HLS documents, ``rewriter`` inserts the counters of loops, and ``table`` writes the costs.
``remedies`` finds changes of the source, with the costs of the changed loops.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from isthmus_emulation.estimate import libclang, reader, rewriter, rules, table
from isthmus_emulation.estimate.arrays import NotReadError
from isthmus_emulation.estimate.preprocessed import Preprocessed
from isthmus_emulation.xclbin.kinds import DATA_MHZ

_MACRO = re.compile(r"^#define (\w+) \(?(\d+)\)?$", re.MULTILINE)


class Counted(NamedTuple):
    """A kernel's preprocessed source with counters of its loops and their costs."""

    text: bytes | None
    why: str
    """Why the kernel has no estimate, in words for the user; else empty."""


def counted(
    path: Path, name: str, macros: str, ours: Path, clock_mhz: float | None, *,
    in_opencl: bool = False, kernel_flow: bool = True, has_card: bool = True,
    part: str = "",
) -> Counted:  # fmt: skip
    """Returns the source of the kernel ``name`` with counters, scheduled for a clock.

    Args:
        path: Preprocessed source.
        name: Function of the kernel.
        macros: Definitions of macros (``g++ -dM``), which pragmas may name.
        ours: Folder of Isthmus's own headers, which are not the kernel's code.
        clock_mhz: Clock that operators are scheduled for. None: cycles take no time, but give the
            streams of DATAFLOW regions the number of stages of pipelines.
        in_opencl: Whether each work-item is a call of the function.
        kernel_flow: Whether arguments without INTERFACE lie in memory; in the vendor's IP flow
            they lie in a RAM.
        has_card: Whether a card adds the time of memory bursts. Otherwise bursts have the latency
            that HLS assumes, as in a report of HLS.
        part: Name of the device, as HLS has it; empty: an UltraScale+.

    """
    clang = libclang.cindex()
    if clang is None:
        return Counted(None, f"no libclang 18 or later is here: {libclang.INSTALL}")
    source = Preprocessed(path.read_bytes(), ours)
    constants = {found[1]: int(found[2]) for found in _MACRO.finditer(macros)}
    try:
        found = reader.read(
            clang, path, source, name,
            kernel_flow=kernel_flow, constants=constants, in_opencl=in_opencl,
        )  # fmt: skip
    except NotReadError as error:
        return Counted(None, str(error))
    if found is None:
        return Counted(None, "libclang finds no such function")
    estimate = rules.estimate(
        found.code, clock_mhz or DATA_MHZ, has_card=has_card, part=part,
        with_changes=clock_mhz is not None,
    )  # fmt: skip
    numbers = {cost.number for cost in estimate.costs}
    counters = [counter for counter in found.counters if counter.number in numbers]
    text = rewriter.counted(source.text, counters, found.regions)
    definition = table.of(estimate, is_time=clock_mhz is not None)
    return Counted(text + definition.encode(), "")
