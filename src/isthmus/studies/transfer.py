"""Study 1: what does a transfer between host and card memory cost, by which API, at which size?"""

from __future__ import annotations

from collections.abc import Sequence

from isthmus.studies.base import Axis, Headline, Study, words
from isthmus.thresholds import LARGE, SMALL
from isthmus.units import parse_counts, parse_positive, parse_sizes

OPERATIONS = (
    "read", "write", "read_rw", "write_rw", "bidirectional", "map", "unmap", "launch",
    "kernel_read", "kernel_write", "stream",
)  # fmt: skip
ON_REQUEST = (
    "graph_launch", "copy_sm_write", "copy_sm_read", "pointer_chase", "peer_write", "peer_read",
)  # fmt: skip
"""Further operations of some devices, measured only if ``--axis operation`` names them."""
_COARSE_MOST = 64 << 20
"""Largest of a curve's first sizes in bytes. A run adds larger copies if the rate still changes."""
_STEP_BELOW, _STEP_ABOVE = 16, 4
"""Factors between the first sizes of a curve, below and above ``LARGE``."""


def coarse(sizes: Sequence[int]) -> Sequence[int]:
    """The sizes at which a curve begins: about eight, closer together for large copies."""
    kept: list[int] = []
    for size in sizes:
        step = _STEP_ABOVE if kept and kept[-1] >= LARGE else _STEP_BELOW
        if size <= _COARSE_MOST and (not kept or size >= step * kept[-1]):
            kept.append(size)
    return kept


SIZES = parse_sizes("1:2Gi")
ORDINARY = ("pageable", "aligned")
"""Kinds of host memory whose data a driver may first copy to pinned memory, for a device with a
link."""

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
            coarse=coarse(SIZES),
            unit_bytes=1,
        ),
        Axis("operation", "what is timed", words, OPERATIONS),
        Axis("memory", "kind of host memory", words),
        Axis("depth", "transfers queued together; buffers of a stream", parse_positive, absent=1),
        Axis("bank", "memory of the card, counted from 0", parse_counts, (0,), 0, True),
    ),
    columns=("depth", "bank"),
    headlines=(
        Headline("copy to device", "write"),
        Headline("copy to host", "read"),
        Headline("both ways at once", "bidirectional"),
        Headline("copy to device", "write", SMALL),
        Headline("copy to host", "read", SMALL),
        Headline("copy to device", "write", 1),
        Headline("copy to host", "read", 1),
    ),
    curve=("write", "read", "bidirectional", "launch"),
    software={"operation": ("read", "write"), "bytes": parse_sizes("1:64Ki")},
    analysed_by="isthmus.analysis.findings.transfer:ANALYSIS",
    plotted_by="isthmus.reporters.html.charts.transfer:plots",
)
