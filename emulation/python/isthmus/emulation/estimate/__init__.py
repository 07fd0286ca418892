"""Estimates the cycles that a kernel in C++ or OpenCL C computes, where no report says them.

``reader`` reads the kernel's code with libclang, ``rules`` computes cycles by the rules that the
vendor's HLS documents, ``rewriter`` inserts the counters of loops, and ``table`` writes the costs.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, NamedTuple

from isthmus.emulation.estimate import libclang, reader, rewriter, rules, table
from isthmus.emulation.estimate.arrays import NotReadError
from isthmus.emulation.estimate.preprocessed import Preprocessed

CLOCK_MHZ: Final = 300
"""Clock that operators are scheduled for: the default of v++ for boards of the Alveo series, and
the card's where the board says none (``assumed_kernel_hertz`` of ``emulation/xrt/src/timing.cpp``).
"""
_MACRO = re.compile(r"^#define (\w+) \(?(\d+)\)?$", re.MULTILINE)


class Counted(NamedTuple):
    """A kernel's preprocessed source with counters of its loops and their costs."""

    text: bytes | None
    note: str
    """Why there is none, for the user; else empty."""


def counted(
    path: Path, name: str, macros: str, ours: Path, *, in_opencl: bool = False,
    estimated: bool = True,
) -> Counted:  # fmt: skip
    """Reads a preprocessed source, whose kernel has that name.

    ``macros`` are the definitions of macros in force, which pragmas may name; ``ours`` is the
    folder of Isthmus's own headers. ``in_opencl`` says that each work-item is a call of it.
    If nothing is ``estimated``, processes of DATAFLOW regions run beside each other all the same.
    """
    clang = libclang.cindex()
    if clang is None:
        return Counted(None, f"kernel {name}: computing not modelled; {libclang.INSTALL}")
    source = Preprocessed(path.read_bytes(), ours)
    constants = {found[1]: int(found[2]) for found in _MACRO.finditer(macros)}
    try:
        found = reader.read(clang, path, source, name, constants=constants, in_opencl=in_opencl)
    except NotReadError as error:
        return Counted(None, f"kernel {name}: not estimated, {error}")
    if found is None:
        return Counted(None, f"kernel {name}: not estimated, libclang finds no such function")
    if not estimated:
        return Counted(rewriter.counted(source.text, (), found.regions) + table.NONE.encode(), "")
    estimate = rules.estimate(found.code, CLOCK_MHZ)
    numbers = {cost.number for cost in estimate.costs}
    counters = [one for one in found.counters if one.number in numbers]
    text = rewriter.counted(source.text, counters, found.regions)
    return Counted(text + table.of(estimate).encode(), "")
