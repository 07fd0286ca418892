"""An estimate of what a board would take: API software as measured, crossing as simulated.

Where one run has an API with nothing behind it (XRT's noop shim) and the same API with an emulated
card, each point of both is added up: a third quantity, on the clock ``hybrid``, that nobody
measured. Noop times the calls without a driver; the card's time has the link, the card, and the
driver as far as its board assumes one. What the two do at the same time is counted twice.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from isthmus import published
from isthmus.analysis import wording
from isthmus.analysis.evidence import FIRST_ASKED, Answer, Evidence, table
from isthmus.analysis.ratios import SMALL, groups, software_alone
from isthmus.analysis.summary import simulated_devices
from isthmus.units import format_rate, format_seconds, format_size

_POINT = ["api", "operation", "memory", "bytes", "axes"]
_TIMES = ["median_s", "ci_low_s", "ci_high_s"]
_COLUMNS = (
    "device", "software", *_POINT, "clock", "software_s", "simulated_s", "hybrid_s", "ci_low_s",
    "ci_high_s", "bandwidth_Bps", "software_share",
)  # fmt: skip
_PUBLISHED_RATIO = "1/3 to 1/2"
"""XRT's time over OpenCL's for small transfers on hardware, as its source has it (Li 2024)."""


def estimated(evidence: Evidence) -> Answer:
    """Time of each point by software measured and crossing simulated, and what follows of it."""
    both = _both(evidence)
    clauses = (*_peaks(both), *_small(both)) if not both.empty else ()
    return Answer(
        "hybrid",
        "What would a board take (an estimate: the API's software as measured above nothing, and "
        "the crossing as simulated)?",
        wording.few(clauses)
        or ("no API was measured both with nothing behind it and with an emulated card",),
        both,
    )


def _both(evidence: Evidence) -> pd.DataFrame:
    """A row for each point that has both."""
    rows = evidence.every[evidence.every["study"] == evidence.study]
    emulated, alone = simulated_devices(evidence.run), software_alone(evidence.run)
    simulated = rows[
        rows["device"].isin(emulated)
        & rows["clock"].eq("simulated")
        & rows["verified"].ne("false")
        & rows["median_s"].gt(0)
    ]
    software = rows[rows["device"].isin(alone) & rows["clock"].eq("host") & rows["samples"].gt(0)]
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
        "ci_low_s": both["median_s"] + both["ci_low_s_alone"],
        "ci_high_s": both["median_s"] + both["ci_high_s_alone"],
        "bandwidth_Bps": moved / hybrid,
        "software_share": both["median_s_alone"] / hybrid,
    }
    found = pd.DataFrame(columns, columns=list(_COLUMNS))
    return found if not found.empty else table((), *_COLUMNS)


def _peaks(both: pd.DataFrame) -> Iterator[str]:
    """Highest estimate of each API, beside what was published of hardware."""
    told = published.rows_of("transfer", "f1-vu9p")
    rated = both[both["bandwidth_Bps"] > 0]
    for (operation, api), group in groups(rated, ["operation", "api"]):
        if operation not in FIRST_ASKED:
            continue
        top = group.iloc[int(group["bandwidth_Bps"].argmax())]
        beside = "".join(
            f"; published of AWS F1's VU9P: {row.text} at {format_size(row.plus[0].bytes or 0)}"
            for row in told
            if row.item == f"{api} {operation}"
        )
        yield (
            f"{operation} by {api}: {format_rate(top['bandwidth_Bps'])} at "
            f"{format_size(top['bytes'])} (hybrid, {top['device']}{beside})"
        )


def _small(both: pd.DataFrame) -> Iterator[str]:
    """Ratio of the APIs for small transfers on the same card."""
    small = both[both["bytes"].between(1, SMALL)]
    for (operation,), group in groups(small, ["operation"]):
        if operation not in FIRST_ASKED:
            continue
        times = {
            api: np.exp(np.log(mine["hybrid_s"]).mean()) for (api,), mine in groups(group, ["api"])
        }
        if not {"xrt", "opencl"} <= times.keys():
            continue
        yield (
            f"{operation} of 1 to {format_size(SMALL)}: xrt {format_seconds(times['xrt'])}, "
            f"{wording.number(times['xrt'] / times['opencl'])} of opencl's "
            f"{format_seconds(times['opencl'])} (hybrid; published of AWS F1's VU9P: "
            f"{_PUBLISHED_RATIO})"
        )
