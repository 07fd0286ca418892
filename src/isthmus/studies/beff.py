"""Study 4: how fast is the network between the devices, at each message size?"""

from __future__ import annotations

from isthmus.models.serial import SIZES
from isthmus.studies.base import Axis, Headline, Study, words
from isthmus.units import parse_counts, parse_positive, parse_sizes

EXCHANGES = ("exchange", "exchange_rank")
"""Operations in which all ranks exchange messages at once: the total, and the part of each rank."""
ON_REQUEST = ("pingpong", "window")
"""Operations of other network benchmarks, measured only if ``--axis operation`` names them."""


STUDY = Study(
    name="beff",
    title="Network between devices",
    question="What is the network between the devices worth, at which message size?",
    needs="channels to other devices",
    place=4,
    between=True,
    operations=EXCHANGES + ON_REQUEST,
    axes=(
        Axis("bytes", "size of a message", parse_sizes, SIZES["definition"], unit_bytes=1),
        Axis("sizes", "set of sizes: definition or published", words, ("definition",), sets=SIZES),
        Axis("operation", "what is timed", words, EXCHANGES),
        Axis("memory", "kind of memory that messages come from and go to", words),
        Axis("channel", "way between devices: card, mpi, staged, ...", words, selects=True),
        Axis("ranks", "devices that take part", parse_positive),
        Axis("rank", "rank whose own time is shown, counted from 0", parse_counts),
        Axis("looplength", "steps of one timed loop", parse_positive),
        Axis("topology", "neighbours of each rank: ring, pairs or random", words, selects=True),
        Axis("depth", "words that a channel buffers", parse_positive),
    ),
    columns=("channel", "ranks", "rank", "looplength", "sizes", "topology", "depth"),
    headlines=(
        Headline("message", "exchange", 1),
        Headline("message", "exchange", 1 << 20),
    ),
    analysed_by="isthmus.analysis.findings.beff:ANALYSIS",
    plotted_by="isthmus.reporters.html.charts.beff:plots",
)
