"""The study ``hops``: what does a copy over several buffers cost?"""

from __future__ import annotations

from isthmus.studies.base import Axis, Study, words
from isthmus.units import parse_positive, parse_sizes

STUDY = Study(
    name="hops",
    title="Copies over several buffers",
    question="What does each further buffer between the ends of a copy cost?",
    needs="buffers to hop over",
    operations=("hop",),
    axes=(
        Axis("bytes", "size of the copy", parse_sizes, parse_sizes("4Ki,1Mi"), unit_bytes=1),
        Axis("operation", "what is timed", words, ("hop",)),
        Axis("memory", "kind of memory of the buffers", words),
        Axis("hops", "copies one after the other", parse_positive, (1, 4)),
    ),
    columns=("hops",),
    analysed_by="toy_analysis:ANALYSIS",
)
