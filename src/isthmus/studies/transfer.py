"""Study 1: what does a transfer between host and card memory cost, by which API, at which size?"""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.studies.base import Axis, Study, words
from isthmus.units import parse_counts, parse_positive, parse_sizes

OPERATIONS = (
    "read", "write", "read_rw", "write_rw", "bidirectional", "map", "unmap", "launch",
    "kernel_read", "kernel_write", "stream",
)  # fmt: skip
ON_REQUEST = (
    "graph_launch", "copy_sm_write", "copy_sm_read", "pointer_chase", "peer_write", "peer_read",
)  # fmt: skip
"""Further operations of some devices, measured where ``--axis operation`` names them."""
_THIN = 8
_QUICK_MOST = 128 << 20


def every_eighth(sizes: Sequence[int]) -> Sequence[int]:
    """Each size at least eight times the one before, up to 128 MiB: larger ones take seconds."""
    kept: list[int] = []
    for size in sizes:
        if size <= _QUICK_MOST and (not kept or size >= _THIN * kept[-1]):
            kept.append(size)
    return kept


SIZES = parse_sizes("1:2Gi")

STUDY = Study(
    name="transfer",
    title="Copies between host and device",
    question="What do transfers between host and card memory cost, and when does the API matter?",
    needs="memory to copy to",
    place=1,
    operations=OPERATIONS + ON_REQUEST,
    axes=(
        Axis(
            "bytes",
            "size of one transfer",
            parse_sizes,
            SIZES,
            quick=every_eighth(SIZES),
            unit_bytes=1,
        ),
        Axis("operation", "what is timed", words, OPERATIONS),
        Axis("memory", "kind of host memory", words),
        Axis("depth", "transfers queued together; buffers of a stream", parse_positive, absent=1),
        Axis("bank", "memory of the card, counted from 0", parse_counts, (0,), 0, True),
    ),
    columns=("depth", "bank"),
    software={"operation": ("read", "write"), "bytes": parse_sizes("1:64Ki")},
    analysed_by="isthmus.analysis.findings.transfer:ANALYSIS",
    plotted_by="isthmus.reporters.html.charts.transfer:plots",
)
