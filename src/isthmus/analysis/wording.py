"""Writes figures, devices and the errors of a run as text."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from types import MappingProxyType

from isthmus.analysis.host_state import Moved, Variation
from isthmus.results.run_file import Run
from isthmus.thresholds import STEAL_SEEN
from isthmus.units import format_size, percent, rounded_size, size_range

MOST_TOLD = 10.0
"""Largest upper bound of a ratio of times that is shown: a larger bound says nothing."""
HOST_REFERENCES = MappingProxyType(
    {"system_call_s": "system calls", "copy_s": "copies in memory", "arithmetic_s": "arithmetic"}
)
"""Words for the references of the host's speed, by field of a reading."""


def host_varied(variation: Variation) -> str:
    """A sentence on the part of a run in which the host was slower, and on its points."""
    what = HOST_REFERENCES[variation.reference]
    steal = f", {percent(variation.steal)} steal" if variation.steal >= STEAL_SEEN else ""
    text = (
        f"The host was {percent(variation.slower)} slower in {percent(variation.share)} of this "
        f"run ({what}{steal}): {_points(variation.followed, variation.unmoved)} follow it"
    )
    unmoved = (
        f", {_points(variation.unmoved, variation.followed)} do not" if variation.unmoved else ""
    )
    return f"{text}{unmoved}."


def _points(moved: Sequence[Moved], beside: Sequence[Moved]) -> str:
    """Words for points: their sizes, and their memory if ``beside`` has a point of equal size.

    ``beside``: points from which the same sentence tells these points apart.
    """
    if {point.bytes for point in moved}.isdisjoint(point.bytes for point in beside):
        return f"points of size {_apart(moved, beside)}"
    texts = []
    for kind in dict.fromkeys(point.memory for point in moved):
        own, others = ([p for p in side if p.memory == kind] for side in (moved, beside))
        texts.append(f"{kind} {_apart(own, others)}")
    return " and ".join(texts)


def _apart(moved: Sequence[Moved], beside: Sequence[Moved]) -> str:
    """Sizes as a range, or as a list if a size of ``beside`` lies between them."""
    own = sorted({point.bytes for point in moved})
    if any(own[0] < point.bytes < own[-1] for point in beside):
        return ", ".join(map(format_size, own))
    return size_range(own)


def facts(
    nested: Mapping[str, object], prefix: str = "", without: Container[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yields names and values of nested facts as text, without empty values.

    ``without``: names that are left out, at every depth.
    """
    for name, value in nested.items():
        if name in without:
            continue
        title = f"{prefix}{name}".replace("_", " ")
        if isinstance(value, Mapping):
            yield from facts(value, f"{title}: ", without)
        elif isinstance(value, (list, tuple)):
            yield title, ", ".join(map(str, value))
        elif value not in ("", None):
            text = {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
            if name.endswith("_bytes") and isinstance(value, int):
                title, text = title.removesuffix(" bytes"), rounded_size(value)
            yield title, text


def labels(run: Run) -> dict[str, str]:
    """Names of devices in reports, by address; "(not hardware)" is added where that applies."""
    real = {device.address: device.real for device in run.devices}
    named = dict.fromkeys([*real, *(point.device for point in run.points)])
    return {a: a if real.get(a, True) else f"{a} (not hardware)" for a in named}


def origin(run: Run) -> str:
    """The program and the file of an imported run: ``osu_bw 7.4 (bw.txt)``; else empty."""
    if run.origin is None:
        return ""
    return f"{run.origin.tool} {run.origin.version}".strip() + f" ({run.origin.file})"


def faults(run: Run) -> list[str]:
    """Points whose data were wrong, each fault once."""
    texts = []
    for point in run.points:
        at = f" {format_size(point.bytes)}" if point.bytes else ""
        of_point = [rerun.fault for rerun in point.reruns if rerun.fault]
        texts += [f"{point.device} {point.operation}{at}: {fault}" for fault in of_point]
    return list(dict.fromkeys(texts))


def troubles(run: Run) -> list[str]:
    """Errors of points, and points whose data were wrong, each once."""
    errors = [f"{point.device}: {point.error}" for point in run.points if point.error]
    return [*dict.fromkeys(errors), *faults(run)]
