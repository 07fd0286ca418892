"""Study 3: how fast do kernels on the card access host memory, in small and large buffers?"""

from __future__ import annotations

from isthmus.studies.base import Axis, Headline, Study, words
from isthmus.studies.transfer import coarse
from isthmus.units import parse_positive, parse_sizes

KERNELS = ("read_bandwidth", "write_bandwidth", "bandwidth")
COPIES = ("write", "read")
"""Operations that copy between host and card memory, measured on request for comparison."""


SIZES = parse_sizes("4Ki:256Mi")

STUDY = Study(
    name="hostmem",
    title="Kernels on host memory",
    question="How fast do kernels on the card read and write host memory?",
    needs="kernels that read and write host memory",
    place=2,
    operations=KERNELS + COPIES,
    axes=(
        Axis(
            "bytes",
            "size of the buffer",
            parse_sizes,
            SIZES,
            coarse=coarse(SIZES),
            unit_bytes=1,
        ),
        Axis("operation", "kernel that is timed", words, KERNELS),
        Axis("memory", "kind of memory that the kernel accesses", words),
        Axis("target", "location of that memory", words, ("host", "device"), "", True),
        Axis(
            "implementation",
            "implementation of the kernel: model, rtl or board",
            words,
            ("model", "board"),
            "",
            True,
        ),
        Axis("iterations", "sweeps over the buffer in one launch", parse_positive, None, 1),
        Axis("outstanding", "bursts in flight", parse_positive, None, "", True),
        Axis("burst_bytes", "longest burst", parse_sizes, None, "", True),
        Axis("page_bytes", "page size of host memory in the card", parse_sizes, None, "", True),
    ),
    columns=("target", "implementation", "iterations", "outstanding", "burst_bytes", "page_bytes"),
    headlines=tuple(
        Headline(says, kernel, axes={"target": "host"})
        for kernel, says in (
            ("read_bandwidth", "kernels read host memory"),
            ("write_bandwidth", "kernels write host memory"),
            ("bandwidth", "kernels read and write at once"),
        )
    ),
    analysed_by="isthmus.analysis.hostmem:ANALYSIS",
    plotted_by="isthmus.reporters.html.charts.hostmem:plots",
)
