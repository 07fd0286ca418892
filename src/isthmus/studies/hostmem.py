"""Study 3: how fast do kernels on the card reach host memory, and what do large buffers lose?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from isthmus.studies.base import Axis, Published, Study, words
from isthmus.studies.transfer import every_eighth
from isthmus.units import parse_positive, parse_sizes

if TYPE_CHECKING:
    from isthmus.analysis.evidence import Answer, Evidence
    from isthmus.analysis.findings import Finding

KERNELS = ("read_bandwidth", "write_bandwidth", "bandwidth")
COPIES = ("write", "read")
"""Transfers between host and card memory, on request: the other way to bring a kernel its data."""


def _answers() -> Sequence[Callable[[Evidence], Answer]]:
    from isthmus.analysis import hostmem  # noqa: PLC0415 - slow to load

    return hostmem.ASKED


def _findings() -> Callable[[Evidence], Sequence[Finding]]:
    from isthmus.analysis.found import hostmem  # noqa: PLC0415 - slow to load

    return hostmem.found


def _published(operation: str, apis: frozenset[str]) -> Published | None:
    """The log of AMD's example on a U250 (gen3 x16), beside cards only."""
    from isthmus.analysis.crossing import published_rates  # noqa: PLC0415 - slow to load

    rates = published_rates(operation)
    if not rates or not apis & {"card", "xrt"}:
        return None
    return Published(
        list(rates),
        [rate / 1e9 for rate in rates.values()],
        ["published, U250 gen3 x16"] * len(rates),
        "Grey outlines are published, not measured here: AMD's host memory example on a U250, 1024 "
        "sweeps, its GiB/s drawn as GB/s.",
    )


STUDY = Study(
    name="hostmem",
    question="How fast do kernels on the card read and write host memory?",
    needs="kernels that read and write host memory",
    place=2,
    operations=KERNELS + COPIES,
    axes=(
        Axis("bytes", "size of the buffer", parse_sizes, parse_sizes("4Ki:256Mi")),
        Axis("operation", "kernel that is timed", words, KERNELS),
        Axis("memory", "kind of memory that the kernel reaches", words),
        Axis("target", "where that memory is", words, ("host", "device"), "", True),
        Axis(
            "implementation",
            "what the kernel is: model, rtl or board",
            words,
            ("model", "board"),
            "",
            True,
        ),
        Axis("iterations", "sweeps over the buffer in one launch", parse_positive, None, 1),
        Axis("outstanding", "bursts in flight", parse_positive, None, "", True),
        Axis("burst_bytes", "longest burst", parse_sizes, None, "", True),
        Axis("page_bytes", "page of host memory that the card knows", parse_sizes, None, "", True),
    ),
    columns=("target", "implementation", "iterations", "outstanding", "burst_bytes", "page_bytes"),
    thin=every_eighth,
    answers=_answers,
    findings=_findings,
    published=_published,
)
