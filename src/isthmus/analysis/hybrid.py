"""Estimated times of a board: API software as measured plus crossing as simulated.

Where one run has an API with nothing behind it (``xrt:0@noop``) and the same API with an emulated
card, each point of both is added up: a third quantity, on the clock ``hybrid``, that nobody
measured. The first times the calls without a driver; the card's time has the link, the card, and
the driver as far as its board assumes one. What the two do at the same time is counted twice.
"""

from __future__ import annotations

import pandas as pd

from isthmus.analysis.context import AnalysisContext, Answer, table
from isthmus.analysis.ratios import software_only
from isthmus.analysis.summary import simulated_devices

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


def _both(context: AnalysisContext) -> pd.DataFrame:
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
    frame = pd.DataFrame(columns, columns=list(_COLUMNS))
    return frame if not frame.empty else table((), *_COLUMNS)
