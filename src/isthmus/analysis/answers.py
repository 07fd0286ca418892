"""The transfer study's answers: for each question one plain sentence and the table behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from isthmus.analysis import wording
from isthmus.analysis.fits import alpha_beta, half_bandwidth
from isthmus.analysis.ratios import (
    LARGE,
    SMALL,
    Pair,
    Ratio,
    axis_names,
    by_size,
    contenders,
    divide,
    groups,
    medians,
    memory_copies,
    pairs,
    ratio,
    with_axes,
)
from isthmus.analysis.summary import summarise
from isthmus.results.run_file import Run
from isthmus.units import format_rate, format_seconds, format_size

STUDY = "transfer"
SERIES = ["device", "api", "operation", "memory", "axes", "clock"]
"""What makes one line in a plot: points that differ in size only."""
_HALVES = {"read_rw": "read", "write_rw": "write"}
_FIRST_ASKED = ("read", "write", "bidirectional")


@dataclass(frozen=True)
class Answer:
    """What one question of a study came to."""

    name: str
    question: str
    verdict: str
    """One plain sentence."""
    table: pd.DataFrame
    """Figures behind it; column names end in their unit: ``_s``, ``_Bps``; sizes are bytes."""


@dataclass(frozen=True)
class _Evidence:
    run: Run
    rows: pd.DataFrame
    """Summary rows whose data arrived and that have a bandwidth, every clock but the device's."""
    pairs: list[Pair]
    labels: dict[str, str]

    contending: list[Pair]
    copies: frozenset[str]

    @property
    def confidence(self) -> float:
        return self.run.settings.confidence

    def speaks_of(self, device: str) -> bool:
        """Whether a sentence should: the memory copy is left to the table beside others."""
        return device not in self.copies or set(self.rows["device"]) <= self.copies

    def contends(self, pair: Pair) -> bool:
        """Whether a sentence should speak of it."""
        return any(pair is other for other in self.contending)

    def details(self, operation: str, memory: str, axes: str) -> list[str]:
        """What tells this series of an operation from others of the same device, if any are."""
        mine = self.rows[self.rows["operation"] == operation]
        return [
            text for name, text in (("memory", memory), ("axes", axes)) if mine[name].nunique() > 1
        ]


def answers(run: Run, summary: pd.DataFrame | None = None) -> list[Answer]:
    """Answers to the transfer study's questions; none where a run holds no transfer."""
    if STUDY not in run.studies and all(point.study != STUDY for point in run.points):
        return []
    frame = summarise(run) if summary is None else summary
    axes = axis_names(point for point in run.points if point.study == STUDY)
    rows = with_axes(frame[frame["study"] == STUDY], axes)
    rows = rows[(rows["verified"] == "true") & rows["bandwidth_Bps"].gt(0)]
    rows = rows[rows["clock"] != "device"]  # leaves out what the host had to do
    found = pairs(run, STUDY)
    evidence = _Evidence(
        run=run,
        rows=rows,
        pairs=found,
        labels=wording.labels(run),
        contending=contenders(run, found),
        copies=memory_copies(run),
    )
    asked: tuple[Callable[[_Evidence], Answer], ...] = (
        _peaks, _small, _indistinguishable, _throttle, _ceiling, _half, _fits,
    )  # fmt: skip
    return [ask(evidence) for ask in asked]


def _table(rows: Iterable[tuple[object, ...]], *columns: str) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=list(columns))


def _peaks(evidence: _Evidence) -> Answer:
    rows = evidence.rows
    top = [group["bandwidth_Bps"].idxmax() for _, group in groups(rows, SERIES)]
    best = rows[rows.index.isin(top)]
    moved = best["bandwidth_Bps"] * best["median_s"]
    table = best[[*SERIES, "bandwidth_Bps", "bytes"]].assign(
        low_bandwidth_Bps=moved / best["ci_high_s"],
        high_bandwidth_Bps=(moved / best["ci_low_s"]).where(best["ci_low_s"] > 0),
        converged=best["converged"],
    )
    columns = [
        *SERIES,
        "bandwidth_Bps",
        "low_bandwidth_Bps",
        "high_bandwidth_Bps",
        "bytes",
        "converged",
    ]
    return Answer(
        "peaks",
        "What is the highest bandwidth, and at which size?",
        _peaks_verdict(evidence, table),
        table[columns].reset_index(drop=True),
    )


def _peaks_verdict(evidence: _Evidence, table: pd.DataFrame) -> str:
    unreal = [device.address for device in evidence.run.devices if not device.real]
    shown = table
    for preferred in (
        ~table["device"].isin(unreal) & (table["clock"] == "host"),
        ~table["device"].isin(evidence.copies),
        table["operation"].isin(_FIRST_ASKED),
    ):
        chosen = shown[preferred.loc[shown.index]]
        shown = shown if chosen.empty else chosen
    clauses = []
    for (operation,), group in groups(shown, ["operation"]):
        top = group.iloc[int(group["bandwidth_Bps"].argmax())]
        clock = "" if top["clock"] == "host" else f", {top['clock']} clock"
        clauses.append(
            f"{operation} {format_rate(top['bandwidth_Bps'])} at {format_size(top['bytes'])} "
            f"({evidence.labels[top['device']]}{clock})"
        )
    found = wording.sentence(clauses, "")
    return f"Highest: {found[0].lower()}{found[1:]}" if found else "No bandwidth was measured."


def _takes(evidence: _Evidence, pair: Pair, found: Ratio, where: str) -> str:
    """Clause that says which of two devices takes longer, the slower one first."""
    ours, theirs = evidence.labels[pair.device], evidence.labels[pair.reference]
    what = wording.of(pair.operation, where, pair.axes)
    if found.finding in {"same", "unknown"}:
        word = "no difference" if found.finding == "same" else "cannot tell"
        span = wording.interval(found, evidence.confidence)
        return f"{what}: {word} between {ours} and {theirs} ({span})"
    if found.ratio < 1.0:
        found = found.inverse()
        ours, theirs = theirs, ours
    span = wording.interval(found, evidence.confidence)
    return f"{what}: {ours} takes {wording.number(found.ratio)} times {theirs}'s time ({span})"


def _small(evidence: _Evidence) -> Answer:
    rows, clauses = [], []
    for pair in evidence.pairs:
        times = pair.times[pair.times["bytes"].between(1, SMALL)]
        found = ratio(times, evidence.confidence)
        if found is None:
            continue
        each = by_size(times, evidence.confidence)["ratio"]
        span = wording.sizes(times["bytes"].tolist())
        rows.append(
            (pair.device, pair.reference, pair.operation, pair.memory, pair.axes, span,
             *found, each.min(), each.max(), found.finding)
        )  # fmt: skip
        if evidence.contends(pair):
            clauses.append((pair.operation, _takes(evidence, pair, found, span)))
    first = [text for operation, text in clauses if operation in _FIRST_ASKED]
    return Answer(
        "small",
        f"How do the devices' times compare for small transfers (1 to {format_size(SMALL)})?",
        wording.sentence(first or (text for _, text in clauses), _nothing_to_compare(evidence)),
        _table(
            rows, "device", "reference", "operation", "memory", "axes", "over", "time_ratio",
            "low_time_ratio", "high_time_ratio", "within", "sizes", "reruns", "least_ratio",
            "most_ratio", "finding",
        ),
    )  # fmt: skip


def _nothing_to_compare(evidence: _Evidence) -> str:
    devices = {point.device for point in evidence.run.points}
    if len(devices) < 2:
        return "Only one device was measured: nothing to compare." if devices else "No points."
    return "No two devices measured the same point on the host's clock with verified data."


def _indistinguishable(evidence: _Evidence) -> Answer:
    rows, clauses = [], []
    for pair in evidence.pairs:
        each = by_size(pair.times, evidence.confidence)
        differs = ~(each["low"].le(1.0) & each["high"].ge(1.0))
        start = int(np.flatnonzero(differs)[-1]) + 1 if differs.any() else 0
        tail = each.iloc[start:]
        widest = float((tail["high"] / tail["low"]).max() ** 0.5 - 1) if len(tail) else np.nan
        found = "never" if tail.empty else "all" if start == 0 else "from"
        size = tail["bytes"].iloc[0] if len(tail) else np.nan
        within = bool(each["within"].any())
        rows.append(
            (pair.device, pair.reference, pair.operation, pair.memory, pair.axes, found, size,
             each["bytes"].iloc[-1], widest, within)
        )  # fmt: skip
        names = f"{evidence.labels[pair.device]} and {evidence.labels[pair.reference]}"
        said = {
            "never": "differ up to the largest size",
            "all": f"cannot be told apart at any size (to within {wording.percent(widest)})",
        }.get(found) or (
            f"cannot be told apart from {format_size(int(size))} on "
            f"(to within {wording.percent(widest)})"
        )
        if pair.operation in _FIRST_ASKED and evidence.contends(pair):
            clauses.append(f"{wording.of(pair.operation, pair.axes)}: {names} {said}")
    return Answer(
        "indistinguishable",
        "From which size on does it not matter which device or API is used?",
        wording.sentence(clauses, _nothing_to_compare(evidence)),
        _table(
            rows, "device", "reference", "operation", "memory", "axes", "found", "bytes",
            "largest_bytes", "resolved_share", "within",
        ),
    )  # fmt: skip


def _throttle(evidence: _Evidence) -> Answer:
    table = medians(evidence.run, STUDY)
    rows: list[tuple[object, ...]] = []
    said: dict[tuple[str, ...], str] = {}
    for both, alone in _HALVES.items():
        halves = table[table["operation"] == both]
        for (device, memory, axes), half in groups(halves, ["device", "memory", "axes"]):
            same = (table["device"] == device) & (table["memory"] == memory)
            same &= (table["axes"] == axes) & (table["operation"] == alone)
            times = divide(half, table[same])
            for low, high in ((LARGE, np.inf), (0, SMALL)):  # what matters most first
                part = times[times["bytes"].between(low, high)]
                found = ratio(part, evidence.confidence)
                if found is None:
                    continue
                verdict = _throttle_verdict(found)
                over = wording.sizes(part["bytes"].tolist())
                rows.append((device, both, alone, memory, axes, over, *found, verdict))
                named = wording.of(alone, over, *evidence.details(both, memory, axes))
                clause = (
                    f"{named} on {evidence.labels[device]}: {verdict} "
                    f"({wording.interval(found, evidence.confidence)})"
                )
                said.setdefault((device, both, memory, axes), clause)
    return Answer(
        "throttle",
        "Does consecutive reading and writing slow either half down?",
        wording.sentence(
            said.values(),
            "Cannot tell: no operation was measured both alone and in consecutive pairs.",
        ),
        _table(
            rows, "device", "operation", "reference", "memory", "axes", "over", "time_ratio",
            "low_time_ratio", "high_time_ratio", "within", "sizes", "reruns", "verdict",
        ),
    )  # fmt: skip


def _throttle_verdict(found: Ratio) -> str:
    match found.finding:
        case "slower":
            return f"yes, by {wording.percent(found.ratio - 1)}"
        case "faster":
            return f"no, {wording.percent(1 - found.ratio)} faster"
        case "same":
            return "no difference"
        case _:
            return "cannot tell"


def _ceiling(evidence: _Evidence) -> Answer:
    peaks = _peaks(evidence).table
    copies = evidence.copies
    best: dict[tuple[str, ...], tuple[object, ...]] = {}
    for pair in evidence.pairs:
        if (pair.device in copies) == (pair.reference in copies):
            continue
        copy, device = (
            (pair.device, pair.reference)
            if pair.device in copies
            else (pair.reference, pair.device)
        )
        mine = peaks[(peaks["device"] == device) & (peaks["operation"] == pair.operation)]
        mine = mine[(mine["axes"] == pair.axes) & (mine["clock"] == "host")]
        for _, peak in mine.iterrows():
            if peak["memory"] not in pair.memory.split(" / "):
                continue
            found = ratio(pair.times[pair.times["bytes"] == peak["bytes"]], evidence.confidence)
            if found is None:
                continue
            if pair.device == device:  # the share is the copy's time over the device's
                found = found.inverse()
            key = (device, pair.operation, pair.memory, pair.axes)
            row = (device, copy, *key[1:], peak["bytes"], *found[:4])
            if key not in best or found.ratio < float(str(best[key][6])):  # the faster copy
                best[key] = row
    clauses = [
        f"{operation} at {format_size(int(str(size)))}: {evidence.labels[str(device)]} reaches "
        f"{wording.percent(float(str(share)))} of {copy}"
        for device, copy, operation, _, _, size, share, *_ in best.values()
        if operation in _FIRST_ASKED
    ]
    return Answer(
        "ceiling",
        "How near do the peaks come to a plain memory copy of the same size?",
        wording.sentence(
            clauses,
            "No memory copy was measured beside a device: add the device host."
            if not copies
            else "No device was measured beside the memory copy.",
        ),
        _table(
            best.values(), "device", "reference", "operation", "memory", "axes", "bytes", "share",
            "low_share", "high_share", "within",
        ),
    )  # fmt: skip


def _half(evidence: _Evidence) -> Answer:
    rows, clauses = [], []
    for key, group in groups(evidence.rows, SERIES):
        found = half_bandwidth(group["bytes"].tolist(), group["bandwidth_Bps"].tolist())
        if found is None:
            continue
        notes = [
            *(["at most: the smallest size reaches it"] if found.bound else []),
            *(["still rising at the largest size"] if found.still_rising else []),
        ]
        rows.append((*key, found.size, "; ".join(notes)))
        device, _, operation, memory, axes, _ = key
        if operation in _FIRST_ASKED and not found.bound and evidence.speaks_of(device):
            named = evidence.details(operation, memory, axes)
            word = "not before" if found.still_rising else "at about"
            clauses.append(
                f"{wording.of(operation, *named)} {word} {wording.size(found.size)} "
                f"({evidence.labels[device]})"
            )
    found_words = wording.sentence(clauses, "")
    return Answer(
        "half",
        "At which size is half of the peak bandwidth reached (n1/2)?",
        f"Half of the peak is reached: {found_words[0].lower()}{found_words[1:]}"
        if found_words
        else "No series of sizes shows where half of its peak is reached.",
        _table(rows, *SERIES, "half_bytes", "note"),
    )


def _fits(evidence: _Evidence) -> Answer:
    rows, clauses = [], []
    for key, group in groups(evidence.rows, SERIES):
        moved = (group["bandwidth_Bps"] * group["median_s"]).tolist()
        found = alpha_beta(moved, group["median_s"].tolist(), evidence.confidence)
        if found is None:
            continue
        size = group["bytes"].iloc[found.worst_at]
        rows.append((*key, *found[:6], found.worst_residual, size, found.points))
        device, _, operation, *_ = key
        if operation in _FIRST_ASKED and evidence.speaks_of(device):
            rate = format_rate(found.beta_Bps) if np.isfinite(found.beta_Bps) else "no limit seen"
            law = f"{format_seconds(found.alpha_s)} + bytes / {rate}"
            off = wording.percent(abs(found.worst_residual))
            clauses.append(f"{operation} on {evidence.labels[device]}: {law}, off by up to {off}")
    return Answer(
        "fits",
        "What are start-up time and rate (time = alpha + bytes / beta)?",
        wording.sentence(clauses, "Too few sizes to fit: three are needed."),
        _table(
            rows, *SERIES, "alpha_s", "low_alpha_s", "high_alpha_s", "beta_Bps", "low_beta_Bps",
            "high_beta_Bps", "worst_residual", "worst_bytes", "points",
        ),
    )  # fmt: skip
