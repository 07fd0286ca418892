"""Estimated times of a board: API software as measured plus crossing as simulated.

Where one run has an API with nothing behind it (``xrt:0@noop``) and the same API with an emulated
card, each point of both is added up: a third quantity, on the clock ``hybrid``, that nobody
measured. The first times the calls without a driver; the card's time has the link, the card, and
the driver as far as its board assumes one. What the two do at the same time is counted twice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from isthmus.analysis.context import AnalysisContext, Answer, each, table
from isthmus.analysis.ratios import groups, software_only
from isthmus.analysis.summary import simulated_devices
from isthmus.frames import Frame
from isthmus.statistics import Interval

_POINT = ["api", "operation", "memory", "bytes", "axes"]
_TIMES = ["median_s", "ci_low_s", "ci_high_s"]
_COLUMNS = (
    "device", "software", *_POINT, "clock", "software_s", "simulated_s", "hybrid_s", "low_hybrid_s",
    "high_hybrid_s", "bandwidth_Bps", "software_share",
)  # fmt: skip


def estimated(context: AnalysisContext) -> Answer:
    """Estimated time of each point: measured software plus simulated crossing."""
    return Answer(
        "hybrid",
        "What would a board take (an estimate: the API's software as measured above nothing, and "
        "the crossing as simulated)?",
        _both(context),
    )


class Share(NamedTuple):
    """Estimated times of one API over those of another above the same card: the faster first."""

    device: str
    reference: str
    operation: str
    memory: str
    axes: str
    by_size: Mapping[int, Interval]
    """Ratio by bytes, from small to large."""

    def over(self, sizes: Sequence[int]) -> Interval:
        """Geometric mean over sizes, as if their errors were fully correlated."""
        logs = [self.by_size[size].logarithm() for size in sizes]
        value, low, high = (
            math.fsum(ends) / len(logs) for ends in list(zip(*logs, strict=True))[:3]
        )
        return Interval(value, low, high, logs[0].confidence).exponential()

    def widened(self, confidence: float) -> Share:
        """The same with intervals of this confidence."""
        wider = {
            size: one.logarithm().widened(confidence).exponential()
            for size, one in self.by_size.items()
        }
        return self._replace(by_size=wider)


def api_shares(context: AnalysisContext) -> Answer:
    """Ratio of the estimated times of two APIs above the same card, by size."""
    rows = [
        (*share[:5], "hybrid", size, *time_ratio[:3])
        for share in shares(context)
        for size, time_ratio in share.by_size.items()
    ]
    return Answer.of(
        "api_shares",
        "Which share of the other API's time does an API take on a board (an estimate, as above)?",
        rows,
        "device reference operation memory axes clock bytes",
        "time_ratio low_time_ratio high_time_ratio",
    )


def shares(context: AnalysisContext) -> list[Share]:
    """Every two APIs above the same emulated card, for each operation that both have.

    Equal kinds of memory are compared; where each API has one kind, these are. Intervals hold
    together: of all shares, each size and one mean over sizes.
    """
    cards = {d.address: (d.properties.get("emulated_card"), d.api) for d in context.run.devices}
    found = []
    for (operation, axes), rows in groups(_both(context), ["operation", "axes"]):
        for reference, device in combinations(dict.fromkeys(rows["device"]), 2):
            (card, api), (other_card, other_api) = cards[device], cards[reference]
            if card == other_card and api != other_api:
                ours, theirs = rows[rows["device"] == device], rows[rows["device"] == reference]
                for memory, both in _alike(ours, theirs):
                    times = _times(both, context.confidence)
                    found.append(_share(device, reference, operation, memory, axes, times))
    together = context.simultaneous(sum(len(share.by_size) + 1 for share in found))
    return [share.widened(together) for share in found]


def _alike(ours: Frame, theirs: Frame) -> Iterator[tuple[str, Frame]]:
    """Rows of the same size and kind of memory, or of each API's one kind."""
    own, other = ours["memory"].unique(), theirs["memory"].unique()
    if len(own) == len(other) == 1:
        memory = own[0] if own[0] == other[0] else f"{own[0]} / {other[0]}"
        yield memory, ours.merge(theirs, on="bytes", suffixes=("", "_of"))
        return
    for kind in set(own) & set(other):
        pair = (rows[rows["memory"] == kind] for rows in (ours, theirs))
        yield kind, next(pair).merge(next(pair), on="bytes", suffixes=("", "_of"))


def _times(both: Frame, confidence: float) -> dict[int, tuple[Interval, Interval]]:
    """Seconds of two devices by bytes, from rows with the times of both."""
    return {
        int(row.bytes): (
            Interval(row.hybrid_s, row.low_hybrid_s, row.high_hybrid_s, confidence),
            Interval(row.hybrid_s_of, row.low_hybrid_s_of, row.high_hybrid_s_of, confidence),
        )
        for row in each(both.sort_values("bytes"))
    }


def _share(
    device: str, reference: str, operation: str, memory: str, axes: str,
    times: Mapping[int, tuple[Interval, Interval]],
) -> Share:  # fmt: skip
    """The share of one pair of devices, from the times of both by bytes."""
    if math.fsum(math.log(own.value / other.value) for own, other in times.values()) > 0:
        device, reference = reference, device
        memory = " / ".join(reversed(memory.split(" / ")))
        times = {size: (other, own) for size, (own, other) in times.items()}
    by_size = {size: own.over(other) for size, (own, other) in times.items()}
    return Share(device, reference, operation, memory, axes, by_size)


def _both(context: AnalysisContext) -> Frame:
    """A row for each point with both times."""
    rows = context.every[context.every["study"] == context.study]
    emulated, bare = simulated_devices(context.run), software_only(context.run)
    simulated = rows[
        rows["device"].isin(emulated)
        & rows["clock"].eq("simulated")
        & rows["verified"].ne("false")
        & rows["median_s"].gt(0)
    ]
    software = rows[rows["device"].isin(bare) & rows["clock"].eq("host") & rows["samples"].gt(0)]
    software = software[[*_POINT, "device", *_TIMES]].drop_duplicates(_POINT)
    both = simulated.merge(software, on=_POINT, suffixes=("", "_alone"))
    hybrid = both["median_s"] + both["median_s_alone"]
    moved = both["bandwidth_Bps"] * both["median_s"]
    columns = {
        "device": both["device"],
        "software": both["device_alone"],
        **{name: both[name] for name in _POINT},
        "clock": "hybrid",
        "software_s": both["median_s_alone"],
        "simulated_s": both["median_s"],
        "hybrid_s": hybrid,
        # Simulated time is exact: the software alone errs.
        "low_hybrid_s": both["median_s"] + both["ci_low_s_alone"],
        "high_hybrid_s": both["median_s"] + both["ci_high_s_alone"],
        "bandwidth_Bps": moved / hybrid,
        "software_share": both["median_s_alone"] / hybrid,
    }
    frame = Frame(columns, columns=list(_COLUMNS))
    return frame if not frame.empty else table((), *_COLUMNS)
