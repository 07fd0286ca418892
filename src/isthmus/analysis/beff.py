"""Answers of the study beff: effective bandwidth between devices."""

from __future__ import annotations

from isthmus.analysis import wording
from isthmus.analysis.evidence import Answer, Evidence, each, table
from isthmus.analysis.ratios import groups
from isthmus.units import format_rate


def by_size(evidence: Evidence) -> Answer:
    """Bandwidth of all devices together at each size: best over repetitions, and median."""
    mine = evidence.rows[evidence.rows["operation"] == "exchange"]
    rows = []
    for row in each(mine):
        moved = row.bandwidth_Bps * row.median_s
        named = (row.device, row.channel, row.ranks, row.sizes, row.axes, row.bytes)
        rows.append((*named, row.bandwidth_Bps, moved / row.min_s))
    found = table(
        rows, "device", "channel", "ranks", "sizes", "axes", "bytes", "bandwidth_Bps", "best_Bps"
    )
    clauses = [
        f"{evidence.labels[device]} reaches {format_rate(float(mine['best_Bps'].max()))}"
        for (device,), mine in groups(found, ["device"])
    ]
    return Answer(
        "by_size",
        "What do all devices together exchange, by message size?",
        wording.few(clauses) or ("no exchange was measured",),
        found,
    )


ASKED = (by_size,)
"""The study's questions, in the order shown."""
