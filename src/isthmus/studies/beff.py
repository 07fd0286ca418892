"""Study 4: what is the network between the devices worth, at which message size?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from isthmus.models.serial import SIZES
from isthmus.studies.base import Axis, Published, Study, words
from isthmus.units import parse_counts, parse_positive, parse_sizes

if TYPE_CHECKING:
    import pandas as pd

    from isthmus.analysis.evidence import Answer, Evidence
    from isthmus.analysis.findings import Finding
    from isthmus.results.run_file import Point

EXCHANGES = ("exchange", "exchange_rank")
"""All ranks at once: the sum, and each rank's own."""
ON_REQUEST = ("pingpong", "window")
"""As other network benchmarks do it, measured where ``--axis operation`` names it."""


def _complete() -> Callable[[pd.DataFrame, Sequence[Point], float], pd.DataFrame]:
    from isthmus.analysis import beff_rows  # noqa: PLC0415 - slow to load

    return beff_rows.complete


def _answers() -> Sequence[Callable[[Evidence], Answer]]:
    from isthmus.analysis import beff  # noqa: PLC0415 - slow to load

    return beff.ASKED


def _findings() -> Callable[[Evidence], Sequence[Finding]]:
    from isthmus.analysis.found import beff  # noqa: PLC0415 - slow to load

    return beff.found


def _published(operation: str, apis: frozenset[str]) -> Published | None:
    """The logs of HPCC FPGA on one and on eight 520N (serial channels), beside cards only."""
    from isthmus.analysis.beff import LOGS, published_log  # noqa: PLC0415 - slow to load

    if operation != "exchange" or "card" not in apis:
        return None
    logs = {devices: published_log(devices) for devices in LOGS}
    return Published(
        [size for log in logs.values() for size in log],
        [rate / 1e9 for log in logs.values() for rate in log.values()],
        [f"published, {n} x 520N" for n, log in logs.items() for _ in log],
        "Grey outlines are published, not measured here: HPCC FPGA's b_eff on one and on eight "
        "BittWare 520N, all devices together.",
    )


STUDY = Study(
    name="beff",
    question="What is the network between the devices worth, at which message size?",
    needs="channels to other devices",
    place=4,
    operations=EXCHANGES + ON_REQUEST,
    axes=(
        Axis("bytes", "size of a message", parse_sizes, SIZES["definition"]),
        Axis("sizes", "set of sizes: definition or published", words, ("definition",)),
        Axis("operation", "what is timed", words, EXCHANGES),
        Axis("memory", "kind of memory that messages come from and go to", words),
        Axis("channel", "way between devices: card, mpi, staged, ...", words, selects=True),
        Axis("ranks", "devices that take part", parse_positive),
        Axis("rank", "the one whose own time it is, counted from 0", parse_counts),
        Axis("looplength", "steps that one timed loop has", parse_positive),
        Axis("topology", "who talks to whom: ring, pairs or random", words, selects=True),
        Axis("depth", "what a channel holds on its way", parse_positive),
    ),
    columns=("channel", "ranks", "rank", "looplength", "sizes", "topology", "depth"),
    size_sets=SIZES,
    joint=True,
    answers=_answers,
    findings=_findings,
    complete=_complete,
    published=_published,
)
