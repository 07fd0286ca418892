"""Study 1: what does a transfer between host and card memory cost, by which API, at which size?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from isthmus.studies.base import Axis, Published, Study, words
from isthmus.units import format_size, parse_counts, parse_positive, parse_sizes

if TYPE_CHECKING:
    from isthmus.analysis.evidence import Answer, Evidence
    from isthmus.analysis.findings import Finding

OPERATIONS = (
    "read", "write", "read_rw", "write_rw", "bidirectional", "map", "unmap", "launch",
    "kernel_read", "kernel_write", "stream",
)  # fmt: skip
ON_REQUEST = (
    "graph_launch", "copy_sm_write", "copy_sm_read", "pointer_chase", "peer_write", "peer_read",
)  # fmt: skip
"""What some devices do beyond that, measured where ``--axis operation`` names it."""
_THIN = 8
_QUICK_MOST = 128 << 20


def every_eighth(sizes: Sequence[int]) -> Sequence[int]:
    """Each size at least eight times the one before, up to 128 MiB: larger ones take seconds."""
    kept: list[int] = []
    for size in sizes:
        if size <= _QUICK_MOST and (not kept or size >= _THIN * kept[-1]):
            kept.append(size)
    return kept


def _answers() -> Sequence[Callable[[Evidence], Answer]]:
    from isthmus.analysis import (  # noqa: PLC0415 - slow to load
        api_software,
        comparisons,
        hybrid,
        speeds,
    )

    return (
        speeds.peaks,
        api_software.per_call,
        hybrid.estimated,
        comparisons.small,
        comparisons.indistinguishable,
        comparisons.throttle,
        comparisons.ceiling,
        speeds.half,
        speeds.fits,
    )


def _findings() -> Callable[[Evidence], Sequence[Finding]]:
    from isthmus.analysis.found import transfer  # noqa: PLC0415 - slow to load

    return transfer.found


def _published(operation: str, apis: frozenset[str]) -> Published | None:
    """Peaks of the same operation through the same APIs (Li 2024)."""
    from isthmus import published  # noqa: PLC0415 - slow to load

    peaks = published.series("opencl_xrt_peaks")
    peaks = peaks[(peaks["target"] == "hw") & (peaks["operation"] == operation)]
    peaks = peaks[peaks["api"].isin(apis)]
    if peaks.empty:
        return None
    told = ", ".join(
        f"{api} {peak} at {format_size(size)}"
        for api, peak, size in zip(peaks["api"], peaks["peak_GBps"], peaks["at_bytes"], strict=True)
    )
    return Published(
        peaks["at_bytes"].tolist(),
        peaks["peak_GBps"].tolist(),
        [f"published, AWS F1 VU9P: {api}" for api in peaks["api"]],
        f"Grey outlines are published, not measured here: {told} on AWS F1 VU9P (Li 2024). The "
        "source does not say whether GB or GiB; drawn as GB, they would lie 7 % higher as GiB.",
    )


STUDY = Study(
    name="transfer",
    question="What do transfers between host and card memory cost, and when does the API matter?",
    needs="memory to copy to",
    place=1,
    operations=OPERATIONS + ON_REQUEST,
    axes=(
        Axis("bytes", "size of one transfer", parse_sizes, parse_sizes("1:2Gi")),
        Axis("operation", "what is timed", words, OPERATIONS),
        Axis("memory", "kind of host memory", words),
        Axis("depth", "transfers queued together; buffers of a stream", parse_positive, absent=1),
        Axis("bank", "memory of the card, counted from 0", parse_counts, (0,), 0, True),
    ),
    columns=("depth", "bank"),
    thin=every_eighth,
    answers=_answers,
    findings=_findings,
    published=_published,
)
