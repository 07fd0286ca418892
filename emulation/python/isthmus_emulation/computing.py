"""Reads where the computing times of a program's kernels come from, for the program's last line.

The cards write a file of lines ``KERNEL<TAB>unknown|given|range|estimate<TAB>TEXT`` when a kernel
starts, and ``KERNEL<TAB>counted`` when its given cycles were first counted. A further line
``KERNEL<TAB>unchecked`` names a kernel whose DATAFLOW processes run one after the other
(``emulation/xrt/src/meter.cpp``). The text of an estimate comes when its first run has ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from isthmus_emulation.estimate import libclang

FILE = "computing.tsv"
"""Name of the file in the session's folder to which ``emulation/xrt/src/main.cpp`` appends."""
NOT_MODELLED = "not modelled"
ESTIMATE = "estimate"
"""Word for computing times by the rules of HLS, in the file and in texts for the user."""
_SHOWN = 4
"""Most kernels that the line names; it counts the others."""
_Source = Literal["unknown", "given", "range", "estimate"]
_SOURCES: tuple[_Source, ...] = get_args(_Source)


class Computing(NamedTuple):
    """A kernel that was started, with the source of its computing time."""

    kernel: str
    source: _Source
    """Kind of source; with ``unknown``, only memory accesses of the kernel take time."""
    text: str
    """Given cycles with their source, or the estimate's text; empty if unknown."""
    is_counted: bool = True
    """Whether given cycles have taken time, which they do when the kernel's function returns."""
    has_depths: bool = True
    """Whether depths of streams in the kernel's DATAFLOW regions are checked."""


def read(path: Path) -> list[Computing]:
    """Returns the kernels in the file, each once; none if the file is missing."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return []
    entries = []
    counted = {line.split("\t")[0] for line in lines if line.endswith("\tcounted")}
    unchecked = {line.split("\t")[0] for line in lines if line.endswith("\tunchecked")}
    for line in dict.fromkeys(lines):
        kernel, name, text = [*line.split("\t"), "", ""][:3]
        source = next((known for known in _SOURCES if known == name), None)
        if source is not None:
            is_counted = source == "unknown" or kernel in counted
            is_counted |= source == "estimate" and bool(text)
            entries.append(Computing(kernel, source, text, is_counted, kernel not in unchecked))
    ended = {entry.kernel for entry in entries if entry.source == "estimate" and entry.text}
    return sorted(entry for entry in entries if entry.text or entry.kernel not in ended)


def sentences(kernels: Iterable[Computing], command: str) -> list[str]:
    """Returns sentences of the line on these kernels; ``command`` builds a kernel again."""
    texts = [
        f"computing of {kernel.kernel}: {_estimate(kernel)}{kernel.text}" + _counted(kernel)
        for kernel in kernels
        if kernel.source != "unknown"
    ]
    shown = texts[:_SHOWN] + [f"and of {len(texts) - _SHOWN} more"] * (len(texts) > _SHOWN)
    if unknown := not_modelled(kernels):
        shown.append(
            f"computing {NOT_MODELLED} for {_listed(unknown)}, only memory accesses: {command} ... "
            "--schedule csynth.xml, or --cycles 'n*4+120', gives it"
        )
    if unchecked := unchecked_depths(kernels):
        shown.append(f"stream depths not checked for {_listed(unchecked)}")
    if (unknown or unchecked) and libclang.cindex() is None:
        shown.append(f"libclang is missing: {libclang.INSTALL}, then build again")
    return shown


def _estimate(kernel: Computing) -> str:
    if kernel.source != "estimate":
        return ""
    return f"{ESTIMATE} of its source, "


def _counted(kernel: Computing) -> str:
    if not kernel.is_counted and kernel.source == "estimate":
        return "not counted: its function has not returned"
    if not kernel.is_counted:
        return ", which were not counted: its function has not returned"
    return ", the most counted" if kernel.source == "range" else ""


def not_modelled(kernels: Iterable[Computing]) -> list[str]:
    """Returns the names of kernels without a known computing time, each once."""
    return list(dict.fromkeys(kernel.kernel for kernel in kernels if kernel.source == "unknown"))


def unchecked_depths(kernels: Iterable[Computing]) -> list[str]:
    """Returns the kernels whose DATAFLOW regions may stand still on a board, each once."""
    return list(dict.fromkeys(kernel.kernel for kernel in kernels if not kernel.has_depths))


def _listed(names: Sequence[str]) -> str:
    shown = [*names[:_SHOWN], *([f"{len(names) - _SHOWN} more"] * (len(names) > _SHOWN))]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if shown[1:] else shown)
