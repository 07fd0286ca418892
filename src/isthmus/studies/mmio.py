"""Study 5: what does one load or store to a device cost, and when is DMA faster?"""

from __future__ import annotations

from isthmus.studies.base import Axis, Headline, Size, Study, words
from isthmus.units import parse_positive, parse_sizes

OPERATIONS = (
    "register_load", "bar_memory_load", "store", "syscall_load", "syscall_store", "poll",
    "dma_read",
)  # fmt: skip
BASELINES = ("host_load", "host_stream", "line_exchange")
"""Operations on the host's own memory, for comparison: a load that misses all caches, loads that
hit the nearest cache, and a line that goes to another processor and back."""
SIZES = parse_sizes("1,2,4,8,16,32,64,128,256,512,1Ki,4Ki,16Ki,64Ki,1Mi,256Mi")


STUDY = Study(
    name="mmio",
    title="Single loads and stores",
    question="What does one load or store to a device cost, and when is DMA better?",
    needs="registers that may be loaded",
    place=5,
    operations=OPERATIONS + BASELINES,
    axes=(
        Axis("bytes", "size of the block", parse_sizes, SIZES, unit_bytes=1),
        Axis("operation", "what is timed", words, OPERATIONS + BASELINES),
        Axis("memory", "how the device is mapped: bar_uc, bar_wc, ...; config", words),
        Axis("width", "bytes of one instruction", parse_positive, selects=True),
        Axis("instruction", "mov, movdqa, movntdqa, movnti, ..., pread", words, selects=True),
        Axis("fence", "none, lfence, sfence or mfence", words, selects=True),
        Axis("pipelined", "no: each waits for the one before it", words, selects=True),
    ),
    columns=("width", "instruction", "fence", "pipelined"),
    headlines=(
        Headline("load of a register", "register_load", 4),
        Headline("load of device memory", "bar_memory_load", 8),
        Headline("load by a system call", "syscall_load", 4),
        Headline("polled round trip", "poll", Size.ANY),
    ),
    analysed_by="isthmus.analysis.mmio:ANALYSIS",
    plotted_by="isthmus.reporters.html.charts.mmio:plots",
)
