"""Rows of the study beff: how long a loop took, and b_eff itself, which comes of many points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from isthmus.models.serial import SIZES
from isthmus.results.run_file import Point

STUDY = "beff"
SAME = ["device", "api", "memory", "clock", "channel", "ranks", "topology", "depth", "sizes"]
"""What the sizes of one b_eff share."""


def complete(frame: pd.DataFrame, owners: Sequence[Point]) -> pd.DataFrame:
    """Adds the columns ``looplength`` and ``transfer_s``, and a row ``b_eff`` for each whole set.

    ``looplength`` is the number of steps in one timed loop, the batch of the samples;
    ``transfer_s`` what such a loop takes in the median, in seconds.
    """
    absent = [name for name in (*SAME, "rank", "looplength") if name not in frame]
    frame = frame.assign(**dict.fromkeys(absent, ""))
    mine = np.array([point.study == STUDY for point in owners])
    steps = pd.Series(
        [np.median([r.batch for r in p.reruns]) if p.reruns else np.nan for p in owners],
        index=frame.index,
    )
    known = mine & steps.notna()
    frame["looplength"] = frame["looplength"].astype(object).where(~known, steps)
    frame["transfer_s"] = (steps * frame["median_s"]).where(mine)
    rows = [_b_eff(group, frame.columns) for group in whole_sets(frame[mine])]
    if not rows:
        return frame
    return pd.concat([frame, pd.DataFrame(rows, columns=frame.columns)], ignore_index=True)


def whole_sets(rows: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Exchanges of all sizes of a set that has a name, with data that arrived."""
    trusted = (rows["verified"] == "true") & rows["bandwidth_Bps"].gt(0)
    for key, group in rows[trusted & (rows["operation"] == "exchange")].groupby(
        SAME, sort=False, dropna=False
    ):
        sizes = SIZES.get(str(dict(zip(SAME, key, strict=True))["sizes"]), ())
        if sizes and sorted(group["bytes"]) == sorted(sizes):
            yield group


def best_rates(rows: pd.DataFrame) -> pd.Series[float]:
    """Bytes a second of the fastest repetition of each row."""
    return rows["bandwidth_Bps"] * rows["median_s"] / rows["min_s"]


def _b_eff(group: pd.DataFrame, columns: pd.Index[str]) -> dict[str, object]:
    """One row, of the mean over the sizes of the best bandwidth; times have no mean."""
    first = group.iloc[0]
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
        "bandwidth_Bps": float(best_rates(group).mean()),
        "converged": bool(group["converged"].all()),
        "flags": ";".join(sorted(flags)),
    }  # fmt: skip
