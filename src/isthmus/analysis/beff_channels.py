"""Channels of the same devices beside one another, and what the links between devices carry."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import msgspec
import numpy as np
import pandas as pd

from isthmus.analysis import wording
from isthmus.analysis.evidence import Answer, Evidence, table
from isthmus.analysis.ratios import (
    LARGE,
    SMALL,
    Ratio,
    by_size,
    complete,
    divide,
    groups,
    medians,
    ratio,
)
from isthmus.results.run_file import Point, Run

LINKS = "nvlink_Bps"
"""Property of a device: bytes a second and direction of all its links to devices like it."""


def links_rate(run: Run, address: str) -> float:
    """Bytes a second that can leave each of the devices over its links to the others at most.

    ``address`` joins devices by ``+``. NaN where one of them does not tell, and where ranks share a
    device: what they send each other stays within it.
    """
    ranks = run.environment.get("ranks")
    if isinstance(ranks, list):
        devices = {(rank.get("host"), rank.get("id", rank.get("device"))) for rank in ranks}
        if len(devices) < len(ranks):
            return float("nan")
    told = {device.address: device.properties.get(LINKS, "nan") for device in run.devices}
    members = [name for name in address.split("+") if name in told] or [address]
    return float(np.min([float(told.get(name, "nan")) for name in members]))


def channels(evidence: Evidence) -> Answer:
    """Each two channels of the same devices: ratio of the times of a step, size by size."""
    rows, clauses = [], []
    found_pairs = list(_pairs(evidence))
    together = evidence.together(2 * len(found_pairs))  # of small messages, and of large ones
    for name, reference, where, times in found_pairs:
        for size in by_size(times, evidence.confidence).itertuples(index=False):
            rows.append((*where, name, reference, *size))
        for over, mine in (
            ("small", times[times["bytes"] <= SMALL]),
            ("large", times[times["bytes"] >= LARGE]),
        ):
            found = ratio(mine, together)
            if found is not None:
                sizes = wording.sizes(complete(mine)["bytes"].tolist())
                told = _told(evidence, name, reference, found)
                on = ", ".join(filter(None, (evidence.labels[where[0]], where[1])))
                clauses.append(f"{over} messages ({sizes}) on {on}: {told}")
    return Answer(
        "channels",
        "Which channel takes longer, at which size?",
        wording.few(clauses) or ("one channel does not tell: the devices need several",),
        table(
            rows, "device", "axes", "channel", "reference", "bytes", "time_ratio",
            "low_time_ratio", "high_time_ratio", "within",
        ),
    )  # fmt: skip


def _pairs(evidence: Evidence) -> Iterator[tuple[str, str, tuple[str, str], pd.DataFrame]]:
    """Name, name of the other, where (device and axes), and ratios by size and rerun."""
    exchanges = [
        point
        for point in evidence.run.points
        if point.study == evidence.study and point.operation == "exchange"
    ]
    ways: dict[str, list[Point]] = {}
    for point in exchanges:
        ways.setdefault(str(point.axes.get("channel", "")), []).append(point)
    if len(ways) < 2:
        return
    series: dict[tuple[str, str], dict[str, pd.DataFrame]] = {}
    for channel, points in ways.items():
        found = medians(msgspec.structs.replace(evidence.run, points=points), evidence.study)
        kinds = found.groupby("device")["memory"].nunique()
        for (device, axes, memory), mine in groups(found, ["device", "axes", "memory"]):
            name = f"{channel} ({memory})" if kinds[device] > 1 else channel
            series.setdefault((device, axes), {})[name] = mine
    for where, named in series.items():
        for reference, name in combinations(named, 2):
            times = divide(named[name], named[reference])
            if not times.empty:
                yield name, reference, where, times


def _told(evidence: Evidence, name: str, reference: str, found: Ratio) -> str:
    """Which of the two takes longer, the slower one first."""
    finding = evidence.judge(found.interval)
    if finding in {"same", "undecided"}:
        word = "no difference" if finding == "same" else "cannot tell"
        return f"{word} between {name} and {reference} ({wording.interval(found)})"
    if finding == "faster":
        name, reference, found = reference, name, found.inverse()
    times = f"{wording.number(found.interval.value)} times as long as {reference}"
    return f"{name} takes {times} ({wording.interval(found)})"
