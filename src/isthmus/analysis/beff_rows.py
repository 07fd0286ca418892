"""Columns and rows that the study ``beff`` adds to a summary: duration of a loop, and b_eff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from isthmus.analysis.summary import measured_on, trusted
from isthmus.frames import Frame, Series, concat
from isthmus.models.serial import SIZES
from isthmus.results.run_file import ClockName, Point, Rerun
from isthmus.statistics import Interval, exact, over_processes

STUDY = "beff"
SAME = ["device", "api", "memory", "clock", "channel", "ranks", "topology", "depth", "sizes"]
"""Columns that are equal for all sizes of one b_eff."""


def complete(frame: Frame, owners: Sequence[Point], precision: float) -> Frame:
    """Adds columns, and a row ``b_eff`` with its interval for each complete set of sizes.

    ``looplength`` is the number of steps in one timed loop, the batch of the samples;
    ``transfer_s`` is the median time of such a loop in seconds.
    """
    absent = [name for name in (*SAME, "rank", "looplength") if name not in frame]
    frame = frame.assign(**dict.fromkeys(absent, ""))
    of_study = np.array([point.study == STUDY for point in owners])
    steps = Series(
        [np.median([r.batch for r in p.reruns]) if p.reruns else np.nan for p in owners],
        index=frame.index,
    )
    known = of_study & steps.notna()
    frame["looplength"] = frame["looplength"].astype(object).where(~known, steps)
    frame["transfer_s"] = (steps * frame["median_s"]).where(of_study)
    frame["low_bandwidth_Bps"] = frame["high_bandwidth_Bps"] = np.nan
    rows = [
        _b_eff(group, frame.columns, [owners[int(at)] for at in group.index], precision)
        for group in whole_sets(frame[of_study])
    ]
    if not rows:
        return frame
    return concat([frame, Frame(rows, columns=frame.columns)])


def whole_sets(rows: Frame) -> Iterator[Frame]:
    """Exchanges that count and for which all sizes of a named set were measured."""
    known = trusted(rows) & rows["bandwidth_Bps"].gt(0)
    for key, group in rows[known & (rows["operation"] == "exchange")].groupby(
        SAME, sort=False, dropna=False
    ):
        sizes = SIZES.get(str(dict(zip(SAME, key, strict=True))["sizes"]), ())
        if sizes and sorted(group["bytes"]) == sorted(sizes):
            yield group


def best_mean(points: Sequence[Point], clock: ClockName) -> Interval:
    """b_eff: mean over the points of the fastest repetition's bytes a second, over processes.

    The first processes of all points give one mean, the second processes the next: points may come
    from different processes. With one process the interval is unknown; simulated time is exact.
    """
    by_point = [[_best(p, rerun, clock) for rerun in measured_on(p, clock)] for p in points]
    means = [float(np.mean(best)) for best in zip(*by_point)]  # noqa: B905 - as many as all have
    if clock == "simulated" and len(means) == 1:
        return exact(means[0])
    return over_processes(means) if means else Interval(np.nan, np.nan, np.nan)


def _best(point: Point, rerun: Rerun, clock: ClockName) -> float:
    least = max(float(rerun.seconds(clock).min()), rerun.resolution_s(clock))
    return point.moved_bytes / least


def _b_eff(
    group: Frame, columns: Sequence[str], points: Sequence[Point], precision: float
) -> dict[str, object]:
    """One row: the mean over sizes of the best bandwidth. It has no time."""
    first = group.iloc[0]
    mean = best_mean(points, first["clock"])
    shared = {name: first[name] for name in columns if group[name].nunique(dropna=False) == 1}
    flags = {flag for text in group["flags"] for flag in str(text).split(";") if flag}
    return {
        **shared,
        "operation": "b_eff",
        "bytes": 0,
        **dict.fromkeys(
            ("median_s", "ci_low_s", "ci_high_s", "min_s", "p10_s", "p90_s", "p99_s", "max_s",
             "cold_s", "transfer_s"),
            np.nan,
        ),
        "samples": int(group["samples"].sum()),
        "reruns": int(group["reruns"].min()),
        "bandwidth_Bps": mean.value,
        "low_bandwidth_Bps": mean.low,
        "high_bandwidth_Bps": mean.high,
        "converged": mean.half_width <= precision,
        "flags": ";".join(sorted(flags)),
    }  # fmt: skip
