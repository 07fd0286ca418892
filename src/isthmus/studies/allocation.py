"""Study 2: how long does each phase of an offload take with each kind of buffer allocation?"""

from __future__ import annotations

from isthmus import _core
from isthmus.studies.base import Axis, Headline, Size, Study, words
from isthmus.units import parse_counts, parse_positive

ACCELERATOR = (
    "initialise", "program_device", "allocate", "populate", "map", "migrate_to_device",
    "migrate_to_device_wait", "set_arguments", "kernel_enqueue", "kernel_run", "read_back",
)  # fmt: skip
"""Phases of the offload on the accelerator, in the order in which they run one after another."""
OPERATIONS = (*ACCELERATOR, "remainder", "total", "software_vadd", "software_vadd_simd")
OFFSETS = ("offset1", "offset16", "offset64", "offset128", "offset2048")
_NODES = _core.memory_nodes()
MEMORY = (
    "pageable", "aligned", *OFFSETS, "mmap", "hugepage", "hugetlb", "mlock", "posix_memalign64",
    "posix_memalign4096", "aligned_alloc64", "aligned_alloc4096", "new64", "new4096", "alloc_host",
    "svm", "host_only", "pinned", "write_combined", "registered", "mapped", "managed", "p2p",
    *(f"node{node}" for node in _NODES if len(_NODES) > 1),
)  # fmt: skip
COARSE_MEMORY = ("pageable", "aligned", "offset16", "alloc_host", "host_only", "pinned")

STUDY = Study(
    name="allocation",
    title="An offload and its memory",
    question="What does a badly allocated host buffer cost an offload, phase by phase?",
    needs="a runtime that can be timed",
    place=3,
    operations=OPERATIONS,
    axes=(
        Axis(
            "elements", "32-bit integers in each vector", parse_positive, (6 << 20,), unit_bytes=4,
        ),
        Axis("operation", "phase", words, OPERATIONS),
        Axis(
            "memory", "allocation of the vectors' host memory", words, MEMORY,
            coarse=COARSE_MEMORY, reference="aligned",
        ),
        Axis(
            "relative_offset",
            "bytes by which the result lies further into its page than the operands",
            parse_counts, (0,), 0, reference=0,
        ),
        Axis(
            "handover", "user_pointer: the runtime uses the program's memory; "
            "copy: the program copies", words,
            reference="user_pointer",
        ),
    ),
    headlines=(
        Headline("first offload", "total", Size.ANY, ("pinned", "pageable")),
    ),
    columns=("elements", "handover", "relative_offset"),
    offload=True,
    analysed_by="isthmus.analysis.allocation:ANALYSIS",
    plotted_by="isthmus.reporters.html.charts.allocation:plots",
)  # fmt: skip
